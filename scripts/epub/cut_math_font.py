"""Cut the font of the EPUB's formulas out of Latin Modern Math (GUST Font License).

    python scripts/epub/cut_math_font.py path/to/latinmodern-math.otf

The result, math.woff2, keeps what the book's formulas can need, and the table MATH, by which a
reading system stretches brackets, roots and sums. It has a name of its own, as the license asks.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

TARGET = Path(__file__).with_name("math.woff2")
#: Inclusive ranges of code points.
RANGES = [
    (0x0020, 0x007E),  # ASCII
    (0x00A0, 0x00FF),  # Latin-1
    (0x0302, 0x0304),  # accents
    (0x0391, 0x03F5),  # Greek
    (0x2010, 0x2026),  # dashes, bars, dots
    (0x2032, 0x2035),  # primes
    (0x2061, 0x2064),  # invisible operators
    (0x2102, 0x211D),  # letters with two strokes
    (0x2190, 0x21D5),  # arrows
    (0x2200, 0x22F1),  # operators
    (0x2308, 0x230B),  # ceiling, floor
    (0x23DC, 0x23E1),  # braces above and below
    (0x27E8, 0x27E9),  # angle brackets
    (0x2A7D, 0x2A7E),
    (0x1D400, 0x1D467),  # bold, italic, bold italic
    (0x1D49C, 0x1D4B5),  # script
    (0x1D538, 0x1D550),  # two strokes
    (0x1D6A8, 0x1D71B),  # Greek: bold, italic
]


def main() -> None:
    font = TTFont(sys.argv[1], recalcTimestamp=False)
    options = subset.Options(
        flavor="woff2", layout_features=["ssty", "dtls", "flac"], hinting=False,
        notdef_outline=True, name_IDs=[0, 1, 2, 4, 6, 13, 14], desubroutinize=True,
    )  # fmt: skip
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes={c for low, high in RANGES for c in range(low, high + 1)})
    subsetter.subset(font)
    for record in font["name"].names:
        if record.nameID in (1, 4, 6):
            record.string = "BookMath" if record.nameID == 6 else "Book Math"
    font.flavor = "woff2"
    font.save(TARGET)
    print(
        f"{TARGET.name}: {TARGET.stat().st_size / 1000:.0f} kB, {len(font.getGlyphOrder())} glyphs"
    )


if __name__ == "__main__":
    main()
