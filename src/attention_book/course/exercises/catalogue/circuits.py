"""Exercises on circuits and states: reading halfway, what a patch recovers, parity, stacks."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.course.exercises import hints
from attention_book.course.exercises.core import Answer, Law, Probe, exercise, probe, wrong
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual

# --- logit-lens --------------------------------------------------------------------------------


def _streams() -> Iterator[Probe]:
    readout = torch.randn(6), torch.randn(6, 7)
    yield probe((torch.randn(3, 5, 6), *readout))
    yield probe((2 + 3 * torch.randn(4, 2, 6), *readout), "均值不是 0", "the mean is not 0")
    yield probe((torch.randn(1, 5, 6), *readout), "只有一层", "a single stage")
    yield probe((torch.randn(3, 1, 6), *readout), "只有一个位置", "a single place")
    yield probe((torch.ones(2, 2, 6), *readout), "向量的各个特征都相等", "all features are equal")
    yield probe((torch.randn(3, 3, 3), torch.randn(3), torch.randn(3, 3)), *hints.AS_MANY)


def _normed(x: Tensor, *, dim: int = -1, center: float = 1.0, correction: int = 0) -> Tensor:
    mean = x.mean(dim=dim, keepdim=True)
    var = (x - center * mean).square().sum(dim=dim, keepdim=True) / max(
        x.shape[dim] - correction, 1
    )
    return (x - center * mean) / (var + 1e-5).sqrt()


def _lens(states: Tensor, gain: Tensor, W_U: Tensor) -> Tensor:
    return (gain * _normed(states) @ W_U).softmax(dim=-1)


def _added(states: Tensor) -> Tensor:
    return torch.cat((states[:1], states[1:] - states[:-1]))


LOGIT_LENS = exercise(
    "logit-lens",
    "写 `lens(states, gain, W_U)`：states 是残差流在各层之后的向量（层，位置，特征）。"
    "每个向量照最后一层那样读出：减去均值，除以标准差（方差加 1e-5，再开方），乘以 gain，"
    "再乘以 W_U，取 softmax。",
    "Write `lens(states, gain, W_U)`: states are the vectors of the residual stream after each"
    " layer, (layer, place, feature). Read each out as the last one is: subtract its mean, divide"
    " by its standard deviation (add 1e-5 to the variance before the root), multiply by gain, then"
    " by W_U, and take the softmax.",
    solution=_lens,
    probes=_streams,
    mistakes={
        "no-norm": wrong(
            "少了归一化：读出层前面有一层归一化，中途的向量也要经过它。",
            "The norm is missing: the last layer's vectors pass one before they are read out, and"
            " so must these.",
            lambda x, g, W: (x @ W).softmax(dim=-1),
            lambda x, g, W: (g * x @ W).softmax(dim=-1),
        ),
        "no-gain": wrong(
            "少乘了 gain。", "`gain` is missing.", lambda x, g, W: (_normed(x) @ W).softmax(dim=-1)
        ),
        "not-centered": wrong(
            "没有减去均值。",
            "The mean is not subtracted.",
            lambda x, g, W: (g * _normed(x, center=0.0) @ W).softmax(dim=-1),
        ),
        "norm-over-places": wrong(
            "归一化用错了轴：每个位置的向量各自归一化，沿特征。",
            "The norm runs over the wrong axis: each place's vector is normalized by itself, over"
            " its features.",
            lambda x, g, W: (g * _normed(x, dim=1) @ W).softmax(dim=-1),
        ),
        "softmax-over-places": wrong(
            "softmax 用错了轴：要沿词，也就是最后一个轴。",
            "The softmax runs over the wrong axis: it goes over the words, the last axis.",
            lambda x, g, W: (g * _normed(x) @ W).softmax(dim=1),
        ),
        "no-softmax": wrong(
            "没有 softmax：logits 还不是概率。",
            "There is no softmax: logits are no probabilities yet.",
            lambda x, g, W: g * _normed(x) @ W,
        ),
        "what-was-added": wrong(
            "读出的是每一层添上去的那一点：要读的是到这一层为止的和。",
            "This reads what each layer has added: read the sum up to there.",
            lambda x, g, W: _lens(_added(x), g, W),
        ),
        "summed-twice": wrong(
            "又加了一遍：states 已经是到那一层为止的和。",
            "They are summed once more: states are the sums already.",
            lambda x, g, W: _lens(x.cumsum(dim=0), g, W),
        ),
        "divided-by-n-minus-1": wrong(
            "方差除以特征的个数，不是个数减 1。",
            "The variance is divided by the number of features, not by one less.",
            lambda x, g, W: (g * _normed(x, correction=1) @ W).softmax(dim=-1),
        ),
        "last-alone": wrong(
            "只读了最后一层：每一层都要读。",
            "This reads the last layer alone: read all of them.",
            lambda x, g, W: _lens(x[-1], g, W),
        ),
    },
)


# --- recovered-share ---------------------------------------------------------------------------


def _three_runs() -> Iterator[Probe]:
    clean, changed = torch.tensor([4.0, 1, 0, -1]), torch.tensor([0.5, 3, 1, -2])
    yield probe((clean, changed, torch.tensor([2.0, 2, 0, 0]), 0, 1))
    yield probe((clean, changed, clean, 0, 1), "补得完全", "the patch recovers everything")
    yield probe((clean, changed, changed, 0, 1), "什么也没有补回来", "the patch recovers nothing")
    yield probe((clean, changed, torch.tensor([6.0, 0, 2, 1]), 0, 1), "补过了头", "more than all")
    worse = torch.tensor([-1.0, 4, 1, 0])
    yield probe((clean, changed, worse, 0, 1), "越补越差", "the patch makes it worse")
    yield probe((*torch.randn(3, 9), 7, 2))


def _margin(logits: Tensor, answer: int, rival: int) -> Tensor:
    return logits[answer] - logits[rival]


def _recovered(clean: Tensor, changed: Tensor, patched: Tensor, answer: int, rival: int) -> Tensor:
    clean, changed, patched = (_margin(run, answer, rival) for run in (clean, changed, patched))
    return (patched - changed) / (clean - changed)


def _alone(clean: Tensor, changed: Tensor, patched: Tensor, a: int, r: int) -> Tensor:
    return (patched[a] - changed[a]) / (clean[a] - changed[a])


RECOVERED_SHARE = exercise(
    "recovered-share",
    "写 `recovered(clean, changed, patched, answer, rival)`：前三个是三次运行的 logits，依次"
    "读原文、读改过的文字、读改过的文字并打上补丁。差距是 answer 比 rival 高出多少。改动丢掉的"
    "差距，补丁补回了几分之几？一点没补回是 0，全补回是 1。",
    "Write `recovered(clean, changed, patched, answer, rival)`: the first three are the logits of"
    " three runs: on the original text, on the changed one, and on the changed one with a patch."
    " The lead is how far answer is above rival. Of the lead that the change has lost, what share"
    " does the patch recover? None is 0, all is 1.",
    solution=_recovered,
    probes=_three_runs,
    mistakes={
        "changed-not-subtracted": wrong(
            "没有减去改动后的差距：什么也没补回来时，应当是 0。",
            "The margin of the changed run is not subtracted: recovering nothing must give 0.",
            lambda c, x, p, a, r: _margin(p, a, r) / _margin(c, a, r),
        ),
        "what-is-missing": wrong(
            "这是还差几分之几；要的是补回了几分之几。",
            "That is the share still missing; wanted is the share recovered.",
            lambda c, x, p, a, r: 1 - _recovered(c, x, p, a, r),
        ),
        "not-divided": wrong(
            "还要除以改动丢掉的差距。",
            "Divide by what the change has lost.",
            lambda c, x, p, a, r: _margin(p, a, r) - _margin(x, a, r),
        ),
        "answer-alone": wrong(
            "只看了 answer：所有的 logits 一起升高，并没有补回什么，所以要看它比 rival 高多少。",
            "This looks at answer alone: where all logits rise together nothing is recovered, so"
            " take how far it is above rival.",
            _alone,
        ),
        "cut-off": wrong(
            "不要截断：补过了头大于 1，越补越差小于 0，都照实说。",
            "Cut nothing off: more than all is above 1, and worse than before below 0.",
            lambda c, x, p, a, r: _recovered(c, x, p, a, r).clamp(0, 1),
        ),
        "of-probabilities": wrong(
            "量的是 logits 的差，不是概率的差。",
            "Measure the difference of logits, not of probabilities.",
            lambda c, x, p, a, r: _recovered(c.softmax(-1), x.softmax(-1), p.softmax(-1), a, r),
        ),
        "upside-down": wrong(
            "分子分母颠倒了。",
            "Numerator and denominator are swapped.",
            lambda c, x, p, a, r: 1 / _recovered(c, x, p, a, r),
        ),
    },
)


# --- parity-states -----------------------------------------------------------------------------


def _bits() -> Iterator[Probe]:
    yield probe((torch.tensor([1, 0, 1, 1, 0, 1]), 2.0))
    yield probe((torch.tensor([0, 1, 1, 0]), 1.0), "强度至多为 1", "strengths of at most 1")
    yield probe((torch.tensor([1, 1, 0, 1, 1]), 1.6), "强度在 1 与 2 之间", "strengths between")
    yield probe((torch.tensor([0, 0, 0]), 2.0), "全是 0", "zeros alone")
    yield probe((torch.tensor([1]), 2.0), "只有一个比特", "a single bit")
    yield probe((torch.randint(2, (20,)), 2.0))


def _parity(bits: Tensor, top: float) -> Tensor:
    state, found = 1.0, []
    for bit in bits.tolist():
        state = state + top * bit * (0 - state)
        found.append(state)
    return torch.tensor(found)


def _other(bits: Tensor, top: float) -> Tensor:
    state, found = 1.0, []
    for bit in bits.tolist():
        state = state + top * bit * (1 - state)
        found.append(state)
    return torch.tensor(found)


def _sign_is_parity(answer: Answer) -> Finding | None:
    bits = torch.randint(2, (50,))
    got = answer(bits, 2.0)
    odd = bits.cumsum(dim=0) % 2 == 1
    if torch.equal(torch.as_tensor(got) < 0, odd):
        return None
    return Finding({"bits": bits, "top": 2.0}, (1 - 2 * odd.int()).float(), got)


PARITY_STATES = exercise(
    "parity-states",
    "写 `states(bits, top)`：状态是一个数，从 1 开始，键是 1。每来一个比特，就用 delta 规则写值 0，"
    "强度是 top 乘这个比特。返回每个比特之后的状态。",
    "Write `states(bits, top)`: the state is a number that begins at 1, and the key is 1. At each"
    " bit, write the value 0 by the delta rule, with a strength of top times the bit. Return the"
    " state after each bit.",
    solution=_parity,
    probes=_bits,
    mistakes={
        "writes-one": wrong(
            "写进去的值是 0，不是 1；写 1 的话，状态一直是 1。",
            "The value that is written is 0, not 1, with which the state stays at 1.",
            _other,
        ),
        "before-the-bit": wrong(
            "早了一步：要的是每个比特**之后**的状态。",
            "One step early: return the state **after** each bit.",
            lambda b, t: torch.cat((torch.ones(1), _parity(b, t)[:-1])),
        ),
        "zeros-turn": wrong(
            "比特弄反了：是 1 才写，是 0 强度就是 0。",
            "The bits are swapped: a 1 writes, and with a 0 the strength is 0.",
            lambda b, t: _parity(1 - b, t),
        ),
        "top-ignored": wrong(
            "top 没有用上：强度不总是 2。",
            "`top` is not used: the strength is not always 2.",
            lambda b, t: _parity(b, 2.0),
        ),
        "counted": wrong(
            "这是把 1 数了出来：状态里只有一个数，不许先数再取余。",
            "This counts the ones: there is one number of state, and it is what the delta rule"
            " makes of it.",
            lambda b, t: (b.cumsum(dim=0) % 2).float(),
        ),
        "each-alone": wrong(
            "每一步都从 1 重新开始了：状态要一路传下去。",
            "Each step begins at 1 again: the state is handed on.",
            lambda b, t: 1 - t * b.float(),
        ),
        "last-alone": wrong(
            "只返回了最后的状态：每个比特之后都要。",
            "This returns the last state alone: one after each bit is wanted.",
            lambda b, t: _parity(b, t)[-1],
        ),
    },
    laws=(
        Law(
            "sign-is-parity",
            Bilingual(
                "强度为 2 时，到此为止 1 的个数为奇数，状态就是负的。",
                "With a strength of 2 the state is negative where the ones so far are odd.",
            ),
            _sign_is_parity,
        ),
    ),
)


# --- stack-memory ------------------------------------------------------------------------------


def _kept(kinds: str, tokens: int, d: int) -> int:
    return sum(d * d if kind == "d" else 2 * tokens * d for kind in kinds)


STACK_MEMORY = exercise(
    "stack-memory",
    "写 `kept(kinds, tokens, d)`：kinds 每层一个字母，"
    '"d" 是 delta 规则，"s" 是 softmax，如 "ddds"；每层一个头，键和值各有 `d` 个特征。'
    "读完 `tokens` 个词元，各层一共留着多少个数？",
    "Write `kept(kinds, tokens, d)`: kinds has a letter for each layer,"
    ' "d" for a delta rule and "s" for softmax, such as "ddds". Each layer has one head, with `d`'
    " features of a key and `d` of a value. How many numbers do all layers keep together once"
    " `tokens` tokens are read?",
    solution=_kept,
    probes=lambda: [
        probe(("ddds", 1000, 64)),
        probe(("ssss", 1000, 64), "全是 softmax", "softmax alone"),
        probe(("dddd", 1000, 64), "全是 delta 规则", "delta rules alone"),
        probe(("sd", 3, 8), "只有几个词元", "few tokens"),
        probe(("dds", 0, 8), "一个词元也没有", "no token yet"),
        probe(("dsdsdd", 50, 1), "只有一个特征", "one feature"),
    ],
    mistakes={
        "keys-alone": wrong(
            "缓存里不只有键，值也有同样多。",
            "A cache keeps the values, too, as many again as the keys.",
            lambda k, n, d: sum(d * d if each == "d" else n * d for each in k),
        ),
        "state-grows": wrong(
            "状态不随词元增长：始终是 d × d 个数。",
            "A state does not grow with the tokens: it is d × d numbers all along.",
            lambda k, n, d: sum(n * d * d if each == "d" else 2 * n * d for each in k),
        ),
        "state-of-two": wrong(
            "状态只有一个 d × d 的矩阵，键和值都记在里面。",
            "A state is a single d × d matrix that holds both keys and values.",
            lambda k, n, d: sum(2 * d * d if each == "d" else 2 * n * d for each in k),
        ),
        "state-is-a-vector": wrong(
            "状态是矩阵，d × d 个数，不是 d 个。",
            "A state is a matrix of d × d numbers, not d.",
            lambda k, n, d: sum(d if each == "d" else 2 * n * d for each in k),
        ),
        "caches-alone": wrong(
            "delta 规则那几层也要留状态。",
            "The layers of the delta rule keep their state, too.",
            lambda k, n, d: k.count("s") * 2 * n * d,
        ),
        "all-caches": wrong(
            "delta 规则那几层没有缓存。",
            "The layers of the delta rule have no cache.",
            lambda k, n, d: len(k) * 2 * n * d,
        ),
        "kinds-not-layers": wrong(
            "每一层都算一份，不是每一种。",
            "Count each layer, not each kind.",
            lambda k, n, d: _kept("".join(sorted(set(k))), n, d),
        ),
        "scores-kept": wrong(
            "评分用完就扔，不留。",
            "Scores are thrown away at once and are not kept.",
            lambda k, n, d: sum(d * d if each == "d" else 2 * n * d + n * n for each in k),
        ),
    },
)

EXERCISES = (LOGIT_LENS, RECOVERED_SHARE, PARITY_STATES, STACK_MEMORY)
