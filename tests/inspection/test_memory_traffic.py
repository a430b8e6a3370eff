"""Traffic of a small fast memory: against reuse distances, and the formulas of the chapter."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_book.inspection import Traffic, attention_traffic, largest_tile, traffic

USES = st.lists(
    st.tuples(st.integers(0, 7), st.sampled_from(["read", "change", "make"])), max_size=60
)


def by_reuse_distance(uses, num_lines):
    """A line is still there if fewer others than ``num_lines`` were used since its last use."""
    stays, read = {}, 0  # of each line the stays in the fast memory: was it changed?
    for place, (line, use) in enumerate(uses):
        before = [p for p, (other, _) in enumerate(uses[:place]) if other == line]
        since = {other for other, _ in uses[before[-1] + 1 : place]} if before else set()
        if not before or len(since) >= num_lines:
            read += use != "make"
            stays.setdefault(line, []).append(False)
        stays[line][-1] |= use != "read"
    return Traffic(64 * read, 64 * sum(map(sum, stays.values())))


@given(USES, st.integers(1, 9))
def test_a_line_is_moved_as_its_reuse_distance_says(uses, num_lines) -> None:
    assert traffic(uses, num_lines=num_lines) == by_reuse_distance(uses, num_lines)


def lines(n, d, room, tile, scores_written, size=4):
    found = attention_traffic(
        num_tokens=n, d_k=d, fast_bytes=room * d * size + size, tile=tile,
        scores_written=scores_written, bytes_per_number=size,
    )  # fmt: skip
    return found.bytes_read / (d * size), found.bytes_written / (d * size)


@given(st.integers(7, 30), st.integers(1, 9), st.integers(1, 12), st.booleans(), st.data())
@settings(max_examples=settings().max_examples // 2)
def test_the_formula_is_exact(n, d, tile, scores_written, data) -> None:
    tile = min(tile, n, (n - 5) // 2)
    room = data.draw(st.integers(2 * tile + 4, n - 1))
    scores = n * -(-n // d) if scores_written else 0
    passes = -(-n // tile)
    assert lines(n, d, room, tile, scores_written) == (
        n + 2 * n * passes + 2 * scores,
        n + 2 * scores,
    )


def test_a_tile_that_does_not_fit_moves_more_than_query_by_query() -> None:
    fits, full = lines(64, 8, 20, 8, False), lines(64, 8, 19, 8, False)
    assert sum(fits) < sum(full)
    assert sum(lines(64, 8, 20, 16, False)) > sum(lines(64, 8, 20, 1, False))


def test_where_all_fits_each_line_is_moved_once() -> None:
    for tile in (1, 8, 64):
        assert lines(64, 8, 2 * 64 + 4 * tile, tile, False) == (3 * 64, 64)


def keys_and_values(n, d, fast_bytes):
    sizes = {"num_tokens": n, "d_k": d, "fast_bytes": fast_bytes}
    found = attention_traffic(**sizes, tile=largest_tile(**sizes))
    return found.bytes_moved - 2 * n * d * 4


def test_what_a_tile_moves_is_of_the_order_that_the_theorem_says() -> None:
    whole = keys_and_values(128, 8, 2048)
    assert whole == 4 * keys_and_values(64, 8, 2048)  # n squared
    assert whole == 4 * keys_and_values(128, 4, 2048)  # d squared
    assert keys_and_values(128, 8, 512) == 4 * whole  # over the size of the fast memory
    scores = [
        attention_traffic(
            num_tokens=n, d_k=8, fast_bytes=1024, tile=largest_tile(num_tokens=n, d_k=8,
            fast_bytes=1024), scores_written=True,
        ).bytes_moved for n in (64, 128)
    ]  # fmt: skip
    assert scores[1] - 2 * scores[0] > 2 * 4 * 64 * 64 * 4


@pytest.mark.parametrize("room", [8, 13, 20, 33, 47])
def test_the_largest_tile_is_the_best_power_of_two(room) -> None:
    moved = {tile: sum(lines(48, 4, room, tile, False)) for tile in (1, 2, 4, 8, 16, 32)}
    tile = largest_tile(num_tokens=48, d_k=4, fast_bytes=16 * room)
    assert moved[tile] == min(moved.values())
    assert tile == 1 or moved[tile] < moved[tile // 2]


def test_tiles_grow_with_the_room_up_to_all_queries() -> None:
    tiles = [largest_tile(num_tokens=48, d_k=4, fast_bytes=16 * room) for room in range(1, 200)]
    assert all(a <= b for a, b in pairwise(tiles))
    assert (tiles[0], tiles[-1]) == (1, 48)


def test_sizes_that_cannot_be_are_refused() -> None:
    sizes = {"num_tokens": 4, "d_k": 4, "fast_bytes": 64}
    for name in sizes:
        for count in (attention_traffic, largest_tile):
            with pytest.raises(ValueError, match=name):
                count(**sizes | {name: 0})
    with pytest.raises(ValueError, match="room for a line of 16 bytes, got 15"):
        attention_traffic(**sizes | {"fast_bytes": 15})
    with pytest.raises(ValueError, match="num_lines"):
        traffic([], num_lines=0)
