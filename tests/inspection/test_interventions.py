"""Changed weights: what they change, what they leave alone, and that nothing stays behind."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.attention import (
    AdditiveScore,
    Attention,
    DotProductAttention,
    MultiHeadAttention,
    RelativePositions,
    causal_mask,
)
from attention_book.inspection.interventions import (
    changed_attention,
    even,
    forced_attention,
    only_heaviest,
    shuffled,
    without_heaviest,
    without_pairs,
    without_random,
)
from attention_book.models import (
    LanguageConfig,
    LanguageModel,
    Seq2Seq,
    Seq2SeqConfig,
)

BATCH, QUERIES, KEYS, FEATURES = 2, 3, 5, 7
KINDS = ("bahdanau", "luong-general")
CHANGES = (even, only_heaviest, shuffled, without_heaviest, without_random)


@pytest.fixture(params=KINDS)
def model(request):
    torch.manual_seed(0)
    return Seq2Seq(
        Seq2SeqConfig(
            source_vocabulary=11, target_vocabulary=13, attention=request.param, bidirectional=True
        )
    ).eval()


@pytest.fixture
def sentences():
    """Two sources of different length, and the beginning of a target for each."""
    source = torch.tensor([[4, 5, 6, 7, 3], [8, 9, 3, 0, 0]])
    return source, source > 0, torch.tensor([[2, 4, 5], [2, 6, 7]])


@pytest.fixture
def attention():
    torch.manual_seed(1)
    return Attention(AdditiveScore(d_q=FEATURES, d_k=FEATURES, d_hidden=11))


def question(seed=0):
    generator = torch.Generator().manual_seed(seed)
    queries = torch.randn(BATCH, QUERIES, FEATURES, generator=generator)
    keys = torch.randn(BATCH, KEYS, FEATURES, generator=generator)
    mask = torch.rand(BATCH, QUERIES, KEYS, generator=generator) < 0.7
    mask[..., 0] = True
    return queries, keys, mask


def weights_and_mask(seed):
    queries, keys, mask = question(seed)
    return DotProductAttention().weights(queries, keys, mask), mask


def test_forcing_its_own_weights_changes_nothing(model, sentences):
    expected, own = model(*sentences), model.weights(*sentences)
    with forced_attention(model.decoder.attention, own):
        actual = model(*sentences)
    torch.testing.assert_close(actual, expected, atol=1e-6, rtol=0)


def test_rows_are_used_up_step_by_step_as_all_at_once(model, sentences):
    source, mask, target = sentences
    forced = even(model.weights(*sentences), mask[:, None, :].expand(-1, 3, -1)).roll(1, dims=-1)
    with forced_attention(model.decoder.attention, forced):
        at_once = model(*sentences)
    state, steps = model.start(model.encode(source, mask)), []
    with forced_attention(model.decoder.attention, forced):
        for token in target.T:
            logits, state = model.step(token, state)
            steps.append(logits)
    torch.testing.assert_close(torch.stack(steps, dim=1), at_once, atol=1e-6, rtol=0)
    assert not torch.allclose(at_once, model(*sentences), atol=1e-4)


def test_forced_weights_choose_the_value(attention):
    queries, keys, mask = question()
    chosen = torch.tensor([[1, 0, 4], [3, 3, 2]])
    forced = torch.nn.functional.one_hot(chosen, KEYS).float()
    with forced_attention(attention, forced):
        output = attention(queries, keys, values=keys, mask=mask)
    for sentence in range(BATCH):
        torch.testing.assert_close(output[sentence], keys[sentence, chosen[sentence]])


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_stays_behind(attention, change):
    queries, keys, mask = question()
    expected = attention(queries, keys, keys, mask)
    with changed_attention(attention, change):
        assert not torch.allclose(attention(queries, keys, keys, mask), expected)
    with pytest.raises(RuntimeError, match="stop"), changed_attention(attention, change):
        raise RuntimeError("stop")
    torch.testing.assert_close(attention(queries, keys, keys, mask), expected)
    assert not attention._forward_hooks


def test_the_weights_method_still_tells_the_modules_own(attention):
    queries, keys, mask = question()
    own = attention.weights(queries, keys, mask)
    with changed_attention(attention, even):
        attention(queries, keys, keys, mask)
        torch.testing.assert_close(attention.weights(queries, keys, mask), own)


def test_the_fused_kernel_is_changed_like_any_other():
    queries, keys, mask = question()
    fused = DotProductAttention()
    with changed_attention(fused, without_heaviest):
        output = fused(queries, keys, keys, mask)
    torch.testing.assert_close(
        output, without_heaviest(fused.weights(queries, keys, mask), mask) @ keys
    )


def test_without_a_mask_everything_may_be_seen(attention):
    queries, keys, _ = question()
    with changed_attention(attention, even):
        output = attention(queries, keys, keys)
    torch.testing.assert_close(output, keys.mean(dim=1, keepdim=True).expand_as(output))


@given(seed=st.integers(0, 999), change=st.sampled_from(CHANGES))
def test_changed_weights_are_weights_and_hide_what_was_hidden(seed, change):
    weights, mask = weights_and_mask(seed)
    changed = change(weights, mask)
    assert (changed[~mask] == 0).all()
    total = changed.sum(dim=-1)
    assert ((total - 1).abs().lt(1e-5) | total.eq(0)).all()
    assert (total.eq(0) <= mask.sum(dim=-1).eq(1)).all()  # nothing is left of one key alone


@given(seed=st.integers(0, 999))
def test_shuffling_keeps_the_values(seed):
    weights, mask = weights_and_mask(seed)
    moved = shuffled(weights, mask)
    torch.testing.assert_close(moved.sort(dim=-1).values, weights.sort(dim=-1).values)


@given(seed=st.integers(0, 999))
def test_only_the_heaviest_keeps_the_choice_alone(seed):
    weights, mask = weights_and_mask(seed)
    chosen = only_heaviest(weights, mask)
    assert torch.equal(chosen.argmax(dim=-1), weights.argmax(dim=-1))
    assert torch.equal(chosen.sum(dim=-1), torch.ones(BATCH, QUERIES))
    assert set(chosen.unique().tolist()) == {0, 1}


def test_every_order_comes_equally_often():
    weights = torch.tensor([0.6, 0.3, 0.0, 0.1]).expand(6000, 4)
    mask = torch.tensor([True, True, False, True]).expand(6000, 4)
    moved = shuffled(weights, mask, generator=torch.Generator().manual_seed(3))
    orders, counts = moved.unique(dim=0, return_counts=True)
    assert len(orders) == 6
    assert (counts - 1000).abs().max() < 150


@given(seed=st.integers(0, 999))
def test_without_the_heaviest_is_a_softmax_with_that_key_masked(seed):
    queries, keys, mask = question(seed)
    module = DotProductAttention()
    weights = module.weights(queries, keys, mask)
    heaviest = torch.nn.functional.one_hot(weights.argmax(dim=-1), KEYS).bool()
    expected = module.weights(queries, keys, mask & ~heaviest)
    torch.testing.assert_close(without_heaviest(weights, mask), expected, atol=1e-5, rtol=1e-4)


def test_a_random_key_is_any_that_may_be_seen():
    weights = torch.full((3000, 3), 1 / 2)
    weights[:, 1] = 0
    mask = weights > 0
    left = without_random(weights, mask, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(left.mean(dim=0), weights[0], atol=0.05, rtol=0)
    assert (left.sum(dim=-1) == 1).all()
    assert left.max(dim=-1).values.eq(1).all()


@pytest.mark.parametrize("change", [shuffled, without_random])
def test_the_same_seed_draws_the_same(change):
    weights, mask = weights_and_mask(5)
    drawn = [
        change(weights, mask, generator=torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)
    ]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_a_row_that_may_see_nothing_stays_empty():
    nothing, blind = torch.zeros(1, 3), torch.zeros(1, 3, dtype=torch.bool)
    for change in CHANGES:
        assert torch.equal(change(nothing, blind), nothing)


def test_what_does_not_fit_is_refused(attention):
    queries, keys, mask = question()
    with pytest.raises(TypeError, match="attention: expected a module with a weights method"):
        changed_attention(torch.nn.Linear(2, 2), even).__enter__()
    narrow = changed_attention(attention, lambda weights, visible: weights[..., :2])
    with pytest.raises(ValueError, match=r"expected weights of the shape \(2, 3, 5\)"), narrow:
        attention(queries, keys, keys, mask)
    assert not attention._forward_hooks
    with forced_attention(attention, attention.weights(queries, keys, mask)):
        attention(queries, keys, keys, mask)
        with pytest.raises(ValueError, match="weights: expected rows 3 to 5"):
            attention(queries, keys, keys, mask)


def test_a_change_within_a_change_is_refused(attention):
    queries, keys, mask = question()
    own = attention(queries, keys, keys, mask)
    with changed_attention(attention, even):
        with (
            pytest.raises(ValueError, match="attention: expected a module that no other block"),
            changed_attention(attention, only_heaviest),
        ):
            pass
        averaged = attention(queries, keys, keys, mask)
    with changed_attention(attention, even):  # the first block is over
        assert torch.equal(attention(queries, keys, keys, mask), averaged)
    assert torch.equal(attention(queries, keys, keys, mask), own)


HEADS, D_K = 4, 6


@pytest.fixture
def multi_head():
    torch.manual_seed(1)
    positions = RelativePositions(d_k=D_K, max_distance=2)
    return MultiHeadAttention(d_model=HEADS * D_K, num_heads=HEADS, bias=True, positions=positions)


def long_question():
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(BATCH, KEYS, HEADS * D_K, generator=generator)
    mask = torch.rand(BATCH, HEADS, KEYS, KEYS, generator=generator) < 0.7
    mask[..., 0] = True
    return x, mask


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_every_head_is_changed_before_the_heads_are_mixed(multi_head, rank):
    x, mask = long_question()
    mask = {2: mask[0, 0], 3: mask[:, 0], 4: mask}[rank]
    whole = (mask if rank == 4 else mask.view(-1, 1, KEYS, KEYS)).expand(BATCH, HEADS, -1, -1)
    own = multi_head.weights(x, x, mask)
    seen = []
    with changed_attention(multi_head, lambda *call: seen.append(call) or even(*call)):
        output = multi_head(x, x, x, mask)
    torch.testing.assert_close(seen[0][0], own)
    assert torch.equal(seen[0][1], whole)
    torch.testing.assert_close(output, multi_head.combine(even(own, whole), x))


def test_its_own_weights_change_nothing_however_it_is_called(multi_head):
    x, mask = long_question()
    later, past = x[:, 2:], multi_head.project(x)
    calls = [
        lambda: multi_head(x, x, x, mask),
        lambda: multi_head(x, x, mask=mask),
        lambda: multi_head(x, keys=x, values=2 * x),
        lambda: multi_head(x, past, mask=mask),
        lambda: multi_head(later, past, mask=mask[:, :, 2:], offset=2),
    ]
    for call in calls:
        expected = call()
        with changed_attention(multi_head, lambda weights, visible: weights):
            torch.testing.assert_close(call(), expected)
        with changed_attention(multi_head, even):
            assert not torch.allclose(call(), expected, atol=1e-4)


def test_heads_are_forced_step_by_step(multi_head):
    x, _ = long_question()
    rows = torch.rand(BATCH, HEADS, KEYS, KEYS).softmax(dim=-1)
    past = multi_head.project(x)
    with forced_attention(multi_head, rows):
        outputs = [
            multi_head(token, past, offset=position)
            for position, token in enumerate(x.split(1, dim=1))
        ]
    torch.testing.assert_close(torch.cat(outputs, dim=1), multi_head.combine(rows, past))


def test_a_bias_of_the_call_counts():
    queries, keys, mask = question()
    attention, bias = DotProductAttention(), torch.randn(QUERIES, KEYS)
    seen = []
    with changed_attention(attention, lambda *call: seen.append(call) or call[0]):
        output = attention(queries, keys, keys, mask, bias=bias)
    torch.testing.assert_close(seen[0][0], attention.weights(queries, keys, mask, bias=bias))
    torch.testing.assert_close(output, attention(queries, keys, keys, mask, bias=bias))


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_causal_model_does_not_see_the_future(change):
    torch.manual_seed(2)
    model = LanguageModel(LanguageConfig(vocabulary=11, dropout=0.0)).eval()
    tokens = torch.randint(4, 11, (BATCH, 7))
    other = tokens.clone()
    other[:, 4:] = tokens[:, 4:] % 7 + 4  # other words from place 4 on
    seen = []
    for text in tokens, other:
        torch.manual_seed(3)
        with changed_attention(model.stack.layers[0].self_attention, change):
            seen.append(model(text))
    assert torch.equal(seen[0][:, :4], seen[1][:, :4])
    assert not torch.allclose(seen[0][:, 4:], seen[1][:, 4:])
    assert not torch.allclose(seen[0], model(tokens), atol=1e-4)


@pytest.mark.parametrize("rank", [None, 2, 3, 4])
@pytest.mark.parametrize("offset", [0, 2])
def test_what_may_be_seen_is_what_the_call_says(multi_head, rank, offset):
    x, mask = long_question()
    mask = {None: None, 2: mask[0, 0], 3: mask[:, 0], 4: mask}[rank]
    asking, past = x[:, offset:], multi_head.project(x)
    here = None if mask is None else mask[..., offset:, :]
    seen = []
    with changed_attention(multi_head, lambda *call: seen.append(call) or call[0]):
        multi_head(asking, past, mask=here, offset=offset, is_causal=True)
    weights, visible = seen[0]
    assert torch.equal(visible, weights > 0)  # a softmax leaves nothing that it may see at 0


def test_raw_keys_begin_where_the_queries_do(multi_head):
    x, _ = long_question()
    seen = []
    with changed_attention(multi_head, lambda *call: seen.append(call) or call[0]):
        multi_head(x, x, offset=3, is_causal=True)
    assert torch.equal(seen[0][1], causal_mask(KEYS).expand(BATCH, HEADS, -1, -1))


@pytest.mark.parametrize("sinks", [False, True])
@pytest.mark.parametrize("num_first", [0, 1])
@pytest.mark.parametrize("read_before", [0, 5])
def test_a_change_sees_no_more_than_a_window_and_a_cache_goes_on_once(
    sinks, num_first, read_before
):
    torch.manual_seed(4)
    attention = MultiHeadAttention(
        d_model=8, num_heads=2, window=3, num_first=num_first, sinks=sinks
    )
    x, cache = torch.randn(BATCH, 7, 8), attention.new_cache()
    attention(x[:, :read_before], cache=cache) if read_before else None
    expected = attention(x[:, read_before:], cache=cache.fork())
    seen = []
    with changed_attention(attention, lambda *call: seen.append(call) or call[0]):
        found = attention(x[:, read_before:], cache=cache)
    weights, visible = seen[0]
    assert torch.equal(visible, weights > 0)
    assert not visible.all()
    assert cache.position == 7
    torch.testing.assert_close(found, expected)


@given(seed=st.integers(0, 999))
def test_without_pairs_is_a_softmax_with_them_masked(seed):
    queries, keys, mask = question(seed)
    chosen = torch.rand(BATCH, QUERIES, KEYS, generator=torch.Generator().manual_seed(seed)) < 0.3
    module = DotProductAttention()
    weights = module.weights(queries, keys, mask)
    expected = module.weights(queries, keys, mask & ~chosen)
    torch.testing.assert_close(without_pairs(chosen)(weights, mask), expected, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_a_look_is_cut_from_all_heads_or_from_each_its_own(multi_head, rank):
    x, chosen = long_question()
    chosen = {2: chosen[0, 0], 3: chosen[:, 0], 4: chosen}[rank]
    whole = (chosen if rank == 4 else chosen.view(-1, 1, KEYS, KEYS)).expand(BATCH, HEADS, -1, -1)
    with changed_attention(multi_head, without_pairs(chosen)):
        output = multi_head(x, x, x)
    expected = multi_head.weights(x, x, ~whole)
    torch.testing.assert_close(output, multi_head.combine(expected, x))


@pytest.mark.usefixtures("unchecked")
def test_pairs_that_fit_nothing_are_refused(multi_head):
    x, _ = long_question()
    with pytest.raises(TypeError, match="chosen: expected a boolean tensor"):
        without_pairs(torch.zeros(KEYS, KEYS))
    for shape in ((KEYS, KEYS + 1), (KEYS,), (BATCH + 1, KEYS, KEYS)):
        chosen = torch.zeros(shape, dtype=torch.bool)
        with (
            changed_attention(multi_head, without_pairs(chosen)),
            pytest.raises(ValueError, match=r"chosen: expected .*\(2, 4, 5, 5\), got"),
        ):
            multi_head(x, x, x)
