"""A viewer of all heads of a model: give it the weights and the tokens, and look."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import torch

from attention_book.foundations.bilingual import chosen_language, of_the_two
from attention_book.foundations.checks import check_whole
from attention_book.foundations.labels import Spelling
from attention_book.live.viewer.kinds import Direction, Kind, Sides, kinds_of_modules
from attention_book.live.viewer.layouts import (
    EAGER,
    Layers,
    Sentence,
    captured,
    has_weights,
    layers_of,
    rows_of,
)
from attention_book.live.viewer.page import Viewer
from attention_book.live.viewer.tokens import Reader
from attention_book.live.viewer.weights import BYTES


class HeadViewer(Viewer):
    """All heads of a model, small; one of them large; and the words on both sides of it.

    Point at a word, or move to it with the keyboard: its row lights up in the map, and in the
    sentence you see where it looks. The last cell of a notebook shows the viewer, in Jupyter,
    JupyterLab, VS Code and Colab; :meth:`~attention_book.live.Viewer.save` writes it as one file
    that needs no network.

    With the extra ``viewer`` (anywidget) a notebook shows a widget, whose choices Python can read
    and set (:meth:`~attention_book.live.Viewer.widget`); without it, the same viewer in a frame.

    Each of the four arguments with weights takes numbers nested [layer][head][query][key], a
    tensor of these axes, or a tensor for each layer, (head, query, key) or with a batch before it:
    a model of Hugging Face returns the last in its output, under the same names. What ``generate``
    returns, a tuple for each step, is put together row by row. The whole output can be given as
    well; with ``beam_indices`` in it the rows of a beam search are found.

    Tokens are shown as people read them (:func:`~attention_book.foundations.token_labels`): of
    ``Ġthe`` and ``▁the`` is seen ␣the, and a character that is cut into bytes with its part, as
    in ``在(1/2)``. A sentence of Hebrew or Arabic runs from right to left.

    Args:
        attention: What :func:`~attention_book.inspection.capture_attention` gives; the kinds
            follow from the names of the modules. Or weights of one kind. Or the output of a model
            of Hugging Face or of its ``generate``.
        tokens: The tokens of both sides: strings in any sequence, or what a tokenizer returns;
            numbers if there is a ``tokenizer``.
        source: The tokens that the encoder reads.
        target: The tokens that the decoder reads.
        attentions: Weights of one kind.
        encoder_attentions: The encoder's self-attention; its tokens are ``source``.
        decoder_attentions: The decoder's self-attention; its tokens are ``target``.
        cross_attentions: Attention from ``target`` to ``source``.
        attention_mask: The tokenizer's, (sentence, token): padding is left out, of ``source`` or
            of ``tokens``; what was written behind them is none.
        decoder_attention_mask: The same for ``target``.
        beam_indices: From ``generate``: the row of each step in which a sentence was written.
        batch: Which sentence of a batch, from 0; of ``generate``, which of those returned.
        tokenizer: The tokenizer of the tokens; it names numbers, and knows its spelling.
        spelling: How the tokens are spelled, if it cannot be seen from them: "text",
            "byte-level" or "sentencepiece".
        layers: Which layers to show, counted from 1; by default all.
        heads: Which heads of each, counted from 1.
        direction: "ltr" or "rtl"; by default a sentence runs as its first letter does.
        limit: The largest page in MB; None: any. Browsers hardly open larger ones.
        language: "zh" or "en"; by default the one of ``set_language``, or of the browser.

    Raises:
        ValueError: if there are no weights, if they are none (scores, or not a number, or those
            of a model in train mode), if their shape is none of these, if it cannot be told which
            rows are the sentence's, if the tokens are not as many as rows and columns, or if the
            page would be larger than ``limit``.

    >>> import torch
    >>> weights = torch.eye(3).expand(2, 4, 3, 3)            # (layer, head, query, key)
    >>> viewer = HeadViewer(weights, tokens=["a", "red", "book"])
    >>> viewer
    HeadViewer(attention: 2 layers × 4 heads, 3 × 3)
    >>> viewer.at(layer=2, head=3, query=3).state["head"]
    3

    The weights of a model of this book, or of any with such modules:

    >>> from attention_book.attention import MultiHeadAttention
    >>> from attention_book.inspection import capture_attention
    >>> model = torch.nn.Sequential(MultiHeadAttention(d_model=8, num_heads=2))
    >>> x = torch.randn(1, 3, 8)
    >>> with capture_attention(model) as seen:
    ...     output = model[0](x, x)
    >>> HeadViewer(seen, tokens=["a", "red", "book"])
    HeadViewer(attention: 1 layer × 2 heads, 3 × 3)
    """

    script = "heads"
    title = "Attention heads · 注意力头"

    def __init__(
        self,
        attention: Any = None,
        *,
        tokens: Any = None,
        source: Any = None,
        target: Any = None,
        attentions: Any = None,
        encoder_attentions: Any = None,
        decoder_attentions: Any = None,
        cross_attentions: Any = None,
        attention_mask: Any = None,
        decoder_attention_mask: Any = None,
        beam_indices: Any = None,
        batch: int | None = None,
        tokenizer: Any = None,
        spelling: Spelling | None = None,
        layers: Sequence[int] | None = None,
        heads: Sequence[int] | None = None,
        direction: Direction | None = None,
        limit: int | float | None = 64,
        language: str | None = None,
    ) -> None:
        weights = {
            "attention": attention,
            "attentions": attentions,
            "encoder_attentions": encoder_attentions,
            "decoder_attentions": decoder_attentions,
            "cross_attentions": cross_attentions,
        }
        if batch is not None:
            check_whole(batch=batch)
        if direction not in (None, *get_args(Direction)):
            raise ValueError(f"direction: expected one of {get_args(Direction)}, got {direction!r}")
        output = output_of(attention)
        if output is not None:
            given = {name: each for name, each in weights.items() if each is not None}
            weights = {**output.weights, **given, "attention": None}
            beam_indices = output.beam_indices if beam_indices is None else beam_indices
        sentence = Sentence(
            batch=batch,
            beams=None if beam_indices is None else torch.as_tensor(beam_indices),
            count=None if output is None else output.count,
            sources=rows_of(weights["encoder_attentions"]) if output is None else None,
        )
        reader = Reader(tokenizer=tokenizer, spelling=spelling, place=sentence.place)
        if output is not None and tokenizer is not None and tokens is None and target is None:
            tokens, target = output.written(sentence.place)
        sides = Sides(
            tokens=reader.labels("tokens", tokens),
            source=reader.labels("source", source),
            target=reader.labels("target", target),
            attention_mask=attention_mask,
            decoder_attention_mask=decoder_attention_mask,
            sentence=sentence,
            layers=layers,
            heads=heads,
            direction=direction,
        )
        if isinstance(weights["attention"], Mapping):
            found = kinds_of_modules(captured(weights["attention"], sentence))
        else:
            found = {
                key: layers_of(name, weights[name], sentence, is_cross=is_cross)
                for name, (key, is_cross) in ARGUMENTS.items()
                if weights.get(name) is not None
            }
        if not found:
            raise ValueError(
                "expected weights: attention, attentions, encoder_attentions, decoder_attentions"
                " or cross_attentions; got none"
            )
        shown = {key: sides.shown(key, each) for key, each in found.items()}
        check_size(shown, limit)
        kinds = [sides.kind(key, each, shown[key]) for key, each in found.items()]
        self.kinds = {kind.key: kind for kind in kinds}
        self.state = self._begin(kinds, language)

    def _begin(self, kinds: Sequence[Kind], language: str | None) -> dict[str, Any]:
        kind = self.kinds.get("cross", kinds[0])
        return {
            "data": {"kinds": [each.data() for each in kinds]},
            "language": of_the_two(language) or chosen_language() or "",
            "kind": kind.key,
            **kind.first(),
            "key": 0,
            "threshold": 0.0,
        }

    def at(self, kind: str | None = None, **places: int | float) -> "HeadViewer":
        """Return the same viewer, opened at another place.

        Args:
            kind: "encoder", "decoder", "cross", "attention", or the name of a module.
            places: ``layer``, ``head``, ``query`` and ``key``, counted from 1 as the viewer
                does; head 0 is the mean of the layer's heads that are shown, query or key 0 is
                none. And ``threshold``, from 0 to 0.5: smaller weights are not drawn.

        Raises:
            ValueError: if there is no such kind or place.

        >>> import torch
        >>> viewer = HeadViewer(torch.eye(3).expand(2, 4, 3, 3), tokens=["a", "red", "book"])
        >>> viewer.at(layer=2, head=0, threshold=0.1).state["layer"]
        2
        """
        if kind is not None and kind not in self.kinds:
            raise ValueError(f"kind: expected one of {', '.join(self.kinds)}, got {kind!r}")
        found = self.kinds[self.state["kind"] if kind is None else kind]
        queries, keys = found.weights.shape[2:]
        known: dict[str, Sequence[int]] = {
            "layer": found.layers,
            "head": (0, *found.heads),
            "query": range(queries + 1),
            "key": range(keys + 1),
        }
        for name, value in places.items():
            if name == "threshold" and 0 <= value <= 0.5:
                continue
            if name in known and value in known[name]:
                continue
            expected = "from 0 to 0.5" if name == "threshold" else ", ".join([*known, "threshold"])
            if name in known:
                least, most = min(known[name]), max(known[name])
                is_whole = len(known[name]) == most - least + 1
                listed = f"one of {', '.join(map(str, known[name]))}"
                expected = f"from {least} to {most}" if is_whole else listed
            raise ValueError(f"{name}: expected {expected}, got {value}")
        copy = object.__new__(type(self))
        copy.kinds = self.kinds
        start = {} if kind is None else {"kind": kind, **found.first(), "key": 0}
        copy.state = {**self.state, **start, **places}
        return copy

    def __repr__(self) -> str:
        """Return its kinds and their sizes."""
        return f"HeadViewer({'; '.join(map(described, self.kinds.values()))})"


FIELDS = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")
#: The kind of each argument, and whether its keys are other tokens than its queries.
ARGUMENTS: dict[str, tuple[str, bool | None]] = {
    "attention": ("attention", None),
    "attentions": ("attention", False),
    "encoder_attentions": ("encoder", False),
    "decoder_attentions": ("decoder", False),
    "cross_attentions": ("cross", True),
}


@dataclass(frozen=True, kw_only=True)
class Output:
    """What a model of transformers, or its ``generate``, returned.

    Attributes:
        weights: What it has of attention, by the names of its fields.
        beam_indices: For each sentence the row of each step.
        sequences: The numbers of the tokens that were written, with the prompt's.
    """

    weights: dict[str, Any]
    beam_indices: Any = None
    sequences: Any = None

    @property
    def count(self) -> int | None:
        """How many sentences came back."""
        return None if self.sequences is None else len(self.sequences)

    def written(self, place: int) -> tuple[Any, Any]:
        """Return the numbers of a sentence, as ``tokens`` or as ``target``."""
        if self.sequences is None:
            return None, None
        found = self.sequences[place] if place < len(self.sequences) else None
        return (None, found) if "decoder_attentions" in self.weights else (found, None)


def output_of(given: Any) -> Output | None:
    """Return the output of a model, if it is one.

    Raises:
        ValueError: if it is one without attention.
    """
    take = given.get if isinstance(given, Mapping) else lambda name: getattr(given, name, None)
    is_output = hasattr(given, "to_tuple") or any(
        name in given if isinstance(given, Mapping) else hasattr(given, name) for name in FIELDS
    )
    if not is_output:
        return None
    fields = {name: take(name) for name in FIELDS}
    # BERT has cross_attentions too, with nothing in it.
    weights = {name: each for name, each in fields.items() if has_weights(each)}
    if not weights:
        raise ValueError(
            f"attention: expected an output with attentions, got {type(given).__name__} without;"
            f" {EAGER}"
        )
    return Output(weights=weights, beam_indices=take("beam_indices"), sequences=take("sequences"))


def check_size(shown: Mapping[str, Layers], limit: int | float | None) -> None:
    """See that a page is not larger than a browser opens.

    Raises:
        ValueError: if it would be.
    """
    parts = []
    size = 0.0
    for key, found in shown.items():
        heads, queries, keys = found.weights[0].shape
        size += len(found.weights) * heads * queries * keys * BYTES / 1e6
        parts.append(f"{key}: {len(found.weights)} layers × {heads} heads × {queries} × {keys}")
    if limit is not None and size > limit:
        raise ValueError(
            f"limit: expected a page of at most {limit:g} MB, got one of up to {size:.0f} MB"
            f" ({'; '.join(parts)}); show some of it, layers=[1, 2] or heads=[1, 2], or fewer"
            f" tokens; or allow it, limit={math.ceil(size)}"
        )


def described(kind: Kind) -> str:
    layers, heads, queries, keys = kind.weights.shape
    plural = ["" if count == 1 else "s" for count in (layers, heads)]
    size = f"{queries} × {keys}"
    return f"{kind.key}: {layers} layer{plural[0]} × {heads} head{plural[1]}, {size}"


__all__ = ["HeadViewer"]
