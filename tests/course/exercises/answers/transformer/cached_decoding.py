"""Answers to the exercises on cached decoding."""

import torch
from torch.nn import functional as F


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


def decode(x, training, *, diagonal=lambda training: 0):
    seen = torch.ones(x.shape[-2], x.shape[-2]).tril(diagonal(training)).bool()
    return F.scaled_dot_product_attention(x, x, x, attn_mask=seen)


def twice_scaled(x, keys, values, W_q, W_k, W_v):
    keys, values = torch.cat((keys, x @ W_k)), torch.cat((values, x @ W_v))
    return look(x @ W_q / x.shape[1] ** 0.5, keys, values), keys, values


def unscaled(x, keys, values, W_q, W_k, W_v):
    keys, values = torch.cat((keys, x @ W_k)), torch.cat((values, x @ W_v))
    return (x @ W_q @ keys.T).softmax(-1) @ values, keys, values


def transposed(x, keys, values, W_q, W_k, W_v):
    return step(x, keys, values, W_q.T, W_k.T, W_v.T)


def swapped_weights(x, keys, values, W_q, W_k, W_v):
    return step(x, keys, values, W_k, W_q, W_v)


def keys_for_values(x, keys, values, W_q, W_k, W_v):
    return step(x, keys, values, W_q, W_k, W_k)


def over_the_query(x, keys, values, W_q, W_k, W_v):
    keys, values = torch.cat((keys, x @ W_k)), torch.cat((values, x @ W_v))
    return (x @ W_q @ keys.T / x.shape[1] ** 0.5).softmax(0) @ values, keys, values


def raw_query(x, keys, values, W_q, W_k, W_v):
    keys, values = torch.cat((keys, x @ W_k)), torch.cat((values, x @ W_v))
    return look(x, keys, values), keys, values


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


def bare(x, keys, values, W_q, W_k, W_v):
    keys, values = torch.cat((keys, x @ W_k)), torch.cat((values, x @ W_v))
    likeness = (x @ W_q @ keys.T / x.shape[1] ** 0.5).exp()
    return likeness @ values / likeness.sum(-1, keepdim=True), keys, values


def causal(x, training):
    n = x.shape[-2]
    scores = x @ x.mT / x.shape[-1] ** 0.5
    return scores.masked_fill(torch.ones(n, n).triu(1) > 0, -torch.inf).softmax(-1) @ x


def weights_kept(x, training):
    n = x.shape[-2]
    return (x @ x.mT / x.shape[-1] ** 0.5).softmax(-1).tril() @ x if n else x


def scaled_by(power):
    def decode(x, training):
        seen = torch.ones(x.shape[-2], x.shape[-2]).tril() > 0
        scores = x @ x.mT * x.shape[-1] ** power
        return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ x

    return decode


def modes(diagonal):
    return lambda x, training: decode(x, training, diagonal=diagonal)


RIGHT = {
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
    "causal-in-both-modes": [
        lambda x, training: decode(x, training),
        causal,
        lambda x, training: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    ],
}

WRONG = {
    "cached-step": [
        (inputs, "keeps-inputs"),
        (lambda *given: (step(*given)[0], given[1], given[2]), "newest-not-kept"),
        (
            lambda *given: (step(*given)[0], given[0] @ given[4], given[0] @ given[5]),
            "past-dropped",
        ),
        (
            lambda x, k, v, *W: (
                look(x @ W[0], k, v) if len(k) else 0 * x,
                *step(x, k, v, *W)[1:],
            ),
            "newest-not-seen",
        ),
        (lambda *given: tuple(each.roll(1, 0) for each in step(*given)), "newest-first"),
        (unscaled, "not-scaled"),
        (twice_scaled, "rejected"),
        (transposed, "weights-transposed"),
        (swapped_weights, "rejected"),
        (keys_for_values, "rejected"),
        (over_the_query, "over-the-query"),
        (raw_query, "query-not-projected"),
        (bare, "bare-exponentials"),
        (lambda *given: step(*given)[0], "type"),
        (lambda *given: (step(*given)[0], step(*given)[2], step(*given)[1]), "rejected"),
        (lambda *given: (step(*given)[0][0], *step(*given)[1:]), "shape"),
        (lambda x, k, v, *W: step(x, k[-1:], v[-1:], *W), "rejected"),
        (
            lambda x, k, v, *W: step(x, torch.cat((k, x @ W[1])), torch.cat((v, x @ W[2])), *W),
            "appended-twice",
        ),
        (fails_at_first, "rejected"),
        (own_cache, "state"),
    ],
    "causal-in-both-modes": [
        (modes(lambda training: 0 if training else 9), "in-training-only"),
        (modes(lambda training: 9 if training else 0), "in-evaluation-only"),
        (modes(lambda training: 1), "off-by-one"),
        (modes(lambda training: -1), "off-by-one"),
        (modes(lambda training: 1), "future-is-hidden"),
        (modes(lambda training: 9), "no-mask"),
        (weights_kept, "masked-afterwards"),
        (scaled_by(0), "not-scaled"),
        (scaled_by(-1), "divided-by-d"),
        (scaled_by(0.5), "rejected"),
        (lambda x, training: decode(x.flip(-2), training).flip(-2), "upside-down"),
        (lambda x, training: F.dropout(decode(x, training), 0.1, training), "rejected"),
        (lambda x, training: decode(x, training)[..., -1:, :], "rejected"),
        (lambda x, training: decode(x, training) if training else x, "rejected"),
        (lambda x, training: decode(x, training) if x.ndim == 2 else x, "rejected"),
        (lambda x, training: x.cumsum(-2) / torch.arange(1, x.shape[-2] + 1)[:, None], "rejected"),
        (lambda x, training: decode(x, training) + x, "rejected"),
        (
            lambda x, training: F.scaled_dot_product_attention(x, x, x, is_causal=training),
            "in-training-only",
        ),
    ],
}
