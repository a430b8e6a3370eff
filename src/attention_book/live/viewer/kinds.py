"""The kinds of attention that a viewer shows: encoder, decoder, cross; with their tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from attention_book.foundations import Bilingual

NAMES = {
    "encoder": Bilingual("编码器自注意力", "Encoder self-attention"),
    "decoder": Bilingual("解码器自注意力", "Decoder self-attention"),
    "cross": Bilingual("交叉注意力", "Cross-attention"),
    "attention": Bilingual("注意力", "Attention"),
}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """All heads of one kind of attention, and the tokens on both sides.

    Attributes:
        key: Its short name, as ``at`` and the address take it.
        weights: (layer, head, query, key).
        queries: A token for each row.
        keys: A token for each column.
    """

    key: str
    weights: Tensor
    queries: tuple[str, ...]
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check that there are as many tokens as rows and columns."""
        rows, columns = self.weights.shape[2:]
        for side, tokens, wanted in (("query", self.queries, rows), ("key", self.keys, columns)):
            if len(tokens) != wanted:
                raise ValueError(
                    f"{self.key}: expected a token for each {side}, {wanted}, got {len(tokens)}:"
                    f" {' '.join(tokens)}"
                )

    @property
    def name(self) -> Bilingual:
        """What a reader calls it."""
        return NAMES.get(self.key, Bilingual(self.key, self.key))

    def first(self) -> dict[str, int]:
        """Return the sharpest head, and its most certain query among those that had a choice."""
        sharpness = self.weights.amax(dim=-1)
        layer, head = divmod(int(sharpness.mean(dim=-1).argmax()), self.weights.shape[1])
        choices = (self.weights[layer, head] > 0).sum(dim=-1) > 1
        query = int((sharpness[layer, head] * choices).argmax())
        return {"layer": layer + 1, "head": head + 1, "query": query + 1}

    def data(self) -> dict[str, Any]:
        """Return the kind as the browser takes it, with weights in thousandths."""
        thousandths = (self.weights.flatten(start_dim=2) * 1000).round().int()
        return {
            "key": self.key,
            "name": [self.name.zh, self.name.en],
            "queries": list(self.queries),
            "keys": list(self.keys),
            "first": self.first(),
            "weights": thousandths.tolist(),
        }


@dataclass(frozen=True, kw_only=True)
class Sides:
    """The tokens that a caller gave: those of both sides, or of source and target."""

    tokens: Sequence[str] | None = None
    source: Sequence[str] | None = None
    target: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Check that tokens are lists of strings."""
        for name, given in vars(self).items():
            if isinstance(given, str):
                raise ValueError(f"{name}: expected a list of tokens, got one string; try .split()")
            for token in given or ():
                if not isinstance(token, str):
                    raise ValueError(
                        f"{name}: expected strings, got {token!r}; in transformers"
                        " tokenizer.convert_ids_to_tokens makes strings of numbers"
                    )

    def kind(self, key: str, weights: Tensor) -> Kind:
        """Return a kind with the tokens that belong on its sides."""
        queries = {"encoder": "source"}.get(key, "target")
        keys = {"decoder": "target"}.get(key, "source")
        if key not in NAMES or key == "attention":
            queries, keys = ("target", "source") if self.tokens is None else ("tokens", "tokens")
        return Kind(
            key=key, weights=weights, queries=self.named(key, queries), keys=self.named(key, keys)
        )

    def named(self, key: str, side: str) -> tuple[str, ...]:
        """Return the tokens that were given for a side, or else those of both."""
        given = getattr(self, side)
        found = self.tokens if given is None else given
        if found is None:
            raise ValueError(f"{key}: expected {side}=[...] (or tokens=[...]), got none")
        return tuple(found)


def kinds_of_modules(captured: Mapping[str, Tensor], sides: Sides) -> list[Kind]:
    """Return the kinds of captured modules; one whose name tells nothing keeps its name."""
    found: dict[str, Kind] = {}
    for template, weights in captured.items():
        key = key_of(template)
        if key in found:
            key = template
        found[key] = sides.kind(key, weights)
    return list(found.values())


def key_of(template: str) -> str:
    """Return the kind that the name of a module tells.

    >>> key_of("decoder.layers.{}.cross_attention"), key_of("h.{}.attn")
    ('cross', 'attention')
    """
    if "cross" in template or "encoder_attn" in template:
        return "cross"
    if "decoder" in template:
        return "decoder" if "self" in template else "cross"
    return "encoder" if "encoder" in template else "attention"


__all__ = ["Kind", "Sides", "kinds_of_modules"]
