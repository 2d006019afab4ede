// One page as two engines read it.
"use strict";

(() => {
  const { h } = pdfocr;
  const sum = (attempts, name) => attempts.reduce((total, attempt) => total + attempt[name], 0);

  function facts(records) {
    const rows = [
      ["Model", (record) => record.model || "–"],
      ["Status", (record) => pdfocr.badge(record.status)],
      ["Reason", (record) => (record.reason ? pdfocr.words(record.reason) : "–")],
      ["Text from", (record) => pdfocr.words(record.method)],
      ["Attempts", (record) => String(record.attempts.length)],
      ["Tokens out", (record) => pdfocr.number(sum(record.attempts, "completion_tokens"))],
      ["Seconds", (record) => sum(record.attempts, "seconds").toFixed(2)],
    ];
    return h("div", { class: "table" }, h("table", { class: "data" },
      h("thead", {}, h("tr", {}, ["", "This workspace", "The other"].map((words) => h("th", { scope: "col" }, words)))),
      h("tbody", {}, rows.map(([words, value]) => h("tr", {}, h("th", { scope: "row" }, words),
        records.map((record) => h("td", {}, value(record))))))));
  }

  const text = (segments) => h("pre", { class: "raw" }, segments.map(([kind, words]) =>
    (kind === "same" ? words : h(kind === "del" ? "del" : "ins", {}, words))));

  pdfocr.comparison = function comparison(record, other) {
    if (!other.record) return h("p", { class: "note" }, other.problem);
    return [
      facts([record, other.record]),
      h("div", { class: "versus" },
        h("section", {}, h("h3", {}, "This workspace"), text(other.left)),
        h("section", {}, h("h3", {}, "The other"), text(other.right))),
    ];
  };
})();
