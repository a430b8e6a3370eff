"""Answers to the exercises on states of fixed size."""

import torch
from torch.nn import functional as F


def step(state, key, value, strength, *, sign=-1, fade=1.0, keep=1.0, both=True):
    known = torch.einsum("k,kv->v", key, state)
    scale = strength if both else 1.0
    change = torch.einsum("k,v->kv", key, strength * value + sign * scale * known)
    return keep * fade * state + change


def by_a_matrix(state, key, value, strength):
    eye = torch.eye(len(key))
    erased = (eye - strength * torch.outer(key, key)) @ state
    return erased + strength * torch.outer(key, value)


def written_into(state, key, value, strength):
    state += strength * torch.outer(key, value - key @ state)
    return state


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


def softened(state, queries, keys, values):
    later = torch.ones(len(queries), len(keys)).triu(1).bool()
    scores = (queries @ keys.T).masked_fill(later, -torch.inf)
    return queries @ state + scores.softmax(-1) @ values, state + keys.T @ values


def grown(state, queries, keys, values):
    outputs = queries @ state + within(queries, keys) @ values
    state += keys.T @ values
    return outputs, state


RIGHT = {
    "delta-step": [
        step,
        by_a_matrix,
        lambda s, k, v, b: s - b * k[:, None] * (k @ s - v)[None],
    ],
    "chunked-sum": [chunk, summed, lambda *a: list(chunk(*a))],
}

WRONG = {
    "delta-step": [
        (lambda s, k, v, b: step(s, k, v, b, sign=0), "added"),
        (lambda s, k, v, b: step(s, k, v, b, sign=1), "wrong-sign"),
        (lambda s, k, v, b: step(s, k, v, b, both=False), "strength-once"),
        (lambda s, k, v, b: step(s, k, v, b, sign=0, fade=1 - b), "all-faded"),
        (lambda s, k, v, b: step(s, k, v, b, keep=0), "only-written"),
        (lambda s, k, v, b: step(s, k, v, 1.0), "strength-ignored"),
        (lambda s, k, v, b: step(s, k, v, b or 1.0), "rejected"),
        (lambda s, k, v, b: step(s, F.normalize(k, dim=0), v, b), "key-made-unit"),
        (lambda s, k, v, b: step(s, k, v, b / (k @ k).clamp(min=1e-9)), "rejected"),
        (lambda s, k, v, b: s + b * torch.outer(k, v - k @ s / (k @ k)), "rejected"),
        (lambda s, k, v, b: s + b * k[:, None] * (v - s), "row-by-row"),
        (lambda s, k, v, b: s + b * torch.outer(v, k).T - b * s, "all-faded"),
        (lambda s, k, v, b: s - torch.outer(k, k @ s) + b * torch.outer(k, v), "strength-once"),
        (lambda s, k, v, b: s - b * torch.outer(k, v - k @ s), "moved-away"),
        (lambda s, k, v, b: s + b * torch.outer(k, v) - b * torch.outer(k, v - k @ s), "rejected"),
        (lambda s, k, v, b: step(s, k, v, b).T, "rejected"),
        (lambda s, k, v, b: s + b * torch.outer(v - k @ s, k), "rejected"),
        (written_into, "input"),
        (lambda s, k, v, b: b * torch.outer(k, v), "rejected"),
        (lambda s, k, v, b: step(s, k, v, b**2), "rejected"),
    ],
    "chunked-sum": [
        (all_at_once, "sees-all"),
        (lambda *a: chunk(*a, own=False), "not-itself"),
        (lambda *a: chunk(*a, past=False), "without-past"),
        (lambda s, q, k, v: (chunk(s, q, k, v)[0] + q @ k.T @ v, s + k.T @ v), "counted-twice"),
        (lambda *a: chunk(*a, before=False), "new-state"),
        (lambda s, q, k, v: (q @ s, s + k.T @ v), "past-alone"),
        (lambda s, q, k, v: (chunk(s, q, k, v)[0], s), "state-not-updated"),
        (lambda s, q, k, v: chunk(s, q, k, v)[::-1], "other-order"),
        (lambda s, q, k, v: chunk(s, q, k, v)[0], "type"),
        (lambda s, q, k, v: (q @ s + within(q, k, scale=0.5) @ v, s + k.T @ v), "scaled"),
        (lambda s, q, k, v: ((q @ s + within(q, k) @ v) / 2, s + k.T @ v), "scaled"),
        (softened, "softmax"),
        (lambda s, q, k, v: (q @ s + (q @ k.T).triu() @ v, s + k.T @ v), "sees-the-future"),
        (lambda s, q, k, v: (q @ s + (k @ q.T).tril() @ v, s + k.T @ v), "rejected"),
        (lambda s, q, k, v: (chunk(s, q, k, v)[0], s + k.T @ v / len(k)), "rejected"),
        (lambda s, q, k, v: (chunk(s, q, k, v)[0], s + torch.outer(k[-1], v[-1])), "rejected"),
        (lambda s, q, k, v: (chunk(s, q, k, v)[0], s - k.T @ v), "rejected"),
        (lambda s, q, k, v: (chunk(s, k, q, v)[0], s + k.T @ v), "rejected"),
        (grown, "input"),
    ],
}
