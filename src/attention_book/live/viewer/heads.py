"""A viewer of all heads of a model: give it the weights and the tokens, and look."""

from collections.abc import Mapping, Sequence
from typing import Any

from attention_book.foundations.bilingual import Language, chosen_language
from attention_book.live.viewer.kinds import Kind, Sides, kinds_of_modules
from attention_book.live.viewer.layouts import captured, layers_of
from attention_book.live.viewer.viewer import Viewer


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
    returns, a tuple for each step, is put together row by row.

    Args:
        attention: What :func:`~attention_book.inspection.capture_attention` gives; the kinds
            follow from the names of the modules. Or weights of one kind.
        tokens: The tokens of both sides.
        source: The tokens that the encoder reads.
        target: The tokens that the decoder reads.
        attentions: Weights of one kind.
        encoder_attentions: The encoder's self-attention; its tokens are ``source``.
        decoder_attentions: The decoder's self-attention; its tokens are ``target``.
        cross_attentions: Attention from ``target`` to ``source``.
        batch: Which sentence of a batch, from 0.
        language: "zh" or "en"; by default the one of ``set_language``, or of the browser.

    Raises:
        ValueError: if there are no weights, if they are none (scores, or not a number), if their
            shape is none of these, or if the tokens are not as many as rows and columns.

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
        tokens: Sequence[str] | None = None,
        source: Sequence[str] | None = None,
        target: Sequence[str] | None = None,
        attentions: Any = None,
        encoder_attentions: Any = None,
        decoder_attentions: Any = None,
        cross_attentions: Any = None,
        batch: int = 0,
        language: Language | None = None,
    ) -> None:
        sides = Sides(tokens=tokens, source=source, target=target)
        if isinstance(attention, Mapping):
            kinds = kinds_of_modules(captured(attention, batch), sides)
        else:
            given = {
                ("attention", "attention"): attention,
                ("attention", "attentions"): attentions,
                ("encoder", "encoder_attentions"): encoder_attentions,
                ("decoder", "decoder_attentions"): decoder_attentions,
                ("cross", "cross_attentions"): cross_attentions,
            }
            kinds = [
                sides.kind(key, layers_of(name, weights, batch))
                for (key, name), weights in given.items()
                if weights is not None
            ]
        if not kinds:
            raise ValueError(
                "expected weights: attention, attentions, encoder_attentions, decoder_attentions"
                " or cross_attentions; got none"
            )
        self.kinds = {kind.key: kind for kind in kinds}
        self.state = self._begin(kinds, language)

    def _begin(self, kinds: Sequence[Kind], language: Language | None) -> dict[str, Any]:
        kind = self.kinds.get("cross", kinds[0])
        return {
            "data": {"kinds": [each.data() for each in kinds]},
            "language": language or chosen_language() or "",
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
                does; head 0 is the mean of a layer's heads, query or key 0 is none. And
                ``threshold``, from 0 to 0.5: smaller weights are not drawn.

        Raises:
            ValueError: if there is no such kind or place.

        >>> import torch
        >>> viewer = HeadViewer(torch.eye(3).expand(2, 4, 3, 3), tokens=["a", "red", "book"])
        >>> viewer.at(layer=2, head=0, threshold=0.1).state["layer"]
        2
        """
        name = self.state["kind"] if kind is None else kind
        if name not in self.kinds:
            raise ValueError(f"kind: expected one of {', '.join(self.kinds)}, got {kind!r}")
        found = self.kinds[name]
        layers, heads, queries, keys = found.weights.shape
        most = {"layer": layers, "head": heads, "query": queries, "key": keys, "threshold": 0.5}
        for place_, value in places.items():
            least = 1 if place_ == "layer" else 0
            if place_ not in most or not least <= value <= most[place_]:
                expected = f"from {least} to {most[place_]}" if place_ in most else ", ".join(most)
                raise ValueError(f"{place_}: expected {expected}, got {value}")
        copy = object.__new__(type(self))
        copy.kinds = self.kinds
        start = {} if kind is None else {"kind": name, **found.first(), "key": 0}
        copy.state = {**self.state, **start, **places}
        return copy

    def __repr__(self) -> str:
        """Return its kinds and their sizes."""
        return f"HeadViewer({'; '.join(map(described, self.kinds.values()))})"


def described(kind: Kind) -> str:
    layers, heads, queries, keys = kind.weights.shape
    plural = ["" if count == 1 else "s" for count in (layers, heads)]
    size = f"{queries} × {keys}"
    return f"{kind.key}: {layers} layer{plural[0]} × {heads} head{plural[1]}, {size}"


__all__ = ["HeadViewer"]
