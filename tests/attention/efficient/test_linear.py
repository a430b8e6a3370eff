"""Linear attention: in parallel, causal and step by step it is one function."""

import math

import pytest
import torch

from attention_book.attention import (
    LinearState,
    causal_mask,
    elu_features,
    linear_attention,
    linear_attention_weights,
    masked_softmax,
)
from attention_book.foundations import strict

BATCH, QUERIES, KEYS, D_K, D_V = 3, 7, 11, 5, 2
EXACT = {"rtol": 0, "atol": 1e-12}


def draw(queries=QUERIES):
    return tuple(
        torch.randn(BATCH, *size, dtype=torch.float64)
        for size in ((queries, D_K), (KEYS, D_K), (KEYS, D_V))
    )


def formula(queries, keys, values, seen):
    """Katharopoulos et al. (2020), equation 4, one query and one key at a time."""

    def phi(x):
        return [number + 1 if number > 0 else math.exp(number) for number in x.tolist()]

    output = torch.zeros(len(queries), values.shape[-1], dtype=values.dtype)
    for i, query in enumerate(queries):
        similarity = [
            sum(a * b for a, b in zip(phi(query), phi(key), strict=True)) * bool(seen[i, j])
            for j, key in enumerate(keys)
        ]
        if any(similarity):
            parts = (s * value for s, value in zip(similarity, values, strict=True))
            output[i] = sum(parts) / sum(similarity)
    return output


@pytest.mark.parametrize("chunk", [1, 2, 4, KEYS, 64])
def test_causal_in_chunks_equals_the_formula_and_the_recurrence(chunk):
    inputs = draw(queries=KEYS)
    mask = torch.rand(BATCH, 1, KEYS) < 0.7
    mask[0, 0, :2] = False  # the first queries of the first example see nothing
    output = linear_attention(*inputs, mask, is_causal=True, chunk=chunk)
    for example in range(BATCH):
        seen = mask[example] & causal_mask(KEYS)
        expected = formula(*(tensor[example] for tensor in inputs), seen)
        torch.testing.assert_close(output[example], expected, **EXACT)
    assert (output[0, :2] == 0).all()
    state = LinearState.empty(*inputs[1:])
    for step, (query, key, value) in enumerate(
        zip(*(x.split(1, dim=1) for x in inputs), strict=True)
    ):
        state = state.add(key, value, mask[:, :, step : step + 1])
        torch.testing.assert_close(state.read(query)[:, 0], output[:, step], **EXACT)


def test_who_sees_nothing_gets_zero_and_finite_gradients():
    inputs = [tensor.requires_grad_() for tensor in draw()]
    mask = torch.ones(BATCH, 1, KEYS, dtype=torch.bool)
    mask[1] = False
    output = linear_attention(*inputs, mask)
    assert (output[1] == 0).all()
    assert (output[0] != 0).all()
    assert (linear_attention_weights(*inputs[:2], mask)[1] == 0).all()
    output.square().sum().backward()
    for tensor in inputs:
        assert tensor.grad.isfinite().all()
        assert (tensor.grad[1] == 0).all()
    assert (LinearState.empty(*inputs[1:]).read(inputs[0]) == 0).all()


def test_the_features_are_those_of_the_paper():
    x = torch.linspace(-5, 5, 41, dtype=torch.float64)[:, None]
    torch.testing.assert_close(elu_features(x), torch.where(x > 0, x + 1, x.exp()))


@pytest.mark.usefixtures("unchecked")
def test_bad_input_gets_one_clear_error():
    queries, keys, values = draw()
    full = torch.ones(QUERIES, KEYS, dtype=torch.bool)
    for arguments, settings, error, message in [
        ((queries, keys, values, full), {}, ValueError, r"\(3, 1, 11\), got \(7, 11\)"),
        ((queries, keys, values), {"is_causal": True}, ValueError, "got 11 keys and 7 queries"),
        ((keys, keys, values), {"is_causal": True, "chunk": 0}, ValueError, "chunk: expected"),
    ]:
        with pytest.raises(error, match=message):
            linear_attention(*arguments, **settings)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_carries_a_long_sum(dtype, is_causal):
    length = 5_000
    x = torch.full((length, D_K), 3.0, dtype=dtype)
    values = torch.linspace(0, 1, length, dtype=torch.float64).unsqueeze(1).to(dtype)
    output = linear_attention(x, x, values, is_causal=is_causal)
    expected = linear_attention(x.double(), x.double(), values.double(), is_causal=is_causal)
    assert output.dtype == dtype
    torch.testing.assert_close(output.double(), expected, rtol=1e-2, atol=1e-3)
    weights = linear_attention_weights(x[:1], x)
    torch.testing.assert_close(weights.double().sum(), torch.ones(()).double(), rtol=1e-2, atol=0)


def test_a_state_refuses_a_mask_with_a_row_for_each_query():
    keys, values = torch.rand(5, 4), torch.rand(5, 3)
    state = LinearState.empty(keys, values)
    with pytest.raises(ValueError, match=r"mask: .* got \(4, 5\)"):
        state.add(keys, values, torch.ones(4, 5, dtype=torch.bool))


def test_features_stay_positive_far_below_zero():
    x = torch.tensor([[-80.0, -20.0, -1.0]])
    torch.testing.assert_close(elu_features(x), x.exp(), rtol=1e-6, atol=0)
    assert (elu_features(x) > 0).all()


# Features are exponentials, and their products and sums underflow or overflow long before the
# quotient is anything unusual: a query that sees keys must never come out as one that sees none.

EXTREMES = {
    "tiny": lambda *shape: torch.full(shape, -60.0),
    "tinier than any feature": lambda *shape: torch.full(shape, -200.0),
    "far below": lambda *shape: torch.full(shape, -1e4),
    "large": lambda *shape: torch.full(shape, 1e4),
    "beyond the square root": lambda *shape: torch.full(shape, 1e30),
    "mixed": lambda *shape: 100 * torch.randn(*shape),
    "rising": lambda *shape: torch.linspace(-300, 20, shape[-2])[:, None].expand(shape),
    "falling": lambda *shape: torch.linspace(20, -300, shape[-2])[:, None].expand(shape),
}


def by_logarithms(queries, keys, mask):
    """The weights, from the logarithm of every product."""
    asked, mapped = (
        torch.where(x > 0, (x.clamp(min=0) + 1).log(), x) for x in (queries.double(), keys.double())
    )
    products = torch.logsumexp(asked[..., :, None, :] + mapped[..., None, :, :], dim=-1)
    return masked_softmax(products, mask)


@pytest.mark.parametrize("kind", EXTREMES)
@pytest.mark.parametrize("narrow", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_what_underflows_still_has_its_weights(kind, narrow):
    length = 9
    shape = 2, length, 4
    if kind == "beyond the square root" and narrow == torch.float16:
        return  # no such number
    queries, keys = (EXTREMES[kind](*shape).to(narrow).requires_grad_() for _ in range(2))
    values, seen = torch.randn(2, length, 3).to(narrow), torch.rand(2, 1, length) > 0.3
    bound = 4 * torch.finfo(narrow).eps if narrow.itemsize == 2 else 1e-5
    past = torch.ones(length, length, dtype=torch.bool).tril()
    for mask in (None, seen):
        everywhere = torch.ones(2, length, length, dtype=torch.bool) if mask is None else mask
        for causal, chunk in ((False, 64), (True, 1), (True, 4), (True, 64)):
            found = linear_attention(queries, keys, values, mask, is_causal=causal, chunk=chunk)
            weights = by_logarithms(queries, keys, everywhere & past if causal else everywhere)
            expected = weights @ values.double()
            torch.testing.assert_close(found.double(), expected, rtol=bound, atol=bound)
            found.float().square().sum().backward()
        weights = linear_attention_weights(queries, keys, mask)
        expected = by_logarithms(queries, keys, everywhere)
        torch.testing.assert_close(weights.double(), expected, rtol=bound, atol=bound)
    assert queries.grad.isfinite().all()
    assert keys.grad.isfinite().all()


@pytest.mark.parametrize("narrow", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_the_least_numbers_of_half_precision_have_their_weights(narrow):
    keys = torch.tensor([[-65504.0], [-65503.0], [-65472.0]]).to(narrow)
    values = torch.tensor([[1.0], [2.0], [4.0]]).to(narrow)
    for query in (keys[:1], torch.ones_like(keys[:1])):
        expected = by_logarithms(query, keys, None) @ values.double()
        wide = [
            each.to(torch.promote_types(narrow, torch.float32)) for each in (query, keys, values)
        ]
        for found in (
            linear_attention(query, keys, values),
            LinearState.empty(*wide[1:]).add(*wide[1:]).read(wide[0]),
        ):
            torch.testing.assert_close(found.double(), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("number", [-1e5, -1e10, -1e30, torch.finfo(torch.float32).min])
def test_numbers_too_low_to_tell_apart_count_as_the_least_or_are_refused(number, unchecked):
    low, ordinary = torch.full((3, 2), number), torch.randn(3, 2)
    values = torch.ones(3, 1)
    for queries, keys in ((low, low), (low, ordinary), (ordinary, low)):
        calls = (
            lambda q=queries, k=keys: linear_attention(q, k, values),
            lambda q=queries, k=keys: linear_attention(q, k, values, is_causal=True),
            lambda q=queries, k=keys: linear_attention_weights(q, k) @ values,
            lambda q=queries, k=keys: LinearState.empty(k, values).add(k, values).read(q),
        )
        for call in calls:
            with strict(False):
                torch.testing.assert_close(call(), values)
            with strict(), pytest.raises(ValueError, match="no finite number below -65536"):
                call()


def test_a_state_forgets_nothing_of_a_tiny_beginning():
    """One key after the other, in either order of sizes, and asked in between."""
    keys = torch.tensor([[-200.0, -200.0], [-60.0, -90.0], [0.5, -300.0]])
    values, query = torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([[-100.0, 2.0]])
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        state = LinearState.empty(keys, values)
        for so_far in range(1, 4):
            here = order[so_far - 1 : so_far]
            state = state.add(keys[here], values[here])
            weights = by_logarithms(query, keys[order[:so_far]], None)
            expected = weights @ values[order[:so_far]].double()
            torch.testing.assert_close(state.read(query).double(), expected, rtol=1e-5, atol=1e-5)


def test_ordinary_features_are_kept_as_they_are():
    keys, values = torch.randn(7, 4), torch.randn(7, 3)
    state = LinearState.empty(keys, values).add(keys, values)
    mapped = elu_features(keys)
    assert torch.equal(state.matrix, mapped.T @ values)
    assert torch.equal(state.total, mapped.sum(dim=0))
    assert state.power is not None
    assert not state.power.any()
