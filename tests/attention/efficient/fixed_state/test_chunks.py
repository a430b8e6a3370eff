"""Recurrent, in chunks and as a quadratic form it is one function, and that of Qwen3-Next."""

import pytest
import torch

from attention_book.attention import (
    FixedState,
    fixed_state_attention,
    fixed_state_weights,
    unit_length,
)

BATCH, POSITIONS, D_K, D_V = 3, 11, 5, 2
EXACT = {"rtol": 0, "atol": 1e-11}
KINDS = ["sum", "decay", "delta", "gated"]


def draw(positions=POSITIONS, dtype=torch.float64):
    sizes = (D_K, D_K, D_V)
    queries, keys, values = (torch.randn(BATCH, positions, n, dtype=dtype) for n in sizes)
    return unit_length(queries), unit_length(keys), values


def settings_of(kind, positions=POSITIONS, dtype=torch.float64):
    decay, strength = torch.rand(2, BATCH, positions, dtype=dtype)
    given = {"log_decay": -decay} if kind in ("decay", "gated") else {}
    return given | ({"strength": 2 * strength} if kind in ("delta", "gated") else {})


def hidden_some():
    mask = torch.rand(BATCH, 1, POSITIONS) < 0.7
    mask[0, 0, :2] = False
    return mask


def step_by_step(queries, keys, values, mask=None, **settings):
    """Write one position, read one answer."""
    state, outputs = FixedState.empty(keys, values), []
    for i in range(keys.shape[-2]):
        here = slice(i, i + 1)
        seen = None if mask is None else mask[..., here]
        each = {name: numbers[:, here] for name, numbers in settings.items()}
        state = state.write(keys[:, here], values[:, here], seen, **each)
        outputs.append(state.read(queries[:, here]))
    return torch.cat(outputs, dim=1), state


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chunk", [1, 2, 4, POSITIONS, 64])
def test_recurrent_chunked_and_quadratic_are_one_function(kind, chunk):
    qkv, settings = draw(), settings_of(kind)
    for mask in (None, hidden_some()):
        expected, last = step_by_step(*qkv, mask, **settings)
        output, state = fixed_state_attention(*qkv, mask, **settings, chunk=chunk)
        torch.testing.assert_close(output, expected, **EXACT)
        torch.testing.assert_close(state.matrix, last.matrix, **EXACT)
        weights = fixed_state_weights(*qkv[:2], mask, **settings)
        torch.testing.assert_close(weights @ qkv[2], expected, **EXACT)
        if mask is not None:
            assert (weights.masked_select(~mask) == 0).all()
            assert (output[0, :2] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_may_be_cut_anywhere_and_the_state_carried_on(kind):
    qkv, settings = draw(), settings_of(kind)
    whole, last = fixed_state_attention(*qkv, **settings)
    for cut in (1, 4, POSITIONS - 1):
        state, outputs = None, []
        for part in (slice(0, cut), slice(cut, None)):
            each = {name: numbers[:, part] for name, numbers in settings.items()}
            tensors = [tensor[:, part] for tensor in qkv]
            output, state = fixed_state_attention(*tensors, **each, state=state, chunk=3)
            outputs.append(output)
        torch.testing.assert_close(torch.cat(outputs, dim=1), whole, **EXACT)
        torch.testing.assert_close(state.matrix, last.matrix, **EXACT)


def test_a_constant_decay_weighs_by_distance_as_retnet_does():
    queries, keys, _ = draw()
    log_decay = torch.full((BATCH, POSITIONS), 0.9, dtype=torch.float64).log()
    place = torch.arange(POSITIONS)
    powers = (0.9 ** (place[:, None] - place).double()).tril()
    expected = (queries @ keys.mT) * powers
    found = fixed_state_weights(queries, keys, log_decay=log_decay)
    torch.testing.assert_close(found, expected, **EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_long_decays_neither_overflow_nor_give_nan_gradients(kind):
    inputs = [tensor.float().requires_grad_() for tensor in draw()]
    settings = settings_of(kind, dtype=torch.float32)
    if "log_decay" in settings:
        settings["log_decay"] = settings["log_decay"] * 100
    output, _ = fixed_state_attention(*inputs, **settings)
    output.square().sum().backward()
    assert output.isfinite().all()
    assert all(tensor.grad.isfinite().all() for tensor in inputs)


def test_who_sees_nothing_gets_zero_and_finite_gradients():
    inputs = [tensor.requires_grad_() for tensor in draw()]
    mask = torch.ones(BATCH, 1, POSITIONS, dtype=torch.bool)
    mask[1] = False
    output, state = fixed_state_attention(*inputs, mask, **settings_of("gated"))
    assert (output[1] == 0).all()
    assert (state.matrix[1] == 0).all()
    output.square().sum().backward()
    for tensor in inputs:
        assert tensor.grad.isfinite().all()
        assert (tensor.grad[1] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_goes_in_and_comes_out(dtype):
    queries, keys, values = (tensor.to(dtype) for tensor in draw(positions=300))
    settings = {name: x.to(dtype) for name, x in settings_of("gated", 300).items()}
    output, _ = fixed_state_attention(queries, keys, values, **settings)
    exact, _ = fixed_state_attention(
        *(tensor.double() for tensor in (queries, keys, values)),
        **{name: x.double() for name, x in settings.items()},
    )
    assert output.dtype == dtype
    torch.testing.assert_close(output.double(), exact, rtol=1e-2, atol=1e-2)


def test_nothing_is_read_back_from_the_device(reads_of):
    qkv, settings = draw(), settings_of("gated")
    assert reads_of(lambda: fixed_state_attention(*qkv, **settings, chunk=4)) == 0


def test_unit_length_is_length_one_and_finite_at_zero():
    x = torch.randn(4, 7, D_K, dtype=torch.float64)
    torch.testing.assert_close(
        unit_length(x).norm(dim=-1), torch.ones(4, 7).double(), atol=1e-4, rtol=0
    )
    zero = torch.zeros(1, D_K, requires_grad=True)
    unit_length(zero).sum().backward()
    assert zero.grad.isfinite().all()


@pytest.mark.usefixtures("unchecked")
def test_bad_input_gets_one_clear_error():
    queries, keys, values = draw()
    full = torch.ones(POSITIONS, POSITIONS, dtype=torch.bool)
    for arguments, settings, error, message in [
        ((queries[:, :4], keys, values), {}, ValueError, "got 4 queries and 11 keys"),
        ((queries, keys, values, full), {}, ValueError, r"mask: .* got \(11, 11\)"),
        ((queries, keys, values), {"chunk": 0}, ValueError, "chunk: expected"),
        ((queries, keys, values), {"strength": values}, ValueError, "strength: expected one"),
    ]:
        with pytest.raises(error, match=message):
            fixed_state_attention(*arguments, **settings)


# --- the library's functions ------------------------------------------------------------------


@pytest.fixture(scope="module")
def qwen():
    module = pytest.importorskip("transformers.models.qwen3_next.modeling_qwen3_next")
    if not hasattr(module, "torch_chunk_gated_delta_rule"):
        pytest.skip("another version of transformers")
    return module


def as_theirs(x):
    """Their axes: (batch, position, head, feature)."""
    return x.transpose(1, 2)


@pytest.mark.parametrize(
    "name", ["torch_recurrent_gated_delta_rule", "torch_chunk_gated_delta_rule"]
)
@pytest.mark.parametrize("normalize", [True, False])
def test_the_gated_delta_rule_is_that_of_qwen3_next(qwen, name, normalize):
    """They scale queries by d^-1/2 and compute in single precision whatever comes in."""
    heads, positions, d_k, d_v = 3, 130, 8, 6
    queries, keys = torch.randn(2, 2, heads, positions, d_k)
    values, before = torch.randn(2, heads, positions, d_v), torch.randn(2, heads, d_k, d_v)
    log_decay, strength = -torch.rand(2, heads, positions), torch.rand(2, heads, positions)
    if not normalize:  # then they must not be longer than 1, or the state explodes
        queries, keys = 0.9 * unit_length(queries), 0.9 * unit_length(keys)
    theirs, last = getattr(qwen, name)(
        *(as_theirs(each) for each in (queries, keys, values, log_decay, strength)),
        initial_state=before,
        output_final_state=True,
        use_qk_l2norm_in_kernel=normalize,
    )
    if normalize:
        queries, keys = unit_length(queries), unit_length(keys)
    for dtype in (torch.float32, torch.float64):
        ours, state = fixed_state_attention(
            *(each.to(dtype) for each in (queries * d_k**-0.5, keys, values)),
            log_decay=log_decay.to(dtype),
            strength=strength.to(dtype),
            state=FixedState(before.to(dtype)),
        )
        limit = 1e-5 * theirs.abs().max().item()
        torch.testing.assert_close(ours, as_theirs(theirs).to(dtype), rtol=0, atol=limit)
        limit = 1e-5 * last.abs().max().item()
        torch.testing.assert_close(state.matrix, last.to(dtype), rtol=0, atol=limit)
