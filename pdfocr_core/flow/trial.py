"""The first pages of a run are judged before the rest follows.

A model that does not match the server's version, or a profile that does not match the model, looks like normal load from
outside while it writes nonsense. So when most of the first answers are nothing a page could say, the run stops, shows what
it saw, and keeps none of the pages that went wrong meanwhile: read again with the cause removed, they are read anew.
"""

from __future__ import annotations

from collections import Counter
from typing import Generic, TypeVar

from pdfocr_core.errors import ConfigurationError, Reason
from pdfocr_core.records import PageRecord, PageStatus

__all__ = ["Trial"]

_BAD = {
    Reason.BAD_FRONT_MATTER: "have another form than the model's profile says",
    Reason.REPETITION: "repeat themselves to the end",
    Reason.EMPTY_ANSWER: "are empty although there is ink on the page",
    Reason.PROMPT_ECHO: "give the instruction back",
    Reason.REFUSAL: "refuse to read",
    Reason.REFUSED_BY_SERVER: "are refusals by the server",
}
_SHOWN = 3
_SHOWN_CHARACTERS = 300

Page = TypeVar("Page")


class Trial(Generic[Page]):
    """The verdict over the first answers, and the pages whose records wait for it.

    Args:
        pages: first answers to judge; 0 judges none.
        model: for the message.
    """

    def __init__(self, pages: int, model: str) -> None:
        self._wanted, self._model = pages, model
        self._answers = 0
        self._bad: Counter[Reason] = Counter()
        self._shown: list[str] = []
        self._held: list[tuple[Page, PageRecord]] = []

    @property
    def open(self) -> bool:
        """Whether there is no verdict yet. It stands as soon as the answers still to come could not change it."""
        to_come = self._wanted - self._answers
        return to_come > 0 and 2 * (self._bad.total() + to_come) > self._wanted

    def note(self, reason: Reason | None, raw: str) -> None:
        """Take the first answer to a page.

        Raises:
            ConfigurationError: most of the first answers are no page's text.
        """
        if not self.open:
            return
        self._answers += 1
        if reason in _BAD:
            self._bad[reason] += 1
            if len(self._shown) < _SHOWN:
                self._shown.append(raw[:_SHOWN_CHARACTERS])
        if 2 * self._bad.total() > self._wanted:
            raise self._stop()

    def hold(self, page: Page, record: PageRecord, *, last: bool) -> list[tuple[Page, PageRecord]]:
        """The records that may go on now: a page that went wrong waits for the verdict.

        Args:
            page: whose record it is.
            record: of the page.
            last: whether no other page is under way, so that waiting would be in vain.
        """
        if self.open and not last and record.status in (PageStatus.FAILED, PageStatus.FALLBACK):
            self._held.append((page, record))
            return []
        released = [] if self.open and not last else self._held
        if released:
            self._held = []
        return [*released, (page, record)]

    def _stop(self) -> ConfigurationError:
        reason, _ = self._bad.most_common(1)[0]
        shown = "".join(f"\n    {text!r}" for text in self._shown)
        return ConfigurationError(
            f"{self._bad.total()} of the first {self._answers} answers of {self._model} are no page's text: most of them "
            f"{_BAD[reason]}. For example:{shown}\n",
            code="nonsense",
            remedy=(
                "Check that model, profile and the server's version fit (`pdfocr models`). If these pages really are like "
                "that, set judge_first_pages (PDFOCR_JUDGE_FIRST_PAGES) to 0."
            ),
        )
