"""An exercise on sparse patterns: Child's "fixed" one, to build from its parts."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.attention import block_mask, causal_mask, global_mask, window_mask
from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _sizes() -> Iterator[Probe]:
    yield Probe((8, 4, 1))
    yield Probe((12, 3, 2))
    yield Probe((10, 4, 1), Bilingual("最后一块不满", "the last block is not full"))
    yield Probe((6, 3, 3), Bilingual("整块都是摘要", "the whole block is a summary"))
    yield Probe((7, 3, 0), Bilingual("没有摘要", "there are no summaries"))
    yield Probe((3, 5, 3), Bilingual("一块也没有满", "not one block is full"))
    yield Probe((4, 1, 0), Bilingual("一块只有一个位置", "a block is one position"))
    yield Probe((1, 2, 1), Bilingual("只有一个位置", "there is one position"))


def _summaries(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    return torch.arange(num_positions) % block_size >= block_size - num_summaries


def _own(num_positions: int, block_size: int) -> Tensor:
    return block_mask(num_positions, block_size=block_size)


def _fixed(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    summaries = _summaries(num_positions, block_size, num_summaries)
    return (_own(num_positions, block_size) | summaries) & causal_mask(num_positions)


def _without_past(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    return _own(num_positions, block_size) | _summaries(num_positions, block_size, num_summaries)


def _cut_one_part(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    summaries = _summaries(num_positions, block_size, num_summaries)
    return _own(num_positions, block_size) | summaries & causal_mask(num_positions)


def _cut_other_part(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    summaries = _summaries(num_positions, block_size, num_summaries)
    return (_own(num_positions, block_size) & causal_mask(num_positions)) | summaries


def _both_at_once(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    summaries = _summaries(num_positions, block_size, num_summaries)
    return _own(num_positions, block_size) & summaries & causal_mask(num_positions)


def _first_of_block(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    summaries = torch.arange(num_positions) % block_size < num_summaries
    return (_own(num_positions, block_size) | summaries) & causal_mask(num_positions)


def _by_query(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    summaries = _summaries(num_positions, block_size, num_summaries)[:, None]
    return (_own(num_positions, block_size) | summaries) & causal_mask(num_positions)


def _seeing_too(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    summaries = _summaries(num_positions, block_size, num_summaries).nonzero().flatten().tolist()
    everywhere = global_mask(num_positions, positions=summaries)
    return (_own(num_positions, block_size) | everywhere) & causal_mask(num_positions)


def _one_too_many(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    return _fixed(num_positions, block_size, min(num_summaries + 1, block_size))


def _whole_past(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    return ~_without_past(num_positions, block_size, num_summaries) & causal_mask(num_positions)


def _one_too_few(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    return _fixed(num_positions, block_size, max(num_summaries - 1, 0))


def _without_summaries(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    return _fixed(num_positions, block_size, 0)


def _summaries_alone(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    return _summaries(num_positions, block_size, num_summaries) & causal_mask(num_positions)


def _without_itself(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    return _fixed(num_positions, block_size, num_summaries).tril(-1)


def _sliding(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    summaries = _summaries(num_positions, block_size, num_summaries)
    window = window_mask(num_positions, radius=block_size - 1)
    return (window | summaries) & causal_mask(num_positions)


def _last_block(num_positions: int, block_size: int, num_summaries: int) -> Tensor:
    block = torch.arange(num_positions) // block_size
    near = block[:, None] - block <= 1
    return _fixed(num_positions, block_size, num_summaries) & near


_FUTURE = Bilingual(
    "未来漏了进来：`&` 比 `|` 结合得更紧，先用括号把两部分并起来，再用因果掩码一起裁。",
    "The future leaks in: `&` binds more tightly than `|`. Join the two parts in brackets, and"
    " then cut both with the causal mask.",
)
_SUMMARY_AXIS = Bilingual(
    "摘要指的是键：所有查询都看得见它。沿键的轴（最后一个轴）标记，摘要自己并不因此看得更多。",
    "A summary is a key that all queries see. Mark it along the axis of the keys, the last one;"
    " as a query it sees no more than others do.",
)

FIXED_PATTERN = Exercise(
    name="fixed-pattern",
    task=Bilingual(
        "写 `fixed(num_positions, block_size, num_summaries)`：布尔掩码，不看未来，"
        "看得见自己的块和每一块最后 `num_summaries` 个位置。",
        "Write `fixed(num_positions, block_size, num_summaries)`: a boolean mask that never sees"
        " the future, and sees its own block and the last `num_summaries` positions of each.",
    ),
    solution=_fixed,
    probes=_sizes,
    mistakes=(
        Mistake("future", _without_past, _FUTURE),
        Mistake("future", _cut_one_part, _FUTURE),
        Mistake("future", _cut_other_part, _FUTURE),
        Mistake(
            "and-for-or",
            _both_at_once,
            Bilingual(
                "两个图案要并起来：看得见其一就行，用 `|`；`&` 只留下两者都有的。",
                "The two patterns are joined: one of them is enough, so `|`; `&` keeps only what"
                " both have.",
            ),
        ),
        Mistake(
            "first-of-block",
            _first_of_block,
            Bilingual(
                "摘要是每块的末尾，不是开头：它要先看见块里别的位置，才有东西可转告。",
                "The summaries end the block, they do not begin it: only there have they seen the"
                " rest of it and something to pass on.",
            ),
        ),
        Mistake("summary-axis", _by_query, _SUMMARY_AXIS),
        Mistake("summary-axis", _seeing_too, _SUMMARY_AXIS),
        Mistake(
            "off-by-one",
            _one_too_many,
            Bilingual(
                "多了一个摘要：余数从 0 数起，最后 c 个的余数不小于 `block_size - c`。",
                "One summary too many: remainders count from 0, and those of the last c are"
                " `block_size - c` or more.",
            ),
        ),
        Mistake(
            "inverted",
            _whole_past,
            Bilingual(
                "掩码反了：True 表示可以看。", "The mask is inverted: True means “may attend”."
            ),
        ),
        Mistake(
            "one-too-few",
            _one_too_few,
            Bilingual(
                "少了一个摘要：余数等于 `block_size - c` 的也算，用 `>=`。",
                "One summary too few: a remainder of `block_size - c` counts, too, so `>=`.",
            ),
        ),
        Mistake(
            "no-summaries",
            _without_summaries,
            Bilingual(
                "只看得见自己的块：还要加上每一块的摘要。",
                "This sees its own block alone: the summaries of every block are missing.",
            ),
        ),
        Mistake(
            "own-block-missing",
            _summaries_alone,
            Bilingual(
                "只看得见摘要：自己的块也看得见。",
                "This sees summaries alone: its own block is visible, too.",
            ),
        ),
        Mistake(
            "not-itself",
            _without_itself,
            Bilingual(
                "位置也看得见自己：`<=`，不是 `<`。", "A position sees itself: `<=`, not `<`."
            ),
        ),
        Mistake(
            "window",
            _sliding,
            Bilingual(
                "这是滑动的窗口：块的边界是固定的，看 `i // block_size`，不看距离。",
                "That is a sliding window: the blocks have fixed borders; compare"
                " `i // block_size`, not distances.",
            ),
        ),
        Mistake(
            "last-block-alone",
            _last_block,
            Bilingual(
                "只看得见上一块的摘要：以前每一块的都看得见。",
                "This sees the summaries of the block before alone: those of all earlier blocks"
                " are visible.",
            ),
        ),
    ),
)

EXERCISES = (FIXED_PATTERN,)
