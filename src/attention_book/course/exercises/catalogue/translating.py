"""Exercises on translating: beam search, BLEU, Bahdanau's look, alignment errors."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from attention_book.attention import masked_softmax
from attention_book.course.exercises import hints
from attention_book.course.exercises.core import Probe, exercise, probe, wrong
from attention_book.foundations.bilingual import Bilingual
from attention_book.metrics import alignment_scores, ngram_matches

# --- beam-step ---------------------------------------------------------------------------------


def _beams() -> Iterator[Probe]:
    first = torch.tensor([[0.6, 0.3, 0.1], [0.1, 0.1, 0.8]]).log()
    yield probe(
        (torch.tensor([-0.1, -2.5]), first, 2),
        "两个最好的延续来自同一个候选",
        "the two best continuations come from one candidate",
    )
    yield probe((torch.tensor([-1.0, -1.1]), torch.randn(2, 5).log_softmax(dim=-1), 2))
    yield probe((-torch.rand(3), torch.randn(3, 7).log_softmax(dim=-1), 3))
    alike = torch.tensor([[0.7, 0.2, 0.1], [0.8, 0.15, 0.05]]).log()
    yield probe(
        (torch.tensor([-1.0, -1.4]), alike, 2),
        "两个候选接同一个词最好",
        "one token is the best for two candidates",
    )
    yield probe(
        (torch.tensor([-0.5, -0.7]), torch.randn(2, 4).log_softmax(dim=-1), 5),
        "要的延续比候选多",
        "more continuations are asked for than there are candidates",
    )
    yield probe(
        (torch.tensor([0.0]), torch.randn(1, 4).log_softmax(dim=-1), 3),
        "起初只有一个候选",
        "at the start there is a single candidate",
    )


def _best(totals: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
    scores, places = totals.flatten().topk(width)
    return scores, places // totals.shape[-1], places % totals.shape[-1]


def _of_totals(
    combine: Callable[[Tensor, Tensor], Tensor],
) -> Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor, Tensor]]:
    return lambda scores, log_probs, width: _best(combine(scores[:, None], log_probs), width)


def _each_beam(scores: Tensor, log_probs: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
    found, tokens = (scores[:, None] + log_probs).max(dim=-1)
    order = found.argsort(descending=True)[:width]
    return found[order], order, tokens[order]


Step = tuple[Tensor, Tensor, Tensor]


def _worst(scores: Tensor, log_probs: Tensor, width: int) -> Step:
    totals = scores[:, None] + log_probs
    values, places = totals.flatten().topk(width, largest=False)
    return values, places // totals.shape[-1], places % totals.shape[-1]


def _by_beams(scores: Tensor, log_probs: Tensor, width: int) -> Step:
    values, places = (scores[:, None] + log_probs).flatten().topk(width)
    return values, places // len(scores), places % len(scores)


def _each_token(scores: Tensor, log_probs: Tensor, width: int) -> Step:
    best, beams = (scores[:, None] + log_probs).max(dim=0)
    order = best.argsort(descending=True)[:width]
    return best[order], beams[order], order


BEAM_STEP = exercise(
    "beam-step",
    "写 `step(scores, log_probs, width)`：scores（候选）是束里各候选的得分，log_probs（候选，词）"
    "是下一个词的对数概率；返回最好的 width 个延续的得分、来自哪个候选、接哪个词，得分高的在前。"
    "width 不一定等于候选的个数。",
    "Write `step(scores, log_probs, width)`: from the scores of a beam's candidates (candidate)"
    " and the log-probabilities of the next token (candidate, token) return the scores, candidates"
    " and tokens of the best continuations, the best first. There need not be as many candidates"
    " as width.",
    solution=_of_totals(torch.add),
    probes=_beams,
    mistakes={
        "past-forgotten": wrong(
            "只比了这一步：要加上这个候选到目前为止的得分。",
            "Only this step was compared: add what the candidate has scored so far.",
            _of_totals(lambda scores, log_probs: log_probs),
        ),
        "one-from-each": wrong(
            "每个候选各留一个延续，成了几个互不相干的贪心搜索：所有延续要一起比。",
            "One from each candidate makes several greedy searches side by side: all continuations"
            " compete together.",
            _each_beam,
        ),
        "multiplied": wrong(
            "概率相乘，对数概率相加。",
            "Probabilities are multiplied, log-probabilities are added.",
            _of_totals(lambda scores, log_probs: scores * log_probs),
        ),
        "swapped": wrong(
            "词与候选颠倒了：先返回候选的编号，再返回词的编号；拉平之后，整除得到候选，余数是词。",
            "Candidate and token are swapped: return the candidate's number first. Of a flattened"
            " place, the quotient is the candidate and the remainder the token.",
            lambda s, logs, width: tuple(_best(s[:, None] + logs, width)[i] for i in (0, 2, 1)),
        ),
        "worst-first": wrong(
            "次序反了：对数概率越接近 0 越好，最好的排在最前。",
            "The wrong way round: the closer to 0 a log-probability the better, and the best come"
            " first.",
            _worst,
            lambda s, logs, width: tuple(x.flip(0) for x in _best(s[:, None] + logs, width)),
        ),
        "width-fixed": wrong(
            "返回几个由 `width` 决定，不由候选的个数决定，也不要写死。",
            "How many to return is for `width` to say, not for the number of candidates, nor a"
            " fixed number.",
            lambda s, logs, width: _best(s[:, None] + logs, 2),
            lambda s, logs, width: _best(s[:, None] + logs, len(s)),
        ),
        "divided-by-beams": wrong(
            "拉平之后每个候选占“词数”个位置：除以词数，不是候选的个数。",
            "Flattened, each candidate takes as many places as there are tokens: divide by their"
            " number, not by that of the candidates.",
            _by_beams,
        ),
        "probabilities": wrong(
            "得分是对数概率之和：不要取指数。",
            "A score is a sum of log-probabilities: take no exponential.",
            _of_totals(lambda scores, log_probs: scores.exp() * log_probs.exp()),
            _of_totals(lambda scores, log_probs: scores + log_probs.exp()),
        ),
        "one-for-each-token": wrong(
            "每个词只留了一个候选：两个候选接同一个词，是两个不同的延续。",
            "Only one candidate is kept for each token: two that go on with one token are two"
            " continuations.",
            _each_token,
        ),
    },
)


# --- bleu --------------------------------------------------------------------------------------

Tokens = Sequence[str]


def _tokens(text: str) -> list[str]:
    return text.split()


def _translations() -> Iterator[Probe]:
    reference = _tokens("le chat est sur le lit .")
    yield probe((reference, reference), "译文与参考相同", "prediction and reference agree")
    yield probe((_tokens("le chat est ."), reference), "译文太短", "the prediction is short")
    yield probe(
        (_tokens("le le le chat est est sur le lit ."), reference),
        "译文重复了词",
        "words are repeated",
    )
    yield probe(
        (_tokens("un chat est sur le sol là ."), reference), "译文较长", "the prediction is long"
    )
    yield probe((_tokens("chat sur lit"), reference), "没有一个二元组对", "no bigram is right")
    yield probe(
        (_tokens("Le chat est sur le lit le"), reference),
        "有一个词大写",
        "one word has a capital letter",
    )
    yield probe((["chat"], reference), "译文只有一个词", "the prediction is one word")


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


BLEU = exercise(
    "bleu",
    "写 `bleu(prediction, reference)`：一个句子的 BLEU，0 到 1，只用一元组和二元组，不平滑，"
    "大小写算不同；两个参数都是词的列表。有一个精确率是 0，或者没有二元组，结果就是 0。",
    "Write `bleu(prediction, reference)`: one sentence's BLEU, 0 to 1, with unigrams and bigrams"
    " only, not smoothed, where capitals count as other letters; both arguments are lists of"
    " tokens. If a precision is 0, or there is no bigram, the result is 0.",
    solution=_bleu(),
    probes=_translations,
    mistakes={
        "no-brevity-penalty": wrong(
            "没有简短惩罚：只写有把握的几个词就能得高分。",
            "No brevity penalty: a few safe words get a high score.",
            _bleu(brevity=lambda prediction, reference: 1.0),
        ),
        "penalty-inverted": wrong(
            "惩罚的是太长的译文，应当惩罚太短的：比值颠倒了。",
            "This punishes long predictions, not short ones: the ratio is upside down.",
            _bleu(brevity=lambda p, r: math.exp(min(0.0, 1 - len(p) / len(r)))),
        ),
        "penalty-unbounded": wrong(
            "译文长于参考时，惩罚因子大于 1，成了奖励：它至多是 1。",
            "For a prediction longer than its reference the factor exceeds 1 and becomes a bonus:"
            " it is 1 at most.",
            _bleu(brevity=lambda p, r: math.exp(1 - len(r) / len(p))),
        ),
        "not-clipped": wrong(
            "没有截断：同一个词写很多遍，每一遍都算对。至多数到参考里出现的次数。",
            "Not clipped: a right word counts every time it is repeated. Count it at most as often"
            " as the reference has it.",
            _bleu(precision=_unclipped),
        ),
        "arithmetic-mean": wrong(
            "BLEU 用几何平均：有一个精确率是 0，整个就是 0。",
            "BLEU takes the geometric mean: if one precision is 0, all is 0.",
            _bleu(mean=lambda p1, p2: (p1 + p2) / 2),
        ),
        "percent": wrong(
            "这里要 0 到 1，不是 0 到 100。",
            "Here it runs from 0 to 1, not to 100.",
            lambda p, r: 100 * _bleu()(p, r),
        ),
        "product": wrong(
            "精确率相乘之后还要开方。",
            "The product of the precisions lacks its root.",
            _bleu(mean=lambda p1, p2: p1 * p2),
        ),
        "one-order": wrong(
            "一元组和二元组的精确率都要：两者相乘，再开平方。",
            "Both precisions are needed, of unigrams and of bigrams: multiply them and take the"
            " root.",
            _of_orders(1),
            _of_orders(2),
        ),
        "four-orders": wrong(
            "这里只用一元组和二元组，不到四元组。",
            "Only unigrams and bigrams are used here, no longer ones.",
            _of_orders(1, 2, 3, 4),
        ),
        "recall": wrong(
            "分母是译文里的元组数，不是参考里的：BLEU 用精确率，不用召回率。",
            "Divide by the n-grams of the prediction, not of the reference: BLEU takes precisions,"
            " not recalls.",
            _recall,
        ),
        "penalty-without-exponential": wrong(
            "简短惩罚是 exp(1 − r/c)，不是长度之比。",
            "The brevity penalty is exp(1 − r/c), not the ratio of the lengths.",
            _bleu(brevity=lambda p, r: min(1.0, len(p) / len(r))),
        ),
        "smoothed": wrong(
            "给计数加了 1：这里不平滑，没有一个对就是 0。",
            "One was added to the counts: nothing is smoothed here, and where none is right the"
            " result is 0.",
            _smoothed,
        ),
        "repetitions-lost": wrong(
            "用集合数，重复的词只算一次：参考里出现两次的，译文里两次都算对。",
            "Counted as sets, a repeated word counts once: what the reference has twice may be"
            " right twice.",
            _bleu(precision=_of_sets),
        ),
        "lower-case": wrong(
            "大小写不同就是不同的词：不要转成小写。",
            "Words that differ in capitals are different words: do not lower them.",
            lambda p, r: _bleu()([word.lower() for word in p], [word.lower() for word in r]),
        ),
        "logarithm-of-zero": wrong(
            "精确率可能是 0，0 没有对数：这时结果是 0。",
            "A precision can be 0, and 0 has no logarithm: the result is 0 then.",
            lambda p, r: (
                _brevity(p, r) * math.exp(sum([math.log(_precision(p, r, n)) for n in (1, 2)]) / 2)
            ),
        ),
    },
)


# --- bahdanau-look -----------------------------------------------------------------------------


def _states_and_annotations() -> Iterator[Probe]:
    for lengths in ((3, 3), (4, 2), (5, 1, 3), (2,)):
        batch, width = len(lengths), max(lengths)
        mask = torch.arange(width) < torch.tensor(lengths)[:, None]
        weights = torch.randn(7, 2), torch.randn(7, 3), torch.randn(7)
        about = Bilingual(*hints.PADDED) if min(lengths) < width else None
        yield Probe((torch.randn(batch, 2), torch.randn(batch, width, 3), mask, *weights), about)


def _scores(state: Tensor, annotations: Tensor, W_s: Tensor, W_h: Tensor, v: Tensor) -> Tensor:
    return torch.tanh((state @ W_s.T)[:, None] + annotations @ W_h.T) @ v


def _look(weigh: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return a look whose weights are made of scores and mask, both (batch, key)."""

    def look(
        state: Tensor, annotations: Tensor, mask: Tensor, W_s: Tensor, W_h: Tensor, v: Tensor
    ) -> Tensor:
        weights = weigh(_scores(state, annotations, W_s, W_h, v), mask)
        return (weights[..., None] * annotations).sum(dim=1)

    return look


def _highest(scores: Tensor, mask: Tensor) -> Tensor:
    seen = scores.masked_fill(~mask, -torch.inf)
    return (seen == seen.amax(dim=-1, keepdim=True)).to(scores.dtype)


_right_look = _look(lambda scores, mask: masked_softmax(scores, mask))

LOOK = exercise(
    "bahdanau-look",
    "写 `look(state, annotations, mask, W_s, W_h, v)`：解码器的状态（批量，d_s）看一眼源句的注释"
    "（批量，位置，d_h），返回上下文（批量，d_h）；mask（批量，位置）里 True 是真词；W_s 的形状是"
    "（隐单元，d_s），W_h 是（隐单元，d_h），v 是（隐单元）。",
    "Write `look(state, annotations, mask, W_s, W_h, v)`: the decoder's state (batch, d_s) looks"
    " at the annotations (batch, position, d_h) and returns a context (batch, d_h); True in mask"
    " (batch, position) marks a real word; W_s has the shape (hidden unit, d_s), W_h (hidden"
    " unit, d_h), and v (hidden unit).",
    solution=_right_look,
    probes=_states_and_annotations,
    mistakes={
        "padding-seen": wrong(
            "没有填充时对，有填充就错：填充也分到了权重。评分之后、softmax 之前要遮住它。",
            "Right without padding, wrong with it: the padding gets weight as well. Hide it after"
            " scoring and before the softmax.",
            _look(lambda scores, mask: scores.softmax(dim=-1)),
        ),
        "masked-afterwards": wrong(
            "softmax 之后才遮，短句的权重之和小于 1，上下文也跟着缩小。",
            "Masked after the softmax, the weights of a short sentence sum to less than 1, and its"
            " context shrinks.",
            _look(lambda scores, mask: scores.softmax(dim=-1) * mask),
        ),
        "over-the-batch": wrong(
            "softmax 沿着批量的轴，成了句子与句子相争：要沿源句的位置。",
            "The softmax runs over the batch: sentences compete with one another. It goes over the"
            " positions of the source.",
            _look(lambda s, m: s.masked_fill(~m, -torch.inf).softmax(dim=0)),
            _look(lambda s, m: s.masked_fill(~m, -torch.inf).flatten().softmax(dim=0).view_as(s)),
        ),
        "plain-average": wrong(
            "每个词的权重都一样：评分没有用上。",
            "Every word has the same weight: the scores are not used.",
            _look(lambda scores, mask: mask / mask.sum(dim=-1, keepdim=True)),
        ),
        "state-left-out": wrong(
            "状态没有进入评分：每一步看到的都一样，这不是注意力，是一个固定的平均。",
            "The state is not part of the score: every step sees the same. This is no attention but"
            " a fixed average.",
            lambda s, h, m, W_s, W_h, v: _right_look(s * 0, h, m, W_s, W_h, v),
        ),
        "scores-set-to-zero": wrong(
            "把评分变成 0 并没有遮住它：`exp(0)` 是 1，不是 0。填 `-inf`。",
            "A score of 0 is not hidden: `exp(0)` is 1, not 0. Fill with `-inf`.",
            _look(lambda s, m: (s * m).softmax(dim=-1)),
        ),
        "mask-inverted": [
            wrong(
                "掩码反了：True 是真词。",
                "The mask is inverted: True marks a real word.",
                _look(lambda scores, mask: masked_softmax(scores, ~mask)),
            ),
            wrong(
                "掩码反了：要填充的是 `~mask` 的位置。",
                "The mask is inverted: what gets filled is `~mask`.",
                _look(lambda scores, mask: scores.masked_fill(mask, -torch.inf).softmax(dim=-1)),
            ),
        ],
        "highest-only": wrong(
            "只取了评分最高的词：上下文是所有真词的加权平均。",
            "Only the word of the highest score is taken: the context is a weighted average over"
            " all real words.",
            _look(_highest),
        ),
        "no-softmax": wrong(*hints.NO_SOFTMAX, _look(lambda scores, mask: scores * mask)),
        "not-normalized": wrong(
            "指数还要除以这一句的和。",
            "The exponentials still have to be divided by the sum of their sentence.",
            _look(lambda scores, mask: scores.exp() * mask),
        ),
        "sign": wrong(
            *hints.WEIGHT_REVERSED, _look(lambda scores, mask: masked_softmax(-scores, mask))
        ),
        "no-tanh": wrong(
            "评分里少了 tanh。",
            "The tanh of the score is missing.",
            lambda s, h, m, W_s, W_h, v: (
                masked_softmax((((s @ W_s.T)[:, None] + h @ W_h.T) @ v), m)[..., None] * h
            ).sum(dim=1),
        ),
    },
)


# --- alignment-error-rate ----------------------------------------------------------------------

Links = set[tuple[int, int]]


def _alignments() -> Iterator[Probe]:
    sure = {(0, 0), (1, 1)}
    yield probe(({(0, 0), (1, 2)}, sure, set()), "没有“可能”的连线", "no link is merely possible")
    yield probe(({(0, 0), (2, 1), (2, 2)}, sure, {(2, 1), (2, 2)}))
    yield probe(({(0, 0), (1, 1), (3, 3)}, sure, {(2, 2), (3, 2), (3, 3), (4, 4)}))
    three = {(0, 0), (1, 1), (2, 3)}
    yield probe(({(0, 0), (1, 1), (3, 3), (4, 5)}, three, {(3, 3), (0, 1)}))
    yield probe((set(), sure, {(2, 2)}), "一条连线也没有画", "no link was drawn")


def _f_measure(a: Links, s: Links, p: Links) -> float:
    hits = len(a & (s | p)) * len(a & s)
    if not hits:
        return 1.0
    precision, recall = len(a & (s | p)) / len(a), len(a & s) / len(s)
    return 1 - 2 * precision * recall / (precision + recall)


ALIGNMENT_ERROR_RATE = exercise(
    "alignment-error-rate",
    "写 `error_rate(predicted, sure, possible)`：三个连线的集合，返回 AER；确定的连线也算可能的。",
    "Write `error_rate(predicted, sure, possible)`: from three sets of links return the AER; sure"
    " links count as possible ones, too.",
    solution=lambda predicted, sure, possible: (
        alignment_scores(predicted, sure, possible).error_rate
    ),
    probes=_alignments,
    mistakes={
        "possible-ignored": wrong(
            "“可能”的连线没有用上：画了它们不算错。",
            "The possible links are not used: to draw one is no error.",
            lambda a, s, p: 1 - 2 * len(a & s) / (len(a) + len(s)),
        ),
        "sure-not-possible": wrong(
            "确定的连线也是可能的：P 要把 S 包括在内。",
            "A sure link is a possible one as well: P includes S.",
            lambda a, s, p: 1 - (len(a & s) + len(a & p)) / (len(a) + len(s)),
        ),
        "divided-by-possible": wrong(
            "分母里是 |S|，不是 |P|：漏掉只是“可能”的连线不算错。",
            "The denominator has |S|, not |P|: to miss a merely possible link is no error.",
            lambda a, s, p: 1 - (len(a & s) + len(a & (s | p))) / (len(a) + len(s | p)),
        ),
        "agreement": wrong(
            "这是吻合的程度，越大越好；错误率是 1 减去它。",
            "This is the agreement, larger for better; the error rate is 1 minus it.",
            lambda a, s, p: (len(a & s) + len(a & (s | p))) / (len(a) + len(s)),
        ),
        "precision-alone": wrong(
            "只看了画出来的连线对不对：漏掉的确定连线也要算。",
            "This asks only whether what was drawn is right: sure links that are missing count as"
            " well.",
            lambda a, s, p: 1 - len(a & (s | p)) / len(a),
        ),
        "recall-alone": wrong(
            "只看了确定的连线有没有找到：画错的连线也要算。",
            "This asks only whether sure links were found: wrong links count as well.",
            lambda a, s, p: 1 - len(a & s) / len(s),
        ),
        "f-measure": wrong(
            "这是 1 减 F 值：AER 把分子加起来、分母加起来再相除，两者一般不相等。",
            "This is 1 minus the F measure: the AER adds up what is above and what is below, then"
            " divides; the two differ in general.",
            _f_measure,
        ),
        "percent": wrong(
            "这里要 0 到 1，不是百分数。",
            "Here it runs from 0 to 1; it is no percentage.",
            lambda a, s, p: 100 * (1 - (len(a & s) + len(a & (s | p))) / (len(a) + len(s))),
        ),
        "sure-not-counted": wrong(
            "分子里的一项是 |A ∩ S|：确定的连线要单独数。",
            "One of the terms above is |A ∩ S|: count the sure links apart.",
            lambda a, s, p: 1 - 2 * len(a & (s | p)) / (len(a) + len(s)),
        ),
        "rounded": wrong(
            *hints.ROUNDED,
            lambda a, s, p: round(1 - (len(a & s) + len(a & (s | p))) / (len(a) + len(s)), 2),
        ),
    },
)

EXERCISES = (BEAM_STEP, BLEU, LOOK, ALIGNMENT_ERROR_RATE)
