"""Is this attention right? Laws that a mechanism obeys, and by name what usually breaks them."""

from attention_book.conformance.kernel import Kernel, KernelLaws
from attention_book.conformance.report import (
    CAUSES,
    Breach,
    DoesNotApply,
    Law,
    Outcome,
    Report,
    tested,
)
from attention_book.conformance.sequence import Sequence, SequenceLaws


def laws(subject: Kernel | Sequence, *, seed: int = 0) -> list[Law]:
    """Return the laws of a kind of subject, ready to be tested one by one, in any order.

    A layer or a model is switched to eval.

    Args:
        subject: a function, or a layer or a model, with its conventions.
        seed: of the inputs that are drawn.

    >>> from attention_book.attention import dot_product_attention
    >>> first, *rest = laws(Kernel(dot_product_attention))
    >>> first.name, first.statement.en, first.test()
    ('formula', 'The output is the softmax of scaled scores over the keys, times the values.', None)
    """
    if isinstance(subject, Kernel):
        return KernelLaws(subject, seed).all()
    return SequenceLaws(subject, seed).all()


def examine(subject: Kernel | Sequence, *, seed: int = 0) -> Report:
    """Hold a subject to all laws that apply to it.

    Args:
        subject: a function, or a layer or a model, with its conventions.
        seed: of the inputs that are drawn.

    >>> import torch
    >>> layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> def call(x, padding):
    ...     return layer(x, x, x, key_padding_mask=padding, need_weights=False)
    >>> report = examine(Sequence(call, width=8, mask="blocked", module=layer, positions=False))
    >>> bool(report)
    True
    >>> inverted = Sequence(lambda x, real: call(x, ~real if real is not None else None), width=8,
    ...                     mask="blocked", module=layer)
    >>> print(examine(inverted).cause)
    mask-inverted
    """
    return tested(subject.name, laws(subject, seed=seed), first_tells=isinstance(subject, Sequence))


__all__ = [
    "CAUSES",
    "Breach",
    "DoesNotApply",
    "Kernel",
    "Law",
    "Outcome",
    "Report",
    "Sequence",
    "examine",
    "laws",
]
