"""Answers to the exercises on today's blocks, long texts and cost."""

import math

import torch
from torch.nn import functional as F
from torch.nn.functional import one_hot

from attention_book.inspection import after_earlier, even, weight_on


# rms-norm
def rms(x, gain, *, axes=-1, power=0.5, shift=0.0, total=torch.mean, epsilon=1e-6):
    x = x - shift * x.mean(dim=-1, keepdim=True)
    return gain * x * (total(x**2, dim=axes, keepdim=True) + epsilon) ** -power


def by_std(x, gain, *, unbiased=True):
    return x / (x.std(dim=-1, keepdim=True, unbiased=unbiased) + 1e-6) * gain


def root(x):
    return x.square().mean(dim=-1, keepdim=True).sqrt()


# swiglu
def gated(x, gate, up, down, *, bend=F.silu):
    return torch.einsum("nf,nf,fd->nd", bend(x @ gate), x @ up, down)


def joined(x, gate, up, down):
    first, second = (x @ torch.cat((gate, up), dim=1)).chunk(2, dim=1)
    return F.linear(first * first.sigmoid() * second, down.T)


# lora-merged
def ranks_joined(W, A, B, alpha, *, scale=None):
    return torch.addmm(W, B, A, alpha=alpha / A.shape[0] if scale is None else scale)


def in_place(W, A, B, alpha):
    W += alpha / len(A) * B @ A
    return W


# expert-gates
def by_values(logits, k, *, bend=torch.exp):
    best = logits.topk(k, dim=-1)
    weights = bend(best.values - best.values[..., :1])
    shares = weights / weights.sum(-1, keepdim=True)
    return torch.zeros_like(logits).scatter(-1, best.indices, shares)


def divided(logits, k):
    shares = logits.softmax(-1)
    kept = shares.where(shares >= shares.sort(-1).values[..., -k, None], 0)
    return kept / kept.sum(-1, keepdim=True)


def zeros_before(logits, k):
    best = logits.topk(k, dim=-1)
    return torch.zeros_like(logits).scatter(-1, best.indices, best.values).softmax(-1)


# cache-bytes
def in_a_loop_of_layers(windows, kv_heads, d_k, n, *, each=2):
    total = 0
    for window in windows:
        total += 2 * kv_heads * d_k * each * (n if window is None else min(n, window))
    return total


# induction-score
def score(weights, words, distance=1):
    everything = torch.ones(1, *weights.shape, dtype=torch.bool)
    return weight_on(weights[None, None], after_earlier(words[None], distance), everything)[0]


def in_two_loops(
    weights, words, *, last=False, first=False, itself=True, future=False, best=False, wrap=False
):
    words, total, asking = words.tolist(), 0.0, 0
    n = len(words)
    for q, word in enumerate(words):
        keys = [j for j in range(1, n if future else q + 1) if words[j - 1] == word]
        if wrap and words[-1] == word:
            keys = [0, *keys]
        if not itself:
            keys = [j for j in keys if j != q]
        if future:
            keys = [j for j in keys if j != q + 1]
        keys = keys[-1:] if last else keys[:1] if first else keys
        if keys:
            asking += 1
            seen = [weights[q, j].item() for j in keys]
            total += max(seen) if best else sum(seen)
    return total / asking


# induction-by-hand
def copied(words, num_words, distance=1):
    looks = after_earlier(words[None], distance)[0]
    return even(looks.float(), looks) @ one_hot(words, num_words).float()


def in_a_loop(
    words,
    num_words,
    *,
    back=1,
    until=None,
    share=True,
    itself=True,
    only=slice(None),
    first_word=None,
):
    """Guess place by place; ``first_word`` is what place 0 notes, where it notes one."""
    guesses = torch.zeros(len(words), num_words)
    for i, word in enumerate(words):
        last = len(words) if until == "end" else i + 1 if itself else i
        found = [j for j in range(back, last) if words[j - back] == word]
        if first_word is not None and last > 0 and first_word == word:
            found = [0, *found]
        for j in found[only]:
            guesses[i, words[j]] += 1 / len(found[only]) if share else 1
    return guesses


def noted(words, num_words, *, divide):
    n = len(words)
    before = torch.cat((torch.tensor([-1]), words[:-1]))
    looks = ((before == words[:, None]) & torch.ones(n, n).tril().bool()).float()
    return divide(looks) @ one_hot(words, num_words).float()


# kept-positions
def kept(i, w, f):
    return sorted({*range(min(f, i + 1))} | {*range(max(0, i + 1 - w), i + 1)})


def by_a_mask(i, w, f):
    places = torch.arange(i + 1)
    return ((places > i - w) | (places < f)).nonzero().flatten().tolist()


# sink-softmax
def with_sink(scores, sink, *, extra=None):
    top = scores.amax(-1, keepdim=True).clamp(min=sink)
    extra = torch.exp(sink - top) if extra is None else extra * torch.exp(-top)
    parts = torch.exp(scores - top)
    return parts / (parts.sum(-1, keepdim=True) + extra)


def plain(scores, extra):
    return scores.exp() / (scores.exp().sum(-1, keepdim=True) + extra)


def sink_joined(scores, sink, *, first=False):
    column = torch.full((*scores.shape[:-1], 1), float(sink))
    return torch.cat((column, scores) if first else (scores, column), dim=-1)


# ntk-frequencies
def frequencies(d, s, *, power=None, base=10000.0, first=0):
    power = d / (d - 2) if power is None else power
    return torch.tensor([(base * s**power) ** (-2 * (j + first) / d) for j in range(d // 2)])


def changed(d, s, divisor):
    """Divide the frequencies of the pairs, as the shares of the last one say."""
    share = torch.arange(d // 2) / (d // 2 - 1)
    return frequencies(d, 1) / divisor(share, s)


# repeat-key-heads
def by_group(keys, num_heads):
    size = num_heads // keys.shape[1]
    return torch.stack([keys[:, head // size] for head in range(num_heads)], dim=1)


def expanded(keys, num_heads, *, axis=2):
    b, h, n, d = keys.shape
    sizes = (b, h, num_heads // h, n, d) if axis == 2 else (b, num_heads // h, h, n, d)
    return keys.unsqueeze(axis).expand(sizes).reshape(b, num_heads, n, d)


# step-bytes
def read(weights, kv_heads, d_k, tokens, batch, *, times=1, texts=True, kinds=2, size=2):
    cache = kinds * kv_heads * d_k * tokens * (batch if texts else 1)
    return size * times * weights + size * cache


def one_by_one(weights, kv_heads, d_k, tokens, batch):
    numbers = weights
    for _ in range(batch):
        for _ in ("keys", "values"):
            numbers += kv_heads * tokens * d_k
    return numbers + numbers


# moved-rows
def rows_tile_by_tile(queries, keys, tile):
    moved = 0
    for start in range(0, queries, tile):
        moved += 2 * min(tile, queries - start) + 2 * keys
    return moved


# round-channels
def on_levels(x, bits, *, levels=None):
    """Choose for each number the nearest of the levels."""
    levels = 2**bits if levels is None else levels
    low, high = x.aminmax(dim=0)
    share = torch.linspace(0, 1, levels)[:, None]
    ladder = low + (high - low) * share  # (level, feature)
    nearest = (x[None] - ladder[:, None]).abs().argmin(dim=0)
    return ladder.gather(0, nearest)


def column_by_column(x, bits):
    columns = []
    for column in x.T:
        low, high = column.min(), column.max()
        if high == low:
            columns.append(column.clone())
            continue
        step = (high - low) / (2**bits - 1)
        columns.append(torch.round((column - low) / step) * step + low)
    return torch.stack(columns, dim=1)


# draw-the-rest
def rest(p, q):
    left = torch.where(p > q, p - q, torch.zeros_like(p))
    return left / left.sum() if left.sum() else p


def share(left, p):
    return left / left.sum() if left.sum() > 0 else p


def rest_in_place(p, q):
    p -= q
    p.clamp_(min=0)
    return p / p.sum() if p.sum() > 0 else q


# delta-step
def step(state, key, value, strength, *, sign=-1, fade=1.0, keep=1.0, both=True):
    known = torch.einsum("k,kv->v", key, state)
    scale = strength if both else 1.0
    change = torch.einsum("k,v->kv", key, strength * value + sign * scale * known)
    return keep * fade * state + change


def written_into(state, key, value, strength):
    state += strength * torch.outer(key, value - key @ state)
    return state


# chunked-sum
def chunk(state, queries, keys, values, *, own=True, past=True, before=True):
    outputs, running = [], state.clone()
    for q, k, v in zip(queries, keys, values, strict=True):
        written = running + torch.outer(k, v)
        outputs.append(q @ (written if own else running))
        running = written
    outputs = torch.stack(outputs)
    return outputs - (0 if past else 1) * queries @ state, running - (0 if before else 1) * state


def all_at_once(state, queries, keys, values):
    for k, v in zip(keys, values, strict=True):
        state = state + torch.outer(k, v)
    return queries @ state, state


def summed(state, queries, keys, values):
    states = state + torch.einsum("tk,tv->tkv", keys, values).cumsum(dim=0)
    return torch.einsum("tk,tkv->tv", queries, states), states[-1]


def within(q, k, *, scale=1.0):
    return (q @ k.mT).tril() * scale


def grown(state, queries, keys, values):
    outputs = queries @ state + within(queries, keys) @ values
    state += keys.T @ values
    return outputs, state


RIGHT = {
    "rms-norm": [
        rms,
        lambda x, g: F.rms_norm(x, x.shape[-1:], g, 1e-6),
        lambda x, g: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * g,
    ],
    "swiglu": [
        gated,
        joined,
        lambda x, gate, up, down: (x @ gate / (1 + (-x @ gate).exp()) * (x @ up)) @ down,
    ],
    "lora-merged": [
        ranks_joined,
        lambda W, A, B, a: W + sum(torch.outer(B[:, r], A[r]) for r in range(len(A))) * a / len(A),
        lambda W, A, B, a: W.add(B.mm(A * (a / B.shape[1]))),
    ],
    "expert-gates": [
        by_values,
        divided,
        lambda x, k: torch.where(x > -torch.inf, divided(x, k), 0),
    ],
    "cache-bytes": [
        in_a_loop_of_layers,
        lambda w, h, d, n: 4 * h * d * sum(min(n, x or n) for x in w),
    ],
    "induction-score": [score, in_two_loops, lambda w, x: torch.tensor(in_two_loops(w, x))],
    "induction-by-hand": [
        copied,
        in_a_loop,
        lambda words, n: noted(
            words, n, divide=lambda looks: looks / looks.sum(-1, keepdim=True).clamp(min=1)
        ),
    ],
    "kept-positions": [
        kept,
        by_a_mask,
        lambda i, w, f: [j for j in range(i + 1) if j < f or j > i - w],
    ],
    "sink-softmax": [
        with_sink,
        lambda scores, sink: (
            scores - torch.logaddexp(scores.logsumexp(-1, keepdim=True), torch.tensor(float(sink)))
        ).exp(),
        lambda scores, sink: sink_joined(scores, sink, first=True).softmax(dim=-1)[..., 1:],
    ],
    "ntk-frequencies": [
        frequencies,
        lambda d, s: frequencies(d, 1) * s ** (-torch.arange(d // 2) / (d // 2 - 1)),
        lambda d, s: (10000 * s ** (d / (d - 2))) ** (-torch.arange(0, d, 2) / d),
    ],
    "repeat-key-heads": [by_group, expanded],
    "step-bytes": [
        read,
        one_by_one,
        lambda w, h, d, t, b: torch.tensor([w, *[2 * h * d * t] * b]).sum() * 2,
    ],
    "moved-rows": [
        rows_tile_by_tile,
        lambda q, k, t: 2 * (q + k * ((q + t - 1) // t)),
        lambda q, k, t: torch.tensor(2 * q + 2 * k * math.ceil(q / t)),
    ],
    "round-channels": [on_levels, column_by_column],
    "draw-the-rest": [
        rest,
        lambda p, q: (
            p.clone()
            if torch.equal(p, q)
            else (p - torch.minimum(p, q)) / (1 - torch.minimum(p, q).sum())
        ),
        lambda p, q: F.normalize(F.relu(p - q), p=1, dim=-1) + p * torch.equal(p, q),
    ],
    "delta-step": [
        step,
        lambda state, key, value, strength: (
            ((torch.eye(len(key)) - strength * torch.outer(key, key)) @ state)
            + strength * torch.outer(key, value)
        ),
        lambda s, k, v, b: s - b * k[:, None] * (k @ s - v)[None],
    ],
    "chunked-sum": [chunk, summed, lambda *a: list(chunk(*a))],
}

WRONG = {
    "rms-norm": {
        "divided-by-length": [lambda x, g: F.normalize(x, dim=-1) * g],
        "centered": [lambda x, g: rms(x, g, shift=1)],
        "scale-is-lost": [lambda x, g: x * g],
        "rejected": [
            lambda x, g: x / root(x).clamp(min=1e-6) * g,
            by_std,
            lambda x, g: by_std(x, g, unbiased=False),
            lambda x, g: x / (x.abs().mean(-1, keepdim=True) + 1e-6) * g,
            lambda x, g: rms(x, g.abs()),
            lambda x, g: rms(x * g, 1),
            lambda x, g: x.div_(root(x) + 1e-6) * g,
        ],
    },
    "swiglu": {
        "sigmoid": [lambda *given: gated(*given, bend=torch.sigmoid)],
        "relu": [lambda *given: gated(*given, bend=F.relu)],
        "rejected": [
            lambda *given: gated(*given, bend=lambda z: z * (1.702 * z).sigmoid()),
            lambda *given: gated(*given, bend=torch.tanh),
            lambda *given: gated(*given, bend=lambda z: z * z.exp() / (1 + z.exp())),
            lambda *given: gated(*given, bend=lambda z: z.softmax(dim=-1)),
            lambda x, gate, up, down: F.silu(x @ gate) @ down,
            lambda x, gate, up, down: F.silu(F.silu(x @ gate) * (x @ up) @ down),
        ],
    },
    "lora-merged": {
        "transposed": [lambda W, A, B, a: W + a / len(A) * A.T @ B.T],
        "not-divided-by-rank": [lambda W, A, B, a: ranks_joined(W, A, B, a, scale=a)],
        "input": [in_place],
        "rejected": [
            lambda W, A, B, a: ranks_joined(W, A, B, a, scale=len(A) / a if a else 0),
            lambda W, A, B, a: ranks_joined(W, A, B, a, scale=a // len(A)),
            lambda W, A, B, a: ranks_joined(W, A, B, a, scale=-a / len(A)),
            lambda W, A, B, a: ranks_joined(W, A, B, a, scale=a * len(A)),
        ],
    },
    "expert-gates": {
        "not-shared-again": [
            lambda x, k: divided(x, k) * x.softmax(-1).topk(k).values.sum(-1)[..., None]
        ],
        "zero-before": [zeros_before],
        "equal-shares": [lambda x, k: by_values(x, k, bend=torch.ones_like)],
        "one-alone": [lambda x, k: by_values(x, 1)],
        "rejected": [
            lambda x, k: by_values(x, k, bend=torch.sigmoid),
            lambda x, k: by_values(x, k, bend=lambda z: (z / 2).exp()),
            lambda x, k: by_values(x, k, bend=lambda z: z + 1),
            lambda x, k: divided(x, k).round(),
            lambda x, k: by_values(x.abs(), k),
        ],
    },
    "cache-bytes": {
        "four-bytes": [lambda *given: in_a_loop_of_layers(*given, each=4)],
        "half": [lambda *given: in_a_loop_of_layers(*given, each=1)],
        "rejected": [
            lambda w, h, d, n: in_a_loop_of_layers(w, h, d, n - 1),
            lambda w, h, d, n: in_a_loop_of_layers(w, h, d, n) / 1024,
            lambda w, h, d, n: in_a_loop_of_layers([x and x - 1 for x in w], h, d, n),
            lambda w, h, d, n: 4 * h * d * min(n, *[x or n for x in w]) * len(w),
        ],
    },
    "induction-score": {
        "on-the-occurrence": [lambda w, x: score(w, x, 0)],
        "two-after": [lambda w, x: score(w, x, 2)],
        "rejected": [
            lambda w, x: score(w.mT, x),
            lambda w, x: score(w, x) * after_earlier(x[None])[0].any(-1).sum(),
            lambda w, x: w[after_earlier(x[None])[0]].max(),
            lambda w, x: w.diagonal(-1).mean(),
            lambda w, x: (w * after_earlier(x[None])[0]).sum(-1),
        ],
    },
    "induction-by-hand": {
        "one-look": [lambda words, n: copied(words, n, 0)],
        "two-back": [lambda words, n: in_a_loop(words, n, back=2)],
        "shape": [lambda words, n: in_a_loop(words, int(words.max()) + 1)],
        "rejected": [
            lambda w, n: noted(w, n, divide=lambda a: a.softmax(dim=-1)),
            lambda w, n: noted(w, n, divide=lambda a: a / (a.sum(-1, keepdim=True) + 1e-3)),
            lambda w, n: noted(w, n, divide=lambda a: a / len(w)),
            lambda words, n: copied(words, n).argmax(dim=-1),
            lambda words, n: one_hot(copied(words, n).argmax(-1), n).float(),
            lambda words, n: copied(words, n)[-1],
            lambda words, n: one_hot(words.roll(-1), n).float(),
        ],
    },
    "kept-positions": {
        "one-more": [lambda i, w, f: kept(i, w + 1, f)],
        "first-inside-the-window": [lambda i, w, f: kept(i, max(1, w - f), f)],
        "type": [lambda i, w, f: set(kept(i, w, f)), lambda i, w, f: torch.tensor(kept(i, w, f))],
        "rejected": [
            lambda i, w, f: sorted({*range(f), *range(i - w + 1, i + 1)}),
            lambda i, w, f: list(range(min(f, i + 1))),
            lambda i, w, f: [j for j in range(i + 1) if i - j < w and j < f],
            lambda i, w, f: list(range(i + 1)) if i <= w + f else kept(i, w, f),
        ],
    },
    "sink-softmax": {
        "sink-not-a-score": [lambda scores, sink: with_sink(scores, sink, extra=sink)],
        "always-one": [lambda scores, sink: with_sink(scores, sink, extra=1.0)],
        "overflow": [lambda s, sink: plain(s, 2.718281828**sink)],
        "no-sink": [lambda s, sink: F.normalize(with_sink(s, sink), p=1, dim=-1)],
        "sink-not-shifted": [
            lambda s, sink: (
                (s - s.amax(-1, keepdim=True)).exp()
                / ((s - s.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True) + 2.718281828**sink)
            )
        ],
        "rejected": [
            lambda scores, sink: sink_joined(scores, sink).softmax(dim=-1)[..., 1:],
            lambda scores, sink: scores.softmax(-1) - sink_joined(scores, sink).softmax(-1),
            lambda s, sink: with_sink(s, sink, extra=s.shape[-1] * 2.718281828**sink),
            lambda s, sink: plain(s.double(), torch.tensor(sink).double().exp()).float(),
            lambda s, sink: plain(s - s.max(), (sink - s.max()).exp()),
        ],
    },
    "ntk-frequencies": {
        "base-times-s": [lambda d, s: frequencies(d, s, power=1)],
        "whole-exponent": [lambda d, s: frequencies(d, s, power=d // (d - 2))],
        "type": [lambda d, s: frequencies(d, s).tolist()],
        "rejected": [
            lambda d, s: frequencies(d, 1),
            lambda d, s: frequencies(d, s, power=2),
            lambda d, s: frequencies(d, s, base=500000.0),
            lambda d, s: changed(d, s, lambda share, s: 1 + share * (s - 1)),
            lambda d, s: frequencies(d, s, power=(d / 2) / (d / 2 - 2)),
            lambda d, s: frequencies(d, s, power=d / (d - 1)),
            lambda d, s: frequencies(d, int(s)),
            lambda d, s: frequencies(d, s, power=d / (d - 2) if s > 2 else 0),
            lambda s, d: frequencies(int(d), s),
        ],
    },
    "repeat-key-heads": {
        "in-turns": [lambda k, h: torch.cat([k] * (h // k.shape[1]), dim=1)],
        "too-many": [lambda k, h: k[:, [i // h for i in range(h * k.shape[1])]]],
        "rejected": [
            lambda k, h: k.repeat_interleave(2, dim=1),
            lambda k, h: by_group(k.flip(1), h),
            lambda k, h: k.mean(dim=1, keepdim=True).expand(-1, h, -1, -1),
            lambda k, h: by_group(k, h) / (h // k.shape[1]),
            lambda k, h: k.repeat_interleave(h - k.shape[1] + 1, dim=1),
            lambda k, h: by_group(k, h).mT,
        ],
    },
    "step-bytes": {
        "new-token-alone": [lambda w, h, d, t, b: read(w, h, d, 1, b)],
        "weights-each": [lambda w, h, d, t, b: b * read(w, h, d, t, 1)],
        "rejected": [
            lambda w, h, d, t, b: read(w, h, d, t, b, size=16),
            lambda w, h, d, t, b: read(w, h, 1, t, b),
            lambda w, h, d, t, b: 2 * w * 2 * h * d * t * b,
            lambda w, h, d, t, b: read(w, h, d, t * t, b),
            lambda w, h, d, t, b: read(w, h, d, t, b) / (b * (t or 1)),
            lambda w, h, d, t, b: 2 * max(w, 2 * h * d * t * b),
            lambda w, h, d, t, b: torch.tensor(read(w, h, d, t, b), dtype=torch.int32),
        ],
    },
    "moved-rows": {
        "tile-ignored": [lambda q, k, t: rows_tile_by_tile(q, k, 1)],
        "keys-once": [lambda q, k, t: rows_tile_by_tile(q, k, q)],
        "rounded-down": [lambda q, k, t: rows_tile_by_tile(q // t * t, k, t) + 2 * (q % t)],
        "rejected": [
            lambda q, k, t: 2 * q + 2 * k * (q // t + 1),
            lambda q, k, t: 2 * q + k * k // t,
            lambda q, k, t: 2 * q + 2 * k * -(-q // t) + q * k,
            lambda q, k, t: 4 * q * -(-q // t),
            lambda q, k, t: 2 * -(-q // t) + 2 * k * -(-q // t),
        ],
    },
    "round-channels": {
        "per-token": [lambda x, bits: on_levels(x.T, bits).T],
        "one-level-more": [lambda x, bits: on_levels(x, bits, levels=2**bits + 1)],
        "rejected": [
            lambda x, bits: x.round(),
            lambda x, bits: x.clone(),
            lambda x, bits: on_levels(x, bits, levels=bits),
            lambda x, bits: on_levels(x, bits, levels=2),
            lambda x, bits: on_levels(x, bits).clamp(min=0),
        ],
    },
    "draw-the-rest": {
        "from-target": [lambda p, q: p / p.sum()],
        "not-normalized": [lambda p, q: torch.relu(p - q)],
        "input": [rest_in_place],
        "rejected": [
            lambda p, q: share(torch.relu(p - q) + 1e-9, p),
            lambda p, q: share(torch.relu(p - q), torch.full_like(p, 1 / len(p))),
            lambda p, q: p if torch.allclose(p, q) else rest(p, q),
            lambda p, q: p if torch.allclose(p, q, atol=1e-3) else rest(p, q),
            lambda p, q: torch.relu(p - q) / (torch.relu(p - q).sum() + 1e-6),
            lambda p, q: share(p * (p >= q), p),
            lambda p, q: share(torch.relu(p / q - 1).nan_to_num(posinf=0), p),
            lambda p, q: p - q,
            lambda p, q: F.one_hot((p - q).argmax(), len(p)).float(),
            lambda p, q: q,
        ],
    },
    "delta-step": {
        "added": [lambda s, k, v, b: step(s, k, v, b, sign=0)],
        "wrong-sign": [lambda s, k, v, b: step(s, k, v, b, sign=1)],
        "input": [written_into],
        "rejected": [
            lambda s, k, v, b: step(s, k, v, b or 1.0),
            lambda s, k, v, b: step(s, k, v, b / (k @ k).clamp(min=1e-9)),
            lambda s, k, v, b: s + b * torch.outer(k, v - k @ s / (k @ k)),
            lambda s, k, v, b: s + b * torch.outer(k, v) - b * torch.outer(k, v - k @ s),
            lambda s, k, v, b: step(s, k, v, b).T,
            lambda s, k, v, b: s + b * torch.outer(v - k @ s, k),
            lambda s, k, v, b: b * torch.outer(k, v),
            lambda s, k, v, b: step(s, k, v, b**2),
        ],
    },
    "chunked-sum": {
        "scaled": [
            lambda s, q, k, v: (q @ s + within(q, k, scale=0.5) @ v, s + k.T @ v),
            lambda s, q, k, v: ((q @ s + within(q, k) @ v) / 2, s + k.T @ v),
        ],
        "sees-all": [all_at_once],
        "type": [lambda s, q, k, v: chunk(s, q, k, v)[0]],
        "input": [grown],
        "rejected": [
            lambda s, q, k, v: (q @ s + (k @ q.T).tril() @ v, s + k.T @ v),
            lambda s, q, k, v: (chunk(s, q, k, v)[0], s + k.T @ v / len(k)),
            lambda s, q, k, v: (chunk(s, q, k, v)[0], s + torch.outer(k[-1], v[-1])),
            lambda s, q, k, v: (chunk(s, q, k, v)[0], s - k.T @ v),
            lambda s, q, k, v: (chunk(s, k, q, v)[0], s + k.T @ v),
        ],
    },
}
