"""An exercise on sparse patterns: how many layers of one join everything."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_book.attention import (
    block_mask,
    causal_mask,
    dilated_mask,
    global_mask,
    reach,
    strided_mask,
    window_mask,
)
from attention_book.course.exercises.exercise import Answer, Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _masks() -> Iterator[Probe]:
    yield Probe((window_mask(7, radius=2),))
    yield Probe((window_mask(9, radius=1),))
    yield Probe((global_mask(6, positions=[2]),))
    yield Probe((torch.ones(4, 4, dtype=torch.bool),))
    yield Probe(
        (window_mask(8, radius=1) & ~torch.eye(8, dtype=torch.bool),),
        Bilingual("掩码里没有自己", "nobody sees itself"),
    )
    yield Probe(
        (torch.ones(1, 1, dtype=torch.bool),), Bilingual("只有一个位置", "a single position")
    )
    yield Probe((block_mask(6, block_size=3),), Bilingual("块与块不相通", "blocks do not meet"))
    yield Probe((causal_mask(5),), Bilingual("看不见未来", "the future is hidden"))
    yield Probe((strided_mask(9, stride=2) | window_mask(9, radius=1),))
    yield Probe((dilated_mask(5, radius=2, dilation=2),), Bilingual("有空隙", "there are gaps"))
    one_way = torch.eye(6, dtype=torch.bool).roll(1, dims=1)
    yield Probe((one_way,), Bilingual("一个看一个，围成一圈", "each sees the next, in a ring"))
    yield Probe((window_mask(14, radius=1),), Bilingual("路很长", "a long way"))
    first = Bilingual("大家都看第一个位置", "all see the first position")
    yield Probe((global_mask(6, positions=[0]),), first)
    yield Probe((causal_mask(4).mT,), Bilingual("只看得见未来", "only the future is visible"))
    yield Probe((torch.zeros(2, 2, dtype=torch.bool),), Bilingual("谁也看不见", "none sees any"))
    alone = torch.zeros(1, 1, dtype=torch.bool)
    yield Probe((alone,), Bilingual("只有一个位置，看不见自己", "one position, hidden from itself"))


def _layers_needed(mask: Tensor) -> int | None:
    for num_layers in range(len(mask)):
        if reach(mask, num_layers).all():
            return num_layers
    return None


def _without_residual(mask: Tensor) -> int | None:
    reached = torch.eye(len(mask), dtype=torch.bool)
    for num_layers in range(2 * len(mask)):
        if reached.all():
            return num_layers
        reached = (mask.float() @ reached.float()) > 0
    return None


def _from_one(mask: Tensor) -> int | None:
    needed = _layers_needed(mask)
    return None if needed is None else max(needed, 1)


def _one_more(mask: Tensor) -> int | None:
    needed = _layers_needed(mask)
    return None if needed is None else needed + 1


def _one_less(mask: Tensor) -> int | None:
    needed = _layers_needed(mask)
    return None if needed is None else needed - 1


def _squared(mask: Tensor) -> int | None:
    reached = mask | torch.eye(len(mask), dtype=torch.bool)
    for num_layers in range(1, len(mask) + 1):
        if reached.all():
            return num_layers
        reached = (reached.float() @ reached.float()) > 0
    return None


def _instead_of_none(value: Callable[[Tensor], int | float]) -> Answer:
    def answer(mask: Tensor) -> int | float:
        needed = _layers_needed(mask)
        return value(mask) if needed is None else needed

    return answer


def _until_nothing_is_new(mask: Tensor) -> int:
    num_layers = 0
    while not torch.equal(reach(mask, num_layers), reach(mask, num_layers + 1)):
        num_layers += 1
    return num_layers


def _too_early(mask: Tensor) -> int | None:
    needed = _layers_needed(mask)
    return None if needed is None or needed >= len(mask) - 1 else needed


def _first_row(mask: Tensor) -> int | None:
    return next((n for n in range(len(mask)) if reach(mask, n)[0].all()), None)


def _first_column(mask: Tensor) -> int | None:
    return next((n for n in range(len(mask)) if reach(mask, n)[:, 0].all()), None)


def _both_ways(mask: Tensor) -> int | None:
    return _layers_needed(mask | mask.mT)


_COUNT = Bilingual(
    "差了一层：0 层之后每个位置只有自己，第 1 层之后才是掩码（并上自己）。",
    "One layer off: after 0 layers a position has only itself, and the mask (with itself) is"
    " what it has after the first.",
)

_NEVER = Bilingual(
    "有的图案永远不通：n 个位置时最长的路是 n−1 步，试完还不通就返回 None。",
    "Some patterns never join all: among n positions the longest way has n−1 steps, so return None"
    " if they are not all joined by then.",
)
_ALL = Bilingual(
    "只看了第一个位置：每个位置都要到得了每个位置，看整个矩阵。",
    "Only the first position was looked at: every one must reach every one, so look at the whole"
    " matrix.",
)

LAYERS_NEEDED = Exercise(
    name="layers-needed",
    task=Bilingual(
        "写 `layers_needed(mask)`：同一个掩码最少叠几层，每个位置都到得了每个位置；"
        "永远不能时返回 None。",
        "Write `layers_needed(mask)`: the smallest number of layers of one mask after which every"
        " position reaches every position; None if that never happens.",
    ),
    solution=_layers_needed,
    probes=_masks,
    mistakes=(
        Mistake(
            "no-residual",
            _without_residual,
            Bilingual(
                "位置自己已有的不会丢：残差连接和查询都带着它，每一层都要并上对角线。",
                "A position keeps what it has, by the residual connection and as its query: join"
                " the diagonal at every layer.",
            ),
        ),
        Mistake(
            "single-position",
            _from_one,
            Bilingual(
                "只有一个位置时不需要任何一层：先检查，再加层。",
                "A single position needs no layer at all: check first, then add a layer.",
            ),
        ),
        Mistake("off-by-one", _one_more, _COUNT),
        Mistake("off-by-one", _one_less, _COUNT),
        Mistake(
            "squared",
            _squared,
            Bilingual(
                "把结果自乘，层数就翻倍：1、2、4、8 层；每加一层，只再乘一次掩码。",
                "Squaring the result doubles the layers: 1, 2, 4, 8; a further layer is one more"
                " product with the mask.",
            ),
        ),
        Mistake("never", _instead_of_none(len), _NEVER),
        Mistake("never", _instead_of_none(lambda mask: -1), _NEVER),
        Mistake("never", _instead_of_none(lambda mask: 0), _NEVER),
        Mistake("never", _instead_of_none(lambda mask: math.inf), _NEVER),
        Mistake("never", _until_nothing_is_new, _NEVER),
        Mistake(
            "stops-too-early",
            _too_early,
            Bilingual(
                "放弃得太早：n 个位置时最长的路是 n−1 步，n−1 层也要试。",
                "It gives up too early: among n positions the longest way has n−1 steps, so try n−1"
                " layers, too.",
            ),
        ),
        Mistake("one-position-alone", _first_row, _ALL),
        Mistake("one-position-alone", _first_column, _ALL),
        Mistake(
            "both-ways",
            _both_ways,
            Bilingual(
                "箭头有方向：i 看得见 j，j 不一定看得见 i。",
                "Arrows have a direction: that i sees j does not mean that j sees i.",
            ),
        ),
    ),
)

EXERCISES = (LAYERS_NEEDED,)
