"""BLEU by hand against sacrebleu, and D2L's variant against D2L's own lines."""

import collections
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_book.metrics import (
    brevity_penalty,
    corpus_bleu,
    d2l_bleu,
    ngram_matches,
    sentence_bleu,
    textbook_bleu,
)

sentences = st.lists(st.sampled_from(["a", "b", "c", "."]), min_size=1, max_size=9)
pairs = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=8)


def substrings(tokens: list[str], n: int) -> list[str]:
    return [" ".join(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


def d2l_by_definition(predicted: list[str], wanted: list[str], k: int) -> float:
    """The formula with every n-gram crossed off the reference once it is matched."""
    score = math.exp(min(0, 1 - len(wanted) / len(predicted)))
    for n in range(1, min(k, len(predicted)) + 1):
        left, matches = substrings(wanted, n), 0
        for ngram in substrings(predicted, n):
            if ngram in left:
                left.remove(ngram)
                matches += 1
        score *= math.pow(matches / (len(predicted) - n + 1), math.pow(0.5, n))
    return score


@pytest.mark.parametrize(
    ("prediction", "reference", "expected"),
    [
        ("il est paresseux .", "il est calme .", 0.658),
        ("va !", "va !", 1.0),
        ("j'ai perdu .", "j'ai perdu .", 1.0),
        ("je suis chez moi .", "je suis chez moi .", 1.0),
    ],
)
def test_the_four_sentences_have_their_known_scores(prediction, reference, expected) -> None:
    assert round(d2l_bleu(prediction, reference, k=2), 3) == expected
    assert d2l_bleu(prediction.split(), tuple(reference.split()), k=2) == pytest.approx(
        d2l_bleu(prediction, reference)
    )


def test_the_geometric_mean_of_the_same_precisions_is_a_half() -> None:
    prediction, reference = "il est paresseux .", "il est calme ."
    precisions = [ngram_matches(prediction, reference, n).precision for n in (1, 2)]
    assert precisions == [3 / 4, 1 / 3]
    assert textbook_bleu([prediction], [reference], k=2) == pytest.approx(0.5)
    standard = sentence_bleu(prediction.split(), reference.split(), max_order=2, smoothing="none")
    assert standard == pytest.approx(50)


@given(predicted=sentences, wanted=sentences, k=st.integers(1, 5))
def test_d2l_bleu_is_the_definition(predicted, wanted, k) -> None:
    expected = d2l_by_definition(predicted, wanted, k)
    assert d2l_bleu(predicted, wanted, k=k) == pytest.approx(expected)


@given(pairs=pairs, k=st.integers(1, 4))
def test_by_hand_is_what_sacrebleu_computes(pairs, k) -> None:
    predicted, wanted = map(list, zip(*pairs, strict=True))
    expected = corpus_bleu(predicted, wanted, max_order=k, smoothing="none")
    assert 100 * textbook_bleu(predicted, wanted, k=k) == pytest.approx(expected, abs=1e-9)


@given(predicted=sentences, wanted=sentences, n=st.integers(1, 5))
def test_matches_are_clipped(predicted, wanted, n) -> None:
    matches = ngram_matches(predicted, wanted, n)
    assert matches.total == max(0, len(predicted) - n + 1)
    ours, theirs = (collections.Counter(substrings(tokens, n)) for tokens in (predicted, wanted))
    assert matches.matches == sum(min(count, theirs[ngram]) for ngram, count in ours.items())
    assert matches.matches == ngram_matches(wanted, predicted, n).matches


def test_tokens_are_not_glued_together() -> None:
    assert ngram_matches(["a b", "c"], ["a", "b c"], 2).matches == 0


def test_only_the_short_pay_for_their_length() -> None:
    assert [brevity_penalty(n, 4) for n in (4, 5, 40)] == [1, 1, 1]
    assert brevity_penalty(3, 4) == pytest.approx(math.exp(-1 / 3))
    assert brevity_penalty(0, 4) == 0


def test_an_empty_prediction_scores_nothing() -> None:
    assert d2l_bleu("", "va !") == 0
    assert d2l_bleu([], ["va", "!"]) == 0
    assert textbook_bleu([()], [("va", "!")]) == 0


def test_wrong_input_is_one_clear_error() -> None:
    for call, message in [
        (lambda: d2l_bleu("va !", ""), "reference: expected at least one token, got none"),
        (lambda: d2l_bleu("va !", "va !", k=0), "k: expected 1 or more, got 0"),
        (lambda: ngram_matches("va !", "va !", 0), "n: expected 1 or more, got 0"),
        (lambda: textbook_bleu([], []), "predictions: expected at least one, got none"),
        (lambda: textbook_bleu(["va"], []), "one for each of 1 predictions, got 0"),
        (lambda: textbook_bleu(["va", "va"], ["va", ""]), "reference: expected at least one"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.usefixtures("unchecked")
def test_several_references_are_no_tokens() -> None:
    """The kind: an axis too many; a sentence was one token, and the score 0."""
    sentence = ("il", "est", "là")
    for call in (
        lambda: d2l_bleu(sentence, [sentence, sentence]),
        lambda: d2l_bleu([sentence], sentence),
        lambda: textbook_bleu([sentence], [[sentence]]),
        lambda: textbook_bleu([sentence], [[sentence, sentence]]),
        lambda: ngram_matches([1, 2], sentence, 1),
    ):
        with pytest.raises(TypeError, match=r"expected a text or its tokens, got .* among"):
            call()
