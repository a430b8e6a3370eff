"""Links made of weights, and how near the weights are to gold."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.metrics import (
    alignment_scores,
    hard_alignment,
    offsets,
    uniform_weights,
    weight_on_gold,
)

NUM_TARGET, NUM_SOURCE = 5, 7
seeds = st.integers(0, 999)
golds = st.sets(
    st.tuples(st.integers(0, NUM_SOURCE - 1), st.integers(0, NUM_TARGET - 1)), max_size=12
)


def draw(seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(NUM_TARGET, NUM_SOURCE, generator=generator).softmax(dim=1)


@given(seed=seeds)
def test_every_target_word_is_linked_with_its_heaviest_source_word(seed) -> None:
    weights = draw(seed)
    links = hard_alignment(weights)
    assert sorted(j for _, j in links) == list(range(NUM_TARGET))
    for i, j in links:
        assert weights[j, i] == weights[j].max()


@given(seed=seeds, threshold=st.floats(0, 1))
def test_a_threshold_links_all_that_weigh_as_much(seed, threshold) -> None:
    weights = draw(seed)
    expected = {
        (i, j) for j in range(NUM_TARGET) for i in range(NUM_SOURCE) if weights[j, i] >= threshold
    }
    assert hard_alignment(weights, threshold=threshold) == expected


@given(seed=seeds)
def test_eos_is_looked_at_but_not_linked(seed) -> None:
    weights = draw(seed)
    expected = {(i, j) for i, j in hard_alignment(weights) if i < 6 and j < 4}
    assert hard_alignment(weights, ends_with_eos=True) == expected
    above = {(i, j) for i, j in hard_alignment(weights, threshold=0.2) if i < 6 and j < 4}
    assert hard_alignment(weights, threshold=0.2, ends_with_eos=True) == above


def test_the_links_of_a_permutation_are_the_permutation() -> None:
    order = torch.tensor([2, 0, 1, 4, 3])
    weights = torch.eye(5)[order]
    gold = {(int(i), j) for j, i in enumerate(order)}
    assert hard_alignment(weights) == gold
    assert alignment_scores(hard_alignment(weights), gold).error_rate == 0
    assert alignment_scores(hard_alignment(weights.T), gold).error_rate > 0
    assert offsets(weights, gold) == [0] * 5
    assert weight_on_gold(weights, gold) == 1


def test_of_equals_the_first_is_taken_and_of_nothing_none() -> None:
    weights = torch.tensor([[0.0, 0.5, 0.5], [0.0, 0.0, 0.0]])
    assert hard_alignment(weights) == {(1, 0)}
    assert hard_alignment(uniform_weights(4, 3)) == {(0, 0), (0, 1), (0, 2)}
    assert len(hard_alignment(uniform_weights(4, 3), threshold=0.25)) == 12


@given(seed=seeds, gold=golds)
def test_the_weight_on_gold_is_the_mean_of_what_lies_there(seed, gold) -> None:
    weights = draw(seed)
    found = weight_on_gold(weights, gold)
    rows = sorted({j for _, j in gold})
    if not rows:
        assert math.isnan(found)
        return
    at_gold = torch.zeros(NUM_TARGET, NUM_SOURCE)
    for i, j in gold:
        at_gold[j, i] = 1
    expected = (weights * at_gold).sum(dim=1)[rows].mean().item()
    assert found == pytest.approx(expected, abs=1e-6)
    share = weight_on_gold(uniform_weights(NUM_SOURCE, NUM_TARGET), gold)
    assert share == pytest.approx(len(gold) / len(rows) / NUM_SOURCE)


@given(seed=seeds, gold=golds)
def test_offsets_lead_back_to_the_nearest_gold_link(seed, gold) -> None:
    weights = draw(seed)
    found = offsets(weights, gold)
    assert len(found) == NUM_TARGET
    for j, offset in enumerate(found):
        linked = [i for i, target in gold if target == j]
        if not linked:
            assert offset is None
            continue
        best = int(weights[j].argmax())
        assert best - offset in linked
        assert abs(offset) == min(abs(best - i) for i in linked)
        if best + abs(offset) in linked and best - abs(offset) in linked:
            assert offset >= 0  # the left one counts


def test_a_shift_by_one_is_an_offset_of_one() -> None:
    gold = {(j, j) for j in range(5)}
    weights = torch.eye(7)[1:6]
    assert offsets(weights, gold) == [1] * 5
    assert offsets(weights.flip(1), {(6 - i, j) for i, j in gold}) == [-1] * 5
    assert offsets(weights[:2], {(0, 1)}) == [None, 2]


def test_eos_does_not_change_the_offsets_of_the_words() -> None:
    weights, gold = draw(8), {(0, 0), (3, 1), (2, 3)}
    longer = torch.nn.functional.pad(weights, (0, 1, 0, 1))
    assert offsets(longer, gold) == [*offsets(weights, gold), None]
    assert weight_on_gold(longer, gold) == weight_on_gold(weights, gold)


@pytest.mark.usefixtures("unchecked")
def test_wrong_input_is_one_clear_error() -> None:
    good = uniform_weights(3, 2)
    for bad, message in [
        (torch.rand(2, 3, 4), r"weights: expected the axes .* \(2, 3, 4\)"),
        (torch.rand(0, 3), r"weights: .* \(0, 3\)"),
        (good * torch.nan, "weights: expected numbers, got NaN"),
    ]:
        for call in (hard_alignment, lambda w: offsets(w, {(0, 0)})):
            with pytest.raises(ValueError, match=message):
                call(bad)
    for link in [(3, 0), (0, 2), (-1, 0), (0, -1)]:
        for call in (offsets, weight_on_gold):
            with pytest.raises(ValueError, match="gold: expected links within 3 source and 2 tar"):
                call(good, {link})
    with pytest.raises(ValueError, match="num_source: expected 1 or more, got 0"):
        uniform_weights(0, 2)
