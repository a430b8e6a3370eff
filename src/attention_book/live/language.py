"""Writes trained language models as files that a page can load, and as one page that writes.

The binary file is that of translators (:mod:`attention_book.live.export`), but for the weights: a
matrix has a scale for each row, in single precision, and then a signed byte for each weight;
vectors are in half precision.
"""

import base64
import copy
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attention_book.foundations.bilingual import Bilingual
from attention_book.foundations.files import remove_parts, write_whole
from attention_book.live.export import compact, half_bytes, sealed, stored
from attention_book.live.exported import Origin, Subwords
from attention_book.live.viewer.page import page as one_file
from attention_book.models import LanguageConfig, LanguageModel
from attention_book.text import SubwordTokenizer, Vocabulary

#: The largest number of a signed byte that has its negative.
_MOST = 127
#: Settings of which the page's engine knows these values alone; of others any.
_KNOWN: dict[str, tuple[Any, ...]] = {
    "norm": ("pre", "post"),
    "feed_forward": ("relu", "swiglu"),
    "positions": ("rotary", "sinusoidal", "learned", "none"),
    "causal": (True,),
    "around_one": (False,),
    "qk_norm": (False,),
    "sinks": (False,),
}


@dataclass(frozen=True, kw_only=True)
class ExportedLanguage:
    """A trained language model that a page can load, with what it takes to use it.

    Attributes:
        name: Small letters, digits and hyphens; it names the files.
        digest: A short number made of all settings.
        model: In evaluation mode.
        vocabulary: The numbers of its tokens, special ones first.
        tokenizer: Cuts subwords; None: characters.
        lowercase: Whether text is read in lower case.
        context: How many tokens a page writes at most, unless it is asked for another number.
        beginnings: Texts that a page proposes to go on with.
        origin: Where its texts are from; None: they are somebody's own.
    """

    name: str
    digest: str
    model: LanguageModel
    vocabulary: Vocabulary
    tokenizer: SubwordTokenizer | None = None
    lowercase: bool = False
    context: int = 128
    beginnings: Sequence[str] = ()
    origin: Origin | None = None


def lacking(config: LanguageConfig) -> list[Bilingual]:
    """Return what the page's engine lacks to run a model; nothing: it can.

    >>> lacking(LanguageConfig.today(vocabulary=9))
    []
    >>> [each.en for each in lacking(LanguageConfig.today(vocabulary=9, qk_norm=True))]
    ['the setting qk_norm = True']
    """
    found = {
        name: value
        for name, known in _KNOWN.items()
        if (value := getattr(config, name)) not in known
    }
    if any(window is not None for window in config.windows):
        found["windows"] = config.windows
    if config.positions == "rotary":
        if config.rotary.scaling is not None:
            found["rotary.scaling"] = type(config.rotary.scaling).__name__
        if config.rotary.pairing != "neighbors":
            found["rotary.pairing"] = config.rotary.pairing
    return [
        Bilingual(f"设置 {name} = {value}", f"the setting {name} = {value}")
        for name, value in found.items()
    ]


def in_bytes(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Return a matrix in 8 bits: whole numbers from -127 to 127, and a scale for each row.

    >>> whole, scales = in_bytes(torch.tensor([[1.0, -2.0], [0.0, 0.0]]))
    >>> whole
    tensor([[  64, -127],
            [   0,    0]], dtype=torch.int8)
    >>> whole * scales
    tensor([[ 1.0079, -2.0000],
            [ 0.0000,  0.0000]])
    """
    scales = matrix.float().abs().amax(dim=1, keepdim=True) / _MOST
    whole = (matrix / scales.where(scales > 0, 1.0)).round().clamp(-_MOST, _MOST)
    return whole.to(torch.int8), scales


def as_in_a_page(model: LanguageModel) -> LanguageModel:
    """Return a copy with the weights that the page will have."""
    found = copy.deepcopy(model).float().eval()
    with torch.no_grad():
        for _, weight, same in stored(found):
            if same is None:
                weight.copy_(_rounded(weight))
    return found


def _rounded(weight: Tensor) -> Tensor:
    if weight.ndim != 2:
        return weight.half().float()
    whole, scales = in_bytes(weight)
    return whole * scales


def packed(found: ExportedLanguage) -> bytes:
    """Return a model as the one file that a page loads.

    Raises:
        ValueError: if the engine lacks what the model needs, or a weight is not finite.
    """
    if missing := lacking(found.model.config):
        raise ValueError(f"model: the page's engine lacks {'; '.join(each.en for each in missing)}")
    weights = [weight for _, weight, same in stored(found.model) if same is None]
    return sealed(found.name, header(found), weights, map(_bytes, weights))


def _bytes(weight: Tensor) -> bytes:
    if weight.ndim != 2:
        return half_bytes(weight)
    whole, scales = in_bytes(weight)
    return scales.numpy().astype("<f4").tobytes() + whole.numpy().tobytes()


def header(found: ExportedLanguage) -> dict[str, Any]:
    """Return everything about a model that is no weight."""
    subwords = None
    if found.tokenizer is not None:
        subwords = Subwords(tokenizer=found.tokenizer, lowercase=found.lowercase).for_a_page()
    return {
        "format": 1,
        "name": found.name,
        "recipe": found.digest,
        "model": "language",
        "config": found.model.config.to_dict(),
        "vocabulary": found.vocabulary.tokens,
        "subwords": subwords,
        "lowercase": found.lowercase,
        "context": found.context,
        "beginnings": list(found.beginnings),
        "origin": None if found.origin is None else asdict(found.origin),
        "bits": 8,
        "tensors": [
            [name, list(weight.shape), *([same] if same else [])]
            for name, weight, same in stored(found.model)
        ],
    }


def export(found: ExportedLanguage, folder: Path) -> Path:
    """Write a model's two files, each whole or not at all; return the binary one.

    ``NAME.bin`` is what a page fetches, ``NAME.js`` the same in base64, for a page that was opened
    from a folder, where fetching is forbidden.

    Raises:
        ValueError: as :func:`packed`.
    """
    binary, name = packed(found), found.name
    encoded = compact(base64.b64encode(binary).decode())
    files = {
        f"{name}.bin": binary,
        f"{name}.js": f'attentionBookLive.arrived("model", "{name}", {encoded});\n'.encode(),
    }
    for each, content in files.items():
        remove_parts(folder, each)
        write_whole(folder / each, content)
    return folder / f"{name}.bin"


def write_page(found: ExportedLanguage, folder: Path, language: str = "") -> Path:
    """Write :func:`page` into a folder, whole or not at all; return its path, ``NAME.html``.

    Raises:
        ValueError: as :func:`packed`.
    """
    name = f"{found.name}.html"
    text = page(found, language)
    remove_parts(folder, name)
    write_whole(folder / name, text.encode())
    return folder / name


def page(found: ExportedLanguage, language: str = "") -> str:
    """Return a model as one page that writes, and needs no other file and no network.

    Args:
        found: The model.
        language: "zh" or "en"; by default the browser's.

    Raises:
        ValueError: as :func:`packed`.
    """
    data = {
        "name": found.name,
        "weights": base64.b64encode(packed(found)).decode(),
        "parameters": sum(weight.numel() for weight in found.model.parameters()),
        "beginnings": list(found.beginnings),
        "origin": None if found.origin is None else asdict(found.origin),
    }
    state = {"data": data, "language": language}
    return one_file("writer", state, f"{found.name} · attention-book", with_engine=True)
