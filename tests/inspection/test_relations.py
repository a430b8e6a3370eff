"""Relations of query and key: each pair against its definition, one by one."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.inspection import after_earlier, places_back


@given(length=st.integers(1, 7), distance=st.integers(0, 8))
def test_so_many_places_back(length, distance):
    found = places_back(length, distance)
    assert found.shape == (1, length, length)
    for q in range(length):
        for k in range(length):
            assert found[0, q, k] == (k == q - distance)


@given(tokens=st.lists(st.integers(0, 3), min_size=1, max_size=9), distance=st.integers(0, 10))
def test_the_token_after_an_earlier_occurrence(tokens, distance):
    found = after_earlier(torch.tensor([tokens, tokens[::-1]]), distance)
    for text, pairs in zip((tokens, tokens[::-1]), found, strict=True):
        for q in range(len(text)):
            for k in range(len(text)):
                occurrence = k - distance
                earlier = 0 <= occurrence < q and text[occurrence] == text[q]
                assert pairs[q, k] == (earlier and k <= q)


def test_a_negative_distance_is_refused():
    with pytest.raises(ValueError, match="distance: expected 0 or more, got -1"):
        places_back(3, -1)
    with pytest.raises(ValueError, match="distance: expected 0 or more, got -1"):
        after_earlier(torch.tensor([[1, 2]]), -1)
    with pytest.raises(ValueError, match="length: expected at least 1, got 0"):
        places_back(0, 1)
