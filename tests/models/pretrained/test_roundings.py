"""Half precision, bit for bit: where the library rounds, and what the formulae say.

The kind: a number rounded at another place than where the weights were trained. It shows in no
type and hardly in a sum of errors; a width like 40, whose root no half precision holds, shows it.
"""

import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.attention import (
    MultiHeadAttention,
    RotaryPositions,
    dot_product_weights,
    masked_softmax,
)
from attention_book.models import (
    FeedForward,
    LanguageConfig,
    LanguageModel,
    RMSNorm,
    load_pretrained,
)

sys.path.append(str(Path(__file__).parent))
from oracle import FAMILIES, VOCABULARY, library_model, logits, saved

pytest.importorskip("safetensors", minversion="0.8")
transformers = pytest.importorskip("transformers", minversion="5.0")

WIDTHS = [40, 48, 56, 33]
pytestmark = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)


def draw(*sizes: int, dtype: torch.dtype, seed: int = 1) -> Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed)).to(dtype)


@torch.no_grad()
def test_the_embeddings_scale_is_rounded_first(dtype) -> None:
    from transformers.models.gemma3.modeling_gemma3 import Gemma3TextScaledWordEmbedding

    ids = torch.arange(50)[None]
    for width in WIDTHS:
        config = LanguageConfig.today(vocabulary=50, d_model=width, num_heads=1, d_k=8)
        model = LanguageModel(config).to(dtype)
        weight, root = model.stack.embedding.weight, torch.tensor(width**0.5, dtype=dtype)
        assert torch.equal(model.stack.embed(ids), weight[ids] * root)
        theirs = Gemma3TextScaledWordEmbedding(50, width, padding_idx=0, embed_scale=width**0.5)
        theirs = theirs.to(dtype)
        theirs.weight.copy_(weight)
        assert torch.equal(model.stack.embed(ids), theirs(ids))


@torch.no_grad()
@pytest.mark.parametrize("family", ["llama", "qwen3", "mistral", "gemma3"])
def test_a_norm_rounds_where_the_library_does(family, dtype) -> None:
    from transformers.models.gemma3.modeling_gemma3 import Gemma3RMSNorm
    from transformers.models.llama.modeling_llama import LlamaRMSNorm
    from transformers.models.mistral.modeling_mistral import MistralRMSNorm
    from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm

    kinds = {"llama": LlamaRMSNorm, "qwen3": Qwen3RMSNorm, "mistral": MistralRMSNorm}
    for width in WIDTHS:
        around_one = family == "gemma3"
        ours = RMSNorm(d_model=width, around_one=around_one, eps=1e-6).to(dtype)
        theirs = (kinds | {"gemma3": Gemma3RMSNorm})[family](width, eps=1e-6).to(dtype)
        ours.weight.copy_(draw(width, dtype=dtype, seed=2))
        theirs.weight.copy_(ours.weight)
        x = 3 * draw(30, width, dtype=dtype)
        x32, gain = x.float(), ours.weight
        unit = x32 * torch.rsqrt(x32.square().mean(dim=-1, keepdim=True) + 1e-6)
        formula = (unit * (1 + gain.float())).to(dtype) if around_one else gain * unit.to(dtype)
        assert torch.equal(ours(x), formula)
        assert torch.equal(ours(x), theirs(x))


@torch.no_grad()
def test_the_gated_network_rounds_after_each_product(dtype) -> None:
    for kind, function in (
        ("swiglu", F.silu),
        ("geglu", lambda x: F.gelu(x, approximate="tanh")),
    ):
        ours, x = (
            FeedForward(d_model=40, d_ff=56, kind=kind, bias=False).to(dtype),
            draw(9, 40, dtype=dtype),
        )
        inner = function(x @ ours.W_gate.weight.mT) * (x @ ours.W_1.weight.mT)
        assert torch.equal(ours(x), inner @ ours.W_2.weight.mT)


@torch.no_grad()
def test_queries_and_keys_are_normalized_rounded_turned_and_rounded(dtype) -> None:
    for around_one in (False, True):
        norms = [RMSNorm(d_model=10, around_one=around_one) for _ in range(2)]
        positions = RotaryPositions(d_k=10, pairing="halves")
        settings = {"query_norm": norms[0], "key_norm": norms[1], "positions": positions}
        attention = MultiHeadAttention(d_model=40, num_heads=4, **settings).to(dtype)
        for seed, norm in enumerate(norms):
            norm.weight.copy_(draw(10, dtype=dtype, seed=seed))
        x = draw(2, 7, 40, dtype=dtype)
        turned = []
        for linear, norm in zip((attention.W_q, attention.W_k), norms, strict=True):
            heads = (x @ linear.weight.mT).unflatten(-1, (4, 10)).transpose(1, 2)
            turned.append(positions.rotate(norm(heads).float()).to(dtype))
        assert torch.equal(attention.project(x).keys, turned[1])
        expected = dot_product_weights(turned[0], turned[1])
        assert torch.equal(attention.weights(x, x), expected)


@torch.no_grad()
def test_weights_are_rounded_once(dtype) -> None:
    scores = 4 * draw(5, 40, 33, dtype=dtype)
    mask = draw(5, 40, 33, dtype=torch.float32, seed=4) > -0.5
    hidden = scores.float().masked_fill(~mask, -torch.inf)
    assert torch.equal(masked_softmax(scores, mask), hidden.softmax(dim=-1).to(dtype))
    assert torch.equal(masked_softmax(scores), scores.float().softmax(dim=-1).to(dtype))
    theirs = F.softmax(scores, dim=-1, dtype=torch.float32).to(dtype)  # as the library's attention
    assert torch.equal(masked_softmax(scores), theirs)
    q, k = draw(2, 9, 40, dtype=dtype), draw(2, 33, 40, dtype=dtype, seed=3)
    scaled = (q * (1 / 40**0.5)) @ k.mT  # the queries first: the product could overflow
    assert torch.equal(dot_product_weights(q, k), scaled.float().softmax(dim=-1).to(dtype))


@torch.no_grad()
@pytest.mark.parametrize("family", FAMILIES)
def test_a_text_of_one_token_gets_the_librarys_bits(family, dtype, tmp_path) -> None:
    """Nothing is turned and nothing averaged there: every other rounding is the library's."""
    theirs = library_model(family).to(dtype)
    ours = load_pretrained(saved(theirs, tmp_path)).model
    tokens = torch.arange(3, VOCABULARY)[:, None]
    assert torch.equal(ours(tokens), logits(theirs, tokens))
    if "qwen3" in family or family == "gemma3":  # at place 0 a key is its norm's
        x = draw(2, 1, 48, dtype=dtype)
        attention, other = ours.stack.layers[0].self_attention, theirs.model.layers[0].self_attn
        keys = other.k_norm(other.k_proj(x).unflatten(-1, (-1, other.head_dim)))
        assert torch.equal(attention.project(x).keys, keys.transpose(1, 2))
