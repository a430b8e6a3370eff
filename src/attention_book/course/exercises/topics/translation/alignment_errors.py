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
    three = {(0, 0), (1, 1), (2, 3)}
    yield Probe(({(0, 0), (1, 1), (3, 3), (4, 5)}, three, {(3, 3), (0, 1)}))
    yield Probe((set(), sure, {(2, 2)}), Bilingual("一条连线也没有画", "no link was drawn"))


def _f_measure(a: Links, s: Links, p: Links) -> float:
    hits = len(a & (s | p)) * len(a & s)
    if not hits:
        return 1.0
    precision, recall = len(a & (s | p)) / len(a), len(a & s) / len(s)
    return 1 - 2 * precision * recall / (precision + recall)


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
        Mistake(
            "precision-alone",
            lambda a, s, p: 1 - len(a & (s | p)) / len(a),
            Bilingual(
                "只看了画出来的连线对不对：漏掉的确定连线也要算。",
                "This asks only whether what was drawn is right: sure links that are missing "
                "count as well.",
            ),
        ),
        Mistake(
            "recall-alone",
            lambda a, s, p: 1 - len(a & s) / len(s),
            Bilingual(
                "只看了确定的连线有没有找到：画错的连线也要算。",
                "This asks only whether sure links were found: wrong links count as well.",
            ),
        ),
        Mistake(
            "f-measure",
            _f_measure,
            Bilingual(
                "这是 1 减 F 值：AER 把分子加起来、分母加起来再相除，两者一般不相等。",
                "This is 1 minus the F measure: the AER adds up what is above and what is "
                "below, then divides; the two differ in general.",
            ),
        ),
        Mistake(
            "percent",
            lambda a, s, p: 100 * (1 - (len(a & s) + len(a & (s | p))) / (len(a) + len(s))),
            Bilingual(
                "这里要 0 到 1，不是百分数。", "Here it runs from 0 to 1; it is no percentage."
            ),
        ),
        Mistake(
            "sure-not-counted",
            lambda a, s, p: 1 - 2 * len(a & (s | p)) / (len(a) + len(s)),
            Bilingual(
                "分子里的一项是 |A ∩ S|：确定的连线要单独数。",
                "One of the terms above is |A ∩ S|: count the sure links apart.",
            ),
        ),
        Mistake(
            "rounded",
            lambda a, s, p: round(1 - (len(a & s) + len(a & (s | p))) / (len(a) + len(s)), 2),
            Bilingual("不要四舍五入。", "Do not round."),
        ),
    ),
)

EXERCISES = (ALIGNMENT_ERROR_RATE,)
