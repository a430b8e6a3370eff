"""Data sets: every task asks what it says, and a guess is judged by what was asked."""

import math
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from attention_book import set_seed
from attention_book.attention import (
    Attention,
    BilinearScore,
    DotScore,
    LocalAttention,
)
from attention_book.course.datasets import (
    BackcopyChain,
    Digits,
    LookBackBatch,
    LookupBatch,
    RepeatedBatch,
    TimeSeries,
    copy_with_gaps,
    digit_images,
    embedded_repeat,
    evenly_mixed,
    load_series,
    look_back_task,
    lookup_map,
    lookup_task,
    periodic_words,
    recall_task,
    shifted,
    sine_data,
)
from attention_book.inspection import after_earlier
from attention_book.training import descend

# --- a curve -----------------------------------------------------------------------------------


def test_the_points_are_drawn_as_the_chapter_says() -> None:
    set_seed(42)
    data = sine_data()
    set_seed(42)
    x = torch.sort(torch.rand(50) * 5).values
    y = 2 * torch.sin(x) + x**0.8 + torch.normal(0.0, 0.5, (50,))
    assert torch.equal(data.x_train, x)
    assert torch.equal(data.y_train, y)


def test_the_truth_is_the_formula_at_every_tenth() -> None:
    data = sine_data(n_train=1)
    assert data.n_test == 50
    for i, (x, y) in enumerate(zip(data.x_test.tolist(), data.y_true.tolist(), strict=True)):
        assert x == pytest.approx(i / 10, abs=1e-6)
        assert y == pytest.approx(2 * math.sin(i / 10) + (i / 10) ** 0.8, abs=1e-5)


# --- look back ---------------------------------------------------------------------------------


@given(batch=st.integers(1, 3), length=st.integers(2, 11), data=st.data())
def test_the_answer_is_the_word_the_distance_back(
    batch: int, length: int, data: st.DataObject
) -> None:
    distance = data.draw(st.integers(1, length - 1))
    task = look_back_task(batch, length, distance, num_words=7)
    assert task.words.shape == (batch, length)
    assert task.answer.shape == (batch, length - distance)
    for i in range(distance, length):
        assert torch.equal(task.answer[:, i - distance], task.words[:, i - distance])


def test_every_word_is_as_likely_and_none_tells_of_another() -> None:
    words = look_back_task(
        4000, 5, 2, num_words=3, generator=torch.Generator().manual_seed(0)
    ).words
    share = F.one_hot(words, 3).float()
    torch.testing.assert_close(share.mean(dim=0), torch.full((5, 3), 1 / 3), atol=0.03, rtol=0)
    together = torch.einsum("biv,bjw->ijvw", share, share) / 4000
    for i in range(5):
        for j in range(i):
            assert (together[i, j] - 1 / 9).abs().max() < 0.03


def test_a_perfect_answer_costs_nothing_and_a_uniform_one_the_log_of_the_words() -> None:
    task = look_back_task(2, 7, 3, num_words=5)
    perfect = torch.zeros(2, 7, 5)
    perfect[:, 3:] = 100.0 * F.one_hot(task.words[:, :-3], 5)
    assert task.accuracy(perfect) == 1.0
    assert task.loss(perfect) < 1e-6
    assert task.loss(torch.zeros(2, 7, 5)).item() == pytest.approx(math.log(5), abs=1e-6)


def test_positions_that_ask_for_nothing_do_not_count() -> None:
    task = look_back_task(2, 7, 3, num_words=5)
    logits = torch.randn(2, 7, 5)
    changed = logits.clone()
    changed[:, :3] = torch.randn(2, 3, 5)
    assert torch.equal(task.loss(logits), task.loss(changed))
    assert task.accuracy(logits) == task.accuracy(changed)
    changed[:, 3] += 10 * torch.randn(2, 5)
    assert not torch.equal(task.loss(logits), task.loss(changed))


def test_accuracy_is_the_fraction_of_right_answers() -> None:
    task = LookBackBatch(torch.tensor([[1, 2, 0, 1, 2]]), distance=1)
    answers = torch.tensor([[0, 1, 2, 0, 2]])  # right, right, right, wrong
    assert task.accuracy(F.one_hot(answers, 3).float()) == 0.75


# --- the lookup task -------------------------------------------------------------------------


@given(
    batch=st.integers(1, 3),
    num_keys=st.integers(1, 7),
    d_key=st.integers(1, 5),
    reach=st.none() | st.integers(0, 9),
    rotated=st.booleans(),
)
def test_the_answer_is_the_value_of_the_key_that_was_asked_for(
    batch: int, num_keys: int, d_key: int, reach: int | None, rotated: bool
) -> None:
    task = lookup_task(batch, num_keys, d_key, reach=reach, rotated=rotated, noise=0.0)
    rotation = lookup_map(d_key) if rotated else torch.eye(d_key)
    for b in range(batch):
        for i in range(num_keys):
            j = int(task.answer_index[b, i])
            assert reach is None or abs(i - j) <= reach
            assert torch.equal(task.answer[b, i], task.values[b, j])
            torch.testing.assert_close(task.queries[b, i], rotation @ task.keys[b, j])


def test_the_values_are_one_hot_labels_and_each_is_as_likely() -> None:
    set_seed(0)
    task = lookup_task(4000, 5, 2, num_labels=3)
    assert set(task.values.unique().tolist()) == {0.0, 1.0}
    assert (task.values.sum(dim=-1) == 1).all()
    assert task.values.mean(dim=(0, 1)).tolist() == pytest.approx([1 / 3] * 3, abs=0.02)
    torch.testing.assert_close(task.keys.norm(dim=-1), torch.full((4000, 5), math.sqrt(2)))


@pytest.mark.parametrize("reach", [None, 1])
def test_the_answers_are_spread_evenly_over_the_positions_in_reach(reach: int | None) -> None:
    set_seed(0)
    index = lookup_task(6000, 4, 1, reach=reach).answer_index
    for i in range(4):
        within = [j for j in range(4) if reach is None or abs(i - j) <= reach]
        shares = [(index[:, i] == j).float().mean().item() for j in within]
        assert shares == pytest.approx([1 / len(within)] * len(within), abs=0.03)


def test_the_noise_has_the_size_that_was_asked_for() -> None:
    set_seed(0)
    task = lookup_task(500, 8, 8, noise=0.3, rotated=False)
    asked_for = task.keys.take_along_dim(task.answer_index.unsqueeze(-1), dim=1)
    assert (task.queries - asked_for).std().item() == pytest.approx(0.3, abs=0.01)


def test_the_map_is_a_rotation_that_never_changes() -> None:
    first = lookup_map(7)
    set_seed(1)
    assert torch.equal(lookup_map(7), first)
    torch.testing.assert_close(first @ first.T, torch.eye(7))
    assert not torch.allclose(first, torch.eye(7), atol=0.5)


def test_error_and_accuracy_of_outputs_whose_quality_is_known() -> None:
    task = lookup_task(3, 5, 2, num_labels=4)
    wrong = task.answer.roll(1, dims=-1)
    assert (task.error(task.answer) == 0).all()
    assert (task.error(wrong) == 1).all()
    torch.testing.assert_close(task.error(0.3 * task.answer + 0.7 * wrong), torch.full((3, 5), 0.7))
    assert (task.accuracy(task.answer), task.accuracy(wrong)) == (1.0, 0.0)


def test_the_error_of_soft_attention_is_the_expected_error_of_a_hard_draw() -> None:
    task, score = lookup_task(1, 5, 3), DotScore()
    soft_error = task.error(Attention(score)(task.queries, task.keys, task.values))
    weights = Attention(score).weights(task.queries, task.keys)
    error_of_key = 1 - torch.einsum("bjl,bil->bij", task.values, task.answer)
    torch.testing.assert_close((weights * error_of_key).sum(dim=-1), soft_error)


# --- it can be learned ------------------------------------------------------------------------


def accuracy(attention: torch.nn.Module, **options) -> float:
    task = lookup_task(200, 8, 8, **options)
    return task.accuracy(attention(task.queries, task.keys, task.values))


def train(score: BilinearScore, kind=Attention, reach: int | None = None, **settings) -> float:
    """Train on the error itself; return the accuracy on fresh tables."""
    set_seed(0)
    attention = kind(score, **settings)

    def loss() -> Tensor:
        task = lookup_task(16, 8, 8, reach=reach)
        return task.error(attention(task.queries, task.keys, task.values)).mean()

    list(descend(loss, torch.optim.Adam(attention.parameters(), lr=0.05), steps=150))
    return accuracy(attention, reach=reach)


def test_soft_attention_finds_the_answer_and_the_map() -> None:
    set_seed(0)
    score = BilinearScore(d_q=8, d_k=8)
    assert accuracy(Attention(score), rotated=True) < 0.4
    assert train(score) > 0.95
    learned, true = score.W.flatten(), lookup_map(8).flatten()
    assert torch.cosine_similarity(learned, true, dim=0) > 0.95
    # Without the rotation there is nothing to learn.
    assert accuracy(Attention(DotScore()), rotated=True) < 0.4
    assert accuracy(Attention(DotScore()), rotated=False) > 0.9


def test_local_attention_finds_what_is_near_and_misses_what_is_not() -> None:
    set_seed(0)
    assert train(BilinearScore(d_q=8, d_k=8), LocalAttention, reach=2, radius=2) > 0.95
    assert train(BilinearScore(d_q=8, d_k=8), LocalAttention, radius=2) < 0.75


# --- recall ------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 2, 3])
def test_each_key_is_written_so_often_and_asked_once_for_the_last_value(times):
    set_seed(3)
    task = recall_task(7, 5, num_keys=11, num_values=13, times=times)
    assert task.values.max() < 13
    for row in zip(task.keys, task.values, task.questions, task.answer, strict=True):
        keys, values, questions, answer = (each.tolist() for each in row)
        assert sorted(keys) == sorted(questions * times)
        assert len(set(questions)) == 5
        memory = dict(zip(keys, values, strict=True))
        assert answer == [memory[key] for key in questions]


def test_orders_and_keys_differ_from_sequence_to_sequence():
    task = recall_task(300, 4, times=2, num_keys=6, num_values=3)
    assert len({tuple(row) for row in task.keys.tolist()}) > 280
    first = task.keys[:, 0].bincount(minlength=6)
    assert first.min() > 25  # each of six keys about 50 times
    assert task.answer.flatten().bincount().min() > 300  # each of three values about 400 times


# --- words that come again ---------------------------------------------------------------------


@given(shortest=st.integers(1, 5), more=st.integers(0, 4), length=st.integers(1, 23))
def test_a_text_says_the_same_different_words_over_and_over(shortest, more, length):
    batch = periodic_words(5, length, shortest=shortest, longest=shortest + more, num_words=11)
    assert batch.words.shape == batch.known.shape == (5, length)
    for words, known in zip(batch.words.tolist(), batch.known.tolist(), strict=True):
        fits = [
            p
            for p in range(shortest, shortest + more + 1)
            if len(set(words[:p])) == min(p, length)
            and all(words[i] == words[i % p] for i in range(length))
        ]
        assert fits
        unknown = sum(not each for each in known)
        assert unknown == length or unknown - 1 in fits


def test_all_periods_and_all_words_are_drawn_evenly():
    torch.manual_seed(0)
    batch = periodic_words(6000, 9, shortest=3, longest=5, num_words=7)
    period = (~batch.known).sum(dim=1) - 1
    share = torch.bincount(period, minlength=6)[3:] / 6000
    torch.testing.assert_close(share, torch.full((3,), 1 / 3), atol=0.03, rtol=0)
    first = torch.bincount(batch.words[:, 0], minlength=7) / 6000
    torch.testing.assert_close(first, torch.full((7,), 1 / 7), atol=0.03, rtol=0)


@given(segment=st.integers(1, 5), more=st.integers(0, 9), num_words=st.integers(6, 11))
def test_one_segment_comes_twice_and_its_words_nowhere_else(segment, more, num_words):
    length = 2 * segment + more
    batch = embedded_repeat(5, length, segment=segment, num_words=num_words)
    for words, known in zip(batch.words.tolist(), batch.known.tolist(), strict=True):
        last = words[-segment:]
        assert len(set(last)) == segment
        starts = [i for i in range(length - segment) if words[i : i + segment] == last]
        assert len(starts) == 1
        assert sum(word in last for word in words) == 2 * segment
        assert known == [i > length - segment for i in range(length)]


@pytest.mark.parametrize("draw", [periodic_words, embedded_repeat])
def test_what_is_known_follows_an_earlier_occurrence_of_the_word_before(draw):
    torch.manual_seed(1)
    batch = draw(20)
    looks = after_earlier(batch.inputs)
    for text, place in batch.known.nonzero().tolist():
        keys = looks[text, place - 1].nonzero()[:, 0]
        assert len(keys) > 0
        assert (batch.words[text, keys] == batch.words[text, place]).all()


def test_distances_of_an_embedded_repeat_differ():
    torch.manual_seed(1)
    words = embedded_repeat(300, 20, segment=4, num_words=9).words
    first = (words[:, :-4] == words[:, -4:-3]).int().argmax(dim=1)
    assert sorted(first.unique().tolist()) == list(range(13))


def test_a_perfect_guess_costs_nothing_and_none_the_log_of_the_words():
    batch = periodic_words(2, 9, shortest=2, longest=4, num_words=7)
    perfect = 100.0 * F.one_hot(batch.targets, 7).float()
    assert batch.accuracy(perfect) == 1
    assert batch.loss(perfect) < 1e-6
    assert batch.loss(torch.zeros(2, 8, 7)).item() == pytest.approx(math.log(7), abs=1e-6)
    logits = torch.randn(2, 8, 7)
    losses = batch.losses(logits)
    assert losses[1, 3].item() == pytest.approx(
        -logits[1, 3].log_softmax(-1)[batch.words[1, 4]].item(), abs=1e-5
    )


def test_only_known_words_count_as_right_or_wrong():
    words = torch.tensor([[0, 1, 0, 1, 2]])
    batch = RepeatedBatch(words, torch.tensor([[False, False, False, True, True]]))
    guesses = F.one_hot(torch.tensor([[0, 2, 1, 0]]), 3).float()  # the two known: right, wrong
    assert batch.accuracy(guesses) == 0.5


# --- gaps --------------------------------------------------------------------------------------


def test_what_is_known_follows_its_predecessor_again():
    texts = copy_with_gaps(50, 64)
    for words, known in zip(texts.words.tolist(), texts.known.tolist(), strict=True):
        for place in range(64):
            if known[place]:
                earlier = words[: place - 1].index(words[place - 1])
                assert words[earlier + 1] == words[place] < 32
    # Neither the first of a list nor a filler.
    assert not texts.known[texts.words >= 32].any()
    assert not texts.known[:, :9].any()
    assert texts.known.any(dim=1).all()


# --- back-copying ------------------------------------------------------------------------------


def chain(seed=0):
    return BackcopyChain.draw(generator=torch.Generator().manual_seed(seed))


def test_rows_are_probabilities_with_the_triggers_share():
    follows = chain().follows
    torch.testing.assert_close(follows.sum(1), torch.ones(32))
    torch.testing.assert_close(follows[:, :4].sum(1), torch.full((32,), 0.15))


def test_after_a_trigger_comes_the_word_before_it():
    texts = chain().texts(200, 40)
    after = texts[:, 1:-1] < 4
    assert torch.equal(texts[:, 2:][after], texts[:, :-2][after])


def test_elsewhere_words_follow_the_chain():
    drawn = chain().texts(4000, 30)
    before, after = drawn[:, 1:-1].flatten(), drawn[:, 2:].flatten()
    counts = torch.zeros(32, 32).index_put_((before, after), torch.ones(len(before)), True)
    shares = counts[4:] / counts[4:].sum(1, keepdim=True)
    assert (shares - chain().follows[4:]).abs().max() < 0.04


def test_the_chain_itself_has_no_excess():
    mine = chain()
    for begin in (True, False):
        texts = mine.texts(50, 40, begin=begin)
        assert (texts[:, 0] == mine.bos).all() == begin
        logits = mine.follows.log()[texts.clamp(max=31)]
        logits = torch.cat((logits, torch.full_like(logits[..., :1], -30.0)), dim=-1)
        assert abs(mine.excess(logits, texts)) < 1e-5
        assert mine.excess(torch.zeros_like(logits), texts) > 0.1


def test_where_nothing_is_to_be_done():
    inputs = torch.tensor([[32, 3, 4, 31]])
    assert chain().free(inputs).tolist() == [[False, False, True, True]]
    assert chain().free(inputs, after=3).tolist() == [[False, False, False, True]]


# --- digits ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def splits():
    return digit_images(seed=5)


def rows(digits):
    return {
        (*image.flatten().tolist(), label.item())
        for image, label in zip(*parts(digits), strict=True)
    }


def parts(digits):
    return digits.images, digits.labels


def test_every_image_is_in_one_split_and_in_one_only(splits):
    from sklearn.datasets import load_digits

    data = load_digits()
    images, labels = torch.from_numpy(data.images).float() / 16, torch.from_numpy(data.target)
    given_rows = rows(Digits(images, labels))
    kept = [rows(part) for part in (splits.train, splits.validation, splits.test)]
    assert sum(map(len, kept)) == len(set.union(*kept)) == len(given_rows) == 1797
    assert set.union(*kept) == given_rows


def test_the_pixels_go_from_paper_to_ink(splits):
    assert splits.train.images.dtype == torch.float32
    assert splits.train.images.min() == 0
    assert splits.train.images.max() == 1
    # A zero is empty in the middle, and a one is not.
    middle = splits.train.images[:, 3:5, 3:5].mean(dim=(1, 2))
    assert middle[splits.train.labels == 0].mean() < 0.25
    assert middle[splits.train.labels == 1].mean() > 0.6


def test_every_split_and_every_beginning_has_each_digit_in_its_share(splits):
    for part in (splits.train, splits.validation, splits.test, splits.train.first(100)):
        count = part.labels.bincount(minlength=10)
        assert (count - len(part) / 10).abs().max() <= 0.03 * len(part) / 10 + 2


def test_the_seed_decides_and_nothing_else(splits):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    again, other = digit_images(seed=5), digit_images(seed=6)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(again.test.images, splits.test.images)
    assert not torch.equal(other.test.labels, splits.test.labels)


def test_in_order_the_splits_follow_the_file():
    from sklearn.datasets import load_digits

    target = torch.from_numpy(load_digits().target)
    ordered = digit_images(num_validation=7, num_test=11, in_order=True)
    assert torch.equal(ordered.train.labels, target[:-18])
    assert torch.equal(ordered.validation.labels, target[-18:-11])
    assert torch.equal(ordered.test.labels, target[-11:])


@given(counts=st.lists(st.integers(1, 40), min_size=1, max_size=4), seed=st.integers(0, 9))
def test_an_even_mixture_is_an_order_with_fair_beginnings(counts, seed):
    labels = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    order = evenly_mixed(labels, seed=seed)
    assert torch.equal(order.sort().values, torch.arange(len(labels)))
    share = torch.tensor(counts) / len(labels)
    for end in range(1, len(labels) + 1):
        found = labels[order[:end]].bincount(minlength=len(counts))
        # Each label is within one image of its share of the stretch it has seen.
        assert (found - share * end).abs().max() <= len(counts)


def test_an_even_mixture_shuffles():
    labels = torch.zeros(50, dtype=torch.long)
    assert not torch.equal(evenly_mixed(labels, seed=0), evenly_mixed(labels, seed=1))
    assert not torch.equal(evenly_mixed(labels, seed=0), torch.arange(50))


def test_a_shift_is_one_of_nine_and_all_nine_come():
    torch.manual_seed(0)
    image = torch.rand(5, 7) + 0.1
    padded = torch.zeros(7, 9)
    padded[1:-1, 1:-1] = image
    nine = [padded[y : y + 5, x : x + 7] for y in range(3) for x in range(3)]
    found = [
        next(i for i, one in enumerate(nine) if torch.equal(one, moved))
        for moved in shifted(image.expand(300, 5, 7))
    ]
    assert set(found) == set(range(9))
    assert min(found.count(i) for i in range(9)) > 15


def test_accuracy_counts_the_largest_logits():
    digits = Digits(torch.zeros(4, 8, 8), torch.tensor([2, 0, 1, 1]))
    logits = torch.eye(3)[[2, 0, 1, 2]]
    assert digits.accuracy(logits) == 0.75


@pytest.mark.parametrize(
    ("module", "call", "library"),
    [
        ("sklearn", digit_images, "scikit-learn"),
        ("statsmodels", lambda: load_series("co2"), "statsmodels"),
    ],
)
def test_without_a_library_one_error_says_what_to_install(monkeypatch, module, call, library):
    for name in [name for name in sys.modules if name.partition(".")[0] == module] + [module]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf'{library}: .* "attention-book\[data\] @ git'):
        call()


# --- time series -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def statsmodels():
    return pytest.importorskip("statsmodels.datasets")


def test_the_sunspots_are_those_of_statsmodels(statsmodels) -> None:
    series = load_series("sunspots")
    yearly = statsmodels.sunspots.load_pandas().data
    assert series.values.tolist() == yearly["SUNACTIVITY"].tolist()
    assert series.times.tolist() == list(range(1700, 2009))
    assert not series.filled.any()


def test_a_month_of_co2_is_the_mean_of_its_weeks(statsmodels) -> None:
    series = load_series("co2")
    weekly = statsmodels.co2.load_pandas().data["co2"]
    for year, month in ((1958, 3), (1974, 7), (2001, 12)):
        weeks = weekly[(weekly.index.year == year) & (weekly.index.month == month)].dropna()
        at = series.count_before(year + (month - 1) / 12)
        assert series.values[at].item() == pytest.approx(weeks.mean())


def test_filled_months_are_those_without_a_measurement_and_lie_on_a_straight_line(
    statsmodels,
) -> None:
    series = load_series("co2")
    weekly = statsmodels.co2.load_pandas().data["co2"].dropna()
    measured = {(week.year, week.month) for week in weekly.index}
    for at, filled in enumerate(series.filled.tolist()):
        year, month = divmod(1958 * 12 + 2 + at, 12)
        assert filled == ((year, month + 1) not in measured)
    steps = torch.full((525,), 1 / 12, dtype=torch.float64)  # every month is there once
    torch.testing.assert_close(series.times.diff(), steps)
    assert series.times[0].item() == pytest.approx(1958 + 2.5 / 12)
    gap = series.values[70:75]  # January and May 1964, and three months without a flask
    assert series.filled[70:75].tolist() == [False, True, True, True, False]
    torch.testing.assert_close(gap, torch.linspace(0, 1, 5).double() * (gap[4] - gap[0]) + gap[0])


def test_the_count_before_is_the_first_index_not_older(statsmodels) -> None:
    series = load_series("sunspots")
    assert series.count_before(1700) == 0
    assert series.times[series.count_before(1849.5)] == 1850
    assert series.count_before(3000) == len(series)


# --- for every data set --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "draw",
    [
        lambda generator: look_back_task(2, 5, 1, generator=generator).words,
        lambda generator: lookup_task(2, 5, 3, generator=generator).queries,
        lambda generator: recall_task(2, 3, generator=generator).values,
        lambda generator: periodic_words(3, generator=generator).words,
        lambda generator: embedded_repeat(3, generator=generator).words,
        lambda generator: shifted(IMAGES, generator=generator),
    ],
)
def test_a_generator_decides_and_leaves_the_global_numbers_alone(draw):
    state = torch.get_rng_state()
    one, again, other = (draw(torch.Generator().manual_seed(seed)) for seed in (5, 5, 6))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


IMAGES = torch.arange(1280.0).view(20, 8, 8)
SERIES = {"name": "x", "period": 2, "units": "m", "source": "nobody"}
NUMBERS, NONE = torch.arange(3.0), torch.zeros(3, dtype=torch.bool)
LOOK_BACK, LOOKUP, RECALL = (
    {"batch": 1, "length": 5, "distance": 2},
    {"batch": 1, "num_keys": 2, "d_key": 3},
    {"batch": 1, "num_pairs": 3},
)
LOGITS = r"logits: .*\(2, {}, 'num_words'\), got .*\(2, {}\)"
ONE_EACH = "at least 1 each, and fewer than 1797 together"


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sine_data(n_train=0), "n_train: expected at least 1, got 0"),
        (lambda: sine_data(noise=-0.5), r"noise: expected a standard deviation, .* got -0.5"),
        *[
            (lambda name=name: look_back_task(**(LOOK_BACK | {name: 0})), f"{name}: .* got 0")
            for name in ("batch", "length", "distance", "num_words")
        ],
        (lambda: look_back_task(1, 5, 5), "distance: expected less than length=5, got 5"),
        (lambda: look_back_task(2, 5, 2).loss(torch.zeros(2, 3, 20)), LOGITS.format(5, "3, 20")),
        (
            lambda: look_back_task(2, 5, 2).accuracy(torch.zeros(1, 5, 20)),
            "logits: expected one prediction for each word",
        ),
        *[
            (lambda name=name: lookup_task(**(LOOKUP | {name: -2})), f"{name}: expected .* got -2")
            for name in ("batch", "num_keys", "d_key", "num_labels", "noise", "reach")
        ],
        *[
            (
                lambda judge=judge: judge(lookup_task(2, 3, 4), torch.ones(2, 3, 1)),
                r"output: .* \(2, 3, 8\), got the shape \(2, 3, 1\)",
            )
            for judge in (LookupBatch.error, LookupBatch.accuracy)
        ],
        *[
            (lambda name=name: recall_task(**(RECALL | {name: 0})), f"{name}: .* 1, got 0")
            for name in ("batch", "num_pairs", "times")
        ],
        (lambda: recall_task(1, 3, num_keys=2), "num_keys: expected at least num_pairs=3, got 2"),
        (lambda: periodic_words(0), "batch: expected at least 1, got 0"),
        (lambda: periodic_words(1, shortest=0), "shortest: expected at least 1, got 0"),
        (lambda: periodic_words(1, shortest=9, longest=8), "from shortest=9 to num_words=32"),
        (lambda: periodic_words(1, longest=33), "from shortest=8 to num_words=32, got 33"),
        (lambda: embedded_repeat(1, segment=0), "segment: expected at least 1, got 0"),
        (lambda: embedded_repeat(1, segment=25), "segment: expected at most half of length=48"),
        (lambda: embedded_repeat(1, num_words=12), "segment: expected less than num_words=12"),
        *[
            (
                lambda name=name: getattr(periodic_words(2, 9), name)(torch.zeros(2, 9, 32)),
                LOGITS.format(8, "9, 32"),
            )
            for name in ("loss", "losses", "accuracy")
        ],
        (lambda: copy_with_gaps(0), "batch"),
        (lambda: BackcopyChain.draw(4), "num_triggers: expected less than 4, got 4"),
        (
            lambda: chain().excess(torch.zeros(1, 3, 32), chain().texts(1, 40)),
            "logits: expected one guess for each place",
        ),
        (
            lambda: Digits(torch.zeros(3, 8, 8), torch.tensor([1, 2])),
            "labels: expected one for each of 3 images, got 2",
        ),
        (lambda: digit_images().train.first(0), "from 1 to 1197, got 0"),
        (lambda: digit_images().train.first(1198), "from 1 to 1197, got 1198"),
        (lambda: digit_images(num_test=0), ONE_EACH),
        (lambda: digit_images(num_validation=0), ONE_EACH),
        (lambda: digit_images(num_test=1797), ONE_EACH),
        (
            lambda: digit_images().test.accuracy(torch.rand(1, 10)),
            "logits: expected one row for each of 360 images, got 1",
        ),
        (lambda: load_series("airline"), "name: expected one of sunspots, co2, got 'airline'"),
        (
            lambda: TimeSeries(values=NUMBERS, times=NUMBERS[:2], filled=NONE, **SERIES),
            "times: expected one for each of 3 values, got 2",
        ),
        (
            lambda: TimeSeries(values=NUMBERS / 0, times=NUMBERS, filled=NONE, **SERIES),
            "values: expected finite numbers",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
