"""Beam search: keep several prefixes, since the best first word may not start the best sentence.

A *beam* is a prefix that is kept: ``beams.py`` ranks them and chooses which, this module has the
model go on from each. The beams of all sentences are stepped together: row
``sentence * width + beam`` of the model's state belongs to that beam (before the first word each
sentence has one), and the state's ``select`` follows as beams are dropped and branch. Where it has
a ``reorder`` too, that is used as long as no sentence leaves: beams change places, and the sources
stay as they are.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.decoding.beams import Beams, continued, settled
from attention_book.decoding.hypothesis import Hypothesis
from attention_book.decoding.prediction import (
    check_translator,
    end_ids,
    going_first,
    limits,
    next_log_probs,
    num_ended,
    special_ids,
)
from attention_book.foundations.shapes import StepIds, TokenIds, TokenMask
from attention_book.models.evaluating import evaluating
from attention_book.models.protocols import Memory, Reorderable, State, Translator

# Around 1 is usual; from about 50 on every score would be rounded to 0.
_MAX_LENGTH_PENALTY = 10


def _predict(
    model: Translator[Memory, State], beams: Beams, state: State
) -> tuple[Float[Tensor, "batch beam vocabulary"], State]:
    """Return what may follow each beam, and the state after its last token."""
    ended = ~beams.open
    # What has ended is read on for the sake of the others: any word will do, and what the model
    # says to it, be it nothing at all, does not count.
    token = beams.last.masked_fill(ended, beams.special.bos)
    logits, state = model.step(token.flatten(), state)
    logits = logits.masked_fill(ended.flatten()[:, None], 0.0)
    log_probs = next_log_probs(logits, beams.special, beams.ends)
    return log_probs.unflatten(0, ended.shape), state


def beam_search(
    model: Translator[Memory, State],
    source: TokenIds,
    source_mask: TokenMask,
    *,
    width: int,
    num_best: int = 1,
    length_penalty: float = 0.0,
    max_tokens: int | StepIds,
) -> list[list[Hypothesis]]:
    """Write sentences for each source, keeping the best ``width`` prefixes at every step.

    .. math::

        \\operatorname{score}(Y) = \\frac{\\log p(Y \\mid x)}{\\operatorname{lp}(Y)}, \\qquad
        \\operatorname{lp}(Y) = \\left(\\frac{5 + |Y|}{6}\\right)^{\\alpha}

    Finished sentences stay among the beams, compared by their scores. With one beam it is
    :func:`greedy_search`; with enough beams, a search of everything. Of equal ones those
    with the lowest numbers are kept, as there. What is cut off at ``max_tokens`` competes
    too; ``finished`` says so. A model may have several tokens that end a sentence. ``<pad>``
    and ``<bos>`` are never written; ``<unk>`` may be. Sutskever et al. (2014), section 3.2;
    Wu et al. (2016), equation 14.

    Args:
        model: A translator; in evaluation mode during the call, then as before.
        source: The sources as numbers, (batch, source).
        source_mask: True = a real token, (batch, source).
        width: How many prefixes are kept for each sentence.
        num_best: How many sentences to return for each source, at most ``width``;
            fewer come back only where there are no more.
        length_penalty: The exponent :math:`\\alpha`, from 0 to 10. With 0 the most
            probable sentence wins, often a short one.
        max_tokens: The most tokens that a sentence may get, ``<eos>`` included; one
            number, or one for each sentence.

    Returns:
        For each source its sentences, all different, the best score first.

    Raises:
        ValueError: if a number is out of its range, ``num_best`` above ``width``, the shapes
            don't fit, or the model predicts nothing finite.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=10, target_vocabulary=12))
    >>> source = torch.tensor([[4, 5, 3, 0], [4, 6, 7, 3]])
    >>> found = beam_search(model, source, source > 0, width=5, num_best=2, max_tokens=4)
    >>> [len(hypotheses) for hypotheses in found]
    [2, 2]
    >>> found[0][0].score >= found[0][1].score
    True
    """
    check_translator(model)
    _check(width=width, num_best=num_best, length_penalty=length_penalty)
    limit = limits(max_tokens, source, source_mask)
    if len(source) == 0:
        return []
    finished: list[tuple[StepIds, Beams]] = []
    with evaluating(model):
        rows = torch.arange(len(source), device=source.device)  # still being written
        beams = Beams.start(len(source), source.device, special_ids(model), end_ids(model))
        state = model.start(model.encode(source, source_mask))
        while len(rows):
            log_probs, state = _predict(model, beams, state)
            following = continued(beams, log_probs, count=width, length_penalty=length_penalty)
            done = settled(following, limit[rows], num_best=num_best, length_penalty=length_penalty)
            num_done = num_ended(done, log_probs)
            going = torch.arange(len(rows), device=rows.device)
            if num_done:  # read in the end, all at once
                order = going_first(done)
                going, over = order.tensor_split([len(rows) - num_done])
                finished.append((rows[over], following.select(over)))
                rows, following = rows[going], following.select(going)
            if len(rows):
                state = _follow(state, going, beams, following, left=num_done > 0)
            beams = following
    found: list[list[Hypothesis]] = [[] for _ in source]
    for numbers, ended in finished:
        of_each = ended.hypotheses(length_penalty)
        for number, hypotheses in zip(numbers.tolist(), of_each, strict=True):
            found[number] = hypotheses[:num_best]
    return found


def _follow(state: State, going: StepIds, before: Beams, after: Beams, *, left: bool) -> State:
    """Return the state of the beams that continue those ``before``, of the sentences ``going``.

    Beams change places among those of their own sentence, so as long as no sentence has
    ``left`` and there are as many beams as before, what was read of the sources may stay.
    """
    rows = (going[:, None] * before.width + after.parents).flatten()
    if left or before.width != after.width or not isinstance(state, Reorderable):
        return state.select(rows)
    return state.reorder(rows)


@dataclass(frozen=True)
class BeamStep:
    """One step of a beam search.

    Attributes:
        kept: The prefixes that were kept, the best first.
        dropped: The best of those that were not.

    >>> go = Hypothesis(ids=(4,), log_prob=-0.1, finished=False, score=-0.1)
    >>> BeamStep(kept=(go,), dropped=()).kept[0].ids
    (4,)
    """

    kept: tuple[Hypothesis, ...]
    dropped: tuple[Hypothesis, ...]


def beam_trace(
    model: Translator[Memory, State],
    source: TokenIds,
    source_mask: TokenMask,
    *,
    width: int,
    num_dropped: int = 0,
    length_penalty: float = 0.0,
    max_tokens: int,
) -> list[BeamStep]:
    """Return every step of the beam search for one sentence: a tree, to be drawn.

    The parent of a prefix is the one without its last word. A finished sentence
    is kept from step to step as it is. The first that the last step kept is what
    :func:`beam_search` returns.

    Args:
        model: A translator.
        source: One source as numbers, (1, source).
        source_mask: True = a real token, (1, source).
        width: How many prefixes are kept.
        num_dropped: How many of those that were not kept to list at each step.
        length_penalty: As in :func:`beam_search`.
        max_tokens: As in :func:`beam_search`.

    Raises:
        ValueError: as in :func:`beam_search`, or if there is not one source, or
            ``num_dropped`` is negative.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=10, target_vocabulary=12))
    >>> source = torch.tensor([[4, 5, 3]])
    >>> first, *_ = beam_trace(model, source, source > 0, width=3, num_dropped=2, max_tokens=4)
    >>> len(first.kept), len(first.dropped)
    (3, 2)
    """
    check_translator(model)
    _check(width=width, num_best=1, length_penalty=length_penalty)
    limit = limits(max_tokens, source, source_mask)
    if len(source) != 1:
        raise ValueError(f"source: expected one sentence, got {len(source)}")
    if num_dropped < 0:
        raise ValueError(f"num_dropped: expected 0 or more, got {num_dropped}")
    steps = []
    with evaluating(model):
        beams = Beams.start(1, source.device, special_ids(model), end_ids(model))
        state = model.start(model.encode(source, source_mask))
        while True:
            log_probs, state = _predict(model, beams, state)
            ranked = continued(
                beams, log_probs, count=width + num_dropped, length_penalty=length_penalty
            )
            before, beams = beams, ranked.first(width)
            (hypotheses,) = ranked.hypotheses(length_penalty)
            steps.append(BeamStep(tuple(hypotheses[:width]), tuple(hypotheses[width:])))
            done = settled(beams, limit, num_best=1, length_penalty=length_penalty)
            if num_ended(done, log_probs):
                return steps
            state = _follow(state, beams.parents.new_zeros(1), before, beams, left=False)


def _check(*, width: int, num_best: int, length_penalty: float) -> None:
    for name, number in (("width", width), ("num_best", num_best)):
        if number < 1:
            raise ValueError(f"{name}: expected 1 or more, got {number}")
    if num_best > width:
        raise ValueError(f"num_best: expected at most width={width}, got {num_best}")
    if not 0 <= length_penalty <= _MAX_LENGTH_PENALTY:
        raise ValueError(
            f"length_penalty: expected a number from 0 to {_MAX_LENGTH_PENALTY}, "
            f"got {length_penalty}"
        )
