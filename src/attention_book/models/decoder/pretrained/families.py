"""The families of models that can be read: what their ``config.json`` says of a decoder."""

from collections.abc import Callable
from typing import Any

from attention_book.models.decoder.config import DecoderConfig, FeedForwardKind
from attention_book.models.decoder.pretrained.rope_settings import (
    rotary_by_layer_type,
    rotary_settings,
)
from attention_book.models.decoder.pretrained.stored_config import StoredConfig

_WINDOWED = {"full_attention": False, "sliding_attention": True}
_SILU: dict[str, FeedForwardKind] = {"silu": "swiglu", "swish": "swiglu"}
_GELU: dict[str, FeedForwardKind] = {"gelu_pytorch_tanh": "geglu"}


def decoder_config(config: StoredConfig) -> DecoderConfig:
    """Return the settings of the decoder that a ``config.json`` describes.

    Raises:
        PretrainedError: if the family is unknown, a value is missing or out of range, or the
            model does something that ours does not.

    >>> stored = {"model_type": "mistral", "vocab_size": 100, "hidden_size": 64,
    ...     "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    ...     "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "sliding_window": 16}
    >>> found = decoder_config(StoredConfig(stored, place="config.json"))
    >>> found.head_size, found.num_kv_heads, found.windows
    (16, 2, (16, 16))
    """
    if config.values.get("model_type") == "gemma3":  # it sees pictures too: its part for text
        text = config.part("text_config")
        if text is None:
            raise config.refuse("text_config", "an object")
        config = StoredConfig({**config.values, **text.values}, place=text.place)
    family = config.one_of("model_type", FAMILIES)
    config.must_be("quantization_config")
    settings = family(config)
    try:
        return DecoderConfig(**_sizes(config), **settings, **_special_ids(config), fused=False)
    except ValueError as error:
        raise config.refuse("settings", "some that fit together", str(error)) from error


def _llama(config: StoredConfig) -> dict[str, Any]:
    config.must_be("pretraining_tp", 1)
    return {
        **_attention(config),
        "rotary": rotary_settings(config),
        "feed_forward": config.one_of("hidden_act", _SILU, "silu"),
        "feed_forward_bias": config.flag("mlp_bias", False),
        "tied": config.flag("tie_word_embeddings", False),
        "embedding_scale": 1.0,
    }


def _mistral(config: StoredConfig) -> dict[str, Any]:
    config.must_be("layer_types")
    window = config.maybe_whole("sliding_window", 4096)
    layers = _layers(config)
    return {
        **_attention(config, kv_heads=8),
        "rotary": rotary_settings(config),
        "windows": () if window is None else (window,) * layers,
        "feed_forward": config.one_of("hidden_act", _SILU, "silu"),
        "tied": config.flag("tie_word_embeddings", False),
        "embedding_scale": 1.0,
    }


def _qwen3(config: StoredConfig) -> dict[str, Any]:
    layers = _layers(config)
    window = None
    if config.flag("use_sliding_window", False):
        window = config.maybe_whole("sliding_window", 4096)
    first = config.whole("max_window_layers", 28, least=0)
    windowed = [window is not None and layer >= first for layer in range(layers)]
    return {
        **_attention(config, kv_heads=32, head_size=128),
        "rotary": rotary_settings(config),
        "windows": _windows(config, windowed, window),
        "feed_forward": config.one_of("hidden_act", _SILU, "silu"),
        "tied": config.flag("tie_word_embeddings", False),
        "qk_norm": True,
        "embedding_scale": 1.0,
    }


def _gemma3(config: StoredConfig) -> dict[str, Any]:
    config.must_be("attn_logit_softcapping")
    config.must_be("final_logit_softcapping")
    config.must_be("use_bidirectional_attention", False)
    layers = _layers(config)
    old = "_sliding_window_pattern"
    name = old if config.values.get("sliding_window_pattern") is None else "sliding_window_pattern"
    pattern = config.whole(name, 6)
    windowed = [(layer + 1) % pattern > 0 for layer in range(layers)]
    everywhere, nearby = rotary_by_layer_type(config)
    return {
        **_attention(config, heads=8, kv_heads=4, head_size=256),
        "rotary": everywhere,
        "windowed_rotary": nearby,
        "windows": _windows(config, windowed, config.maybe_whole("sliding_window", 4096)),
        "feed_forward": config.one_of("hidden_activation", _GELU, "gelu_pytorch_tanh"),
        "tied": config.flag("tie_word_embeddings", True),
        "qk_norm": True,
        "around_one": True,
        "norms_after": True,
        "scale": config.number("query_pre_attn_scalar", 256.0) ** -0.5,
    }


#: The kinds that ``model_type`` may name.
FAMILIES: dict[str, Callable[[StoredConfig], dict[str, Any]]] = {
    "llama": _llama,
    "mistral": _mistral,
    "qwen3": _qwen3,
    "gemma3_text": _gemma3,
}


def _sizes(config: StoredConfig) -> dict[str, Any]:
    gemma = config.values.get("model_type") == "gemma3_text"
    return {
        "vocabulary": config.whole("vocab_size", 262_208 if gemma else None),
        "d_model": config.whole("hidden_size", 2304 if gemma else None, most=2**20),
        "d_ff": config.whole("intermediate_size", 9216 if gemma else None),
        "num_layers": _layers(config),
        "eps": config.number("rms_norm_eps", 1e-6),
    }


def _attention(
    config: StoredConfig,
    *,
    heads: int | None = None,
    kv_heads: int | None = None,
    head_size: int | None = None,
) -> dict[str, Any]:
    num_heads = config.whole("num_attention_heads", heads, most=2**16)
    # Where it is null there are as many as of queries; where it is missing the family's own.
    shared = num_heads if "num_key_value_heads" in config.values else kv_heads or num_heads
    return {
        "num_heads": num_heads,
        "num_kv_heads": config.whole("num_key_value_heads", shared),
        "d_k": config.whole("head_dim", head_size or _share(config, num_heads), most=2**16),
        "bias": config.flag("attention_bias", False),
    }


def _layers(config: StoredConfig) -> int:
    default = 26 if config.values["model_type"] == "gemma3_text" else None
    return config.whole("num_hidden_layers", default, most=10_000)


def _share(config: StoredConfig, num_heads: int) -> int:
    """Return the size of a head where it is not said; 0, which is refused, where there is none."""
    return config.whole("hidden_size", most=2**20) // num_heads


def _windows(
    config: StoredConfig, windowed: list[bool], window: int | None
) -> tuple[int | None, ...]:
    """Return the window of each layer, by ``layer_types`` where they are listed."""
    listed = config.values.get("layer_types")
    if listed is not None:
        known = isinstance(listed, list) and all(str(each) in _WINDOWED for each in listed)
        if not known or len(listed) != len(windowed):
            raise config.refuse(
                "layer_types",
                f"{' or '.join(_WINDOWED)} for each of {len(windowed)} layers",
                listed,
            )
        windowed = [_WINDOWED[str(each)] for each in listed]
    if any(windowed) and window is None:
        raise config.refuse("sliding_window", "a whole number of 1 or more")
    return tuple(window if each else None for each in windowed)


def _special_ids(config: StoredConfig) -> dict[str, Any]:
    """Return the special tokens; what there is none of gets a number outside the vocabulary."""
    vocabulary = config.whole("vocab_size", 262_208)
    found: dict[str, int] = {}
    for name in ("eos", "bos", "pad"):
        given = [each for each in config.ids(f"{name}_token_id") if each < vocabulary]
        free = (each for each in (*given, vocabulary, vocabulary + 1, vocabulary + 2))
        found[name] = next(each for each in free if each not in found.values())
    return found
