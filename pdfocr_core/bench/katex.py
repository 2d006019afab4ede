"""Draws formulas with KaTeX in headless Chromium, offline, and compares them.

Chromium is the system's. The page it opens has no network and no address of its own, so KaTeX's fonts are not loaded and
formulas stand in the fonts of the machine; that is how the peer measures too.
"""

from __future__ import annotations

import os
import shutil
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pdfocr_core.bench.drawing import Drawing, contains
from pdfocr_core.errors import ConfigurationError

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["FormulaBrowser", "find_chromium", "formulas"]

_VENDOR = Path(__file__).parent.parent / "viewer" / "assets" / "vendor"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_LONGEST = 20_000  # characters of a formula; a longer one is a loop
_PAGE = """<!DOCTYPE html><html><head><style>
body { display: flex; justify-content: center; align-items: center; height: 100vh; margin: 0;
       background-color: white; color: black; }
#formula { padding: 0; font-size: 24px; }
</style></head><body><div id="formula"></div></body></html>"""
_DRAW = """(latex) => {
  const place = document.getElementById("formula");
  place.replaceChildren();
  try {
    katex.render(latex, place, {displayMode: true, throwOnError: true});
  } catch (error) {
    return {error: String(error.message || error)};
  }
  const semantics = place.querySelector(".katex-mathml math semantics");
  const structure = Array.from(semantics ? semantics.children : [])
    .filter((part) => part.localName !== "annotation").map((part) => part.outerHTML).join("");
  const spans = Array.from(place.querySelectorAll("span"))
    .filter((span) => !span.children.length && /\\S/.test(span.textContent))
    .map((span) => {
      const box = span.getBoundingClientRect();
      return [span.textContent.trim(), box.x, box.y, box.width, box.height];
    });
  return {structure, spans};
}"""


def find_chromium() -> str | None:
    """The path of Chromium: `PDFOCR_CHROMIUM`, or the first on PATH; None without one or without playwright."""
    import importlib.util

    if importlib.util.find_spec("playwright") is None:
        return None
    return os.environ.get("PDFOCR_CHROMIUM") or next((path for name in _NAMES if (path := shutil.which(name))), None)


class FormulaBrowser:
    """A browser with one page that draws, for one thread; it starts with the first formula. Calling it compares."""

    def __init__(self, chromium: str) -> None:
        self._chromium = chromium
        self._stack = ExitStack()
        self._drawn: dict[str, Drawing] = {}
        self._page: Page | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        self._page = None

    def __call__(self, wanted: str, found: list[str]) -> str:
        """Why none of the formulas that were found is the wanted one; nothing when one is.

        A wanted formula that KaTeX cannot draw asks for nothing, so any formula is it.
        """
        from rapidfuzz import fuzz

        reference = self.draw(wanted)
        # The likeliest first: most formulas need not be drawn then.
        for formula in sorted(found, key=lambda other: -fuzz.ratio(other, wanted)):
            if contains(self.draw(formula), reference):
                return ""
        return f"none of {len(found)} formulas is drawn so"

    def draw(self, latex: str) -> Drawing:
        """The formula as it is drawn; drawn once only."""
        if latex not in self._drawn:
            self._drawn[latex] = self._draw(latex)
        return self._drawn[latex]

    def _draw(self, latex: str) -> Drawing:
        if len(latex) > _LONGEST:
            return Drawing(error="too long")
        if self._page is None:
            self._page = self._start()
        drawn: dict[str, Any] = self._page.evaluate(_DRAW, latex)
        if "error" in drawn:
            return Drawing(error=drawn["error"])
        return Drawing.of(drawn["structure"], drawn["spans"])

    def _start(self) -> Page:
        from playwright.sync_api import Error, sync_playwright

        playwright = self._stack.enter_context(sync_playwright())
        # Chromium refuses its sandbox to root; what is drawn is text that KaTeX has escaped.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        try:
            browser = playwright.chromium.launch(executable_path=self._chromium, args=arguments)
        except Error as error:
            raise ConfigurationError(
                f"Chromium does not start: {str(error).splitlines()[0]}",
                remedy=f"Try `{self._chromium} --headless --version`; PDFOCR_CHROMIUM names another one.",
            ) from error
        page = browser.new_context(viewport={"width": 800, "height": 400}, offline=True).new_page()
        page.set_content(_PAGE)
        page.add_style_tag(content=(_VENDOR / "katex.min.css").read_text(encoding="utf-8"))
        page.add_script_tag(content=(_VENDOR / "katex.min.js").read_text(encoding="utf-8"))
        return page


def formulas() -> AbstractContextManager[FormulaBrowser | None]:
    """A browser for the mathematics of a benchmark; None where there is no Chromium.

    Drawing raises `ConfigurationError` where there is one that does not start.
    """
    chromium = find_chromium()
    return nullcontext() if chromium is None else FormulaBrowser(chromium)
