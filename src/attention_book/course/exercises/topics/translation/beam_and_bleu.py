"""Exercises on decoding and judging: a step of beam search, and BLEU."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual
from attention_book.metrics import ngram_matches

# --- beam-step -------------------------------------------------------------------------------


def _beams() -> Iterator[Probe]:
    first = torch.tensor([[0.6, 0.3, 0.1], [0.1, 0.1, 0.8]]).log()
    yield Probe(
        (torch.tensor([-0.1, -2.5]), first, 2),
        Bilingual("两个最好的延续来自同一束", "the two best continuations come from one beam"),
    )
    yield Probe((torch.tensor([-1.0, -1.1]), torch.randn(2, 5).log_softmax(dim=-1), 2))
    yield Probe((-torch.rand(3), torch.randn(3, 7).log_softmax(dim=-1), 3))


def _best(totals: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
    scores, places = totals.flatten().topk(width)
    return scores, places // totals.shape[-1], places % totals.shape[-1]


def _of_totals(
    combine: Callable[[Tensor, Tensor], Tensor],
) -> Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor, Tensor]]:
    return lambda scores, log_probs, width: _best(combine(scores[:, None], log_probs), width)


def _swapped(scores: Tensor, log_probs: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
    found, beams, tokens = _best(scores[:, None] + log_probs, width)
    return found, tokens, beams


def _each_beam(scores: Tensor, log_probs: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
    found, tokens = (scores[:, None] + log_probs).max(dim=-1)
    order = found.argsort(descending=True)[:width]
    return found[order], order, tokens[order]


BEAM_STEP = Exercise(
    name="beam-step",
    task=Bilingual(
        "写 `step(scores, log_probs, width)`：scores（束）是得分，"
        "log_probs（束，词）是下一个词的对数概率；"
        "返回最好的 width 个延续的得分、来自哪一束、接哪个词，得分高的在前。",
        "Write `step(scores, log_probs, width)`: from the beams' scores (beam) and the"
        " log-probabilities of the next token (beam, token) return the scores, beams and tokens"
        " of the best continuations, the best first.",
    ),
    solution=_of_totals(torch.add),
    probes=_beams,
    mistakes=(
        Mistake(
            "past-forgotten",
            _of_totals(lambda scores, log_probs: log_probs),
            Bilingual(
                "只比了这一步：要加上这一束到目前为止的得分。",
                "Only this step was compared: add what the beam has scored so far.",
            ),
        ),
        Mistake(
            "one-from-each",
            _each_beam,
            Bilingual(
                "每一束各留一个，成了几个互不相干的贪心搜索：所有延续要一起比。",
                "One from each beam makes several greedy searches side by side: all continuations"
                " compete together.",
            ),
        ),
        Mistake(
            "multiplied",
            _of_totals(lambda scores, log_probs: scores * log_probs),
            Bilingual(
                "概率相乘，对数概率相加。",
                "Probabilities are multiplied, log-probabilities are added.",
            ),
        ),
        Mistake(
            "swapped",
            _swapped,
            Bilingual(
                "词与束颠倒了：先返回束的编号，再返回词的编号；拉平之后，整除得到束，余数是词。",
                "Beam and token are swapped: return the beam's number first. Of a flattened place,"
                " the quotient is the beam and the remainder the token.",
            ),
        ),
    ),
)

# --- bleu ------------------------------------------------------------------------------------

Tokens = Sequence[str]


def _tokens(text: str) -> list[str]:
    return text.split()


def _sentences() -> Iterator[Probe]:
    reference = _tokens("le chat est sur le lit .")
    yield Probe(
        (reference, reference), Bilingual("译文与参考相同", "prediction and reference agree")
    )
    yield Probe(
        (_tokens("le chat est ."), reference), Bilingual("译文太短", "the prediction is short")
    )
    yield Probe(
        (_tokens("le le le chat est est sur le lit ."), reference),
        Bilingual("译文重复了词", "words are repeated"),
    )
    yield Probe(
        (_tokens("un chat est sur le sol là ."), reference),
        Bilingual("译文较长", "the prediction is long"),
    )
    yield Probe(
        (_tokens("chat sur lit"), reference), Bilingual("没有一个二元组对", "no bigram is right")
    )


def _brevity(prediction: Tokens, reference: Tokens) -> float:
    return math.exp(min(0.0, 1 - len(reference) / len(prediction)))


def _precision(prediction: Tokens, reference: Tokens, n: int) -> float:
    return ngram_matches(prediction, reference, n).precision


def _unclipped(prediction: Tokens, reference: Tokens, n: int) -> float:
    def ngrams(tokens: Tokens) -> Counter[tuple[str, ...]]:
        return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))

    found, wanted = ngrams(prediction), ngrams(reference)
    return sum(count for ngram, count in found.items() if ngram in wanted) / found.total()


def _bleu(
    *,
    brevity: Callable[[Tokens, Tokens], float] = _brevity,
    precision: Callable[[Tokens, Tokens, int], float] = _precision,
    mean: Callable[[float, float], float] = lambda p1, p2: math.sqrt(p1 * p2),
) -> Callable[[Tokens, Tokens], float]:
    def bleu(prediction: Tokens, reference: Tokens) -> float:
        p1, p2 = (precision(prediction, reference, n) for n in (1, 2))
        return brevity(prediction, reference) * mean(p1, p2)

    return bleu


BLEU = Exercise(
    name="bleu",
    task=Bilingual(
        "写 `bleu(prediction, reference)`：一个句子的 BLEU，"
        "0 到 1，只用一元组和二元组；两个参数都是词的列表。",
        "Write `bleu(prediction, reference)`: one sentence's BLEU, 0 to 1, with unigrams and"
        " bigrams only; both arguments are lists of tokens.",
    ),
    solution=_bleu(),
    probes=_sentences,
    mistakes=(
        Mistake(
            "no-brevity-penalty",
            _bleu(brevity=lambda prediction, reference: 1.0),
            Bilingual(
                "没有简短惩罚：只写有把握的几个词就能得高分。",
                "No brevity penalty: a few safe words get a high score.",
            ),
        ),
        Mistake(
            "penalty-inverted",
            _bleu(brevity=lambda p, r: math.exp(min(0.0, 1 - len(p) / len(r)))),
            Bilingual(
                "惩罚的是太长的译文，应当惩罚太短的：比值颠倒了。",
                "This punishes long predictions, not short ones: the ratio is upside down.",
            ),
        ),
        Mistake(
            "penalty-unbounded",
            _bleu(brevity=lambda p, r: math.exp(1 - len(r) / len(p))),
            Bilingual(
                "译文长于参考时，惩罚因子大于 1，成了奖励：它至多是 1。",
                "For a prediction longer than its reference the factor exceeds 1 and becomes a"
                " bonus: it is 1 at most.",
            ),
        ),
        Mistake(
            "not-clipped",
            _bleu(precision=_unclipped),
            Bilingual(
                "没有封顶：同一个词写很多遍，每一遍都算对。至多数到参考里出现的次数。",
                "Not clipped: a right word counts every time it is repeated. Count it at most as"
                " often as the reference has it.",
            ),
        ),
        Mistake(
            "arithmetic-mean",
            _bleu(mean=lambda p1, p2: (p1 + p2) / 2),
            Bilingual(
                "BLEU 用几何平均：有一个精确率是 0，整个就是 0。",
                "BLEU takes the geometric mean: if one precision is 0, all is 0.",
            ),
        ),
        Mistake(
            "percent",
            lambda prediction, reference: 100 * _bleu()(prediction, reference),
            Bilingual("这里要 0 到 1，不是 0 到 100。", "Here it runs from 0 to 1, not to 100."),
        ),
        Mistake(
            "product",
            _bleu(mean=lambda p1, p2: p1 * p2),
            Bilingual("精确率相乘之后还要开方。", "The product of the precisions lacks its root."),
        ),
    ),
)

EXERCISES = (BEAM_STEP, BLEU)
