"""The recurrent form: what the four mechanisms remember, from the formulas and by hand."""

import pytest
import torch

from attention_book.attention import FixedState, unit_length

BATCH, KEYS, D_K, D_V = 3, 11, 5, 2
EXACT = {"rtol": 0, "atol": 1e-12}


def draw(dtype=torch.float64):
    keys = unit_length(torch.randn(BATCH, KEYS, D_K, dtype=dtype))
    values = torch.randn(BATCH, KEYS, D_V, dtype=dtype)
    decay = -torch.rand(BATCH, KEYS, dtype=dtype)
    return keys, values, decay, torch.rand(BATCH, KEYS, dtype=dtype)


def cases():
    return [(False, False), (True, False), (False, True), (True, True)]


@pytest.mark.parametrize(("decays", "corrects"), cases())
def test_each_mechanism_is_its_formula(decays, corrects):
    """S_j = a_j (I - b_j k_j k_j^T) S_(j-1) + b_j k_j v_j^T; without a strength, no bracket."""
    keys, values, log_decay, strength = draw()
    state = FixedState.empty(keys, values).write(
        keys,
        values,
        log_decay=log_decay if decays else None,
        strength=strength if corrects else None,
    )
    for example in range(BATCH):
        matrix = torch.zeros(D_K, D_V, dtype=torch.float64)
        for k, v, g, b in zip(
            keys[example], values[example], log_decay[example], strength[example], strict=True
        ):
            kept = torch.eye(D_K).double() - (b if corrects else 0) * torch.outer(k, k)
            matrix = (g.exp() if decays else 1) * (kept @ matrix)
            matrix = matrix + (b if corrects else 1) * torch.outer(k, v)
        torch.testing.assert_close(state.matrix[example], matrix, **EXACT)


def test_orthogonal_keys_are_read_back_and_the_delta_rule_overwrites():
    keys = torch.eye(D_K, dtype=torch.float64)
    first, second = torch.randn(2, D_K, D_V, dtype=torch.float64)
    ones = torch.ones(D_K, dtype=torch.float64)
    for strength in (None, ones):
        state = FixedState.empty(keys, first).write(keys, first, strength=strength)
        torch.testing.assert_close(state.read(keys), first, **EXACT)
        again = state.write(keys, second, strength=strength)
        expected = first + second if strength is None else second
        torch.testing.assert_close(again.read(keys), expected, **EXACT)


def test_what_was_written_last_is_read_exactly_whatever_was_there_before():
    keys, values, decay, _ = draw()
    keys = keys / keys.norm(dim=-1, keepdim=True)
    state = FixedState.empty(keys, values).write(
        keys, values, log_decay=decay, strength=torch.ones_like(decay)
    )
    torch.testing.assert_close(state.read(keys)[:, -1], values[:, -1], **EXACT)


def test_a_strength_of_zero_writes_nothing_and_a_decay_of_zero_forgets_nothing():
    keys, values, _, strength = draw()
    before = FixedState.empty(keys, values).write(keys, values, strength=strength)
    after = before.write(-keys, 3 * values, strength=torch.zeros_like(strength))
    assert torch.equal(after.matrix, before.matrix)
    decayed = before.write(keys, values, log_decay=torch.zeros_like(strength))
    torch.testing.assert_close(decayed.matrix, before.write(keys, values).matrix, **EXACT)


def test_order_is_nothing_to_a_sum_and_something_to_the_others():
    keys, values, decay, strength = draw()
    order = torch.arange(KEYS - 1, -1, -1)
    for settings, same in [
        ({}, True),
        ({"log_decay": decay[:, :1].expand(-1, KEYS)}, False),
        ({"strength": strength[:, :1].expand(-1, KEYS)}, False),
    ]:
        there = FixedState.empty(keys, values).write(keys, values, **settings)
        back = FixedState.empty(keys, values).write(keys[:, order], values[:, order], **settings)
        assert torch.allclose(there.matrix, back.matrix, atol=1e-12) is same


def test_hidden_positions_neither_write_nor_forget_and_may_hold_anything():
    keys, values, decay, strength = draw()
    mask = torch.rand(1, 1, KEYS) < 0.6
    seen = mask[0, 0]
    broken = keys.masked_fill(~mask.mT, torch.nan), values.masked_fill(~mask.mT, torch.inf)
    empty = FixedState.empty(keys, values)
    found = empty.write(*broken, mask.expand(BATCH, -1, -1), log_decay=decay, strength=strength)
    expected = empty.write(
        keys[:, seen], values[:, seen], log_decay=decay[:, seen], strength=strength[:, seen]
    )
    torch.testing.assert_close(found.matrix, expected.matrix, **EXACT)


def test_an_empty_state_answers_with_zero():
    keys, values, *_ = draw()
    state = FixedState.empty(keys, values)
    assert state.matrix.shape == (BATCH, D_K, D_V)
    assert torch.equal(state.read(keys), torch.zeros(BATCH, KEYS, D_V, dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_kept_in_a_state_of_single(dtype):
    keys, values = torch.ones(5000, 1, dtype=dtype), torch.ones(5000, 1, dtype=dtype)
    state = FixedState.empty(keys, values).write(keys, values)
    assert state.matrix.dtype == torch.float32
    assert state.matrix.item() == 5000
    assert state.read(keys[:1]).dtype == dtype


@pytest.mark.usefixtures("unchecked")
def test_bad_input_gets_one_clear_error():
    keys, values, decay, _ = draw()
    state = FixedState.empty(keys, values)
    full = torch.ones(KEYS, KEYS, dtype=torch.bool)
    for arguments, settings, error, message in [
        ((keys, values[:, :4]), {}, ValueError, "values: expected one value"),
        ((keys, values, full), {}, ValueError, r"mask: .* got \(11, 11\)"),
        ((keys, values, full.float()), {}, TypeError, "mask: expected a boolean"),
        ((keys, values), {"log_decay": decay[:, :4]}, ValueError, r"log_decay: .*\(3, 11\), got"),
        ((keys, values), {"strength": decay[..., None]}, ValueError, r"strength: .*\(3, 11, 1\)"),
    ]:
        with pytest.raises(error, match=message):
            state.write(*arguments, **settings)
