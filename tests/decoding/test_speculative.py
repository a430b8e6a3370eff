"""Speculative sampling: whatever the draft, the texts have the target's distribution."""

import itertools
from dataclasses import asdict, dataclass
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import Tensor

from attention_book.decoding import (
    acceptance_probabilities,
    acceptance_rate,
    expected_words,
    residual_distribution,
    round_law,
    sample,
    speculative_sample,
    verify_drafts,
)
from attention_book.models import LanguageConfig, LanguageModel, NgramModel
from attention_book.text import BOS, EOS

SIZE = 3
seeds = st.integers(0, 10_000)


class Table:
    """A distribution of its own after every prefix, drawn once; some words may be impossible."""

    def __init__(self, seed: int, *, size: int = SIZE, sharp: float = 2.0, zeros: bool = False):
        self.generator = torch.Generator().manual_seed(seed)
        self.size, self.sharp, self.zeros = size, sharp, zeros
        self.rows: dict[tuple[int, ...], Tensor] = {}

    def __call__(self, prefix: tuple[int, ...]) -> Tensor:
        if prefix not in self.rows:
            logits = self.sharp * torch.randn(self.size, generator=self.generator).double()
            if self.zeros:
                logits[torch.randint(self.size, (), generator=self.generator)] = -torch.inf
            self.rows[prefix] = logits.softmax(dim=0)
        return self.rows[prefix]


def product_law(target, length):
    """The probability of every text of a length, word by word."""
    law = {}
    for text in itertools.product(range(SIZE), repeat=length):
        law[text] = 1.0
        for place, word in enumerate(text):
            law[text] *= target(text[:place])[word].item()
    return law


def chained_law(target, draft, num_drafts, length):
    """Rounds one after the other until a text is long enough, cut to that length."""
    law, pending = dict.fromkeys(itertools.product(range(SIZE), repeat=length), 0.0), {(): 1.0}
    while pending:
        longer: dict[tuple[int, ...], float] = {}
        for text, weight in pending.items():
            for words, probability in round_law(text, target, draft, num_drafts).items():
                grown = (*text, *words)
                if len(grown) >= length:
                    law[grown[:length]] += weight * probability
                else:
                    longer[grown] = longer.get(grown, 0.0) + weight * probability
        pending = longer
    return law


@given(seeds, seeds, st.integers(1, 3), st.booleans())
@settings(max_examples=settings().max_examples // 12)
def test_the_law_of_the_texts_is_the_targets(one, other, num_drafts, zeros) -> None:
    target, draft = Table(one, zeros=zeros), Table(other + 10_001, zeros=zeros)
    for drafting in (draft, target):
        law = chained_law(target, drafting, num_drafts, length=3)
        for text, expected in product_law(target, 3).items():
            assert abs(law[text] - expected) < 1e-14


@given(seeds, st.booleans())
def test_acceptance_is_one_minus_total_variation(seed, zeros) -> None:
    p, q = Table(seed, size=7, zeros=zeros)(()), Table(seed + 1, size=7, zeros=zeros)(())
    alpha = acceptance_rate(p, q)
    torch.testing.assert_close(alpha, 1 - (p - q).abs().sum() / 2, rtol=0, atol=1e-15)
    torch.testing.assert_close((q * acceptance_probabilities(p, q)).sum(), alpha)
    accepted = sum(
        v for words, v in round_law((), lambda _: p, lambda _: q, 1).items() if words[1:]
    )
    assert abs(accepted - alpha) < 1e-14
    assert acceptance_rate(p, p) == pytest.approx(1)


@given(seeds, st.booleans())
def test_the_rest_is_what_is_missing(seed, zeros) -> None:
    p, q = Table(seed, size=7, zeros=zeros)(()), Table(seed + 1, size=7, zeros=zeros)(())
    rest = residual_distribution(p, q)
    assert rest.sum() == pytest.approx(1)
    mixed = torch.minimum(p, q) + (1 - acceptance_rate(p, q)) * rest
    torch.testing.assert_close(mixed, p, rtol=0, atol=1e-15)
    assert torch.equal(residual_distribution(p, p), p)


@pytest.mark.parametrize(("num_drafts", "words"), [(1, 1.7), (2, 2.19), (4, 2.7731), (8, 3.1988)])
def test_words_in_a_round_where_nothing_depends_on_the_prefix(num_drafts, words) -> None:
    p, q = torch.tensor([0.5, 0.3, 0.2]).double(), torch.tensor([0.2, 0.5, 0.3]).double()
    law = round_law((), lambda _: p, lambda _: q, num_drafts)
    mean = sum(len(text) * probability for text, probability in law.items())
    assert mean == pytest.approx(expected_words(0.7, num_drafts))
    assert mean == pytest.approx(words, abs=1e-4)
    assert (expected_words(0.0, num_drafts), expected_words(1.0, num_drafts)) == (1, num_drafts + 1)


def counts_of(texts, law):
    seen = dict.fromkeys(law, 0)
    for text in texts:
        seen[text] += 1
    return seen


def is_fair(texts, law) -> bool:
    possible = [text for text, probability in law.items() if probability > 0]
    seen = counts_of(texts, law)
    expected = [law[text] * len(texts) for text in possible]
    return chisquare([seen[text] for text in possible], expected).pvalue > 1e-4


def test_the_dice_of_one_round_are_fair() -> None:
    p, q = torch.tensor([0.5, 0.3, 0.2]).double(), torch.tensor([0.2, 0.5, 0.3]).double()
    law = round_law((), lambda _: p, lambda _: q, 2)
    generator = torch.Generator().manual_seed(1)
    texts = []
    for _ in range(1000):
        drafted = torch.multinomial(q, 2, replacement=True, generator=generator).tolist()
        words = verify_drafts(p.expand(3, -1), q.expand(2, -1), drafted, generator=generator)
        texts.append(tuple(words))
    assert is_fair(texts, law)


@dataclass(frozen=True)
class TextState:
    """All that was read."""

    text: tuple[int, ...] = ()
    batch_size: int = 1

    def select(self, rows: Tensor) -> "TextState":
        return self


class TableWriter:
    """A writer of <eos> and two words, whose guess depends on all that it has read."""

    def __init__(self, seed: int) -> None:
        self.table, self.steps = Table(seed), 0

    def start(self, batch_size: int) -> TextState:
        return TextState()

    def step(self, token: Tensor, state: TextState) -> tuple[Tensor, TextState]:
        self.steps += 1
        state = TextState((*state.text, int(token)))
        return torch.cat([torch.full((3,), -torch.inf), self.table(state.text).log()])[None], state


def written_law(writer, max_tokens):
    """What `sample` writes, with its probability: texts that end with <eos>, or are cut off."""
    law = {}

    def go(text, weight):
        if len(text) == max_tokens or EOS in text:
            law[text] = weight
            return
        for place, probability in enumerate(writer.table((BOS, *text)).tolist()):
            go((*text, place + 3), weight * probability)

    go((), 1.0)
    return law


@pytest.mark.parametrize("num_drafts", [1, 3])
def test_texts_of_two_writers_have_the_distribution_of_the_target_alone(num_drafts) -> None:
    target, draft = TableWriter(3), TableWriter(4)
    law = written_law(target, 3)
    found = speculative_sample(
        target,
        draft,
        torch.full((600, 1), BOS),
        num_drafts=num_drafts,
        max_tokens=3,
        generator=torch.Generator().manual_seed(5),
    )
    texts = [(*each.hypothesis.ids, *[EOS] * each.hypothesis.finished) for each in found]
    assert is_fair(texts, law)
    for each, text in zip(found, texts, strict=True):
        assert each.hypothesis.log_prob == pytest.approx(torch.tensor(law[text]).log().item())


def test_a_perfect_draft_is_always_accepted() -> None:
    target, draft = TableWriter(3), TableWriter(3)
    draft.table = target.table
    prompt = torch.full((20, 1), BOS)
    for each in speculative_sample(target, draft, prompt, num_drafts=3, max_tokens=9):
        assert each.accepted == each.drafted
        assert each.num_rounds <= 3


def test_each_model_reads_a_word_once_and_what_was_rejected_is_forgotten() -> None:
    target, draft = TableWriter(3), TableWriter(4)
    prompt = torch.tensor([[BOS, 4, 5]])
    [found] = speculative_sample(target, draft, prompt, num_drafts=4, max_tokens=30)
    kept, tried = found.hypothesis.num_tokens, sum(found.drafted)
    assert target.steps <= 3 + kept + tried - sum(found.accepted)
    assert sum(found.accepted) + found.num_rounds >= kept
    assert found.words_per_round == kept / found.num_rounds


def trained_like(seed, vocabulary=11):
    torch.manual_seed(seed)
    config = LanguageConfig(vocabulary=vocabulary, d_model=16, num_heads=2, d_ff=16)
    return LanguageModel(config)


def test_greedy_with_any_draft_is_greedy_without() -> None:
    """One choice at each place: the text must be that of `sample`, cache and all."""
    target = trained_like(0)
    ngrams = NgramModel.count([[4, 5, 6], [7, 8]], order=2, vocabulary=11)
    prompt = torch.tensor([[BOS, 4, 9, 6], [BOS, 5, 5, 10]])
    plain = sample(target, prompt, max_tokens=17, top_k=1)
    for draft in (trained_like(1), target, ngrams):
        found = speculative_sample(target, draft, prompt, num_drafts=3, max_tokens=17, top_k=1)
        for one, other in zip(found, plain, strict=True):
            assert one.hypothesis.ids == other.ids
            assert one.hypothesis.log_prob == pytest.approx(other.log_prob, abs=1e-4)
    assert target.training


def test_any_of_several_ends_ends_a_text_as_without_a_draft() -> None:
    target, draft = (trained_like(seed) for seed in (0, 1))
    for model in (target, draft):  # what is asked for the ends first: the settings
        model.config = SimpleNamespace(**asdict(model.config) | {"ends": (EOS, 5, 7)})
    prompt = torch.tensor([[BOS, word] for word in (4, 6, 8, 9, 10)])
    written = speculative_sample(target, draft, prompt, num_drafts=3, max_tokens=9, top_k=1)
    alone = sample(target, prompt, max_tokens=9, top_k=1)
    assert [each.hypothesis.ids for each in written] == [each.ids for each in alone]
    assert all(not {EOS, 5, 7} & {*each.ids} for each in alone)
    assert any(each.finished for each in alone)
    draft.config.ends = (EOS, 5)
    with pytest.raises(ValueError, match="draft: expected the target's ends"):
        speculative_sample(target, draft, prompt, num_drafts=3, max_tokens=9)


def test_settings_hold_for_both_models() -> None:
    target, draft = trained_like(0), trained_like(1)
    prompt = torch.full((20, 1), BOS)
    for each in speculative_sample(
        target, draft, prompt, num_drafts=3, max_tokens=5, temperature=1e-4
    ):
        assert each.hypothesis.ids == sample(target, prompt[:1], max_tokens=5, top_k=1)[0].ids


def test_what_does_not_fit_is_refused() -> None:
    target, prompt = trained_like(0), torch.tensor([[BOS]])
    other = trained_like(1, vocabulary=12)
    with pytest.raises(ValueError, match="target and draft: expected the shapes"):
        speculative_sample(target, other, prompt, num_drafts=2, max_tokens=9)
    ends = NgramModel.count([[4]], order=1, vocabulary=11, eos=5)
    with pytest.raises(ValueError, match="draft: expected the target's SpecialIds"):
        speculative_sample(target, ends, prompt, num_drafts=2, max_tokens=9)
    with pytest.raises(ValueError, match="prompt: expected no <eos>"):
        speculative_sample(target, other, prompt + 1, num_drafts=2, max_tokens=9)
    with pytest.raises(ValueError, match="num_drafts: expected at least 1"):
        speculative_sample(target, target, prompt, num_drafts=0, max_tokens=9)
    with pytest.raises(ValueError, match="target and draft: expected the shapes"):
        verify_drafts(torch.ones(2, 3) / 3, torch.ones(2, 3) / 3, [1, 2])
    with pytest.raises(ValueError, match="num_drafts: expected at least 1"):
        expected_words(0.5, 0)
