"""Attention by location: places, not contents."""

import pytest
import torch

from attention_book.attention import LocationAttention, mask_from_lengths

SIZES = {"d_q": 3, "d_k": 5, "num_keys": 7, "d_v": 11, "d_out": 13}


@pytest.fixture
def attention():
    return LocationAttention(**SIZES).double()


def draw(*batch):
    sizes = ((1, 3), (1, 5), (7, 11))
    return tuple(torch.randn(*batch, *size, dtype=torch.float64) for size in sizes)


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_equals_the_two_linear_maps(attention, batch):
    queries, state, values = draw(*batch)
    joined = torch.cat((queries, state), -1)
    weights = (joined @ attention.score.weight.T + attention.score.bias).softmax(-1)
    pooled = torch.cat((queries, weights @ values), -1)
    expected = pooled @ attention.combine.weight.T + attention.combine.bias
    torch.testing.assert_close(attention.weights(queries, state), weights)
    torch.testing.assert_close(attention(queries, state, values), expected)
    assert expected.shape == (*batch, 1, 13)


def test_hidden_places_move_nothing(attention):
    queries, state, values = draw(2)
    mask = mask_from_lengths(torch.tensor([4, 0]), 7)
    before = attention(queries, state, values, mask)
    values[0, 4:] += 100
    values[1] += 100
    assert torch.equal(attention(queries, state, values, mask), before)
    weights = attention.weights(queries, state, mask)
    assert torch.all(weights[1] == 0)
    torch.testing.assert_close(weights[0].sum(-1), torch.ones(1).double())


def test_each_example_has_so_many_values_of_its_own(attention, unchecked):
    for n, d_v in ((6, 11), (8, 11), (7, 10)):
        message = rf"num_keys=7 values of size d_v=11, .* got the shape \({n}, {d_v}\)"
        with pytest.raises(ValueError, match=message):
            attention(*draw()[:2], torch.rand(n, d_v).double())
    for shape in ((7, 11), (3, 7, 11), (1, 7, 11)):
        with pytest.raises(ValueError, match=r"values: expected .* the shape \(2, 7, 11\), got"):
            attention(*draw(2)[:2], torch.rand(shape).double())


@pytest.mark.usefixtures("unchecked")
def test_sizes_are_checked(attention):
    queries, state, values = draw(2)
    with pytest.raises(
        ValueError, match=r"queries: expected the feature size 3, got .*\(2, 1, 4\)"
    ):
        attention(torch.rand(2, 1, 4).double(), state, values)
    with pytest.raises(ValueError, match=r"state: expected the feature size 5, got .*\(2, 1, 6\)"):
        attention(queries, torch.rand(2, 1, 6).double(), values)
    with pytest.raises(ValueError, match=r"one state for each query, .*\(2, 1, 3\).*\(2, 2, 5\)"):
        attention(queries, torch.rand(2, 2, 5).double(), values)
    with pytest.raises(ValueError, match=r"one state for each query, .*\(2, 1, 3\).*\(1, 5\)"):
        attention(queries, state[0], values)
    with pytest.raises(ValueError, match=r"queries and state: .* got the shapes \(3,\) and \(5,\)"):
        attention(queries[0, 0], state[0, 0], values[0])
    with pytest.raises(TypeError, match=r"queries and state: .* got torch.int64 and torch.float64"):
        attention(queries.long(), state, values)
    with pytest.raises(ValueError, match="d_out: expected at least 1, got 0"):
        LocationAttention(**{**SIZES, "d_out": 0})
