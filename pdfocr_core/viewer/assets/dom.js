// Small helpers. Text only ever enters the page as text; the one place where HTML does is text.js.
"use strict";

pdfocr.STATUSES = ["ok", "partial", "failed", "filtered", "skipped", "pending"];
pdfocr.GLYPHS = {
  ok: "✓", partial: "◐", failed: "✕", filtered: "⊘", skipped: "–", pending: "○", fallback: "↩", blank: "▢",
};

/** An element with properties and children; strings become text. */
pdfocr.h = function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
};

pdfocr.number = (value) => Number(value || 0).toLocaleString("en");

pdfocr.count = (value, one) => `${pdfocr.number(value)} ${one}${value === 1 ? "" : "s"}`;

/** A code as words: `pages_failed` as "pages failed". */
pdfocr.words = (code) => String(code).replaceAll("_", " ");

/** Name and folder of a URL or path; members of archives keep the archive's name. */
pdfocr.nameOf = function nameOf(url) {
  const cut = url.lastIndexOf("/");
  return cut < 0 ? { name: url, folder: "" } : { name: url.slice(cut + 1) || url, folder: url.slice(0, cut) };
};

pdfocr.badge = (status) =>
  pdfocr.h("span", { class: `badge is-${status}` },
    pdfocr.h("span", { "aria-hidden": "true" }, pdfocr.GLYPHS[status] || "?"), ` ${pdfocr.words(status)}`);

/** A bar whose parts are as wide as their numbers. Widths are set through the CSSOM, which the policy allows. */
pdfocr.bar = function bar(parts, label) {
  const total = parts.reduce((sum, part) => sum + part.value, 0) || 1;
  const element = pdfocr.h("span", { class: "bar", role: "img", "aria-label": label, title: label });
  for (const part of parts) {
    if (!part.value) continue;
    const piece = pdfocr.h("span", { class: `is-${part.status}` });
    piece.style.flexGrow = String(Math.max(part.value / total, 0.02));
    element.append(piece);
  }
  return element;
};

pdfocr.pagesBar = function pagesBar(row) {
  const parts = ["ok", "fallback", "blank", "failed"].map((status) => ({ status, value: row[`pages_${status}`] || 0 }));
  const label = parts.filter((part) => part.value).map((part) => `${part.value} ${part.status}`).join(", ");
  return pdfocr.bar(parts, `Pages: ${label || "none"}`);
};
