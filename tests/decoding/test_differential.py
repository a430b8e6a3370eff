"""Models and settings that nobody has written down: decoding against lists of all that can happen.

The kind: what a list of examples leaves out (ties, impossible words, special tokens in other
places, none at all or several ends, models that have nothing to say after the end) and what is
then written, or refused, without a word. So all of it is drawn; the oracles are plain Python.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from attention_book.decoding import (
    Hypothesis,
    beam_search,
    greedy_search,
    keep_top_k,
    keep_top_p,
    next_distribution,
    round_law,
    sample,
    speculative_sample,
    verify_drafts,
)
from attention_book.decoding.writers import GuessWriter

DTYPES = st.sampled_from([torch.float64, torch.float32, torch.float16, torch.bfloat16])

pytestmark = pytest.mark.differential


# --- one word --------------------------------------------------------------------------------


def shares(logits: list[float], words: list[int]) -> dict[int, float]:
    """The probabilities of some words, brought to the sum 1."""
    best = max(logits[word] for word in words)
    weights = {word: math.exp(logits[word] - best) for word in words}
    total = math.fsum(weights.values())
    return {word: weight / total for word, weight in weights.items()}


def fewest(masses: list[float], top_p: float) -> int:
    """How many of the first reach p together."""
    reached = (n for n in range(1, len(masses)) if math.fsum(masses[:n]) >= top_p)
    return next(reached, len(masses))


def kept_words(
    logits: list[float], top_k: int | None, top_p: float | None, slack: float
) -> list[list[int]]:
    """What may be kept, the best first: one list, or several where p is met but for rounding."""
    order = sorted(range(len(logits)), key=lambda word: (-logits[word], word))[:top_k]
    if top_p is None or top_p == 1:
        return [order]
    masses = list(shares(logits, order).values())
    least, most = (fewest(masses, top_p * (1 + sign * slack)) for sign in (-1, 1))
    return [order[:n] for n in range(least, most + 1)]


def distributions(
    logits: list[float], *, slack: float, temperature=1.0, top_k=None, top_p=None
) -> list[list[float]]:
    """What the next word may be drawn with: one distribution, or several as above."""
    scaled = [(logit - max(logits)) / temperature for logit in logits]
    found = [shares(scaled, words) for words in kept_words(scaled, top_k, top_p, slack)]
    return [[each.get(word, 0.0) for word in range(len(logits))] for each in found]


def slack_of(dtype: torch.dtype) -> float:
    return 1e-6 if dtype == torch.float32 else 1e-14


@st.composite
def batches(draw: st.DrawFn, numbers: st.SearchStrategy[float]) -> list[list[float]]:
    """Rows of logits, one word at least possible in each."""
    size = draw(st.integers(1, 50))
    row = st.lists(numbers | st.just(-math.inf), min_size=size, max_size=size)
    return draw(st.lists(row.filter(lambda each: max(each) > -math.inf), min_size=1, max_size=3))


anything = st.sampled_from([0.0, 1.5, -2.0]) | st.floats(-9, 9) | st.floats(-6e4, 6e4)
eighths = st.integers(-64, 64).map(lambda number: number / 8)  # exact in every type


@given(batches(anything), DTYPES, st.integers(1, 60), st.floats(0, 1), st.data())
def test_what_is_kept_is_what_a_sorted_list_keeps(rows, dtype, top_k, top_p, data) -> None:
    logits, slack = torch.tensor(rows, dtype=torch.float64).to(dtype), slack_of(dtype)
    rows = logits.tolist()
    if data.draw(st.booleans()):  # just what some words add up to
        order = sorted(shares(rows[0], list(range(len(rows[0])))).values(), reverse=True)
        top_p = min(math.fsum(order[: data.draw(st.integers(1, len(order)))]), 1.0)
    for kept, row, wanted in [
        *zip(keep_top_k(logits, top_k), rows, [(top_k, None)] * len(rows), strict=True),
        *zip(keep_top_p(logits, top_p), rows, [(None, top_p)] * len(rows), strict=True),
    ]:
        assert kept.dtype == dtype
        possible = [
            [logit if word in words else -math.inf for word, logit in enumerate(row)]
            for words in kept_words(row, *wanted, slack)
        ]
        assert kept.tolist() in possible


@given(
    batches(eighths),
    DTYPES,
    st.floats(0.05, 20),
    st.none() | st.integers(1, 60),
    st.none() | st.floats(0, 1) | st.sampled_from([0.25, 0.5, 0.9]),
)
def test_all_settings_together_are_what_a_sorted_list_gives(
    rows, dtype, temperature, top_k, top_p
) -> None:
    options = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    found = next_distribution(torch.tensor(rows, dtype=dtype), **options)
    assert found.dtype == dtype
    computed = torch.promote_types(dtype, torch.float32)
    for row, drawn in zip(rows, found.tolist(), strict=True):
        possible = distributions(row, slack=slack_of(computed), **options)
        # A logit's rounding, and that of the result.
        scaled = [(max(row) - logit) / temperature for logit in row]
        errors = [
            torch.finfo(computed).eps * (8 + 2 * min(size, 999)) + torch.finfo(dtype).eps
            for size in scaled
        ]
        least = max(torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps, 1e-38)
        if dtype == torch.float64:
            least = 1e-300
        assert any(
            all(
                abs(a - b) <= error * b + least
                for a, b, error in zip(drawn, each, errors, strict=True)
            )
            for each in possible
        )


@given(
    st.data(),
    st.sampled_from([torch.float64, torch.float32]),
    st.floats(0.05, 20),
    st.integers(1, 60),
    st.floats(0, 1),
)
def test_what_may_be_drawn_is_what_the_library_draws_from(data, dtype, temperature, top_k, top_p):
    """Its processors one after the other; where logits are equal, it keeps more than k."""
    library = pytest.importorskip("transformers.generation.logits_process")
    size = data.draw(st.integers(1, 50))
    row = st.lists(eighths, min_size=size, max_size=size, unique=True)
    rows = data.draw(st.lists(row, min_size=1, max_size=3))
    for each in rows:
        scaled = [logit / temperature for logit in each]
        possible = kept_words(scaled, top_k, top_p, slack=1e-5)
        assume(len(possible) == 1)  # where p is met but for rounding, either is right
    logits = torch.tensor(rows, dtype=dtype)
    theirs = library.TemperatureLogitsWarper(temperature)(None, logits)
    theirs = library.TopKLogitsWarper(top_k)(None, theirs)
    theirs = library.TopPLogitsWarper(top_p)(None, theirs).softmax(dim=-1)
    found = next_distribution(logits, temperature=temperature, top_k=top_k, top_p=top_p)
    assert torch.equal(found > 0, theirs > 0)
    torch.testing.assert_close(
        found, theirs, rtol=1e-4 if dtype == torch.float32 else 1e-10, atol=0
    )


# --- texts -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    """Which model's turn it is, and the word before the last."""

    kind: Tensor
    before: Tensor

    @property
    def batch_size(self) -> int:
        return len(self.kind)

    def select(self, rows: Tensor) -> "State":
        return State(self.kind[rows], self.before[rows])


class Pairs:
    """Logits by the last two words, as a function of texts: a language model.

    There are three tables, of which it has the first. Where the text has ended there may be
    nothing to be said, or what is said is no number.
    """

    def __init__(self, seed: int, *, vocabulary: int, nothing: float, ties: bool, holes: bool,
                 special: tuple[int, int, int], ends: tuple[int, ...]) -> None:  # fmt: skip
        generator = torch.Generator().manual_seed(seed)
        self.pad, self.bos, self.eos = special
        if ends:
            self.ends = ends
        shape = (3, vocabulary, vocabulary, vocabulary)
        table = 2 * torch.randn(shape, generator=generator, dtype=torch.float64)
        table = table.round() if ties else table
        word = self.words(vocabulary)[0]
        if holes:
            impossible = torch.rand(shape, generator=generator) < 0.3
            impossible[..., word] = False
            table.masked_fill_(impossible, -math.inf)
        for end in {*(ends or (self.eos,))} & {*range(vocabulary)} - {self.bos}:
            table[:, :, end] = table[:, end] = nothing
        others = [word for word in range(vocabulary) if word != self.bos]
        table[:, others, self.bos] = nothing  # what begins a text comes first
        self.table = table

    def words(self, vocabulary: int) -> list[int]:
        ends = getattr(self, "ends", (self.eos,))
        return [w for w in range(vocabulary) if w in ends or w not in (self.pad, self.bos)]

    def __call__(self, text: Tensor) -> Tensor:
        before = torch.cat((torch.full_like(text[:, :1], self.bos), text[:, :-1]), dim=1)
        return self.table[0, before, text]

    def is_end(self, word: int) -> bool:
        return word in getattr(self, "ends", (self.eos,))

    def log_probs(self, kind: int, before: int, last: int) -> list[float]:
        """After the last two words, <pad> and <bos> impossible."""
        logits = self.table[kind, before, last].tolist()
        best = max(logits)
        total = best + math.log(math.fsum(math.exp(logit - best) for logit in logits))
        words = self.words(len(logits))
        return [z - total if word in words else -math.inf for word, z in enumerate(logits)]

    def texts(self, kind: int, length: int) -> Iterator[tuple[tuple[int, ...], float]]:
        """All that can be written, with its log-probability."""
        pending: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
        while pending:
            text, total = pending.pop()
            if len(text) == length or (text and self.is_end(text[-1])):
                yield text, total
                continue
            before, last = (self.bos, self.bos, *text)[-2:]
            for word, log_prob in enumerate(self.log_probs(kind, before, last)):
                if log_prob > -math.inf:
                    pending.append(((*text, word), total + log_prob))


class Translates(Pairs):
    """The same as a translator: the first word of a source says which of the tables is meant."""

    def encode(self, source: Tensor, source_mask: Tensor) -> State:
        return State(source[:, 0], torch.full_like(source[:, 0], self.bos))

    def start(self, memory: State) -> State:
        return memory

    def decode(self, target_input: Tensor, memory: State) -> Tensor:
        raise NotImplementedError("a search goes step by step")

    def step(self, token: Tensor, state: State) -> tuple[Tensor, State]:
        return self.table[state.kind, state.before, token], State(state.kind, token)


@st.composite
def models(draw: st.DrawFn, kind: type[Pairs], *, sizes: tuple[int, int]) -> Callable[..., Pairs]:
    """What draws of tables have in common: sizes and special tokens."""
    vocabulary = draw(st.integers(*sizes))
    pad, bos, eos, *others = draw(st.permutations(range(vocabulary)))
    if draw(st.booleans()):
        pad = vocabulary  # none
    options: dict[str, Any] = {
        "vocabulary": vocabulary,
        "special": (pad, bos, eos),
        "ends": (eos, *draw(st.sampled_from([(), others[:1], (bos,), (pad, bos)])))
        if draw(st.booleans())
        else (),
        "nothing": draw(st.sampled_from([0.0, -math.inf, math.nan])),
        "ties": draw(st.booleans()),
        "holes": draw(st.booleans()),
    }
    return partial(kind, **options)


def as_found(model: Pairs, text: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
    """The words of a hypothesis, and whether it is finished."""
    ended = model.is_end(text[-1])
    return text[: len(text) - ended], ended


KINDS = torch.tensor([[0], [1], [2], [0]])


@given(
    models(Translates, sizes=(4, 6)),
    st.integers(0, 9999),
    st.lists(st.integers(1, 4), min_size=4, max_size=4),
    st.sampled_from([0.0, 0.6, 1.0, 2.5, 10.0]) | st.floats(0, 10),
)
def test_with_all_beams_the_best_of_all_texts_is_found(build, seed, limits, penalty) -> None:
    model = build(seed)
    found = beam_search(
        model, KINDS, KINDS >= 0,
        width=1300, num_best=1300, length_penalty=penalty, max_tokens=torch.tensor(limits),
    )  # fmt: skip
    best = beam_search(
        model, KINDS, KINDS >= 0,
        width=1300, length_penalty=penalty, max_tokens=torch.tensor(limits),
    )  # fmt: skip
    for [kind], limit, everything, first in zip(KINDS.tolist(), limits, found, best, strict=True):
        texts = dict(model.texts(kind, limit))
        expected = sorted(
            (*as_found(model, text), p, p / ((5 + len(text)) / 6) ** penalty)
            for text, p in texts.items()
        )
        listed = sorted((each.ids, each.finished, each.log_prob, each.score) for each in everything)
        assert [each[:2] for each in listed] == [each[:2] for each in expected]
        for each, wanted in zip(listed, expected, strict=True):
            assert each[2:] == pytest.approx(wanted[2:], rel=1e-9, abs=1e-12)
        scores = [each.score for each in everything]
        assert scores == sorted(scores, reverse=True)
        assert first[0].score == pytest.approx(scores[0], rel=1e-9, abs=1e-12)


@given(
    models(Translates, sizes=(4, 6)),
    st.integers(0, 9999),
    st.lists(st.integers(1, 7), min_size=4, max_size=4),
    st.integers(1, 5),
    st.floats(0, 10),
)
def test_one_beam_is_greedy_and_company_changes_nothing(
    build, seed, limits, width, penalty
) -> None:
    model, limit = build(seed), torch.tensor(limits)

    def beams(sources: Tensor, limit: Tensor, width: int) -> list[list[Hypothesis]]:
        return beam_search(
            model, sources, sources >= 0,
            width=width, num_best=width, length_penalty=penalty, max_tokens=limit,
        )  # fmt: skip

    greedy = greedy_search(model, KINDS, KINDS >= 0, max_tokens=limit)
    for [one], other in zip(beams(KINDS, limit, 1), greedy, strict=True):
        assert (one.ids, one.finished) == (other.ids, other.finished)
        assert math.isclose(one.log_prob, other.log_prob, rel_tol=1e-12, abs_tol=1e-12)
    for row, together in enumerate(beams(KINDS, limit, width)):
        here = slice(row, row + 1)
        assert beams(KINDS[here], limit[here], width) == [together]
        alone = greedy_search(model, KINDS[here], KINDS[here] >= 0, max_tokens=limit[here])
        assert alone == [greedy[row]]


def law_of(model: Pairs, length: int, options: dict[str, Any]) -> dict[tuple[int, ...], float]:
    """The probability of each text that may be drawn, from <bos> on."""
    law, pending = {}, [((), 1.0)]
    while pending:
        text, weight = pending.pop()
        if len(text) == length or (text and model.is_end(text[-1])):
            law[text] = weight
            continue
        own = model.log_probs(0, *(model.bos, model.bos, *text)[-2:])
        possible = distributions(own, slack=1e-12, **options)
        assume(len(possible) == 1)  # where p is met but for rounding, either is right
        pending += [((*text, word), weight * p) for word, p in enumerate(possible[0]) if p]
    return law


choices = st.fixed_dictionaries(
    {
        "temperature": st.floats(0.3, 3),
        "top_k": st.none() | st.integers(1, 6),
        "top_p": st.none() | st.floats(0, 1),
    }
)


@given(models(Pairs, sizes=(4, 6)), st.integers(0, 9999), choices, st.integers(1, 3))
def test_every_text_is_drawn_as_often_as_its_words_together(build, seed, options, length) -> None:
    """One row of the batch draws each text there is, and keeps what it was drawn with."""
    model = build(seed)
    law, own = law_of(model, length, options), dict(model.texts(0, length))
    texts = list(own)
    script = [iter((*text, *itertools.repeat(text[0], length))) for text in texts]
    weights = [1.0] * len(texts)
    left = [len(text) for text in texts]

    def drawn(probabilities: Tensor, generator: object) -> Tensor:
        words = [next(words) for words in script]
        for row, word in enumerate(words):
            if left[row]:
                weights[row] *= probabilities[row, word].item()
                left[row] -= 1
        return torch.tensor(words)

    with patch("attention_book.decoding.sampling.draw", drawn):
        found = sample(model, torch.full((len(texts), 1), model.bos), max_tokens=length, **options)
    for text, weight, each in zip(texts, weights, found, strict=True):
        assert (each.ids, each.finished) == as_found(model, text)
        assert math.isclose(each.log_prob, own[text], rel_tol=1e-5, abs_tol=1e-5)
        assert math.isclose(weight, law.get(text, 0.0), rel_tol=1e-9, abs_tol=1e-15)


# --- speculation -----------------------------------------------------------------------------


class Dice:
    """Every way in which the dice may fall: the call is made once for each."""

    def law(self, call: Callable[[], tuple[int, ...]]) -> dict[tuple[int, ...], float]:
        found: dict[tuple[int, ...], float] = {}
        self.pending: list[list[int]] = [[]]
        with (
            patch("attention_book.decoding.sampling.draw", self.draw),
            patch("attention_book.decoding.speculative.draw", self.draw),
            patch("torch.rand", lambda *_, **__: self),
        ):
            while self.pending:
                self.script, self.place, self.weight = self.pending.pop(), 0, 1.0
                text = call()
                found[text] = found.get(text, 0.0) + self.weight
        return found

    def fall(self, weights: list[float]) -> int:
        possible = [side for side, weight in enumerate(weights) if weight > 0]
        if self.place == len(self.script):
            self.pending += [[*self.script, other] for other in possible[1:]]
            self.script.append(possible[0])
        self.place += 1
        side = self.script[self.place - 1]
        self.weight *= weights[side]
        return side

    def draw(self, probabilities: Tensor, generator: object) -> Tensor:
        word = self.fall(probabilities.flatten().tolist())
        return torch.tensor(word).expand(probabilities.shape[:-1])

    def __ge__(self, accepts: Tensor) -> Tensor:
        """A number between 0 and 1 that is at least as large as this one."""
        return torch.tensor(bool(self.fall([accepts.item(), 1 - accepts.item()])))


@given(
    models(Pairs, sizes=(4, 5)),
    st.integers(0, 9999),
    st.integers(0, 9999),
    choices,
    st.integers(1, 3),
    st.integers(1, 2),
)
def test_with_any_draft_texts_come_as_often_as_without(
    build, one, other, options, num_drafts, length
) -> None:
    target, draft = build(one), build(other)
    writers = GuessWriter(target), GuessWriter(draft)
    prompt = torch.tensor([[target.bos]])

    def written() -> tuple[int, ...]:
        [found] = speculative_sample(
            *writers, prompt, num_drafts=num_drafts, max_tokens=length, **options
        )
        return found.hypothesis.ids, found.hypothesis.finished

    expected: dict[Any, float] = {}
    for text, weight in law_of(target, length, options).items():
        key = as_found(target, text)
        expected[key] = expected.get(key, 0.0) + weight
    law_of(draft, length, options)  # as the target's, without a p that is met but for rounding
    law = Dice().law(written)
    for text in {*law, *expected}:
        assert math.isclose(law.get(text, 0.0), expected.get(text, 0.0), abs_tol=1e-12)


weights = st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any)
guesses = st.lists(weights, min_size=13, max_size=13)


@given(guesses, guesses, st.integers(1, 2))
def test_one_round_in_fractions(targets, drafts, num_drafts) -> None:
    """Of verify_drafts with every fall of the dice, and of round_law: the law in whole numbers."""
    places = {
        text: number
        for number, text in enumerate(
            text for n in range(3) for text in itertools.product(range(3), repeat=n)
        )
    }

    def exact(rows: list[list[int]], text: tuple[int, ...]) -> list[Fraction]:
        row = rows[places[text]]
        return [Fraction(each, sum(row)) for each in row]

    def law_after(text: tuple[int, ...], left: int) -> dict[tuple[int, ...], Fraction]:
        p, q = exact(targets, text), exact(drafts, text)
        if left == 0:
            return {(word,): each for word, each in enumerate(p)}
        rest = [max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True)]
        law = {(word,): each for word, each in enumerate(rest)}  # their sum is a rejection
        for word, kept in enumerate(map(min, p, q)):
            following = law_after((*text, word), left - 1)
            law |= {(word, *words): kept * each for words, each in following.items()}
        return law

    def after(rows: list[list[int]], text: tuple[int, ...]) -> Tensor:
        return torch.tensor([float(each) for each in exact(rows, text)], dtype=torch.float64)

    dice = Dice()

    def played() -> tuple[int, ...]:
        drafted: tuple[int, ...] = ()
        for _ in range(num_drafts):
            drafted += (dice.fall(after(drafts, drafted).tolist()),)
        p = torch.stack([after(targets, drafted[:n]) for n in range(num_drafts + 1)])
        q = torch.stack([after(drafts, drafted[:n]) for n in range(num_drafts)])
        return tuple(verify_drafts(p, q, drafted))

    expected = law_after((), num_drafts)
    for law in (
        dice.law(played),
        round_law((), lambda t: after(targets, t), lambda t: after(drafts, t), num_drafts),
    ):
        for text in {*law, *expected}:
            assert abs(law.get(text, 0.0) - expected.get(text, Fraction(0))) < 1e-14
