"""Cut the book's figure font out of the full Noto Sans SC.

    python scripts/subset_font.py path/to/NotoSansSC-Regular.ttf

The result, src/attention_book/plotting/fonts/NotoSansSC-Subset.ttf, keeps the 3,755 common
Chinese characters (GB2312 level 1), a few rarer ones, and what labels of figures need besides:
Latin, Greek, punctuation, arrows and common mathematical signs. A variable font is first fixed
at the regular weight. fontTools is needed (the `book` extra).
"""

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont

TARGET = Path(__file__).parents[1] / "src/attention_book/plotting/fonts/NotoSansSC-Subset.ttf"
REGULAR = 400

#: Words of the field, and of example sentences, that GB2312 keeps in its rarer level 2.
RARER = "熵阈瑕骰橘莓馄饨鹦鹉蜻蜓"

#: Inclusive ranges of code points beside the Chinese characters.
RANGES = [
    (0x0020, 0x007E),  # ASCII
    (0x00A0, 0x00FF),  # Latin-1
    (0x0370, 0x03FF),  # Greek
    (0x2000, 0x206F),  # spaces, dashes, quotation marks
    (0x2070, 0x209F),  # superscripts and subscripts
    (0x2190, 0x21FF),  # arrows
    (0x2200, 0x22FF),  # mathematical signs
    (0x25A0, 0x25FF),  # geometric shapes
    (0x3000, 0x303F),  # Chinese punctuation
    (0xFF00, 0xFFEF),  # full-width forms
]


def common_chinese() -> set[int]:
    """GB2312 level 1: rows 16 to 55 of the standard, the last row ending five cells early."""
    cells = [
        (row, cell)
        for row in range(0xB0, 0xD8)
        for cell in range(0xA1, 0xFF)
        if (row, cell) <= (0xD7, 0xF9)
    ]
    return {ord(bytes(pair).decode("gb2312")) for pair in cells}


def wanted() -> set[int]:
    return common_chinese().union(
        map(ord, RARER), *(range(first, last + 1) for first, last in RANGES)
    )


def cut(source: Path, target: Path) -> None:
    font = TTFont(source, recalcTimestamp=False)
    if "fvar" in font:
        font = instantiateVariableFont(font, {"wght": REGULAR})
    options = subset.Options(layout_features=[], hinting=False, notdef_outline=True, name_IDs=["*"])
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=wanted())
    subsetter.subset(font)
    font.save(target)


if __name__ == "__main__":
    cut(Path(sys.argv[1]), TARGET)
    print(f"{TARGET.name}: {TARGET.stat().st_size / 1e6:.2f} MB")
