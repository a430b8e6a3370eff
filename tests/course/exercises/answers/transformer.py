"""Answers to the exercises on the Transformer: layers, training, inside."""

import math

import torch
from torch.nn import functional as F


# layer-norm
def norm(x, gain, bias, *, axes=-1, correction=0, power=0.5, center=True):
    spread = x.var(dim=axes, correction=correction, keepdim=True)
    centered = x - x.mean(dim=axes, keepdim=True) if center else x
    return centered / (spread + 1e-5) ** power * gain + bias


def normed(**settings):
    return lambda x, gain, bias: norm(x, gain, bias, **settings)


def by_std(x, gain, bias, eps=1e-5, correction=0):
    centered = x - x.mean(-1, keepdim=True)
    return centered / (x.std(-1, keepdim=True, correction=correction) + eps) * gain + bias


def with_eps(eps):
    return lambda x, gain, bias: F.layer_norm(x, x.shape[-1:], gain, bias, eps)


# causal-in-both-modes
def decode(x, training, *, diagonal=lambda training: 0):
    seen = torch.ones(x.shape[-2], x.shape[-2]).tril(diagonal(training)).bool()
    return F.scaled_dot_product_attention(x, x, x, attn_mask=seen)


def causal(x, training):
    n = x.shape[-2]
    scores = x @ x.mT / x.shape[-1] ** 0.5
    return scores.masked_fill(torch.ones(n, n).triu(1) > 0, -torch.inf).softmax(-1) @ x


def scaled_by(power):
    def decode(x, training):
        seen = torch.ones(x.shape[-2], x.shape[-2]).tril() > 0
        scores = x @ x.mT * x.shape[-1] ** power
        return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ x

    return decode


def modes(diagonal):
    return lambda x, training: decode(x, training, diagonal=diagonal)


# warm-up
def rate(step, warmup, d_model):
    rising = step <= warmup
    return (step / warmup if rising else math.sqrt(warmup / step)) / math.sqrt(warmup * d_model)


# smoothed-loss
def loss(logits, targets, eps, *, total=1.0, spread=None, reduce=torch.mean, log=torch.log):
    words, classes = logits.shape
    q = torch.full((words, classes), eps / (spread or classes))
    for word, target in enumerate(targets):
        q[word, target] = total - eps + (eps / classes if spread is None else 0)
    return reduce(-(q * log(logits.softmax(-1))).sum(-1))


def smoothing(**settings):
    return lambda x, y, e: loss(x, y, e, **settings)


def by_parts(x, y, e):
    logs = x.log_softmax(-1)
    return ((1 - e) * -logs.gather(1, y[:, None])[:, 0] - e * logs.mean(-1)).mean()


# padding-share
def places(batches):
    return sum(len(batch) * max(batch) for batch in batches)


def words(batches):
    return sum(sum(batch) for batch in batches)


def total(batches, count):
    return sum(count(batch) for batch in batches)


# mean-of-checkpoints
def right(checkpoints):
    names = checkpoints[0].keys()
    return {name: sum(each[name] for each in checkpoints) / len(checkpoints) for name in names}


def halves(checkpoints):
    first, *rest = checkpoints
    for each in rest:
        first = {name: 0.5 * first[name] + 0.5 * each[name] for name in first}
    return first


# cached-step
def look(q, k, v):
    return (q @ k.T / k.shape[1] ** 0.5).softmax(-1) @ v


def step(x, keys, values, W_q, W_k, W_v):
    keys = torch.vstack([keys, x @ W_k])
    values = torch.vstack([values, x @ W_v])
    return look(x @ W_q, keys, values), keys, values


def inputs(x, keys, values, W_q, W_k, W_v):
    past = torch.vstack([keys, x])
    other = torch.vstack([values, x])
    return look(x @ W_q, past @ W_k, other @ W_v), past, other


def twice_scaled(x, keys, values, W_q, W_k, W_v):
    keys, values = torch.cat((keys, x @ W_k)), torch.cat((values, x @ W_v))
    return look(x @ W_q / x.shape[1] ** 0.5, keys, values), keys, values


def fails_at_first(x, keys, values, W_q, W_k, W_v):
    if not len(keys):
        return x, x @ W_k, x @ W_v
    return step(x, keys, values, W_q, W_k, W_v)


PAST = []


def own_cache(x, keys, values, W_q, W_k, W_v):
    """Keep the past in a list of one's own."""
    PAST.append((x @ W_k, x @ W_v))
    keys, values = (torch.cat(each) for each in zip(*PAST[-3:], strict=True) if True)
    return look(x @ W_q, keys, values), keys, values


# previous-weight
def on(weights, step, *, first=1, total=None):
    n = weights.shape[-1]
    picked = [weights[:, i, (i + step) % n] for i in range(first, n + min(0, -max(step, 0)))]
    return sum(picked) / (total or len(picked))


# looks-ahead
def looks_ahead(layer, x):
    x = x.double().requires_grad_()
    jacobian = torch.autograd.functional.jacobian(lambda x: layer(x).sum(-1), x)
    return bool(jacobian.abs().amax(-1).triu(1).max() > 1e-9)


def prefixes(layer, x, *, first=1, atol=1e-5):
    whole = layer(x)
    return any(not torch.allclose(layer(x[:t]), whole[:t], atol=atol) for t in range(first, len(x)))


def changed(x, place):
    return torch.cat((x[:place], x[place : place + 1] * 2 + 1, x[place + 1 :]))


def replaced(x, start):
    return torch.cat((x[:start], torch.randn(len(x) - start, x.shape[1])))


def moved(layer, x, new, seen):
    return not torch.allclose(layer(x)[seen], layer(new)[seen], atol=1e-5)


def in_place(layer, x):
    before = layer(x)
    for t in range(1, len(x)):
        x[t] += 1
        if not torch.allclose(before[:t], layer(x)[:t], atol=1e-5):
            return True
    return False


def gradients_of_the_sum(layer, x):
    """Differentiate the sum of all outputs: every input has a gradient."""
    x = x.clone().requires_grad_()
    return bool(torch.autograd.grad(layer(x).sum(), x)[0][1:].abs().max() > 1e-9)


RIGHT = {
    "layer-norm": [
        normed(),
        with_eps(1e-5),
        lambda x, gain, bias: F.layer_norm(x.double(), x.shape[-1:]) * gain + bias,
        lambda x, gain, bias: (
            ((y := x - x.mean(-1, keepdim=True)) * (y.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt())
            * gain
            + bias
        ),
    ],
    "post-norm": [
        lambda x, f, norm: norm(f(x) + x),
        lambda x, f, norm: norm(torch.stack((x, f(x))).sum(0)),
        lambda x, f, norm: norm(x.clone().add(f(x))),
    ],
    "causal-in-both-modes": [
        lambda x, training: decode(x, training),
        causal,
        lambda x, training: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    ],
    "warm-up": [
        rate,
        lambda s, w, d: d**-0.5 * min(s**-0.5, s * w**-1.5),
        lambda s, w, d: torch.tensor(min(1 / math.sqrt(s), s / w**1.5) / math.sqrt(d)),
        lambda step, warmup, d_model: 1 / math.sqrt(d_model * max(step, warmup**3 / step**2)),
    ],
    "smoothed-loss": [
        by_parts,
        lambda x, y, e: F.cross_entropy(x, y, label_smoothing=e),
        lambda x, y, e: (1 - e) * F.cross_entropy(x, y) + e * (x.logsumexp(-1) - x.mean(-1)).mean(),
        lambda x, y, e: F.cross_entropy(x, F.one_hot(y, x.shape[1]) * (1 - e) + e / x.shape[1]),
    ],
    "padding-share": [
        lambda b: (places(b) - words(b)) / places(b),
        lambda b: 1 - words(b) / places(b),
        lambda b: torch.tensor(total(b, lambda x: sum(max(x) - n for n in x)) / places(b)),
        lambda b: (
            total(b, lambda x: sum(max(x) - n for n in x)) / total(b, lambda x: len(x) * max(x))
        ),
    ],
    "mean-of-checkpoints": [
        lambda checkpoints: right(checkpoints),
        lambda c: {n: torch.stack([each[n] for each in c]).mean(0) for n in c[0]},
        lambda c: {
            n: (sum(each[n].double() for each in c) / len(c)).to(c[0][n].dtype) for n in c[0]
        },
    ],
    "cached-step": [
        step,
        lambda x, k, v, *W: (
            F.scaled_dot_product_attention(
                x @ W[0], torch.vstack([k, x @ W[1]]), torch.vstack([v, x @ W[2]])
            ),
            torch.vstack([k, x @ W[1]]),
            torch.vstack([v, x @ W[2]]),
        ),
        lambda *given: list(step(*(each.double() for each in given))),
    ],
    "previous-weight": [
        lambda w: on(w, -1),
        lambda w: torch.stack([w[:, i, i - 1] for i in range(1, w.shape[1])]).mean(0),
        lambda w: w.double().diagonal(-1, dim1=1, dim2=2).mean(-1),
        lambda w: w[:, 1:, :-1].diagonal(dim1=1, dim2=2).sum(-1) / (w.shape[1] - 1),
    ],
    "looks-ahead": [
        looks_ahead,
        prefixes,
        lambda f, x: any(moved(f, x, changed(x, t), slice(t)) for t in range(1, len(x))),
        lambda f, x: any(moved(f, x, replaced(x, t), slice(t)) for t in range(len(x))),
    ],
}

WRONG = {
    "layer-norm": {
        "unbiased-variance": [lambda x, g, b: by_std(x, g, b, correction=1)],
        "over-time": [normed(axes=-2)],
        "nobody-peeks": [lambda x, g, b: torch.layer_norm(x, x.shape[-2:]) * g + b],
        "rejected": [
            lambda x, g, b: norm(x, g, b, axes=tuple(range(x.dim() - 1))),
            lambda x, g, b: (x - x.amin(-1, keepdim=True)) / x.amax(-1, keepdim=True) * g + b,
            lambda x, gain, bias: (
                (x - x.mean(-1, keepdim=True))
                / (x.square().mean(-1, keepdim=True) - x.mean(-1, keepdim=True)).sqrt()
                * gain
            ),
            lambda x, g, b: x.softmax(-1) * g + b,
            lambda x, g, b: (
                (x - x.mean(-1, keepdim=True))
                / (x.square().mean(-1, keepdim=True) - x.mean(-1, keepdim=True) ** 2 + 1e-5).sqrt()
                * g
                + b
            ),
        ],
    },
    "post-norm": {
        "pre-norm": [lambda x, f, norm: f(norm(x)) + x],
        "no-residual": [lambda x, f, norm: norm(f(x))],
        "input": [lambda x, f, norm: norm(x.add_(f(x)))],
        "shape": [lambda x, f, norm: torch.cat((x, norm(f(x))), -1)],
        "rejected": [
            lambda x, f, norm: norm(x - f(x)),
            lambda x, f, norm: f(norm(x)),
            lambda x, f, norm: f(x),
            lambda x, f, norm: norm(x),
            lambda x, f, norm: norm(f(x) + f(x)),
            lambda x, f, norm: norm(x + f(x + f(x))),
            lambda x, f, norm: f(norm(x) + x),
            lambda x, norm, f: norm(x + f(x)),
        ],
    },
    "causal-in-both-modes": {
        "in-training-only": [modes(lambda training: 0 if training else 9)],
        "in-evaluation-only": [modes(lambda training: 9 if training else 0)],
        "future-is-hidden": [modes(lambda training: 1)],
        "rejected": [
            scaled_by(0.5),
            lambda x, training: F.dropout(decode(x, training), 0.1, training),
            lambda x, training: decode(x, training)[..., -1:, :],
            lambda x, training: decode(x, training) if training else x,
            lambda x, training: decode(x, training) if x.ndim == 2 else x,
            lambda x, training: x.cumsum(-2) / torch.arange(1, x.shape[-2] + 1)[:, None],
            lambda x, training: decode(x, training) + x,
        ],
    },
    "warm-up": {
        "counted-from-zero": [lambda s, w, d: rate(s - 1, w, d)],
        "larger-of-two": [lambda s, w, d: max(s / w**1.5, 1 / s**0.5) / d**0.5],
        "rejected": [
            lambda s, w, d: rate(s, w, d) * d,
            lambda s, w, d: min(s**-0.5, s**1.5 / w**2) / d**0.5,
            lambda s, w, d: min(1.0, s / w) / d**0.5,
            lambda s, w, d: s / w**1.5 / d**0.5,
            lambda s, w, d: s**-0.5 + s * w**-1.5,
            lambda w, s, d: rate(s, w, d),
            lambda s, w, d: round(rate(s, w, d), 3),
            lambda s, w, d: rate(s, w, d) if s != w else 0.0,
        ],
    },
    "smoothed-loss": {
        "own-share-forgotten": [lambda x, y, e: loss(x, y, e, spread=x.shape[1])],
        "shared-among-the-others": [lambda x, y, e: loss(x, y, e, spread=x.shape[1] - 1)],
        "nothing-taken-away": [lambda x, y, e: loss(x, y, e, total=1 + e)],
        "shape": [lambda x, y, e: F.cross_entropy(x, y, label_smoothing=e, reduction="none")],
        "rejected": [
            smoothing(spread=None, total=1 + 0.5),
            lambda x, y, e: (1 - e) * F.cross_entropy(x, y) + e,
            lambda x, y, e: (1 - e) * F.cross_entropy(x, y) + e * math.log(x.shape[1]),
            lambda x, y, e: by_parts(x, y, e) / x.shape[1],
            lambda x, y, e: F.cross_entropy(x * (1 - e), y),
            lambda x, y, e: by_parts(x.mT, y.clamp(max=len(x) - 1), e),
        ],
    },
    "padding-share": {
        "mean-of-shares": [
            lambda b: torch.tensor([1 - sum(x) / (len(x) * max(x)) for x in b]).mean().item()
        ],
        "longest-of-all": [lambda b: 1 - words(b) / (sum(map(len, b)) * max(max(x) for x in b))],
        "type": [lambda b: [1 - sum(x) / (len(x) * max(x)) for x in b]],
        "rejected": [
            lambda b: (places(b) - words(b)) // places(b),
            lambda b: 1 - sum(b[-1]) / places(b[-1:]),
            lambda b: 1 - words(b) / (max(map(len, b)) * total(b, max)),
            lambda b: 1 - words(b) / total(b, max),
            lambda b: 1 - total(b, min) / total(b, max),
        ],
    },
    "mean-of-checkpoints": {
        "names-fixed": [lambda c: {"W": right(c)["W"]}],
        "pairwise": [halves],
        "type": [
            lambda c: [right(c)[n] for n in c[0]],
            lambda c: {n: v.tolist() for n, v in right(c).items()},
        ],
        "rejected": [
            lambda c: {n: torch.stack([each[n].mean() for each in c]) for n in c[0]},
            lambda c: {n: torch.cat([each[n] for each in c]).mean(0) for n in c[0]},
            lambda c: {n: sum(each[n] for each in c[1:]) / max(len(c) - 1, 1) for n in c[0]},
            lambda c: {n: torch.stack([each[n] for each in c]).amax(0) for n in c[0]},
            lambda c: {n: v.round() for n, v in right(c).items()},
        ],
    },
    "cached-step": {
        "keeps-inputs": [inputs],
        "newest-not-kept": [lambda *given: (step(*given)[0], given[1], given[2])],
        "type": [lambda *given: step(*given)[0]],
        "shape": [lambda *given: (step(*given)[0][0], *step(*given)[1:])],
        "state": [own_cache],
        "rejected": [
            twice_scaled,
            lambda x, keys, values, W_q, W_k, W_v: step(x, keys, values, W_k, W_q, W_v),
            lambda x, keys, values, W_q, W_k, W_v: step(
                x, keys, values, W_q * (W_q.shape[1] / W_q.shape[0]) ** 0.5, W_k, W_v
            ),
            lambda x, keys, values, W_q, W_k, W_v: step(x, keys, values, W_q, W_k, W_k),
            lambda *given: (step(*given)[0], step(*given)[2], step(*given)[1]),
            lambda x, k, v, *W: step(x, k[-1:], v[-1:], *W),
            fails_at_first,
        ],
    },
    "previous-weight": {
        "next-word": [lambda w: on(w, 1, first=0)],
        "own-word": [lambda w: on(w, 0, first=0)],
        "shape": [lambda w: w.diagonal(-1, 1, 2)],
        "type": [lambda w: on(w, -1).tolist()],
        "rejected": [
            lambda w: w.diagonal(-1, 1, 2).median(-1).values,
            lambda w: w.diagonal(-1, 0, 1).mean(-1),
            lambda w: w.diagonal(-1, 1, 2).mean(0),
            lambda w: w[:, 1, 0],
            lambda w: w[:, -1, -2],
        ],
    },
    "looks-ahead": {
        "last-word-only": [lambda f, x: not torch.allclose(f(x[:-1]), f(x)[:-1], atol=1e-5)],
        "own-place-counted": [lambda f, x: not torch.equal(f(x), f(changed(x, len(x) - 1)))],
        "input": [in_place],
        "rejected": [
            lambda f, x: prefixes(f, x, atol=1e-2),
            lambda f, x: prefixes(f, x, first=2),
            lambda layer, x: moved(layer, x, x.flip(0), slice(None)),
            lambda layer, x: bool((layer(x) @ x.T).triu(1).abs().max() > 1e-5),
            gradients_of_the_sum,
        ],
    },
}
