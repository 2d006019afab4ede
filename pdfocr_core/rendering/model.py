"""What crosses the border between the run and its rendering processes: plain frozen values, cheap to import and to send."""

from __future__ import annotations

from dataclasses import dataclass

from pdfocr_core.errors import Reason
from pdfocr_core.layout.model import Line

__all__ = [
    "DocumentSample",
    "Failure",
    "LinesOfPage",
    "OpenLimits",
    "OpenedDocument",
    "Region",
    "RenderOptions",
    "RenderedPage",
    "SearchablePdf",
    "TextLayerText",
]


Region = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one document or one page could not be had; raised or listed as an exception on the run's side."""

    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class OpenLimits:
    """What a document may measure at most."""

    max_pages: int
    max_bytes: int
    max_image_pixels: int
    max_decoded_bytes: int


@dataclass(frozen=True, slots=True)
class OpenedDocument:
    """What opening a document found.

    Attributes:
        content_id: SHA-256 (hex) of the bytes.
        kind: `pdf` or `image`.
        pages: pages of a PDF, frames of a picture.
        flags: remarks such as `repaired`, `permissions_restricted`, `has_form`, `xfa`, `xfa_placeholder`,
            `has_attachments`, `page_count_mended`.
        password_index: which of the passwords offered opened it; None when none was needed.
    """

    content_id: str
    kind: str
    pages: int
    flags: tuple[str, ...] = ()
    password_index: int | None = None


@dataclass(frozen=True, slots=True)
class DocumentSample:
    """What filters look at.

    Attributes:
        text: the text layer of the first pages; none where it is no text of any language.
        has_text_fields: whether there is a field to be filled in with text.
    """

    text: str = ""
    has_text_fields: bool = False


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """How the pages of one task become pictures.

    Attributes:
        longest_side: of the picture, in pixels.
        min_short_side: thinner pages are padded with white to this, in pixels.
        rotation: degrees counter-clockwise by which the picture is turned.
        image_format: `jpeg` or `png`.
        jpeg_quality: of colour and grey JPEGs.
        allow_grey: whether pages without colour are sent as grey pictures.
        want_text: whether the PDF's own text is read too.
        max_image_pixels: a source picture beyond is not decoded.
        max_decoded_bytes: nor one that needs more memory than this.
        want_figures: whether to say where pictures lie on a PDF page.
        crops: regions to cut out, instead of the whole picture: left, top, right, bottom, as fractions of it, turned.
        dpi: draw a PDF page at so many dots per inch, within `longest_side`; None for `longest_side` alone.
        want_lines: whether the lines of a text layer are wanted too.
        keep_margins: whether page numbers, running heads and stamps stay in the Markdown of a text layer.
    """

    longest_side: int
    min_short_side: int
    rotation: int
    image_format: str
    jpeg_quality: int
    allow_grey: bool
    want_text: bool
    max_image_pixels: int
    max_decoded_bytes: int
    want_figures: bool = False
    crops: tuple[Region, ...] = ()
    dpi: int | None = None
    want_lines: bool = False
    keep_margins: bool = True


@dataclass(frozen=True, slots=True)
class TextLayerText:
    """The text that a PDF page carries itself.

    Attributes:
        markdown: in reading order.
        characters: letters and digits in it.
        sound: whether it can stand for the page.
        reason: why it is not sound; empty when it is.
        image_share: part of the page's area that pictures cover, 0 to 1.
        lines: in reading order where they were asked for; coordinates are fractions of the page as it is seen.
    """

    markdown: str
    characters: int
    sound: bool
    reason: str
    image_share: float
    lines: tuple[Line, ...] = ()

    @property
    def over_image(self) -> bool:
        """Whether it lies over a picture of the whole page: most likely an older OCR of a scan."""
        return self.image_share >= FULL_PAGE_SHARE


FULL_PAGE_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """One page as the model is to see it.

    Attributes:
        page: 1-based.
        image: base64 of the picture, ready for a data URL.
        format: `jpeg` or `png`.
        width: in pixels, as encoded.
        height: in pixels, as encoded.
        blank: whether the picture shows nothing.
        text: the page's own text if it was asked for. It also comes unasked with a blank picture of a page that
            carries letters: the flag `blank_render` then says that drawing failed, usually for want of a font.
        flags: remarks such as `padded`, `downscaled`, `truncated_image`, `blank_render`.
        figures: where pictures lie on the page, where it was asked for: fractions of the picture before any turn.
        crops: base64 of the regions that were asked for; then there is no `image`.
        render_s: what drawing took, with all that is not encoding.
        encode_s: what encoding took.
    """

    page: int
    image: bytes
    format: str
    width: int
    height: int
    blank: bool
    text: TextLayerText | None = None
    flags: tuple[str, ...] = ()
    figures: tuple[Region, ...] = ()
    crops: tuple[bytes, ...] = ()
    render_s: float = 0.0
    encode_s: float = 0.0


@dataclass(frozen=True, slots=True)
class LinesOfPage:
    """What is to be written onto a page, invisibly.

    Attributes:
        lines: coordinates are fractions of the page as it is seen, once turned by `rotation`.
        rotation: degrees counter-clockwise.
    """

    lines: tuple[Line, ...]
    rotation: int = 0


@dataclass(frozen=True, slots=True)
class SearchablePdf:
    """A PDF with invisible text.

    Attributes:
        data: its bytes.
        written: pages that got text.
        own_text: pages that have sound text of their own and were left as they are.
    """

    data: bytes
    written: tuple[int, ...]
    own_text: tuple[int, ...]
