"""Exercises on the Transformer: heads, positions, layers, training, cached decoding."""
