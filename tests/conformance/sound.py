"""Sound attention of others and by hand, in its own conventions: none may be accused."""

import copy

import torch
from broken_kernels import causal, good_half, grouped
from broken_sequences import layer, model
from torch import nn
from torch.nn import functional as F

from attention_book.conformance import Kernel, Sequence

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


def sequences():
    yield model("")[0]
    yield model("", causal=False)[0]
    yield model("", window=3, prefill=None, chunks=True)[0]
    yield layer("")[0]
    yield layer("", causal=False)[0]
    yield layer("", rotary="halves")[0]
    yield layer("", rotary="neighbours")[0]
    yield from _of_torch()
    yield from _models_of_transformers()


def _of_torch():
    torch.manual_seed(0)
    for first in (True, False):
        heads = nn.MultiheadAttention(16, 4, dropout=0.1, batch_first=first)

        def call(x, blocked, heads=heads, first=first):
            y = x if first else x.transpose(0, 1)
            out = heads(y, y, y, key_padding_mask=blocked, need_weights=False)[0]
            return out if first else out.transpose(0, 1)

        def parts(x, heads=heads):
            joint = F.linear(x, heads.in_proj_weight, heads.in_proj_bias)
            return tuple(t.unflatten(-1, (4, 4)).transpose(1, 2) for t in joint.chunk(3, -1))

        yield Sequence(
            call,
            width=16,
            mask="blocked",
            module=heads,
            padding=("right", "left"),
            positions=False,
            parts=parts,
            merge=lambda t, heads=heads: heads.out_proj(t.transpose(1, 2).flatten(2)),
            name=f"torch MultiheadAttention, batch_first={first}",
        )
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    yield Sequence(
        lambda x, blocked: encoder(x, src_key_padding_mask=blocked),
        width=16,
        mask="blocked",
        module=encoder,
        padding=("right", "left"),
        positions=False,
        name="torch TransformerEncoder",
    )


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
    }
    of_gpt2 = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64}
    grouped = {"num_key_value_heads": 2, **size}
    made = {
        "Llama": t.LlamaForCausalLM(t.LlamaConfig(**grouped)),
        "GPT-2": t.GPT2LMHeadModel(t.GPT2Config(vocab_size=13, initializer_range=0.3, **of_gpt2)),
        "Qwen3": t.Qwen3ForCausalLM(t.Qwen3Config(head_dim=8, **grouped)),
        "Mistral": t.MistralForCausalLM(t.MistralConfig(sliding_window=4, **grouped)),
    }
    for name, found in made.items():

        def call(x, real, model=found):
            places = None if real is None else (real.long().cumsum(1) - 1).clamp(min=0)
            mask = None if real is None else real.long()
            return model(x, attention_mask=mask, position_ids=places, use_cache=False)

        def step(x, state, model=found):
            # These caches are written in place by design: without the copy that is what is said.
            with torch.no_grad():  # nor can one with gradients be copied
                out = model(x, past_key_values=copy.deepcopy(state), use_cache=True)
            return out.logits, out.past_key_values

        yield Sequence(
            call,
            vocabulary=13,
            module=found,
            causal=True,
            positions=True,
            padding=("right", "left"),
            start=lambda batch: None,
            step=step,
            window=7 if name == "Mistral" else None,  # 4 in each of two layers
            name=f"transformers {name}",
        )
    bert = t.BertModel(t.BertConfig(**size), add_pooling_layer=False)
    yield Sequence(
        lambda x, real: bert(x, attention_mask=None if real is None else real.long()),
        vocabulary=13,
        module=bert,
        positions=True,
        name="transformers BERT",
    )
