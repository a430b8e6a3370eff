"""BLEU and chrF of tokenized sentences, by hand and by sacrebleu; edit distance in words.

Tokens come as they are. What ``attention-book evaluate`` prints is of sentences as they are
written: ``runs/scoring.py`` tokenizes them as sacrebleu prescribes for their language.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from attention_book.foundations.environment import from_extra

# --- n-grams -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class NgramMatches:
    """How many n-grams of a prediction its reference has too.

    Attributes:
        matches: Those that the reference has, each at most as often as there.
        total: All of the prediction's.

    >>> NgramMatches(matches=3, total=4).precision
    0.75
    """

    matches: int
    total: int

    @property
    def precision(self) -> float:
        """The modified precision :math:`p_n`; 0 where there is no n-gram."""
        return self.matches / self.total if self.total else 0.0


def ngram_matches(
    prediction: str | Sequence[str], reference: str | Sequence[str], n: int
) -> NgramMatches:
    """Count a prediction's n-grams, and those among them that the reference has.

    An n-gram that is predicted more often than it stands in the reference counts only as
    often as there ("clipped"), so repeating a right word earns nothing. Papineni et
    al. (2002), section 2.1.

    Args:
        prediction: Tokens, or a text whose tokens are separated by blanks.
        reference: As ``prediction``.
        n: How many tokens in a row are compared.

    >>> ngram_matches("the the the", "the cat", 1)
    NgramMatches(matches=1, total=3)
    >>> ngram_matches("il est paresseux .", "il est calme .", 2)
    NgramMatches(matches=1, total=3)
    """
    if n < 1:
        raise ValueError(f"n: expected 1 or more, got {n}")
    predicted, wanted = _ngrams(_tokens(prediction), n), _ngrams(_tokens(reference), n)
    return NgramMatches((predicted & wanted).total(), predicted.total())


def brevity_penalty(num_predicted: int, num_reference: int) -> float:
    """Return the factor that a translation loses by being short.

    .. math:: \\exp\\left(\\min\\left(0, 1 - \\frac{\\text{len}_\\text{reference}}
        {\\text{len}_\\text{prediction}}\\right)\\right)

    Papineni et al. (2002), section 2.2.2. A translation of no words gets 0.

    >>> brevity_penalty(4, 4), brevity_penalty(9, 4), round(brevity_penalty(2, 4), 3)
    (1.0, 1.0, 0.368)
    """
    if num_predicted == 0:
        return 0.0
    return math.exp(min(0.0, 1 - num_reference / num_predicted))


def d2l_bleu(
    prediction: str | Sequence[str], reference: str | Sequence[str], *, k: int = 2
) -> float:
    """Score one sentence from 0 to 1, as *Dive into Deep Learning* does.

    .. math:: \\exp\\left(\\min\\left(0, 1 - \\frac{\\text{len}_\\text{reference}}
        {\\text{len}_\\text{prediction}}\\right)\\right) \\prod_{n=1}^{k} p_n^{1/2^n}

    Standard BLEU gives every precision the power :math:`1/k` (:func:`textbook_bleu`).
    Here the powers are 1/2, 1/4, ..., whose sum is below 1, so the number is
    higher, and not comparable with BLEU anywhere else. Zhang et al. (2023), section 10.7.

    Args:
        prediction: Tokens, or a text whose tokens are separated by blanks.
        reference: As ``prediction``.
        k: The longest n-grams; of a shorter prediction only those that it has.

    >>> round(d2l_bleu("il est paresseux .", "il est calme .", k=2), 3)
    0.658
    >>> d2l_bleu("va !", "va !", k=2)
    1.0
    """
    predicted, wanted = _tokens(prediction), _tokens(reference)
    _check(k=k, num_reference=len(wanted))
    score = brevity_penalty(len(predicted), len(wanted))
    for n in range(1, min(k, len(predicted)) + 1):
        score *= ngram_matches(predicted, wanted, n).precision ** (0.5**n)
    return score


def textbook_bleu(
    predictions: Sequence[str | Sequence[str]],
    references: Sequence[str | Sequence[str]],
    *,
    k: int = 4,
) -> float:
    """Score a corpus from 0 to 1 with BLEU as it was defined, without any smoothing.

    .. math:: \\text{BP} \\cdot \\Big(\\prod_{n=1}^{k} p_n\\Big)^{1/k}

    Matches and lengths are summed over the corpus before they are divided. It is
    :func:`corpus_bleu` / 100 with ``smoothing="none"``. Papineni et al. (2002), section 2.3.

    Args:
        predictions: Sentences as tokens, or as texts whose tokens are separated by blanks.
        references: One for each prediction.
        k: The longest n-grams.

    >>> textbook_bleu(["il est paresseux ."], ["il est calme ."], k=2)
    0.5
    """
    if len(predictions) != len(references):
        raise ValueError(
            f"references: expected one for each of {len(predictions)} predictions, "
            f"got {len(references)}"
        )
    if not predictions:
        raise ValueError("predictions: expected at least one, got none")
    predicted, wanted = [_tokens(p) for p in predictions], [_tokens(r) for r in references]
    _check(k=k, num_reference=min(map(len, wanted)))
    precisions = []
    for n in range(1, k + 1):
        counts = [ngram_matches(p, w, n) for p, w in zip(predicted, wanted, strict=True)]
        corpus = NgramMatches(sum(c.matches for c in counts), sum(c.total for c in counts))
        precisions.append(corpus.precision)
    penalty = brevity_penalty(sum(map(len, predicted)), sum(map(len, wanted)))
    return penalty * math.prod(precisions) ** (1 / k)


def _ngrams(tokens: tuple[str, ...], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tokens[i : i + n] for i in range(len(tokens) - n + 1))


def _tokens(sentence: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(sentence, str):
        return tuple(sentence.split())
    for token in sentence:
        if not isinstance(token, str):
            raise TypeError(f"expected a text or its tokens, got {token!r} among the tokens")
    return tuple(sentence)


def _check(*, k: int, num_reference: int) -> None:
    if k < 1:
        raise ValueError(f"k: expected 1 or more, got {k}")
    if num_reference == 0:
        raise ValueError("reference: expected at least one token, got none")


# --- scores of a corpus ------------------------------------------------------------------------


#: How sacrebleu treats an n-gram length that has no match at all.
Smoothing = Literal["exp", "floor", "add-k", "none"]

#: One reference as tokens, or several.
Reference = Sequence[str] | Sequence[Sequence[str]]


def corpus_bleu(
    hypotheses: Sequence[Sequence[str]],
    references: Sequence[Reference],
    *,
    max_order: int = 4,
    smoothing: Smoothing = "exp",
) -> float:
    """Return a corpus's BLEU, 0 to 100, as sacrebleu computes it from these tokens.

    .. math:: 100 \\cdot \\text{BP} \\cdot \\Big(\\prod_{n=1}^{N} p_n\\Big)^{1/N}

    The tokens are compared as they are (sacrebleu's ``tokenize="none"``), so the number
    compares models of this book with one another, not with papers that
    tokenize otherwise. Papineni et al. (2002); Post (2018).

    References are listed sentence by sentence. sacrebleu lists them set by set (first every
    sentence's first one); with as many sets as sentences the two can't be told apart by their
    shape. They are refused as turned if a translation stands word for word among those that
    would be its own in sacrebleu's layout, and not among those that are its own here; none is
    nearer to the latter; and references resemble one another more within the former. Where
    such are meant, naming one sentence's reference twice says so, and changes no score.

    Args:
        hypotheses: The translations as tokens; one may be empty.
        references: For each translation one reference as tokens, or several.
        max_order: The longest n-grams, N.
        smoothing: What to do about an n-gram length without a match; "exp" is sacrebleu's
            default.

    >>> hypotheses = [("je", "suis", "chez", "moi", ".")]
    >>> round(corpus_bleu(hypotheses, [("je", "suis", "chez", "moi", ".")]), 1)
    100.0
    >>> round(corpus_bleu(hypotheses, [("je", "suis", "à", "la", "maison", ".")]), 1)
    19.4
    """
    metric = _bleu(max_order, smoothing)
    texts = _texts(hypotheses, references)
    _check_layout(hypotheses, references)
    score: float = metric.corpus_score(*texts).score
    return score


def sentence_bleu(
    hypothesis: Sequence[str],
    reference: Reference,
    *,
    max_order: int = 4,
    smoothing: Smoothing = "exp",
) -> float:
    """Return one sentence's BLEU, 0 to 100, by sacrebleu.

    BLEU was made for corpora: a sentence without a matching 4-gram has none, unless
    it is smoothed. The mean of sentences' BLEU is not a corpus's.

    Args:
        hypothesis: The translation as tokens.
        reference: One reference as tokens, or several.
        max_order: As in :func:`corpus_bleu`.
        smoothing: As in :func:`corpus_bleu`.

    >>> hypothesis, reference = "il est paresseux .".split(), "il est calme .".split()
    >>> round(sentence_bleu(hypothesis, reference, max_order=2, smoothing="none"), 1)
    50.0
    """
    return corpus_bleu([hypothesis], [reference], max_order=max_order, smoothing=smoothing)


def corpus_chrf(hypotheses: Sequence[Sequence[str]], references: Sequence[Reference]) -> float:
    """Return a corpus's chrF, 0 to 100, by sacrebleu: an F-score of character n-grams.

    It sees that "maisons" is nearly "maison"; blanks between tokens don't count.
    Popović (2015).

    Args:
        hypotheses: The translations as tokens.
        references: For each translation one reference as tokens, or several.

    >>> round(corpus_chrf([("les", "maisons")], [("la", "maison")]), 1)
    57.4
    """
    with from_extra("metrics", "sacrebleu"):
        from sacrebleu.metrics.chrf import CHRF
    texts = _texts(hypotheses, references)
    _check_layout(hypotheses, references)
    score: float = CHRF().corpus_score(*texts).score
    return score


def bleu_signature(*, num_references: int = 1) -> str:
    """Return sacrebleu's signature of :func:`corpus_bleu`, to be reported beside the number.

    >>> bleu_signature().rpartition("|")[0]
    'nrefs:1|case:mixed|eff:no|tok:none|smooth:exp'
    """
    if num_references < 1:
        raise ValueError(f"num_references: expected 1 or more, got {num_references}")
    metric = _bleu(4, "exp")
    metric.corpus_score(["."], [["."]] * num_references)  # it counts the references itself
    return str(metric.get_signature())


@dataclass(frozen=True)
class LengthBin:
    """The BLEU of the sentences of some lengths.

    Attributes:
        low: The shortest length.
        high: The longest length (it belongs to the bin).
        count: How many sentences there are.
        bleu: Their corpus BLEU, 0 to 100; NaN without any.

    >>> LengthBin(low=4, high=6, count=10, bleu=99.0).middle
    5.0
    """

    low: int
    high: int
    count: int
    bleu: float

    @property
    def middle(self) -> float:
        """The middle of the bin, for plotting."""
        return (self.low + self.high) / 2


def bleu_by_length(
    hypotheses: Sequence[Sequence[str]],
    references: Sequence[Reference],
    lengths: Sequence[int],
    *,
    bins: Sequence[int],
) -> list[LengthBin]:
    """Return the corpus BLEU of the sentences of each length.

    Where no translation of a bin has as many as four tokens, BLEU is that of the n-grams
    there are (sacrebleu's effective order): short sentences can be perfect too.

    Args:
        hypotheses: The translations as tokens.
        references: For each translation one reference as tokens, or several.
        lengths: What to sort each sentence by, such as the length of its source.
        bins: Where the bins begin, and where the last one ends: (4, 7, 10) makes the bins
            4 to 6 and 7 to 9.

    >>> sentences = [("va", "!"), ("il", "est", "calme", "."), ("je", "suis", "là", ".")]
    >>> curve = bleu_by_length(sentences, sentences, [2, 4, 4], bins=(2, 4, 6))
    >>> [(bin.low, bin.high, bin.count, round(bin.bleu)) for bin in curve]
    [(2, 3, 1, 100), (4, 5, 2, 100)]
    """
    _texts(hypotheses, references)  # checks both
    _check_layout(hypotheses, references)
    _check_bins(len(hypotheses), lengths, bins)
    metric = _bleu(4, "exp", effective_order=True)
    found = []
    for low, end in itertools.pairwise(bins):
        chosen = [i for i, length in enumerate(lengths) if low <= length < end]
        bleu = math.nan
        if chosen:
            texts = _texts([hypotheses[i] for i in chosen], [references[i] for i in chosen])
            bleu = metric.corpus_score(*texts).score
        found.append(LengthBin(low, end - 1, len(chosen), bleu))
    return found


def _bleu(max_order: int, smoothing: Smoothing, *, effective_order: bool = False) -> Any:
    """Set sacrebleu up; ``force`` says that we know that our text is tokenized."""
    if max_order < 1:
        raise ValueError(f"max_order: expected 1 or more, got {max_order}")
    with from_extra("metrics", "sacrebleu"):
        from sacrebleu.metrics.bleu import BLEU
    return BLEU(
        tokenize="none",
        force=True,
        max_ngram_order=max_order,
        smooth_method=smoothing,
        effective_order=effective_order,
    )


def _texts(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Reference]
) -> tuple[list[str], list[Any]]:
    """Return what sacrebleu reads: texts, and the first, second, ... reference of each."""
    if len(hypotheses) != len(references):
        sets = "; set by set, as sacrebleu lists them? turn them: list(zip(*references))"
        raise ValueError(
            f"references: expected one for each of {len(hypotheses)} hypotheses, "
            f"got {len(references)}{sets if _are_lists_of(references, len(hypotheses)) else ''}"
        )
    if not hypotheses:
        raise ValueError("hypotheses: expected at least one, got none")
    texts = [_text(tokens, f"hypothesis {i}") for i, tokens in enumerate(hypotheses)]
    choices = [_choices(reference, f"reference {i}") for i, reference in enumerate(references)]
    # Where a sentence has no second reference stands None, which sacrebleu's types forget.
    return texts, [list(column) for column in itertools.zip_longest(*choices)]


def _are_lists_of(references: Sequence[Any], count: int) -> bool:
    """Whether every entry lists so many references, each as tokens."""
    return len(references) > 0 and all(
        isinstance(each, Sequence)
        and len(each) == count
        and not any(isinstance(tokens, str) for tokens in each)
        for each in references
    )


def _check_layout(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[Any]]) -> None:
    """Refuse references that stand set by set; see :func:`corpus_bleu` for how they are told.

    Sentences may be alike, and a translation may be that of another sentence: equality with a
    reference elsewhere is no proof. So all that can tell must say the same.
    """
    count = len(hypotheses)
    if count < 2 or not _are_lists_of(references, count):
        return
    rows = [[tuple(tokens) for tokens in each] for each in references]
    columns: list[Sequence[tuple[str, ...]]] = list(zip(*rows, strict=True))
    made = [tuple(tokens) for tokens in hypotheses]
    elsewhere = [
        number
        for number, (each, row, column) in enumerate(zip(made, rows, columns, strict=True))
        if each in column and each not in row
    ]
    if not elsewhere or any(
        max(_alike(each, other) for other in row) > max(_alike(each, other) for other in column)
        for each, row, column in zip(made, rows, columns, strict=True)
    ):
        return
    here, turned = (
        sum(_alike(*pair) for group in groups for pair in itertools.combinations(group, 2))
        for groups in (rows, columns)
    )
    perfect = all(each in column for each, column in zip(made, columns, strict=True))
    if turned > here or (turned == here and perfect):
        raise ValueError(
            "references: expected for each hypothesis a list of its own, got lists that look like "
            f"sets, as sacrebleu takes them: hypothesis {elsewhere[0]} equals nothing at its place "
            "but something of its own there; turn them: list(zip(*references)) (or, if they are "
            "meant so, name one sentence's reference twice)"
        )


def _alike(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """Return the share of the tokens that two sentences have in common."""
    common = (Counter(one) & Counter(other)).total()
    return 2 * common / max(len(one) + len(other), 1)


def _choices(reference: Reference, name: str) -> list[str]:
    """Return the texts of one sentence's references."""
    several = not isinstance(reference, str) and reference and not isinstance(reference[0], str)
    texts = [_text(tokens, name) for tokens in (reference if several else [reference])]
    if not all(texts):
        raise ValueError(f"{name}: expected at least one token, got none")
    return texts


def _text(tokens: Iterable[object], name: str) -> str:
    if isinstance(tokens, str):
        raise TypeError(f"{name}: expected a sequence of tokens, got the string {tokens!r}")
    if tokens is None:
        raise TypeError(f"{name}: expected a sequence of tokens, got None: leave it out")
    words = [str(token) for token in tokens]
    for word in words:
        if len(word.split()) != 1 or word.strip() != word:
            raise ValueError(f"{name}: expected tokens without blanks, got {word!r}")
    return " ".join(words)


def _check_bins(num_sentences: int, lengths: Sequence[int], bins: Sequence[int]) -> None:
    if len(lengths) != num_sentences:
        raise ValueError(
            f"lengths: expected one for each of {num_sentences} sentences, got {len(lengths)}"
        )
    if len(bins) < 2 or any(low >= end for low, end in itertools.pairwise(bins)):
        raise ValueError(f"bins: expected two or more rising numbers, got {tuple(bins)}")
    outside = [length for length in lengths if not bins[0] <= length < bins[-1]]
    if outside:
        raise ValueError(
            f"lengths: expected numbers from {bins[0]} to {bins[-1] - 1}, got {outside[0]}"
        )


# --- edit distance -----------------------------------------------------------------------------


def edit_distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many words to insert, drop or replace to turn one sentence into the other.

    Levenshtein (1966), with words in the place of letters.

    >>> edit_distance(("he's", "calm", "."), ("he's", "rich", "."))
    1
    """
    row = list(range(len(second) + 1))
    for i, word in enumerate(first, start=1):
        above, row = row, [i]
        for j, other in enumerate(second):
            row.append(min(row[j] + 1, above[j + 1] + 1, above[j] + (word != other)))
    return row[-1]
