"""Och and Ney's scores by hand and by brute force; the diagonal."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_book.metrics import (
    AlignmentScores,
    alignment_scores,
    corpus_alignment_scores,
    diagonal_alignment,
)

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
