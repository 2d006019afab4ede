// Runs before the first paint: the theme that was chosen last, else the system's.
"use strict";

window.pdfocr = {};

pdfocr.theme = {
  apply() {
    let chosen = null;
    try {
      chosen = localStorage.getItem("pdfocr-theme");
    } catch {
      // Pages from disk may have no storage.
    }
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = chosen === "light" || chosen === "dark" ? chosen : dark ? "dark" : "light";
  },
  toggle() {
    const other = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = other;
    try {
      localStorage.setItem("pdfocr-theme", other);
    } catch {
      // It holds for this page, then.
    }
  },
};

pdfocr.theme.apply();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", pdfocr.theme.apply);
