"""Projected keys and values: they grow, rows are selected, and nothing changes in place."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.attention import KVCache, LinearState, PartialAttention
from attention_book.attention.multi_head.kv_cache import Room

BATCH, HEADS, D_K, D_V = 2, 3, 5, 7


def draw(num_keys, batch=BATCH, heads=HEADS, d_k=D_K, d_v=D_V):
    return KVCache(
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


#: Each a state to go on from (the youngest is 0) and how many keys to append to it.
growth = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=25)


@given(growth, st.sampled_from(["gradients", "none", "inference"]), st.integers(0, 2))
def test_however_states_branch_each_stays_what_torch_cat_makes(steps, mode, num_keys):
    states, truths = [draw(num_keys)], []
    truths.append((states[0].keys.clone(), states[0].values.clone()))
    with torch.set_grad_enabled(mode == "gradients"), torch.inference_mode(mode == "inference"):
        for back, num_new in steps:
            parent, new = max(0, len(states) - 1 - back), draw(num_new)
            states.append(states[parent].append(new))
            keys, values = truths[parent]
            truths.append((torch.cat((keys, new.keys), 2), torch.cat((values, new.values), 2)))
    rows = torch.tensor([1, 0, 1])
    for state, (keys, values) in zip(states, truths, strict=True):
        assert torch.equal(state.keys, keys)
        assert torch.equal(state.values, values)
        assert torch.equal(state.select(rows).keys, keys[rows])
        assert torch.equal(state.contiguous().values, values)


@torch.no_grad()
def test_two_appends_to_one_state_do_not_meet():
    past = draw(2).append(draw(1))
    one, other = draw(1), draw(1)
    first, second = past.append(one), past.append(other)
    assert torch.equal(first.keys[:, :, 3:], one.keys)
    assert torch.equal(second.keys[:, :, 3:], other.keys)
    assert torch.equal(first.append(other).values[:, :, 3:4], one.values)


@torch.no_grad()
def test_one_by_one_the_past_moves_only_when_the_room_is_full():
    past, addresses = draw(1), []
    for _ in range(100):
        past = past.append(draw(1))
        addresses.append((past.keys.data_ptr(), past.values.data_ptr()))
    assert len(set(addresses)) <= 7


def test_a_backward_pass_outlives_later_appends():
    with torch.no_grad():
        past = draw(2).append(draw(1))
    query = torch.randn(BATCH, HEADS, 1, D_K, requires_grad=True)
    output = (query @ past.keys.mT).sum()
    expected = past.keys.sum(2, keepdim=True)
    with torch.no_grad():
        past.append(draw(1))
    output.backward()
    torch.testing.assert_close(query.grad, expected)


def test_a_state_made_while_inferring_grows_afterwards():
    with torch.inference_mode():
        past = draw(2).append(draw(1))
    new = draw(1)
    with torch.no_grad():
        assert torch.equal(past.append(new).keys[:, :, 3:], new.keys)
    assert torch.equal(past.append(new).keys[:, :, 3:], new.keys)


@torch.no_grad()
def test_changed_keys_do_not_come_from_the_old_room():
    past, new = draw(2).append(draw(1)), draw(1)
    changed = replace(past, keys=-past.keys)
    assert torch.equal(changed.append(new).keys, torch.cat((-past.keys, new.keys), 2))


@torch.no_grad()
def test_types_are_promoted_as_by_torch_cat():
    past, new = draw(2).append(draw(1)), draw(1)
    double = KVCache(new.keys.double(), new.values)
    assert torch.equal(past.append(double).keys, torch.cat((past.keys, double.keys), 2))
    assert past.append(double).keys.dtype == torch.float64


def test_contiguous_keys_are_the_same_keys():
    apart = KVCache(
        torch.randn(BATCH, 11, HEADS, D_K).transpose(1, 2),
        torch.randn(BATCH, 11, HEADS, D_V).transpose(1, 2),
    )
    together = apart.contiguous()
    assert together.keys.is_contiguous()
    assert together.values.is_contiguous()
    assert torch.equal(together.keys, apart.keys)
    assert torch.equal(together.values, apart.values)


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
            KVCache(torch.rand(keys), torch.rand(values))


def rows(num_rows, features=5):
    return torch.randn(2, 3, num_rows, features)


def test_rows_stand_in_the_order_in_which_they_were_written():
    room, first, second = Room(7, like=(rows(0),)), rows(3), rows(2)
    (one,) = room.write(first)
    (both,) = room.write(second)
    assert torch.equal(one, first)
    assert torch.equal(both, torch.cat((first, second), dim=2))
    assert one.data_ptr() == both.data_ptr()


def test_each_kind_of_rows_has_its_own_size_and_type():
    like = rows(0), rows(0, features=7).double()
    keys, values = Room(4, like=like).write(rows(3), rows(3, features=7).double())
    assert keys.shape == (2, 3, 3, 5)
    assert values.shape == (2, 3, 3, 7)
    assert (keys.dtype, values.dtype) == (torch.float32, torch.float64)


@pytest.mark.parametrize(
    ("num_rows", "after", "has_place"),
    [(4, 3, True), (5, 3, False), (1, 2, False), (1, 4, False), (0, 3, True)],
)
def test_there_is_place_behind_the_last_row_only(num_rows, after, has_place):
    room = Room(7, like=(rows(0),))
    room.write(rows(3))
    assert room.has_place(num_rows, after=after) is has_place


def test_a_full_room_takes_no_more():
    room = Room(3, like=(rows(0),))
    room.write(rows(3))
    with pytest.raises(ValueError, match="rows: expected at most 0, got 1"):
        room.write(rows(1))


# --- picking rows ----------------------------------------------------------------------------


@pytest.mark.parametrize("picked", [[1, 0], [1, 1], [0], [1, 0, 1]])
@torch.no_grad()
def test_the_room_behind_the_last_key_survives_a_choice_of_rows(picked):
    past, new = draw(4).append(draw(1)), draw(1, batch=len(picked))
    kept = past.keys.clone()
    chosen = past.select(torch.tensor(picked))
    assert chosen._room.size == past._room.size == 10
    grown = chosen.append(new)
    assert grown.keys.data_ptr() == chosen.keys.data_ptr()  # written behind, not moved
    assert torch.equal(grown.keys, torch.cat((past.keys[picked], new.keys), 2))
    assert torch.equal(grown.values, torch.cat((past.values[picked], new.values), 2))
    assert torch.equal(past.keys, kept)


@torch.no_grad()
def test_who_has_fewer_keys_than_are_written_picks_only_those():
    past = draw(2).append(draw(1))
    past.append(draw(1))  # takes the place behind the last key
    chosen, new = past.select(torch.tensor([1, 0])), draw(1)
    assert torch.equal(chosen.keys, past.keys[[1, 0]])
    assert torch.equal(chosen.append(new).keys[:, :, :3], past.keys[[1, 0]])
    assert torch.equal(chosen.append(new).keys[:, :, 3:], new.keys)


def test_what_was_picked_with_gradients_has_them():
    past = draw(2)
    past.keys.requires_grad_()
    past.append(draw(1)).select(torch.tensor([1, 1])).keys.sum().backward()
    assert past.keys.grad[0].sum() == 0
    assert torch.all(past.keys.grad[1] == 2)


@pytest.mark.parametrize("inferring", [False, True])
def test_picked_and_grown_in_turns_they_move_only_when_the_room_is_full(inferring):
    rooms, generator = [], torch.Generator().manual_seed(0)
    with torch.inference_mode(inferring), torch.no_grad():
        past = draw(1)
        keys, values = past.keys, past.values
        for _ in range(60):
            rows, new = torch.randint(2, (2,), generator=generator), draw(1)
            past = past.append(new).select(rows)
            keys = torch.cat((keys, new.keys), 2)[rows]
            values = torch.cat((values, new.values), 2)[rows]
            rooms.append(past._room.size)
        assert torch.equal(past.keys, keys)
        assert torch.equal(past.values, values)
    assert sorted(set(rooms)) == [4, 10, 22, 46, 94]


def test_holders_of_tensors_are_compared_as_objects():
    """A comparison number by number has no single truth; and would wait for the device."""
    keys = torch.rand(2, 3, 5, 4)
    cache, twin = KVCache(keys, keys), KVCache(keys, keys)
    state = LinearState.empty(keys, keys)
    part = PartialAttention.of(keys @ keys.mT, keys)
    for one, other in (
        (cache, twin),
        (state, LinearState.empty(keys, keys)),
        (part, part.merge(part)),
    ):
        assert one == one
        assert one != other
        assert len({one, other}) == 2
