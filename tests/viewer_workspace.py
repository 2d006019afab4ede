"""Workspaces for the viewer's tests: real files as a run writes them, with pages that no small run would give."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pdfocr_core.documents import Document, PageGroup
from pdfocr_core.errors import Reason
from pdfocr_core.outputs.status import status_row
from pdfocr_core.records import Attempt, Box, DocumentRecord, Method, PageRecord, PageStatus
from pdfocr_core.sources.opening import local_version
from pdfocr_core.workspace import IndexRow, Workspace, line_of, open_workspace
from tests.documents import write_pdf

ENGINE = "0123456789abcdef"
NAME = "<img src=x onerror=window.stolen=1>'\"&.pdf"
MATHEMATICS = r"""# Waves

Inline $e^{i\pi}_1 + a_1 b_2$, brackets \(\sqrt{x}\), money $5 and $6, broken $\frac{1$ here.

$$
\int_0^1 x^2 \, dx = \frac{1}{3}
$$

\begin{align} a &= b \\ c &= d \end{align}

| Site | Visits |
|------|-------:|
| Fen  | $n^2$  |

<table><tr><td rowspan="2">Low</td><td>$\alpha$</td></tr><tr><td>x &lt; y</td></tr></table>

![The level at the mill](page_100_100_400_300.png)
"""
HOSTILE = (
    r"""<script>window.stolen = 1</script><img src=x onerror="window.stolen=1"><svg onload="window.stolen=1"><a
xlink:href="javascript:window.stolen=1"></a></svg><iframe srcdoc="<script>parent.stolen=1</script>"></iframe>

[one](javascript:window.stolen=1) [two](JaVaScRiPt:window.stolen=1) [three](data:text/html,<script>alert(1)</script>)
[four]( java
script:window.stolen=1) <a href="&#106;avascript:window.stolen=1" onclick="window.stolen=1" style="position:fixed">five</a>
<https://example.invalid/good> [six](vbscript:x) [seven](//example.invalid/protocol)

![far](https://example.invalid/track.png) <img src="//example.invalid/track2.png"> <link rel=stylesheet
href="https://example.invalid/x.css"><style>body{display:none}</style><meta http-equiv=refresh content="0;url=https://example.invalid">
<base href="https://example.invalid/"><form action="https://example.invalid"><input name=id><button>go</button></form>
<a id="list" name="pdfocr">clobber</a> <object data="https://example.invalid"></object><video src="https://example.invalid/v"></video>

$\href{javascript:window.stolen=1}{x}$ $\htmlStyle{color:red}{y}$ $\includegraphics{https://example.invalid/z.png}$
<span class="tex">\href{javascript:window.stolen=1}{x}</span> <p class="problem" style="color:red">styled</p>

</script><script>window.stolen=1</script> line
<math><mtext></table><mglyph><style><!--</style><img title="--><img src=x onerror=window.stolen=1>">"""
    "\u2028end"
)


def page(document: Document, number: int, text: str, **fields: Any) -> PageRecord:
    """A page that was read well, but for what is given."""
    given: dict[str, Any] = {
        "status": PageStatus.OK,
        "method": Method.MODEL,
        "language": "en",
        "raw": text,
        "finish_reason": "stop",
        "attempts": [Attempt(reason=None, temperature=0.1, prompt_tokens=900, completion_tokens=80, seconds=1.25)],
        "image_width": 911,
        "image_height": 1288,
        "model": "test-model",
    }
    identities = {"document_id": document.document_id, "content_id": "0" * 64, "engine_id": ENGINE}
    return PageRecord(page=number, text=text, **identities, **{**given, **fields})


def local(path: Path) -> Document:
    """The file as a run would have indexed it."""
    info = path.stat()
    return Document(str(path), local_version(info), bytes=info.st_size, pages=1)


def commit(workspace: Workspace, documents: Sequence[tuple[Document, Reason | None, Sequence[PageRecord]]]) -> str:
    """One finished group, its index, manifest, records and status rows."""
    group = PageGroup(tuple(document for document, _reason, _pages in documents))
    index(workspace, group)
    records: list[DocumentRecord | PageRecord] = []
    rows = []
    for document, reason, pages in documents:
        record = DocumentRecord(
            document_id=document.document_id, content_id=None, url=document.url, version=document.version,
            bytes=document.bytes, kind=None if reason else "pdf", pages=len(pages), reason=reason, engine_id=ENGINE,
        )  # fmt: skip
        records += [record, *pages]
        rows.append(status_row(record, pages, group=group.key, max_page_error_rate=None))
    lines = [line_of(record) for record in records]
    workspace.commit_pages(group.key, lines, sum(map(len, lines)))
    workspace.write_status(group.key, rows)
    return group.key


def index(workspace: Workspace, group: PageGroup) -> None:
    """A group's index batch and manifest."""
    rows = [
        IndexRow(group.key, one.document_id, one.url, one.version, one.bytes, one.pages, one.member, one.problem)
        for one in group.documents
    ]
    assert workspace.append_index(rows, workspace.next_batch())
    workspace.write_manifest(group)


def write_workspace(folder: Path) -> tuple[Workspace, dict[str, Document]]:
    """Documents of every kind that the viewer has to show."""
    workspace = open_workspace(str(folder / "workspace"))
    made = {
        "waves": local(write_pdf(folder / "in" / "waves.pdf", ["Waves", "second", "third"])),
        "hostile": local(write_pdf(folder / "in" / NAME, ["hostile"])),
        "gone": local(write_pdf(folder / "in" / "gone.pdf", ["gone"])),
        "broken": local(write_pdf(folder / "in" / "broken.pdf", ["x"])),
        "letter": local(write_pdf(folder / "in" / "Brief.pdf", ["eins", "zwei", "drei"])),
        "waiting": local(write_pdf(folder / "in" / "waiting.pdf", ["waiting", "more"])),
    }
    archive = folder / "in" / "box.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(write_pdf(folder / "inner.pdf", ["inside"]), "north/inner.pdf")
    size = (folder / "inner.pdf").stat().st_size
    version = f"{local_version(archive.stat())}#0"
    made["member"] = Document(f"{archive}::north/inner.pdf", version, bytes=size, pages=1, member=0)
    boxes = [
        Box(label="title", x0=0.08, y0=0.05, x1=0.9, y1=0.15),
        Box(label="figure", x0=0.1, y0=0.1, x1=0.6, y1=0.45),
    ]
    bad = [
        Attempt(reason="repetition", temperature=0.1, completion_tokens=4096, seconds=9, detail="“and and and”"),
        Attempt(reason="length", temperature=0.4, completion_tokens=8192, seconds=20),
    ]
    letter = made["letter"]
    commit(
        workspace,
        [
            (
                made["waves"],
                None,
                [
                    page(made["waves"], 1, MATHEMATICS, boxes=boxes),
                    page(made["waves"], 2, "The *second* page."),
                    page(made["waves"], 3, "", status=PageStatus.BLANK, method=Method.BLANK, raw=None, attempts=[]),
                ],
            ),
            (made["hostile"], None, [page(made["hostile"], 1, HOSTILE)]),
            (made["gone"], None, [page(made["gone"], 1, "Its file is gone.")]),
            (made["broken"], Reason.TRUNCATED, []),
            (made["member"], None, [page(made["member"], 1, "From an archive.")]),
        ],
    )
    commit(
        workspace,
        [
            (
                letter,
                None,
                [
                    page(letter, 1, "Erstens.", language="de", attempts=[*bad, page(letter, 1, "").attempts[0]]),
                    page(
                        letter, 2, "Zweitens.", language="de", status=PageStatus.FALLBACK, method=Method.TEXT_LAYER,
                        reason="repetition", raw=None, attempts=bad,
                    ),
                    page(
                        letter, 3, "", language=None, status=PageStatus.FAILED, method=Method.NONE, reason="length",
                        raw=None, attempts=bad,
                    ),
                ],
            )
        ],
    )  # fmt: skip
    waiting = PageGroup((made["waiting"],))
    index(workspace, waiting)
    workspace.write_part(waiting.key, "0", [page(made["waiting"], 1, "The first page is read.")])
    Path(made["gone"].url).unlink()
    return workspace, made


def write_large_workspace(folder: Path, documents: int, per_group: int = 500) -> Workspace:
    """A collection of one-page documents whose files are not there."""
    workspace = open_workspace(str(folder))
    for start in range(0, documents, per_group):
        of_group = [
            Document(f"/collection/{number // 1000:03}/letter {number:06}.pdf", "1-1", bytes=1, pages=1)
            for number in range(start, start + per_group)
        ]
        entries = [
            (one, Reason.CORRUPT_PDF if at % 50 == 0 else None, [] if at % 50 == 0 else [page(one, 1, f"Text {at}")])
            for at, one in enumerate(of_group)
        ]
        commit(workspace, entries)
    return workspace
