"""Writes trained translators as files that a page can load.

    python -m attention_book.live.export transformer-en-fr-1 --folder models

For each recipe there are three files: NAME.bin, which a page fetches; NAME.js, the same in base64,
for a page that was opened from a folder, where fetching is forbidden; and NAME.example.js, one
translation with its attention, shown before any weight is loaded. A model with words has a fourth,
NAME.cuts.json: sentences that show what a cut look does, for the build to draw.

The binary file: ``ATTN``, the length of the header (uint32), SHA-256 of all that follows, the
header (JSON), and the weights in half precision, in the header's order. Little-endian throughout.
A matrix that stands in two places of a model is written once.

A model that reads subwords (an open vocabulary) has in its header how they are joined, and where
its sentences are from, with their license.
"""

import argparse
import base64
import copy
import hashlib
import json
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from attention_book.course.recipes import trained
from attention_book.foundations.files import remove_parts, write_whole
from attention_book.live.cuts import telling_sentences
from attention_book.live.examples import example, seen_by, short_sentences
from attention_book.live.exported import Exported, OpenVocabulary, learned_from
from attention_book.text.grammar.lexicon import NOUNS

Model = TypeVar("Model", bound=nn.Module)


def main(arguments: Sequence[str] | None = None) -> None:
    """Export the models of the recipes that the command line names."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME", help="a recipe of the book")
    parser.add_argument("--folder", type=Path, default=Path(), help="where to write")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    for name in given.names:
        print(export(trained(name), given.folder, cuts=True))


def export(found: Exported, folder: Path, *, cuts: bool = False) -> Path:
    """Write the files of a trained model, each whole or not at all; return the binary one.

    What a killed export of the same model left over is removed. Only one at a time may write
    into a folder.

    Args:
        found: The model.
        folder: Where to.
        cuts: Also writes the sentences that show what a cut look does, for the book's build.

    Raises:
        ValueError: if a weight is too large for half precision.
    """
    name, model = found.recipe.name, rounded(found.model)
    binary = packed(
        found, header(found, model), [weight for _, weight, same in stored(model) if same is None]
    )
    encoded = base64.b64encode(binary).decode()
    shown = example(found, model) | {"bytes": len(binary), "capitals": capitals(found)}
    call = "attentionBookLive.arrived"
    files = {
        f"{name}.bin": binary,
        f"{name}.js": f'{call}("model", "{name}", "{encoded}");\n'.encode(),
        f"{name}.example.js": f'{call}("example", "{name}", {compact(shown)});\n'.encode(),
    }
    if cuts and not isinstance(found, OpenVocabulary):
        sentences = telling_sentences(found, model, short_sentences(found, model))
        about = {key: shown[key] for key in ("name", "source", "target", "capitals", "bytes")}
        layers, heads, *_ = seen_by(found, model, ("a",), ["<eos>"])["cross"].shape
        told = about | {"layers": layers, "heads": heads, "sentences": sentences}
        files[f"{name}.cuts.json"] = compact(told).encode()
    for each, content in files.items():
        remove_parts(folder, each)
        write_whole(folder / each, content)
    return folder / f"{name}.bin"


def rounded(model: Model) -> Model:
    """Return a copy with the weights that the page will have."""
    return copy.deepcopy(model).half().float().eval()


def header(found: Exported, model: nn.Module) -> dict[str, Any]:
    """Return everything about a model that is no weight."""
    recipe = found.recipe
    return {
        "format": 1,
        "name": recipe.name,
        "recipe": recipe.digest,
        "model": recipe.model,
        "source": recipe.source,
        "target": recipe.target,
        "config": found.model.config.to_dict(),
        "source_vocabulary": found.source_vocabulary.tokens,
        "target_vocabulary": found.target_vocabulary.tokens,
        "tensors": [
            [name, list(weight.shape), *([same] if same else [])]
            for name, weight, same in stored(model)
        ],
        **of_its_vocabulary(found, model),
    }


def of_its_vocabulary(found: Exported, model: nn.Module) -> dict[str, Any]:
    """Return how subwords are joined; or, with words, sentences in which all are known."""
    if isinstance(found, OpenVocabulary):
        return {"subwords": found.subwords.for_a_page(), "origin": learned_from(found)}
    return {"sentences": [" ".join(pair.source) for pair in short_sentences(found, model)]}


def stored(model: nn.Module) -> list[tuple[str, Tensor, str | None]]:
    """Return all weights by name, and for one that was there before its first name.

    >>> both = nn.ModuleDict({"a": nn.Linear(2, 3, bias=False), "b": nn.Linear(2, 3, bias=False)})
    >>> both["b"].weight = both["a"].weight
    >>> [(name, same) for name, _, same in stored(both)]
    [('a.weight', None), ('b.weight', 'a.weight')]
    """
    first: dict[int, str] = {}
    named = model.state_dict().items()
    return [
        (
            name,
            weight,
            None if (same := first.setdefault(weight.data_ptr(), name)) == name else same,
        )
        for name, weight in named
    ]


def packed(found: Exported, settings: dict[str, Any], weights: Sequence[Tensor]) -> bytes:
    """Return header and weights as one file with its checksum."""
    return sealed(found.recipe.name, settings, weights, map(half_bytes, weights))


def sealed(
    name: str, settings: dict[str, Any], weights: Sequence[Tensor], written: Iterable[bytes]
) -> bytes:
    """Return header and weights, as they are written, as one file with its checksum.

    Raises:
        ValueError: if a weight is not finite.
    """
    if not all(bool(weight.isfinite().all()) for weight in weights):
        raise ValueError(f"{name}: a weight is beyond half precision's 65504")
    text = compact(settings).encode()
    content = text + b"".join(written)
    return b"ATTN" + struct.pack("<I", len(text)) + hashlib.sha256(content).digest() + content


def half_bytes(weight: Tensor) -> bytes:
    """Return a weight's numbers in half precision, little-endian.

    >>> half_bytes(torch.tensor([1.0, -2.0])).hex()
    '003c00c0'
    """
    values = weight.half().flatten().tolist()
    return struct.pack(f"<{len(values)}e", *values)


def capitals(found: Exported) -> dict[str, str]:
    """Return which tokens are written with a capital: names, and the English I."""
    names = {each.english for each in NOUNS.values() if "name" in each.tags}
    english = {"i"} if "en" in (found.recipe.source, found.recipe.target) else set()
    known = {*found.source_vocabulary.tokens, *found.target_vocabulary.tokens}
    return {token: token.capitalize() for token in sorted((names | english) & known)}


def compact(value: object) -> str:
    """Return JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main()
