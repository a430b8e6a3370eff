"""Weights of others, in the Hugging Face layout, read into the decoder-only model."""
