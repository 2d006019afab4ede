// What happened, before any document is chosen.
"use strict";

(() => {
  const { h } = pdfocr;

  function table(title, numbers, name, empty) {
    const known = Object.entries(numbers);
    const most = Math.max(1, ...known.map(([, number]) => number));
    const rows = known.slice(0, 12).map(([value, number]) => {
      const share = h("span", { class: "share", "aria-hidden": "true" });
      share.style.width = `${(100 * number) / most}%`;
      return h("li", {}, h("a", { href: pdfocr.hashOf({ filters: { [name]: value } }) },
        h("span", { class: "what" }, pdfocr.words(value)), h("span", { class: "number" }, pdfocr.number(number)), share));
    });
    return h("section", { class: "card" }, h("h2", {}, title),
      known.length ? h("ul", { class: "bars" }, rows) : h("p", { class: "muted" }, empty));
  }

  function tile(words, number, note) {
    return h("div", { class: "tile" }, h("dt", {}, words), h("dd", {}, number, note ? h("small", {}, note) : null));
  }

  /** The page without a document. */
  pdfocr.overview = function overview(workspace) {
    const { statuses } = workspace;
    const ended = workspace.documents - (statuses.pending || 0);
    const ok = statuses.ok || 0;
    const parts = pdfocr.STATUSES.map((status) => ({ status, value: statuses[status] || 0 }));
    const label = parts.filter((part) => part.value).map((part) => `${pdfocr.number(part.value)} ${part.status}`).join(", ");
    const share = ended ? `${((100 * ok) / ended).toFixed(ok === ended ? 0 : 1)} %` : "–";
    const verdict = !workspace.documents ? "There are no documents in this workspace yet."
      : statuses.pending ? `${pdfocr.number(ended)} of ${pdfocr.count(workspace.documents, "document")} are read so far.`
        : ok === ended ? "Every document was read."
          : `${pdfocr.count(ended - ok, "document")} of ${pdfocr.number(ended)} did not end well.`;
    return h("div", { class: "overview" },
      h("h1", {}, verdict),
      h("bdi", { class: "muted path" }, workspace.workspace),
      workspace.note ? h("p", { class: "note" }, workspace.note) : null,
      workspace.documents ? pdfocr.bar(parts, `Documents: ${label}`) : null,
      h("ul", { class: "legend" }, parts.filter((part) => part.value).map((part) =>
        h("li", {}, h("a", { href: pdfocr.hashOf({ filters: { status: part.status } }) },
          pdfocr.badge(part.status), ` ${pdfocr.number(part.value)}`)))),
      h("dl", { class: "tiles" },
        tile("Documents", pdfocr.number(workspace.documents)),
        tile("Pages", pdfocr.number(workspace.pages)),
        tile("Read well", share, "of the documents that ended"),
        tile("Low confidence", pdfocr.number(workspace.doubtful), "documents worth a look")),
      h("div", { class: "cards" },
        table("Reasons", workspace.reasons, "reason", "Nothing went wrong."),
        table("Languages", workspace.languages, "language", "No language is known."),
        table("Where the text came from", workspace.methods, "method", "Nothing was read yet.")));
  };
})();
