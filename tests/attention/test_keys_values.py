"""Projected keys and values: they grow, rows are selected, and nothing changes in place."""

import pytest
import torch

from attention_book.attention import KeysValues

BATCH, HEADS, D_K, D_V = 2, 3, 5, 7


def draw(num_keys, batch=BATCH, heads=HEADS, d_k=D_K, d_v=D_V):
    return KeysValues(
        torch.randn(batch, heads, num_keys, d_k), torch.randn(batch, heads, num_keys, d_v)
    )


def test_the_sizes_are_those_of_the_keys():
    pairs = draw(11)
    assert (pairs.batch_size, pairs.num_heads, pairs.num_keys) == (BATCH, HEADS, 11)


def test_what_is_appended_comes_last_and_both_are_left_alone():
    first, second = draw(11), draw(13)
    kept = first.keys.clone()
    both = first.append(second)
    assert both.num_keys == 24
    for name in ("keys", "values"):
        assert torch.equal(getattr(both, name)[:, :, :11], getattr(first, name))
        assert torch.equal(getattr(both, name)[:, :, 11:], getattr(second, name))
    both.keys.zero_()
    assert torch.equal(first.keys, kept)


def test_appending_is_associative_and_nothing_is_neutral():
    a, b, c = draw(2), draw(3), draw(5)
    assert torch.equal(a.append(b).append(c).keys, a.append(b.append(c)).keys)
    assert torch.equal(draw(0).append(a).values, a.values)
    assert torch.equal(a.append(draw(0)).values, a.values)


def test_rows_are_selected_in_order_and_may_come_twice():
    pairs, rows = draw(11), torch.tensor([1, 1, 0])
    chosen = pairs.select(rows)
    assert chosen.batch_size == 3
    assert torch.equal(chosen.keys, pairs.keys[[1, 1, 0]])
    assert torch.equal(chosen.values, pairs.values[[1, 1, 0]])


def test_selecting_and_appending_commute():
    first, second, rows = draw(11), draw(13), torch.tensor([1, 0, 1])
    one = first.append(second).select(rows)
    other = first.select(rows).append(second.select(rows))
    assert torch.equal(one.keys, other.keys)
    assert torch.equal(one.values, other.values)


def test_gradients_reach_both():
    first, second = draw(2), draw(3)
    first.keys.requires_grad_()
    second.values.requires_grad_()
    both = first.append(second)
    (both.keys.sum() + both.values.sum()).backward()
    assert torch.equal(first.keys.grad, torch.ones_like(first.keys))
    assert torch.equal(second.values.grad, torch.ones_like(second.values))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("other", [{"batch": 1}, {"heads": 2}, {"d_k": 6}, {"d_v": 8}])
def test_another_batch_other_heads_or_features_are_refused(other):
    name = "values" if "d_v" in other else "keys"
    message = rf"other\.{name}: expected the batch, heads and features of the first, \(2, 3, 13, "
    with pytest.raises(ValueError, match=message):
        draw(11).append(draw(13, **other))


@pytest.mark.usefixtures("unchecked")
def test_there_is_one_value_for_each_key():
    for keys, values in [
        ((2, 3, 11, 5), (2, 3, 13, 5)),
        ((3, 11, 5), (3, 11, 5)),
        ((2, 3, 11, 5), (2, 4, 11, 5)),
    ]:
        with pytest.raises(ValueError, match="keys and values: expected the axes"):
            KeysValues(torch.rand(keys), torch.rand(values))
