"""Multi-head latent attention: the paper's equations, DeepSeek-V3's module, and two ways as one."""

import math

import pytest
import torch

from attention_book.attention import (
    KV,
    LatentAttention,
    NoPositions,
    RotaryPositions,
    causal_mask,
)
from attention_book.inspection import capture_attention, changed_attention, operations

BATCH, QUERIES, KEYS, HEADS = 5, 7, 11, 3
D_MODEL, RANK, D_K, D_ROPE, D_V, Q_RANK = 13, 10, 5, 4, 7, 6
EXACT = {"rtol": 0, "atol": 1e-12}


def make(**settings):
    """A layer whose weights are large enough that attention is far from uniform."""
    sizes = {"d_model": D_MODEL, "num_heads": HEADS, "kv_rank": RANK, "d_k": D_K, "d_v": D_V}
    attention = LatentAttention(**sizes | {"d_rope": D_ROPE, "q_rank": Q_RANK} | settings).double()
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.copy_(0.7 * torch.randn_like(parameter))
    return attention


def draw(length=KEYS):
    return torch.randn(BATCH, length, D_MODEL, dtype=torch.float64)


def normalized(x, gain, eps=1e-6):
    return gain * x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


def turned(x, positions, base=10000.0):
    """Pairs of neighbors as complex numbers, times the number of their angle."""
    rates = base ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])
    angles = positions[:, None] * rates
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def by_formula(attention, queries, keys, offset, seen):
    """DeepSeek-AI (2024), equations 9-11, 12-13 and 14-19, one head after the other."""
    c_q, c_kv = queries, normalized(keys @ attention.W_dkv[0].weight.T, attention.W_dkv[1].weight)
    if not isinstance(attention.W_dq, torch.nn.Identity):
        c_q = normalized(queries @ attention.W_dq[0].weight.T, attention.W_dq[1].weight)
    k_rope = turned(keys @ attention.W_kr.weight.T, torch.arange(keys.shape[1]))
    places = offset + torch.arange(queries.shape[1])
    heads, weights = [], []
    for head in range(HEADS):
        W_qr, W_uq, W_uk, W_uv = (
            getattr(attention, name).weight.unflatten(0, (HEADS, -1))[head].T
            for name in ("W_qr", "W_uq", "W_uk", "W_uv")
        )
        q = torch.cat([c_q @ W_uq, turned(c_q @ W_qr, places)], dim=-1)
        k = torch.cat([c_kv @ W_uk, k_rope], dim=-1)
        scores = q @ k.mT / math.sqrt(D_K + D_ROPE)
        weights.append(scores.masked_fill(~seen, -math.inf).softmax(-1))
        heads.append(weights[-1] @ (c_kv @ W_uv))
    return torch.cat(heads, dim=-1) @ attention.W_o.weight.T, torch.stack(weights, dim=1)


@pytest.mark.parametrize("absorbed", [None, False, True])
@pytest.mark.parametrize("q_rank", [None, Q_RANK])
def test_it_is_the_papers_formula(q_rank, absorbed) -> None:
    attention, queries, keys = make(q_rank=q_rank), draw(QUERIES), draw()
    seen = torch.rand(BATCH, QUERIES, KEYS) < 0.6
    seen[..., 0] = True
    output, weights = by_formula(attention, queries, keys, 4, seen)
    cache = attention.project(keys)
    for found in (cache, KV(cache.keys.clone(), cache.values.clone())):
        mine = attention(queries, found, mask=seen, offset=4, absorbed=absorbed)
        torch.testing.assert_close(mine, output, **EXACT)
    torch.testing.assert_close(attention.weights(queries, cache, seen, offset=4), weights, **EXACT)


def test_absorbed_is_expanded() -> None:
    attention, x = make(), draw()
    by_head = torch.rand(BATCH, HEADS, KEYS, KEYS) < 0.5
    by_head[..., 0] = True
    for settings in (
        {"is_causal": True},
        {"mask": by_head},
        {"mask": by_head[:, 0], "is_causal": True},
    ):
        absorbed, expanded = (attention(x, x, absorbed=each, **settings) for each in (True, False))
        torch.testing.assert_close(absorbed, expanded, **EXACT)
        combined = attention.combine(attention.weights(x, x, **settings), x)
        torch.testing.assert_close(combined, expanded, **EXACT)


def test_at_once_step_by_step_and_by_pieces() -> None:
    attention, x = make(), draw()
    at_once = attention(x, x, is_causal=True)
    cache, rows = attention.new_cache(), []
    for start, end in ((0, 1), (1, 2), (2, 3), (3, 7), (7, 8), (8, KEYS)):
        piece = x[:, start:end]
        weights = attention.weights(piece, cache=cache)
        look = attention.look(piece, cache=cache.fork())
        rows.append(attention(piece, cache=cache))
        kept = KV(*cache.rows)
        seen = causal_mask(end - start, end, offset=start)
        expected = attention(piece, kept, mask=seen, offset=start, absorbed=False)
        torch.testing.assert_close(rows[-1], expected, **EXACT)
        assert torch.equal(attention.weights_of(look), weights)
        torch.testing.assert_close(attention.combine(weights, look), expected, **EXACT)
    torch.testing.assert_close(torch.cat(rows, dim=1), at_once, **EXACT)


def test_without_positions_the_keys_are_a_set() -> None:
    attention, x = make(positions=NoPositions()), draw()
    order = torch.randperm(KEYS)
    torch.testing.assert_close(attention(x[:, :1], x[:, order]), attention(x[:, :1], x), **EXACT)
    placed = make()
    assert (placed(x[:, :1], x[:, order]) - placed(x[:, :1], x)).abs().max() > 1e-3


def test_the_cache_has_the_latent_vector_and_one_turned_key() -> None:
    attention, x = make(), draw()
    cache = attention.project(x)
    assert cache.keys.shape == (BATCH, 1, KEYS, RANK)
    assert cache.values.shape == (BATCH, 1, KEYS, D_ROPE)
    each = (cache.keys.nbytes + cache.values.nbytes) // (BATCH * KEYS)
    assert attention.cache_bytes() == each == 8 * (RANK + D_ROPE)
    assert attention.cache_bytes(17) == 17 * each


def test_absorbing_saves_the_expansion_of_every_key() -> None:
    attention = make()
    cache, token = attention.project(draw(1000)), draw(1)
    absorbed, expanded = (
        operations(lambda x, each=each: attention(x, cache, absorbed=each), token)
        for each in (True, False)
    )
    expansion = 2 * 1000 * BATCH * RANK * HEADS * (D_K + D_V)
    assert expanded > expansion
    assert absorbed < expanded - expansion / 2


def test_it_can_be_looked_into_and_intervened_in() -> None:
    attention, x = make(), draw()
    with capture_attention(attention) as seen:
        output = attention(x, x, is_causal=True)
    [weights] = seen["LatentAttention"]
    torch.testing.assert_close(attention.combine(weights, x), output, **EXACT)
    assert torch.equal(weights, weights.tril())
    with changed_attention(attention, lambda weights, visible: weights.roll(1, dims=-1)):
        changed = attention(x, x, is_causal=True)
    torch.testing.assert_close(changed, attention.combine(weights.roll(1, dims=-1), x), **EXACT)


@pytest.mark.parametrize("name", ["d_model", "num_heads", "kv_rank", "d_k", "d_rope", "d_v"])
def test_sizes_are_checked(name) -> None:
    sizes = {"d_model": 8, "num_heads": 2, "kv_rank": 4, "d_k": 4, "d_rope": 2, "d_v": 4}
    with pytest.raises(ValueError, match=rf"^{name}: expected at least 1, got 0$"):
        LatentAttention(**sizes | {name: 0})
    with pytest.raises(ValueError, match="d_k: expected an even number"):
        LatentAttention(**sizes | {"d_rope": 3})


def test_shapes_are_checked() -> None:
    attention = make()
    with pytest.raises(ValueError, match="queries: expected the axes"):
        attention(draw()[..., 1:], draw())
    with pytest.raises(ValueError, match="keys: expected the axes"):
        attention(draw(), draw()[..., 1:])
    with pytest.raises(ValueError, match="values: expected None, or the tensor of the keys"):
        attention(draw(), draw(), draw())
    with pytest.raises(ValueError, match="weights: expected one for each value"):
        attention.combine(torch.ones(BATCH, HEADS, 2, KEYS + 1).double(), attention.project(draw()))


@pytest.fixture(scope="module")
def library():
    """Settings and modules of DeepSeek-V3; an older library caches what has been expanded."""
    pytest.importorskip("transformers", minversion="5.20")
    folder = "transformers.models.deepseek_v3"
    names = ("configuration_deepseek_v3", "modeling_deepseek_v3")
    return tuple(pytest.importorskip(f"{folder}.{name}") for name in names)


class TestDeepseek:
    """DeepSeek-V3's own module, as the library transformers has it."""

    def pair(self, library, *, q_rank=Q_RANK):
        configuration, modeling = library
        config = configuration.DeepseekV3Config(
            hidden_size=D_MODEL,
            num_attention_heads=HEADS,
            num_key_value_heads=HEADS,
            q_lora_rank=q_rank,
            kv_lora_rank=RANK,
            qk_nope_head_dim=D_K,
            qk_rope_head_dim=D_ROPE,
            v_head_dim=D_V,
            num_hidden_layers=1,
        )
        config._attn_implementation = "eager"
        theirs = modeling.DeepseekV3Attention(config, layer_idx=0).eval()
        ours = make(q_rank=q_rank).to(torch.float32)
        copy_parameters(ours, theirs)
        return ours, theirs, modeling.DeepseekV3RotaryEmbedding(config)

    @staticmethod
    def run(theirs, rotary, x):
        length = x.shape[1]
        places = torch.arange(length)[None].expand(len(x), -1)
        hidden = torch.where(causal_mask(length), 0.0, -math.inf).to(x)[None, None]
        with torch.no_grad():
            return theirs(x, rotary(x, places), hidden)[:2]

    @pytest.mark.parametrize("q_rank", [None, Q_RANK])
    def test_it_gives_the_same(self, library, q_rank) -> None:
        ours, theirs, rotary = self.pair(library, q_rank=q_rank)
        x = draw().float()
        output, weights = self.run(theirs, rotary, x)
        largest = output.abs().max()
        for absorbed in (False, True):
            mine = ours(x, x, is_causal=True, absorbed=absorbed)
            assert (mine - output).abs().max() <= 1e-5 * largest
        assert (ours.weights(x, x, is_causal=True) - weights).abs().max() <= 1e-5
        assert weights.amax(-1).median() > 2 / KEYS  # not nearly uniform: errors would show

    def test_in_double_precision_without_their_islands_of_single(
        self, library, monkeypatch
    ) -> None:
        ours, theirs, rotary = self.pair(library)
        ours, theirs, x = ours.double(), theirs.double(), draw()
        monkeypatch.setattr(library[1], "torch", DoubleTorch())
        rates = 10000.0 ** (-torch.arange(0, D_ROPE, 2, dtype=torch.float64) / D_ROPE)
        rotary.inv_freq = rates
        output, _ = self.run(theirs, rotary, x)
        for absorbed in (False, True):
            mine = ours(x, x, is_causal=True, absorbed=absorbed)
            assert (mine - output).abs().max() <= 1e-10 * output.abs().max()

    def test_the_cache_holds_as_many_numbers(self, library) -> None:
        transformers = pytest.importorskip("transformers")
        ours, theirs, rotary = self.pair(library)
        x, cache = draw().float(), transformers.DynamicCache()
        places = torch.arange(KEYS)[None].expand(BATCH, -1)
        with torch.no_grad():
            theirs(x, rotary(x, places), None, past_key_values=cache)
        [layer] = cache.layers
        mine = ours.project(x)
        torch.testing.assert_close(layer.keys, mine.keys, rtol=0, atol=1e-5)
        numbers = (layer.keys.numel() + layer.values.numel()) // (BATCH * KEYS)
        assert 4 * numbers == ours.cache_bytes()


class DoubleTorch:
    """The name `torch` in the library's module, where single precision means double."""

    float = float32 = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


@torch.no_grad()
def copy_parameters(ours, theirs) -> None:
    """Give theirs our weights: each of their matrices stacks two of ours, head by head."""
    by_head = lambda linear: linear.weight.unflatten(0, (HEADS, -1))  # noqa: E731
    queries = torch.cat([by_head(ours.W_uq), by_head(ours.W_qr)], dim=1).flatten(0, 1)
    if theirs.q_lora_rank is None:
        theirs.q_proj.weight.copy_(queries)
    else:
        theirs.q_a_proj.weight.copy_(ours.W_dq[0].weight)
        theirs.q_a_layernorm.weight.copy_(ours.W_dq[1].weight)
        theirs.q_b_proj.weight.copy_(queries)
    theirs.kv_a_proj_with_mqa.weight.copy_(torch.cat([ours.W_dkv[0].weight, ours.W_kr.weight]))
    theirs.kv_a_layernorm.weight.copy_(ours.W_dkv[1].weight)
    keys_values = torch.cat([by_head(ours.W_uk), by_head(ours.W_uv)], dim=1)
    theirs.kv_b_proj.weight.copy_(keys_values.flatten(0, 1))
    theirs.o_proj.weight.copy_(ours.W_o.weight)


def test_another_base_of_the_rotation_is_another_function() -> None:
    attention, x = make(), draw()
    other = make(positions=RotaryPositions(d_k=D_ROPE, base=3.0))
    other.load_state_dict(attention.state_dict())
    assert (other(x, x) - attention(x, x)).abs().max() > 1e-3


def test_what_expands_the_cache_is_called_where_it_is_no_matrix_any_more() -> None:
    """Decoding reads two matrices: a hook or an adapter in their place must have its say."""
    attention, x = make(), draw()
    plain = attention(x, attention.project(x))
    attention.W_uv.register_forward_hook(lambda module, given, output: 2 * output)
    cached = attention(x, attention.project(x))
    torch.testing.assert_close(cached, 2 * plain, **EXACT)
    attention.W_uk = torch.nn.Sequential(attention.W_uk)
    torch.testing.assert_close(attention(x, attention.project(x)), 2 * plain, **EXACT)
    with pytest.raises(ValueError, match=r"absorbed: expected None or False where W_uk is no"):
        attention(x, attention.project(x), absorbed=True)
