"""Attention for long sequences: exact in tiles (FlashAttention), or linear in the length."""
