"""Fonts for the letters of a figure: ours first, then those of the system that have the rest.

The book's own font has the Chinese characters of common text. For the others, for traditional
Chinese, Japanese, Korean and whatever else a reader brings, the fonts of the system are searched,
also those that were installed after Matplotlib made its list.
"""

import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from matplotlib import font_manager, ft2font

from attention_book.foundations.environment import in_book_build

#: Has a sign for each script: a box that says what is missing. Matplotlib brings it from 3.11 on.
LAST_RESORT = "Last Resort High-Efficiency"
_STYLES = ("bold", "italic", "oblique", "light", "thin", "black", "medium", "condensed", "mono")
_CJK = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO")
_told: set[str] = set()


def families(own: Iterable[str], texts: Iterable[str]) -> list[str]:
    """Return the fonts in which a text is written: our own, and those that have the rest of it.

    What no font has is named in a warning, once. In the book's build the fonts of the machine do
    not count: a figure is the same wherever it is drawn.

    Args:
        own: The names of the fonts that come first.
        texts: What is written.
    """
    found, whole = list(own), "".join(texts)
    _tell_of_direction(whole)
    missing = {letter for letter in whole if _has_ink(letter)}
    missing = {letter for letter in missing if not any(_has(_path(name), letter) for name in found)}
    if not missing or in_book_build():
        return found
    for path in _of_the_system():
        if any(_has(path, letter) for letter in missing):
            missing = {letter for letter in missing if not _has(path, letter)}
            found.append(_known(path))
        if not missing:
            break
    _tell(missing)
    if missing and _is_known(LAST_RESORT):
        found.append(LAST_RESORT)
    return found


def _has_ink(letter: str) -> bool:
    return unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp", "Cn")


def _path(name: str) -> str:
    return str(font_manager.findfont(name))


@cache
def _font(path: str) -> ft2font.FT2Font | None:
    try:
        font = ft2font.FT2Font(path)
    except (OSError, RuntimeError):  # damaged, or made of pictures
        return None
    return font if font.scalable else None


def _has(path: str, letter: str) -> bool:
    font = _font(path)
    return font is not None and font.get_char_index(ord(letter)) != 0


def _of_the_system() -> Iterator[str]:
    """Yield the files of fonts: upright ones without serifs first, each kind by its name."""
    known = [entry.fname for entry in font_manager.fontManager.ttflist]
    paths = {*known, *font_manager.findSystemFonts()}
    for path in sorted(paths, key=_rank):
        font = _font(path)
        if font is not None and font.family_name != LAST_RESORT:
            yield path


def _rank(path: str) -> tuple[int, bool, str]:
    name = Path(path).stem.lower()
    return sum(style in name for style in _STYLES), "serif" in name, name


def _is_known(name: str) -> bool:
    return any(entry.name == name for entry in font_manager.fontManager.ttflist)


def _known(path: str) -> str:
    """Return the name by which Matplotlib finds a font, which it may not have in its list."""
    font = _font(path)
    if font is None:
        raise ValueError(f"{path}: expected a font, got none")
    if not _is_known(font.family_name):
        font_manager.fontManager.addfont(path)
    return font.family_name


def _tell(missing: set[str]) -> None:
    new = sorted(missing - _told)
    if not new:
        return
    _told.update(new)
    named = [f"{letter} (U+{ord(letter):04X} {unicodedata.name(letter, '')})" for letter in new[:5]]
    more = f" and {len(new) - 5} more" if len(new) > 5 else ""
    wanted = sorted({_script(letter) for letter in new})
    warnings.warn(
        f"no font of this system has {', '.join(named)}{more}: a figure shows boxes for them;"
        f" install the font of the Noto family for {', '.join(wanted)}, and draw it again",
        stacklevel=4,
    )


def _script(letter: str) -> str:
    script = unicodedata.name(letter, "").split(" ")[0]
    if unicodedata.category(letter) in ("So", "Sk"):
        return "emoji (Noto Emoji: Matplotlib draws no font of pictures)"
    return "CJK" if script in _CJK else script.capitalize()


def _tell_of_direction(text: str) -> None:
    """Say once that Hebrew and Arabic need a Matplotlib that can shape them."""
    turns = any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in text)
    if turns and not hasattr(ft2font, "__libraqm_version__") and "rtl" not in _told:
        _told.add("rtl")
        warnings.warn(
            "this Matplotlib writes Hebrew and Arabic from left to right, letter by letter;"
            ' newer ones do not: pip install "matplotlib>=3.11"',
            stacklevel=4,
        )


__all__ = ["families"]
