"""Tests in the format of olmOCR-Bench made at random: tables with any spans, texts of few characters, short loops."""

from __future__ import annotations

import random
from typing import Any

from tests.bench_samples import Sample

CELLS = (
    *("in", "out", "Port", "12", "13", "1,2", "Bremen", "*x*", "**Total**", "", "  ", "a_b_c"),
    *("\u20135", "\u00e9", "toll<br>paid", "ships"),
)
ASIDE = ("up", "down", "left", "right", "top_heading", "left_heading")
RULES = ("|---|---|", "---|:-:", "", "|", "||", "- - -|")
NESTED = "<table><tr><td>12</td><th>in</th></tr></table>"


def random_samples(seed: int, count: int) -> list[Sample]:
    """So many tests, the same for the same seed; some are none, for our loader and for the peer's."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        (kind,) = chance.choices((_table, _text, _order, _baseline), (65, 15, 12, 8))
        fields, text = kind(chance)
        made.append(Sample({"pdf": "a.pdf", "page": 1, "id": str(number), **fields}, text))
    return made


def _table(chance: random.Random) -> tuple[dict[str, Any], str]:
    fields: dict[str, Any] = {"type": "table", "cell": chance.choice([cell for cell in CELLS if cell.strip()])}
    fields |= {name: chance.choice(CELLS) for name in ASIDE if chance.random() < 0.3}
    tables = [chance.choice((_html, _html, _markdown))(chance) for _ in range(chance.randint(1, 2))]
    return {**fields, "max_diffs": chance.choice((0, 0, 1, 2, 5))}, chance.choice(("\n\n", "\n")).join(["# h", *tables])


def _html(chance: random.Random) -> str:
    made = "<table>"
    head = chance.random() < 0.4
    for row in range(chance.randint(1, 5)):
        made += "<thead><tr>" if head and row == 0 else "<tr>"
        for _ in range(chance.randint(0, 5)):
            name = "th" if chance.random() < (0.6 if row == 0 else 0.15) else "td"
            height = f' rowspan="{chance.choice((1, 2, 2, 3, 9, 0))}"' if chance.random() < 0.25 else ""
            width = f" colspan='{chance.choice((1, 2, 2, 3, 0))}'" if chance.random() < 0.25 else ""
            inside = chance.choice(CELLS) if chance.random() < 0.97 else NESTED
            made += f"<{name}{height}{width}>{inside}" + (f"</{name}>" if chance.random() < 0.95 else "")
        made += "</tr>" if chance.random() < 0.95 else ""
        if head and chance.random() < 0.6:
            made, head = made + "</thead>", False
    return made + ("</table>" if chance.random() < 0.97 else "")


def _markdown(chance: random.Random) -> str:
    lines = []
    for _ in range(chance.randint(1, 7)):
        cells = chance.choice(("|", " | ")).join(chance.choice(CELLS) for _ in range(chance.randint(1, 5)))
        row = chance.choice(("", "|", "| ")) + cells + chance.choice(("", "|", " | "))
        lines.append(row if chance.random() < 0.85 else chance.choice(RULES))
    return "\n".join(lines)


def _letters(chance: random.Random, least: int, most: int) -> str:
    return "".join(chance.choice("ab  *_-\u2013\n\u201c\u201dc") for _ in range(chance.randint(least, most)))


def _text(chance: random.Random) -> tuple[dict[str, Any], str]:
    fields: dict[str, Any] = {"type": chance.choice(("present", "absent")), "text": _letters(chance, 1, 8)}
    fields |= {"max_diffs": chance.choice((0, 0, 1, 2)), "case_sensitive": chance.random() < 0.5}
    fields |= {name: chance.randint(1, 9) for name in ("first_n", "last_n") if chance.random() < 0.3}
    return fields, _letters(chance, 0, 40)


def _order(chance: random.Random) -> tuple[dict[str, Any], str]:
    fields = {"type": "order", "before": _letters(chance, 2, 6), "after": _letters(chance, 2, 6)}
    return {**fields, "max_diffs": chance.choice((0, 0, 1))}, _letters(chance, 0, 60)


def _baseline(chance: random.Random) -> tuple[dict[str, Any], str]:
    loop = chance.choice(("ab", "a", "aab ", " ")) * chance.randint(0, 8)
    return {"type": "baseline", "max_repeats": chance.choice((2, 3, 30))}, _letters(chance, 0, 9) + loop
