"""Is this attention right? Laws that a mechanism obeys, and by name what usually breaks them."""

from collections.abc import Iterable

from attention_book.conformance.adapters import (
    from_torch,
    from_transformers,
    from_x_transformers,
)
from attention_book.conformance.causes import CAUSES
from attention_book.conformance.cross import Cross, CrossLaws
from attention_book.conformance.kernel import Kernel
from attention_book.conformance.kernel_laws import KernelLaws
from attention_book.conformance.naming import AddressError, subjects_at
from attention_book.conformance.report import (
    Breach,
    DoesNotApply,
    Law,
    Outcome,
    Report,
    tested,
)
from attention_book.conformance.sequence import Sequence, SequenceLaws

#: What can be held to laws.
Subject = Kernel | Sequence | Cross


def laws(subject: Subject, *, seed: int = 0) -> list[Law]:
    """Return the laws of a kind of subject, ready to be tested one by one, in any order.

    A layer or a model is switched to eval.

    Args:
        subject: a function, a layer or a model, or cross-attention, with its conventions.
        seed: of the inputs that are drawn.

    >>> from attention_book.attention import dot_product_attention
    >>> first, *rest = laws(Kernel(dot_product_attention))
    >>> first.name, first.statement.en, first.test()
    ('formula', 'The output is the softmax of scaled scores over the keys, times the values.', None)
    """
    if isinstance(subject, Kernel):
        return KernelLaws(subject, seed).all()
    if isinstance(subject, Cross):
        return CrossLaws(subject, seed).all()
    return SequenceLaws(subject, seed).all()


def examine(subject: Subject, *, only: Iterable[str] | None = None, seed: int = 0) -> Report:
    """Hold a subject to all laws that apply to it.

    Args:
        subject: a function, a layer or a model, or cross-attention, with its conventions.
        only: the names of the laws to be tested; all if None.
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
    asked = None if only is None else set(only)
    found = [law for law in laws(subject, seed=seed) if asked is None or law.name in asked]
    return tested(subject.name, found, first_tells=not isinstance(subject, Kernel))


__all__ = [
    "CAUSES",
    "AddressError",
    "Breach",
    "Cross",
    "DoesNotApply",
    "Kernel",
    "Law",
    "Outcome",
    "Report",
    "Sequence",
    "Subject",
    "examine",
    "from_torch",
    "from_transformers",
    "from_x_transformers",
    "laws",
    "subjects_at",
]
