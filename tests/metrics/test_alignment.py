"""Alignments: error rates of links, and of the links that weights imply."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.metrics import (
    AlignmentScores,
    alignment_scores,
    corpus_alignment_scores,
    diagonal_alignment,
    hard_alignment,
    offsets,
    uniform_weights,
    weight_on_gold,
)

# --- alignment ---------------------------------------------------------------------------------


links = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 6)), max_size=12)
corpora = st.lists(st.tuples(links, links, links), min_size=1, max_size=5)


def counted(corpus: list[tuple[frozenset, frozenset, frozenset]]) -> AlignmentScores:
    """Go through all pairs of all sentences and count."""
    A = S = in_S = in_P = 0
    for predicted, sure, possible in corpus:
        for link in itertools.product(range(5), range(7)):
            A += link in predicted
            S += link in sure
            in_S += link in predicted and link in sure
            in_P += link in predicted and (link in sure or link in possible)
    return AlignmentScores(
        precision=float(Fraction(in_P, A)) if A else 1.0,
        recall=float(Fraction(in_S, S)) if S else 1.0,
        error_rate=float(1 - Fraction(in_S + in_P, A + S)) if A + S else 0.0,
    )


def assert_same(found: AlignmentScores, expected: AlignmentScores) -> None:
    assert found.precision == pytest.approx(expected.precision)
    assert found.recall == pytest.approx(expected.recall)
    assert found.error_rate == pytest.approx(expected.error_rate, abs=1e-12)


def test_an_example_by_hand() -> None:
    """A house, two sure links and a doubtful article: |A|=4, |S|=3, |A∩S|=2, |A∩P|=3."""
    sure = {(1, 0), (2, 3), (3, 2)}
    possible = {(0, 0), (0, 1)}
    predicted = {(0, 0), (1, 0), (2, 3), (3, 1)}
    scores = alignment_scores(predicted, sure, possible)
    assert_same(scores, AlignmentScores(precision=3 / 4, recall=2 / 3, error_rate=1 - 5 / 7))


@given(corpus=corpora)
def test_the_scores_are_those_counted_one_by_one(corpus) -> None:
    predicted, sure, possible = map(list, zip(*corpus, strict=True))
    assert_same(corpus_alignment_scores(predicted, sure, possible), counted(corpus))
    assert_same(
        corpus_alignment_scores(predicted, sure), counted([(a, s, s) for a, s, _ in corpus])
    )
    if len(corpus) == 1:
        assert_same(alignment_scores(predicted[0], sure[0], possible[0]), counted(corpus))


@given(gold=links, predicted=links)
def test_gold_itself_has_no_error_and_the_rate_is_one_minus_f(gold, predicted) -> None:
    assert_same(alignment_scores(gold, gold), AlignmentScores(1.0, 1.0, 0.0))
    scores = alignment_scores(predicted, gold)
    assert 0 <= scores.error_rate <= 1
    if gold and predicted and gold & predicted:
        p, r = scores.precision, scores.recall
        assert scores.error_rate == pytest.approx(1 - 2 * p * r / (p + r))


@given(sure=links, possible=links, extra=links)
def test_all_between_sure_and_possible_is_without_error(sure, possible, extra) -> None:
    assert alignment_scores(sure | (possible & extra), sure, possible).error_rate == 0


def test_a_missing_side_is_no_division_by_zero() -> None:
    link = {(0, 0)}
    assert alignment_scores(set(), link) == AlignmentScores(1.0, 0.0, 1.0)
    assert alignment_scores(link, set()) == AlignmentScores(0.0, 1.0, 1.0)
    assert alignment_scores(link, set(), link) == AlignmentScores(1.0, 1.0, 0.0)
    assert alignment_scores(set(), set()) == AlignmentScores(1.0, 1.0, 0.0)


def test_the_same_link_in_two_sentences_is_two_links() -> None:
    link, other = {(0, 0)}, {(1, 1)}
    scores = corpus_alignment_scores([link, link], [link, other])
    assert scores == AlignmentScores(0.5, 0.5, 0.5)


@given(num_source=st.integers(1, 40), num_target=st.integers(1, 40))
def test_the_diagonal_is_stretched(num_source, num_target) -> None:
    diagonal = sorted(diagonal_alignment(num_source, num_target), key=lambda link: link[1])
    sources = [i for i, _ in diagonal]
    assert [j for _, j in diagonal] == list(range(num_target))
    assert sources == sorted(sources)
    assert 0 <= sources[0] <= sources[-1] < num_source
    if num_source == num_target:
        assert sources == list(range(num_target))
    if num_target >= num_source:
        assert set(sources) == set(range(num_source))
    for i, j in diagonal:  # the middle of the target word lies within the source word
        middle = Fraction(2 * j + 1, 2 * num_target)
        assert Fraction(i, num_source) <= middle < Fraction(i + 1, num_source)


def test_wrong_input_is_one_clear_error() -> None:
    link = frozenset({(0, 0)})
    for call, message in [
        (lambda: corpus_alignment_scores([link], []), "sure: .* each of 1 sentences, got 0"),
        (lambda: corpus_alignment_scores([link], [link], []), "possible: .* of 1 .*, got 0"),
        (lambda: corpus_alignment_scores([], []), "predicted: expected at least one sentence"),
        (lambda: diagonal_alignment(0, 3), "num_source: expected 1 or more, got 0"),
        (lambda: diagonal_alignment(3, 0), "num_target: expected 1 or more, got 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.usefixtures("unchecked")
def test_a_corpus_of_links_is_no_sentence_and_the_other_way_round() -> None:
    """The kind: an axis too many or too few, taken where sizes agree.

    Two sentences with two links each went for two links.
    """
    sentence = [(0, 0), (1, 1)]
    corpus = [set(sentence), {(0, 1), (1, 0)}]
    for call, name in [
        (lambda: alignment_scores(corpus, corpus), "predicted"),
        (lambda: alignment_scores(sentence, corpus), "sure"),
        (lambda: alignment_scores(sentence, sentence, corpus), "possible"),
        (lambda: corpus_alignment_scores(sentence, sentence), "predicted"),
        (lambda: corpus_alignment_scores([[(0, 0, 0)]], [sentence]), "predicted"),
        (lambda: corpus_alignment_scores([[(0.5, 0)]], [sentence]), "predicted"),
        (lambda: corpus_alignment_scores([["01"]], [sentence]), "predicted"),
    ]:
        message = (
            rf"{name}: expected links \(source, target\) for each sentence, got .* in sentence"
        )
        with pytest.raises(ValueError, match=message):
            call()
    lists = [[list(link) for link in sentence]]
    assert corpus_alignment_scores(lists, [np.array(sentence)]).error_rate == 0


# --- aligned weights ---------------------------------------------------------------------------


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
def test_weights_of_another_shape_are_one_clear_error() -> None:
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
