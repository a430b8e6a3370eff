"""Exercises on language models: the words that top-p keeps, and the prefix mask."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.attention import (
    causal_mask,
    mask_from_lengths,
)
from attention_book.course.exercises import hints
from attention_book.course.exercises.core import Answer, Law, Probe, exercise, probe, shares, wrong
from attention_book.course.exercises.verdict import Finding
from attention_book.decoding import next_distribution
from attention_book.foundations.bilingual import Bilingual

# --- top-p -------------------------------------------------------------------------------------


def _nucleus(probabilities: Tensor, p: float) -> Tensor:
    return next_distribution(probabilities.log()[None], top_p=p)[0]


def _distributions() -> Iterator[Probe]:
    yield probe((torch.tensor([0.1, 0.5, 0.15, 0.25]), 0.7))
    yield probe((torch.tensor([0.3, 0.05, 0.45, 0.2]), 0.6))
    yield probe((torch.randn(11).softmax(dim=0), 0.9))
    sure = torch.tensor([0.05, 0.05, 0.8, 0.1])
    yield probe((sure, 0.5), "p 低于最大的概率", "p is below the largest probability")
    yield probe((sure, 1.0), "p 是 1", "p is 1")
    halves = torch.tensor([0.125, 0.5, 0.0625, 0.25, 0.0625])  # exact in float32
    yield probe((halves, 0.75), "总和正好是 p", "a sum that is just p")
    yield probe((halves, 0.5), "最大的概率正好是 p", "the largest is just p")
    some = torch.tensor([0.0, 0.625, 0.0, 0.375])
    yield probe((some, 0.9), "有的概率是 0", "some probabilities are 0")
    yield probe((torch.tensor([0.0, 1.0, 0.0]), 0.9), "只有一个词可能", "one word is sure")
    yield probe((torch.ones(1), 0.5), "词表里只有一个词", "a vocabulary of one word")


def _kept(probabilities: Tensor, p: float, *, crossing: bool) -> Tensor:
    """Keep by the sum before a word, or, without the one that crosses, by the sum with it."""
    values, order = probabilities.sort(descending=True)
    sums = values.cumsum(dim=0)
    kept = values.where(sums - values < p if crossing else sums <= p, 0.0)
    return torch.zeros_like(kept).scatter(0, order, kept)


def _left_sorted(probabilities: Tensor, p: float) -> Tensor:
    return _nucleus(probabilities, p).sort(descending=True).values


def _each_above(probabilities: Tensor, threshold: float) -> Tensor:
    kept = probabilities.where(probabilities >= threshold, 0.0)
    return kept / kept.sum()


def _past_p(probabilities: Tensor, p: float) -> Tensor:
    """Go on where the sum is just p."""
    values, order = probabilities.sort(descending=True)
    kept = values.where(values.cumsum(dim=0) - values <= p, 0.0)
    return torch.zeros_like(kept).scatter(0, order, kept / kept.sum())


def _always_one_more(probabilities: Tensor, p: float) -> Tensor:
    values, order = probabilities.sort(descending=True)
    count = int((_nucleus(probabilities, p) > 0).sum()) + 1
    kept = torch.cat((values[:count], torch.zeros_like(values[count:])))
    return torch.zeros_like(kept).scatter(0, order, kept / kept.sum())


def _least_first(probabilities: Tensor, p: float) -> Tensor:
    values, order = probabilities.sort()
    kept = values.where(values.cumsum(dim=0) - values < p, 0.0)
    return torch.zeros_like(kept).scatter(0, order, kept / kept.sum())


def _dropped_is_zero(answer: Answer) -> Finding | None:
    probabilities = torch.tensor([0.125, 0.5, 0.0625, 0.25, 0.0625])
    got = answer(probabilities, 0.7)
    if (got[[0, 2, 4]] == 0).all():
        return None
    given = {"probabilities": probabilities, "p": 0.7}
    wanted = Bilingual("恰好两个不是 0 的概率", "exactly two probabilities that are not 0")
    return Finding(given, wanted, got)


def _sums_to_one(answer: Answer) -> Finding | None:
    probabilities = torch.randn(7).softmax(dim=0)
    for p in (0.2, 0.5, 0.8):
        total = float(answer(probabilities, p).sum())
        if abs(total - 1) > 1e-4:
            given = {"probabilities": probabilities, "p": p}
            return Finding(
                given,
                Bilingual("总和为 1 的概率", "probabilities that sum to 1"),
                Bilingual(f"总和 {total:.4f}", f"the sum {total:.4f}"),
            )
    return None


def _no_word_too_many(answer: Answer) -> Finding | None:
    for probabilities, p, fewest in (
        (torch.full((4,), 0.25), 0.5, 2),  # exact in float32
        (torch.tensor([0.125, 0.25, 0.25, 0.25, 0.125]), 0.25, 1),
    ):
        kept = int((answer(probabilities, p) > 0).sum())
        if kept != fewest:
            return Finding(
                {"probabilities": probabilities, "p": p},
                Bilingual(f"留下 {fewest} 个词", f"{fewest} of the words kept"),
                Bilingual(f"留下 {kept} 个", f"{kept} of them"),
            )
    return None


TOP_P = exercise(
    "top-p",
    "写 `nucleus(probabilities, p)`：留下合起来达到 p 的最少几个最可能的词，其余为 0，总和为 1。",
    "Write `nucleus(probabilities, p)`: keep the fewest most probable words that reach p"
    " together, set the others to 0, and let the sum be 1.",
    solution=_nucleus,
    probes=_distributions,
    mistakes={
        "crossing-dropped": wrong(
            "跨过门槛的那个词也要留：看它之前的总和够不够 p。否则 p 低于最大的概率时，"
            "一个词也不剩。",
            "The word that crosses the threshold stays: ask whether the sum before it reaches p."
            " Otherwise no word is left where p is below the largest probability.",
            lambda x, p: shares(_kept(x, p, crossing=False)),
        ),
        "not-renormalized": wrong(
            "留下的概率加起来不到 1：还要除以它们的总和。",
            "What is kept doesn't sum to 1: divide by its sum.",
            lambda probabilities, p: _kept(probabilities, p, crossing=True),
        ),
        "unsorted": wrong(
            "累加之前要先按概率从大到小排：现在是照词表的次序加的。",
            "Sort from the most probable word down before adding up; now the order is that of the"
            " vocabulary.",
            lambda x, p: shares(x.where(x.cumsum(dim=0) - x < p, 0.0)),
        ),
        "left-sorted": wrong(
            "概率排过序，却没有放回原处：第 i 个数要是第 i 个词的。",
            "The probabilities were sorted and not put back: number i belongs to word i.",
            _left_sorted,
        ),
        "single-words": wrong(
            "门槛 p 管的是总和，不是单个词：从最可能的词起往下加，加够为止。",
            "The threshold p is for the sum, not for single words: add from the most probable word"
            " down until it is enough.",
            _each_above,
            lambda x, p: _each_above(x, (1 - p) * float(x.max())),
            lambda x, p: _each_above(x, 1 - p),
        ),
        "one-too-many": wrong(
            "多留了一个：总和一达到 p 就够了，正好等于 p 也算。",
            "One word too many: the sum is enough once it reaches p, also where it is just p.",
            _past_p,
            _always_one_more,
        ),
        "least-first": wrong(
            "次序反了：从最可能的词留起。",
            "The order is reversed: begin with the most probable.",
            _least_first,
        ),
        "put-back-wrongly": wrong(
            "放回原处用错了次序：`order[k]` 是排在第 k 的词的编号，用 `scatter` 或 "
            "`result[order] = kept` 放回去，不是 `kept[order]`。",
            "The words are put back by the wrong order: `order[k]` is the number of the word that"
            " came k-th, so put back with `scatter` or `result[order] = kept`, and not by"
            " `kept[order]`.",
            lambda probabilities, p: _left_sorted(probabilities, p)[
                probabilities.argsort(descending=True)
            ],
        ),
        "softmax": wrong(
            "概率要除以总和，不再做 softmax：softmax 吃的是对数几率。",
            "Divide probabilities by their sum instead of taking a softmax, which is for logits.",
            lambda probabilities, p: probabilities.masked_fill(
                (_nucleus(probabilities, p) == 0), -torch.inf
            ).softmax(dim=0),
            lambda probabilities, p: _nucleus(probabilities, p).softmax(dim=0),
        ),
        "even": wrong(
            "留下的词成了一样可能：它们之间的比例不变。",
            "The words that are kept have become equally probable: their ratios stay.",
            lambda x, p: shares((_nucleus(x, p) > 0).float()),
        ),
        "nothing-dropped": wrong(
            "一个词也没有去掉。",
            "No word is dropped.",
            lambda probabilities, p: probabilities.clone(),
        ),
    },
    laws=(
        Law("sums-to-one", Bilingual("总和为 1。", "The probabilities sum to 1."), _sums_to_one),
        Law(
            "no-word-too-many",
            Bilingual(
                "有几个词概率相等时，也只留够 p 的最少几个。",
                "Of words that are equally probable, too, no more stay than it takes to reach p.",
            ),
            _no_word_too_many,
        ),
        Law(
            "dropped-is-zero",
            Bilingual("去掉的词概率恰好是 0。", "What is dropped has a probability of exactly 0."),
            _dropped_is_zero,
        ),
    ),
)


# --- prefix-mask -------------------------------------------------------------------------------


def _prefix(lengths: Tensor, n: int) -> Tensor:
    return causal_mask(n) | mask_from_lengths(lengths, n)


def _square_alone(lengths: Tensor, n: int) -> Tensor:
    inside = mask_from_lengths(lengths, n)
    return inside & inside.mT


PREFIX_MASK = exercise(
    "prefix-mask",
    "写 `prefix_mask(lengths, n)`：第 b 句的前 lengths[b] 个词互相都看得见，其余的只看自己和以"
    "前；形状 (batch, n, n)。",
    "Write `prefix_mask(lengths, n)`: the first lengths[b] words of sentence b see one another,"
    " the others see themselves and the past; shape (batch, n, n).",
    solution=_prefix,
    probes=lambda: [
        probe((torch.tensor([3]), 5)),
        probe((torch.tensor([2, 4, 1]), 6), "各句的前缀不一样长", "prefixes differ in length"),
        probe((torch.tensor([0, 4]), 4), "前缀是空的，或是全句", "no prefix, or all prefix"),
        probe((torch.tensor([3, 0, 2]), 3), "句数等于词数", "as many sentences as words"),
        probe((torch.tensor([1, 0]), 1), "只有一个词", "there is one word"),
    ],
    mistakes={
        "causal-only": wrong(
            "这是 GPT 的掩码：前缀里的词还看不见前缀里后面的词。",
            "This is GPT's mask: words of the prefix don't see later words of it yet.",
            lambda lengths, n: causal_mask(n).expand(len(lengths), n, n),
        ),
        "prefix-sees-all": wrong(
            "放开的是行：前缀里的词现在连后面要写的词也看得见。该放开的是前缀那几列。",
            "You opened rows: words of the prefix now see the text that is still to be written."
            " Open the prefix's columns.",
            lambda lengths, n: causal_mask(n) | mask_from_lengths(lengths, n).mT,
        ),
        "and-instead-of-or": wrong(
            "两个条件满足一个就可以看：是 `|`，不是 `&`。",
            "Either condition is enough to see: `|`, not `&`.",
            lambda lengths, n: causal_mask(n) & mask_from_lengths(lengths, n),
        ),
        "prefix-only": wrong(
            "前缀以后的词也要看得见自己和以前：还缺因果掩码。",
            "Words after the prefix must see themselves and the past, too: the causal mask is"
            " missing.",
            lambda lengths, n: mask_from_lengths(lengths, n).expand(len(lengths), n, n),
            _square_alone,
        ),
        "one-too-many": wrong(
            "多放开了一列：前缀是位置 0 到 length - 1，用 `<`。",
            "One column too many: the prefix is the positions 0 to length - 1, so `<`.",
            lambda lengths, n: _prefix((lengths + 1).clamp(max=n), n),
        ),
        "one-length-for-all": wrong(
            "每句有自己的前缀长度，现在都用了同一个。",
            "Each sentence has a prefix of its own; all got the same length.",
            lambda lengths, n: _prefix(lengths[:1].expand_as(lengths), n),
            lambda lengths, n: _prefix(lengths.max().expand_as(lengths), n),
        ),
        "one-too-few": wrong(
            "少放开了一列：前缀是位置 0 到 length - 1，连后者在内。",
            "One column too few: the prefix is the positions 0 to length - 1, both included.",
            lambda lengths, n: _prefix((lengths - 1).clamp(min=0), n),
        ),
        "inverted": wrong(*hints.MASK_INVERTED, lambda lengths, n: ~_prefix(lengths, n)),
        "future-instead": wrong(
            "取了上三角：那是自己和以后。以前的在下三角。",
            "That is the upper triangle, a word and its future; the past is the lower one.",
            lambda lengths, n: causal_mask(n).mT | mask_from_lengths(lengths, n),
        ),
        "not-itself": wrong(
            "每个词也看得见自己。",
            "Every word sees itself, too.",
            lambda lengths, n: causal_mask(n).tril(-1) | mask_from_lengths(lengths, n),
        ),
        "prefix-forgotten": wrong(
            "前缀以后的词看不见前缀了：前缀也是它们的过去。",
            "Words after the prefix no longer see it: it is part of their past.",
            lambda lengths, n: (
                _square_alone(lengths, n) | (causal_mask(n) & ~mask_from_lengths(lengths, n))
            ),
        ),
    },
)

EXERCISES = (TOP_P, PREFIX_MASK)
