"""Speculative sampling (speculative decoding): a small model drafts, the large one checks.

Leviathan et al. (2023); Chen et al. (2023). The target reads several drafted words in one pass,
which costs about as much as one word where memory is the limit. What is accepted, and what is
drawn in place of what is not, has exactly the target's distribution.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.decoding.hypothesis import Hypothesis
from attention_book.decoding.prediction import (
    NOTHING_FINITE,
    draw,
    end_ids,
    next_log_probs,
    special_ids,
)
from attention_book.decoding.sampling import check_prompt, next_distribution, read_prompt
from attention_book.decoding.writers import as_writer
from attention_book.foundations.checks import check_sizes
from attention_book.foundations.shapes import StepLogits, TokenIds
from attention_book.models.evaluating import evaluating
from attention_book.models.protocols import Selectable, State, Writer

DraftState = TypeVar("DraftState", bound=Selectable)
Probabilities = Float[Tensor, "*place vocabulary"]
#: Returns the distribution of the word that follows a text.
Next = Callable[[tuple[int, ...]], Float[Tensor, " vocabulary"]]


def acceptance_probabilities(target: Probabilities, draft: Probabilities) -> Probabilities:
    """Return for each word the probability that it is accepted, if it was drafted.

    .. math:: a(x) = \\min\\Bigl(1, \\frac{p(x)}{q(x)}\\Bigr)

    Leviathan et al. (2023), section 2.3. A word that the draft never writes counts as 1.

    Args:
        target: The target's distribution p.
        draft: The draft's distribution q.

    >>> p, q = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.5, 0.3])
    >>> acceptance_probabilities(p, q)
    tensor([1.0000, 0.6000, 0.6667])
    """
    never = draft == 0
    return (target / draft.masked_fill(never, 1.0)).masked_fill(never, 1.0).clamp(max=1.0)


def residual_distribution(target: Probabilities, draft: Probabilities) -> Probabilities:
    """Return what a word is drawn from after the drafted one was rejected.

    .. math:: r(x) = \\frac{(p(x) - q(x))_+}{\\sum_y (p(y) - q(y))_+}

    What the draft proposes too often is not drawn again; the sum is the probability of a
    rejection. Where both distributions are equal nothing is ever rejected, and p is returned.
    Leviathan et al. (2023), section 2.3.

    Args:
        target: The target's distribution p.
        draft: The draft's distribution q.

    >>> p, q = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.5, 0.3])
    >>> residual_distribution(p, q)
    tensor([1., 0., 0.])
    """
    given = torch.promote_types(target.dtype, draft.dtype)
    target, draft = _precise(target), _precise(draft)
    rest = (target - draft).clamp(min=0.0)
    total = rest.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, rest / total.masked_fill(total == 0, 1.0), target).to(given)


def _precise(probabilities: Tensor) -> Tensor:
    """Return at least single precision: half loses what many small probabilities add up to."""
    return probabilities.to(torch.promote_types(probabilities.dtype, torch.float32))


def acceptance_rate(target: Probabilities, draft: Probabilities) -> Float[Tensor, "*place"]:
    """Return the probability that a drafted word is accepted.

    .. math::

        \\alpha = \\sum_x q(x)\\, a(x) = \\sum_x \\min(p(x), q(x)) = 1 - \\mathrm{TV}(p, q)

    TV is the total variation distance, half of :math:`\\sum_x |p(x) - q(x)|`. Leviathan et al.
    (2023), section 3.1.

    >>> p, q = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.5, 0.3])
    >>> acceptance_rate(p, q)
    tensor(0.7000)
    """
    given = torch.promote_types(target.dtype, draft.dtype)
    return torch.minimum(_precise(target), _precise(draft)).sum(dim=-1).to(given)


def expected_words(acceptance: float, num_drafts: int) -> float:
    """Return how many words a round writes on average, if acceptance is the same everywhere.

    .. math::
        1 + \\alpha + \\dots + \\alpha^\\gamma = \\frac{1 - \\alpha^{\\gamma + 1}}{1 - \\alpha}

    Leviathan et al. (2023), equation 1, which assumes that the words are accepted independently
    and with one probability. In a text p and q depend on the prefix, and this is an estimate.

    Args:
        acceptance: The probability :math:`\\alpha` that a drafted word is accepted.
        num_drafts: How many words :math:`\\gamma` are drafted in a round.

    Raises:
        ValueError: if ``num_drafts`` is below 1.

    >>> expected_words(0.5, 3), expected_words(1.0, 3)
    (1.875, 4.0)
    """
    check_sizes(num_drafts=num_drafts)
    return float(sum(acceptance**n for n in range(num_drafts + 1)))


def round_law(
    prefix: tuple[int, ...], target: Next, draft: Next, num_drafts: int
) -> dict[tuple[int, ...], float]:
    """Return everything that one round may write, with its exact probability.

    By enumeration, hence for small vocabularies: a word is drafted with q(x) and accepted with
    :func:`acceptance_probabilities`, or rejected and drawn from :func:`residual_distribution`;
    after ``num_drafts`` accepted ones the target adds a word.

    Args:
        prefix: The text so far.
        target: Returns p after a text, in double precision for an exact law.
        draft: Returns q after a text.
        num_drafts: How many words are drafted.

    >>> p, q = torch.tensor([0.5, 0.5]).double(), torch.tensor([0.75, 0.25]).double()
    >>> for words, probability in round_law((), lambda _: p, lambda _: q, num_drafts=1).items():
    ...     print(words, round(probability, 4))
    (0, 0) 0.25
    (0, 1) 0.25
    (1,) 0.25
    (1, 0) 0.125
    (1, 1) 0.125
    """
    p = target(prefix)
    if num_drafts == 0:
        return {(word,): weight for word, weight in enumerate(p.tolist())}
    q = draft(prefix)
    accepted = q * acceptance_probabilities(p, q)
    rejected = (1 - accepted.sum()).clamp(min=0.0) * residual_distribution(p, q)
    law: dict[tuple[int, ...], float] = {}
    for word, (kept, drawn) in enumerate(zip(accepted.tolist(), rejected.tolist(), strict=True)):
        if drawn:
            law[(word,)] = drawn
        if kept:
            following = round_law((*prefix, word), target, draft, num_drafts - 1)
            law |= {(word, *words): kept * weight for words, weight in following.items()}
    return law


def verify_drafts(
    target: Float[Tensor, "_ _"],
    draft: Float[Tensor, "_ _"],
    drafted: Sequence[int],
    *,
    generator: torch.Generator | None = None,
) -> list[int]:
    """Accept drafted words until the first rejection, and write one word of the target's own.

    Args:
        target: The target's distribution at each place, and behind the last drafted word.
        draft: The distributions that the words were drawn from.
        drafted: The words.
        generator: Source of the random draws, on the device of the distributions.

    Returns:
        The accepted words and one more, from :func:`residual_distribution` after a rejection
        and else from the target.

    Raises:
        ValueError: if there is not one distribution for each word, and one more of the target,
            or they are over different vocabularies.

    >>> p, q = torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([[0.5, 0.5]])
    >>> verify_drafts(p, q, [1]), verify_drafts(p, q, [0])
    ([1, 0], [1])
    """
    expected = [(len(drafted) + extra, target.shape[-1]) for extra in (1, 0)]
    if [tuple(target.shape), tuple(draft.shape)] != expected:
        raise ValueError(
            f"target and draft: expected the shapes {expected[0]} and {expected[1]} for "
            f"{len(drafted)} drafted words, got {tuple(target.shape)} and {tuple(draft.shape)}"
        )
    for place, word in enumerate(drafted):
        accepts = acceptance_probabilities(target[place], draft[place])[word]
        lot = torch.rand((), generator=generator, device=target.device)
        if _read(lot >= accepts, accepts):
            rest = residual_distribution(target[place], draft[place])
            return [*drafted[:place], _drawn(rest, generator)]
    return [*drafted, _drawn(target[-1], generator)]


@dataclass(frozen=True)
class Speculation:
    """A text that was written by speculative sampling, and how.

    Attributes:
        hypothesis: What was added to the prompt; ``log_prob`` is the target's own.
        drafted: How many words the draft wrote in each round.
        accepted: How many of them were accepted.

    >>> text = Hypothesis(ids=(7, 5, 7), log_prob=-1.5, finished=False, score=-1.5)
    >>> Speculation(text, drafted=(4, 1), accepted=(1, 0)).words_per_round
    1.5
    """

    hypothesis: Hypothesis
    drafted: tuple[int, ...]
    accepted: tuple[int, ...]

    @property
    def num_rounds(self) -> int:
        """How often the target read, one pass each."""
        return len(self.drafted)

    @property
    def words_per_round(self) -> float:
        """How many words one pass of the target gave; 1 without a draft."""
        return self.hypothesis.num_tokens / self.num_rounds


def speculative_sample(
    target: Writer[State],
    draft: Writer[DraftState],
    prompt: TokenIds,
    *,
    num_drafts: int,
    max_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> list[Speculation]:
    """Write on from each prompt as :func:`sample` does, with fewer passes of the target.

    In each round the draft writes ``num_drafts`` words, and :func:`verify_drafts` keeps some and
    adds one. The texts have the distribution of the target alone, whatever the draft is. Each
    text goes its own way, so they are written one after the other, and for the sake of any
    :class:`~attention_book.models.Writer` the target reads the drafted words step by step: what
    this saves is counted in rounds, not in seconds.

    Args:
        target: The model whose distribution is wanted.
        draft: A cheaper one with the same vocabulary.
        prompt: As in :func:`sample`.
        num_drafts: How many words are drafted in a round.
        max_tokens: The most tokens that are added, ``<eos>`` included.
        temperature: For both models; see :func:`with_temperature`.
        top_k: For both models; see :func:`keep_top_k`.
        top_p: For both models; see :func:`keep_top_p`.
        generator: Source of the random draws, on the prompt's device.

    Raises:
        ValueError: as in :func:`sample`, or if the two have different vocabularies or special
            tokens.

    >>> from attention_book.models import NgramModel
    >>> target = NgramModel.count([[4, 5, 6]], order=3, vocabulary=7)
    >>> draft = NgramModel.count([[4, 5, 6]], order=2, vocabulary=7)
    >>> prompt = torch.tensor([[2, 4]])
    >>> [found] = speculative_sample(target, draft, prompt, num_drafts=2, max_tokens=5, top_k=1)
    >>> found.hypothesis.ids, found.num_rounds
    ((5, 6), 1)
    """
    target, draft = as_writer(target), as_writer(draft)
    ids, ends = special_ids(target), end_ids(target)
    check_prompt(prompt, target)
    check_sizes(num_drafts=num_drafts, max_tokens=max_tokens)
    if ids != special_ids(draft):
        raise ValueError(f"draft: expected the target's {ids}, got {special_ids(draft)}")
    if set(ends) != set(end_ids(draft)):
        raise ValueError(f"draft: expected the target's ends {ends}, got {end_ids(draft)}")
    own = partial(next_log_probs, ids=ids, ends=ends)
    settings = partial(next_distribution, temperature=temperature, top_k=top_k, top_p=top_p)
    found = []
    with evaluating(target), evaluating(draft):
        for row in prompt:
            reads, drafts = (
                _Reader(target, own, settings, row),
                _Reader(draft, own, settings, row),
            )
            found.append(_written(reads, drafts, row.tolist(), num_drafts, max_tokens, generator))
    return found


class _Reader(Generic[State]):
    """A writer that knows its state and its guess after each prefix of one text."""

    def __init__(
        self,
        model: Writer[State],
        own: Callable[[StepLogits], StepLogits],
        settings: Callable[[StepLogits], StepLogits],
        prompt: Tensor,
    ) -> None:
        self.model, self.own, self.settings, self.like = model, own, settings, prompt
        self.ends = end_ids(model)
        logits, state = read_prompt(model, prompt[None])
        log_probs = own(logits)
        # One for each token of the prompt, so that places are those of the text; nobody goes
        # back into it, and only the last is asked for.
        self.states: list[State] = [state] * (len(prompt) + 1)
        self.log_probs: list[Tensor] = [log_probs[0]] * len(prompt)
        self.guesses: list[Tensor] = [settings(log_probs)[0]] * len(prompt)

    def read(self, text: Sequence[int]) -> Tensor:
        """Read what is new of a text, and return what may follow it."""
        for token in text[len(self.guesses) :]:
            given = torch.full_like(self.like[:1], token)  # written there, not copied
            logits, state = self.model.step(given, self.states[-1])
            # After an end there may be nothing to say, and nobody asks for it.
            log_probs = self.own(torch.zeros_like(logits) if token in self.ends else logits)
            self.states.append(state)
            self.log_probs.append(log_probs[0])
            self.guesses.append(self.settings(log_probs)[0])
        return self.guesses[-1]

    def forget(self, length: int) -> None:
        """Go back to the first ``length`` tokens: the state after them is still there."""
        del self.states[length + 1 :], self.guesses[length:], self.log_probs[length:]


def _written(
    target: _Reader[State],
    draft: _Reader[DraftState],
    prompt: list[int],
    num_drafts: int,
    max_tokens: int,
    generator: torch.Generator | None,
) -> Speculation:
    """Write on from one prompt, round by round."""
    text, drafted, accepted, ends = list(prompt), [], [], end_ids(target.model)
    limit = len(prompt) + max_tokens
    while len(text) < limit and not set(ends) & set(text[len(prompt) :]):
        proposed = _drafted(draft, text, min(num_drafts, limit - len(text) - 1), ends, generator)
        target.read(text + proposed)
        here = slice(len(text) - 1, len(text) - 1 + len(proposed))
        p, q = torch.stack(target.guesses[here.start :]), draft.guesses[here]
        words = verify_drafts(p, torch.stack(q) if q else p[:0], proposed, generator=generator)
        drafted.append(len(proposed))
        accepted.append(len(words) - 1)
        text += words
        target.forget(len(text) - 1)  # the last word is the target's own, and not yet read
        draft.forget(len(text) - 1)
    written = text[len(prompt) :]
    first = next((i for i, word in enumerate(written) if word in ends), len(written))
    written = written[: first + 1]
    places = range(len(prompt) - 1, len(prompt) - 1 + len(written))
    own = [target.log_probs[i][word] for i, word in zip(places, written, strict=True)]
    hypothesis = Hypothesis.from_predictions(written, sum(torch.stack(own).tolist()), eos=ends)
    return Speculation(hypothesis, tuple(drafted), tuple(accepted))


def _drafted(
    draft: _Reader[State],
    text: list[int],
    num_drafts: int,
    ends: tuple[int, ...],
    generator: torch.Generator | None,
) -> list[int]:
    """Let the draft write so many words, or up to an end."""
    words: list[int] = []
    while len(words) < num_drafts and not set(ends) & set(words):
        words.append(_drawn(draft.read(text + words), generator))
    return words


def _drawn(probabilities: Float[Tensor, " vocabulary"], generator: torch.Generator | None) -> int:
    return _read(draw(probabilities, generator), probabilities)


def _read(answer: Tensor, probabilities: Tensor) -> int:
    """Read what was drawn from a device, and with it whether these were probabilities at all."""
    got, is_sound = torch.stack((answer.long(), probabilities.isfinite().all().long())).tolist()
    if not is_sound:
        raise ValueError(NOTHING_FINITE)
    return int(got)


__all__ = [
    "Speculation",
    "acceptance_probabilities",
    "acceptance_rate",
    "expected_words",
    "residual_distribution",
    "round_law",
    "speculative_sample",
    "verify_drafts",
]
