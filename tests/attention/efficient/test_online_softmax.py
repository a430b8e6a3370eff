"""Parts of a softmax: however the keys are cut and merged, it is the softmax of all."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.attention import PartialAttention, masked_softmax

BATCH, QUERIES, KEYS, D_V = 3, 5, 11, 2
EXACT = {"rtol": 0, "atol": 1e-12}


def draw(scale=3.0):
    scores = scale * torch.randn(BATCH, QUERIES, KEYS, dtype=torch.float64)
    return scores, torch.randn(BATCH, KEYS, D_V, dtype=torch.float64)


def parts(scores, values, cuts, mask=None):
    """Sum up the keys between the cuts, each part for itself."""
    ends = [0, *sorted(cuts), scores.shape[-1]]
    spans = [slice(a, b) for a, b in itertools.pairwise(ends) if a < b]
    masks = [None if mask is None else mask[..., span] for span in spans]
    return [
        PartialAttention.of(scores[..., span], values[..., span, :], seen)
        for span, seen in zip(spans, masks, strict=True)
    ]


def close(one, other):
    for name in ("maximum", "total", "weighted", "output", "log_total"):
        torch.testing.assert_close(getattr(one, name), getattr(other, name), **EXACT)


def test_all_keys_at_once_are_the_softmax():
    scores, values = draw()
    part = PartialAttention.of(scores, values)
    torch.testing.assert_close(part.output, scores.softmax(-1) @ values, **EXACT)
    torch.testing.assert_close(part.log_total, scores.logsumexp(-1), **EXACT)
    assert torch.equal(part.maximum, scores.max(-1).values)
    assert (part.total >= 1).all()


def test_one_key_after_the_other_is_the_recurrence_of_the_paper():
    # Milakov & Gimelshein, algorithm 3: m and d, in plain numbers.
    scores, values = draw(30.0)
    row = scores[1, 2].tolist()
    m, d = -math.inf, 0.0
    for x in row:
        larger = max(m, x)
        d = d * math.exp(m - larger) + math.exp(x - larger)
        m = larger
    merged = None
    for part in parts(scores, values, range(1, KEYS)):
        merged = part if merged is None else merged.merge(part)
    assert merged.maximum[1, 2].item() == m
    assert merged.total[1, 2].item() == pytest.approx(d, rel=1e-14)


@given(cuts=st.sets(st.integers(1, KEYS - 1)), seed=st.integers(0, 99), order=st.randoms())
def test_any_cut_and_any_order_give_the_whole(cuts, seed, order):
    torch.manual_seed(seed)
    scores, values = draw(10.0)
    mask = torch.rand(BATCH, QUERIES, KEYS) < 0.5
    whole = PartialAttention.of(scores, values, mask)
    pieces = parts(scores, values, cuts, mask)
    order.shuffle(pieces)
    merged = pieces[0]
    for piece in pieces[1:]:
        merged = merged.merge(piece)
    close(merged, whole)
    torch.testing.assert_close(merged.output, masked_softmax(scores, mask) @ values, **EXACT)


def test_a_part_that_sees_nothing_changes_nothing():
    scores, values = draw()
    part = PartialAttention.of(scores, values)
    nothing = PartialAttention.of(scores, values, torch.zeros(1, KEYS, dtype=torch.bool))
    for merged in (part.merge(nothing), nothing.merge(part)):
        assert torch.equal(merged.maximum, part.maximum)
        assert torch.equal(merged.total, part.total)
        assert torch.equal(merged.weighted, part.weighted)
    for empty in (nothing, nothing.merge(nothing)):
        assert (empty.maximum == -math.inf).all()
        assert (empty.log_total == -math.inf).all()
        assert (empty.total == 0).all()
        assert (empty.output == 0).all()


def test_a_score_of_minus_infinity_hides_like_the_mask():
    scores, values = draw()
    mask = torch.rand(BATCH, QUERIES, KEYS) < 0.5
    close(
        PartialAttention.of(scores.masked_fill(~mask, -math.inf), values),
        PartialAttention.of(scores, values, mask),
    )


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("place", [0, 4, KEYS - 1])
def test_a_score_that_is_no_number_counts_only_where_it_is_seen(bad, place):
    scores, values = draw()
    mask = torch.ones(BATCH, QUERIES, KEYS, dtype=torch.bool)
    mask[1, 2, place] = False
    clean = PartialAttention.of(scores, values, mask)
    scores[1, 2, place] = bad
    close(PartialAttention.of(scores, values, mask), clean)
    message = f"scores: expected numbers below inf where seen, got {bad}"
    with pytest.raises(ValueError, match=message):
        PartialAttention.of(scores, values)
    with pytest.raises(ValueError, match="scores: expected numbers below inf where seen"):
        masked_softmax(scores)


@pytest.mark.usefixtures("unchecked")
def test_bad_input_gets_one_clear_error():
    scores, values = draw()
    for arguments, error, message in [
        ((scores, values[:, :4]), ValueError, r"scores and values: .* \(3, 5, 11\) and \(3, 4, 2"),
        ((scores, values[0]), ValueError, "scores and values: expected the axes"),
        ((scores[..., :0], values[:, :0]), ValueError, "with at least one key"),
        ((scores.long(), values), TypeError, "scores and values: expected floating"),
        ((scores, values, torch.ones(5, 11)), TypeError, "mask: expected a boolean"),
        ((scores, values, torch.ones(4, 11).bool()), ValueError, "mask: expected a shape"),
    ]:
        with pytest.raises(error, match=message):
            PartialAttention.of(*arguments)
