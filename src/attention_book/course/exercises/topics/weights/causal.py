"""Exercises on causal masks: the one for queries that come after cached keys."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.attention import causal_mask
from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _cached(num_queries: int, num_keys: int) -> Tensor:
    return causal_mask(num_queries, num_keys, offset=num_keys - num_queries)


def _numbers_of_positions() -> Iterator[Probe]:
    yield Probe((3, 3), Bilingual("还没有缓存", "nothing is cached yet"))
    yield Probe((1, 4), Bilingual("缓存里有 3 个键", "3 keys are cached"))
    yield Probe(
        (2, 5), Bilingual("缓存里有 3 个键，一次来了 2 个查询", "3 keys are cached, 2 queries come")
    )
    yield Probe(
        (4, 5), Bilingual("缓存里有 1 个键，来了 4 个查询", "1 key is cached, 4 queries come")
    )
    yield Probe((1, 1), Bilingual("这是第一个词", "it is the first word"))


CAUSAL_WITH_CACHE = Exercise(
    name="causal-with-cache",
    task=Bilingual(
        "写 `mask(num_queries, num_keys)`：查询是最后 num_queries 个位置，各自看见自己及之前的键；"
        "返回布尔张量（查询，键），True 表示可以看。",
        "Write `mask(num_queries, num_keys)`: the queries stand at the last positions, and each"
        " sees the keys up to its own; return a boolean tensor (query, key), where True means"
        " “may attend”.",
    ),
    solution=_cached,
    probes=_numbers_of_positions,
    mistakes=(
        Mistake(
            "from-position-zero",
            lambda num_queries, num_keys: causal_mask(num_queries, num_keys),
            Bilingual(
                "没有缓存时对，有缓存就错：第一个查询站在 `num_keys - num_queries`，不在位置 0。",
                "Right without a cache, wrong with one: the first query stands at"
                " `num_keys - num_queries`, not at position 0.",
            ),
        ),
        Mistake(
            "future",
            lambda num_queries, num_keys: ~_cached(num_queries, num_keys),
            Bilingual(
                "反了：True 表示可以看，现在每个查询只看得见未来。",
                "Inverted: True means “may attend”, and now every query sees the future only.",
            ),
        ),
        Mistake(
            "without-itself",
            lambda num_queries, num_keys: causal_mask(
                num_queries, num_keys, offset=num_keys - num_queries - 1
            ),
            Bilingual(
                "每个查询也看得见自己的位置：是 `<=`，不是 `<`。",
                "A query also sees its own position: `<=`, not `<`.",
            ),
        ),
        Mistake(
            "everything",
            lambda num_queries, num_keys: torch.ones(num_queries, num_keys, dtype=torch.bool),
            Bilingual(
                "一次只来一个查询时，什么都不遮也对；一次来几个，先来的就看见了后来的。",
                "With one query at a time nothing need be hidden; where several come at once, the"
                " first would see the later ones.",
            ),
        ),
        Mistake(
            "one-ahead",
            lambda num_queries, num_keys: causal_mask(
                num_queries, num_keys, offset=num_keys - num_queries + 1
            ),
            Bilingual(
                "差了一格：每个查询多看见了后面一个键。",
                "Off by one: every query sees the key after its own as well.",
            ),
        ),
    ),
)

EXERCISES = (CAUSAL_WITH_CACHE,)
