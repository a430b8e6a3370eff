"""Keys and values in few bits: torch's fake quantization, and a cache that never looks ahead."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_book.attention import (
    KVCache,
    LinearScaling,
    MultiHeadAttention,
    QuantizedKVCache,
    RotaryPositions,
    YarnScaling,
    quantize,
)
from attention_book.attention.positions.rope_scaling import DynamicNtkScaling

HEADS, D, GROUP = 3, 8, 4


def draw(num_tokens, batch=2):
    return torch.randn(2, batch, HEADS, num_tokens, D).unbind()


def cache_of(**settings):
    return QuantizedKVCache(**{"bits": 4, "group_size": GROUP} | settings)


def begun(cache, *pieces):
    for piece in pieces:
        seen = cache.extend(*piece)
    return cache, seen


# --- rounding ----------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
@pytest.mark.parametrize("per", ["channel", "token"])
def test_it_is_torchs_fake_quantization(bits, per) -> None:
    x = torch.randn(3, 40, 16) * torch.tensor([1.0] * 15 + [32.0])
    found = quantize(x, bits=bits, per=per, group_size=8)
    rows = x.mT.reshape(-1, 8) if per == "channel" else x.reshape(-1, 8)  # a group a row
    low, high = rows.amin(1), rows.amax(1)
    theirs = torch.fake_quantize_per_channel_affine(
        rows - low[:, None], (high - low) / (2**bits - 1),
        torch.zeros(len(rows), dtype=torch.int32), 0, 0, 2**bits - 1,
    ) + low[:, None]  # fmt: skip
    theirs = theirs.view(3, 16, 40).mT if per == "channel" else theirs.view(x.shape)
    torch.testing.assert_close(found.restored, theirs, rtol=1e-6, atol=1e-6)


@given(st.sampled_from([1, 2, 4, 8]), st.sampled_from(["channel", "token"]), st.integers(1, 3))
@settings(max_examples=settings().max_examples // 2)
def test_a_number_is_off_by_half_a_step_at_most_and_the_ends_not_at_all(bits, per, groups) -> None:
    x = 10 * torch.randn(2, 8 * groups, 8 * groups).double() + 3
    found = quantize(x, bits=bits, per=per, group_size=8)
    gap = (found.restored - x).abs()
    axis = -2 if per == "channel" else -1
    assert (gap.unflatten(axis, (-1, 8)) <= found.step / 2 * (1 + 1e-9)).all()
    for end in ("amin", "amax"):
        mine, theirs = (getattr(each.unflatten(axis, (-1, 8)), end)(axis)
                        for each in (found.restored, x))  # fmt: skip
        torch.testing.assert_close(mine, theirs)
    assert len(found.restored.unflatten(axis, (-1, 8)).movedim(axis, 0).unique(dim=0)) <= 8


def test_few_bits_are_really_few() -> None:
    x = torch.randn(2, 64, 32).half()
    for bits, group_size, each in ((2, 16, 4), (4, 32, 5), (8, 64, 8.5)):
        found = quantize(x, bits=bits, per="channel", group_size=group_size)
        assert 8 * found.num_bytes / x.numel() == bits + 32 / group_size == each


def test_a_loud_channel_changes_nothing_for_others_but_all_for_its_tokens() -> None:
    x, loud = torch.randn(16, 8), torch.tensor([1.0] * 7 + [32.0])
    per_channel, per_token = (
        [quantize(each, bits=2, per=per).restored for each in (x, x * loud)]
        for per in ("channel", "token")
    )
    assert torch.equal(per_channel[0] * loud, per_channel[1])
    assert (per_token[0] * loud - per_token[1]).abs()[:, :7].amax() > 0.5


def test_equal_numbers_and_coarse_types_stay_in_range() -> None:
    same = torch.full((8, 8), 3.25)
    assert torch.equal(quantize(same, bits=2, per="token").restored, same)
    for dtype in (torch.bfloat16, torch.float16):
        x = torch.randn(64, 64).to(dtype)
        found = quantize(x, bits=8, per="channel")
        assert (found.restored - x).abs().amax() < 4 * found.step.amax()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bits": 3}, "bits: expected one of 1, 2, 4, 8, got 3"),
        ({"group_size": 5}, "group_size: expected one that divides 16"),
        ({"group_size": 2}, "fills bytes with codes of 2 bits, got 2"),
        ({"group_size": 0}, "group_size"),
        ({"per": "head"}, "per: expected channel or token"),
    ],
)
def test_what_cannot_be_rounded_is_refused(unchecked, settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        quantize(torch.randn(16, 16), **{"bits": 2, "per": "channel"} | settings)
    with pytest.raises(TypeError):
        quantize(torch.ones(16, 16, dtype=torch.long), bits=2, per="channel")


# --- the cache ---------------------------------------------------------------------------------

SIZES = st.lists(st.integers(0, 9), min_size=1, max_size=6)


@given(SIZES, st.sampled_from([2, 4]), st.sampled_from(["channel", "token"]), st.booleans())
def test_complete_groups_are_rounded_behind_the_call_and_no_others(sizes, bits, per, turn) -> None:
    rotary = RotaryPositions(d_k=D) if turn else None
    cache = cache_of(bits=bits, keys_per=per, values_per=per, turned_by=rotary)
    keys, values = draw(sum(sizes))
    raw = rotary.rotate(keys) if turn else keys
    read = 0
    for size in sizes:
        done = read // GROUP * GROUP
        seen = cache.extend(raw[:, :, read : read + size], values[:, :, read : read + size])
        read += size
        for mine, whole, turned in zip(seen, (keys, values), (turn, False), strict=True):
            past = quantize(whole[:, :, :done], bits=bits, per=per, group_size=GROUP).restored \
                if done else whole[:, :, :0]  # fmt: skip
            rest = whole[:, :, done:read]
            expected = torch.cat((past, rest), dim=2)
            expected = rotary.rotate(expected) if turned else expected
            # A number that lies between two levels may go either way once it was turned and back.
            off = (mine - expected).abs() > 1e-4
            assert off.sum() <= (2 if turned else 0)
            assert torch.equal(mine[:, :, done:], (raw if turned else whole)[:, :, done:read])
    assert (cache.position, cache.num_keys, cache.dropped) == (read, read, 0)
    assert cache.num_rounded == read // GROUP * GROUP


def test_pieces_that_end_with_groups_are_token_by_token() -> None:
    keys, values = draw(3 * GROUP)
    one, other = cache_of(), cache_of()
    for k, v in zip(keys.split(1, 2), values.split(1, 2), strict=True):
        one.extend(k, v)
    for k, v in zip(keys.split(GROUP, 2), values.split(GROUP, 2), strict=True):
        other.extend(k, v)
    new = draw(1)
    assert all(map(torch.equal, one.extend(*new), other.extend(*new)))


def test_no_scale_knows_what_comes_later() -> None:
    keys, values = draw(3 * GROUP)
    louder = keys.clone()
    louder[:, :, 2 * GROUP :] *= 100
    seen = [
        begun(cache_of(), *zip(each.split(3, 2), values.split(3, 2), strict=True))[1][0]
        for each in (keys, louder)
    ]
    assert torch.equal(seen[0][:, :, : 2 * GROUP], seen[1][:, :, : 2 * GROUP])


def test_eight_bits_are_nearly_the_cache_in_full_precision() -> None:
    rotary = RotaryPositions(d_k=8)
    attention = MultiHeadAttention(d_model=24, num_heads=3, positions=rotary)
    x = torch.randn(2, 41, 24)
    gaps = {}
    for bits in (2, 4, 8):
        cache = QuantizedKVCache(bits=bits, group_size=8)
        before = QuantizedKVCache(bits=bits, group_size=8, turned_by=rotary)
        exact = KVCache()
        for piece in x.split(3, dim=1):
            true, *others = (attention(piece, cache=each) for each in (exact, cache, before))
            gaps[bits] = [(each - true).abs().mean().item() for each in others]
    for place in range(2):
        assert gaps[8][place] < gaps[4][place] / 4 < gaps[2][place] / 8
        assert gaps[8][place] < 0.01


@pytest.mark.parametrize("pairing", ["neighbors", "halves"])
@pytest.mark.parametrize(
    "scaling", [LinearScaling(factor=4.0), YarnScaling(factor=4.0, trained_length=32)]
)
def test_keys_are_turned_back_before_they_are_rounded(pairing, scaling) -> None:
    rotary = RotaryPositions(d_k=D, pairing=pairing, scaling=scaling)
    keys, values = draw(4 * GROUP)
    cache = cache_of(bits=8, turned_by=rotary)
    cache.extend(rotary.rotate(keys), values)
    rounded = quantize(keys, bits=8, per="channel", group_size=GROUP)
    gap = (cache.rounded[0].restored - rounded.restored).abs()
    assert (gap.unflatten(-2, (-1, GROUP)) <= 1.01 * rounded.step + 1e-5).all()
    seen, _ = cache.extend(*draw(0))
    torch.testing.assert_close(seen, rotary.rotate(keys), rtol=0, atol=0.05)


def test_a_rotation_that_depends_on_the_length_is_refused() -> None:
    scaling = DynamicNtkScaling(factor=4.0, trained_length=32)
    with pytest.raises(ValueError, match="same at every length"):
        cache_of(turned_by=RotaryPositions(d_k=D, scaling=scaling))
    with pytest.raises(ValueError, match="bits"):
        cache_of(bits=5)
    with pytest.raises(ValueError, match="group_size"):
        cache_of(group_size=3).extend(*draw(3))


@given(SIZES, st.integers(0, 60), st.booleans())
def test_a_handle_on_an_earlier_past_goes_on_from_there(sizes, place, picked) -> None:
    pieces = [draw(size) for size in sizes]
    cache, _ = begun(cache_of(), *pieces)
    place = min(place, cache.position)
    held = cache.fork()
    earlier = cache.back_to(place)
    if picked:
        rows = torch.tensor([1, 0, 1])
        cache, earlier = cache.select(rows), earlier.select(rows)
    now, _ = cache.extend(*draw(0, 3 if picked else 2))
    then, _ = earlier.extend(*draw(0, 3 if picked else 2))
    torch.testing.assert_close(then, now[:, :, :place])
    assert (earlier.position, held.position) == (place, sum(sizes))
    for wrong in (-1, held.position + 1):
        with pytest.raises(ValueError, match="position"):
            held.back_to(wrong)


def test_bytes_are_those_of_codes_scales_and_the_rest() -> None:
    cache, _ = begun(cache_of(bits=2, group_size=8), draw(8 * 5 + 3, batch=1))
    numbers = HEADS * 8 * 5 * D
    assert cache.num_bytes == 2 * (numbers // 4 + 2 * 4 * numbers // 8) + 2 * 4 * HEADS * 3 * D
