"""What the configurations of five models say of their sizes: facts, with their sources."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

#: By model, under the names of the file; what they don't say of a size is left out.
CONFIGS: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    # google/gemma_pytorch, gemma/config.py, get_config_for_27b_v3; Gemma Team (2025).
    "Gemma 3 27B": {
        "vocab_size": 262_144,
        "tie_word_embeddings": True,
        "hidden_size": 5376,
        "intermediate_size": 21_504,
        "num_hidden_layers": 62,
        "num_attention_heads": 32,
        "num_key_value_heads": 16,
        "head_dim": 128,
        "sliding_window": 1024,
        "sliding_window_pattern": 6,
    },
    # Qwen Team (2025), table 2; widths and vocabulary: copies of the model's config.json.
    "Qwen3-30B-A3B": {
        "vocab_size": 151_936,
        "hidden_size": 2048,
        "intermediate_size": 6144,
        "num_hidden_layers": 48,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
        "head_dim": 128,
        "num_experts": 128,
        "num_experts_per_tok": 8,
        "moe_intermediate_size": 768,
    },
    # openai/gpt-oss, gpt_oss/torch/model.py, ModelConfig; OpenAI (2025).
    "gpt-oss-120b": {
        "vocab_size": 201_088,
        "hidden_size": 2880,
        "intermediate_size": 2880,
        "num_hidden_layers": 36,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "sliding_window": 128,
        "layer_types": ["sliding_attention", "full_attention"] * 18,
        "num_local_experts": 128,
        "num_experts_per_tok": 4,
    },
    # GLM-4.5 Team (2025), table 1; the vocabulary: transformers, Glm4MoeConfig.
    "GLM-4.5-Air": {
        "vocab_size": 151_552,
        "hidden_size": 4096,
        "intermediate_size": 10_944,
        "num_hidden_layers": 46,
        "num_attention_heads": 96,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "first_k_dense_replace": 1,
        "n_routed_experts": 128,
        "n_shared_experts": 1,
        "num_experts_per_tok": 8,
        "moe_intermediate_size": 1408,
    },
    # deepseek-ai/DeepSeek-V3, inference/configs/config_671B.json; DeepSeek-AI (2024b), section 4.2.
    "DeepSeek-V3": {
        "vocab_size": 129_280,
        "hidden_size": 7168,
        "intermediate_size": 18_432,
        "num_hidden_layers": 61,
        "num_attention_heads": 128,
        "kv_lora_rank": 512,
        "q_lora_rank": 1536,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "first_k_dense_replace": 3,
        "n_routed_experts": 256,
        "n_shared_experts": 1,
        "num_experts_per_tok": 8,
        "moe_intermediate_size": 2048,
    },
})  # fmt: skip

__all__ = ["CONFIGS"]
