"""Decoder-only models as built since 2023 (Llama, Mistral, Qwen3, Gemma 3), and their weights."""
