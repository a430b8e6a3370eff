"""A step of the delta rule, and a sum in chunks: other people's answers, written here."""

import pytest
import torch

from attention_book.course.exercises import check


def step(state, key, value, strength, *, sign=-1, fade=1.0, keep=1.0, both=True):
    known = torch.einsum("k,kv->v", key, state)
    scale = strength if both else 1.0
    change = torch.einsum("k,v->kv", key, strength * value + sign * scale * known)
    return keep * fade * state + change


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda s, k, v, b: step(s, k, v, b, sign=0), "added"),
        (lambda s, k, v, b: step(s, k, v, b, sign=1), "wrong-sign"),
        (lambda s, k, v, b: step(s, k, v, b, both=False), "strength-once"),
        (lambda s, k, v, b: step(s, k, v, b, sign=0, fade=1 - b), "all-faded"),
        (lambda s, k, v, b: step(s, k, v, b, keep=0), "only-written"),
    ],
)
def test_a_wrong_step_is_recognized(answer, mistake):
    assert check("delta-step", step)
    verdict = check("delta-step", answer)
    assert not verdict
    assert verdict.mistake == mistake


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


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (all_at_once, "sees-all"),
        (lambda *a: chunk(*a, own=False), "not-itself"),
        (lambda *a: chunk(*a, past=False), "without-past"),
        (lambda s, q, k, v: (chunk(s, q, k, v)[0] + q @ k.T @ v, s + k.T @ v), "counted-twice"),
        (lambda *a: chunk(*a, before=False), "new-state"),
    ],
)
def test_a_wrong_chunk_is_recognized(answer, mistake):
    assert check("chunked-sum", chunk)
    verdict = check("chunked-sum", answer)
    assert not verdict
    assert verdict.mistake == mistake
