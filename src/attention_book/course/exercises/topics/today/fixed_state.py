"""Exercises on states of fixed size: a step of the delta rule, and a sum chunk by chunk."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import normalize

from attention_book.attention import causal_mask, masked_softmax, unit_length
from attention_book.course.exercises.exercise import Answer, Exercise, Law, Mistake, Probe
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual

_NOT_UNIT = Bilingual("键的长度不是 1", "a key whose length is not 1")


def _steps() -> Iterator[Probe]:
    key, value = unit_length(torch.randn(1, 4))[0], torch.randn(3)
    yield Probe((torch.randn(4, 3), key, value, 0.5))
    yield Probe((torch.randn(4, 3), key, value, 1.0), Bilingual("强度是 1", "the strength is 1"))
    yield Probe((torch.randn(4, 3), key, value, 0.0), Bilingual("强度是 0", "the strength is 0"))
    nothing = Bilingual("状态还是空的", "the state is still empty")
    yield Probe((torch.zeros(4, 3), key, value, 0.5), nothing)
    yield Probe((torch.randn(3, 3), torch.tensor([2.0, -1, 0.5]), value, 0.5), _NOT_UNIT)
    one = (torch.randn(1, 1), torch.tensor([0.5]), torch.tensor([2.0]))
    yield Probe((*one, 1.0), Bilingual("键和值都只有一个特征", "one feature each"))
    yield Probe((torch.randn(4, 3), torch.zeros(4), value, 0.5), Bilingual("键是 0", "a zero key"))


def _delta(state: Tensor, key: Tensor, value: Tensor, strength: float) -> Tensor:
    return state + strength * torch.outer(key, value - key @ state)


def _added(state: Tensor, key: Tensor, value: Tensor, strength: float) -> Tensor:
    return state + strength * torch.outer(key, value)


def _wrong_sign(state: Tensor, key: Tensor, value: Tensor, strength: float) -> Tensor:
    return state + strength * torch.outer(key, value + key @ state)


def _strength_once(state: Tensor, key: Tensor, value: Tensor, strength: float) -> Tensor:
    return state + torch.outer(key, strength * value - key @ state)


def _all_faded(state: Tensor, key: Tensor, value: Tensor, strength: float) -> Tensor:
    return (1 - strength) * state + strength * torch.outer(key, value)


def _only_written(state: Tensor, key: Tensor, value: Tensor, strength: float) -> Tensor:
    return strength * torch.outer(key, value - key @ state)


def _always_full(state: Tensor, key: Tensor, value: Tensor, strength: float) -> Tensor:
    return _delta(state, key, value, 1.0)


def _made_unit(state: Tensor, key: Tensor, value: Tensor, strength: float) -> Tensor:
    return _delta(state, normalize(key, dim=0), value, strength)


def _row_by_row(state: Tensor, key: Tensor, value: Tensor, strength: float) -> Tensor:
    return state + strength * key[:, None] * (value - state)


def _moved_away(state: Tensor, key: Tensor, value: Tensor, strength: float) -> Tensor:
    return _delta(state, key, value, -strength)


def _read_back(answer: Answer) -> Finding | None:
    state, value = torch.randn(5, 2), torch.randn(2)
    key = torch.randn(5)
    key = key / key.norm()
    got = key @ answer(state, key, value, 1.0)
    if torch.allclose(got, value, atol=1e-4):
        return None
    return Finding({"state": state, "key": key, "value": value, "strength": 1.0}, value, got)


DELTA_STEP = Exercise(
    name="delta-step",
    task=Bilingual(
        "写 `delta_step(state, key, value, strength)`：用 delta 规则写一步，返回新的状态；"
        "键可以有任何长度，照原样用。",
        "Write `delta_step(state, key, value, strength)`: one step of the delta rule, returning"
        " the new state; the key may have any length and is used as it is.",
    ),
    solution=_delta,
    probes=_steps,
    mistakes=(
        Mistake(
            "added",
            _added,
            Bilingual(
                "旧的值没有去掉：写进去的是新值与状态现有回答之差，不是新值本身。",
                "The old value is still there: write the difference between the new value and"
                " what the state answers already, not the value itself.",
            ),
        ),
        Mistake(
            "wrong-sign",
            _wrong_sign,
            Bilingual(
                "符号反了：要减去状态现有的回答，不是加上。",
                "The sign is wrong: subtract what the state answers already, don't add it.",
            ),
        ),
        Mistake(
            "strength-once",
            _strength_once,
            Bilingual(
                "强度只乘了新值：写多少，就擦多少，它要乘整个差。",
                "The strength scales the new value alone: as much is erased as is written, so it"
                " scales the whole difference.",
            ),
        ),
        Mistake(
            "all-faded",
            _all_faded,
            Bilingual(
                "整个状态都淡了：只该改动这个键下面的值，与它正交的键一点不变。",
                "The whole state fades: only what stands under this key changes, and nothing"
                " under keys that are orthogonal to it.",
            ),
        ),
        Mistake(
            "only-written",
            _only_written,
            Bilingual("忘了加到旧状态上。", "Add it to the state that was there."),
        ),
        Mistake(
            "strength-ignored",
            _always_full,
            Bilingual("强度没有用上。", "The strength is not used."),
        ),
        Mistake(
            "key-made-unit",
            _made_unit,
            Bilingual(
                "键照原样用：要不要先归一化，由给键的人决定。",
                "Use the key as it is: to normalize it first is up to whoever hands it over.",
            ),
        ),
        Mistake(
            "row-by-row",
            _row_by_row,
            Bilingual(
                "每一行与新值比了一遍：状态的回答是 `key @ state`，一个向量，只减它。",
                "Each row is compared with the new value: what the state answers is one vector,"
                " `key @ state`; subtract that.",
            ),
        ),
        Mistake(
            "moved-away",
            _moved_away,
            Bilingual(
                "走反了：状态的回答要向新值靠近，不是远离。",
                "The wrong way: the answer of the state moves towards the new value, not away"
                " from it.",
            ),
        ),
    ),
    laws=(
        Law(
            "read-back",
            Bilingual(
                "强度为 1、键长为 1 时，用同一个键去读，读回的正是新值。",
                "With a strength of 1 and a key of length 1, the same key reads back the new"
                " value.",
            ),
            _read_back,
        ),
    ),
)


def _chunks() -> Iterator[Probe]:
    def draw(positions: int) -> tuple[Tensor, Tensor, Tensor]:
        return torch.randn(positions, 4), torch.randn(positions, 4), torch.randn(positions, 3)

    yield Probe((torch.randn(4, 3), *draw(5)))
    yield Probe((torch.randn(4, 3), *draw(2)))
    yield Probe((torch.zeros(4, 3), *draw(5)), Bilingual("此前什么也没有", "nothing came before"))
    yield Probe((torch.randn(4, 3), *draw(1)), Bilingual("只有一个位置", "a single position"))
    square = (torch.randn(3, 3) for _ in range(4))
    yield Probe(tuple(square), Bilingual("各种大小都相等", "all sizes are equal"))


def _chunk(state: Tensor, queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    outputs = queries @ state + (queries @ keys.T).tril() @ values
    return outputs, state + keys.T @ values


def _sees_all(
    state: Tensor, queries: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    after = state + keys.T @ values
    return queries @ after, after


def _not_itself(
    state: Tensor, queries: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    outputs = queries @ state + (queries @ keys.T).tril(-1) @ values
    return outputs, state + keys.T @ values


def _without_past(
    state: Tensor, queries: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    return (queries @ keys.T).tril() @ values, state + keys.T @ values


def _counted_twice(
    state: Tensor, queries: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    after = state + keys.T @ values
    return queries @ after + (queries @ keys.T).tril() @ values, after


def _new_state(
    state: Tensor, queries: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    outputs = queries @ state + (queries @ keys.T).tril() @ values
    return outputs, keys.T @ values


def _past_alone(
    state: Tensor, queries: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    return queries @ state, state + keys.T @ values


def _not_updated(
    state: Tensor, queries: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    return _chunk(state, queries, keys, values)[0], state


def _state_first(
    state: Tensor, queries: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    outputs, after = _chunk(state, queries, keys, values)
    return after, outputs


def _scaled(state: Tensor, queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    return queries @ state + scores.tril() @ values, state + keys.T @ values


def _all_scaled(
    state: Tensor, queries: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    outputs, after = _chunk(state, queries, keys, values)
    return outputs / keys.shape[-1] ** 0.5, after


def _softmax(state: Tensor, queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    weights = masked_softmax(queries @ keys.T, causal_mask(len(keys)))
    return queries @ state + weights @ values, state + keys.T @ values


def _other_triangle(
    state: Tensor, queries: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    outputs = queries @ state + (queries @ keys.T).triu() @ values
    return outputs, state + keys.T @ values


_SCALE = Bilingual(
    "不除以 √d：状态里的和没有缩放，两部分要一致。",
    "Nothing is divided by √d: the sum in the state is not scaled, and both parts must agree.",
)

CHUNKED_SUM = Exercise(
    name="chunked-sum",
    task=Bilingual(
        "写 `chunk(state, queries, keys, values)`：一段位置的因果输出，以及这一段之后的状态。",
        "Write `chunk(state, queries, keys, values)`: the causal outputs of a chunk of positions,"
        " and the state after it.",
    ),
    solution=_chunk,
    probes=_chunks,
    mistakes=(
        Mistake(
            "sees-all",
            _sees_all,
            Bilingual(
                "前面的查询看见了后面的键：段内的乘积要取下三角。",
                "Queries see keys that come after them: within the chunk the products need"
                " `tril()`.",
            ),
        ),
        Mistake(
            "not-itself",
            _not_itself,
            Bilingual(
                "每个位置都先写后读，看得见自己：`tril()`，不是 `tril(-1)`。",
                "Each position writes and then reads, so it sees itself: `tril()`, not `tril(-1)`.",
            ),
        ),
        Mistake(
            "without-past",
            _without_past,
            Bilingual(
                "漏了这一段之前的：还要加上 `queries @ state`。",
                "What came before the chunk is missing: add `queries @ state`.",
            ),
        ),
        Mistake(
            "counted-twice",
            _counted_twice,
            Bilingual(
                "段内的键算了两遍：先用旧状态读，最后才更新状态。",
                "The chunk's own keys count twice: read from the old state, and update it last.",
            ),
        ),
        Mistake(
            "new-state",
            _new_state,
            Bilingual(
                "新状态里丢了旧的：要加上原来的状态。",
                "The new state has lost the old one: add what was there.",
            ),
        ),
        Mistake(
            "past-alone",
            _past_alone,
            Bilingual(
                "漏了这一段自己的键：每个位置先写后读。",
                "The chunk's own keys are missing: each position writes and then reads.",
            ),
        ),
        Mistake(
            "state-not-updated",
            _not_updated,
            Bilingual(
                "返回的还是旧状态：要加上这一段的 `keys.T @ values`。",
                "This returns the old state: add the chunk's `keys.T @ values`.",
            ),
        ),
        Mistake(
            "other-order",
            _state_first,
            Bilingual(
                "次序反了：先是输出，后是状态。",
                "The wrong order: the outputs come first, then the state.",
            ),
        ),
        Mistake("scaled", _scaled, _SCALE),
        Mistake("scaled", _all_scaled, _SCALE),
        Mistake(
            "softmax",
            _softmax,
            Bilingual(
                "段内用了 softmax：这里没有 softmax，值乘的就是点积。",
                "There is a softmax within the chunk: here the values are multiplied by the dot"
                " products themselves.",
            ),
        ),
        Mistake(
            "sees-the-future",
            _other_triangle,
            Bilingual(
                "取了上三角：行是查询，列是键，前面的键在下三角。",
                "That is the upper triangle: rows are queries, columns keys, and earlier keys stand"
                " in the lower one.",
            ),
        ),
    ),
)

EXERCISES = (DELTA_STEP, CHUNKED_SUM)

__all__ = ["EXERCISES"]
