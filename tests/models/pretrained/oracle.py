"""Small models of the library, with weights that an error would show in; and it in true fp64.

Drawn as the library draws them, attention is nearly uniform and the norms' weights are 1: whatever
is wrong there would not show.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import Tensor

VOCABULARY = 97
_SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 48,
    "intermediate_size": 40,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "num_hidden_layers": 3,
    "max_position_embeddings": 256,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
_YARN = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 32,
}
_LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
#: The library's class and what its configuration has beside the sizes.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", {"head_dim": 12, "rope_parameters": _LLAMA3}),
    "llama with biases": ("Llama", {"attention_bias": True, "mlp_bias": True}),
    "mistral": ("Mistral", {"sliding_window": 5}),
    "mistral, no window": ("Mistral", {"sliding_window": None, "rope_parameters": _YARN}),
    "qwen2": (
        "Qwen2",
        {"head_dim": 12, "use_sliding_window": True, "sliding_window": 6, "max_window_layers": 1},
    ),
    "qwen3": ("Qwen3", {"tie_word_embeddings": True}),
    "qwen3, windows": (
        "Qwen3",
        {"use_sliding_window": True, "sliding_window": 6, "max_window_layers": 1},
    ),
    "gemma3": (
        "Gemma3",
        {
            "num_hidden_layers": 4,
            "layer_types": [*["sliding_attention"] * 3, "full_attention"],
            "sliding_window": 5,
            "query_pre_attn_scalar": 21,
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            },
        },
    ),
}


def library_model(name: str) -> Any:
    """Return one of the library's models, in evaluation mode."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import transformers

        family, settings = FAMILIES[name]
        configuration = "Gemma3TextConfig" if family == "Gemma3" else f"{family}Config"
        config = getattr(transformers, configuration)(**{**_SIZES, **settings})
        config._attn_implementation = "eager"
        model = getattr(transformers, f"{family}ForCausalLM")(config).eval()
    draws = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weight in model.parameters():
            noise = 0.3 * torch.randn(weight.shape, generator=draws)
            weight.copy_(weight + noise if weight.ndim == 1 else noise)
    return model


def saved(model: Any, folder: Path, *, in_parts: bool = False) -> Path:
    """Write a model as the library does; in parts, with an index, if asked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.save_pretrained(folder, max_shard_size="20KB" if in_parts else "1GB")
    return folder


def from_folder(folder: Path, like: Any) -> Any:
    """Return the library's own reading of a folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return type(like).from_pretrained(folder, attn_implementation="eager").eval()


class _Doubles:
    """The module torch, in which single precision is double."""

    float32 = float = torch.float64

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


@contextmanager
def truly_double(model: Any) -> Iterator[Any]:
    """Put a model of the library into double precision, its islands of single precision too.

    And its ``gelu_fast``, which has ten digits of √(2/π): a model may magnify the eleventh.
    """
    import transformers.activations as activations
    import transformers.modeling_rope_utils as rope

    def gelu(_: Any, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x, approximate="tanh")

    code = sys.modules[type(model).__module__]
    with (
        mock.patch.object(activations.FastGELUActivation, "forward", gelu),
        mock.patch.object(code, "torch", _Doubles()),
        mock.patch.object(rope, "torch", _Doubles()),
        mock.patch.object(torch.Tensor, "float", torch.Tensor.double),
    ):
        model = model.double()
        model.model.rotary_emb = type(model.model.rotary_emb)(model.config)
        if hasattr(embedding := model.model.embed_tokens, "embed_scale"):
            embedding.embed_scale = torch.tensor(embedding.scalar_embed_scale, dtype=torch.float64)
        yield model


def logits(model: Any, tokens: Tensor, real: Tensor | None = None) -> Tensor:
    """Return the library's logits; positions are counted from the first real token."""
    with torch.no_grad():
        if real is None:
            found: Tensor = model(tokens).logits
            return found
        places = (real.long().cumsum(dim=1) - 1).clamp(min=0)
        return model(tokens, attention_mask=real.long(), position_ids=places).logits


def greedy(model: Any, tokens: Tensor, length: int) -> Tensor:
    """Return the library's greedy continuation with its cache, (batch, length)."""
    past, written = None, []
    with torch.no_grad():
        for _ in range(length):
            output = model(tokens, past_key_values=past, use_cache=True)
            past, tokens = output.past_key_values, output.logits[:, -1:].argmax(dim=-1)
            written.append(tokens)
    return torch.cat(written, dim=1)
