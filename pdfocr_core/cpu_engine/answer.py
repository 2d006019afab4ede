"""The form of an answer: facts about the page in YAML front matter, then its Markdown."""

from __future__ import annotations

from dataclasses import dataclass

from pdfocr_core.records import TextLine

__all__ = ["Answer"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server says about one page.

    Attributes:
        turn: degrees counter-clockwise by which the client must turn the picture; anything but 0 comes without text.
        lines: what was read where, on the picture as it was sent.
    """

    markdown: str = ""
    language: str | None = None
    turn: int = 0
    is_table: bool = False
    is_diagram: bool = False
    lines: tuple[TextLine, ...] = ()

    @property
    def content(self) -> str:
        """The message's text."""
        return (
            "---\n"
            f"primary_language: {self.language or 'null'}\n"
            f"is_rotation_valid: {self.turn == 0}\n"
            f"rotation_correction: {self.turn}\n"
            f"is_table: {self.is_table}\n"
            f"is_diagram: {self.is_diagram}\n"
            "---\n"
            f"{self.markdown}"
        )
