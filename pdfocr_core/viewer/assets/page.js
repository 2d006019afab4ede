// One document and one of its pages: picture, text, raw answer, record, attempts.
"use strict";

(() => {
  const { h } = pdfocr;
  const main = document.getElementById("main");
  const WINDOW = 60;

  let boxesShown = true;
  let tab = "text";
  let shown = null;

  const say = (words) => { document.getElementById("said").textContent = words; };

  function head(row, record) {
    const { name, folder } = pdfocr.nameOf(row.url);
    const seconds = row.seconds ? `${row.seconds.toFixed(1)} s of answers` : null;
    const facts = [
      pdfocr.count(row.pages, "page"),
      record && record.bytes ? `${pdfocr.number(Math.ceil(record.bytes / 1024))} KiB` : null,
      Object.entries(row.languages || {}).map(([language, pages]) => `${language} ${pages}`).join(", "),
      row.completion_tokens ? `${pdfocr.number(row.prompt_tokens)} tokens in, ${pdfocr.number(row.completion_tokens)} out` : null,
      seconds,
    ].filter(Boolean).join(" · ");
    const flags = (row.flags || []).map((flag) => h("span", { class: "flag" }, pdfocr.words(flag)));
    return h("header", { class: "document" },
      h("div", { class: "title" }, h("h1", {}, h("bdi", {}, name)), pdfocr.badge(row.status), flags),
      h("bdi", { class: "muted path" }, folder), h("p", { class: "muted" }, facts),
      row.reason || row.detail ? h("div", { class: `notice is-${row.status}` },
        row.reason ? h("strong", {}, pdfocr.words(row.reason)) : null,
        row.detail ? h("bdi", {}, row.detail) : null, row.remedy ? h("span", {}, row.remedy) : null) : null);
  }

  function strip(id, pages, number) {
    const at = Math.max(0, pages.findIndex((page) => page.page === number));
    const from = Math.max(0, Math.min(at - WINDOW / 2, pages.length - WINDOW));
    const links = pages.slice(from, from + WINDOW).map((page) => {
      const words = [`Page ${page.page}`, page.status, page.reason && pdfocr.words(page.reason)].filter(Boolean).join(", ");
      return h("li", {}, h("a", {
        class: `is-${page.status}`, href: pdfocr.hashOf({ id, page: page.page }), title: words, "aria-label": words,
        "aria-current": page.page === number ? "page" : null,
      }, String(page.page)));
    });
    const step = (by, words, sign) => {
      const other = pages[at + by];
      return h("a", {
        class: "step", "aria-label": words, title: words, "aria-disabled": other ? null : "true",
        href: other ? pdfocr.hashOf({ id, page: other.page }) : null,
      }, sign);
    };
    return h("nav", { class: "strip", "aria-label": "Pages" },
      step(-1, "Previous page (←)", "‹"), h("ol", {}, links), step(1, "Next page (→)", "›"),
      pages.length > WINDOW ? h("label", { class: "goto" }, "Page ", h("input", {
        type: "number", min: pages[0].page, max: pages.at(-1).page, value: number,
        onchange: (event) => pdfocr.go({ id, page: Number(event.target.value) }),
      }), ` of ${pages.at(-1).page}`) : null);
  }

  function overlay(boxes) {
    return h("div", { class: "boxes", "aria-hidden": "true" }, boxes.map((box, at) => {
      const mark = h("span", { class: "box", title: `${at + 1}. ${box.label}` }, h("b", {}, `${at + 1} ${box.label}`));
      mark.style.left = `${100 * box.x0}%`;
      mark.style.top = `${100 * box.y0}%`;
      mark.style.width = `${100 * (box.x1 - box.x0)}%`;
      mark.style.height = `${100 * (box.y1 - box.y0)}%`;
      return mark;
    }));
  }

  /** Lines with their places, as boxes without a number: a page has many. */
  function lineOverlay(lines) {
    return h("div", { class: "boxes", "aria-hidden": "true" }, lines.map(([text, x0, y0, x1, y1, score]) => {
      const mark = h("span", { class: `box line${score < 90 ? " unsure" : ""}`, title: `${text} (${score} %)` });
      mark.style.left = `${x0 / 100}%`;
      mark.style.top = `${y0 / 100}%`;
      mark.style.width = `${(x1 - x0) / 100}%`;
      mark.style.height = `${(y1 - y0) / 100}%`;
      return mark;
    }));
  }

  function picture(page) {
    const { record } = page;
    const lines = record.lines || [];
    const marks = record.boxes.length + lines.length;
    const frame = h("div", { class: "sheet" });
    const nothing = (problem) => frame.replaceChildren(h("div", { class: "placeholder" },
      h("strong", {}, "No picture of this page"), h("bdi", {}, problem.detail || ""), h("span", {}, problem.remedy || "")));
    if (page.image) {
      const image = h("img", { alt: `Page ${record.page} of the document`, decoding: "async", loading: "lazy" });
      image.addEventListener("error", async () => nothing(await pdfocr.source.problemOf(page.image)));
      image.src = page.image;
      frame.append(image);
      if (lines.length) frame.append(lineOverlay(lines));
      if (record.boxes.length) frame.append(overlay(record.boxes));
    } else nothing({ detail: page.image_problem || "It is not part of the export." });
    const toggle = marks ? h("button", {
      type: "button", id: "boxes", class: "plain", "aria-pressed": String(boxesShown), title: "Boxes (b)",
      onclick: () => pdfocr.page.toggleBoxes(),
    }, `Boxes (${marks})`) : null;
    const turned = record.rotation_applied ? ` · turned by ${record.rotation_applied}°` : "";
    return h("section", { class: "panel", "aria-label": "Picture of the page" },
      h("div", { class: "bar-top" }, h("h2", {}, `Page ${record.page}`), toggle,
        h("span", { class: "muted" }, record.image_width ? `read at ${record.image_width} × ${record.image_height}${turned}` : "")),
      h("div", { class: `scroll${boxesShown ? "" : " no-boxes"}`, tabindex: "0", role: "group", "aria-label": "Picture" }, frame));
  }

  function attempts(record) {
    if (!record.attempts.length) return h("p", { class: "muted" }, "No model was asked for this page.");
    const columns = ["", "Outcome", "Temperature", "Turn", "Tokens in", "Tokens out", "Seconds", "What was seen"];
    return h("div", { class: "table" }, h("table", { class: "data" },
      h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col" }, column)))),
      h("tbody", {}, record.attempts.map((attempt, at) => h("tr", {},
        h("td", {}, String(at + 1)),
        h("td", {}, pdfocr.badge(attempt.reason ? "failed" : "ok"), attempt.reason ? ` ${pdfocr.words(attempt.reason)}` : ""),
        h("td", {}, String(attempt.temperature)), h("td", {}, attempt.rotation ? `${attempt.rotation}°` : "–"),
        h("td", {}, pdfocr.number(attempt.prompt_tokens)), h("td", {}, pdfocr.number(attempt.completion_tokens)),
        h("td", {}, attempt.seconds.toFixed(2)), h("td", {}, h("bdi", {}, attempt.detail)))))));
  }

  const TABS = {
    text: {
      name: () => "Text",
      fill: (page) => (page.record.text.trim() ? pdfocr.renderText(page)
        : h("p", { class: "muted" }, page.record.status === "blank" ? "The page is blank." : "There is no text for this page.")),
    },
    raw: {
      name: () => "Raw",
      fill: ({ record }) => (record.raw === null
        ? [h("p", { class: "note" }, "No answer of the model was accepted; this is the text as it is."), h("pre", { class: "raw" }, record.text)]
        : h("pre", { class: "raw" }, record.raw)),
    },
    attempts: { name: ({ record }) => `Attempts (${record.attempts.length})`, fill: ({ record }) => attempts(record) },
    compare: {
      name: ({ other }) => (other.record ? `Compare ${Math.round(100 * other.agreement)} %` : "Compare"),
      when: ({ other }) => Boolean(other),
      fill: ({ record, other }) => pdfocr.comparison(record, other),
    },
    record: {
      name: () => "Record",
      fill: ({ record }) => h("pre", { class: "raw" }, JSON.stringify(record, null, 2)),
    },
  };

  function outcome(record) {
    const facts = [
      pdfocr.words(record.method), record.language, record.model,
      record.attempts.length > 1 ? `${record.attempts.length} attempts` : null,
      typeof record.confidence === "number" ? `confidence ${Math.round(100 * record.confidence)} %` : null,
      record.finish_reason && record.finish_reason !== "stop" ? `ended by ${record.finish_reason}` : null,
    ].filter(Boolean).join(" · ");
    return h("div", { class: "outcome" }, pdfocr.badge(record.status),
      record.reason ? h("strong", {}, pdfocr.words(record.reason)) : null, h("span", { class: "muted" }, facts),
      record.flags.map((flag) => h("span", { class: "flag" }, pdfocr.words(flag))),
      record.detail ? h("bdi", { class: "muted" }, record.detail) : null);
  }

  const usable = (name) => !TABS[name].when || TABS[name].when(shown);

  function choose(name) {
    tab = name;
    if (!shown) return;
    if (!usable(name)) name = "text";
    for (const button of main.querySelectorAll("[data-tab]")) {
      button.setAttribute("aria-pressed", String(button.dataset.tab === name));
    }
    const body = document.getElementById("reading");
    body.setAttribute("aria-labelledby", `tab-${name}`);
    body.replaceChildren(...[TABS[name].fill(shown)].flat());
    body.scrollTop = 0;
  }

  function reading(page) {
    // Plain buttons, since the arrow keys are for pages and documents.
    const buttons = Object.keys(TABS).filter(usable).map((name) => h("button", {
      type: "button", id: `tab-${name}`, "data-tab": name, onclick: () => choose(name),
    }, TABS[name].name(page)));
    return h("section", { class: "panel", "aria-label": "What was read" },
      h("div", { class: "bar-top" }, h("div", { class: "tabs", role: "group", "aria-label": "Views" }, buttons)),
      outcome(page.record), h("div", { class: "scroll", id: "reading", role: "region", tabindex: "0" }));
  }

  pdfocr.page = {
    async show(id, number, current) {
      const document_ = await pdfocr.source.document(id);
      if (!current()) return null;
      const { status, record, pages } = document_;
      const known = pages.find((page) => page.page === number) || pages[0];
      const page = known ? await pdfocr.source.page(id, known.page) : null;
      if (!current()) return null;
      shown = page;
      const { name } = pdfocr.nameOf(status.url);
      const empty = status.status === "pending" ? "This document is waiting to be read." : "There are no pages to show.";
      main.replaceChildren(head(status, record), ...(page
        ? [strip(id, pages, known.page), h("div", { class: "split" }, picture(page), reading(page))]
        : [h("p", { class: "placeholder" }, empty)]));
      const here = main.querySelector(".strip [aria-current]");
      if (here) here.scrollIntoView({ block: "nearest", inline: "center" });
      if (page) choose(tab);
      document.title = `${name}${known ? ` · ${known.page}` : ""} – pdfocr`;
      say(known ? `${name}, page ${known.page} of ${pages.length}, ${known.status}` : `${name}, ${status.status}`);
      return { id, pages, page: known ? known.page : 1, waiting: status.status === "pending" };
    },
    leave() { shown = null; },
    toggleRaw: () => choose(tab === "raw" ? "text" : "raw"),
    toggleCompare: () => choose(tab === "compare" ? "text" : "compare"),
    toggleBoxes() {
      boxesShown = !boxesShown;
      const button = document.getElementById("boxes");
      if (!button) return;
      button.setAttribute("aria-pressed", String(boxesShown));
      main.querySelector(".scroll").classList.toggle("no-boxes", !boxesShown);
    },
  };
})();
