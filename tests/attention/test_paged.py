"""The paged cache: the numbers of a contiguous one, in blocks that are shared until written."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_book.attention import (
    KV,
    BlockPool,
    KVCache,
    MultiHeadAttention,
    PagedCache,
    RotaryPositions,
)

HEADS, D_K, D_V, SIZE = 3, 5, 7, 4


def pool_of(num_blocks=300, block_size=SIZE, **settings):
    sizes = {"block_size": block_size, "num_heads": HEADS, "d_k": D_K, "d_v": D_V}
    return BlockPool(num_blocks, **sizes | settings)


def draw(num_keys, batch=1):
    return KV(torch.randn(batch, HEADS, num_keys, D_K), torch.randn(batch, HEADS, num_keys, D_V))


def same(paged, contiguous):
    assert all(map(torch.equal, paged.gather(), contiguous.rows))
    assert (paged.position, paged.num_keys) == (contiguous.position, contiguous.num_keys)


def begun(cache, *pieces):
    for piece in pieces:
        cache.extend(*piece)
    return cache


def grown(cache, *pieces):
    return begun(cache.fork(), *pieces)


#: From which state to go on (the youngest is 0), how many keys come, and which texts then stay.
growth = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 9), st.lists(st.integers(0, 99), min_size=1)),
    min_size=1,
    max_size=8,
)


@given(growth, st.integers(1, 5), st.integers(1, 3))
@settings(max_examples=settings().max_examples // 4)
def test_however_texts_branch_it_is_the_contiguous_cache(steps, block_size, batch) -> None:
    pool = pool_of(4000, block_size=block_size)
    states = [(PagedCache(pool, batch), begun(KVCache(), draw(0, batch)))]
    for back, num_keys, rows in steps:
        paged, contiguous = states[max(len(states) - 1 - back, 0)]
        new = draw(num_keys, paged.batch_size)
        rows = torch.tensor([row % paged.batch_size for row in rows[:6]])
        longer = grown(paged, new), grown(contiguous, new)
        states += [longer, tuple(each.select(rows) for each in longer)]
        place = min(num_keys, paged.position)
        same(paged.back_to(place), contiguous.back_to(place))
    for paged, contiguous in states:
        same(paged, contiguous)


@given(st.lists(st.integers(0, 11), min_size=1, max_size=5), st.integers(1, 5))
@settings(max_examples=settings().max_examples // 4)
def test_texts_of_different_lengths_are_each_their_own(lengths, block_size) -> None:
    pool, longest = pool_of(block_size=block_size), max(lengths)
    prompts = draw(longest, len(lengths))
    paged = PagedCache(pool, len(lengths))
    paged.extend(*prompts, num_new=tuple(lengths))
    assert pool.num_used == sum(-(-n // block_size) for n in lengths)
    more = draw(2, len(lengths))
    found = KV(*paged.extend(*more))
    mask = paged.mask[:, 0]
    for row, length in enumerate(lengths):
        keys = torch.cat([prompts.keys[row, :, :length], more.keys[row]], dim=1)
        assert torch.equal(found.keys[row][:, mask[row]], keys)
        assert mask[row].sum() == length + 2
        assert found.values[row][:, ~mask[row]].eq(0).all()


def test_attention_from_the_blocks_is_attention_from_the_contiguous_cache() -> None:
    attention = MultiHeadAttention(
        d_model=12, num_heads=6, num_kv_heads=3, positions=RotaryPositions(d_k=2)
    )
    pool = BlockPool(20, block_size=SIZE, num_heads=3, d_k=2)
    x = torch.randn(2, 11, 12)
    paged, contiguous = PagedCache(pool, 2), attention.new_cache()
    with torch.no_grad():
        for place in range(11):
            token = x[:, place : place + 1]
            one, other = (attention(token, cache=each) for each in (paged, contiguous))
            assert torch.equal(one, other)


def test_beams_share_what_they_have_in_common() -> None:
    pool = pool_of()
    prompt = begun(PagedCache(pool, 1), draw(2 * SIZE + 1))
    beams = prompt.select(torch.zeros(5, dtype=torch.long))
    assert pool.num_used == 3
    written = grown(beams, draw(1, 5))  # the last block is half full: one writes, four copy
    assert pool.num_used == 3 + 4
    written.extend(*draw(1, 5))  # now each has a block of its own
    assert pool.num_used == 3 + 4


def test_a_full_block_is_shared_for_good() -> None:
    pool = pool_of()
    beams = begun(PagedCache(pool, 1), draw(SIZE)).select(torch.tensor([0, 0]))
    longer = grown(beams, draw(SIZE, 2))
    assert pool.num_used == 3
    assert longer.tables[0][0] is longer.tables[1][0]


def test_what_nobody_holds_is_free_again() -> None:
    pool = pool_of(3)
    for _ in range(5):
        text = begun(PagedCache(pool, 1), draw(3 * SIZE))
        assert pool.num_free == 0
        del text
        assert pool.num_free == 3


def test_a_full_pool_says_so_and_loses_nothing() -> None:
    pool = pool_of(2)
    first = draw(SIZE + 1)
    text, contiguous = begun(PagedCache(pool, 1), first), begun(KVCache(), first)
    with pytest.raises(ValueError, match=r"^pool: expected a free block, got none of 2$"):
        text.extend(*draw(SIZE))
    assert pool.num_used == 2
    same(text, contiguous)
    same(text.select(torch.tensor([0])), contiguous)


def test_types_and_modes() -> None:
    pool = pool_of(dtype=torch.float64)
    with torch.inference_mode():
        text = begun(PagedCache(pool, 1), [each.double() for each in draw(2)])
    keys, _ = text.extend(*(each.double().requires_grad_() for each in draw(2)))
    assert keys.dtype == torch.float64
    assert not keys.requires_grad


def test_what_does_not_fit_is_refused() -> None:
    pool = pool_of()
    start = PagedCache(pool, 2)
    with pytest.raises(ValueError, match="new: expected 2 texts"):
        start.extend(*draw(1, 3))
    with pytest.raises(ValueError, match="new: expected 2 texts"):
        start.extend(torch.zeros(2, HEADS, 1, D_K), torch.zeros(2, HEADS, 1, D_K))
    for num_new in ((1,), (0, 3), (-1, 1)):
        with pytest.raises(ValueError, match="num_new: expected 2 numbers from 0 to 2"):
            start.extend(*draw(2, 2), num_new=num_new)
    with pytest.raises(ValueError, match="block_size: expected at least 1"):
        pool_of(block_size=0)
    with pytest.raises(ValueError, match="batch_size: expected at least 1"):
        PagedCache(pool, 0)
    assert start.position == 0
