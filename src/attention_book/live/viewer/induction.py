"""A viewer of an induction circuit, for any words that a reader writes."""

import base64
from typing import Any

from torch import Tensor, nn

from attention_book.attention import RotaryPositions
from attention_book.foundations.bilingual import chosen_language, of_the_two
from attention_book.live.language import in_bytes
from attention_book.live.viewer.page import Viewer


class InductionViewer(Viewer):
    """Two layers of attention that copy: what layer 1 notes, where layer 2 looks, what is guessed.

    The reader writes any words. Each new one gets the next number of the model's vocabulary, so
    nothing that the model has learned helps it but to copy. One look can be cut: layer 1 may not
    see the word before. Everything is computed in the browser, with weights of 8 bits and one
    scale a row.

    Args:
        model: An :class:`~attention_book.course.models.AttentionOnly` of two layers with one head
            each and rotary positions, trained on texts of random words.
        text: The words that are shown first.
        longest: The most words that the model may read: as many as it was trained on.
        language: "zh" or "en"; by default the one of ``set_language``, or of the browser.

    Raises:
        ValueError: if the model has other layers, heads or positions, if ``longest`` is below 1,
            or if there is no text.

    >>> from attention_book.course.models import AttentionOnly
    >>> model = AttentionOnly(vocabulary=32, d_model=8)
    >>> InductionViewer(model, "Tom sees Jerry . Tom", longest=48)
    InductionViewer('Tom sees Jerry . Tom')
    """

    script = "induction"
    title = "An induction circuit · 归纳回路"

    def __init__(
        self, model: nn.Module, text: str, *, longest: int, language: str | None = None
    ) -> None:
        if longest < 1:
            raise ValueError(f"longest: expected at least 1, got {longest}")
        if not text.strip():
            raise ValueError(f"text: expected a few words, got {text!r}")
        self.text = text
        self.state = {
            "data": {**packed(weights_of(model)), "longest": longest},
            "language": of_the_two(language) or chosen_language() or "",
            "text": text,
            "at": 0,
            "cut": "0",
        }

    def __repr__(self) -> str:
        """Return the words that are shown first."""
        return f"InductionViewer({self.text!r})"


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Return the weights of a model that the page can run.

    Raises:
        ValueError: if it cannot.
    """
    from attention_book.course.models import AttentionOnly

    if not isinstance(model, AttentionOnly):
        raise ValueError(f"model: expected an AttentionOnly, got {type(model).__name__}")
    heads = [getattr(layer.attention, "num_heads", 0) for layer in model.layers]
    if heads != [1, 1]:
        raise ValueError(f"model: expected two layers with one head each, got heads {heads}")
    positions, size = model.positions, model.embedding.embedding_dim
    usual = RotaryPositions(d_k=size)
    if not isinstance(positions, RotaryPositions) or any(
        getattr(positions, name) != getattr(usual, name) for name in ("base", "pairing", "scaling")
    ):
        raise ValueError(f"model: expected rotary positions without options, got {positions}")
    return {name: weight.detach() for name, weight in model.state_dict().items()}


def packed(weights: dict[str, Tensor]) -> dict[str, Any]:
    """Return weights as plain values: names with rows and columns, scales of rows, and codes.

    >>> import torch
    >>> found = packed({"w": torch.tensor([[1.0, -0.5], [0.0, 0.0]])})
    >>> found["names"], found["scales"]
    ([['w', 2, 2]], [0.007874, 0.0])
    >>> list(base64.b64decode(found["codes"]))                         # 127, -64, 0, 0
    [127, 192, 0, 0]
    """
    names, scales, codes = [], list[float](), bytearray()
    for name, weight in weights.items():
        whole, steps = in_bytes(weight.cpu().reshape(-1, weight.shape[-1]))
        names.append([name, *whole.shape])
        scales += [float(f"{step:.5g}") for step in steps.flatten().tolist()]
        codes += whole.numpy().tobytes()
    return {"names": names, "scales": scales, "codes": base64.b64encode(codes).decode("ascii")}


__all__ = ["InductionViewer"]
