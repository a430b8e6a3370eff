"""The sizes that an outline counts are those of the library's models, number by number."""

from typing import Any

import pytest
import torch

from attention_book.course.configs import CONFIGS
from attention_book.models import DecoderOutline, LanguageConfig, LanguageModel, PretrainedError

transformers = pytest.importorskip("transformers", minversion="5.0")

FAMILIES = {
    "Gemma 3 27B": "Gemma3Text",
    "Qwen3-30B-A3B": "Qwen3Moe",
    "gpt-oss-120b": "GptOss",
    "GLM-4.5-Air": "Glm4Moe",
    "DeepSeek-V3": "DeepseekV3",
}
#: What a family's settings say by default that others leave out.
SILENT = {"DeepSeek-V3": {"num_key_value_heads": 128}}
#: One layer of each kind is enough to count them all.
FEW = {"num_hidden_layers": 5}


def library_model(name: str, settings: dict[str, Any]) -> torch.nn.Module:
    family = FAMILIES[name]
    config = getattr(transformers, f"{family}Config")(**settings)
    kind = "Gemma3" if family == "Gemma3Text" else family
    with torch.device("meta"):
        return getattr(transformers, f"{kind}ForCausalLM")(config)


def matrices_of(model: torch.nn.Module) -> int:
    return sum(
        each.numel()
        for name, each in model.named_parameters()
        if each.ndim > 1 and not name.endswith("bias")
    )


@pytest.mark.differential
@pytest.mark.parametrize("name", CONFIGS)
def test_every_matrix_of_the_library_is_counted(name) -> None:
    config = {**CONFIGS[name], **FEW}
    if "layer_types" in config:
        config["layer_types"] = config["layer_types"][:5]
    model = library_model(name, config | SILENT.get(name, {}))
    assert DecoderOutline.of(config).matrices() == matrices_of(model)


@pytest.mark.differential
@pytest.mark.parametrize("name", CONFIGS)
def test_a_token_meets_what_is_counted_for_it(name) -> None:
    """Whatever no expert is chosen for can be taken away: fewer experts, all of them chosen."""
    config = {**CONFIGS[name], **FEW}
    if "layer_types" in config:
        config["layer_types"] = config["layer_types"][:5]
    outline = DecoderOutline.of(config)
    for each in ("n_routed_experts", "num_local_experts", "num_experts"):
        if each in config:
            config |= {each: config["num_experts_per_tok"], "n_group": 1, "topk_group": 1}
    model = library_model(name, config | SILENT.get(name, {}))
    sparse = 5 - outline.num_dense
    routers = sparse * outline.d_model * (outline.num_experts - outline.num_chosen)
    words = 0 if outline.tied else outline.vocabulary * outline.d_model
    assert outline.matrices(of_one_token=True) == matrices_of(model) - words + routers


@pytest.mark.parametrize("window", [None, 1, 4])
@pytest.mark.parametrize("kv_heads", [1, 3])
@pytest.mark.parametrize("num_tokens", [1, 4, 9])
def test_the_cache_is_as_large_as_ours_is(window, kv_heads, num_tokens) -> None:
    said = {
        "vocab_size": 11, "hidden_size": 8, "intermediate_size": 6, "num_hidden_layers": 2,
        "num_attention_heads": 6, "num_key_value_heads": kv_heads, "head_dim": 4,
        "sliding_window": window, "layer_types": ["sliding_attention", "full_attention"],
    }  # fmt: skip
    config = LanguageConfig.today(
        vocabulary=11, d_model=8, d_ff=6, num_heads=6, num_kv_heads=kv_heads, d_k=4,
        windows=(window, None),
    )  # fmt: skip
    model = LanguageModel(config).eval()
    state = model.start(1)
    for token in torch.randint(4, 11, (num_tokens, 1)):
        _, state = model.step(token, state)
    kept = [part for layer in state.layers for part in layer.rows]
    held = sum(each.numel() * each.element_size() for each in kept)
    assert DecoderOutline.of(said).cache_bytes(num_tokens=num_tokens, bytes_each=4) == held


def test_a_latent_vector_is_cached_whatever_the_heads() -> None:
    said = dict(CONFIGS["DeepSeek-V3"])
    one, fewer = (DecoderOutline.of(said | {"num_attention_heads": n}) for n in (128, 64))
    assert one.cache_bytes(num_tokens=1) == fewer.cache_bytes(num_tokens=1) == 61 * (512 + 64) * 2


def test_what_attention_does_not_notice() -> None:
    """Other experts, the same cache."""
    said = dict(CONFIGS["Qwen3-30B-A3B"])
    dense = {name: each for name, each in said.items() if "expert" not in name}
    experts, without = DecoderOutline.of(said), DecoderOutline.of(dense)
    assert experts.cache_bytes(num_tokens=9) == without.cache_bytes(num_tokens=9)
    assert experts.matrices() > 10 * without.matrices(of_one_token=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": None}, "hidden_size: expected a whole number"),
        ({"num_experts": 8, "num_experts_per_tok": None}, "num_experts_per_tok: expected"),
        ({"sliding_window": 4, "layer_types": ["full_attention"]}, "one for each of 48 layers"),
    ],
)
def test_what_is_missing_is_named(change, message) -> None:
    with pytest.raises(PretrainedError, match=message):
        DecoderOutline.of({**CONFIGS["Qwen3-30B-A3B"], **change})
