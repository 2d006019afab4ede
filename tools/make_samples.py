"""Makes the files of `samples/` again: `python -m tools.make_samples [FOLDER]`.

The made files are in the repository; this is only needed to change one. It takes reportlab and Pillow, and the DejaVu
fonts (Debian's fonts-dejavu-core, freely redistributable) for the pictures and the Cyrillic page. The pages in Latin
script name the PDF standard fonts instead of embedding any, and their content is not compressed, so that they come out
byte for byte the same on every machine with the same reportlab.
"""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
import time
import tomllib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image
from reportlab.graphics.shapes import Drawing, Line, PolyLine, Rect, String
from reportlab.lib import colors
from reportlab.lib.enums import TA_CENTER, TA_JUSTIFY
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    FrameBreak,
    KeepTogether,
    NextPageTemplate,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
)

from tools import sample_pictures as pictures

__all__ = ["MADE_WITH", "PLAIN_PDFS", "SAMPLES", "make_samples"]

# The reportlab whose bytes are in the repository.
MADE_WITH = "5.1.0"
PASSWORD = "lighthouse"  # noqa: S105 - stands in samples/README.md
TEXTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("sample_texts.toml").read_text(encoding="utf-8"))
DATE = time.gmtime(946_684_800)
WIDTH, HEIGHT = A4
SHORT_MARGIN = 48.0
GUTTER = 22.0
COLUMN = (WIDTH - 2 * SHORT_MARGIN - GUTTER) / 2

BODY = ParagraphStyle(
    "body",
    fontName="Times-Roman",
    fontSize=10.8,
    leading=13.1,
    alignment=TA_JUSTIFY,
    spaceAfter=5,
    embeddedHyphenation=1,
)
HEADING = ParagraphStyle(
    "heading", fontName="Times-Bold", fontSize=12.5, leading=15, spaceBefore=7, spaceAfter=4, keepWithNext=1
)
TITLE = ParagraphStyle("title", fontName="Times-Bold", fontSize=19, leading=23, alignment=TA_CENTER, spaceAfter=10)
CENTRED = ParagraphStyle("centred", fontName="Times-Roman", fontSize=11, leading=14, alignment=TA_CENTER)
ABSTRACT = ParagraphStyle("abstract", parent=BODY, fontName="Times-Italic", leftIndent=36, rightIndent=36)
CAPTION = ParagraphStyle("caption", fontName="Times-Roman", fontSize=9, leading=11, alignment=TA_CENTER, spaceAfter=8)
REFERENCE = ParagraphStyle(
    "reference", fontName="Times-Roman", fontSize=9, leading=11, leftIndent=14, firstLineIndent=-14, spaceAfter=3
)


def _soft(text: str) -> str:
    """Prose with its soft hyphens; reportlab folds the line ends itself."""
    return text.replace("~", "\u00ad")


def _paper_table() -> list[Flowable]:
    table = Table(TEXTS["paper"]["rows"], colWidths=[COLUMN * share for share in (0.42, 0.24, 0.3)], rowHeights=17)
    table.setStyle(
        [
            ("FONT", (0, 0), (-1, 0), "Times-Bold", 10),
            ("FONT", (0, 1), (-1, -1), "Times-Roman", 10),
            ("GRID", (0, 0), (-1, -1), 0.7, colors.black),
            ("BACKGROUND", (0, 0), (-1, 0), colors.Color(0.92, 0.92, 0.92)),
            ("ALIGN", (1, 0), (-1, -1), "RIGHT"),
            ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
        ]
    )
    return [KeepTogether([Spacer(1, 4), table, Spacer(1, 4), Paragraph(TEXTS["paper"]["table"], CAPTION)])]


def _paper_figure() -> list[Flowable]:
    """The flood as a curve over the hours of one night."""
    levels = (18, 18, 19, 20, 21, 24, 30, 44, 72, 95, 101, 97, 88, 78, 69, 61, 54, 48, 43, 39, 36)
    width, height, left, bottom = COLUMN - 6, 150.0, 34.0, 26.0
    step = (width - left - 8) / (len(levels) - 1)
    drawing = Drawing(width, height)
    drawing.add(
        Rect(
            left,
            bottom,
            width - left - 8,
            height - bottom - 8,
            fillColor=None,
            strokeColor=colors.black,
            strokeWidth=0.8,
        )
    )
    for number, label in enumerate(("0", "1 m", "2 m", "3 m")):
        y = bottom + number * 32
        drawing.add(Line(left - 3, y, left, y, strokeWidth=0.8))
        drawing.add(String(left - 6, y - 3, label, fontName="Times-Roman", fontSize=8, textAnchor="end"))
    for number in range(0, len(levels), 5):
        x = left + number * step
        drawing.add(Line(x, bottom - 3, x, bottom, strokeWidth=0.8))
        drawing.add(
            String(
                x,
                bottom - 13,
                f"{(18 + number // 2) % 24:02d}:{30 * (number % 2):02d}",
                fontName="Times-Roman",
                fontSize=8,
                textAnchor="middle",
            )
        )
    points = [
        coordinate for number, level in enumerate(levels) for coordinate in (left + number * step, bottom + level)
    ]
    drawing.add(PolyLine(points, strokeColor=colors.Color(0.1, 0.25, 0.6), strokeWidth=1.6))
    return [Spacer(1, 4), drawing, Paragraph(TEXTS["paper"]["figure"], CAPTION)]


def paper() -> bytes:
    """A two-column paper of two pages with a ruled table and a drawn figure."""
    words = TEXTS["paper"]
    head_height = 182.0
    high = HEIGHT - 2 * SHORT_MARGIN
    frame = partial(Frame, leftPadding=0, rightPadding=0, topPadding=0, bottomPadding=0)
    # The last page ends with columns of about the same length.
    last = 460.0
    right = SHORT_MARGIN + COLUMN + GUTTER
    first = [
        frame(SHORT_MARGIN, HEIGHT - SHORT_MARGIN - head_height, WIDTH - 2 * SHORT_MARGIN, head_height),
        frame(SHORT_MARGIN, SHORT_MARGIN, COLUMN, high - head_height),
        frame(right, SHORT_MARGIN, COLUMN, high - head_height),
    ]
    later = [frame(x, HEIGHT - SHORT_MARGIN - last, COLUMN, last) for x in (SHORT_MARGIN, right)]
    out = io.BytesIO()
    document = BaseDocTemplate(
        out,
        pagesize=A4,
        pageCompression=0,
        invariant=1,
        title=words["title"],
        author=words["authors"],
    )
    document.addPageTemplates(
        [PageTemplate("first", first, onPage=_page_number), PageTemplate("later", later, onPage=_page_number)]
    )
    story: list[Flowable] = [
        NextPageTemplate("later"),
        Paragraph(words["title"], TITLE),
        Paragraph(words["authors"], CENTRED),
        Paragraph(words["place"], CENTRED),
        Spacer(1, 10),
        Paragraph(f"<b>Abstract.</b> {words['abstract']}", ABSTRACT),
        FrameBreak(),
    ]
    for piece in words["body"]:
        if "table" in piece:
            story += _paper_table()
        elif "figure" in piece:
            story += _paper_figure()
        elif "heading" in piece:
            story.append(Paragraph(piece["heading"], HEADING))
        else:
            story.append(Paragraph(_soft(piece["text"]), BODY))
    story.append(Paragraph("References", HEADING))
    story += [Paragraph(reference, REFERENCE) for reference in words["references"]]
    document.build(story)
    return out.getvalue()


def _page_number(canvas: Canvas, document: BaseDocTemplate) -> None:
    canvas.setFont("Times-Roman", 9)
    canvas.drawCentredString(WIDTH / 2, SHORT_MARGIN / 2, str(document.page))


def _letter(lines: Iterable[str], *, body: str = "Times-Roman", head: str = "Times-Bold") -> bytes:
    """One page, line by line as given, the first one as its heading."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=A4, pageCompression=0, invariant=1)
    y = HEIGHT - 90
    for number, line in enumerate(lines):
        canvas.setFont(head if number == 0 else body, 17 if number == 0 else 13)
        canvas.drawString(72, y, line)
        y -= 30 if number == 0 else 20 if line else 11
    canvas.save()
    return out.getvalue()


def _plain_pages(pages: Iterable[dict[str, Any] | None], *, password: str = "") -> bytes:
    """Pages of a heading and short paragraphs each; `None` is a blank page."""
    out = io.BytesIO()
    # 128 bits: the strongest that reportlab makes without randomness or a further package.
    encryption = StandardEncryption(password, ownerPassword="keeper", strength=128) if password else None
    canvas = Canvas(out, pagesize=A4, pageCompression=0, invariant=1, encrypt=encryption)
    for page in pages:
        if page is not None:
            canvas.setFont("Helvetica-Bold", 18)
            canvas.drawString(72, HEIGHT - 90, page["head"])
            for number, line in enumerate(page["paragraphs"]):
                paragraph = Paragraph(line, ParagraphStyle("plain", fontName="Helvetica", fontSize=12, leading=16))
                paragraph.wrapOn(canvas, WIDTH - 144, 100)
                paragraph.drawOn(canvas, 72, HEIGHT - 150 - number * 48)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def _picture_pdf(image: Image.Image, dpi: int, quality: int) -> bytes:
    """A page that is nothing but a picture."""
    out = io.BytesIO()
    image.save(out, "PDF", resolution=dpi, quality=quality, creationDate=DATE, modDate=DATE, producer="A scanner")
    return out.getvalue()


def scan() -> bytes:
    """A scanned book page without a text layer."""
    return _picture_pdf(pictures.scanned_page(**TEXTS["scan"]), 160, 55)


def turned() -> bytes:
    """A scan whose pixels lie on their side."""
    return _picture_pdf(pictures.turned_page(**TEXTS["turned"]), 150, 60)


def photo() -> bytes:
    """A photographed notice."""
    out = io.BytesIO()
    pictures.photograph(**TEXTS["photo"]).save(out, "JPEG", quality=72)
    return out.getvalue()


def ledger() -> bytes:
    """A TIFF of three frames: grey, black and white (Group 4), grey."""
    frames = pictures.ledger_frames(TEXTS["ledger"])
    for frame in frames:
        frame.encoderinfo = {"compression": "group4" if frame.mode == "1" else "tiff_lzw"}
    out = io.BytesIO()
    frames[0].save(out, "TIFF", save_all=True, append_images=frames[1:], dpi=(110, 110), compression="tiff_lzw")
    return out.getvalue()


def parish() -> bytes:
    """An archive of two documents of one name in two folders, and a note that is none."""
    words = TEXTS["parish"]
    members = {"README": words["note"].encode()}
    members |= {f"{side}/register.pdf": _plain_pages([words[side]]) for side in ("north", "south")}
    out = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def truncated() -> bytes:
    """A sound PDF of several pages, cut at 60 %: before its catalog."""
    whole = _plain_pages([TEXTS["truncated"]] * 12)
    return whole[: len(whole) * 6 // 10]


def pismo() -> bytes:
    """A letter in Russian, with its fonts embedded."""
    for name in ("DejaVuSerif", "DejaVuSerif-Bold"):
        pdfmetrics.registerFont(TTFont(name, str(pictures.font_path(name))))
    return _letter(TEXTS["pismo"]["lines"].splitlines(), body="DejaVuSerif", head="DejaVuSerif-Bold")


# Those that need no font of the machine: their bytes depend on reportlab alone.
PLAIN_PDFS: dict[str, Callable[[], bytes]] = {
    "paper.pdf": paper,
    "blank_page.pdf": lambda: _plain_pages([TEXTS["inventory"][0], None, TEXTS["inventory"][1]]),
    "brief_de.pdf": lambda: _letter(TEXTS["brief"]["lines"].splitlines()),
    "locked.pdf": lambda: _plain_pages([TEXTS["locked"]], password=PASSWORD),
    "truncated.pdf": truncated,
}
SAMPLES: dict[str, Callable[[], bytes]] = {
    **PLAIN_PDFS,
    "ledger.tiff": ledger,
    "parish.tar.gz": parish,
    "photo.jpg": photo,
    "pismo_ru.pdf": pismo,
    "scan.pdf": scan,
    "turned.pdf": turned,
}


def make_samples(folder: Path) -> None:
    """Write every sample into `folder`, over what is there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, build in SAMPLES.items():
        content = build()
        (folder / name).write_bytes(content)
        print(f"{name:16} {len(content):>9,} bytes")


if __name__ == "__main__":
    make_samples(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "samples")
