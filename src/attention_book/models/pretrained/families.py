"""The families of models that can be read: what their ``config.json`` says of a decoder."""

from collections.abc import Callable
from typing import Any

from attention_book.models.language import LanguageConfig
from attention_book.models.parts import FeedForwardKind
from attention_book.models.pretrained.model_folder import PretrainedError
from attention_book.models.pretrained.rope_settings import (
    rotary_by_layer_type,
    rotary_settings,
)
from attention_book.models.pretrained.stored_config import StoredConfig

_WINDOWED = {"full_attention": False, "sliding_attention": True}
#: The gates, by the names of ``hidden_act``; several stand for GELU as computed with a tanh.
_GATES: dict[str, FeedForwardKind] = {
    "silu": "swiglu",
    "swish": "swiglu",
    "gelu": "geglu-erf",
    "gelu_python": "geglu-erf",
    "gelu_new": "geglu",
    "gelu_fast": "geglu",
    "gelu_accurate": "geglu",
    "gelu_pytorch_tanh": "geglu",
    "gelu_python_tanh": "geglu",
}
#: What the whole model says for its part for text too, where that is silent.
_OF_ALL = (
    "bos_token_id",
    "eos_token_id",
    "pad_token_id",
    "quantization_config",
    "dtype",
    "torch_dtype",
)


def part_for_text(config: StoredConfig) -> StoredConfig:
    """Return what a ``config.json`` says of the decoder: of a model that sees pictures, a part.

    Raises:
        PretrainedError: if a model that sees pictures has no such part.

    >>> whole = {"model_type": "gemma3", "eos_token_id": 1, "text_config": {"hidden_size": 64}}
    >>> part_for_text(StoredConfig(whole, place="config.json")).values
    {'model_type': 'gemma3_text', 'eos_token_id': 1, 'hidden_size': 64}
    """
    if config.values.get("model_type") != "gemma3":
        return config
    text = config.part("text_config")
    if text is None:
        raise config.refuse("text_config", "an object")
    of_all = {name: config.values[name] for name in _OF_ALL if config.values.get(name) is not None}
    found = {"model_type": "gemma3_text"} | of_all | dict(text.values)
    # Whether the matrices are one is said of the whole model; its part may say it in its place.
    if (tied := config.values.get("tie_word_embeddings")) is not None:
        found["tie_word_embeddings"] = tied
    return StoredConfig(found, place=text.place)


def decoder_config(config: StoredConfig, *, ends: tuple[int, ...] = ()) -> LanguageConfig:
    """Return the settings of the decoder that a ``config.json`` describes.

    Args:
        config: What the file says.
        ends: All tokens that end a text, where other files name more than this one.

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
    config = part_for_text(config)
    family = _family(config)
    if (how := config.values.get("quantization_config")) is not None:
        cure = "save what model.dequantize() of the library transformers returns"
        raise config.refuse("quantization_config", "weights that are not quantized", how, cure=cure)
    if config.values.get("is_causal", True) is not True:  # null too: then all see all
        raise config.refuse("is_causal", "true", config.values["is_causal"])
    settings = family(config)
    try:
        special = _special_ids(config, ends)
        return LanguageConfig.today(**_sizes(config), **settings, **special)
    except PretrainedError:
        raise
    except ValueError as error:
        raise config.refuse("settings", "some that fit together", str(error)) from error


def _family(config: StoredConfig) -> Callable[[StoredConfig], dict[str, Any]]:
    """Return what reads a family, or say what can be done with another."""
    kind = config.values.get("model_type")
    if isinstance(kind, str) and kind in FAMILIES:
        return FAMILIES[kind]
    raise config.refuse(
        "model_type",
        f"one of {', '.join(FAMILIES)}",
        kind,
        cure="of a model of another family HeadViewer shows the attention: let the library "
        'transformers compute it, with attn_implementation="eager" and output_attentions=True',
    )


def _llama(config: StoredConfig) -> dict[str, Any]:
    return {
        **_attention(config),
        "rotary": rotary_settings(config, default_length=2048),
        "feed_forward": config.one_of("hidden_act", _GATES, "silu"),
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
        "bias": False,
        "rotary": rotary_settings(config, default_length=131_072),
        "windows": () if window is None else (window,) * layers,
        "feed_forward": config.one_of("hidden_act", _GATES, "silu"),
        "tied": config.flag("tie_word_embeddings", False),
        "embedding_scale": 1.0,
    }


def _qwen2(config: StoredConfig) -> dict[str, Any]:
    """Queries, keys and values have biases, whatever the settings say; the output has none."""
    attention = _attention(config, kv_heads=32)
    return {**_qwen(config), **attention, "bias": True, "output_bias": False}


def _qwen3(config: StoredConfig) -> dict[str, Any]:
    return {**_qwen(config), **_attention(config, kv_heads=32, head_size=128), "qk_norm": True}


def _qwen(config: StoredConfig) -> dict[str, Any]:
    layers = _layers(config)
    window = None
    if config.flag("use_sliding_window", False):
        window = config.maybe_whole("sliding_window", 4096)
    first = config.whole("max_window_layers", 28, least=0)
    windowed = [window is not None and layer >= first for layer in range(layers)]
    return {
        "rotary": rotary_settings(config, default_length=32_768),
        "windows": _windows(config, windowed, window),
        "feed_forward": config.one_of("hidden_act", _GATES, "silu"),
        "tied": config.flag("tie_word_embeddings", False),
        "embedding_scale": 1.0,
    }


def _gemma3(config: StoredConfig) -> dict[str, Any]:
    config.must_be("attn_logit_softcapping")
    config.must_be("final_logit_softcapping")
    config.must_be("use_bidirectional_attention", False)
    layers = _layers(config)
    pattern = config.whole("sliding_window_pattern", 6)
    if config.values.get("layer_types") is None and pattern == 6:
        config.must_be("_sliding_window_pattern", 6)  # the library does not read it
    windowed = [(layer + 1) % pattern > 0 for layer in range(layers)]
    everywhere, nearby = rotary_by_layer_type(config)
    return {
        **_attention(config, heads=8, kv_heads=4, head_size=256),
        "rotary": everywhere,
        "windowed_rotary": nearby,
        "windows": _windows(config, windowed, config.maybe_whole("sliding_window", 4096)),
        "feed_forward": config.one_of("hidden_activation", _GATES, "gelu_pytorch_tanh"),
        "tied": config.flag("tie_word_embeddings", True),
        "qk_norm": True,
        "around_one": True,
        "norm": "both",
        "scale": config.number("query_pre_attn_scalar", 256.0) ** -0.5,
    }


#: The kinds that ``model_type`` may name.
FAMILIES: dict[str, Callable[[StoredConfig], dict[str, Any]]] = {
    "llama": _llama,
    "mistral": _mistral,
    "qwen2": _qwen2,
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
        if config.values.get("use_sliding_window") is False:  # the size may be there
            raise config.refuse("use_sliding_window", "true where layers have windows", False)
        raise config.refuse("sliding_window", "a whole number of 1 or more")
    return tuple(window if each else None for each in windowed)


#: The special tokens of the families, where a file says nothing of them.
_SPECIAL = {
    "llama": {"bos": 1, "eos": 2},
    "mistral": {"bos": 1, "eos": 2},
    "gemma3_text": {"pad": 0, "eos": 1, "bos": 2},
}


def _special_ids(config: StoredConfig, ends: tuple[int, ...]) -> dict[str, Any]:
    """Return the special tokens; what there is none of gets a number outside the vocabulary."""
    vocabulary = config.whole("vocab_size", 262_208)
    own = {name: config.ids(f"{name}_token_id") for name in ("eos", "bos", "pad")}
    for name, number in _SPECIAL.get(config.values["model_type"], {}).items():
        if f"{name}_token_id" not in config.values:  # null says that there is none
            own[name] = (number,)
    all_ends = dict.fromkeys((*own["eos"], *ends))
    known = tuple(each for each in all_ends if each < vocabulary)
    found: dict[str, int] = {}
    for name in ("eos", "bos", "pad"):
        ids = known if name == "eos" else own[name]
        given = [each for each in ids if each < vocabulary]
        free = (each for each in (*given, vocabulary, vocabulary + 1, vocabulary + 2))
        found[name] = next(each for each in free if each not in found.values())
    return {**found, "ends": known}
