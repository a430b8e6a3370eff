"""Cut looks: forbid a translator's words to look at chosen source words, and translate again.

A heavy weight says where a word looked. Whether the word needed that look shows when it is cut
before the softmax, in every head of every layer (attention knockout, Geva et al. 2023).
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from attention_book.attention.visibility import Visibility
from attention_book.foundations.checks import check_boolean
from attention_book.models.evaluating import moved

#: A place in the translation and one in the source, from 0; None stands for all of them.
Pair = tuple[int | None, int | None]


def chosen_looks(
    pairs: Iterable[Pair], *, num_target: int, num_source: int
) -> Bool[Tensor, "target source"]:
    """Return a table that is True at the looks that are named.

    Args:
        pairs: (place in the translation, place in the source), from 0; None stands for all:
            (None, 3) are all looks at source word 3, (2, None) all looks of word 2.
        num_target: How many words the translation may get, ``<eos>`` included.
        num_source: How many the source has, ``<eos>`` included.

    Raises:
        ValueError: if a place lies outside the table.

    >>> chosen_looks([(None, 0), (1, 2)], num_target=2, num_source=3)
    tensor([[ True, False, False],
            [ True, False,  True]])
    """
    table = torch.zeros(num_target, num_source, dtype=torch.bool)
    for pair in pairs:
        for place, count, side in zip(pair, table.shape, ("target", "source"), strict=True):
            if place is not None and not 0 <= place < count:
                raise ValueError(
                    f"pairs: expected a {side} place from 0 to {count - 1}, got {pair}"
                )
        target, source = (slice(None) if place is None else place for place in pair)
        table[target, source] = True
    return table


@contextmanager
def cut_looks(model: nn.Module, cut: Bool[Tensor, "*batch target source"]) -> Iterator[None]:
    """Let a translator write without some of its looks at the source while the block lasts.

    .. math:: \\alpha_t = \\operatorname{softmax}_j(s_{tj}), \\qquad
        s_{tj} = -\\infty \\text{ where look } (t, j) \\text{ is cut}

    The scores are cut before the softmax, in every layer and every head, so that the looks that
    are left share the whole weight. A word whose looks are all cut gets the weight 0 everywhere
    and an average of 0: it is written from the words before it alone.

    As in :func:`~attention_book.inspection.forced_attention` the rows are used up in order, one
    for each word that is written: one translation, or one teacher-forced pass, for each block.
    With a table for each sentence of a batch, no sentence may leave the batch meanwhile.

    Args:
        model: A :class:`~attention_book.models.Transformer`, or a
            :class:`~attention_book.models.Seq2Seq` with attention.
        cut: True = this word may not look there, (target, source) or (batch, target, source), as
            :func:`chosen_looks` makes it. Row t belongs to word t of the translation.

    Raises:
        TypeError: if ``cut`` is not boolean.
        ValueError: if the model looks at no source; when it runs, if it writes more words than
            ``cut`` has rows, or reads a source of another length.

    >>> from attention_book.models import Transformer, TransformerConfig
    >>> model = Transformer(TransformerConfig(source_vocabulary=6, target_vocabulary=6)).eval()
    >>> source, target = torch.tensor([[4, 5, 3]]), torch.tensor([[2, 4]])
    >>> with cut_looks(model, chosen_looks([(None, 0), (1, None)], num_target=2, num_source=3)):
    ...     (model.weights(source, source > 0, target)[0] > 0).int()
    tensor([[0, 1, 1],
            [0, 0, 0]], dtype=torch.int32)
    """
    check_boolean("cut", cut, "no longer looked at")
    cut = moved(cut, model)
    handles = [
        module.register_forward_pre_hook(_cutter(cut), with_kwargs=True)
        for module in _looking_at_the_source(model)
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _looking_at_the_source(model: nn.Module) -> list[nn.Module]:
    """Return the modules with which a decoder looks over at the source."""
    modules = dict(model.named_modules())
    found = [each for name, each in modules.items() if name.endswith(".cross_attention")]
    recurrent = modules.get("decoder.attention")
    if not found and recurrent is not None:
        found = [recurrent]
    if not found:
        raise ValueError(
            f"model: expected a translator that looks at its source, got {type(model).__name__}"
        )
    return found


def _cutter(cut: Tensor) -> Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return a hook that adds the next rows of ``cut`` to the mask with which a module is asked."""
    used = 0

    def before(
        module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        nonlocal used
        call = signature(module.forward).bind(*args, **kwargs).arguments
        mask, num_queries = call["mask"], call["queries"].shape[-2]
        seen: Any = mask.mask if isinstance(mask, Visibility) else mask
        rows = cut[..., used : used + num_queries, :].to(seen.device)
        _check_rows(rows, seen, range(used, used + num_queries))
        used += num_queries
        left = seen & ~(rows.unsqueeze(1) if rows.ndim == 3 < seen.ndim else rows)
        changed = Visibility(mask=left) if isinstance(mask, Visibility) else left
        if "mask" in kwargs:
            return args, kwargs | {"mask": changed}
        return tuple(changed if each is mask else each for each in args), kwargs

    return before


def _check_rows(rows: Tensor, seen: Tensor, wanted: range) -> None:
    if rows.shape[-2] != len(wanted):
        raise ValueError(
            f"cut: expected a row for each word, {wanted.stop} up to this one, "
            f"got {wanted.start + rows.shape[-2]}"
        )
    if rows.shape[-1] != seen.shape[-1]:
        raise ValueError(
            f"cut: expected a column for each of {seen.shape[-1]} source words, "
            f"got {rows.shape[-1]}"
        )
    if rows.ndim == 3 and len(rows) not in (1, len(seen)):
        raise ValueError(
            f"cut: expected a table for each of {len(seen)} sentences, got {len(rows)}"
        )


__all__ = ["Pair", "chosen_looks", "cut_looks"]
