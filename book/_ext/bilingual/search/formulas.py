r"""Formulas as a line of text: what stood in TeX must be readable in an excerpt.

>>> readable(r"\alpha_j = \operatorname{softmax}_j(q^\top k_j / \sqrt{d_k})")
'α_j = softmax_j(qᵀk_j / √d_k)'
"""

from __future__ import annotations

import re
import unicodedata

_TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|[{}^_&~]|\s+|.", re.S)
_SIGNS = {
    "times": "×", "cdot": "·", "approx": "≈", "infty": "∞", "sum": "∑", "partial": "∂", "in": "∈",
    "dots": "…", "ldots": "…", "cdots": "…", "odot": "⊙", "to": "→", "nabla": "∇", "ge": "≥",
    "geq": "≥", "le": "≤", "leq": "≤", "ne": "≠", "neq": "≠", "cap": "∩", "cup": "∪", "pm": "±",
    "propto": "∝", "supseteq": "⊇", "subseteq": "⊆", "vee": "∨", "wedge": "∧", "ll": "≪", "gg": "≫",
    "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "langle": "⟨", "rangle": "⟩",
    "lVert": "‖", "rVert": "‖", "lvert": "|", "rvert": "|", "mid": "|", "top": "ᵀ", "prod": "∏",
    "rightarrow": "→", "leftarrow": "←", "mapsto": "↦", "sim": "∼", "equiv": "≡", "circ": "∘",
    "ell": "ℓ", "quad": " ", "qquad": " ", "int": "∫", "otimes": "⊗", "oplus": "⊕", "forall": "∀",
    "prime": "′",
}  # fmt: skip
_SPACING = {"\\,", "\\;", "\\:", "\\ ", "\\\\", "&", "~"}
_SILENT = {"left", "right", "big", "Big", "bigl", "bigr", "Bigl", "Bigr", "bigg", "Bigg", "limits"}
_SILENT |= {"displaystyle", "textstyle", "nonumber", "notag", "!"}
_RAISED = str.maketrans("0123456789+-()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿ")
_LOWERED = str.maketrans("0123456789+-()", "₀₁₂₃₄₅₆₇₈₉₊₋₍₎")


def readable(tex: str) -> str:
    """Return a formula in TeX as a line of text."""
    # What is unknown stays under its name, and nothing raises: this is for excerpts.
    tokens = _TOKEN.findall(re.sub(r"\\(?:begin|end)\{[^}]*\}(?:\{[lcr| ]*\})?", " ", tex))[::-1]
    return " ".join("".join(_pieces(tokens)).split())


def _pieces(tokens: list[str]) -> list[str]:
    """Read tokens (the next one last) to the end of their group."""
    pieces: list[str] = []
    while tokens and (token := tokens.pop()) != "}":
        if token in "^_" and tokens:
            pieces.append(_script(token, _argument(tokens)))
        else:
            pieces.append(_read(token, tokens))
    return pieces


def _argument(tokens: list[str]) -> str:
    while tokens and tokens[-1].isspace():
        tokens.pop()
    return _read(tokens.pop(), tokens) if tokens else ""


def _read(token: str, tokens: list[str]) -> str:
    """What one token, with the arguments that it takes, is as text."""
    name = token.removeprefix("\\").removesuffix("*")
    if token == "{":
        return "".join(_pieces(tokens))
    if token in _SPACING:
        return " "
    if not token.startswith("\\"):
        return token
    if name in _SILENT:
        return ""
    if name.endswith("frac"):
        return f"{_closed(_argument(tokens))}/{_closed(_argument(tokens))}"
    if name == "sqrt":
        return f"√{_closed(_argument(tokens))}"
    sign = _SIGNS.get(name) or _letter(name)
    if len(sign) == 1 and tokens and tokens[-1].isspace():
        tokens.pop()  # as TeX does; after a word, such as a function's name, the blank must stay
    return sign


def _letter(name: str) -> str:
    """Return a Greek letter; any other name, such as that of a function, as it is."""
    plain = name.removeprefix("var") if name != "var" else name
    size = "CAPITAL" if plain[:1].isupper() else "SMALL"
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {plain.replace('lambda', 'lamda')}")
    except KeyError:
        return "" if name in _FONTS else name


_FONTS = {"text", "operatorname", "mathrm", "mathbf", "mathbb", "mathcal", "mathit", "boldsymbol"}
_FONTS |= {"textbf", "textit", "bar", "hat", "tilde", "overline", "underline", "vec", "bm"}
_FONTS |= {"overrightarrow", "overleftarrow", "mathsf", "mathtt", "texttt", "underbrace"}


def _closed(text: str) -> str:
    return text if re.fullmatch(r"\w*|.", text) else f"({text})"


def _script(kind: str, text: str) -> str:
    """Return what is raised or lowered: with Unicode's own signs where it has them all."""
    if text in ("ᵀ", "′"):
        return text
    moved = text.translate(_RAISED if kind == "^" else _LOWERED)
    if text and all(old != new for old, new in zip(text, moved, strict=True)):
        return moved
    return kind + _closed(text)
