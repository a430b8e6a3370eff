"""Configurations that nobody has written down: our logits against those of the library.

The kind: a `config.json` combines families, groups, windows, norms, types and stretched positions
in ways that no list of examples covers, and what is computed otherwise is wrong without a word. So
the configurations are drawn, and both read the same folder: at once, through the cache in pieces,
and in batches that are padded on either side.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rounding import off_by
from torch import Tensor

from attention_book.models import LanguageModel, load_pretrained

sys.path.append(str(Path(__file__).parent))
from oracle import truly_double

safetensors = pytest.importorskip("safetensors.torch")
transformers = pytest.importorskip("transformers", minversion="5.0")

#: What the library calls the model, and what it calls its gate.
FAMILIES = {
    "llama": ("Llama", "hidden_act"),
    "mistral": ("Mistral", "hidden_act"),
    "qwen2": ("Qwen2", "hidden_act"),
    "qwen3": ("Qwen3", "hidden_act"),
    "gemma3_text": ("Gemma3", "hidden_activation"),
}
GATES = ["silu", "swish", "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"]
DTYPES = {
    "float32": torch.float32,
    "float64": torch.float64,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


@st.composite
def stretched(draw: st.DrawFn, pairs: int) -> dict[str, Any]:
    """Positions that are stretched, with the options of their kind."""
    kinds = ["default", "linear", "yarn", "llama3", "longrope"]
    kind = draw(st.sampled_from(kinds if pairs < 2 else [*kinds, "dynamic"]))
    found: dict[str, Any] = {"rope_type": kind}
    if kind != "default":
        found["factor"] = draw(st.sampled_from([1.0, 2, 3.5, 8.0]))
    if kind in ("yarn", "llama3", "longrope") and draw(st.booleans()):
        found["original_max_position_embeddings"] = draw(st.integers(4, 64))
    if kind == "llama3":
        found |= {"low_freq_factor": draw(st.sampled_from([1.0, 0.5, 2])), "high_freq_factor": 4.0}
    if kind == "longrope":
        factors = st.lists(st.floats(1, 9), min_size=pairs, max_size=pairs)
        found |= {"short_factor": draw(factors), "long_factor": draw(factors)}
        if draw(st.booleans()):
            del found["factor"]
    if kind == "yarn":
        options = {
            "beta_fast": st.sampled_from([None, 16.0, 32]),
            "beta_slow": st.sampled_from([None, 2.0, 1]),
            "truncate": st.booleans(),
            "mscale": st.sampled_from([0.0, 0.7, 1.0]),
            "mscale_all_dim": st.sampled_from([0.0, 0.5, 1.0]),
        }
        for name in draw(st.sets(st.sampled_from([*options]))):
            found[name] = draw(options[name])
    if kind in ("yarn", "longrope") and draw(st.integers(0, 2)) == 0:
        found["attention_factor"] = draw(st.sampled_from([0.8, 1.3]))
    return found


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Any]:
    """What a `config.json` may hold, in the spelling of today or in that of before 2025."""
    family = draw(st.sampled_from([*FAMILIES]))
    kv_heads, group, layers = (draw(st.integers(1, 3)) for _ in range(3))
    heads, pairs = kv_heads * group, draw(st.integers(1, 6))
    own_size = family in ("qwen3", "gemma3_text") or (family != "qwen2" and draw(st.booleans()))
    found: dict[str, Any] = {
        "model_type": family,
        "vocab_size": draw(st.integers(5, 40)),
        "hidden_size": heads * (draw(st.integers(1, 9)) if own_size else 2 * pairs),
        "intermediate_size": draw(st.integers(1, 20)),
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "max_position_embeddings": draw(st.integers(8, 90)),
        "rms_norm_eps": draw(st.sampled_from([1e-6, 1e-5, 1e-2])),
        "tie_word_embeddings": draw(st.booleans()),
        FAMILIES[family][1]: draw(st.sampled_from(GATES)),
        "bos_token_id": None,
        "eos_token_id": draw(st.sampled_from([None, 2, [2, 3]])),
        "pad_token_id": None,
    }
    if own_size:
        found["head_dim"] = 2 * pairs
    elif family != "qwen2" and draw(st.booleans()):
        found["head_dim"] = None
    if group == 1 and family in ("llama", "qwen2") and draw(st.booleans()):
        found["num_key_value_heads"] = None
    if family not in ("mistral", "qwen2"):
        found["attention_bias"] = draw(st.booleans())
    if family == "llama":
        found["mlp_bias"] = draw(st.booleans())
    window = draw(st.integers(2, 80))  # of 1 the library's cache keeps everything
    kinds = st.sampled_from(["full_attention", "sliding_attention"])
    types = draw(st.none() | st.lists(kinds, min_size=layers, max_size=layers))
    if family == "mistral":
        found["sliding_window"] = draw(st.sampled_from([None, window]))
    elif family in ("qwen2", "qwen3") and draw(st.booleans()):
        found |= {"use_sliding_window": True, "sliding_window": window, "layer_types": types}
        found["max_window_layers"] = draw(st.integers(0, layers))
    elif family == "gemma3_text":
        found |= {"sliding_window": window, "layer_types": types}
        found["sliding_window_pattern"] = draw(st.integers(1, 3))
        found["query_pre_attn_scalar"] = draw(st.sampled_from([1, 16, 21]))
    return found | draw(positions(family, pairs))


@st.composite
def positions(draw: st.DrawFn, family: str, pairs: int) -> dict[str, Any]:
    """How the positions turn, and where that is said."""
    scaling, base = draw(stretched(pairs)), draw(st.sampled_from([10000.0, 30, 5e5]))
    is_old = draw(st.booleans())
    if family == "gemma3_text":
        scaling.pop("truncate", None)
        if is_old:
            old = {"rope_theta": base, "rope_local_base_freq": draw(st.sampled_from([1e4, 50.0]))}
            return old | ({} if scaling["rope_type"] == "default" else {"rope_scaling": scaling})
        nearby = {"rope_type": "linear", "factor": 2.0} if draw(st.booleans()) else {}
        both = {"full_attention": {"rope_theta": base, **scaling}, "sliding_attention": nearby}
        return {"rope_parameters": both}
    outside = {}
    if scaling["rope_type"] in ("yarn", "longrope", "llama3") and draw(st.integers(0, 3)) == 0:
        outside = {"original_max_position_embeddings": draw(st.integers(4, 64))}
    if not is_old:
        return {"rope_parameters": {"rope_theta": base, **scaling}, **outside}
    if draw(st.booleans()):
        scaling["type"] = scaling.pop("rope_type")
    return {"rope_theta": base, "rope_scaling": scaling, **outside}


@st.composite
def readings(draw: st.DrawFn) -> dict[str, Any]:
    """How many texts are read, how long, in which pieces, with which padding in the first."""
    length, batch = draw(st.integers(1, 70)), draw(st.integers(1, 3))
    cuts = draw(st.sets(st.integers(1, max(length - 1, 1)), max_size=4)) if length > 1 else set()
    most = draw(st.sampled_from([0, min([*cuts, length]) - 1]))  # all in the first piece
    return {
        "length": length,
        "pieces": [*sorted(cuts), length],
        "padding": draw(st.lists(st.integers(0, most), min_size=batch, max_size=batch)),
        "side": draw(st.sampled_from(["left", "right"])),
        "dtype": draw(st.sampled_from([*DTYPES])),
        "seed": draw(st.integers(0, 99)),
    }


def library_model(folder: Path, config: dict[str, Any], seed: int) -> Any:
    """Return the library's model of a `config.json` that is in a folder, and write its weights."""
    family = FAMILIES[config["model_type"]][0]
    kind = "Gemma3TextConfig" if family == "Gemma3" else f"{family}Config"
    (folder / "config.json").write_text(json.dumps(config))
    found = getattr(transformers, kind).from_pretrained(folder, attn_implementation="eager")
    model = getattr(transformers, f"{family}ForCausalLM")(found).eval()
    draws = torch.Generator().manual_seed(seed)
    for weight in model.parameters():
        noise = 0.5 * torch.randn(weight.shape, generator=draws)
        weight.data.copy_(weight + 0.4 * noise if weight.ndim == 1 else noise).clamp_(-1.5, 1.5)
    return model


def library_logits(model: Any, tokens: Tensor, real: Tensor, pieces: list[int]) -> Tensor:
    """Return the library's logits, read piece by piece, with its positions as in a new model."""
    model.model.rotary_emb = type(model.model.rotary_emb)(model.config)
    places = (real.long().cumsum(dim=1) - 1).clamp(min=0)
    past, found, begin = None, [], 0
    for end in pieces:
        output = model(
            tokens[:, begin:end],
            attention_mask=None if real.all() else real[:, :end].long(),
            position_ids=places[:, begin:end],
            past_key_values=past,
            use_cache=len(pieces) > 1,
        )
        past, begin = output.past_key_values, end
        found.append(output.logits)
    return torch.cat(found, dim=1)


def our_logits(model: LanguageModel, tokens: Tensor, real: Tensor, pieces: list[int]) -> Tensor:
    known = None if real.all() else real
    if len(pieces) == 1:
        return model(tokens, known)
    state, found, begin = model.start(len(tokens)), [], 0
    for end in pieces:
        if end - begin == 1 and (known is None or known[:, begin].all()):
            logits, state = model.step(tokens[:, begin], state)
            logits = logits[:, None]
        else:
            part = None if known is None else known[:, begin:end]
            logits, state = model.read(tokens[:, begin:end], state, real=part)
        found.append(logits)
        begin = end
    return torch.cat(found, dim=1)


@contextmanager
def exactly(model: Any) -> Iterator[Any]:
    """Put a model of the library into double precision, its islands of single precision too."""
    torch.set_default_dtype(torch.float64)  # of what it divides in whole numbers
    try:
        with truly_double(model) as exact:
            yield exact
    finally:
        torch.set_default_dtype(torch.float32)


def differs(config: dict[str, Any], reading: dict[str, Any]) -> str:
    """Return how our logits differ from the library's, or nothing."""
    dtype, length = DTYPES[reading["dtype"]], reading["length"]
    draws = torch.Generator().manual_seed(reading["seed"])
    place, gaps = torch.arange(length), torch.tensor(reading["padding"])[:, None]
    real = place >= gaps
    ways = [length], reading["pieces"]
    if reading["side"] == "right":
        # The library's windows count columns: with one, nothing may follow the padding.
        end = length if config.get("sliding_window") else reading["pieces"][0]
        real = (place < end - gaps) | (place >= end)
        ways = ways[: 2 if end < length else 1]
    tokens = torch.randint(config["vocab_size"], real.shape, generator=draws)
    if any(kind in str(config) for kind in ("dynamic", "longrope")):
        real = torch.ones_like(real)  # padding counts as text where the length matters
    with TemporaryDirectory() as name, torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        theirs = library_model(folder, config, reading["seed"]).to(dtype)
        kept = {key: value.clone() for key, value in theirs.state_dict().items()}
        if config["tie_word_embeddings"]:
            del kept["lm_head.weight"]
        safetensors.save_file(kept, folder / "model.safetensors")
        ours = load_pretrained(folder).model
        found = [our_logits(ours, tokens, real, way)[real] for way in ways]
        same_type = [library_logits(theirs, tokens, real, way)[real] for way in ways]
        with exactly(theirs) as exact_model:
            exact = [library_logits(exact_model, tokens, real, way)[real] for way in ways]
    for way, our, their, true in zip(ways, found, same_type, exact, strict=True):
        if wrong := off_by(our, their, true):
            return f"{way}: {wrong}"
    return ""


#: A small model whose trained length is said twice, and differently.
TWICE = {
    "model_type": "llama",
    "vocab_size": 9,
    "hidden_size": 16,
    "intermediate_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
    "tie_word_embeddings": False,
    "original_max_position_embeddings": 60,
    "rope_parameters": {
        "rope_type": "llama3",
        "rope_theta": 30.0,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8,
    },
}
READING = {
    "length": 40,
    "pieces": [30, 40],
    "padding": [0],
    "side": "left",
    "dtype": "float32",
    "seed": 1,
}


#: In single precision one logit is hit by rounding three times as hard as the library's.
HIT = {
    "model_type": "qwen2",
    "vocab_size": 9,
    "hidden_size": 72,
    "intermediate_size": 15,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 68,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
    "hidden_act": "gelu_new",
    "rope_theta": 30,
    "rope_scaling": {
        "rope_type": "yarn",
        "factor": 3.5,
        "beta_slow": None,
        "beta_fast": 32,
        "mscale": 0.7,
        "mscale_all_dim": 1.0,
    },
    "original_max_position_embeddings": 52,
}
#: What the library's `gelu_fast` lacks of √(2/π), this model magnifies some 500 times.
MAGNIFIED = {
    "model_type": "gemma3_text",
    "vocab_size": 5,
    "hidden_size": 14,
    "intermediate_size": 1,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 8,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
    "hidden_activation": "gelu_fast",
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
    "head_dim": 4,
    "attention_bias": False,
    "sliding_window": 9,
    "layer_types": None,
    "sliding_window_pattern": 3,
    "query_pre_attn_scalar": 1,
    "rope_theta": 10000.0,
    "rope_local_base_freq": 50.0,
    "rope_scaling": {"rope_type": "dynamic", "factor": 2},
}
HARD = READING | {"length": 33, "pieces": [33], "padding": [0, 0], "side": "right", "seed": 99}


@example(config=TWICE, reading=READING)
@example(config=HIT, reading=HARD)
@example(
    config=MAGNIFIED,
    reading=HARD | {"length": 32, "pieces": [32], "side": "left", "dtype": "float64", "seed": 2},
)
@pytest.mark.differential
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(config=configs(), reading=readings())
def test_what_is_read_computes_what_the_library_does(
    config: dict[str, Any], reading: dict[str, Any]
) -> None:
    assert differs(config, reading) == ""
