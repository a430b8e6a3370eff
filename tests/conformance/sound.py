"""Sound attention of others and by hand, in its own conventions: none may be accused."""

import broken_parts
import torch
from broken_kernels import causal, good_half, grouped
from broken_sequences import layer, model
from torch import nn
from torch.nn import functional as F

from attention_book.conformance import Kernel, from_torch, from_transformers, from_x_transformers

sdpa = F.scaled_dot_product_attention


def kernels():
    yield Kernel(sdpa, empty_row="any", name="torch sdpa, boolean mask")
    yield Kernel(sdpa, mask="additive", empty_row="any", name="torch sdpa, additive mask")
    yield Kernel(
        lambda q, k, v: sdpa(q, k, v, is_causal=True),
        mask="none",
        causal=True,
        square=True,
        name="torch sdpa, is_causal",
    )
    yield Kernel(
        lambda q, k, v, m: sdpa(q, k, v, m, enable_gqa=True),
        groups=2,
        empty_row="any",
        name="torch sdpa, grouped",
    )
    yield Kernel(good_half, name="by hand")
    yield Kernel(causal(), causal=True, name="causal by hand")
    yield Kernel(causal(window=3), causal=True, window=3, name="window by hand")
    yield Kernel(grouped("right"), groups=2, name="grouped by hand")
    yield _of_transformers()


def _of_transformers():
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    module = nn.Module()
    module.is_causal, module.num_key_value_groups = False, 2

    def call(q, k, v, mask):
        return sdpa_attention_forward(module, q, k, v, mask, is_causal=False)[0].transpose(1, 2)

    return Kernel(
        call,
        groups=2,
        empty_row="any",
        mask="additive",
        compiles=False,
        name="transformers sdpa_attention_forward",
    )


def modules():
    yield model("")[0]
    yield model("", causal=False)[0]
    yield model("", window=3, prefill=None, chunks=True)[0]
    yield layer("")[0]
    yield layer("", causal=False)[0]
    yield layer("", rotary="halves")[0]
    yield layer("", rotary="neighbours")[0]
    yield from _of_torch()
    yield from _models_of_transformers()
    yield from _of_x_transformers()


def _of_torch():
    torch.manual_seed(0)
    for first in (True, False):
        heads = nn.MultiheadAttention(16, 4, dropout=0.1, batch_first=first)
        yield from_torch(heads, name=f"torch MultiheadAttention, batch_first={first}")
        name = f"torch MultiheadAttention, cross, batch_first={first}"
        yield from_torch(heads, cross=True, name=name)
    other = nn.MultiheadAttention(16, 4, kdim=12, vdim=12, bias=False, batch_first=True)
    yield from_torch(other, name="torch MultiheadAttention, kdim")
    own_keys = nn.MultiheadAttention(16, 4, add_bias_kv=True, add_zero_attn=True)
    yield from_torch(own_keys, half=None, name="torch MultiheadAttention, add_bias_kv")
    one = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    yield from_torch(one)
    yield from_torch(nn.TransformerEncoder(one, 2))
    yield from_torch(nn.TransformerDecoderLayer(16, 4, 32))


def _models_of_transformers():
    import transformers as t

    t.logging.set_verbosity_error()
    torch.manual_seed(0)
    size = {
        "vocab_size": 13,
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 64,
        "initializer_range": 0.3,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    grouped = {"num_key_value_heads": 2, **size}
    windows = {"head_dim": 8, "sliding_window": 4, **grouped}
    of_gpt2 = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64}
    of_t5 = {"d_model": 16, "d_kv": 4, "d_ff": 32, "num_layers": 2, "num_heads": 4}
    small = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}
    for found in (
        t.LlamaForCausalLM(t.LlamaConfig(attn_implementation="eager", **grouped)),
        t.GPT2LMHeadModel(t.GPT2Config(vocab_size=13, initializer_range=0.3, **of_gpt2)),
        t.Qwen3ForCausalLM(t.Qwen3Config(head_dim=8, **grouped)),
        t.MistralForCausalLM(t.MistralConfig(sliding_window=4, **grouped)),
        t.Gemma2ForCausalLM(t.Gemma2Config(attn_logit_softcapping=2.0, **windows)),
        t.GPTNeoXForCausalLM(t.GPTNeoXConfig(**size)),
        t.BloomForCausalLM(t.BloomConfig(vocab_size=13, initializer_range=0.3, **small)),
        t.PhiForCausalLM(t.PhiConfig(**grouped)),
        t.BertModel(t.BertConfig(attn_implementation="eager", **size), add_pooling_layer=False),
        t.RobertaModel(t.RobertaConfig(**size), add_pooling_layer=False),
        t.T5ForConditionalGeneration(t.T5Config(vocab_size=13, **of_t5)),
    ):
        yield from_transformers(found)


def _of_x_transformers():
    """They are no part of what is installed for the tests: held to the laws where they are."""
    try:
        from x_transformers import Decoder, Encoder, TransformerWrapper
        from x_transformers.attend import Attend
    except ImportError:
        return
    torch.manual_seed(0)
    size, words = {"dim": 16, "depth": 2, "heads": 4, "attn_dim_head": 8}, {"num_tokens": 13}
    for layers in (Decoder(rotary_pos_emb=True, **size), Encoder(**size)):
        wrapped = TransformerWrapper(max_seq_len=64, attn_layers=layers, **words)
        yield from_x_transformers(wrapped, name=f"x-transformers {type(layers).__name__}")
    yield from_x_transformers(Attend(causal=False).eval())
    yield from_x_transformers(Attend(causal=True).eval())


def subjects():
    yield from kernels()
    yield from modules()
    yield from broken_parts.sound()
