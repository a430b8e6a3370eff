"""Exercises on language models: the words that top-p keeps, and the prefix mask."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.attention import causal_mask, mask_from_lengths
from attention_book.course.exercises.exercise import Answer, Exercise, Law, Mistake, Probe
from attention_book.course.exercises.verdict import Finding
from attention_book.decoding import next_distribution
from attention_book.foundations.bilingual import Bilingual


def _nucleus(probabilities: Tensor, p: float) -> Tensor:
    return next_distribution(probabilities.log()[None], top_p=p)[0]


def _distributions() -> Iterator[Probe]:
    yield Probe((torch.tensor([0.1, 0.5, 0.15, 0.25]), 0.7))
    yield Probe((torch.tensor([0.3, 0.05, 0.45, 0.2]), 0.6))
    yield Probe((torch.randn(11).softmax(dim=0), 0.9))
    sure = torch.tensor([0.05, 0.05, 0.8, 0.1])
    yield Probe((sure, 0.5), Bilingual("p 低于最大的概率", "p is below the largest probability"))
    yield Probe((sure, 1.0), Bilingual("p 是 1", "p is 1"))
    halves = torch.tensor([0.125, 0.5, 0.0625, 0.25, 0.0625])  # exact in float32
    yield Probe((halves, 0.75), Bilingual("总和正好是 p", "a sum that is just p"))
    yield Probe((halves, 0.5), Bilingual("最大的概率正好是 p", "the largest is just p"))
    some = torch.tensor([0.0, 0.625, 0.0, 0.375])
    yield Probe((some, 0.9), Bilingual("有的概率是 0", "some probabilities are 0"))
    yield Probe(
        (torch.tensor([0.0, 1.0, 0.0]), 0.9), Bilingual("只有一个词可能", "one word is sure")
    )
    yield Probe((torch.ones(1), 0.5), Bilingual("词表里只有一个词", "a vocabulary of one word"))


def _kept(probabilities: Tensor, p: float, *, crossing: bool) -> Tensor:
    """Keep by the sum before a word, or, without the one that crosses, by the sum with it."""
    values, order = probabilities.sort(descending=True)
    sums = values.cumsum(dim=0)
    kept = values.where(sums - values < p if crossing else sums <= p, 0.0)
    return torch.zeros_like(kept).scatter(0, order, kept)


def _without_crossing(probabilities: Tensor, p: float) -> Tensor:
    kept = _kept(probabilities, p, crossing=False)
    return kept / kept.sum()


def _in_order_of_the_vocabulary(probabilities: Tensor, p: float) -> Tensor:
    before = probabilities.cumsum(dim=0) - probabilities
    kept = probabilities.where(before < p, 0.0)
    return kept / kept.sum()


def _left_sorted(probabilities: Tensor, p: float) -> Tensor:
    return _nucleus(probabilities, p).sort(descending=True).values


def _each_above(probabilities: Tensor, threshold: float) -> Tensor:
    kept = probabilities.where(probabilities >= threshold, 0.0)
    return kept / kept.sum()


def _one_too_many(probabilities: Tensor, p: float) -> Tensor:
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


def _wrong_permutation(probabilities: Tensor, p: float) -> Tensor:
    return _left_sorted(probabilities, p)[probabilities.argsort(descending=True)]


def _softmax_of_kept(probabilities: Tensor, p: float) -> Tensor:
    dropped = _nucleus(probabilities, p) == 0
    return probabilities.masked_fill(dropped, -torch.inf).softmax(dim=0)


def _softmax_of_all(probabilities: Tensor, p: float) -> Tensor:
    return _nucleus(probabilities, p).softmax(dim=0)


def _evenly(probabilities: Tensor, p: float) -> Tensor:
    kept = (_nucleus(probabilities, p) > 0).float()
    return kept / kept.sum()


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


_JUST_ENOUGH = Bilingual(
    "多留了一个：总和一达到 p 就够了，正好等于 p 也算。",
    "One word too many: the sum is enough once it reaches p, also where it is just p.",
)
_NO_SOFTMAX = Bilingual(
    "概率要除以总和，不再做 softmax：softmax 吃的是对数几率。",
    "Divide probabilities by their sum instead of taking a softmax, which is for logits.",
)
_THRESHOLD = Bilingual(
    "门槛 p 管的是总和，不是单个词：从最可能的词起往下加，加够为止。",
    "The threshold p is for the sum, not for single words: add from the most probable word down"
    " until it is enough.",
)

TOP_P = Exercise(
    name="top-p",
    task=Bilingual(
        "写 `nucleus(probabilities, p)`：留下合起来达到 p 的最少几个最可能的词，"
        "其余为 0，总和为 1。",
        "Write `nucleus(probabilities, p)`: keep the fewest most probable words that reach p"
        " together, set the others to 0, and let the sum be 1.",
    ),
    solution=_nucleus,
    probes=_distributions,
    mistakes=(
        Mistake(
            "crossing-dropped",
            _without_crossing,
            Bilingual(
                "跨过门槛的那个词也要留：看它之前的总和够不够 p。"
                "否则 p 低于最大的概率时，一个词也不剩。",
                "The word that crosses the threshold stays: ask whether the sum before it"
                " reaches p. Otherwise no word is left where p is below the largest probability.",
            ),
        ),
        Mistake(
            "not-renormalized",
            lambda probabilities, p: _kept(probabilities, p, crossing=True),
            Bilingual(
                "留下的概率加起来不到 1：还要除以它们的总和。",
                "What is kept doesn't sum to 1: divide by its sum.",
            ),
        ),
        Mistake(
            "unsorted",
            _in_order_of_the_vocabulary,
            Bilingual(
                "累加之前要先按概率从大到小排：现在是照词表的次序加的。",
                "Sort from the most probable word down before adding up; now the order is that of"
                " the vocabulary.",
            ),
        ),
        Mistake(
            "left-sorted",
            _left_sorted,
            Bilingual(
                "概率排过序，却没有放回原处：第 i 个数要是第 i 个词的。",
                "The probabilities were sorted and not put back: number i belongs to word i.",
            ),
        ),
        Mistake("single-words", _each_above, _THRESHOLD),
        Mistake("single-words", lambda x, p: _each_above(x, (1 - p) * float(x.max())), _THRESHOLD),
        Mistake("single-words", lambda x, p: _each_above(x, 1 - p), _THRESHOLD),
        Mistake("one-too-many", _one_too_many, _JUST_ENOUGH),
        Mistake("one-too-many", _always_one_more, _JUST_ENOUGH),
        Mistake(
            "least-first",
            _least_first,
            Bilingual(
                "次序反了：从最可能的词留起。",
                "The order is reversed: begin with the most probable.",
            ),
        ),
        Mistake(
            "put-back-wrongly",
            _wrong_permutation,
            Bilingual(
                "放回原处用错了次序：`order[k]` 是排在第 k 的词的编号，用 `scatter` 或"
                " `result[order] = kept` 放回去，不是 `kept[order]`。",
                "The words are put back by the wrong order: `order[k]` is the number of the word"
                " that came k-th, so put back with `scatter` or `result[order] = kept`, and not by"
                " `kept[order]`.",
            ),
        ),
        Mistake("softmax", _softmax_of_kept, _NO_SOFTMAX),
        Mistake("softmax", _softmax_of_all, _NO_SOFTMAX),
        Mistake(
            "even",
            _evenly,
            Bilingual(
                "留下的词成了一样可能：它们之间的比例不变。",
                "The words that are kept have become equally probable: their ratios stay.",
            ),
        ),
        Mistake(
            "nothing-dropped",
            lambda probabilities, p: probabilities.clone(),
            Bilingual("一个词也没有去掉。", "No word is dropped."),
        ),
    ),
    laws=(
        Law("sums-to-one", Bilingual("总和为 1。", "The probabilities sum to 1."), _sums_to_one),
        Law(
            "dropped-is-zero",
            Bilingual("去掉的词概率恰好是 0。", "What is dropped has a probability of exactly 0."),
            _dropped_is_zero,
        ),
    ),
)


def _prefix(lengths: Tensor, n: int) -> Tensor:
    return causal_mask(n) | mask_from_lengths(lengths, n)


def _prefixes() -> Iterator[Probe]:
    yield Probe((torch.tensor([3]), 5))
    yield Probe(
        (torch.tensor([2, 4, 1]), 6), Bilingual("各句的前缀不一样长", "prefixes differ in length")
    )
    yield Probe(
        (torch.tensor([0, 4]), 4), Bilingual("前缀是空的，或是全句", "no prefix, or all prefix")
    )
    yield Probe(
        (torch.tensor([3, 0, 2]), 3), Bilingual("句数等于词数", "as many sentences as words")
    )
    yield Probe((torch.tensor([1, 0]), 1), Bilingual("只有一个词", "there is one word"))


def _prefix_sees_all(lengths: Tensor, n: int) -> Tensor:
    in_prefix = mask_from_lengths(lengths, n).mT
    return causal_mask(n) | in_prefix


def _one_more(lengths: Tensor, n: int) -> Tensor:
    return _prefix((lengths + 1).clamp(max=n), n)


def _one_less(lengths: Tensor, n: int) -> Tensor:
    return _prefix((lengths - 1).clamp(min=0), n)


def _square_alone(lengths: Tensor, n: int) -> Tensor:
    inside = mask_from_lengths(lengths, n)
    return inside & inside.mT


def _prefix_forgotten(lengths: Tensor, n: int) -> Tensor:
    inside = mask_from_lengths(lengths, n)
    return _square_alone(lengths, n) | (causal_mask(n) & ~inside)


_TOO_SHORT = Bilingual(
    "每句有自己的前缀长度，现在都用了同一个。",
    "Each sentence has a prefix of its own; all got the same length.",
)
_CAUSAL_MISSING = Bilingual(
    "前缀以后的词也要看得见自己和以前：还缺因果掩码。",
    "Words after the prefix must see themselves and the past, too: the causal mask is missing.",
)

PREFIX_MASK = Exercise(
    name="prefix-mask",
    task=Bilingual(
        "写 `prefix_mask(lengths, n)`：第 b 句的前 lengths[b] 个词互相都看得见，"
        "其余的只看自己和以前；形状 (batch, n, n)。",
        "Write `prefix_mask(lengths, n)`: the first lengths[b] words of sentence b see one another,"
        " the others see themselves and the past; shape (batch, n, n).",
    ),
    solution=_prefix,
    probes=_prefixes,
    mistakes=(
        Mistake(
            "causal-only",
            lambda lengths, n: causal_mask(n).expand(len(lengths), n, n),
            Bilingual(
                "这是 GPT 的掩码：前缀里的词还看不见前缀里后面的词。",
                "This is GPT's mask: words of the prefix don't see later words of it yet.",
            ),
        ),
        Mistake(
            "prefix-sees-all",
            _prefix_sees_all,
            Bilingual(
                "放开的是行：前缀里的词现在连后面要写的词也看得见。该放开的是前缀那几列。",
                "You opened rows: words of the prefix now see the text that is still to be written."
                " Open the prefix's columns.",
            ),
        ),
        Mistake(
            "and-instead-of-or",
            lambda lengths, n: causal_mask(n) & mask_from_lengths(lengths, n),
            Bilingual(
                "两个条件满足一个就可以看：是 `|`，不是 `&`。",
                "Either condition is enough to see: `|`, not `&`.",
            ),
        ),
        Mistake(
            "prefix-only",
            lambda lengths, n: mask_from_lengths(lengths, n).expand(len(lengths), n, n),
            _CAUSAL_MISSING,
        ),
        Mistake("prefix-only", _square_alone, _CAUSAL_MISSING),
        Mistake(
            "one-too-many",
            _one_more,
            Bilingual(
                "多放开了一列：前缀是位置 0 到 length - 1，用 `<`。",
                "One column too many: the prefix is the positions 0 to length - 1, so `<`.",
            ),
        ),
        Mistake(
            "one-length-for-all",
            lambda lengths, n: _prefix(lengths[:1].expand_as(lengths), n),
            _TOO_SHORT,
        ),
        Mistake(
            "one-length-for-all",
            lambda lengths, n: _prefix(lengths.max().expand_as(lengths), n),
            _TOO_SHORT,
        ),
        Mistake(
            "one-too-few",
            _one_less,
            Bilingual(
                "少放开了一列：前缀是位置 0 到 length - 1，连后者在内。",
                "One column too few: the prefix is the positions 0 to length - 1, both included.",
            ),
        ),
        Mistake(
            "inverted",
            lambda lengths, n: ~_prefix(lengths, n),
            Bilingual(
                "掩码反了：True 表示可以看。", "The mask is inverted: True means “may attend”."
            ),
        ),
        Mistake(
            "future-instead",
            lambda lengths, n: causal_mask(n).mT | mask_from_lengths(lengths, n),
            Bilingual(
                "取了上三角：那是自己和以后。以前的在下三角。",
                "That is the upper triangle, a word and its future; the past is the lower one.",
            ),
        ),
        Mistake(
            "not-itself",
            lambda lengths, n: causal_mask(n).tril(-1) | mask_from_lengths(lengths, n),
            Bilingual("每个词也看得见自己。", "Every word sees itself, too."),
        ),
        Mistake(
            "prefix-forgotten",
            _prefix_forgotten,
            Bilingual(
                "前缀以后的词看不见前缀了：前缀也是它们的过去。",
                "Words after the prefix no longer see it: it is part of their past.",
            ),
        ),
    ),
)

EXERCISES = (TOP_P, PREFIX_MASK)
