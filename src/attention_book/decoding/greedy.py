"""Greedy search: always the most probable next word."""

import torch

from attention_book.decoding.hypothesis import Hypothesis
from attention_book.decoding.prediction import (
    check_translator,
    end_ids,
    going_first,
    is_end,
    limits,
    next_log_probs,
    num_ended,
    special_ids,
)
from attention_book.foundations.shapes import StepIds, TokenIds, TokenMask
from attention_book.models.evaluating import evaluating
from attention_book.models.protocols import Memory, State, Translator


def greedy_search(
    model: Translator[Memory, State],
    source: TokenIds,
    source_mask: TokenMask,
    *,
    max_tokens: int | StepIds,
) -> list[Hypothesis]:
    """Write one sentence for each source, always with the most probable next word.

    .. math:: y_t = \\operatorname{argmax}_w p(w \\mid y_{<t}, x)

    The best word now need not begin the best sentence: see :func:`beam_search`.
    ``<pad>`` and ``<bos>`` are never written; ``<unk>`` may be. The model is in
    evaluation mode meanwhile and without gradients, and as before afterwards.

    Args:
        model: A translator.
        source: The sources as numbers, (batch, source).
        source_mask: True = a real token, (batch, source).
        max_tokens: The most tokens that a sentence may get, ``<eos>`` included; one
            number, or one for each sentence.

    Raises:
        TypeError: if the model is no translator.
        ValueError: if ``max_tokens`` is below 1, the shapes don't fit, or the model
            predicts nothing finite.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=10, target_vocabulary=12))
    >>> source = torch.tensor([[4, 5, 3, 0], [4, 6, 7, 3]])
    >>> first, second = greedy_search(model, source, source > 0, max_tokens=5)
    >>> first.num_tokens <= 5, first.log_prob < 0
    (True, True)
    """
    check_translator(model)
    limit, ids = limits(max_tokens, source, source_mask), special_ids(model)
    ends = end_ids(model)
    if len(source) == 0:
        return []
    with evaluating(model):
        state = model.start(model.encode(source, source_mask))
        written = source.new_full((len(source), int(limit.max())), ids.pad, dtype=torch.long)
        rows = torch.arange(len(source), device=source.device)  # still being written
        token = torch.full_like(rows, ids.bos)
        total = torch.zeros(len(source), device=source.device)
        for step in range(written.shape[1]):
            logits, state = model.step(token, state)
            log_probs = next_log_probs(logits, ids, ends)
            best, token = log_probs.max(dim=-1)
            written[rows, step] = token
            total = total.to(best.dtype)
            total[rows] += best
            ended = is_end(token, ends) | (step + 1 >= limit[rows])
            left = len(rows) - num_ended(ended, log_probs)
            if left == 0:
                break
            if left < len(rows):  # the finished leave the batch
                going = going_first(ended)[:left]
                rows, token, state = rows[going], token[going], state.select(going)
    return [
        Hypothesis.from_predictions(words[:n], log_prob, eos=ends)
        for words, n, log_prob in zip(written.tolist(), limit.tolist(), total.tolist(), strict=True)
    ]
