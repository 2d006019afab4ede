from __future__ import annotations

import pytest

from pdfocr_core.rendering import detect


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "Microsoft Office"),
        (b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml", "Microsoft Office"),
        (b"PK\x03\x04" + bytes(26) + b"mimetypeapplication/epub+zip", "zip archive"),
        (b"<!DOCTYPE html>\n<html>", "HTML"),
        (b"\n <!-- saved --><HTML><head>", "HTML"),
        (b"<?xml version='1.0'?><a/>", "XML"),
        (b"Dear all,\nplease find", "plain text"),
        ("Grüße".encode()[:-1] + b"\xc3", "plain text"),
        (b"\x01\x02\x00\xff\xfe" * 20, "unknown"),
        (b"{\\rtf1", "RTF"),
    ],
)
def test_what_is_not_read_is_named(head: bytes, words: str):
    assert words in detect.describe(head)


def test_the_pdf_header_may_stand_anywhere_in_the_first_kilobyte():
    assert detect.pdf_header_offset(b"%PDF-1.7\n") == 0
    assert detect.pdf_header_offset(b"x" * 1000 + b"%PDF-1.7") == 1000
    assert detect.pdf_header_offset(b"x" * 2000 + b"%PDF-1.7") is None


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"\0\0\0\x1cftypheic\0\0\0\0", "HEIC"),
        (b"\0\0\0\x1cftypavif\0\0\0\0", "AVIF"),
        (b"\xff\x0a\x00", "JPEG XL"),
        (b"<?xml version='1.0'?>\n<!-- x -->\n<svg xmlns='x'>", "SVG"),
        (b"<html><svg>", None),
        (b"\0\0\0\x1cftypisom\0\0\0\0", None),
    ],
)
def test_pictures_that_are_not_read_are_known(head: bytes, name: str | None):
    assert detect.unsupported_image(head) == name


def test_pictures_that_are_read_are_known_by_content():
    assert detect.image_format_of(b"\x89PNG\r\n\x1a\n....") == "PNG"
    assert detect.image_format_of(b"RIFF\0\0\0\0WEBPVP8 ") == "WEBP"
    assert detect.image_format_of(b"MM\0*\0\0") == "TIFF"
    assert detect.image_format_of(b"%PDF-1.4") is None
