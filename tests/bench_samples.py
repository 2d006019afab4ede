"""Tests in the format of olmOCR-Bench with texts that are right, nearly right and wrong: every type, many corners.

Everything is made here, the same at every call.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.documents import write_pdf

SENTENCES = (
    "The harbour was frozen from the ninth of January to the second of March.",
    "Water of crystallisation leaves the salt between 110 and 125 degrees.",
    "“No ship—not one—left the port,” wrote the master’s clerk.",
    "Table 4 lists the tolls that were paid at the northern gate.",
    "Der Müller mahlte während des Krieges für 12–15 Höfe.",
    "Die Größe µ ist die Beweglichkeit, nicht μ₀.",
    "See *Annals of the Society*, vol. 3, pp. 17–19, and __the index__.",
    "Les élèves étaient à l'école dès 8 h 30.",
    "A snake_case_name is no emphasis, nor is 2 * 3 * 4.",
    "Costs rose by 4.5 % in 1931, and by 3.9 % the year after.",
)


class Sample(NamedTuple):
    """A test and the text of the page that it is run on."""

    case: dict[str, Any]
    text: str


def samples() -> list[Sample]:
    """All of them; every id once."""
    made = []
    chance = random.Random(9)
    for kind in (_texts, _orders, _tables, _tables_of_html, _maths, _baselines, _formats, _footnotes):
        for number, (fields, text) in enumerate(kind(chance)):
            name = kind.__name__.strip("_")
            case = {"pdf": f"{name}.pdf", "page": 1, "id": f"{name}-{number:03}", **fields}
            made.append(Sample(case, text))
    return made


Made = Iterator[tuple[dict[str, Any], str]]


def spoiled(text: str, edits: int, chance: random.Random) -> str:
    """The text with so many characters put in, taken out or changed."""
    letters = list(text)
    for _ in range(edits):
        place = chance.randrange(len(letters))
        match chance.randrange(3):
            case 0:
                letters[place] = "#"
            case 1:
                letters.insert(place, "~")
            case 2 if len(letters) > 1:
                del letters[place]
    return "".join(letters)


def _page(sentences: list[str]) -> str:
    return "# A chapter\n\n" + "\n\n".join(sentences) + "\n"


def _dressed(text: str, way: int) -> str:
    """The same words as another engine would write them."""
    words = text.split()
    match way:
        case 0:
            return text
        case 1:
            return text.replace(words[1], f"**{words[1]}**", 1)
        case 2:
            return "\n".join(words)
        case 3:
            return text.replace(words[-1], f"<b>{words[-1]}</b><br/>", 1)
        case 4:
            return text.replace("“", '"').replace("—", "-").replace("–", "-").replace("’", "'")
    return text.replace("ü", "u\u0308").replace("é", "e\u0301").replace("µ", "\u03bc")


def _texts(chance: random.Random) -> Made:
    for place, sentence in enumerate(SENTENCES):
        others = [other for other in SENTENCES if other != sentence]
        for edits, allowed, kind in itertools.product((0, 2, 6), (0, 2), ("present", "absent")):
            asked = {"type": kind, "text": sentence, "max_diffs": allowed}
            put = spoiled(_dressed(sentence, place % 6), edits, chance)
            yield asked, _page([*others[:3], put, *others[3:]])
    first = SENTENCES[0]
    for kind, n in itertools.product(("present", "absent"), (10, 60, 90, 400)):
        yield {"type": kind, "text": first, "first_n": n}, _page(list(SENTENCES))
        yield {"type": kind, "text": first, "last_n": n}, _page([*SENTENCES[1:], first])
        yield {"type": kind, "text": first, "first_n": 9, "last_n": n}, _page([*SENTENCES[1:], first])
    for kind, strict in itertools.product(("present", "absent"), (True, False)):
        yield {"type": kind, "text": first.upper(), "case_sensitive": strict}, _page(list(SENTENCES))
        yield {"type": kind, "text": first, "case_sensitive": strict}, ""
        yield {"type": kind, "text": first, "case_sensitive": strict}, " \n"
        yield {"type": kind, "text": "Page 7", "case_sensitive": strict}, "page 7"
        yield {"type": kind, "text": "emphasis over lines", "case_sensitive": strict}, "an *emphasis\nover lines*"


def _orders(chance: random.Random) -> Made:
    for place in range(len(SENTENCES) - 1):
        before, after = SENTENCES[place], SENTENCES[place + 1]
        for edits, turned in itertools.product((0, 2, 7), (False, True)):
            page = [spoiled(text, edits, chance) for text in ((after, before) if turned else (before, after))]
            asked = {"type": "order", "before": before[:40], "after": after[:40], "max_diffs": place % 4}
            yield asked, _page([*page, SENTENCES[(place + 5) % 10]])
    same = {"type": "order", "before": "the same words", "after": "the same words"}
    yield same, "the same words"
    yield same, "the same words, and then the same words"
    yield {"type": "order", "before": "beta", "after": "alpha"}, "alpha, beta, alpha"
    yield {"type": "order", "before": "beta", "after": "alpha", "max_diffs": 1}, "alpha, beta, alha"
    yield {"type": "order", "before": "beta", "after": "gamma"}, ""


ROWS = (
    ("Port", "1930", "1931", "Change"),
    ("Bremen", "1,204", "1,190", "-1.2"),
    ("Hamburg", "7,845", "7,411", "−5.5"),
    ("Lübeck", "312", "330", "5.8"),
    ("Total", "9,361", "8,931", ""),
)


def _markdown(rows: Any, rule: str = "---") -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + f" {rule} |" * len(rows[0]), *lines[1:]])


def _html(rows: Any, head: str = "th", first: str = "td") -> str:
    made = ""
    for place, row in enumerate(rows):
        names = [head if place == 0 else first if column == 0 else "td" for column in range(len(row))]
        cells = "".join(f"<{name}>{cell}</{name}>" for name, cell in zip(names, row, strict=True))
        made += f"<tr>{cells}</tr>\n"
    return f"<table>{made}</table>"


def _questions() -> Iterator[dict[str, Any]]:
    yield {"cell": "7,845", "up": "1,204", "down": "312", "left": "Hamburg", "right": "7,411"}
    yield {"cell": "7,411", "top_heading": "1931", "left_heading": "Hamburg"}
    yield {"cell": "5.8", "top_heading": "1931"}
    yield {"cell": "1,190", "left_heading": "Hamburg", "up": "1931"}
    yield {"cell": "Lubeck", "right": "312", "max_diffs": 1}
    yield {"cell": "Port", "up": "nothing", "left": "nothing", "down": "Bremen"}
    yield {"cell": "330", "left": "321", "max_diffs": 2}
    yield {"cell": "-5.5", "top_heading": "Change", "left": "7,411", "max_diffs": 9}


def _tables(chance: random.Random) -> Made:
    spoiled_rows = [tuple(spoiled(cell, 1, chance) if cell else "" for cell in row) for row in ROWS]
    shifted = [ROWS[0], *(("", *row[:3]) for row in ROWS[1:])]
    pages = (
        _markdown(ROWS),
        "Words before.\n\n" + _markdown(ROWS, ":-:") + "\n\nWords after.",
        _markdown(spoiled_rows),
        _markdown(shifted),
        _markdown(ROWS[1:]),
        "\n".join(" | ".join(row) for row in ROWS),
        _markdown(ROWS[:2]) + "\n\n" + _markdown(ROWS[2:]),
        "Hamburg 7,845 7,411",
        "| 7,845 |",
    )
    for asked, page in itertools.product(_questions(), pages):
        yield {"type": "table", **asked}, page
    yield {"type": "table", "cell": "312", "ignore_markdown_tables": True}, pages[0]
    yield {"type": "table", "cell": "a", "right": "b"}, "||a|b|\n|---|---|\n|**a**|c|"
    yield {"type": "table", "cell": "a", "right": "b"}, "a|b\r\n---|---\r\nc|d"


_SPANS = """<table><thead><tr><th rowspan="2">Port</th><th colspan="2">Ships</th><th>Toll</th></tr>
<tr><th>in</th><th>out</th><th>paid</th></tr></thead><tbody>
<tr><th rowspan="2">Bremen</th><td>12</td><td>13</td><td>140</td></tr>
<tr><td>22</td><td>23</td><td>240</td></tr>
<tr><td>Hamburg</td><td colspan="2">31</td><td>340<br>and more</td></tr></tbody></table>"""
_ODD = (
    '<table><tr><td rowspan="two">12</td><td>13</td></tr></table>',
    '<table><tr><td rowspan="0">12</td><td colspan="0">13</td></tr></table>',
    '<table><tr><th colspan="900000">Ships</th></tr><tr><td>12</td><td>13</td></tr></table>',
    "<table><tr><td>12<table><tr><td>13</td><td>14</td></tr></table></td><td>15</td></tr></table>",
    "<table><tr><td>12<td>13<tr><td>22<td>23</table>",
    "<table></table><table><tr></tr></table>",
    "<TABLE><TR><TH>in</TH><TH>out</TH></TR><TR><TD> 12 </TD><TD>13</TD></TR></TABLE>",
    "<table><thead><tr><td>in</td><td>out</td></tr><tr><td>in</td><td>out</td></tr></thead><tr><td>12</td><td>13</td></tr></table>",
)


def _tables_of_html(chance: random.Random) -> Made:
    pages = [_html(ROWS), _html(ROWS, "td"), _html(ROWS, "th", "th"), "<p>" + _html(ROWS[1:], "td", "th") + "</p>"]
    for asked, page in itertools.product(_questions(), pages):
        yield {"type": "table", **asked}, page
    spans = (
        {"cell": "12", "up": "in", "right": "13", "left": "Bremen", "down": "22"},
        {"cell": "13", "top_heading": "Ships", "left_heading": "Bremen"},
        {"cell": "23", "top_heading": "out", "left_heading": "Bremen"},
        {"cell": "22", "left": "Bremen"},
        {"cell": "140", "top_heading": "Toll"},
        {"cell": "140", "top_heading": "Ships"},
        {"cell": "240", "top_heading": "paid", "left_heading": "Hamburg"},
        {"cell": "31", "right": "340 and more", "left_heading": "Hamburg"},
        {"cell": "31", "top_heading": "in", "up": "22"},
        {"cell": "340 and more", "top_heading": "paid", "max_diffs": 1},
        {"cell": "in", "up": "Ships", "left": "Port"},
        {"cell": "out", "top_heading": "Ships"},
    )
    bare = _SPANS.replace("th>", "td>").replace("<th", "<td").replace("<thead>", "").replace("</thead>", "")
    for asked, page in itertools.product(spans, (_SPANS, bare, _SPANS + _html(ROWS))):
        yield {"type": "table", **asked}, page
    for asked, page in itertools.product((spans[0], {"cell": "13", "left": "12", "top_heading": "out"}), _ODD):
        yield {"type": "table", **asked}, page


_FORMULAS = (
    # as asked for, the same otherwise written, another one
    ("x^2", "x^{2}", "x^3"),
    (r"\frac{a}{b}", r"{a \over b}", r"\frac{a}{c}"),
    (r"E = mc^2", r"E=m c^{2}", r"E = mc_3"),
    (r"\sum_{i=1}^{n} i = \frac{n(n+1)}{2}", r"\sum\limits_{i=1}^n i=\frac{n (n+1)}{2}", r"\sum_{i=1}^{n} i^2"),
    (r"\int_0^1 f(x)\,dx", r"\int_{0}^{1}f(x) dx", r"\int_0^2 f(x)\,dx"),
    (r"\alpha + \beta", r"\alpha+\beta", r"\alpha - \beta"),
    (r"\sqrt{x+1}", r"\sqrt{ x + 1 }", r"\sqrt[3]{x-1}"),
    (
        r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}",
        r"\begin{pmatrix}a&b\\c&d\end{pmatrix}",
        r"\begin{pmatrix}a&c\\b&d\end{pmatrix}",
    ),
    (r"\lim_{x \to 0} \frac{\sin x}{x} = 1", r"\lim_{x\to0}\frac{\sin x}{x}=1", r"\lim_{x \to 1} \frac{\sin x}{x} = 1"),
    (r"\mathbf{F} = m\mathbf{a}", r"\mathbf F=m\mathbf a", r"F = ma"),
    (r"a \leq b", r"a \le b", r"a \geq b"),
    (r"\hat{\theta}_n", r"\hat\theta_{n}", r"\bar{\theta}_n"),
    (r"\text{rank}(A) = 3", r"\mathrm{rank}(A)=3", r"\text{rank}(B) = 3"),
)


def _maths(chance: random.Random) -> Made:
    around = ("${}$", "$${}$$", r"\({}\)", r"\[ {} \]", "the text has {} bare")
    for place, formulas in enumerate(_FORMULAS):
        for kind, formula in enumerate(formulas):
            page = around[(place + kind) % 4].replace("{}", formula)
            yield {"type": "math", "math": formulas[0]}, f"So we have {page}, and also $q$."
        longer = f"y = {formulas[1]} + 7"
        yield {"type": "math", "math": formulas[0]}, f"\\[{longer}\\]"
        yield {"type": "math", "math": longer}, f"$${formulas[0]}$$"
    for form in around:
        page = form.replace("{}", "x^2")
        yield {"type": "math", "math": "x^2"}, page
        yield {"type": "math", "math": "x^2", "ignore_dollar_delimited": True}, page
        yield {"type": "math", "math": "x^{2}", "ignore_dollar_delimited": True}, page
    for asked, page in (
        ("x^2", "$x_2$"),
        ("ab", "$ba$"),
        ("x^2", r"$\frac{x}$"),
        (r"\frac{x}", "$y$"),
        (r"\frac{x}", "no formula"),
        ("x^2", "$ $"),
        ("x^2", "costs $5 and x^2 is 3$"),
        ("a+b", "$$a\n+b$$"),
        ("aaaaaaaaaa+b", "$aaaaaaaaaaa+c$"),
    ):
        yield {"type": "math", "math": asked}, page


def _baselines(chance: random.Random) -> Made:
    pages = (
        _page(list(SENTENCES)),
        "",
        " \n\n",
        "---\n***",
        "# 5",
        "words " + "na " * 40,
        "words " + "=" * 30,
        "words " + "=" * 31,
        "words " + "\n" * 50,
        "words " + "12345" * 32,
        "words " + "123456" * 40,
        "loops " + "ab" * 40 + " and goes on",
        "东京",
        "the word かな here",
        "thumbs 👍 up",
        "a smile 😀",
        "a flag 🇩🇪",
        "Привет, мир",
        "한국어",
        "![a long description of a picture](page_1_2_3_4.png)",
        "x ![a long description](picture.png) y",
    )
    settings: tuple[dict[str, Any], ...] = (
        {},
        {"max_length": 10},
        {"max_length": 10, "max_length_skips_image_alt_tags": True},
        {"max_repeats": 45, "check_disallowed_characters": False},
    )
    for given, page in itertools.product(settings, pages):
        yield {"type": "baseline", **given}, page


def _formats(chance: random.Random) -> Made:
    title = "On the freezing of harbours"
    pages = (
        f"# {title}\n\nText.",
        f"###### {title} in winter",
        f"#{title}",
        f"<h2 class='x'>{title}</h2>",
        f"**{title}**",
        f"__{title}__ and __others__",
        f"*{title}*",
        f"_{title}_",
        f"<b>{title}</b>",
        f"<strong>{title}</strong>",
        f"<em>{title}</em>",
        f"<i>{title.upper()}</i>",
        title,
        f"# {spoiled(title, 2, chance)}",
    )
    for kind, page in itertools.product(("heading", "bold", "italic"), pages):
        yield {"type": "format", "format": kind, "text": title, "max_diffs": 2}, page
    yield {"type": "format", "format": "italic", "text": title, "case_sensitive": False}, pages[11]


def _footnotes(chance: random.Random) -> Made:
    asked = {"type": "footnote", "marker": "12"}
    pages = (
        "The toll was raised[^12] twice.",
        "The toll was raised<sup>12</sup> twice.",
        "The toll was raised<SUP class='n'>12</SUP> twice.",
        "The toll was raised¹² twice.",
        "The toll was raised12 twice.",
        "[^12]: The toll was raised twice.",
        "Nothing was raised[^1] twice.",
        "Twice[^12] the toll was raised.",
        "The toll was reised [^12] twlce.",
    )
    sides: tuple[dict[str, Any], ...] = (
        {},
        {"appears_before_marker": "toll was raised"},
        {"appears_after_marker": "twice"},
        {"appears_before_marker": "was raised", "appears_after_marker": "twice.", "max_diffs": 1},
    )
    for side, page in itertools.product(sides, pages):
        yield {**asked, **side}, page
    yield {"type": "footnote", "marker": "*"}, "A word[^*] here"
    yield {"type": "footnote", "marker": "*"}, "A word<sup>*</sup> here"


def write_data(folder: Path, chosen: list[Sample]) -> Path:
    """The samples as a folder of olmOCR-Bench, each with a PDF of its own, and a candidate that wrote their texts."""
    for number, sample in enumerate(chosen):
        case = {**sample.case, "pdf": f"papers/{sample.case['id']}.pdf"}
        write_pdf(folder / "pdfs" / case["pdf"], [case["id"]])
        with (folder / f"{sample.case['type']}.jsonl").open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(case) + "\n")
        for repeat in range(1, 3 if number % 7 == 0 else 2):
            read = folder / "candidate" / "papers" / f"{case['id']}_pg1_repeat{repeat}.md"
            read.parent.mkdir(parents=True, exist_ok=True)
            read.write_bytes((sample.text if repeat == 1 else "Another reading.").encode())
    return folder
