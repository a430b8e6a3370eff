"""What the parameters of the decoder-only model are called in files of Hugging Face."""

import re
from collections.abc import Iterable

from attention_book.models.language import LanguageConfig

_MODEL = {
    "stack.embedding.weight": "embed_tokens.weight",
    "stack.norm.weight": "norm.weight",
}
_LAYER = {
    "self_attention_norm.norm": "input_layernorm",
    "self_attention.W_q": "self_attn.q_proj",
    "self_attention.W_k": "self_attn.k_proj",
    "self_attention.W_v": "self_attn.v_proj",
    "self_attention.W_o": "self_attn.o_proj",
    "self_attention.query_norm": "self_attn.q_norm",
    "self_attention.key_norm": "self_attn.k_norm",
    "feed_forward.W_gate": "mlp.gate_proj",
    "feed_forward.W_1": "mlp.up_proj",
    "feed_forward.W_2": "mlp.down_proj",
}
#: The second norm of a layer stands after the attention, or before the feed-forward network;
#: where there are both, the same name means the first of the two.
_NORMS = {"feed_forward_norm.norm": "post_attention_layernorm"}
_FOUR_NORMS = {
    "self_attention_norm.norm_after": "post_attention_layernorm",
    "feed_forward_norm.norm": "pre_feedforward_layernorm",
    "feed_forward_norm.norm_after": "post_feedforward_layernorm",
}
_PARAMETER = re.compile(r"stack\.layers\.(?P<layer>\d+)\.(?P<part>.+)\.(?P<kind>weight|bias)")
#: Tables that old files hold and that are computed anew.
_TABLES = re.compile(r".*\.rotary_emb\.inv_freq")
#: Where the layers' names begin: a language model alone, or that of a model that sees pictures.
#: or the layers alone, without an output layer.
PREFIXES = ("model.", "language_model.model.", "model.language_model.", "")
_PICTURES = re.compile(r"(?:model\.)?(?:vision_tower|multi_modal_projector)\..*")


def name_in_files(parameter: str, config: LanguageConfig, *, prefix: str = "model.") -> str:
    """Return what one of our parameters is called in a file.

    >>> config = LanguageConfig.today(vocabulary=10)
    >>> name_in_files("stack.layers.3.self_attention.W_q.weight", config)
    'model.layers.3.self_attn.q_proj.weight'
    """
    if parameter == "readout.weight":
        return ("language_model." if prefix == PREFIXES[1] else "") + "lm_head.weight"
    if parameter in _MODEL:
        return prefix + _MODEL[parameter]
    found = _PARAMETER.fullmatch(parameter)
    assert found is not None, parameter
    parts = _LAYER | (_FOUR_NORMS if config.norm == "both" else _NORMS)
    return f"{prefix}layers.{found['layer']}.{parts[found['part']]}.{found['kind']}"


def prefix_of(names: Iterable[str]) -> str:
    """Return what the names of the layers begin with in a folder.

    >>> prefix_of(["language_model.model.norm.weight", "vision_tower.x"])
    'language_model.model.'
    """
    known = set(names)
    return next((each for each in PREFIXES if f"{each}norm.weight" in known), PREFIXES[0])


def is_left_out(name: str) -> bool:
    """Whether a tensor of a file is not needed: a table, a part for pictures.

    >>> is_left_out("model.layers.0.self_attn.rotary_emb.inv_freq")
    True
    """
    return bool(_TABLES.fullmatch(name) or _PICTURES.fullmatch(name))
