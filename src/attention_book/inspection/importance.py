"""How much a prediction depends on each source word: three answers to set beside the weights.

Each function returns one number for every target word and every source word, in the
axes of attention weights, (batch, target, source). Padding gets 0.
"""

from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_book.inspection.teacher_forced import log_probs_of, target_log_probs
from attention_book.models import Seq2Seq
from attention_book.text import Batch

Effects = Float[Tensor, "batch target source"]


@torch.no_grad()
def hiding_effects(model: Seq2Seq, batch: Batch) -> Effects:
    """Hide one source position from attention at one step; return what the true word loses.

    .. math:: \\log p(y_t \\mid y_{<t}, x) - \\log p(y_t \\mid y_{<t}, x; \\alpha_{tj} = 0)

    The encoder has read the word, and all other steps see it: only this look is kept
    from it. Serrano and Smith (2019), section 4, hide the heaviest weight in this way.

    Args:
        model: A model with attention, in evaluation mode.
        batch: Sources with their known targets.

    >>> from attention_book.models import Seq2SeqConfig
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=9, target_vocabulary=9)).eval()
    >>> ids, mask = torch.tensor([[4, 5, 3]]), torch.ones(1, 3, dtype=torch.bool)
    >>> batch = Batch(ids, mask, target_input=ids, target_output=ids, target_mask=mask)
    >>> hiding_effects(model, batch).shape
    torch.Size([1, 3, 3])
    """
    num_sentences, num_places = batch.source.shape
    rows = torch.arange(num_sentences).repeat_interleave(num_places)
    others = ~torch.eye(num_places, dtype=torch.bool).repeat(num_sentences, 1)
    memory = model.encode(batch.source, batch.source_mask)
    blind = memory.select(rows)
    blind = replace(blind, mask=blind.mask & others[:, None, :])
    state, effects = model.start(memory), []
    steps = zip(batch.target_input.T, batch.target_output.T, strict=True)
    for token, word in steps:
        before = replace(state.select(rows), memory=blind)
        hidden, _ = model.step(token[rows], before)
        seen, state = model.step(token, state)
        lost = log_probs_of(seen, word)[rows] - log_probs_of(hidden, word[rows])
        effects.append(lost.view(num_sentences, num_places))
    return _only_real(torch.stack(effects, dim=1), batch)


@torch.no_grad()
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
        model: Any model, in evaluation mode.
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
    num_sentences, num_places = batch.source.shape
    rows = torch.arange(num_sentences).repeat_interleave(num_places)
    places = torch.arange(num_places).repeat(num_sentences)
    repeated = Batch(*(value[rows] for value in vars(batch).values()))
    before, after = target_log_probs(model, batch)[rows], []
    for words in replacements:
        source = repeated.source.clone()
        source[torch.arange(len(rows)), places] = words
        after.append(target_log_probs(model, replace(repeated, source=source)))
    losses = before - torch.stack(after).mean(dim=0)
    return _only_real(losses.view(num_sentences, num_places, -1).transpose(1, 2), batch)


def gradient_times_input(model: Seq2Seq, batch: Batch) -> Effects:
    """Differentiate each true word's log-probability; return gradient times embedding.

    .. math:: \\sum_d \\frac{\\partial \\log p(y_t \\mid y_{<t}, x)}{\\partial e_{jd}} \\, e_{jd}

    To first order, what the word would lose if the embedding shrank to 0.
    Denil et al. (2014).

    Args:
        model: Any model, in evaluation mode.
        batch: Sources with their known targets.

    >>> from attention_book.models import Seq2SeqConfig
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=9, target_vocabulary=9)).eval()
    >>> ids, mask = torch.tensor([[4, 5, 3]]), torch.ones(1, 3, dtype=torch.bool)
    >>> batch = Batch(ids, mask, target_input=ids, target_output=ids, target_mask=mask)
    >>> gradient_times_input(model, batch).shape
    torch.Size([1, 3, 3])
    """
    embedded: list[Tensor] = []
    handle = model.encoder.embedding.register_forward_hook(
        lambda module, arguments, output: embedded.append(output)
    )
    with handle, torch.enable_grad():
        # Sentences don't meet in a batch: the gradient of the sum is each one's own.
        totals = target_log_probs(model, batch).sum(dim=0)
        slopes = [torch.autograd.grad(total, embedded, retain_graph=True)[0] for total in totals]
    products = [(slope * embedded[0]).sum(dim=-1) for slope in slopes]
    return _only_real(torch.stack(products, dim=1).detach(), batch)


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
    ranks = torch.stack([_ranks(first), _ranks(second)])
    return round(float(torch.corrcoef(ranks)[0, 1]), 12)


def _ranks(numbers: Tensor) -> Tensor:
    below = (numbers[:, None] > numbers).sum(dim=1)
    equal = (numbers[:, None] == numbers).sum(dim=1)
    return below + (equal.double() - 1) / 2


def _only_real(effects: Effects, batch: Batch) -> Effects:
    return effects * batch.target_mask[:, :, None] * batch.source_mask[:, None, :]


__all__ = ["gradient_times_input", "hiding_effects", "rank_correlation", "replacement_effects"]
