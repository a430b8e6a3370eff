"""Exercises on long texts: windows, sinks, frequencies, states of fixed size."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import normalize

from attention_book.attention import (
    NtkScaling,
    causal_mask,
    masked_softmax,
    rotary_frequencies,
    unit_length,
)
from attention_book.course.exercises.core import Answer, Law, Probe, exercise, probe, wrong
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual

# --- kept-positions ----------------------------------------------------------------------------


def _kept(i: int, w: int, f: int) -> list[int]:
    return [j for j in range(i + 1) if i - j < w or j < f]


KEPT_POSITIONS = exercise(
    "kept-positions",
    "写 `kept(i, w, f)`：位置 i 的查询看得见哪些位置，从小到大列出。窗口是 w（连它自己），"
    "开头的 f 个始终看得见。",
    "Write `kept(i, w, f)`: list the positions that the query at position i sees, in order. The"
    " window is w (its own position included), and the first f always stay visible.",
    solution=_kept,
    probes=lambda: [
        probe((9, 3, 1)),
        probe((2, 4, 0), "文字比窗口短", "a text shorter than the window"),
        probe((4, 4, 2), "窗口碰到开头", "the window touches the first ones"),
        probe((20, 5, 4)),
        probe((6, 4, 3), "窗口正好接着开头", "the window follows the first ones"),
        probe((7, 4, 3), "只隔开一个位置", "one position lies between"),
        probe((6, 1, 2), "窗口里只有自己", "the window is its own position alone"),
        probe((2, 1, 5), "开头的还没有写完", "the first ones are still to come"),
        probe((0, 3, 1), "第一个位置", "the first position"),
    ],
    mistakes={
        "one-more": wrong(
            "多了一个：w 把查询自己也算在内，最远看到 i − w + 1。",
            "One too many: w counts the query's own position, so the farthest is i − w + 1.",
            lambda i, w, f: _kept(i, w + 1, f),
        ),
        "first-inside-the-window": wrong(
            "开头的 f 个是另加的，不占窗口的名额。",
            "The first f come on top; they take no place in the window.",
            lambda i, w, f: _kept(i, max(w - f, 1), f),
        ),
        "twice": wrong(
            "窗口碰到开头时，有的位置列了两次；缓存里一个键只有一份。",
            "Where the window touches the first ones, positions are listed twice; a cache holds"
            " each key once.",
            lambda i, w, f: [*range(min(f, i + 1)), *range(max(0, i - w + 1), i + 1)],
        ),
        "not-itself": wrong(
            "查询也看见自己。",
            "A query sees itself, too.",
            lambda i, w, f: [j for j in _kept(i, w, f) if j < i],
        ),
        "first-too-early": wrong(
            "列出了还没有写的位置：开头的 f 个里，只有不晚于 i 的看得见。",
            "Positions are listed that are still to come: of the first f, only those up to i can be"
            " seen.",
            lambda i, w, f: sorted({*range(f), *_kept(i, w, f)}),
        ),
        "below-zero": wrong(
            "窗口伸到了开头之前：没有负的位置。",
            "The window reaches back beyond the start: no position is negative.",
            lambda i, w, f: sorted({*range(min(f, i + 1)), *range(i - w + 1, i + 1)}),
        ),
        "window-alone": wrong(
            "漏了开头的 f 个。", "The first f are missing.", lambda i, w, f: _kept(i, w, 0)
        ),
        "one-first-more": wrong(
            "开头多了一个：前 f 个是位置 0 到 f − 1。",
            "One too many at the start: the first f are the positions 0 to f − 1.",
            lambda i, w, f: _kept(i, w, f + 1),
        ),
        "one-less": wrong(
            "窗口少了一个：连自己在内是 w 个，最远看到 i − w + 1。",
            "The window lacks one: it holds w positions with the query's own, so the farthest is i"
            " − w + 1.",
            lambda i, w, f: _kept(i, w - 1, f),
        ),
        "both-sides": wrong(
            "窗口只朝后看：后面的词还没有写。",
            "The window looks back alone: later words are not written yet.",
            lambda i, w, f: [j for j in range(i + w) if abs(i - j) < w or j < f],
        ),
        "largest-first": wrong(
            "次序反了：从小到大。",
            "The order is reversed: the smallest comes first.",
            lambda i, w, f: _kept(i, w, f)[::-1],
        ),
    },
)


# --- sink-softmax ------------------------------------------------------------------------------


def _scores_and_sinks() -> Iterator[Probe]:
    yield probe((torch.tensor([1.5, 3.0, 2.0, 5.0, 0.0]), 4.0))
    yield probe((torch.randn(3, 4), 0.0), "汇是 0", "a sink of 0")
    yield probe((torch.full((1, 2), -30.0), 0.0), "没有值得看的", "nothing to look at")
    yield probe((torch.randn(2, 3), -1.5), "汇是负的", "a negative sink")
    huge = Bilingual("评分很大", "huge scores")
    yield Probe((torch.tensor([[1000.0, 999.0, 0.0]]), 998.5), huge)
    tiny = Bilingual("评分都很小", "all scores far below zero")
    yield Probe((torch.tensor([[-1000.0, -1001.0]]), -999.5), tiny)
    hidden = torch.tensor([[1.0, -torch.inf, 0.5], [-torch.inf, 2.0, -torch.inf]])
    yield probe((hidden, 1.0), "有的键被遮住了", "some keys are hidden")
    apart = torch.tensor([[0.0, 1.0], [1000.0, 999.0]])
    yield probe(
        (apart, 0.5), "一行的评分比另一行大得多", "one row's scores are far above another's"
    )


def _with_sink(scores: Tensor, sink: float) -> Tensor:
    column = torch.full_like(scores[..., :1], sink)
    return torch.cat((scores, column), dim=-1).softmax(dim=-1)[..., :-1]


def _shifted(scores: Tensor, extra: float | Tensor) -> Tensor:
    parts = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return parts / (parts.sum(dim=-1, keepdim=True) + extra)


SINK_SOFTMAX = exercise(
    "sink-softmax",
    "写 `with_sink(scores, sink)`：最后一维上的 softmax，分母多一项 e 的 sink 次方；返回各个键的权"
    "重，形状与 scores 相同；评分再大再小也不许溢出。",
    "Write `with_sink(scores, sink)`: a softmax over the last axis whose denominator has one more"
    " term, e to the power of sink; return the keys' weights, shaped like scores, without"
    " overflow however large or small they are.",
    solution=_with_sink,
    probes=_scores_and_sinks,
    mistakes={
        "no-sink": wrong(
            "这是普通的 softmax：权重之和仍是 1，汇没有起作用。",
            "This is the usual softmax: the weights still sum to 1, and the sink does nothing.",
            lambda s, sink: s.softmax(dim=-1),
        ),
        "sink-not-a-score": wrong(
            "汇是一个评分，进分母之前要取指数。",
            "The sink is a score: its exponential goes into the denominator.",
            lambda s, sink: s.exp() / (s.exp().sum(dim=-1, keepdim=True) + sink),
        ),
        "always-one": wrong(
            "分母加 1 是汇等于 0 的情形；这里要用给定的汇。",
            "To add 1 is right for a sink of 0; use the one that is given.",
            lambda s, sink: s.exp() / (s.exp().sum(dim=-1, keepdim=True) + 1),
        ),
        "sink-returned": wrong(
            "汇的权重也返回了：它没有值，要去掉。",
            "The sink's own weight is returned, too: it has no value, drop it.",
            lambda s, sink: torch.cat((s, torch.full_like(s[..., :1], sink)), dim=-1).softmax(
                dim=-1
            ),
        ),
        "last-key-dropped": wrong(
            "汇放在最前面，去掉的却是最后一个键。",
            "The sink stands first, but it is the last key that is dropped.",
            lambda s, sink: torch.cat((torch.full_like(s[..., :1], sink), s), dim=-1).softmax(
                dim=-1
            )[..., :-1],
        ),
        "overflow": wrong(
            "e 的 1000 次方溢出，e 的 −1000 次方是 0，商是 NaN：先减去最大的一项，或者把汇接在评分"
            "后面，一起做 softmax。",
            "e to the power of 1000 overflows, to the power of −1000 it is 0, and their ratios are"
            " NaN: subtract the largest first, or append the sink to the scores and take one"
            " softmax.",
            lambda s, sink: (
                s.exp() / (s.exp().sum(dim=-1, keepdim=True) + torch.tensor(float(sink)).exp())
            ),
        ),
        "sink-not-shifted": wrong(
            "评分减去了最大值，汇没有减：分母里每一项都要除以同一个数。",
            "The maximum is subtracted from the scores and not from the sink: every term of the"
            " denominator is to be divided by the same number.",
            lambda x, sink: _shifted(x, torch.tensor(sink).exp()),
            lambda s, sink: _shifted(s, 1.0),
        ),
        "wrong-sign": wrong(
            "汇的符号反了：汇越大，键分到的越少。",
            "The sink's sign is wrong: the larger the sink, the less is left for the keys.",
            lambda s, sink: _with_sink(s, -sink),
        ),
        "wrong-axis": wrong(
            "softmax 沿着查询做了：要沿最后一维，键。",
            "The softmax runs over the queries: take the last axis, that of the keys.",
            lambda s, sink: torch.cat((s, torch.full_like(s[..., :1], sink)), dim=-1).softmax(
                dim=0
            )[..., :-1],
        ),
    },
)


# --- ntk-frequencies ---------------------------------------------------------------------------


def _stretched(d: int, s: float) -> Tensor:
    return NtkScaling(factor=s).frequencies(d).float()


def _pairs_from_one(d: int, s: float) -> Tensor:
    base = 10000.0 * s ** (d / (d - 2))
    return torch.tensor([base ** (-2 * j / d) for j in range(1, d // 2 + 1)])


def _last_pair_alone(d: int, s: float) -> Tensor:
    frequencies = rotary_frequencies(d).float()
    return torch.cat((frequencies[:-1], frequencies[-1:] / s))


def _last_is_interpolated(answer: Answer) -> Finding | None:
    got = (answer(8, 4.0)[-1] / rotary_frequencies(8)[-1]).item()
    if abs(got - 0.25) < 1e-3:
        return None
    return Finding(
        {"d": 8, "s": 4.0},
        Bilingual("最后一对慢到 1/4", "a last pair 1/4 as fast"),
        Bilingual(f"{got:.4g} 倍", f"one {got:.4g} times as fast"),
    )


NTK_FREQUENCIES = exercise(
    "ntk-frequencies",
    "写 `frequencies(d, s)`：NTK 感知缩放之后，d 个特征的 d/2 个频率。底数原是 10000，"
    "要使第一对不变，最后一对慢到 1/s。",
    "Write `frequencies(d, s)`: the d/2 frequencies of d features after NTK-aware scaling. The"
    " base was 10000; the first pair should stay, and the last be 1/s as fast.",
    solution=_stretched,
    probes=lambda: [
        probe((8, 8.0)),
        probe((32, 4.0)),
        probe((32, 1.5), "s 不是整数", "s is not an integer"),
        probe((4, 3.0), "只有两对", "there are two pairs"),
        probe((64, 40.0), "文字长得多", "much longer texts"),
        probe((16, 1.0), "s = 1，什么也不该变", "s = 1, nothing should change"),
    ],
    mistakes={
        "base-times-s": wrong(
            "底数只乘 s，最后一对慢不到 1/s：它的指数是 (d−2)/d，不是 1，所以 s 还要有指数。",
            "With the base times s the last pair is not yet 1/s as fast: its exponent is (d − 2)/d,"
            " not 1, so that s needs an exponent, too.",
            lambda d, s: rotary_frequencies(d, base=10000.0 * s).float(),
        ),
        "interpolation": wrong(
            "所有的对都除以 s，这是位置插值：第一对也变慢了。",
            "Every pair is divided by s: that is position interpolation, and the first pair is"
            " slower, too.",
            lambda d, s: (rotary_frequencies(d) / s).float(),
        ),
        "exponent-upside-down": wrong(
            "指数倒了：(s 的 x 次方) 再取 (d−2)/d 次方应当等于 s。",
            "The exponent is upside down: s to the power of x, to the power of (d − 2)/d, should be"
            " s.",
            lambda d, s: rotary_frequencies(d, base=10000.0 * s ** ((d - 2) / d)).float(),
        ),
        "faster": wrong(
            "底数变小，转得更快了；文字更长，要转得更慢。",
            "A smaller base turns faster; longer texts need slower turns.",
            lambda d, s: rotary_frequencies(d, base=10000.0 / s ** (d / (d - 2))).float(),
        ),
        "whole-exponent": wrong(
            "指数 d/(d−2) 不是整数：用 `/`，不用 `//`。",
            "The exponent d/(d − 2) is no integer: divide by `/`, not by `//`.",
            lambda d, s: rotary_frequencies(d, base=10000.0 * s ** (d // (d - 2))).float(),
        ),
        "pairs-from-one": wrong(
            "各对从 0 数起：第一对的频率是 1。",
            "Pairs count from 0: the frequency of the first is 1.",
            _pairs_from_one,
        ),
        "last-alone": wrong(
            "只改了最后一对：换的是底数，中间各对都慢一些，越靠后慢得越多。",
            "Only the last pair is changed: it is the base that changes, and the pairs between are"
            " slower, too, the later the more.",
            _last_pair_alone,
        ),
        "wavelengths": wrong(
            "这是倒数：频率的指数是负的，−2j/d。",
            "These are the reciprocals: the exponent of a frequency is negative, −2j/d.",
            lambda d, s: 1 / _stretched(d, s),
        ),
        "twice": wrong(
            "一对特征一个频率：是 d/2 个，不是 d 个。",
            "One frequency for each pair of features: d/2 of them, not d.",
            lambda d, s: _stretched(d, s).repeat_interleave(2),
            lambda d, s: _stretched(d, s).repeat(2),
        ),
    },
    laws=(
        Law(
            "last-pair",
            Bilingual("最后一对慢到 1/s。", "The last pair turns 1/s as fast."),
            _last_is_interpolated,
        ),
    ),
)


# --- delta-step --------------------------------------------------------------------------------

_NOT_UNIT = Bilingual("键的长度不是 1", "a key whose length is not 1")


def _steps() -> Iterator[Probe]:
    key, value = unit_length(torch.randn(1, 4))[0], torch.randn(3)
    yield probe((torch.randn(4, 3), key, value, 0.5))
    yield probe((torch.randn(4, 3), key, value, 1.0), "强度是 1", "the strength is 1")
    yield probe((torch.randn(4, 3), key, value, 0.0), "强度是 0", "the strength is 0")
    nothing = Bilingual("状态还是空的", "the state is still empty")
    yield Probe((torch.zeros(4, 3), key, value, 0.5), nothing)
    yield Probe((torch.randn(3, 3), torch.tensor([2.0, -1, 0.5]), value, 0.5), _NOT_UNIT)
    one = (torch.randn(1, 1), torch.tensor([0.5]), torch.tensor([2.0]))
    yield probe((*one, 1.0), "键和值都只有一个特征", "one feature each")
    yield probe((torch.randn(4, 3), torch.zeros(4), value, 0.5), "键是 0", "a zero key")


def _delta(state: Tensor, key: Tensor, value: Tensor, strength: float) -> Tensor:
    return state + strength * torch.outer(key, value - key @ state)


def _read_back(answer: Answer) -> Finding | None:
    state, value = torch.randn(5, 2), torch.randn(2)
    key = torch.randn(5)
    key = key / key.norm()
    got = key @ answer(state, key, value, 1.0)
    if torch.allclose(got, value, atol=1e-4):
        return None
    return Finding({"state": state, "key": key, "value": value, "strength": 1.0}, value, got)


DELTA_STEP = exercise(
    "delta-step",
    "写 `delta_step(state, key, value, strength)`：用 delta 规则写一步，返回新的状态；"
    "键可以有任何长度，照原样用。",
    "Write `delta_step(state, key, value, strength)`: one step of the delta rule, returning the"
    " new state; the key may have any length and is used as it is.",
    solution=_delta,
    probes=_steps,
    mistakes={
        "added": wrong(
            "旧的值没有去掉：写进去的是新值与状态现有回答之差，不是新值本身。",
            "The old value is still there: write the difference between the new value and what the"
            " state answers already, not the value itself.",
            lambda s, k, v, b: s + b * torch.outer(k, v),
        ),
        "wrong-sign": wrong(
            "符号反了：要减去状态现有的回答，不是加上。",
            "The sign is wrong: subtract what the state answers already, don't add it.",
            lambda s, k, v, b: s + b * torch.outer(k, v + k @ s),
        ),
        "strength-once": wrong(
            "强度只乘了新值：写多少，就擦多少，它要乘整个差。",
            "The strength scales the new value alone: as much is erased as is written, so it scales"
            " the whole difference.",
            lambda s, k, v, b: s + torch.outer(k, b * v - k @ s),
        ),
        "all-faded": wrong(
            "整个状态都淡了：只该改动这个键下面的值，与它正交的键一点不变。",
            "The whole state fades: only what stands under this key changes, and nothing under keys"
            " that are orthogonal to it.",
            lambda s, k, v, b: (1 - b) * s + b * torch.outer(k, v),
        ),
        "only-written": wrong(
            "忘了加到旧状态上。",
            "Add it to the state that was there.",
            lambda s, k, v, b: b * torch.outer(k, v - k @ s),
        ),
        "strength-ignored": wrong(
            "强度没有用上。", "The strength is not used.", lambda s, k, v, b: _delta(s, k, v, 1.0)
        ),
        "key-made-unit": wrong(
            "键照原样用：要不要先归一化，由给键的人决定。",
            "Use the key as it is: to normalize it first is up to whoever hands it over.",
            lambda s, k, v, b: _delta(s, normalize(k, dim=0), v, b),
        ),
        "row-by-row": wrong(
            "每一行与新值比了一遍：状态的回答是 `key @ state`，一个向量，只减它。",
            "Each row is compared with the new value: what the state answers is one vector,"
            " `key @ state`; subtract that.",
            lambda s, k, v, b: s + b * k[:, None] * (v - s),
        ),
        "moved-away": wrong(
            "走反了：状态的回答要向新值靠近，不是远离。",
            "The wrong way: the answer of the state moves towards the new value, not away from it.",
            lambda s, k, v, b: _delta(s, k, v, -b),
        ),
    },
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


# --- chunked-sum -------------------------------------------------------------------------------


def _chunks() -> Iterator[Probe]:
    def draw(positions: int) -> tuple[Tensor, Tensor, Tensor]:
        return torch.randn(positions, 4), torch.randn(positions, 4), torch.randn(positions, 3)

    yield probe((torch.randn(4, 3), *draw(5)))
    yield probe((torch.randn(4, 3), *draw(2)))
    yield probe((torch.zeros(4, 3), *draw(5)), "此前什么也没有", "nothing came before")
    yield probe((torch.randn(4, 3), *draw(1)), "只有一个位置", "a single position")
    square = (torch.randn(3, 3) for _ in range(4))
    yield probe(tuple(square), "各种大小都相等", "all sizes are equal")


def _chunk(state: Tensor, queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    outputs = queries @ state + (queries @ keys.T).tril() @ values
    return outputs, state + keys.T @ values


def _sees_all(s: Tensor, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    after = s + k.T @ v
    return q @ after, after


def _counted_twice(s: Tensor, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    after = s + k.T @ v
    return q @ after + (q @ k.T).tril() @ v, after


def _outputs_scaled(s: Tensor, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    outputs, after = _chunk(s, q, k, v)
    return outputs / k.shape[-1] ** 0.5, after


CHUNKED_SUM = exercise(
    "chunked-sum",
    "写 `chunk(state, queries, keys, values)`：一段位置的因果输出，以及这一段之后的状态。",
    "Write `chunk(state, queries, keys, values)`: the causal outputs of a chunk of positions, and"
    " the state after it.",
    solution=_chunk,
    probes=_chunks,
    mistakes={
        "sees-all": wrong(
            "前面的查询看见了后面的键：段内的乘积要取下三角。",
            "Queries see keys that come after them: within the chunk the products need `tril()`.",
            _sees_all,
        ),
        "not-itself": wrong(
            "每个位置都先写后读，看得见自己：`tril()`，不是 `tril(-1)`。",
            "Each position writes and then reads, so it sees itself: `tril()`, not `tril(-1)`.",
            lambda s, q, k, v: ((q @ s + (q @ k.T).tril(-1) @ v), s + k.T @ v),
        ),
        "without-past": wrong(
            "漏了这一段之前的：还要加上 `queries @ state`。",
            "What came before the chunk is missing: add `queries @ state`.",
            lambda s, q, k, v: ((q @ k.T).tril() @ v, s + k.T @ v),
        ),
        "counted-twice": wrong(
            "段内的键算了两遍：先用旧状态读，最后才更新状态。",
            "The chunk's own keys count twice: read from the old state, and update it last.",
            _counted_twice,
        ),
        "new-state": wrong(
            "新状态里丢了旧的：要加上原来的状态。",
            "The new state has lost the old one: add what was there.",
            lambda s, q, k, v: ((q @ s + (q @ k.T).tril() @ v), k.T @ v),
        ),
        "past-alone": wrong(
            "漏了这一段自己的键：每个位置先写后读。",
            "The chunk's own keys are missing: each position writes and then reads.",
            lambda s, q, k, v: (q @ s, s + k.T @ v),
        ),
        "state-not-updated": wrong(
            "返回的还是旧状态：要加上这一段的 `keys.T @ values`。",
            "This returns the old state: add the chunk's `keys.T @ values`.",
            lambda s, q, k, v: (_chunk(s, q, k, v)[0], s),
        ),
        "other-order": wrong(
            "次序反了：先是输出，后是状态。",
            "The wrong order: the outputs come first, then the state.",
            lambda s, q, k, v: _chunk(s, q, k, v)[::-1],
        ),
        "scaled": wrong(
            "不除以 √d：状态里的和没有缩放，两部分要一致。",
            "Nothing is divided by √d: the sum in the state is not scaled, and both parts must"
            " agree.",
            lambda s, q, k, v: (q @ s + (q @ k.T / k.shape[-1] ** 0.5).tril() @ v, s + k.T @ v),
            _outputs_scaled,
        ),
        "softmax": wrong(
            "段内用了 softmax：这里没有 softmax，值乘的就是点积。",
            "There is a softmax within the chunk: here the values are multiplied by the dot"
            " products themselves.",
            lambda s, q, k, v: (
                q @ s + masked_softmax(q @ k.T, causal_mask(len(k))) @ v,
                s + k.T @ v,
            ),
        ),
        "sees-the-future": wrong(
            "取了上三角：行是查询，列是键，前面的键在下三角。",
            "That is the upper triangle: rows are queries, columns keys, and earlier keys stand in"
            " the lower one.",
            lambda s, q, k, v: ((q @ s + (q @ k.T).triu() @ v), s + k.T @ v),
        ),
    },
)

EXERCISES = (KEPT_POSITIONS, SINK_SOFTMAX, NTK_FREQUENCIES, DELTA_STEP, CHUNKED_SUM)
