"""A model under teacher forcing: where it looks, and how probable it finds each known word."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.foundations.shapes import StepLogits, Weights
from attention_book.models import Seq2Seq
from attention_book.models.evaluating import evaluating, moved
from attention_book.text import Batch, ParallelData, SentencePair, Vocabulary


def teacher_forced_weights(
    model: Seq2Seq,
    pairs: Sequence[SentencePair],
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
    *,
    batch_size: int = 128,
) -> list[Float[Tensor, "target source"]]:
    """Return where a model looks along the known translation of each pair.

    What :func:`~attention_book.decoding.attention_of` returns for each of them, many at
    a time: one row for each target token and ``<eos>``, one column for each source token
    and ``<eos>``.

    Args:
        model: A model with attention; its dropout is off during the call.
        pairs: Sources with the translations to read along.
        source_vocabulary: Numbers the source tokens.
        target_vocabulary: Numbers the target tokens.
        batch_size: How many sentences at a time.

    >>> from attention_book.models import Seq2SeqConfig
    >>> pairs = [SentencePair(("go", "."), ("va", "!")), SentencePair(("no",), ("non",))]
    >>> words = Vocabulary.build([("go", "no", ".", "va", "non", "!")])
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=10, target_vocabulary=10)).eval()
    >>> [tuple(each.shape) for each in teacher_forced_weights(model, pairs, words, words)]
    [(3, 3), (2, 2)]
    """
    data, found = ParallelData(pairs, source_vocabulary, target_vocabulary), []
    for batch in (moved(each, model) for each in data.batches(batch_size)):
        with evaluating(model):
            weights = model.weights(batch.source, batch.source_mask, batch.target_input)
        masks = batch.target_mask, batch.source_mask
        lengths = torch.stack([mask.sum(dim=1) for mask in masks], dim=1).tolist()
        found += [rows[:n, :m] for rows, (n, m) in zip(weights, lengths, strict=True)]
    return found


def gold_weights(batch: Batch, pairs: Sequence[SentencePair]) -> Weights:
    """Return the ideal weights for a gold alignment: each word attends to its sources.

    A word with several gold links divides its look evenly among them; ``<eos>`` looks
    at the source's ``<eos>``; a word without a link looks at everything alike.

    Args:
        batch: What the pairs were made into, in the same order.
        pairs: Pairs with gold alignments.

    Raises:
        ValueError: if a pair has no alignment, or there are not as many as in the batch.

    >>> pair = SentencePair(("go", "on"), ("va",), alignment=frozenset({(0, 0), (1, 0)}))
    >>> words = Vocabulary.build([("go", "on", "va")])
    >>> gold_weights(next(ParallelData([pair], words, words).batches(1)), [pair])
    tensor([[[0.5000, 0.5000, 0.0000],
             [0.0000, 0.0000, 1.0000]]])
    """
    if len(pairs) != len(batch):
        raise ValueError(f"pairs: expected the batch's {len(batch)}, got {len(pairs)}")
    sizes = len(batch), batch.target_input.shape[1], batch.source.shape[1]
    weights = torch.zeros(sizes, device="cpu")  # link by link, then moved at once
    for row, pair in enumerate(pairs):
        if pair.alignment is None:
            raise ValueError(f"pairs: expected gold alignments, got none for pair {row}")
        for i, j in pair.alignment | {(len(pair.source), len(pair.target))}:
            weights[row, j, i] = 1
    weights = weights.to(batch.source.device)
    unlinked = weights.sum(dim=-1, keepdim=True) == 0
    weights = torch.where(unlinked, batch.source_mask[:, None, :].float(), weights)
    return weights / weights.sum(dim=-1, keepdim=True)


def target_log_probs(model: Seq2Seq, batch: Batch) -> Float[Tensor, "batch target"]:
    """Return the log-probability of every word of known targets, in nats; 0 at padding.

    >>> from attention_book.models import Seq2SeqConfig
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=9, target_vocabulary=9)).eval()
    >>> ids, mask = torch.tensor([[4, 5, 3]]), torch.ones(1, 3, dtype=torch.bool)
    >>> batch = Batch(ids, mask, target_input=ids, target_output=ids, target_mask=mask)
    >>> target_log_probs(model, batch).shape
    torch.Size([1, 3])
    """
    with evaluating(model):
        return true_word_log_probs(model, batch)


def true_word_log_probs(model: Seq2Seq, batch: Batch) -> Float[Tensor, "batch target"]:
    """Return the same without switching to evaluation mode or turning gradients off."""
    batch = moved(batch, model)
    logits = model(batch.source, batch.source_mask, batch.target_input)
    return log_probs_of(logits, batch.target_output).masked_fill(~batch.target_mask, 0.0)


def log_probs_of(logits: StepLogits | Tensor, words: Tensor) -> Tensor:
    """Return the log-probability of one word in each place."""
    return logits.log_softmax(dim=-1).gather(-1, words.long()[..., None])[..., 0]


__all__ = ["gold_weights", "target_log_probs", "teacher_forced_weights"]
