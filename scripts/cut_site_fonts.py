"""Cut the fonts of the site out of Source Sans 3, Source Serif 4 and Noto Serif CJK SC.

    python scripts/cut_site_fonts.py SANS.woff2 SANS-ITALIC.woff2 SERIF.woff2 NotoSerifCJK-Bold.ttc

The first three are variable fonts, as npm has them in @fontsource-variable/source-sans-3 and
-/source-serif-4 (the files latin-wght-normal and latin-wght-italic); the last is that of
Debian's fonts-noto-cjk. The results, in book/_ext/website/typefaces/, have names of their own,
since the name "Source" is reserved for the whole fonts. fontTools and brotli are needed (the
`book` extra).
"""

import sys
from pathlib import Path
from tempfile import TemporaryFile

from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont
from subset_font import wanted

HOME = Path(__file__).parents[1] / "book/_ext/website/typefaces"
#: English, French and the names that the book cites; what else there is comes from the stand-in.
LATIN = {*range(0x20, 0x7F), *map(ord, "\xa0–—‘’“”…•·−×±°«»àâäáçéèêëîïíôöóøùûüúñœæÉÀÇÖÜåłß")}
FEATURES = ["kern", "liga", "locl", "ccmp", "mark", "mkmk"]
SIMPLIFIED = 2  # the place of the Simplified Chinese face in its collection


def cut(
    source: Path,
    target: Path,
    family: str,
    *,
    letters: set[int] = LATIN,
    features: list[str] = FEATURES,
    weight: float | tuple[float, float] | None = None,
    face: int = -1,
) -> None:
    """Write a font of these letters, of this weight or range of weights, under another name."""
    font = TTFont(source, recalcTimestamp=False, fontNumber=face)
    if weight is not None:
        font = instantiateVariableFont(font, {"wght": weight})
        font.flavor = None
        file = TemporaryFile()  # noqa: SIM115 - the font reads on from it
        font.save(file)
        file.seek(0)
        font = TTFont(file, recalcTimestamp=False)
    options = subset.Options(layout_features=features, hinting=False, name_IDs=[0, 13, 14])
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=letters)
    subsetter.subset(font)
    for number in (1, 4, 6):
        font["name"].setName(
            family.replace(" ", "") if number == 6 else family, number, 3, 1, 0x409
        )
    font.flavor = "woff2"
    font.save(target)
    print(f"{target.name}: {target.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    sans, italic, serif, song = map(Path, sys.argv[1:])
    fonts = HOME / "static/fonts"
    cut(sans, fonts / "book-sans.woff2", "Book Sans", weight=(400, 700))
    cut(italic, fonts / "book-sans-italic.woff2", "Book Sans", weight=400)
    cut(serif, fonts / "book-serif.woff2", "Book Serif", weight=600)
    cut(song, HOME / "song.woff2", "Book Song", letters=wanted(), features=[], face=SIMPLIFIED)
