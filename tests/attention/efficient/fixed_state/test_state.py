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


@pytest.mark.parametrize("decays", [False, True])
@pytest.mark.parametrize("corrects", [False, True])
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


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0, 1.7, 2.0])
def test_a_write_has_the_eigenvalue_one_minus_its_strength_and_else_ones(beta):
    key = torch.nn.functional.normalize(torch.randn(1, 5, dtype=torch.float64), dim=-1)
    nothing, strength = torch.zeros(1, 5, dtype=torch.float64), torch.full((1,), beta).double()
    # Written into the unit matrix, a value of 0 leaves what a write does to any state.
    found = FixedState(torch.eye(5, dtype=torch.float64)).write(key, nothing, strength=strength)
    values = torch.linalg.eigvalsh(found.matrix).sort(descending=True).values
    torch.testing.assert_close(values, torch.tensor([1.0, 1, 1, 1, 1 - strength.item()]).double())


def test_strengths_of_two_keep_the_parity_of_a_thousand_bits_exactly():
    bits = torch.randint(2, (1000,))
    one = torch.ones(1, 1)
    state = FixedState(one)
    for bit, odd in zip(bits, bits.cumsum(0) % 2, strict=True):
        state = state.write(one, torch.zeros(1, 1), strength=2.0 * bit[None])
        assert state.read(one).item() == 1 - 2 * odd


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
