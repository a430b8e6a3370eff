"""BLEU and chrF against counting by hand and against sacrebleu; edit distance."""

import collections
import logging
import math
from functools import cache

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from attention_book.metrics import (
    bleu_by_length,
    bleu_signature,
    brevity_penalty,
    corpus_bleu,
    corpus_chrf,
    d2l_bleu,
    edit_distance,
    ngram_matches,
    sentence_bleu,
    textbook_bleu,
)

# --- ngrams ------------------------------------------------------------------------------------


some_sentences = st.lists(st.sampled_from(["a", "b", "c", "."]), min_size=1, max_size=9)
some_pairs = st.lists(st.tuples(some_sentences, some_sentences), min_size=1, max_size=8)


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


@pytest.mark.differential
@given(predicted=some_sentences, wanted=some_sentences, k=st.integers(1, 5))
def test_d2l_bleu_is_the_definition(predicted, wanted, k) -> None:
    expected = d2l_by_definition(predicted, wanted, k)
    assert d2l_bleu(predicted, wanted, k=k) == pytest.approx(expected)


@pytest.mark.differential
@given(some_pairs=some_pairs, k=st.integers(1, 4))
def test_by_hand_is_what_sacrebleu_computes(some_pairs, k) -> None:
    predicted, wanted = map(list, zip(*some_pairs, strict=True))
    expected = corpus_bleu(predicted, wanted, max_order=k, smoothing="none")
    assert 100 * textbook_bleu(predicted, wanted, k=k) == pytest.approx(expected, abs=1e-9)


@given(predicted=some_sentences, wanted=some_sentences, n=st.integers(1, 5))
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


def test_counts_of_nothing_are_one_clear_error() -> None:
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


# --- bleu --------------------------------------------------------------------------------------


sentences = st.lists(st.sampled_from(["a", "bé", "c", "."]), min_size=1, max_size=9)
pairs = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=8)


def joined(rows: list[list[str]]) -> list[str]:
    return [" ".join(row) for row in rows]


@pytest.mark.differential
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


@pytest.mark.differential
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


# --- the layout of the references ------------------------------------------------------------

# Two people translate three sentences; the third is like the first.
FIRST = [("je", "suis", "là", "."), ("va", "vite", "!"), ("je", "suis", "ici", ".")]
SECOND = [("moi", "je", "suis", "là", "."), ("vas", "-y", "vite", "!"), ("je", "suis", "ici", "!")]
THIRD = [("là", "je", "suis", "."), ("vite", "va", "donc", "!"), ("ici", "je", "suis", ".")]
METRICS = [
    corpus_bleu,
    corpus_chrf,
    lambda h, r: bleu_by_length(h, r, [1] * len(h), bins=(1, 2)),
]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("hypotheses", "sets"),
    [
        (FIRST[:2], [FIRST[:2], SECOND[:2]]),
        (SECOND[:2], [FIRST[:2], SECOND[:2]]),
        (FIRST, [FIRST, SECOND, THIRD]),
        ([THIRD[0], ("va", "donc", "vite", "!"), SECOND[2]], [FIRST, SECOND, THIRD]),
        ([FIRST[0], ()], [[THIRD[0], FIRST[1]], [FIRST[0], SECOND[1]]]),
        ([("a", "b"), ("c", "d")], [[("a", "b"), ("c", "d")], [("e", "f"), ("g", "h")]]),
    ],
)
def test_references_set_by_set_are_refused_and_right_when_turned(metric, hypotheses, sets) -> None:
    """The kind: two axes that can be exchanged where sizes agree; another number, no word."""
    with pytest.raises(ValueError, match=r"look like sets, as sacrebleu .*list\(zip\(\*references"):
        metric(hypotheses, sets)
    metric(hypotheses, list(zip(*sets, strict=True)))  # the advice, followed
    metric(hypotheses, [[*sets[0], sets[0][0]], *sets[1:]])  # and the other one


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("metric", METRICS[:2])
def test_other_numbers_of_sets_say_the_layout_too(metric) -> None:
    for count in (1, 2):
        sets = [FIRST, SECOND][:count]
        message = (
            rf"for each of 3 hypotheses, got {count}; .*turn them: list\(zip\(\*references\)\)"
        )
        with pytest.raises(ValueError, match=message):
            metric(FIRST, sets)
        assert metric(FIRST, list(zip(*sets, strict=True))) == pytest.approx(100)
    for references in ([FIRST[0]], [["a", "b", "c"]], []):
        with pytest.raises(ValueError, match=r"for each of 3 hypotheses, got [01]$"):
            metric(FIRST, references)
    with pytest.raises(TypeError, match="reference 0: expected a sequence of tokens, got None"):
        metric(FIRST[:1], [[FIRST[0], None]])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("hypotheses", "references"),
    [
        # Short and alike: the same references for both, in either order; a swap of two answers.
        (["oui .", "oui ."], [["oui .", "si ."], ["oui .", "si ."]]),
        (["oui .", "si ."], [["oui .", "si ."], ["si .", "oui ."]]),
        (["va !", "oui ."], [["oui .", "si ."], ["va !", "pars !"]]),
        (["non .", "x"], [["oui .", "si ."], ["non .", "nenni ."]]),
        # Sentences of one pattern: another's reference, word for word, and one's own.
        (["il est riche .", "il est riche ."],
         [["il est calme .", "celui-ci reste serein ."],
          ["il est riche .", "celui-ci reste aisé ."]]),
        # Nothing matches anywhere; all is empty; all is the same.
        (["a b", "c d"], [["e f", "g h"], ["i j", "k l"]]),
        (["", ""], [["a", "b"], ["c", "d"]]),
        (["a", "a"], [["a", "a"], ["a", "a"]]),
    ],
)  # fmt: skip
def test_sentences_that_are_alike_are_no_sets(metric, hypotheses, references) -> None:
    metric(
        [each.split() for each in hypotheses], [[r.split() for r in each] for each in references]
    )


@given(rows=st.lists(st.tuples(sentences, sentences), min_size=2, max_size=2), data=st.data())
def test_whoever_translates_like_one_of_the_references_is_never_refused(rows, data) -> None:
    """A translation that is one of its own references, for every sentence, however alike."""
    chosen = [data.draw(st.sampled_from(row)) for row in rows]
    assert corpus_bleu(chosen, rows) >= 0


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


# --- edits -------------------------------------------------------------------------------------


short_sentences = st.lists(st.sampled_from("abc"), max_size=6).map(tuple)


@cache
def by_definition(first: tuple[str, ...], second: tuple[str, ...]) -> int:
    if not first or not second:
        return len(first) + len(second)
    return min(
        by_definition(first[1:], second) + 1,
        by_definition(first, second[1:]) + 1,
        by_definition(first[1:], second[1:]) + (first[0] != second[0]),
    )


@given(short_sentences, short_sentences)
def test_equals_its_definition(first: tuple[str, ...], second: tuple[str, ...]) -> None:
    assert edit_distance(first, second) == by_definition(first, second)


@given(short_sentences, short_sentences, short_sentences)
def test_is_a_distance(
    first: tuple[str, ...], second: tuple[str, ...], third: tuple[str, ...]
) -> None:
    assert edit_distance(first, second) == edit_distance(second, first)
    assert (edit_distance(first, second) == 0) == (first == second)
    direct, detour = edit_distance(first, third), edit_distance(first, second)
    assert direct <= detour + edit_distance(second, third)
