"""Sampling: temperature, top-k, top-p (nucleus sampling, Holtzman et al. 2020) and min-p."""

import math
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from attention_book.decoding.hypothesis import Hypothesis
from attention_book.decoding.prediction import (
    draw,
    drawn_by,
    end_ids,
    is_end,
    next_log_probs,
    num_ended,
    special_ids,
)
from attention_book.decoding.writers import Guess, as_writer
from attention_book.foundations.checks import check_probability, check_sizes, whole_numbers
from attention_book.foundations.shapes import StepIds, StepLogits, TokenIds
from attention_book.models.evaluating import evaluating
from attention_book.models.protocols import Reader, State, Writer

_AT_ONCE = 512  # tokens of a prompt


def with_temperature(logits: StepLogits, temperature: float) -> StepLogits:
    """Sharpen a distribution (temperature below 1) or flatten it (above 1).

    .. math:: p_T(w) = \\operatorname{softmax}(z / T)_w \\propto p(w)^{1/T}

    Toward 0 all probability goes to the most probable word; toward infinity every word
    that was possible becomes equally likely.

    Args:
        logits: (batch, vocabulary).
        temperature: Above 0.

    Returns:
        The new logits, shifted so that the largest is 0. That leaves the probabilities as
        they are, and a temperature close to 0 cannot overflow.

    Raises:
        ValueError: if the temperature is not above 0 and finite. What it would be at 0, the
            most probable word alone, is ``top_k=1``.

    >>> with_temperature(torch.tensor([[2.0, 0.0]]), 0.5)
    tensor([[ 0., -4.]])
    """
    if not temperature > 0:  # written so that NaN is refused too
        raise ValueError(
            f"temperature: expected a positive number, got {temperature}; for the most probable "
            "word alone give top_k=1, or call greedy_search for a translation"
        )
    if math.isinf(temperature):
        raise ValueError("temperature: expected a finite number, got inf")
    # What the type of the quotient would round to 0 or infinity is not one of them.
    range_of = torch.finfo(torch.promote_types(logits.dtype, torch.float32))
    divisor = min(max(temperature, range_of.tiny), range_of.max)
    return (logits - logits.amax(dim=-1, keepdim=True)) / divisor


def keep_top_k(logits: StepLogits, top_k: int) -> StepLogits:
    """Keep the ``top_k`` most probable words; the others become impossible.

    Of equally probable ones those with the lowest numbers are kept, so that there are
    never more. Fan et al. (2018), section 5.

    Args:
        logits: (batch, vocabulary).
        top_k: At least 1; more than there are words keeps all.

    Raises:
        ValueError: if ``top_k`` is no whole number, or below 1.

    >>> keep_top_k(torch.tensor([[1.0, 3.0, 2.0]]), 2)
    tensor([[-inf, 3., 2.]])
    """
    check_sizes(top_k=top_k)
    _, order = _sorted(logits)
    dropped = torch.arange(logits.shape[-1], device=logits.device) >= top_k
    return _drop(logits, dropped.expand_as(order), order)


def keep_top_p(logits: StepLogits, top_p: float) -> StepLogits:
    """Keep the fewest most probable words that reach the probability ``top_p``, or p, together.

    .. math:: \\text{the smallest } V \\text{ with } \\sum_{w \\in V} P(w) \\ge p

    The word that crosses the threshold is kept, hence always at least one. How many there
    are differs from step to step: few where the model is sure. "Nucleus sampling",
    Holtzman et al. (2020), section 3.1. The sum is taken in double precision, in which a large
    vocabulary adds up to 1; what the logits' own rounding hides counts as reached.

    Args:
        logits: (batch, vocabulary).
        top_p: From 0, the most probable word alone, to 1, all words.

    Raises:
        ValueError: if ``top_p`` is no probability.

    >>> keep_top_p(torch.tensor([[0.1, 0.6, 0.3]]).log(), 0.8).exp()
    tensor([[0.0000, 0.6000, 0.3000]])
    """
    check_probability("top_p", top_p)
    if top_p == 1:  # by rounding, the sum may reach 1 before the last word
        return logits
    values, order = _sorted(logits)
    sums = values.softmax(dim=-1, dtype=_of_sums(logits)).cumsum(dim=-1)
    reached = sums[..., :-1] >= top_p * (1 - _rounding(logits))
    dropped = F.pad(reached, (1, 0))  # those after the one that reaches it; never the first
    return _drop(logits, dropped, order)


def keep_min_p(logits: StepLogits, min_p: float) -> StepLogits:
    """Keep the words that are at least ``min_p`` times as probable as the most probable one.

    .. math:: V = \\{w : P(w) \\ge p_\\text{min} \\max_v P(v)\\}

    Where the model is sure, few are left; where it is not, many. Nguyen et al. (2024).

    Args:
        logits: (batch, vocabulary).
        min_p: From 0, all words, to 1, the most probable alone.

    Raises:
        ValueError: if ``min_p`` is no probability.

    >>> keep_min_p(torch.tensor([[0.1, 0.6, 0.3]]).log(), 0.4).exp()
    tensor([[0.0000, 0.6000, 0.3000]])
    """
    check_probability("min_p", min_p)
    if min_p == 0:
        return logits
    least = logits.amax(dim=-1, keepdim=True) + math.log(min_p)
    return logits.masked_fill(logits < least, -torch.inf)


def _of_sums(logits: Tensor) -> torch.dtype:
    """Return the type in which the probabilities of a whole vocabulary can be added up."""
    return torch.float32 if logits.device.type == "mps" else torch.float64


def _rounding(logits: Tensor) -> float:
    """Return what a sum may miss and still count as reached: what the logits were rounded by.

    Half precision is taken at its word; it is too coarse for anybody to mean a sum by it.
    """
    single = logits.dtype == torch.float32
    return 4 * torch.finfo(torch.float32 if single else torch.float64).eps


def next_distribution(
    logits: StepLogits,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
) -> StepLogits:
    """Return the probabilities that the next word is drawn with.

    First the temperature, then ``top_k``, ``top_p``, ``min_p``; what is kept is brought to the
    sum 1 again. Half precision is computed in single, and rounded in the end.

    Args:
        logits: A model's guess, (batch, vocabulary).
        temperature: See :func:`with_temperature`.
        top_k: See :func:`keep_top_k`; None keeps all.
        top_p: See :func:`keep_top_p`; None keeps all.
        min_p: See :func:`keep_min_p`; None keeps all.

    Raises:
        ValueError: if a setting is out of range.

    >>> next_distribution(torch.tensor([[0.1, 0.6, 0.3]]).log(), top_k=2)
    tensor([[0.0000, 0.6667, 0.3333]])
    """
    given = logits.dtype
    logits = logits.to(torch.promote_types(given, torch.float32))
    logits = with_temperature(logits, temperature)
    logits = logits if top_k is None else keep_top_k(logits, top_k)
    logits = logits if top_p is None else keep_top_p(logits, top_p)
    logits = logits if min_p is None else keep_min_p(logits, min_p)
    return logits.softmax(dim=-1).to(given)


def sample(
    model: Writer[State] | Guess,
    prompt: TokenIds,
    *,
    max_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    stop: tuple[int, ...] = (),
    watch: Callable[[StepIds], None] | None = None,
    generator: torch.Generator | None = None,
    uniform: Float[Tensor, "text draw"] | None = None,
) -> list[Hypothesis]:
    """Write on from each prompt, drawing one word after the other, until ``<eos>``.

    A model may have several tokens that end a text (chat models do): any of them ends it.

    .. math:: y_t \\sim p_T(\\,\\cdot \\mid y_{<t})

    ``<pad>`` and ``<bos>`` are never written. The model is in evaluation mode meanwhile and
    without gradients, and as before afterwards.

    Args:
        model: A causal language model, or counted n-grams; or any function of numbers
            (batch, token) that returns a guess after each, (batch, token, vocabulary). Of a
            function ``pad``, ``bos`` and ``eos`` are its attributes, where it has any.
        prompt: What is given, (batch, token): ``<bos>``, and perhaps more. All are of one
            length, for padding would be read as a word. It may hold ``<eos>``, as chats and
            packed documents do, but not end with it: then the text is at its end.
        max_tokens: The most tokens that are added, ``<eos>`` included.
        temperature: See :func:`with_temperature`.
        top_k: See :func:`keep_top_k`; None keeps all.
        top_p: See :func:`keep_top_p`; None keeps all.
        min_p: See :func:`keep_min_p`; None keeps all.
        stop: Tokens that end a text besides the model's own.
        watch: Is told each text's next token as soon as it is drawn, (batch,); what a text that
            has ended gets is no part of it.
        generator: Source of the random draws, on the prompt's device.
        uniform: Numbers to draw with in place of a generator's, from 0 to 1, 1 excluded, one for
            each token that may be added, (batch, draw). The word that is drawn is the one at which
            the sum of the probabilities, in the vocabulary's order, exceeds the number. Whoever
            has the same numbers, as a page's script, draws the same words.

    Returns:
        What was added to each prompt. ``log_prob`` is the model's own, before temperature
        and truncation.

    Raises:
        TypeError: if the model is neither, as a translator is.
        ValueError: if a prompt is empty, holds ``<pad>`` or ends with ``<eos>``, a setting is
            out of range, or ``uniform`` has another shape, comes with a generator, or holds
            what is no number from 0 to 1.

    >>> from attention_book.models import NgramModel
    >>> model = NgramModel.count([[4, 5, 6]], order=3, vocabulary=7)
    >>> sample(model, torch.tensor([[2, 4]]), max_tokens=5, top_k=1)[0].ids
    (5, 6)
    """
    model = as_writer(model)
    ids, ends = special_ids(model), (*end_ids(model), *stop)
    check_prompt(prompt, model)
    check_sizes(max_tokens=max_tokens)
    if uniform is not None:
        _check_uniform(uniform, (len(prompt), max_tokens), generator)
    distribution = partial(
        next_distribution, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p
    )
    written: list[Tensor] = []
    with evaluating(model):
        logits, state = read_prompt(model, prompt)
        ended = torch.zeros_like(prompt[:, 0], dtype=torch.bool)
        total = torch.zeros(len(prompt), device=prompt.device)
        while True:
            own = next_log_probs(logits, ids, ends)
            shares = distribution(own)
            if uniform is None:
                token = draw(shares, generator)
            else:
                token = drawn_by(shares, uniform[:, len(written)])
            written.append(token)
            if watch is not None:
                watch(token)
            total += own.gather(1, token[:, None])[:, 0].masked_fill(ended, 0.0)
            ended |= is_end(token, ends)
            if num_ended(ended, own) == len(ended) or len(written) == max_tokens:
                break
            logits, state = model.step(token, state)
            logits = logits.masked_fill(ended[:, None], 0.0)  # what follows an end is not asked for
    texts = torch.stack(written, dim=1).tolist()
    return [
        Hypothesis.from_predictions(text, log_prob, eos=ends)
        for text, log_prob in zip(texts, total.tolist(), strict=True)
    ]


def read_prompt(model: Writer[State], prompt: TokenIds) -> tuple[StepLogits, State]:
    """Read a prompt, at once where the model can, and guess what follows it.

    >>> from attention_book.models import NgramModel
    >>> model = NgramModel.count([[4, 5, 6]], order=3, vocabulary=7)
    >>> logits, state = read_prompt(model, torch.tensor([[2, 4]]))
    >>> logits.argmax().item(), state.histories
    (5, ((2, 4),))
    """
    state = model.start(len(prompt))
    if isinstance(model, Reader):
        # So many at a time that the guesses after each, which nobody asks for, take no room.
        for piece in prompt.split(_AT_ONCE, dim=1):
            guesses, state = model.read(piece, state)
        return guesses[:, -1], state
    for token in prompt.T:
        logits, state = model.step(token, state)
    return logits, state


def check_prompt(prompt: TokenIds, model: object) -> None:
    """Check that there is something to go on from: no padding, and no text that has ended.

    Within a prompt there may be ends: of the turns of a chat, of documents in a row. Where one
    token ends a text and begins it (GPT-2's), or there is none to begin with, it may stand alone.

    Raises:
        TypeError: if they are not integers.
        ValueError: if not.
    """
    whole_numbers("prompt", prompt)
    ids, ends = special_ids(model), end_ids(model)
    if prompt.ndim != 2 or prompt.shape[1] == 0:
        raise ValueError(
            "prompt: expected the axes (batch, token) with at least one token, "
            f"got the shape {tuple(prompt.shape)}"
        )
    if ids.pad not in ends and bool((prompt == ids.pad).any()):
        raise ValueError(
            f"prompt: expected no <pad>, got one ({ids.pad}); give texts of different lengths "
            "one by one"
        )
    vocabulary = getattr(getattr(model, "config", model), "vocabulary", math.inf)
    begins = ids.bos in ends or ids.bos >= vocabulary
    ended = is_end(prompt[:, -1], ends)
    if bool(ended.any()) and not (begins and prompt.shape[1] == 1):
        got = int(prompt[ended][0, -1])
        raise ValueError(
            f"prompt: expected no <eos>, got one ({got}) at its end, where nothing follows; "
            "leave it out, or let a chat begin its answer"
        )


def _check_uniform(
    uniform: Tensor, shape: tuple[int, int], generator: torch.Generator | None
) -> None:
    """Check that there is a number for each draw, and nothing else to draw with."""
    if tuple(uniform.shape) != shape or generator is not None:
        raise ValueError(
            f"uniform: expected the shape (batch, max_tokens) = {shape} and no generator, got "
            f"{tuple(uniform.shape)} and {'none' if generator is None else 'one'}"
        )
    if not bool(((uniform >= 0) & (uniform < 1)).all()):
        raise ValueError("uniform: expected numbers from 0 to 1, 1 excluded, got others")


def _sorted(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Sort from the most probable word down; the order of equal ones is kept."""
    return torch.sort(logits, dim=-1, descending=True, stable=True)


def _drop(logits: Tensor, dropped: Tensor, order: Tensor) -> Tensor:
    """Make words impossible, given by their places in the sorted order."""
    return logits.masked_fill(torch.zeros_like(dropped).scatter(-1, order, dropped), -torch.inf)
