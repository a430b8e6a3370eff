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
    alike = torch.tensor([[0.7, 0.2, 0.1], [0.8, 0.15, 0.05]]).log()
    yield Probe(
        (torch.tensor([-1.0, -1.4]), alike, 2),
        Bilingual("两束接同一个词最好", "one token is the best for two beams"),
    )
    yield Probe(
        (torch.tensor([-0.5, -0.7]), torch.randn(2, 4).log_softmax(dim=-1), 5),
        Bilingual("要的延续比束多", "more continuations are asked for than there are beams"),
    )
    yield Probe(
        (torch.tensor([0.0]), torch.randn(1, 4).log_softmax(dim=-1), 3),
        Bilingual("起初只有一束", "at the start there is a single beam"),
    )


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


Step = tuple[Tensor, Tensor, Tensor]


def _worst(scores: Tensor, log_probs: Tensor, width: int) -> Step:
    totals = scores[:, None] + log_probs
    values, places = totals.flatten().topk(width, largest=False)
    return values, places // totals.shape[-1], places % totals.shape[-1]


def _reversed(scores: Tensor, log_probs: Tensor, width: int) -> Step:
    values, beams, tokens = _best(scores[:, None] + log_probs, width)
    return values.flip(0), beams.flip(0), tokens.flip(0)


def _by_beams(scores: Tensor, log_probs: Tensor, width: int) -> Step:
    values, places = (scores[:, None] + log_probs).flatten().topk(width)
    return values, places // len(scores), places % len(scores)


def _each_token(scores: Tensor, log_probs: Tensor, width: int) -> Step:
    best, beams = (scores[:, None] + log_probs).max(dim=0)
    order = best.argsort(descending=True)[:width]
    return best[order], beams[order], order


_WORST = Bilingual(
    "次序反了：对数概率越接近 0 越好，最好的排在最前。",
    "The wrong way round: the closer to 0 a log-probability the better, and the best come first.",
)
_FIXED_WIDTH = Bilingual(
    "返回几个由 `width` 决定，不由束数决定，也不要写死。",
    "How many to return is for `width` to say, not for the number of beams, nor a fixed number.",
)
_PROBABILITIES = Bilingual(
    "得分是对数概率之和：不要取指数。",
    "A score is a sum of log-probabilities: take no exponential.",
)

BEAM_STEP = Exercise(
    name="beam-step",
    task=Bilingual(
        "写 `step(scores, log_probs, width)`：scores（束）是得分，log_probs（束，词）是"
        "下一个词的对数概率；返回最好的 width 个延续的得分、来自哪一束、接哪个词，得分"
        "高的在前。width 不一定等于束数。",
        "Write `step(scores, log_probs, width)`: from the beams' scores (beam) and the "
        "log-probabilities of the next token (beam, token) return the scores, beams "
        "and tokens of the best continuations, the best first. There need not be as "
        "many beams as width.",
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
        Mistake("worst-first", _worst, _WORST),
        Mistake("worst-first", _reversed, _WORST),
        Mistake(
            "width-fixed",
            lambda scores, log_probs, width: _best(scores[:, None] + log_probs, 2),
            _FIXED_WIDTH,
        ),
        Mistake(
            "width-fixed",
            lambda scores, log_probs, width: _best(scores[:, None] + log_probs, len(scores)),
            _FIXED_WIDTH,
        ),
        Mistake(
            "divided-by-beams",
            _by_beams,
            Bilingual(
                "拉平之后每一束占“词数”个位置：除以词数，不是束数。",
                "Flattened, each beam takes as many places as there are tokens: divide by "
                "their number, not by that of the beams.",
            ),
        ),
        Mistake(
            "probabilities",
            _of_totals(lambda scores, log_probs: scores.exp() * log_probs.exp()),
            _PROBABILITIES,
        ),
        Mistake(
            "probabilities",
            _of_totals(lambda scores, log_probs: scores + log_probs.exp()),
            _PROBABILITIES,
        ),
        Mistake(
            "one-for-each-token",
            _each_token,
            Bilingual(
                "每个词只留了一束：两束接同一个词，是两个不同的延续。",
                "Only one beam is kept for each token: two beams that go on with one token are "
                "two continuations.",
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
    yield Probe(
        (_tokens("Le chat est sur le lit le"), reference),
        Bilingual("有一个词大写", "one word has a capital letter"),
    )
    yield Probe((["chat"], reference), Bilingual("译文只有一个词", "the prediction is one word"))


def _brevity(prediction: Tokens, reference: Tokens) -> float:
    return math.exp(min(0.0, 1 - len(reference) / len(prediction)))


def _precision(prediction: Tokens, reference: Tokens, n: int) -> float:
    return ngram_matches(prediction, reference, n).precision


def _unclipped(prediction: Tokens, reference: Tokens, n: int) -> float:
    def ngrams(tokens: Tokens) -> Counter[tuple[str, ...]]:
        return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))

    found, wanted = ngrams(prediction), ngrams(reference)
    hits = sum(count for ngram, count in found.items() if ngram in wanted)
    return hits / found.total() if found else 0.0


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


def _of_orders(*orders: int) -> Callable[[Tokens, Tokens], float]:
    def bleu(prediction: Tokens, reference: Tokens) -> float:
        product = math.prod(_precision(prediction, reference, n) for n in orders)
        return float(_brevity(prediction, reference) * product ** (1 / len(orders)))

    return bleu


def _recall(prediction: Tokens, reference: Tokens) -> float:
    p1, p2 = (_precision(reference, prediction, n) for n in (1, 2))
    return _brevity(prediction, reference) * math.sqrt(p1 * p2)


def _smoothed(prediction: Tokens, reference: Tokens) -> float:
    first, second = (ngram_matches(prediction, reference, n) for n in (1, 2))
    product = (first.matches + 1) / (first.total + 1) * (second.matches + 1) / (second.total + 1)
    return _brevity(prediction, reference) * math.sqrt(product)


def _of_sets(prediction: Tokens, reference: Tokens, n: int) -> float:
    def ngrams(tokens: Tokens) -> list[tuple[str, ...]]:
        return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]

    found = ngrams(prediction)
    return len({*found} & {*ngrams(reference)}) / len(found) if found else 0.0


def _lower(prediction: Tokens, reference: Tokens) -> float:
    return _bleu()([word.lower() for word in prediction], [word.lower() for word in reference])


def _with_logarithms(prediction: Tokens, reference: Tokens) -> float:
    logs = [math.log(_precision(prediction, reference, n)) for n in (1, 2)]
    return _brevity(prediction, reference) * math.exp(sum(logs) / 2)


_ONE_ORDER = Bilingual(
    "一元组和二元组的精确率都要：两者相乘，再开平方。",
    "Both precisions are needed, of unigrams and of bigrams: multiply them and take the root.",
)

BLEU = Exercise(
    name="bleu",
    task=Bilingual(
        "写 `bleu(prediction, reference)`：一个句子的 BLEU，0 到 1，只用一元组和二元组"
        "，不平滑，大小写算不同；两个参数都是词的列表。有一个精确率是 0，或者没有二元组"
        "，结果就是 0。",
        "Write `bleu(prediction, reference)`: one sentence's BLEU, 0 to 1, with "
        "unigrams and bigrams only, not smoothed, where capitals count as other "
        "letters; both arguments are lists of tokens. If a precision is 0, or there is "
        "no bigram, the result is 0.",
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
        Mistake("one-order", _of_orders(1), _ONE_ORDER),
        Mistake("one-order", _of_orders(2), _ONE_ORDER),
        Mistake(
            "four-orders",
            _of_orders(1, 2, 3, 4),
            Bilingual(
                "这里只用一元组和二元组，不到四元组。",
                "Only unigrams and bigrams are used here, no longer ones.",
            ),
        ),
        Mistake(
            "recall",
            _recall,
            Bilingual(
                "分母是译文里的元组数，不是参考里的：BLEU 用精确率，不用召回率。",
                "Divide by the n-grams of the prediction, not of the reference: BLEU takes "
                "precisions, not recalls.",
            ),
        ),
        Mistake(
            "penalty-without-exponential",
            _bleu(brevity=lambda p, r: min(1.0, len(p) / len(r))),
            Bilingual(
                "简短惩罚是 exp(1 − r/c)，不是长度之比。",
                "The brevity penalty is exp(1 − r/c), not the ratio of the lengths.",
            ),
        ),
        Mistake(
            "smoothed",
            _smoothed,
            Bilingual(
                "给计数加了 1：这里不平滑，没有一个对就是 0。",
                "One was added to the counts: nothing is smoothed here, and where none is "
                "right the result is 0.",
            ),
        ),
        Mistake(
            "repetitions-lost",
            _bleu(precision=_of_sets),
            Bilingual(
                "用集合数，重复的词只算一次：参考里出现两次的，译文里两次都算对。",
                "Counted as sets, a repeated word counts once: what the reference has twice "
                "may be right twice.",
            ),
        ),
        Mistake(
            "lower-case",
            _lower,
            Bilingual(
                "大小写不同就是不同的词：不要转成小写。",
                "Words that differ in capitals are different words: do not lower them.",
            ),
        ),
        Mistake(
            "logarithm-of-zero",
            _with_logarithms,
            Bilingual(
                "精确率可能是 0，0 没有对数：这时结果是 0。",
                "A precision can be 0, and 0 has no logarithm: the result is 0 then.",
            ),
        ),
    ),
)

EXERCISES = (BEAM_STEP, BLEU)
