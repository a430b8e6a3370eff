"""Selection by content: the best keys, blocks routed by pooled keys, the lightning indexer."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import kl_div

from attention_book import set_seed
from attention_book.attention import (
    LightningIndexer,
    RotaryPositions,
    causal_mask,
    dot_product_attention,
    indexer_loss,
    rotary_frequencies,
    route_blocks,
    select_keys,
)

sizes = st.integers(1, 9)


# --- select_keys -------------------------------------------------------------------------------


@given(num_queries=sizes, num_keys=sizes, kept=st.integers(0, 11), seed=st.integers(0, 99))
def test_each_query_keeps_its_best_visible_keys_and_no_other(num_queries, num_keys, kept, seed):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randint(-3, 3, (2, num_queries, num_keys), generator=generator).double()
    mask = torch.rand(2, num_queries, num_keys, generator=generator) < 0.6
    chosen = select_keys(scores, kept, mask)
    for row, seen, got in zip(
        scores.flatten(0, 1), mask.flatten(0, 1), chosen.flatten(0, 1), strict=True
    ):
        visible = [j for j in range(num_keys) if seen[j]]
        best = sorted(visible, key=lambda j: (-row[j].item(), j))[:kept]
        assert got.nonzero().flatten().tolist() == sorted(best)


def test_a_score_of_minus_infinity_hides_its_key_and_takes_no_place():
    scores = torch.tensor([[-torch.inf, 1.0, -torch.inf, 0.0]])
    assert select_keys(scores, 3).tolist() == [[False, True, False, True]]
    hidden = torch.tensor([[True, False, True, True]])
    assert select_keys(scores, 3, hidden).tolist() == [[False, False, False, True]]


def test_the_scores_of_hidden_keys_change_nothing():
    set_seed(0)
    scores, mask = torch.randn(5, 7), torch.rand(5, 7) < 0.5
    wild = scores.masked_fill(~mask, 1e9)
    assert torch.equal(select_keys(scores, 2, mask), select_keys(wild, 2, mask))


def test_enough_keys_are_all_of_them_so_that_attention_is_dense():
    set_seed(0)
    q, k, v = torch.randn(3, 2, 7, 5)
    past = causal_mask(7)
    chosen = select_keys(torch.randn(2, 7, 7), 7, past)
    assert torch.equal(chosen, past.expand(2, 7, 7))
    selected, dense = (dot_product_attention(q, k, v, see) for see in (chosen, past))
    assert torch.equal(selected, dense)


def test_a_bad_number_of_keys_is_refused(unchecked):
    with pytest.raises(ValueError, match="num_keys: expected 0 or more, got -1"):
        select_keys(torch.zeros(1, 2), -1)
    with pytest.raises(ValueError, match="num_keys: expected a whole number"):
        select_keys(torch.zeros(1, 2), 1.5)


# --- route_blocks ------------------------------------------------------------------------------


def routed_by_hand(queries, keys, size, count, offset):
    """Return the same, pair by pair."""
    seen = torch.zeros(len(queries), len(keys), dtype=torch.bool)
    for i, query in enumerate(queries):
        here = offset + i
        past = range(here // size)
        means = [keys[b * size : (b + 1) * size].mean(0) @ query for b in past]
        best = sorted(past, key=lambda b: (-means[b].item(), b))[: count - 1]
        for j in range(len(keys)):
            seen[i, j] = j <= here and (j // size == here // size or j // size in best)
    return seen


@given(
    num_keys=st.integers(1, 17),
    size=st.integers(1, 6),
    count=st.integers(1, 5),
    late=st.integers(0, 16),
    seed=st.integers(0, 99),
)
def test_routing_is_that_of_a_loop(num_keys, size, count, late, seed):
    generator = torch.Generator().manual_seed(seed)
    offset = min(late, num_keys - 1)
    q = torch.randn(num_keys - offset, 3, generator=generator, dtype=torch.float64)
    k = torch.randn(num_keys, 3, generator=generator, dtype=torch.float64)
    seen = route_blocks(q, k, block_size=size, num_blocks=count, offset=offset)
    assert torch.equal(seen, routed_by_hand(q, k, size, count, offset))


@pytest.mark.parametrize("changed", [8, 9, 10, 11])
def test_the_future_moves_no_choice_inside_a_block_either(changed):
    """At a border of blocks a leak of the own block would go unseen."""
    set_seed(0)
    q, k = torch.randn(2, 20, 16, 4)
    other = k.clone()
    other[:, changed:] = 9 * torch.randn(20, 16 - changed, 4)
    before, after = (route_blocks(q, keys, block_size=4, num_blocks=2) for keys in (k, other))
    assert torch.equal(before[:, :changed], after[:, :changed])
    assert not torch.equal(before, after)


def test_as_many_blocks_as_there_are_show_the_whole_past():
    set_seed(0)
    q, k = torch.randn(2, 3, 11, 4)
    seen = route_blocks(q, k, block_size=4, num_blocks=3)
    assert torch.equal(seen, causal_mask(11).expand(3, 11, 11))


# --- the indexer -------------------------------------------------------------------------------


def of_transformers(config):
    """Return DeepSeek-V3.2's indexer, and ours with its weights."""
    modeling = pytest.importorskip("transformers.models.deepseek_v32.modeling_deepseek_v32")
    theirs = modeling.DeepseekV32Indexer(config, 0).double()
    ours = LightningIndexer(
        d_model=config.hidden_size,
        num_heads=config.index_n_heads,
        d_k=config.index_head_dim,
        d_rope=config.qk_rope_head_dim,
        d_query=config.q_lora_rank,
    ).double()
    with torch.no_grad():
        for mine, its in (
            (ours.W_q.weight, theirs.wq_b.weight),
            (ours.W_k.weight, theirs.wk.weight),
            (ours.W_w.weight, theirs.weights_proj.weight),
            (ours.key_norm.weight, theirs.k_norm.weight),
            (ours.key_norm.bias, theirs.k_norm.bias),
        ):
            mine.copy_(torch.randn_like(mine))
            its.copy_(mine)
    return theirs, ours


@pytest.mark.differential
@settings(max_examples=settings().max_examples // 4)
@given(
    num_heads=st.integers(1, 5),
    half=st.integers(1, 4),
    plain=st.integers(0, 3),
    length=st.integers(1, 23),
    kept=st.integers(1, 9),
    seed=st.integers(0, 999),
)
def test_what_is_chosen_is_what_transformers_chooses(num_heads, half, plain, length, kept, seed):
    configuration = pytest.importorskip(
        "transformers.models.deepseek_v32.configuration_deepseek_v32"
    )
    set_seed(seed)
    config = configuration.DeepseekV32Config(
        hidden_size=11,
        q_lora_rank=7,
        index_n_heads=num_heads,
        index_head_dim=2 * half + plain,
        qk_rope_head_dim=2 * half,
        index_topk=kept,
    )
    theirs, ours = of_transformers(config)
    x, latents = torch.randn(3, length, 11).double(), torch.randn(3, length, 7).double()
    angles = torch.arange(length)[:, None] * rotary_frequencies(2 * half)
    turns = torch.cat((angles, angles), dim=-1)[None]
    past = causal_mask(length)
    additive = torch.zeros(length, length).double().masked_fill(~past, -torch.inf)[None]
    found = theirs(x, latents, (turns.cos(), turns.sin()), additive, None).long()
    with torch.no_grad():
        scores = ours(x, queries=latents)
    # Where there are fewer than it asks for, the library's choice holds hidden keys.
    chosen = torch.zeros(3, length, length, dtype=torch.bool).scatter(-1, found, True) & past
    mine = select_keys(scores, kept, past)
    assert torch.equal(mine.sum(-1), chosen.sum(-1))
    # The library scores in single precision: what it takes otherwise is as good, up to rounding.
    mine, chosen = (scores.masked_fill(~each, 0.0).sum(-1) for each in (mine, chosen))
    torch.testing.assert_close(mine, chosen, atol=1e-5, rtol=1e-5)


def test_the_scores_are_the_formula_summed_by_hand():
    set_seed(0)
    indexer = LightningIndexer(d_model=6, num_heads=3, d_k=4, d_rope=2).double()
    rotary = RotaryPositions(d_k=2, pairing="halves")
    x = torch.randn(1, 5, 6, dtype=torch.float64)
    q = indexer.W_q(x[0]).unflatten(-1, (3, 4))
    k, w = indexer.key_norm(indexer.W_k(x[0])), indexer.W_w(x[0])

    def placed(vector, place):
        return torch.cat((rotary.rotate(vector[None, :2], offset=place)[0], vector[2:]))

    scores = indexer(x)[0]
    for t in range(5):
        for s in range(5):
            each = [placed(q[t, j], t) @ placed(k[s], s) for j in range(3)]
            summed = sum(w[t, j] * max(each[j], 0) for j in range(3)) / 12**0.5
            torch.testing.assert_close(scores[t, s], summed)


def test_step_by_step_with_cached_keys_scores_are_those_of_reading_at_once():
    set_seed(0)
    indexer = LightningIndexer(d_model=6, num_heads=2, d_k=4).double()
    x = torch.randn(2, 7, 6, dtype=torch.float64)
    at_once, cached = indexer(x), []
    for place in range(7):
        token = x[:, place : place + 1]
        cached.append(indexer.project(token, offset=place))
        row = indexer(token, torch.cat(cached, dim=1), offset=place)
        torch.testing.assert_close(row, at_once[:, place : place + 1, : place + 1])


def test_scores_know_distances_alone_not_where_a_text_begins():
    set_seed(0)
    indexer = LightningIndexer(d_model=6, num_heads=2, d_k=4).double()
    x = torch.randn(1, 7, 6, dtype=torch.float64)
    torch.testing.assert_close(indexer(x, offset=5), indexer(x))
    assert not torch.allclose(indexer(x.flip(1)).flip(1).flip(2), indexer(x))


def test_a_loss_behind_the_choice_sends_no_gradient_to_the_indexer():
    set_seed(0)
    indexer, x = LightningIndexer(d_model=6, num_heads=2, d_k=4), torch.randn(1, 7, 6)
    x.requires_grad_()
    chosen = select_keys(indexer(x), 3, causal_mask(7))
    dot_product_attention(x, x, x, chosen).square().sum().backward()
    assert x.grad.abs().sum() > 0
    assert all(weight.grad is None for weight in indexer.parameters())


def test_more_turned_features_than_there_are_is_refused():
    with pytest.raises(ValueError, match="d_rope: expected at most d_k=4, got 6"):
        LightningIndexer(d_model=6, num_heads=2, d_k=4, d_rope=6)


# --- its loss ----------------------------------------------------------------------------------


def test_the_loss_is_torchs_divergence_and_its_gradient_softmax_minus_weights():
    set_seed(0)
    mask = causal_mask(5)
    weights = torch.randn(2, 5, 5, dtype=torch.float64).masked_fill(~mask, -torch.inf).softmax(-1)
    scores = torch.randn(2, 5, 5, dtype=torch.float64, requires_grad=True)
    loss = indexer_loss(scores, weights, mask)
    guessed = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    by_torch = kl_div(guessed.clamp_min(1e-300).log(), weights, reduction="sum") / 10
    torch.testing.assert_close(loss, by_torch)
    loss.backward()
    torch.testing.assert_close(scores.grad, (guessed - weights).detach() / 10)


def test_the_loss_moves_only_the_scores_and_a_row_without_keys_costs_nothing():
    set_seed(0)
    weights = torch.tensor([[0.5, 0.5], [0.0, 0.0]], requires_grad=True)
    scores = torch.randn(2, 2, requires_grad=True)
    mask = torch.tensor([[True, True], [False, False]])
    loss = indexer_loss(scores, weights, mask)
    loss.backward()
    assert weights.grad is None
    assert scores.grad.isfinite().all()
    assert (scores.grad[1] == 0).all()
    torch.testing.assert_close(loss, indexer_loss(scores[:1], weights[:1]) / 2)


def test_weights_of_another_shape_are_refused(unchecked):
    with pytest.raises(ValueError, match=r"weights: expected the shape of the scores, \(2, 3\)"):
        indexer_loss(torch.zeros(2, 3), torch.zeros(3, 2))
