"""Grouped-query attention: the papers' formulas are the oracle, head by head."""

import math

import pytest
import torch
from torch import nn
from torch.export import Dim, export
from torch.nn import functional as F

from attention_book.attention import (
    KV,
    MultiHeadAttention,
    causal_mask,
)
from attention_book.foundations import strict
from attention_book.inspection import peak_bytes

BATCH, QUERIES, KEYS, HEADS = 5, 7, 11, 6
D_K = 2
D_MODEL = HEADS * D_K
EXACT = {"rtol": 0, "atol": 1e-12}


def make(key_value_heads=2, **settings):
    sizes = {"d_model": D_MODEL, "num_heads": HEADS, "num_kv_heads": key_value_heads}
    return MultiHeadAttention(**sizes | settings).double()


def draw():
    return tuple(
        torch.randn(BATCH, length, D_MODEL, dtype=torch.float64) for length in (QUERIES, KEYS, KEYS)
    )


def some_mask(*batch):
    mask = torch.rand(*batch, QUERIES, KEYS) < 0.5
    mask[..., 0] = True
    return mask


def grouped_by_formula(attention, queries, keys, values, seen):
    """Ainslie et al. (2023), section 2.2: each query head, and the keys of its group."""
    per_group = HEADS // attention.num_kv_heads
    heads = []
    for head in range(HEADS):
        group = head // per_group
        W_q = attention.W_q.weight[head * D_K : (head + 1) * D_K]
        W_k = attention.W_k.weight[group * D_K : (group + 1) * D_K]
        W_v = attention.W_v.weight[group * D_K : (group + 1) * D_K]
        scores = torch.einsum(
            "bqm,dm,de,bke->bqk", queries, W_q, torch.eye(D_K).double() @ W_k, keys
        )
        scores = scores / math.sqrt(D_K)
        scores[~seen[:, head]] = -math.inf
        heads.append(scores.softmax(-1) @ (values @ W_v.T))
    return torch.cat(heads, dim=-1) @ attention.W_o.weight.T


def multi_query_by_formula(attention, x, memory, seen):
    """Shazeer (2019), section 3.1, MultiqueryAttentionBatched: K and V have no axis for heads."""
    P_q = attention.W_q.weight.view(HEADS, D_K, D_MODEL).mT  # h d k
    P_k, P_v = attention.W_k.weight.T, attention.W_v.weight.T  # d k, d v
    P_o = attention.W_o.weight.T.view(HEADS, D_K, D_MODEL).mT  # h d v
    Q = torch.einsum("bnd,hdk->bhnk", x, P_q)
    K = torch.einsum("bmd,dk->bmk", memory, P_k)
    V = torch.einsum("bmd,dv->bmv", memory, P_v)
    logits = torch.einsum("bhnk,bmk->bhnm", Q, K) / math.sqrt(D_K)
    weights = logits.masked_fill(~seen, -math.inf).softmax(-1)
    found = torch.einsum("bhnm,bmv->bhnv", weights, V)
    return torch.einsum("bhnv,hdv->bnd", found, P_o)


@pytest.mark.parametrize(
    ("key_value_heads", "shape"),
    [(1, "batch"), (1, "heads"), (2, "heads"), (2, "keys"), (3, "none"), (6, "all")],
)
def test_equal_to_the_formulas_of_the_papers(key_value_heads, shape):
    mask = {
        "none": lambda: None,
        "all": some_mask,
        "batch": lambda: some_mask(BATCH),
        "keys": lambda: some_mask(BATCH)[:, :1],
        "heads": lambda: some_mask(BATCH, HEADS),
    }[shape]()
    whole = torch.ones(1, 1, dtype=torch.bool) if mask is None else mask
    whole = whole.unsqueeze(1) if whole.ndim == 3 else whole
    seen = whole.expand(BATCH, HEADS, QUERIES, KEYS)
    attention, (queries, keys, values) = make(key_value_heads), draw()
    expected = grouped_by_formula(attention, queries, keys, values, seen)
    torch.testing.assert_close(attention(queries, keys, values, mask), expected, **EXACT)
    weights = attention.weights(queries, keys, mask)
    assert weights.shape == (BATCH, HEADS, QUERIES, KEYS)
    assert (weights[~seen] == 0).all()
    torch.testing.assert_close(attention.combine(weights, values), expected, **EXACT)
    if key_value_heads == 1:
        expected = multi_query_by_formula(attention, queries, keys, seen)
        torch.testing.assert_close(attention(queries, keys, mask=mask), expected, **EXACT)


def test_equal_to_torch_with_grouped_heads():
    attention, (queries, keys, _) = make(3), draw()
    pairs = attention.project(keys)
    asked = attention.W_q(queries).unflatten(-1, (HEADS, D_K)).transpose(1, 2)
    heads = F.scaled_dot_product_attention(asked, pairs.keys, pairs.values, enable_gqa=True)
    expected = attention.W_o(heads.transpose(1, 2).flatten(2))
    torch.testing.assert_close(attention(queries, keys), expected, **EXACT)


@pytest.mark.parametrize("key_value_heads", [1, 3, 6])
def test_the_cache_is_as_small_as_promised(key_value_heads):
    attention = make(key_value_heads).to(torch.bfloat16)
    pairs = attention.project(draw()[1].to(torch.bfloat16))
    assert pairs.keys.shape[1] == key_value_heads
    size = pairs.keys.nbytes + pairs.values.nbytes
    assert BATCH * attention.cache_bytes(num_tokens=KEYS) == size


def test_keys_and_weights_of_other_heads_are_refused(unchecked):
    attention, (queries, keys, values) = make(), draw()
    pairs, others = attention.project(keys), make(3).project(keys)
    with pytest.raises(ValueError, match=r"same leading \(batch\) axes"):
        attention(queries, others)
    with pytest.raises(ValueError, match=r"\(5, 6, 7, 11\)"):
        attention(queries, keys, values, torch.ones(5, 2, 7, 11).bool())
    for wrong in (torch.ones(5, 2, 7, 11), torch.ones(5, 6, 7, 4), torch.ones(6, 7, 11)):
        with pytest.raises(ValueError, match=r"weights: .* \(5, 6, 'query', 11\)"):
            attention.combine(wrong.double(), pairs)


def test_values_of_another_number_of_heads_are_refused():
    attention = MultiHeadAttention(d_model=16, num_heads=4, num_kv_heads=2)
    kept = KV(torch.rand(2, 1, 5, 4), torch.rand(2, 1, 5, 4))
    with pytest.raises(ValueError, match="values: expected 2 heads, got 1"):
        attention.combine(torch.rand(2, 4, 5, 5), kept)


# Causal and grouped: hidden by the kernel itself. A mask of all pairs grows with the square of
# the length, and its sizes would be written into an exported program.


class Causal(nn.Module):
    """Self-attention of grouped heads that looks back."""

    def __init__(self):
        super().__init__()
        self.attention = MultiHeadAttention(d_model=32, num_heads=8, num_kv_heads=2)

    def forward(self, x):
        return self.attention(x, x, x, is_causal=True)


def test_long_causal_calls_of_groups_make_no_mask_and_give_the_same(unchecked):
    model, x = Causal().eval(), torch.randn(1, 600, 32)
    with strict(False):
        found = model(x)
        expected = model.attention(x, x, x, causal_mask(600))
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
        gradients = [
            torch.autograd.grad(call.square().sum(), model.parameters())
            for call in (model(x), model.attention(x, x, x, causal_mask(600)))
        ]
        for one, other in zip(*gradients, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
        with torch.no_grad():
            longer = torch.randn(1, 4096, 32)
            assert peak_bytes(lambda: model(longer)) < 20 * 2**20


def test_a_causal_program_of_groups_takes_any_length(unchecked):
    model = Causal().eval()
    sizes = ({0: Dim("batch"), 1: Dim("length")},)
    with strict(False):
        program = export(model, (torch.randn(2, 20, 32),), dynamic_shapes=sizes).module()
        for length in (3, 20, 600):
            x = torch.randn(3, length, 32)
            torch.testing.assert_close(program(x), model(x), rtol=1e-5, atol=1e-6)
