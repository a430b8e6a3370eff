"""The numbers are sacrebleu's; what is ours is how the sentences reach it."""

import logging
import math

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from attention_book.metrics import (
    bleu_by_length,
    bleu_signature,
    corpus_bleu,
    corpus_chrf,
    sentence_bleu,
)

sentences = st.lists(st.sampled_from(["a", "bé", "c", "."]), min_size=1, max_size=9)
pairs = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=8)


def joined(rows: list[list[str]]) -> list[str]:
    return [" ".join(row) for row in rows]


@given(pairs=pairs)
def test_the_numbers_are_sacrebleus(pairs) -> None:
    hypotheses, references = map(list, zip(*pairs, strict=True))
    texts = joined(hypotheses), [joined(references)]
    expected = sacrebleu.corpus_bleu(*texts, tokenize="none", force=True).score
    assert corpus_bleu(hypotheses, references) == expected
    assert corpus_chrf(hypotheses, references) == sacrebleu.corpus_chrf(*texts).score
    floor = sacrebleu.corpus_bleu(*texts, tokenize="none", smooth_method="floor", force=True)
    assert corpus_bleu(hypotheses, references, smoothing="floor") == floor.score


def test_references_may_be_several_and_of_different_number() -> None:
    hypotheses = [("je", "suis", "chez", "moi", "."), ("va", "-t'en", "vite", "!")]
    first = [("je", "suis", "à", "la", "maison", "."), ("va", "vite", "!")]
    assert corpus_bleu(hypotheses, [[r] for r in first]) == corpus_bleu(hypotheses, first)
    several = [[first[0], hypotheses[0]], [first[1]]]
    expected = sacrebleu.corpus_bleu(
        joined(hypotheses),
        [joined(first), [" ".join(hypotheses[0]), None]],
        tokenize="none",
        force=True,
    ).score
    assert corpus_bleu(hypotheses, several) == expected > corpus_bleu(hypotheses, first)
    assert corpus_chrf(hypotheses, several) > corpus_chrf(hypotheses, first)
    assert corpus_bleu(hypotheses, [list(reversed(r)) for r in several]) == expected
    assert sentence_bleu(hypotheses[0], several[0]) == pytest.approx(100)


def test_the_order_of_the_sentences_does_not_matter_but_their_match_does() -> None:
    hypotheses = [("il", "est", "calme", "."), ("je", "suis", "là", "."), ("va", "vite", "!")]
    assert corpus_bleu(hypotheses, hypotheses) == pytest.approx(100)
    assert corpus_chrf(hypotheses, hypotheses) == pytest.approx(100)
    assert corpus_bleu(hypotheses, hypotheses[::-1]) < 50
    assert corpus_bleu(hypotheses[::-1], hypotheses[::-1]) == pytest.approx(100)


def test_tokens_are_compared_as_they_are() -> None:
    """sacrebleu's own tokenizer would split off the marks, and find them on both sides."""
    split = sacrebleu.corpus_bleu(["va! vite!"], [["va! vas!"]], tokenize="13a")
    assert split.precisions[0] == pytest.approx(75)
    whole = corpus_bleu([("va!", "vite!")], [("va!", "vas!")], max_order=1)
    assert whole == pytest.approx(50)
    assert sentence_bleu(("VA", "!"), ("va", "!"), max_order=1) == pytest.approx(50)


def test_an_empty_translation_counts_and_matches_nothing() -> None:
    reference = ("je", "suis", "là", ".")
    assert corpus_bleu([()], [reference]) == 0
    full = corpus_bleu([reference, reference], [reference, reference])
    assert 0 < corpus_bleu([reference, ()], [reference, reference]) < full


def test_sacrebleu_says_nothing_about_the_tokens_it_is_given(caplog, capfd) -> None:
    many = [("il", "est", "calme", ".")] * 150
    with caplog.at_level(logging.DEBUG):
        corpus_bleu(many, many)
        corpus_chrf(many, many)
        sentence_bleu(many[0], many[0])
        bleu_by_length(many, many, [4] * 150, bins=(1, 9))
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def test_the_signature_says_what_was_done() -> None:
    version = sacrebleu.__version__
    assert bleu_signature() == (f"nrefs:1|case:mixed|eff:no|tok:none|smooth:exp|version:{version}")
    assert bleu_signature(num_references=3).startswith("nrefs:3|")
    with pytest.raises(ValueError, match="num_references: expected 1 or more, got 0"):
        bleu_signature(num_references=0)


# --- by length -------------------------------------------------------------------------------


@given(pairs=pairs, data=st.data())
def test_every_sentence_is_in_the_bin_of_its_length(pairs, data) -> None:
    hypotheses, references = map(list, zip(*pairs, strict=True))
    lengths = [len(hypothesis) for hypothesis in hypotheses]
    inner = data.draw(st.sets(st.integers(2, 9)))
    bins = bleu_by_length(hypotheses, references, lengths, bins=[1, *sorted(inner), 10])
    assert sum(bin.count for bin in bins) == len(pairs)
    assert [bin.low for bin in bins] == [1, *sorted(inner)]
    assert [bin.high + 1 for bin in bins] == [*sorted(inner), 10]
    for bin in bins:
        chosen = [pair for pair in pairs if bin.low <= len(pair[0]) <= bin.high]
        assert bin.count == len(chosen)
        if chosen:
            texts = [joined(side) for side in zip(*chosen, strict=True)]
            expected = sacrebleu.BLEU(tokenize="none", force=True, effective_order=True)
            assert bin.bleu == expected.corpus_score(texts[0], [texts[1]]).score
        else:
            assert math.isnan(bin.bleu)


def test_short_sentences_can_be_perfect_and_long_ones_are_counted_as_ever() -> None:
    short, long = [("va", "!")] * 3, [("je", "suis", "chez", "moi", ".")] * 2
    first, second = bleu_by_length(
        short + long, short + long[::-1], [2] * 3 + [5] * 2, bins=(2, 4, 6)
    )
    assert (first.bleu, second.bleu) == pytest.approx((100, 100))
    assert (first.middle, second.middle) == (2.5, 4.5)
    wrong = [("je", "suis", "à", "la", "maison", ".")] * 2
    [bin] = bleu_by_length(long, wrong, [5, 5], bins=(5, 6))
    assert bin.bleu == corpus_bleu(long, wrong)


# --- wrong input -----------------------------------------------------------------------------

VA = ("va", "!")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("metric", [corpus_bleu, corpus_chrf])
@pytest.mark.parametrize(
    ("hypotheses", "references", "error", "message"),
    [
        ([], [], ValueError, "hypotheses: expected at least one, got none"),
        ([VA, VA], [VA], ValueError, "one for each of 2 hypotheses, got 1"),
        ([VA], [VA, VA], ValueError, "one for each of 1 hypotheses, got 2"),
        ([VA, VA], [VA, ()], ValueError, "reference 1: expected at least one token, got none"),
        ([VA], [[VA, ()]], ValueError, "reference 0: expected at least one token, got none"),
        (["va !"], [VA], TypeError, "hypothesis 0: expected a sequence of tokens, got the string"),
        ([VA], ["va !"], TypeError, "reference 0: expected a sequence of tokens, got the string"),
        ([("va !",)], [VA], ValueError, "hypothesis 0: expected tokens without blanks, got 'va !'"),
        ([VA], [("va", "")], ValueError, "reference 0: expected tokens without blanks, got ''"),
        ([("va\u00a0!",)], [VA], ValueError, "hypothesis 0: expected tokens without blanks"),
    ],
)
def test_wrong_input_is_one_clear_error(metric, hypotheses, references, error, message) -> None:
    with pytest.raises(error, match=message):
        metric(hypotheses, references)


def test_wrong_options_and_bins_are_one_clear_error() -> None:
    with pytest.raises(ValueError, match="max_order: expected 1 or more, got 0"):
        corpus_bleu([VA], [VA], max_order=0)
    for lengths, bins, message in [
        ([2, 3], (1, 5), "lengths: expected one for each of 1 sentences, got 2"),
        ([2], (1,), r"bins: expected two or more rising numbers, got \(1,\)"),
        ([2], (1, 5, 5), "bins: expected two or more rising numbers"),
        ([5], (1, 5), "lengths: expected numbers from 1 to 4, got 5"),
        ([0], (1, 5), "lengths: expected numbers from 1 to 4, got 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            bleu_by_length([VA], [VA], lengths, bins=bins)
