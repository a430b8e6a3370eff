"""The cache: what was kept never changes, a fork stays, rows are picked, memory is reused."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.attention import KV, Cache, KVCache, LinearState, PartialAttention

BATCH, HEADS, D_K, D_V = 2, 3, 5, 7


def draw(num_keys, batch=BATCH, heads=HEADS, d_k=D_K, d_v=D_V):
    return KV(torch.randn(batch, heads, num_keys, d_k), torch.randn(batch, heads, num_keys, d_v))


def begun(*pieces):
    cache = KVCache()
    for piece in pieces:
        cache.extend(*piece)
    return cache


def grown(cache, *pieces):
    longer = cache.fork()
    for piece in pieces:
        longer.extend(*piece)
    return longer


def same(cache, keys, values):
    assert torch.equal(cache.rows[0], keys)
    assert torch.equal(cache.rows[1], values)


#: Each a state to go on from (the youngest is 0) and how many keys to append to it.
growth = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=25)


@given(growth, st.sampled_from(["gradients", "none", "inference"]), st.integers(0, 2))
def test_however_states_branch_each_stays_what_torch_cat_makes(steps, mode, num_keys):
    start = draw(num_keys)
    states, truths = [begun(start)], [start]
    with torch.set_grad_enabled(mode == "gradients"), torch.inference_mode(mode == "inference"):
        for back, num_new in steps:
            parent, new = max(0, len(states) - 1 - back), draw(num_new)
            states.append(grown(states[parent], new))
            truths.append([torch.cat(pair, 2) for pair in zip(truths[parent], new, strict=True)])
    rows = torch.tensor([1, 0, 1])
    for state, (keys, values) in zip(states, truths, strict=True):
        same(state, keys, values)
        same(state.select(rows), keys[rows], values[rows])
        assert state.position == keys.shape[2]


@given(growth, st.integers(1, 6), st.integers(0, 3))
def test_a_window_keeps_its_last_keys_and_the_first(steps, window, num_first):
    """What is kept is seen by some query to come; what a query will see is kept."""
    cache = KVCache(window=window, num_first=num_first)
    truth = draw(0)
    for _, num_new in steps:
        before, new = cache.position, draw(num_new)
        truth = [torch.cat(pair, 2) for pair in zip(truth, new, strict=True)]
        keys, _ = cache.extend(*new)
        end = before + num_new
        kept = [j for j in range(end) if j < num_first or j > before - window]
        seen = list(range(min(num_first, end))) + list(
            range(min(num_first, end) + cache.dropped, end)
        )
        assert set(kept) <= set(seen)
        assert torch.equal(keys, truth[0][:, :, seen])
        assert cache.num_keys <= num_first + window - 1 + max(num_new, 1)
    assert cache.position == truth[0].shape[2]


@given(growth, st.data())
def test_going_back_is_what_was_read_before(steps, data):
    cache, truth = begun(draw(1)), None
    truth = list(cache.rows)
    for _, num_new in steps:
        new = draw(num_new)
        cache.extend(*new)
        truth = [torch.cat(pair, 2) for pair in zip(truth, new, strict=True)]
    place = data.draw(st.integers(0, cache.position))
    earlier, other = cache.back_to(place), draw(2)
    same(earlier, *(rows[:, :, :place] for rows in truth))
    with torch.no_grad():
        earlier.extend(*other)
    assert torch.equal(earlier.rows[0][:, :, place:], other.keys)
    same(cache, *truth)


def test_back_only_as_far_as_a_window_remembers():
    cache = KVCache(window=3, num_first=1)
    for _ in range(6):
        cache.extend(*draw(1))
    assert (cache.back_to(6).num_keys, cache.back_to(5).num_keys) == (4, 3)
    for place in (-1, 7, 4, 0):
        with pytest.raises(ValueError, match=f"position: expected one that was read.* got {place}"):
            cache.back_to(place)
    cache.extend(*draw(4))  # more at once than the window: going back within them is possible
    assert cache.back_to(8).position == 8


@torch.no_grad()
def test_one_by_one_the_past_moves_only_when_the_room_is_full():
    cache, addresses = begun(draw(1)), set()
    for _ in range(100):
        keys, values = cache.extend(*draw(1))
        addresses.add((keys.data_ptr(), values.data_ptr()))
    assert len(addresses) <= 7


def test_nothing_grows_with_a_window_however_long_the_text():
    cache = KVCache(window=5, num_first=2)
    with torch.inference_mode():
        for _ in range(100):
            keys, _ = cache.extend(*draw(1))
    assert (cache.num_keys, cache.position, cache.dropped) == (7, 100, 93)
    assert keys.untyped_storage().nbytes() == BATCH * HEADS * 7 * D_K * 4


def test_a_backward_pass_outlives_later_tokens():
    with torch.no_grad():
        past = begun(draw(2), draw(1))
    query = torch.randn(BATCH, HEADS, 1, D_K, requires_grad=True)
    output = (query @ past.rows[0].mT).sum()
    expected = past.rows[0].sum(2, keepdim=True)
    with torch.no_grad():
        past.extend(*draw(1))
    output.backward()
    torch.testing.assert_close(query.grad, expected)


def test_a_state_made_while_inferring_grows_afterwards():
    with torch.inference_mode():
        past = begun(draw(2), draw(1))
    new = draw(1)
    with torch.no_grad():
        assert torch.equal(grown(past, new).rows[0][:, :, 3:], new.keys)
    assert torch.equal(grown(past, new).rows[0][:, :, 3:], new.keys)


@torch.no_grad()
def test_types_are_promoted_as_by_torch_cat():
    past, new = begun(draw(2), draw(1)), draw(1)
    double = grown(past, KV(new.keys.double(), new.values))
    assert torch.equal(double.rows[0], torch.cat((past.rows[0], new.keys.double()), 2))
    assert double.rows[0].dtype == torch.float64


def test_contiguous_keys_are_the_same_keys():
    apart = KV(
        torch.randn(BATCH, 11, HEADS, D_K).transpose(1, 2),
        torch.randn(BATCH, 11, HEADS, D_V).transpose(1, 2),
    )
    together = apart.contiguous()
    assert together.keys.is_contiguous()
    assert together.values.is_contiguous()
    assert torch.equal(together.keys, apart.keys)
    assert torch.equal(together.values, apart.values)


def test_what_does_not_fit_is_refused_and_nothing_is_lost():
    cache = begun(draw(11))
    for other in ({"batch": 1}, {"heads": 2}, {"d_k": 6}, {"d_v": 8}):
        with pytest.raises(ValueError, match=r"new: expected the axes .* \(2, 3, 13, [57]\), got"):
            cache.extend(*draw(13, **other))
    for keys, values in (((2, 3, 11, 5), (2, 3, 13, 5)), ((3, 11, 5), (3, 11, 5))):
        with pytest.raises(ValueError, match="new: expected the axes"):
            cache.extend(torch.rand(keys), torch.rand(values))
    assert (cache.position, cache.num_keys) == (11, 11)
    with pytest.raises(ValueError, match="new: expected the axes"):  # one value for each key
        KVCache().extend(torch.rand(2, 3, 11, 5), torch.rand(2, 4, 11, 5))
    for wrong in ({"window": 0}, {"num_first": -1}):
        with pytest.raises(ValueError, match=r"(window|num_first): expected"):
            KVCache(**wrong)


# --- picking rows ----------------------------------------------------------------------------


@pytest.mark.parametrize("picked", [[1, 1], [0], [1, 0, 1]])
@torch.no_grad()
def test_the_room_behind_the_last_key_survives_a_choice_of_rows(picked):
    past, new = begun(draw(4), draw(1)), draw(1, batch=len(picked))
    keys, values = (rows.clone() for rows in past.rows)
    chosen = past.select(torch.tensor(picked))
    place = chosen.rows[0].data_ptr()
    chosen.extend(*new)
    assert chosen.rows[0].data_ptr() == place  # written behind, not moved
    same(chosen, torch.cat((keys[picked], new.keys), 2), torch.cat((values[picked], new.values), 2))
    same(past, keys, values)


def test_what_was_picked_with_gradients_has_them():
    first = draw(2)
    first.keys.requires_grad_()
    begun(first, draw(1)).select(torch.tensor([1, 1])).rows[0].sum().backward()
    assert first.keys.grad[0].sum() == 0
    assert torch.all(first.keys.grad[1] == 2)


@pytest.mark.parametrize("inferring", [False, True])
def test_picked_and_grown_in_turns_they_move_only_when_the_room_is_full(inferring):
    sizes, generator = set(), torch.Generator().manual_seed(0)
    with torch.inference_mode(inferring), torch.no_grad():
        first = draw(1)
        cache, (keys, values) = begun(first), first
        for _ in range(60):
            rows, new = torch.randint(2, (2,), generator=generator), draw(1)
            cache.extend(*new)
            cache = cache.select(rows)
            keys = torch.cat((keys, new.keys), 2)[rows]
            values = torch.cat((values, new.values), 2)[rows]
            sizes.add(cache.rows[0].untyped_storage().nbytes() // (BATCH * HEADS * D_K * 4))
        same(cache, keys, values)
    assert sorted(sizes) == [4, 10, 22, 46, 94]


def test_a_models_past_goes_on_layer_by_layer_and_knows_its_padding():
    tokens = torch.tensor([[0, 5], [6, 7]])
    cache = Cache([KVCache(), KVCache(window=2)], batch_size=2)
    assert cache.note(tokens, None) is None  # nothing is padding: nothing is kept
    assert torch.equal(cache.note(tokens, tokens > 0), tokens > 0)
    for layer in cache.layers:
        layer.extend(*draw(2))
    later = cache.fork()
    assert torch.equal(later.note(tokens[:, :1], None), torch.tensor([[0, 1, 1], [1, 1, 1]]) > 0)
    assert cache.real.shape == (2, 2)
    picked = cache.select(torch.tensor([1, 1, 0]))
    assert (picked.batch_size, picked.position, picked.real.shape) == (3, 2, (3, 2))
    assert cache.back_to(2).real.shape == (2, 2)
    with pytest.raises(ValueError, match="batch_size: expected at least 1"):
        Cache([KVCache()], batch_size=0)


def test_holders_of_tensors_are_compared_as_objects():
    """A comparison number by number has no single truth; and would wait for the device."""
    keys = torch.rand(2, 3, 5, 4)
    cache = begun(KV(keys, keys))
    state = LinearState.empty(keys, keys)
    part = PartialAttention.of(keys @ keys.mT, keys)
    for one, other in (
        (cache, cache.fork()),
        (state, LinearState.empty(keys, keys)),
        (part, part.merge(part)),
        (KV(keys, keys), KV(keys.clone(), keys.clone())),
    ):
        assert one == one
        assert one != other
        assert one not in [other]
        assert len({one, other}) == 2
