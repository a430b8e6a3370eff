"""Data sets: every task asks what it says, and a guess is judged by what was asked."""

import builtins
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
    HardAttention,
    LocalAttention,
    RunningMean,
    reinforce_surrogate,
)
from attention_book.course.datasets import (
    BackcopyChain,
    Digits,
    LookBackBatch,
    LookupBatch,
    RepeatedBatch,
    TimeSeries,
    copy_once,
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


def test_without_noise_the_points_lie_on_the_curve() -> None:
    data = sine_data(n_train=20, noise=0.0)
    expected = [2 * math.sin(x) + x**0.8 for x in data.x_train.tolist()]
    assert data.y_train.tolist() == pytest.approx(expected, abs=1e-5)


def test_wrong_sizes_of_the_curve_are_named() -> None:
    with pytest.raises(ValueError, match="n_train: expected at least 1, got 0"):
        sine_data(n_train=0)
    with pytest.raises(ValueError, match=r"noise: expected a standard deviation, .* got -0.5"):
        sine_data(noise=-0.5)


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


def test_the_same_generator_draws_the_same_words() -> None:
    draws = [look_back_task(2, 5, 1, generator=torch.Generator().manual_seed(3)) for _ in range(2)]
    assert torch.equal(draws[0].words, draws[1].words)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch": 0}, "batch: expected at least 1, got 0"),
        ({"length": 0}, "length: expected at least 1, got 0"),
        ({"distance": 0}, "distance: expected at least 1, got 0"),
        ({"num_words": 0}, "num_words: expected at least 1, got 0"),
        ({"distance": 5}, "distance: expected less than length=5, got 5"),
    ],
)
def test_sizes_without_a_question_are_named(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        look_back_task(**({"batch": 1, "length": 5, "distance": 2} | arguments))


@pytest.mark.usefixtures("unchecked")
def test_predictions_for_other_places_are_named() -> None:
    task = look_back_task(2, 5, 2)
    with pytest.raises(ValueError, match=r"logits: .*\(2, 5, 'num_words'\), got .*\(2, 3, 20\)"):
        task.loss(torch.zeros(2, 3, 20))
    with pytest.raises(ValueError, match="logits: expected one prediction for each word"):
        task.accuracy(torch.zeros(1, 5, 20))


# --- a table -----------------------------------------------------------------------------------


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


@pytest.mark.parametrize("reach", [None, 1])
def test_the_answers_are_spread_evenly_over_the_positions_in_reach(reach: int | None) -> None:
    set_seed(0)
    index = lookup_task(6000, 4, 1, reach=reach).answer_index
    for i in range(4):
        within = [j for j in range(4) if reach is None or abs(i - j) <= reach]
        shares = [(index[:, i] == j).float().mean().item() for j in within]
        assert shares == pytest.approx([1 / len(within)] * len(within), abs=0.03)


def test_all_keys_have_one_length() -> None:
    lengths = lookup_task(3, 5, 7).keys.norm(dim=-1)
    torch.testing.assert_close(lengths, torch.full((3, 5), math.sqrt(7)))


def test_the_noise_has_the_size_that_was_asked_for() -> None:
    set_seed(0)
    task = lookup_task(500, 8, 8, noise=0.3, rotated=False)
    asked_for = task.keys.take_along_dim(task.answer_index.unsqueeze(-1), dim=1)
    assert (task.queries - asked_for).std().item() == pytest.approx(0.3, abs=0.01)


def test_a_generator_leaves_the_global_random_numbers_alone() -> None:
    set_seed(0)
    expected = torch.rand(3)
    set_seed(0)
    first, second = (
        lookup_task(2, 5, 3, generator=torch.Generator().manual_seed(7)) for _ in range(2)
    )
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(first.queries, second.queries)


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


def bilinear() -> BilinearScore:
    set_seed(0)
    return BilinearScore(d_q=8, d_k=8)


def train(attention: torch.nn.Module, *, reach: int | None = None) -> float:
    """Train on the error itself; return the accuracy on fresh tables."""

    def loss() -> Tensor:
        task = lookup_task(16, 8, 8, reach=reach)
        return task.error(attention(task.queries, task.keys, task.values)).mean()

    return accuracy_after(loss, attention, reach)


def accuracy_after(loss_fn, attention: torch.nn.Module, reach: int | None = None) -> float:
    for _ in descend(loss_fn, torch.optim.Adam(attention.parameters(), lr=0.05), steps=150):
        pass
    task = lookup_task(200, 8, 8, reach=reach)
    return task.accuracy(attention(task.queries, task.keys, task.values))


def untrained_accuracy(attention: torch.nn.Module, *, rotated: bool) -> float:
    task = lookup_task(200, 8, 8, rotated=rotated)
    return task.accuracy(attention(task.queries, task.keys, task.values))


def test_soft_attention_finds_the_answer_and_the_map() -> None:
    score = bilinear()
    assert untrained_accuracy(Attention(score), rotated=True) < 0.4
    assert train(Attention(score)) > 0.95
    learned, true = score.W.flatten(), lookup_map(8).flatten()
    assert torch.cosine_similarity(learned, true, dim=0) > 0.95


def test_straight_through_finds_the_answer() -> None:
    assert train(HardAttention(bilinear(), choice="sample", straight_through=True)) > 0.95


@pytest.mark.parametrize("with_baseline", [False, True])
def test_reinforce_finds_the_answer(with_baseline: bool) -> None:
    attention, baseline = HardAttention(bilinear()), RunningMean()

    def surrogate() -> Tensor:
        task = lookup_task(16, 8, 8)
        drawn = attention.sample(task.queries, task.keys, task.values)
        error = task.error(drawn.output)
        value = baseline.value if with_baseline else 0.0
        baseline.update(error)
        return reinforce_surrogate(drawn.log_prob, error, baseline=value)

    assert accuracy_after(surrogate, attention) > 0.9


def test_local_attention_finds_what_is_near_and_misses_what_is_not() -> None:
    near = train(LocalAttention(bilinear(), radius=2), reach=2)
    anywhere = train(LocalAttention(bilinear(), radius=2))
    assert near > 0.95
    assert anywhere < 0.75


def test_the_plain_dot_product_is_right_only_without_the_rotation() -> None:
    attention = Attention(DotScore())
    assert untrained_accuracy(attention, rotated=True) < 0.4
    assert untrained_accuracy(attention, rotated=False) > 0.9


# --- wrong input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch": 0}, "batch: expected at least 1, got 0"),
        ({"num_keys": 0}, "num_keys: expected at least 1, got 0"),
        ({"d_key": -2}, "d_key: expected at least 1, got -2"),
        ({"num_labels": 0}, "num_labels: expected at least 1, got 0"),
        ({"noise": -0.1}, "noise: expected a standard deviation, 0 or more, got -0.1"),
        ({"reach": -1}, "reach: expected a distance, 0 or more, or None, got -1"),
    ],
)
def test_wrong_sizes_of_the_task_are_named(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lookup_task(**({"batch": 1, "num_keys": 2, "d_key": 3} | arguments))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("judge", [LookupBatch.error, LookupBatch.accuracy])
def test_an_output_of_another_shape_is_named(judge) -> None:
    task = lookup_task(2, 3, 4)
    with pytest.raises(ValueError, match=r"output: .* \(2, 3, 8\), got the shape \(2, 3, 1\)"):
        judge(task, torch.ones(2, 3, 1))


# --- recall ------------------------------------------------------------------------------------


def drawn(**options):
    set_seed(3)
    return recall_task(7, 5, num_keys=11, num_values=13, **options)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_every_key_is_written_so_often_and_asked_for_once(times):
    task = drawn(times=times)
    assert task.keys.shape == task.values.shape == (7, 5 * times)
    for keys, questions in zip(task.keys.tolist(), task.questions.tolist(), strict=True):
        assert sorted(keys) == sorted(questions * times)
        assert len(set(questions)) == 5
    assert task.values.max() < 13


@pytest.mark.parametrize("times", [1, 2, 3])
def test_the_answer_is_the_last_value_written_under_the_key(times):
    task = drawn(times=times)
    for row in range(7):
        memory = dict(zip(task.keys[row].tolist(), task.values[row].tolist(), strict=True))
        expected = [memory[key] for key in task.questions[row].tolist()]
        assert task.answer[row].tolist() == expected


def test_orders_and_keys_differ_from_sequence_to_sequence():
    task = recall_task(300, 4, times=2, num_keys=6, num_values=3)
    assert len({tuple(row) for row in task.keys.tolist()}) > 280
    first = task.keys[:, 0].bincount(minlength=6)
    assert first.min() > 25  # each of six keys about 50 times
    assert task.answer.flatten().bincount().min() > 300  # each of three values about 400 times


def test_a_generator_decides_and_the_global_numbers_stay():
    one = recall_task(2, 3, generator=torch.Generator().manual_seed(5))
    state = torch.random.get_rng_state()
    two = recall_task(2, 3, generator=torch.Generator().manual_seed(5))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.equal(one.keys, two.keys)
    assert torch.equal(one.values, two.values)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"batch": 0}, "batch: expected at least 1, got 0"),
        ({"num_pairs": 0}, "num_pairs: expected at least 1, got 0"),
        ({"times": 0}, "times: expected at least 1, got 0"),
        ({"num_keys": 2}, "num_keys: expected at least num_pairs=3, got 2"),
    ],
)
def test_more_pairs_than_keys_are_named(sizes, message):
    with pytest.raises(ValueError, match=message):
        recall_task(**({"batch": 1, "num_pairs": 3} | sizes))


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


@pytest.mark.parametrize("draw", [periodic_words, embedded_repeat])
def test_the_same_generator_draws_the_same(draw):
    first, again, other = (
        draw(3, generator=torch.Generator().manual_seed(seed)).words for seed in (5, 5, 6)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: periodic_words(0), "batch: expected at least 1, got 0"),
        (lambda: periodic_words(1, shortest=0), "shortest: expected at least 1, got 0"),
        (lambda: periodic_words(1, shortest=9, longest=8), "from shortest=9 to num_words=32"),
        (lambda: periodic_words(1, longest=33), "from shortest=8 to num_words=32, got 33"),
        (lambda: embedded_repeat(1, segment=0), "segment: expected at least 1, got 0"),
        (lambda: embedded_repeat(1, segment=25), "segment: expected at most half of length=48"),
        (lambda: embedded_repeat(1, num_words=12), "segment: expected less than num_words=12"),
    ],
)
def test_wrong_sizes_are_named(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


@pytest.mark.usefixtures("unchecked")
def test_predictions_for_other_words_are_named():
    batch = periodic_words(2, 9)
    for call in (batch.loss, batch.losses, batch.accuracy):
        with pytest.raises(
            ValueError, match=r"logits: .*\(2, 8, 'num_words'\), got .*\(2, 9, 32\)"
        ):
            call(torch.zeros(2, 9, 32))


# --- gaps --------------------------------------------------------------------------------------


def test_what_is_known_follows_its_predecessor_again():
    texts = copy_with_gaps(50, 64)
    for words, known in zip(texts.words.tolist(), texts.known.tolist(), strict=True):
        for place in range(64):
            if known[place]:
                earlier = words[: place - 1].index(words[place - 1])
                assert words[earlier + 1] == words[place] < 32


def test_the_first_of_a_list_and_fillers_are_not_known():
    texts = copy_with_gaps(50, 64)
    assert not texts.known[texts.words >= 32].any()
    assert not texts.known[:, :9].any()
    assert texts.known.any(dim=1).all()


def test_words_come_twice_with_fillers_between():
    texts = copy_once(20, 100, num_words=12)
    assert torch.equal(texts.words[:, :12], texts.words[:, -12:])
    assert (texts.words[:, 12:-12] >= 32).all()
    assert texts.known.sum() == 20 * 11


def test_texts_without_room_are_refused():
    with pytest.raises(ValueError, match=r"num_words: expected at most 4, .* got 5"):
        copy_once(1, 9, num_words=5)
    with pytest.raises(ValueError, match="batch"):
        copy_with_gaps(0)


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


def test_refused():
    with pytest.raises(ValueError, match="num_triggers: expected less than 4, got 4"):
        BackcopyChain.draw(4)
    with pytest.raises(ValueError, match="logits: expected one guess for each place"):
        chain().excess(torch.zeros(1, 3, 32), chain().texts(1, 40))


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


def test_no_ink_comes_in_at_the_other_side():
    images = torch.zeros(200, 5, 7)
    images[:, 0, 0] = 1.0
    assert (shifted(images)[:, 2:, :].sum() + shifted(images)[:, :, 2:].sum()) == 0


def test_a_generator_leaves_the_global_numbers_alone_and_repeats():
    images = torch.rand(20, 8, 8)
    before = torch.get_rng_state()
    one, two = (shifted(images, generator=torch.Generator().manual_seed(4)) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one, two)


def test_accuracy_counts_the_largest_logits():
    digits = Digits(torch.zeros(4, 8, 8), torch.tensor([2, 0, 1, 1]))
    logits = torch.eye(3)[[2, 0, 1, 2]]
    assert digits.accuracy(logits) == 0.75


@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named(splits):
    with pytest.raises(ValueError, match="labels: expected one for each of 3 images, got 2"):
        Digits(torch.zeros(3, 8, 8), torch.tensor([1, 2]))
    for count in (0, 1198):
        with pytest.raises(ValueError, match=f"from 1 to 1197, got {count}"):
            splits.train.first(count)
    for sizes in ({"num_test": 0}, {"num_validation": 0}, {"num_test": 1797}):
        with pytest.raises(ValueError, match="at least 1 each, and fewer than 1797 together"):
            digit_images(**sizes)


def test_without_scikit_learn_one_error_says_what_to_install(monkeypatch):
    def refuse(name, *args, **kwargs):
        if name.startswith("sklearn"):
            raise ImportError(name)
        return really(name, *args, **kwargs)

    really = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r'scikit-learn: .* "attention-book\[data\] @ git'):
        digit_images()


def test_accuracy_wants_logits_for_every_image(splits):
    with pytest.raises(ValueError, match="logits: expected one row for each of 360 images, got 1"):
        splits.test.accuracy(torch.rand(1, 10))


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


def test_every_month_is_there_once(statsmodels) -> None:
    times = load_series("co2").times
    torch.testing.assert_close(times.diff(), torch.full((525,), 1 / 12, dtype=torch.float64))
    assert times[0].item() == pytest.approx(1958 + 2.5 / 12)


def test_filled_months_are_those_without_a_measurement_and_lie_on_a_straight_line(
    statsmodels,
) -> None:
    series = load_series("co2")
    weekly = statsmodels.co2.load_pandas().data["co2"].dropna()
    measured = {(week.year, week.month) for week in weekly.index}
    for at, filled in enumerate(series.filled.tolist()):
        year, month = divmod(1958 * 12 + 2 + at, 12)
        assert filled == ((year, month + 1) not in measured)
    gap = series.values[70:75]  # January and May 1964, and three months without a flask
    assert series.filled[70:75].tolist() == [False, True, True, True, False]
    torch.testing.assert_close(gap, torch.linspace(0, 1, 5).double() * (gap[4] - gap[0]) + gap[0])


def test_the_count_before_is_the_first_index_not_older(statsmodels) -> None:
    series = load_series("sunspots")
    assert series.count_before(1700) == 0
    assert series.times[series.count_before(1849.5)] == 1850
    assert series.count_before(3000) == len(series)


@pytest.mark.usefixtures("unchecked")
def test_another_name_is_refused(statsmodels) -> None:
    with pytest.raises(ValueError, match=r"name: expected one of sunspots, co2, got 'airline'"):
        load_series("airline")  # type: ignore[arg-type]


def test_without_statsmodels_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels", None)
    with pytest.raises(ImportError, match=r'statsmodels: .* "attention-book\[data\] @ git'):
        load_series("co2")


@pytest.mark.usefixtures("unchecked")
def test_parts_that_do_not_fit_are_refused() -> None:
    parts = {"name": "x", "period": 2, "units": "m", "source": "nobody"}
    numbers, none = torch.arange(3.0), torch.zeros(3, dtype=torch.bool)
    with pytest.raises(ValueError, match="times: expected one for each of 3 values, got 2"):
        TimeSeries(values=numbers, times=numbers[:2], filled=none, **parts)
    with pytest.raises(ValueError, match="values: expected finite numbers"):
        TimeSeries(values=numbers / 0, times=numbers, filled=none, **parts)
