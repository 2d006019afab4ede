"""Write the font of invisible text: `python -m tools.make_invisible_font`, where fontTools (MIT) is installed.

Text that is searched and never painted needs a font that has widths and no shapes. Its few glyphs are boxes of the height
of a line, so that what is found can be marked; which character is which glyph is written into each PDF.
"""

from __future__ import annotations

from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen

from pdfocr_core.rendering.invisible import ASCENT, DESCENT, FONT_FILE, UNITS, WIDTHS


def _box(width: int) -> object:
    pen = TTGlyphPen(None)
    pen.moveTo((0, DESCENT))
    for corner in ((0, ASCENT), (width, ASCENT), (width, DESCENT)):
        pen.lineTo(corner)
    pen.closePath()
    return pen.glyph()


def main() -> None:
    """Write it; the same bytes every time."""
    widths = {".notdef": WIDTHS[0], **{f"w{width}": width for width in WIDTHS}}
    builder = FontBuilder(UNITS, isTTF=True)
    builder.setupGlyphOrder(list(widths))
    builder.setupCharacterMap({})
    builder.setupGlyf({name: _box(width) for name, width in widths.items()})
    builder.setupHorizontalMetrics({name: (width, 0) for name, width in widths.items()})
    builder.setupHorizontalHeader(ascent=ASCENT, descent=DESCENT)
    builder.setupNameTable({"familyName": "Invisible", "styleName": "Regular", "psName": "Invisible"})
    builder.setupOS2(sTypoAscender=ASCENT, sTypoDescender=DESCENT)
    builder.setupPost()
    builder.font["head"].created = builder.font["head"].modified = 0
    builder.font.recalcTimestamp = False
    builder.save(Path(FONT_FILE))


if __name__ == "__main__":
    main()
