"""Scores of whole texts: sacrebleu's own numbers, and the laws that they obey."""

import random

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from attention_book.metrics import corpus_bleu
from attention_book.runs.scoring import compare, score
from attention_book.text import phrasebook

REFERENCES = [" ".join(pair.target).capitalize() for pair in phrasebook()[200:280]]


def worsened(texts: list[str], share: float, seed: int = 0) -> list[str]:
    """Drop some of the words."""
    draw = random.Random(seed)
    return [" ".join(word for word in text.split() if draw.random() > share) for text in texts]


WORSE, WORST = worsened(REFERENCES, 0.2), worsened(REFERENCES, 0.5)


def test_bleu_and_chrf_are_sacrebleus_with_its_intervals_and_signatures() -> None:
    found = score(WORSE, REFERENCES, language="fr", resamples=200)
    bleu, chrf = BLEU(tokenize="13a"), CHRF()
    for ours, metric in ((found.bleu, bleu), (found.chrf, chrf)):
        theirs = metric.corpus_score(WORSE, [REFERENCES], n_bootstrap=200)
        assert ours.value == theirs.score
        assert (ours.mean, ours.margin) == (theirs._mean, theirs._ci)
        assert ours.signature == str(metric.get_signature())
        assert str(ours) in theirs.format(width=1, score_only=True)
    assert "bs:200" in found.bleu.signature


def test_without_resamples_there_is_no_interval() -> None:
    found = score(WORSE, REFERENCES, resamples=0)
    assert found.bleu.mean is found.bleu.margin is None
    assert "bs:" not in found.bleu.signature
    assert str(found.bleu) == f"{found.bleu.value:.1f}"


def test_the_order_of_the_sentences_does_not_matter() -> None:
    turned = score(WORSE[::-1], REFERENCES[::-1], resamples=0)
    assert turned.bleu.value == pytest.approx(score(WORSE, REFERENCES, resamples=0).bleu.value)


def test_chinese_is_cut_into_characters() -> None:
    found = score(["我在读书。"], ["我在看书。"], language="zh", resamples=0)
    assert "tok:zh" in found.bleu.signature
    assert "tok:zh" in score(["好"], ["好"], language="zh-TW", resamples=0).bleu.signature
    assert "tok:char" in score(["本"], ["本"], language="ja", resamples=0).bleu.signature


def test_the_bleu_of_tokens_is_the_books_own() -> None:
    tokens = [[text.lower().split() for text in side] for side in (WORSE, REFERENCES)]
    found = score(WORSE, REFERENCES, tokens=(tokens[0], tokens[1]), resamples=0)
    assert found.tokenized_bleu is not None
    assert found.tokenized_bleu.value == pytest.approx(corpus_bleu(*tokens))
    capitals = [[[word.upper() for word in text] for text in side] for side in tokens]
    shouted = score(WORSE, REFERENCES, tokens=(capitals[0], capitals[1]), resamples=0)
    assert shouted.tokenized_bleu is not None
    assert shouted.tokenized_bleu.value == found.tokenized_bleu.value, "capitals do not count"


def test_each_sentence_is_in_the_bin_of_its_length() -> None:
    lengths = [1, 5, 6, 10, 50, 51, 400] + [7] * (len(REFERENCES) - 7)
    found = score(WORSE, REFERENCES, lengths=lengths, resamples=0).by_length
    counts = {(each.low, each.high): each.count for each in found}
    assert counts == {(1, 5): 2, (6, 10): len(REFERENCES) - 5, (31, 50): 1, (51, None): 2}
    middle = [row for row, length in enumerate(lengths) if 6 <= length <= 10]
    alone = BLEU(effective_order=True).corpus_score(
        [WORSE[row] for row in middle], [[REFERENCES[row] for row in middle]]
    )
    assert found[1].bleu == alone.score


def test_a_single_bin_has_the_score_of_the_whole() -> None:
    found = score(WORSE, REFERENCES, lengths=[7] * len(WORSE), resamples=0)
    assert [each.bleu for each in found.by_length] == [pytest.approx(found.bleu.value)]


def test_a_copy_is_perfect_and_nothing_is_worth_nothing() -> None:
    assert score(REFERENCES, REFERENCES, resamples=0).bleu.value == pytest.approx(100)
    nothing = score([""] * len(REFERENCES), REFERENCES, resamples=0)
    assert (nothing.bleu.value, nothing.length_ratio) == (0, 0)


def test_a_clear_difference_is_not_chance_and_a_copy_makes_none() -> None:
    clear = compare(WORST, WORSE, REFERENCES, resamples=200)
    assert clear.difference > 10
    assert clear.p_value < 0.05
    turned = compare(WORSE, WORST, REFERENCES, resamples=200)
    assert turned.difference == -clear.difference
    assert turned.p_value == clear.p_value
    assert compare(WORSE, WORSE, REFERENCES, resamples=200).p_value == 1


def test_two_like_systems_cannot_be_told_apart() -> None:
    other = worsened(REFERENCES, 0.2, seed=1)
    assert compare(WORSE, other, REFERENCES, resamples=200).p_value > 0.05


def test_many_sentences_are_resampled_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attention_book.runs.scoring._MOST_RESAMPLED", 120 * len(WORSE))
    assert "bs:120" in score(WORSE, REFERENCES).bleu.signature


@pytest.mark.parametrize(("one", "other"), [(WORSE, WORSE[1:]), ([], [])])
def test_other_numbers_of_sentences_are_refused(one: list[str], other: list[str]) -> None:
    with pytest.raises(ValueError, match="expected"):
        score(one, other)
    with pytest.raises(ValueError, match="expected"):
        compare(one, one, other)
    with pytest.raises(ValueError, match="lengths"):
        score(WORSE, REFERENCES, lengths=[1])


def test_without_capitals_they_do_not_count_and_the_signature_says_so():
    made, wanted = ["ein mann liest ein buch ."], ["Ein Mann liest ein Buch ."]
    plain, lower = (
        score(made, wanted, language="de", lowercase=lowercase, lengths=[6], resamples=0)
        for lowercase in (False, True)
    )
    assert plain.bleu.value < 50 < 99 < lower.bleu.value
    assert plain.chrf.value < 99 < lower.chrf.value
    assert plain.by_length[0].bleu < 99 < lower.by_length[0].bleu
    assert "case:mixed" in plain.bleu.signature
    assert "case:lc" in lower.bleu.signature
    same = compare(made, wanted, wanted, language="de", lowercase=True, resamples=10)
    assert same.first.value == same.second.value
