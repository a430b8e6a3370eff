"""The kinds of attention that a viewer shows: encoder, decoder, cross; with their tokens."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from attention_book.foundations import Bilingual
from attention_book.foundations.labels import right_to_left
from attention_book.live.viewer.layouts import Layers, Sentence, as_numbers, key_of
from attention_book.live.viewer.weights import check_rows, checked, packed

NAMES = {
    "encoder": Bilingual("编码器自注意力", "Encoder self-attention"),
    "decoder": Bilingual("解码器自注意力", "Decoder self-attention"),
    "cross": Bilingual("交叉注意力", "Cross-attention"),
    "attention": Bilingual("注意力", "Attention"),
}
Direction = Literal["ltr", "rtl"]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """All heads of one kind of attention, and the tokens on both sides.

    Attributes:
        key: Its short name, as ``at`` and the address take it.
        weights: (layer, head, query, key).
        queries: A token for each row.
        keys: A token for each column.
        layers: The number of each layer in its model, from 1.
        heads: The number of each head in its layer, from 1.
        direction: In which a sentence runs; None: as its first letter does.
    """

    key: str
    weights: Tensor
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    direction: Direction | None = None

    def __post_init__(self) -> None:
        """Check that there are as many tokens as rows and columns, and that rows are weights."""
        rows, columns = self.weights.shape[2:]
        for side, tokens, wanted in (("query", self.queries, rows), ("key", self.keys, columns)):
            if len(tokens) != wanted:
                raise ValueError(
                    f"{self.key}: expected a token for each {side}, {wanted}, got {len(tokens)}:"
                    f" {' '.join(tokens)}"
                )
        check_rows(self.key, self.weights, self.layers, self.heads)

    @property
    def name(self) -> Bilingual:
        """What a reader calls it."""
        return NAMES.get(self.key, Bilingual(self.key, self.key))

    def first(self) -> dict[str, int]:
        """Return the sharpest head, and its most certain query among those that had a choice."""
        sharpness = self.weights.amax(dim=-1).double()
        layer, head = divmod(int(sharpness.mean(dim=-1).argmax()), len(self.heads))
        choices = (self.weights[layer, head] > 0).sum(dim=-1) > 1
        query = int((sharpness[layer, head] * choices).argmax())
        return {"layer": self.layers[layer], "head": self.heads[head], "query": query + 1}

    def data(self) -> dict[str, Any]:
        """Return the kind as the browser takes it, with weights in thousandths, packed."""
        return {
            "key": self.key,
            "name": [self.name.zh, self.name.en],
            "queries": list(self.queries),
            "keys": list(self.keys),
            "directions": [self._direction(self.queries), self._direction(self.keys)],
            "layers": list(self.layers),
            "heads": list(self.heads),
            "first": self.first(),
            "weights": [[packed(head) for head in layer] for layer in self.weights],
        }

    def _direction(self, tokens: Sequence[str]) -> Direction:
        return self.direction or ("rtl" if right_to_left(tokens) else "ltr")


@dataclass(frozen=True, kw_only=True)
class Sides:
    """The tokens that a caller gave, those of both sides or of source and target, and which count.

    Attributes:
        tokens: Labels of both sides.
        source: Labels of what the encoder reads.
        target: Labels of what the decoder reads.
        attention_mask: A tokenizer's, 1 for what is no padding: of the source, or of both sides.
        decoder_attention_mask: The same for the target.
        sentence: Which one of a batch.
        layers: Which layers are shown, from 1; None: all.
        heads: Which heads of each, from 1; None: all.
        direction: In which the sentences run; None: as their first letters do.
    """

    tokens: tuple[str, ...] | None = None
    source: tuple[str, ...] | None = None
    target: tuple[str, ...] | None = None
    attention_mask: Any = None
    decoder_attention_mask: Any = None
    sentence: Sentence
    layers: Sequence[int] | None = None
    heads: Sequence[int] | None = None
    direction: Direction | None = None

    def shown(self, key: str, given: Layers) -> Layers:
        """Return the layers and heads that are asked for, without padding."""
        heads, rows, columns = given.weights[0].shape
        layers = chosen(f"{key}: layers", self.layers, len(given.weights))
        sides = self._sides(key)
        keys = self._real(sides[1], columns)
        if sides[0] != sides[1]:
            queries = self._real(sides[0], rows)
        else:  # what was read before has no rows
            queries = None if keys is None else keys[columns - min(rows, columns) :]
        return given.only(layers, chosen(f"{key}: heads", self.heads, heads)).cut(queries, keys)

    def kind(self, key: str, given: Layers, shown: Layers) -> Kind:
        """Return a kind with the tokens that belong on its sides."""
        weights = checked(key, torch.stack([as_numbers(layer) for layer in shown.weights]))
        queries, keys = self._sides(key)
        heads, rows, columns = given.weights[0].shape
        is_self, count = queries == keys, weights.shape[2]
        key_names = self._named(key, keys, columns, given.unread if is_self else 0)
        query_names = self._named(key, queries, rows, given.unread)
        # What a cache held was read before: its tokens have no rows, and no row looks past its own.
        goes_on = is_self and count < len(key_names) == weights.shape[3]
        if goes_on and not weights.triu(weights.shape[3] - count + 1).any():
            query_names = key_names[-count:]
        return Kind(
            key=key,
            weights=weights,
            queries=query_names,
            keys=key_names,
            layers=chosen("layers", self.layers, len(given.weights)),
            heads=chosen("heads", self.heads, heads),
            direction=self.direction,
        )

    def _sides(self, key: str) -> tuple[str, str]:
        """Return whose tokens are the queries of a kind, and whose its keys."""
        if key not in NAMES or key == "attention":
            return ("target", "source") if self.tokens is None else ("tokens", "tokens")
        return {"encoder": "source"}.get(key, "target"), {"decoder": "target"}.get(key, "source")

    def _real(self, side: str, count: int) -> Tensor | None:
        """Return which of the tokens of a side are no padding; None: all are."""
        name = "decoder_attention_mask" if side == "target" else "attention_mask"
        if (given := getattr(self, name)) is None:
            return None
        mask = torch.as_tensor(given).detach().cpu()
        if mask.ndim == 2:
            mask = mask[self.sentence.among(name, len(mask))]
        if mask.ndim != 1 or not ((mask == 0) | (mask == 1)).all():
            raise ValueError(
                f"{name}: expected 1 for a token and 0 for padding, (sentence, token), as a"
                f" tokenizer gives it, got {tuple(mask.shape)}"
            )
        if len(mask) > count or not mask.any():
            raise ValueError(
                f"{name}: expected it for {count} tokens, some of them 1, got"
                f" {len(mask)} with {int(mask.sum())}"
            )
        # What generate wrote stands behind what the mask was made for.
        real = torch.ones(count, dtype=torch.bool)
        real[: len(mask)] = mask.bool()
        return real

    def _named(self, key: str, side: str, count: int, unread: int) -> tuple[str, ...]:
        """Return the tokens of a side, or else those of both: as many as there are real ones."""
        given = getattr(self, side)
        found = self.tokens if given is None else given
        if found is None:
            raise ValueError(f"{key}: expected {side}=[...] (or tokens=[...]), got none")
        if count < len(found) <= count + unread:
            found = found[:count]
        real = self._real(side, count)
        if real is None or len(found) != count:
            return tuple(found)
        return tuple(token for token, is_real in zip(found, real.tolist(), strict=True) if is_real)


def chosen(name: str, given: Sequence[int] | None, count: int) -> tuple[int, ...]:
    """Return the numbers that were asked for, or all, from 1 on."""
    if given is None:
        return tuple(range(1, count + 1))
    if not isinstance(given, Iterable):
        raise ValueError(f"{name}: expected a list of numbers from 1 to {count}, got {given!r}")
    numbers = tuple(int(each) for each in given)
    if not numbers or len({*numbers}) < len(numbers) or not {*numbers} <= {*range(1, count + 1)}:
        listed = ", ".join(map(str, numbers)) or "none"
        raise ValueError(f"{name}: expected different numbers from 1 to {count}, got {listed}")
    return numbers


def kinds_of_modules(captured: Mapping[str, Layers]) -> dict[str, Layers]:
    """Return the kinds of captured modules; one whose name tells nothing keeps its name."""
    found: dict[str, Layers] = {}
    for template, layers in captured.items():
        key = key_of(template)
        found[template if key in found else key] = layers
    return found


__all__ = ["Direction", "Kind", "Sides", "kinds_of_modules"]
