"""An exercise on word alignment: the alignment error rate."""

from collections.abc import Iterator

from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual
from attention_book.metrics import alignment_scores

Links = set[tuple[int, int]]


def _alignments() -> Iterator[Probe]:
    sure = {(0, 0), (1, 1)}
    yield Probe(
        ({(0, 0), (1, 2)}, sure, set()), Bilingual("没有“可能”的连线", "no link is merely possible")
    )
    yield Probe(({(0, 0), (2, 1), (2, 2)}, sure, {(2, 1), (2, 2)}))
    yield Probe(({(0, 0), (1, 1), (3, 3)}, sure, {(2, 2), (3, 2), (3, 3), (4, 4)}))


ALIGNMENT_ERROR_RATE = Exercise(
    name="alignment-error-rate",
    task=Bilingual(
        "写 `error_rate(predicted, sure, possible)`："
        "三个连线的集合，返回 AER；确定的连线也算可能的。",
        "Write `error_rate(predicted, sure, possible)`: from three sets of links return the AER;"
        " sure links count as possible ones, too.",
    ),
    solution=lambda predicted, sure, possible: (
        alignment_scores(predicted, sure, possible).error_rate
    ),
    probes=_alignments,
    mistakes=(
        Mistake(
            "possible-ignored",
            lambda a, s, p: 1 - 2 * len(a & s) / (len(a) + len(s)),
            Bilingual(
                "“可能”的连线没有用上：画了它们不算错。",
                "The possible links are not used: to draw one is no error.",
            ),
        ),
        Mistake(
            "sure-not-possible",
            lambda a, s, p: 1 - (len(a & s) + len(a & p)) / (len(a) + len(s)),
            Bilingual(
                "确定的连线也是可能的：P 要把 S 包括在内。",
                "A sure link is a possible one as well: P includes S.",
            ),
        ),
        Mistake(
            "divided-by-possible",
            lambda a, s, p: 1 - (len(a & s) + len(a & (s | p))) / (len(a) + len(s | p)),
            Bilingual(
                "分母里是 |S|，不是 |P|：漏掉只是“可能”的连线不算错。",
                "The denominator has |S|, not |P|: to miss a merely possible link is no error.",
            ),
        ),
        Mistake(
            "agreement",
            lambda a, s, p: (len(a & s) + len(a & (s | p))) / (len(a) + len(s)),
            Bilingual(
                "这是吻合的程度，越大越好；错误率是 1 减去它。",
                "This is the agreement, larger for better; the error rate is 1 minus it.",
            ),
        ),
    ),
)

EXERCISES = (ALIGNMENT_ERROR_RATE,)
