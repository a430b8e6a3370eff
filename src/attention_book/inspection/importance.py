"""How much a prediction depends on each source word: four answers to set beside the weights.

Each function returns one number for every target word and every source word, in the
axes of attention weights, (batch, target, source). Padding gets 0.
"""

from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_book.inspection.teacher_forced import (
    log_probs_of,
    target_log_probs,
    true_word_log_probs,
)
from attention_book.models import Seq2Seq
from attention_book.models.evaluating import evaluating, moved, without_dropout
from attention_book.text import Batch

Effects = Float[Tensor, "batch target source"]


def hiding_effects(model: Seq2Seq, batch: Batch) -> Effects:
    """Hide one source position from attention at one step; return what the true word loses.

    .. math:: \\log p(y_t \\mid y_{<t}, x) - \\log p(y_t \\mid y_{<t}, x; \\alpha_{tj} = 0)

    The encoder has read the word, and all other steps see it: only this look is kept
    from it. Serrano and Smith (2019), section 4, hide the heaviest weight in this way.

    Args:
        model: A model with attention; its dropout is off during the call.
        batch: Sources with their known targets.

    >>> from attention_book.models import Seq2SeqConfig
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=9, target_vocabulary=9)).eval()
    >>> ids, mask = torch.tensor([[4, 5, 3]]), torch.ones(1, 3, dtype=torch.bool)
    >>> batch = Batch(ids, mask, target_input=ids, target_output=ids, target_mask=mask)
    >>> hiding_effects(model, batch).shape
    torch.Size([1, 3, 3])
    """
    batch = moved(batch, model)
    num_sentences, num_places = batch.source.shape
    rows = _one_row_for_each_place(batch)
    hidden_one = torch.eye(num_places, dtype=torch.bool, device=rows.device)
    others = ~hidden_one.repeat(num_sentences, 1)[:, None, :]
    effects = []
    with evaluating(model):
        memory = model.encode(batch.source, batch.source_mask)
        blind = memory.select(rows)
        blind = replace(blind, mask=blind.mask & others)
        state = model.start(memory)
        for token, word in zip(batch.target_input.T, batch.target_output.T, strict=True):
            before = replace(state.select(rows), memory=blind)
            hidden, _ = model.step(token[rows], before)
            seen, state = model.step(token, state)
            lost = log_probs_of(seen, word)[rows] - log_probs_of(hidden, word[rows])
            effects.append(lost.view(num_sentences, num_places))
    return _only_real(torch.stack(effects, dim=1), batch)


def replacement_effects(
    model: Seq2Seq, batch: Batch, replacements: Int[Tensor, "round place"]
) -> Effects:
    """Write another word in one source position; return what each true word loses.

    .. math:: \\log p(y_t \\mid y_{<t}, x) -
        \\frac{1}{R} \\sum_r \\log p(y_t \\mid y_{<t}, x_{j \\to r})

    The whole sentence is read again: unlike in :func:`hiding_effects`, nothing of
    the word is left, in any state. It is the "leave-one-out" of Jain and Wallace (2019),
    section 4.1, with other words instead of a gap.

    Args:
        model: Any model; its dropout is off during the call.
        batch: Sources with their known targets.
        replacements: The words to write instead, as numbers, (round, batch * source):
            in every round one for each place of the batch.

    >>> from attention_book.models import Seq2SeqConfig
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=9, target_vocabulary=9)).eval()
    >>> ids, mask = torch.tensor([[4, 5, 3]]), torch.ones(1, 3, dtype=torch.bool)
    >>> batch = Batch(ids, mask, target_input=ids, target_output=ids, target_mask=mask)
    >>> by_itself = replacement_effects(model, batch, replacements=ids)
    >>> torch.allclose(by_itself, torch.zeros(3, 3), atol=1e-5)
    True
    """
    batch = moved(batch, model)
    num_sentences, num_places = batch.source.shape
    rows = _one_row_for_each_place(batch)
    places = torch.arange(num_places, device=rows.device).repeat(num_sentences)
    repeated = Batch(*(value[rows] for value in vars(batch).values()))
    before, after = target_log_probs(model, batch)[rows], []
    for words in moved(replacements, model):
        source = repeated.source.clone()
        source[torch.arange(len(rows), device=rows.device), places] = words
        after.append(target_log_probs(model, replace(repeated, source=source)))
    losses = before - torch.stack(after).mean(dim=0)
    return _only_real(losses.view(num_sentences, num_places, -1).transpose(1, 2), batch)


def gradient_times_input(model: Seq2Seq, batch: Batch) -> Effects:
    """Differentiate each true word's log-probability; return gradient times embedding.

    .. math:: \\sum_d \\frac{\\partial \\log p(y_t \\mid y_{<t}, x)}{\\partial e_{jd}} \\, e_{jd}

    To first order, what the word would lose if the embedding shrank to 0.
    Denil et al. (2014).

    Args:
        model: Any model; its dropout is off during the call.
        batch: Sources with their known targets.

    >>> from attention_book.models import Seq2SeqConfig
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=9, target_vocabulary=9)).eval()
    >>> ids, mask = torch.tensor([[4, 5, 3]]), torch.ones(1, 3, dtype=torch.bool)
    >>> batch = Batch(ids, mask, target_input=ids, target_output=ids, target_mask=mask)
    >>> gradient_times_input(model, batch).shape
    torch.Size([1, 3, 3])
    """
    batch = moved(batch, model)
    slopes, embedded = _slopes(model, batch)
    return _only_real((slopes * embedded[:, None]).sum(dim=-1), batch)


def influence(model: Seq2Seq, batch: Batch) -> Effects:
    """Return how the influence on each true word is shared among the source positions.

    .. math:: \\frac{\\lVert g_{tj} \\rVert}{\\sum_l \\lVert g_{tl} \\rVert}, \\qquad
        g_{tj} = \\frac{\\partial \\log p(y_t \\mid y_{<t}, x)}{\\partial e_j}

    How far the prediction moves when an embedding moves a little, in whatever direction.

    Args:
        model: Any model; its dropout is off during the call.
        batch: Sources with their known targets.

    >>> from attention_book.models import Seq2SeqConfig
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=9, target_vocabulary=9)).eval()
    >>> ids, mask = torch.tensor([[4, 5, 3]]), torch.ones(1, 3, dtype=torch.bool)
    >>> batch = Batch(ids, mask, target_input=ids, target_output=ids, target_mask=mask)
    >>> shares = influence(model, batch)
    >>> torch.allclose(shares.sum(dim=-1), torch.ones(1, 3))
    True
    """
    batch = moved(batch, model)
    slopes, _ = _slopes(model, batch)
    norms = _only_real(slopes.norm(dim=-1), batch)
    total = norms.sum(dim=-1, keepdim=True)
    return norms / total.masked_fill(total == 0, 1.0)


def _slopes(model: Seq2Seq, batch: Batch) -> tuple[Tensor, Tensor]:
    """Differentiate each true word's log-probability with respect to every embedding.

    Returns the gradients (batch, target, source, d_embed) and the embeddings.
    """
    embedded: list[Tensor] = []
    handle = model.encoder.embedding.register_forward_hook(
        lambda module, arguments, output: embedded.append(output)
    )
    with handle, without_dropout(model), torch.enable_grad():
        # Sentences of a batch don't interact: the gradient of the sum holds each one's gradient.
        totals = true_word_log_probs(model, batch).sum(dim=0)
        slopes = [torch.autograd.grad(total, embedded, retain_graph=True)[0] for total in totals]
    return torch.stack(slopes, dim=1), embedded[0].detach()


def rank_correlation(first: Tensor, second: Tensor) -> float:
    """Return Spearman's rank correlation of two lists of numbers, from -1 to 1.

    It asks only whether both put things in the same order. Equal numbers share their
    mean rank; a list of nothing but equal numbers has no order, and gives NaN.

    Raises:
        ValueError: if the lists differ in length.

    >>> rank_correlation(torch.tensor([0.1, 0.2, 0.7]), torch.tensor([1.0, 5.0, 9.0]))
    1.0
    """
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(
            "second: expected a list as long as first, "
            f"got the shapes {tuple(first.shape)} and {tuple(second.shape)}"
        )
    # On the CPU: not every device has double precision.
    ranks = torch.stack([_ranks(each.detach().cpu()) for each in (first, second)])
    return round(float(torch.corrcoef(ranks)[0, 1]), 12)


def _ranks(numbers: Tensor) -> Tensor:
    below = (numbers[:, None] > numbers).sum(dim=1)
    equal = (numbers[:, None] == numbers).sum(dim=1)
    return below + (equal.double() - 1) / 2


def _one_row_for_each_place(batch: Batch) -> Tensor:
    """Number each sentence as often as the batch is wide: one copy for each place to change."""
    num_sentences, num_places = batch.source.shape
    rows = torch.arange(num_sentences, device=batch.source.device)
    return rows.repeat_interleave(num_places)


def _only_real(effects: Effects, batch: Batch) -> Effects:
    real = batch.target_mask[:, :, None] & batch.source_mask[:, None, :]
    return effects.masked_fill(~real, 0.0)


__all__ = [
    "gradient_times_input",
    "hiding_effects",
    "influence",
    "rank_correlation",
    "replacement_effects",
]
