"""Laws of sampling: what is kept, what it sums to, and that the dice are fair."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import Tensor

from attention_book.decoding import (
    keep_min_p,
    keep_top_k,
    keep_top_p,
    next_distribution,
    sample,
    speculative_sample,
    with_temperature,
)
from attention_book.decoding.prediction import drawn_by, next_log_probs
from attention_book.models import (
    LanguageConfig,
    LanguageModel,
    NgramModel,
)
from attention_book.text import SpecialIds

SIZE = 13
seeds = st.integers(0, 10_000)
shares = st.floats(0, 1)


def logits_of(seed: int, *, ties: bool = False) -> Tensor:
    """Five distributions over 13 words; with ties most words are equally probable."""
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(5, SIZE, generator=generator, dtype=torch.float64)
    return logits.round(decimals=-1) if ties else logits


both = st.builds(lambda seed, ties: logits_of(seed, ties=ties), seeds, st.booleans())


@given(both, st.floats(0.05, 20), st.integers(1, 20), shares)
def test_probabilities_sum_to_one_whatever_the_settings(logits, temperature, k, p) -> None:
    found = next_distribution(logits, temperature=temperature, top_k=k, top_p=p)
    torch.testing.assert_close(found.sum(dim=-1), torch.ones(5, dtype=torch.float64))
    kept = (found > 0).sum(dim=-1)
    assert (kept >= 1).all()
    assert (kept <= k).all()


@given(both, st.integers(1, SIZE), shares)
def test_what_is_kept_keeps_its_logit_and_its_proportions(logits, k, p) -> None:
    for kept in (keep_top_k(logits, k), keep_top_p(logits, p)):
        finite = kept.isfinite()
        assert torch.equal(kept[finite], logits[finite])
        plain = logits.softmax(dim=-1).masked_fill(~finite, 0.0)
        expected = plain / plain.sum(dim=-1, keepdim=True)
        torch.testing.assert_close(kept.softmax(dim=-1), expected)


@given(both, st.integers(1, SIZE))
def test_top_k_keeps_exactly_k_and_none_better_is_dropped(logits, k) -> None:
    kept = keep_top_k(logits, k).isfinite()
    assert (kept.sum(dim=-1) == k).all()
    worst = logits.masked_fill(~kept, torch.inf).amin(dim=-1)
    best = logits.masked_fill(kept, -torch.inf).amax(dim=-1)
    assert (worst >= best).all()


@given(both, shares)
def test_top_p_keeps_the_fewest_that_reach_p(logits, p) -> None:
    kept = keep_top_p(logits, p).isfinite()
    probabilities = logits.softmax(dim=-1)
    for row, chosen in zip(probabilities, kept, strict=True):
        reached, needed = 0.0, 0
        for value in sorted(row.tolist(), reverse=True):  # one by one, until it is enough
            reached, needed = reached + value, needed + 1
            if reached >= p:
                break
        assert abs(int(chosen.sum()) - needed) <= (abs(reached - p) < 1e-9)
        assert row[chosen].min() >= row[~chosen].max() if (~chosen).any() else True


@given(both)
def test_settings_that_change_nothing(logits) -> None:
    for same in (
        keep_top_k(logits, SIZE),
        keep_top_k(logits, SIZE + 7),
        keep_top_p(logits, 1.0),
    ):
        assert torch.equal(same, logits)
    torch.testing.assert_close(with_temperature(logits, 1.0).softmax(-1), logits.softmax(-1))


def test_top_p_one_keeps_even_what_rounding_would_lose() -> None:
    logits = torch.tensor([[50.0, 0.0, -50.0]])
    assert torch.equal(keep_top_p(logits, 1.0), logits)


@given(both)
def test_three_ways_to_be_greedy(logits) -> None:
    best = torch.nn.functional.one_hot(logits.argmax(dim=-1), SIZE).double()
    assert torch.equal(next_distribution(logits, top_k=1), best)
    assert torch.equal(next_distribution(logits, top_p=0.0), best)
    distinct = logits + torch.arange(SIZE) * 1e-2  # a tie stays a tie at any temperature
    best = torch.nn.functional.one_hot(distinct.argmax(dim=-1), SIZE).double()
    cold = next_distribution(distinct, temperature=1e-5)
    torch.testing.assert_close(cold, best, rtol=0, atol=1e-12)


def test_ties_keep_the_lowest_numbers() -> None:
    tied = torch.zeros(1, 5)
    assert keep_top_k(tied, 2).isfinite().tolist() == [[True, True, False, False, False]]
    assert keep_top_p(tied, 0.5).isfinite().tolist() == [[True, True, True, False, False]]


@given(seeds, st.floats(0.1, 5), st.floats(1.01, 3))
def test_hotter_is_flatter(seed, temperature, factor) -> None:
    logits = logits_of(seed)
    cool, hot = (
        torch.distributions.Categorical(logits=with_temperature(logits, t)).entropy()
        for t in (temperature, temperature * factor)
    )
    assert (hot > cool).all()
    even = next_distribution(logits, temperature=1e9)
    torch.testing.assert_close(even, torch.full_like(even, 1 / SIZE), rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    "settings",
    [{}, {"temperature": 0.5}, {"temperature": 2.0}, {"top_k": 4}, {"top_p": 0.8},
     {"temperature": 1.5, "top_k": 6, "top_p": 0.9}],
    ids=str,
)  # fmt: skip
def test_words_come_as_often_as_their_probability_says(settings) -> None:
    sentences = [[4], [4], [4], [4], [5], [5], [6], [7, 4], [8], [8]]
    model = NgramModel.count(sentences, order=2, vocabulary=9)
    drawn = sample(
        model, torch.full((4000, 1), 2), max_tokens=1,
        generator=torch.Generator().manual_seed(8), **settings,
    )  # fmt: skip
    # <pad> and <bos> are never written; <eos> at once leaves nothing.
    own = model.probabilities((2,)).log()
    own[[0, 2]] = -torch.inf
    expected = next_distribution(own[None], **settings)[0].double() * len(drawn)
    words = [hypothesis.ids[0] if hypothesis.ids else 3 for hypothesis in drawn]
    counts = torch.tensor(words).bincount(minlength=9).double()
    possible = expected > 0
    assert counts[~possible].sum() == 0
    if possible.sum() > 1:
        scaled = expected[possible] * len(drawn) / expected[possible].sum()
        assert chisquare(counts[possible].numpy(), scaled.numpy()).pvalue > 0.01


@pytest.fixture
def model() -> LanguageModel:
    torch.manual_seed(2)
    return LanguageModel(LanguageConfig(vocabulary=SIZE, d_model=12)).train()


def test_top_k_one_follows_the_argmax(model: LanguageModel) -> None:
    prompt = torch.tensor([[2, 5], [2, 9]])
    found = sample(model, prompt, max_tokens=6, top_k=1)
    model.eval()
    for row, hypothesis in zip(prompt, found, strict=True):
        tokens, total = row[None], 0.0
        for _ in range(6):
            log_probs = model(tokens)[0, -1].log_softmax(dim=-1)
            allowed = log_probs.clone()
            allowed[[0, 2]] = -torch.inf
            best = int(allowed.argmax())
            total += log_probs[best].item()
            if best == 3:
                break
            tokens = torch.cat((tokens, torch.tensor([[best]])), dim=1)
        assert hypothesis.ids == tuple(tokens[0, 2:].tolist())
        assert hypothesis.finished == (best == 3)
        assert hypothesis.log_prob == pytest.approx(total, abs=1e-4)


def test_the_log_probability_is_the_model_s_and_stops_at_the_end() -> None:
    """It is that of the words and of <eos>: of nothing that was drawn for a finished text."""
    sentences = [[4], [4, 5], [5, 4, 6], [7, 4], [8]]
    model = NgramModel.count(sentences, order=2, vocabulary=9)
    found = sample(
        model, torch.full((50, 1), 2), max_tokens=8, temperature=1.5,
        generator=torch.Generator().manual_seed(8),
    )  # fmt: skip
    assert len({hypothesis.num_tokens for hypothesis in found}) > 3
    for hypothesis in found:
        words = [2, *hypothesis.ids, *[3] * hypothesis.finished]
        steps = [model.probabilities((a,))[b].log() for a, b in itertools.pairwise(words)]
        assert hypothesis.log_prob == pytest.approx(sum(steps).item(), abs=1e-4)


def several_ends(**ids: object) -> LanguageModel:
    torch.manual_seed(4)
    return LanguageModel(LanguageConfig.today(vocabulary=SIZE, d_model=16, **ids))


# A chat model ends its turns with one token and its texts with another; both, and any others, end
# what is written. The kind: an end that some search does not know, and writes on after it.
@pytest.mark.parametrize("ends", [(3,), (3, 7), (9, 0, 3), (3, 12, 7, 5), (2, 3, 4, 5, 6, 7)])
def test_any_of_the_ends_ends_a_text(ends: tuple[int, ...]) -> None:
    others = {"bos": SIZE, "pad": SIZE + 1}  # none, so that both draw from all words
    endless, model = (
        several_ends(eos=SIZE + 2, **others),
        several_ends(eos=ends[0], ends=ends, **others),
    )
    prompt, settings = torch.tensor([[8, 1, 10]] * 60), {"max_tokens": 5, "temperature": 9.0}
    all_of_them = (
        sample(each, prompt, generator=torch.Generator().manual_seed(1), **settings)
        for each in (endless, model)
    )
    met = set()
    for whole, found in zip(*all_of_them, strict=True):  # what has ended goes on to be drawn
        ended = [place for place, word in enumerate(whole.ids) if word in ends]
        assert found.ids == whole.ids[: ended[0] if ended else None]
        assert found.finished == bool(ended)
        assert (found.log_prob > whole.log_prob) == (bool(ended) and ended[0] < 4)
        met |= {whole.ids[place] for place in ended[:1]}
    assert met == {*ends}


def test_what_begins_or_fills_up_may_be_written_where_it_ends_a_text() -> None:
    ids, logits = SpecialIds(pad=1, bos=2, eos=3), torch.zeros(1, SIZE)
    for ends in ((3,), (3, 1), (3, 2), (1, 2, 3)):
        found = next_log_probs(logits, ids, ends)
        assert {*found.isinf().nonzero()[:, 1].tolist()} == {1, 2} - {*ends}


def test_a_chat_may_be_written_on(unchecked: None) -> None:
    model = several_ends(ends=(3, 7))
    for prompt in ([[2, 3, 5]], [[3, 7, 4]], [[2, 5, 3, 3, 6]], [[7, 4], [2, 4]]):
        read = torch.tensor(prompt)
        state, rest = model.eval().start(len(read)), []
        for _ in range(2):
            logits, state = model.read(read, state)
            logits[:, -1, [0, 2]] = -torch.inf
            read = logits[:, -1:].argmax(dim=-1)
            rest.append(read)
        written = [text.ids for text in sample(model, torch.tensor(prompt), max_tokens=2, top_k=1)]
        for words, row in zip(written, torch.cat(rest, dim=1).tolist(), strict=True):
            assert words == tuple(itertools.takewhile(lambda word: word not in (3, 7), row))
    for prompt, got in ([[2, 5, 3]], 3), ([[2, 5], [2, 7]], 7), ([[3]], 3):
        with pytest.raises(ValueError, match=rf"expected no <eos>, got one \({got}\) at its end"):
            sample(model, torch.tensor(prompt), max_tokens=2)


@pytest.mark.parametrize(
    "ids", [{"bos": SIZE}, {"bos": 7, "ends": (3, 7)}, {"pad": 7, "bos": SIZE, "ends": (3, 7)}]
)
def test_where_an_end_begins_the_texts_it_may_stand_alone(ids: dict[str, object]) -> None:
    """As in the models of Qwen and GPT-2: one token begins, ends and fills up."""
    model = several_ends(**ids)
    for end in ids.get("ends", (3,)):
        assert len(sample(model, torch.tensor([[end]]), max_tokens=2)) == 1
        assert len(sample(model, torch.tensor([[end, 5]]), max_tokens=2)) == 1


def test_a_seed_decides_and_the_model_is_left_as_it_was(model: LanguageModel) -> None:
    prompt, seeded = torch.full((7, 1), 2), torch.Generator().manual_seed
    first, again = (sample(model, prompt, max_tokens=9, generator=seeded(4)) for _ in range(2))
    assert first == again
    assert first != sample(model, prompt, max_tokens=9, generator=seeded(5))
    assert model.training
    assert all(not {0, 2, 3} & set(hypothesis.ids) for hypothesis in first)
    assert all(hypothesis.num_tokens <= 9 for hypothesis in first)


def test_everything_stays_on_the_device_of_the_prompt() -> None:
    model = LanguageModel(LanguageConfig(vocabulary=SIZE, positions="none"))
    prompt = torch.full((3, 1), 2)
    with torch.device("meta"):  # what forgets to say where it belongs gets there, and fails
        written = sample(model, prompt, max_tokens=3, top_k=2, top_p=0.9)
    assert len(written) == 3


def test_extreme_temperatures_give_a_distribution() -> None:
    logits = torch.tensor([[80.0, 5.0, 80.0]]).half()
    for temperature in (1e-3, 1e-40):
        found = next_distribution(logits, temperature=temperature)
        torch.testing.assert_close(found, torch.tensor([[0.5, 0.0, 0.5]]).half())
    with pytest.raises(ValueError, match="temperature: expected a finite number, got inf"):
        with_temperature(logits, float("inf"))


def test_the_fewest_words_that_reach_p_are_kept() -> None:
    even = torch.zeros(1, 10)
    for count in (1, 4, 6, 9):
        kept = keep_top_p(even, float(even.softmax(-1).cumsum(-1)[0, count - 1])).isfinite().sum()
        assert kept == count


AXES = r"prompt: expected the axes \(batch, token\) .* got the shape "
CURE = r"temperature: .* give top_k=1, or call greedy_search"


@pytest.mark.parametrize(
    ("prompt", "settings", "message"),
    [
        ([[2, 4], [2, 0]], {}, "prompt: expected no <pad>, got one"),
        ([[2, 3]], {}, "prompt: expected no <eos>, got one"),
        ([2, 4], {}, AXES + r"\(2,\)"),
        ([[]], {}, AXES + r"\(1, 0\)"),
        *[([[2]], {"temperature": each}, CURE) for each in (0, 0.0, -1.0, float("nan"))],
        ([[2]], {"top_k": 0}, "top_k: expected at least 1, got 0"),
        ([[2]], {"top_k": 1.5}, "top_k: expected a whole number, got 1.5"),
        ([[2]], {"top_p": 1.5}, "top_p: expected a probability between 0 and 1, got 1.5"),
        ([[2]], {"max_tokens": 0}, "max_tokens: expected at least 1, got 0"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_written_on_is_refused(prompt, settings, message) -> None:
    model = NgramModel.count([[4, 5, 6]], order=2, vocabulary=7)
    with pytest.raises(ValueError, match=message):
        sample(model, torch.tensor(prompt, dtype=torch.long), **{"max_tokens": 3, **settings})


class ByStep:
    """A writer that can read one token at a time only."""

    def __init__(self, model: LanguageModel | LanguageModel) -> None:
        self.model, self.config = model, model.config
        self.start, self.step = model.start, model.step


WRITERS = {
    "causal": lambda: LanguageModel(LanguageConfig(vocabulary=SIZE, d_model=24)),
    "causal, alibi": lambda: LanguageModel(
        LanguageConfig(vocabulary=SIZE, d_model=24, positions="alibi")
    ),
    "decoder": lambda: LanguageModel(LanguageConfig.today(vocabulary=SIZE, d_model=24)),
    "windows": lambda: LanguageModel(
        LanguageConfig.today(vocabulary=SIZE, d_model=24, windows=(3, None), num_kv_heads=2)
    ),
    "sinusoidal": lambda: LanguageModel(
        LanguageConfig.today(vocabulary=SIZE, d_model=24, positions="sinusoidal")
    ),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_prompt_is_read_at_once_and_the_text_is_the_same(kind, monkeypatch) -> None:
    """The kind: work done token by token where one call does it; steps are the oracle."""
    torch.manual_seed(0)
    model, prompt = WRITERS[kind]().eval(), torch.randint(4, SIZE, (3, 9))
    calls = {"read": [], "step": 0}

    def written(writer, **settings):
        generator = torch.Generator().manual_seed(1)
        return sample(writer, prompt, max_tokens=6, generator=generator, **settings)

    settings = [{}, {"temperature": 0.7, "top_p": 0.9}, {"top_k": 1}]
    expected = [written(ByStep(model), **each) for each in settings]
    for each, texts in zip(settings, expected, strict=True):
        found = written(model, **each)
        assert [text.ids for text in found] == [text.ids for text in texts]
        for one, other in zip(found, texts, strict=True):
            assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)
    read, step = model.read, model.step

    def counted_read(tokens, state):
        calls["read"].append(tokens.shape[1])
        return read(tokens, state)

    def counted_step(token, state):
        calls["step"] += 1
        return step(token, state)

    monkeypatch.setattr(model, "read", counted_read)
    monkeypatch.setattr(model, "step", counted_step)
    sample(model, prompt, max_tokens=1)
    assert calls == {"read": [9], "step": 0}
    speculative_sample(model, model, prompt[:1], num_drafts=2, max_tokens=1)
    assert calls["read"].count(9) == 3


def test_a_long_prompt_is_read_in_pieces() -> None:
    model = WRITERS["decoder"]().eval()
    prompt = torch.randint(4, SIZE, (1, 700))
    [text] = sample(model, prompt, max_tokens=3, top_k=1)
    words = prompt
    for _ in range(3):
        with torch.no_grad():
            logits = model(words)[:, -1]
        logits[:, [0, 2]] = -torch.inf
        words = torch.cat((words, logits.argmax(dim=-1, keepdim=True)), dim=1)
    assert list(text.ids) == words[0, 700:].tolist()[: len(text.ids)]


# Sums over a vocabulary in half precision: a sum of many small numbers stops growing, so the
# settings must be applied in single precision at least.


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("size", [2_000, 150_000])
@pytest.mark.parametrize("top_p", [0.5, 0.9, 0.999])
def test_what_top_p_keeps_is_at_least_p_in_any_precision(dtype, size, top_p) -> None:
    for spread in (0.0, 1.0, 4.0):
        noise = torch.randn(2, size, generator=torch.Generator().manual_seed(size))
        logits = (spread * noise).to(dtype)
        kept = keep_top_p(logits, top_p)
        assert kept.dtype == dtype
        masses = logits.double().softmax(dim=-1)
        chosen = kept.isfinite()
        mass = masses.masked_fill(~chosen, 0.0).sum(dim=-1)
        last = masses.masked_fill(~chosen, 2.0).amin(dim=-1)
        # In single precision the logits themselves are rounded; half is taken at its word.
        assert (mass >= top_p - (1e-6 if dtype == torch.float32 else 1e-14)).all()
        assert (mass - last <= top_p + 1e-6).all()  # and no word more than needed
        if dtype != torch.float32:
            assert torch.equal(chosen, keep_top_p(logits.double(), top_p).isfinite())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_all_settings_together_keep_in_half_what_they_keep_in_single(dtype) -> None:
    logits = (3 * torch.randn(4, 5_000, generator=torch.Generator().manual_seed(1))).to(dtype)
    settings = {"temperature": 1.3, "top_k": 900, "top_p": 0.95}
    found = next_distribution(logits, **settings)
    exact = next_distribution(logits.float(), **settings)
    assert torch.equal(found, exact.to(dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("temperature", [1e-300, 1e-50, 1e-45, 1e-8, 1e8, 1e39, 1e300])
def test_a_temperature_that_a_type_cannot_hold_is_none_of_0_and_infinity(
    dtype, temperature
) -> None:
    logits = torch.tensor([[3.0, 1.0, 3.0, -torch.inf]], dtype=dtype)
    found = next_distribution(logits, temperature=temperature)
    even = [0.5, 0.0, 0.5, 0.0] if temperature < 1 else [1 / 3, 1 / 3, 1 / 3, 0.0]
    torch.testing.assert_close(found, torch.tensor([even], dtype=dtype), rtol=2e-3, atol=0)


@given(logits=both, share=shares)
def test_min_p_keeps_what_is_probable_enough_beside_the_first(logits: Tensor, share: float) -> None:
    kept = keep_min_p(logits, share).isfinite()
    odds = (logits - logits.amax(dim=-1, keepdim=True)).exp()
    clear = (odds - share).abs() > 1e-9
    assert torch.equal(kept[clear], (odds >= share)[clear])
    assert kept.any(dim=-1).all()


def test_the_next_distribution_takes_min_p() -> None:
    logits = torch.tensor([[0.1, 0.6, 0.3]]).log()
    found = next_distribution(logits, min_p=0.4)
    torch.testing.assert_close(found, torch.tensor([[0.0, 2 / 3, 1 / 3]]))


def test_a_stop_ends_a_text_and_whoever_watches_hears_each_token() -> None:
    model = NgramModel.count([[4, 5, 6, 4]], order=3, vocabulary=7)
    heard: list[int] = []
    [made] = sample(
        model,
        torch.tensor([[2]]),
        max_tokens=9,
        top_k=1,
        stop=(6,),
        watch=lambda tokens: heard.append(int(tokens)),
    )
    assert (made.ids, made.finished, heard) == ((4, 5), True, [4, 5, 6])


def test_a_number_draws_the_word_in_whose_share_it_lies() -> None:
    """Cut the line from 0 to 1 into the words' shares: each word has its part, in order."""
    shares = torch.tensor([0.0, 0.5, 0.0, 0.3, 0.2, 0.0], dtype=torch.float64)
    numbers = torch.arange(1000, dtype=torch.float64) / 1000
    found = drawn_by(shares.expand(1000, -1), numbers)
    assert found.tolist() == sorted(found.tolist())
    assert found.bincount(minlength=6).tolist() == [0, 500, 0, 300, 200, 0]
    closest = torch.tensor([1 - 2**-53], dtype=torch.float64)
    for scale in (1.0, 1 + 2**-52, 3e-5):  # what is rounded never draws what is impossible
        assert drawn_by(scale * shares[None], closest).tolist() == [4]


def test_texts_are_drawn_by_given_numbers_step_by_step() -> None:
    model = LanguageModel(LanguageConfig.today(vocabulary=SIZE)).eval()
    prompt, generator = torch.tensor([[2, 5], [2, 9]]), torch.Generator().manual_seed(1)
    uniform = torch.rand(2, 8, generator=generator, dtype=torch.float64)
    how = {"temperature": 0.7, "top_k": 6}
    found = sample(model, prompt, max_tokens=8, uniform=uniform, **how)
    for row, text in enumerate(found):
        ids = prompt[row].tolist()
        for place, token in enumerate((*text.ids, *[model.config.eos] * text.finished)):
            with torch.no_grad():
                own = next_log_probs(model(torch.tensor([ids]))[:, -1], SpecialIds())
            assert drawn_by(next_distribution(own, **how), uniform[row, place : place + 1]) == token
            ids.append(token)


@pytest.mark.parametrize(
    ("uniform", "generator"),
    [
        (torch.zeros(1, 3), None), (torch.zeros(2, 4), None), (torch.ones(1, 4), None),
        (torch.full((1, 4), -0.1), None), (torch.full((1, 4), torch.nan), None),
        (torch.zeros(1, 4), torch.Generator()),
    ],
)  # fmt: skip
def test_numbers_that_draw_nothing_are_refused(uniform, generator) -> None:
    model = NgramModel.count([[4, 5, 6]], order=3, vocabulary=7)
    with pytest.raises(ValueError, match="uniform: expected"):
        sample(model, torch.tensor([[2]]), max_tokens=4, uniform=uniform, generator=generator)
