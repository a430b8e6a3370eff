"""Relative buckets against the published scheme (Raffel et al. 2020), in whole numbers."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.attention import Places, T5Buckets, relative_bucket


def published(distance, num_buckets, max_distance, bidirectional):
    """The bucket by whole numbers only: no logarithm that could be rounded.

    floor(r log(n / e) / log(m / e)) is the largest t with (n / e)^r >= (m / e)^t.
    """
    first = 0
    if bidirectional:
        num_buckets //= 2
        first, far = (num_buckets if distance > 0 else 0), abs(distance)
    else:
        far = max(-distance, 0)
    exact = num_buckets // 2
    if far < exact:
        return first + far
    rest, steps = num_buckets - exact, 0
    while steps < rest - 1:
        t = steps + 1
        if far**rest * exact**t < max_distance**t * exact**rest:
            break
        steps = t
    return first + exact + steps


@pytest.mark.parametrize("bidirectional", [True, False])
def test_32_buckets_up_to_128(bidirectional):
    reach = range(-300, 301)
    ours = relative_bucket(torch.tensor(list(reach)), bidirectional=bidirectional).tolist()
    assert ours == [published(n, 32, 128, bidirectional) for n in reach]


@given(
    distance=st.integers(-100_000, 100_000),
    quarter=st.integers(1, 16),
    beyond=st.integers(1, 1000),
    bidirectional=st.booleans(),
)
def test_any_number_of_buckets(distance, quarter, beyond, bidirectional):
    num_buckets = 4 * quarter
    max_distance = num_buckets // (4 if bidirectional else 2) + beyond
    ours = relative_bucket(
        torch.tensor(distance),
        num_buckets=num_buckets,
        max_distance=max_distance,
        bidirectional=bidirectional,
    )
    assert ours.item() == published(distance, num_buckets, max_distance, bidirectional)


def test_a_distance_on_a_boundary_is_not_rounded_into_the_bucket_before():
    """ln(10 / 5) / ln(160 / 5) * 5 is 1, but 0.9999999999999999 in double precision."""
    for distance in (10, 20, 80, 160):
        ours = relative_bucket(torch.tensor(-distance), num_buckets=20, max_distance=160)
        assert ours.item() == published(-distance, 20, 160, True)


def test_where_the_buckets_begin():
    """The first distance of each bucket, as the released models have them."""
    both = relative_bucket(-torch.arange(200))
    causal = relative_bucket(-torch.arange(200), bidirectional=False)
    begins = [(both == b).nonzero()[0].item() for b in range(16)]
    assert begins == [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91]
    begins = [(causal == b).nonzero()[0].item() for b in range(32)]
    assert begins[:16] == list(range(16))
    assert begins[16:] == [16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]


@pytest.mark.parametrize("bidirectional", [True, False])
def test_every_pair_gets_the_number_of_its_head_and_bucket(bidirectional):
    positions = T5Buckets(num_heads=3, num_buckets=8, max_distance=11, bidirectional=bidirectional)
    torch.nn.init.normal_(positions.table)
    bias = positions.bias(torch.rand(2, 3, 5, 7), Places(5, 17, 4))
    assert bias.shape == (1, 3, 5, 17)
    for head in range(3):
        for i in range(5):
            for j in range(17):
                bucket = published(j - (i + 4), 8, 11, bidirectional)
                assert bias[0, head, i, j] == positions.table[head, bucket]


def test_starts_neutral():
    bias = T5Buckets(num_heads=2, bidirectional=True).bias(torch.rand(1, 2, 3, 4), Places(3, 5))
    assert torch.all(bias == 0)


def test_impossible_settings_are_refused():
    for settings, message in (
        ({"num_buckets": 6, "bidirectional": True}, "multiple of 4 .*, got 6"),
        ({"num_buckets": 5, "bidirectional": False}, "multiple of 2 .*, got 5"),
        ({"num_buckets": 0, "bidirectional": False}, "multiple of 2 .*, got 0"),
        ({"max_distance": 8, "bidirectional": True}, "more than the 8 distances .* got 8"),
        ({"max_distance": 16, "bidirectional": False}, "more than the 16 distances .* got 16"),
    ):
        with pytest.raises(ValueError, match=message):
            relative_bucket(torch.tensor(3), **settings)
        with pytest.raises(ValueError, match=message):
            T5Buckets(num_heads=2, **settings)
    with pytest.raises(ValueError, match="num_heads: expected at least 1"):
        T5Buckets(num_heads=0, bidirectional=True)
