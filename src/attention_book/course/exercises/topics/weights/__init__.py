"""Exercises on weights: pooling, masks, scores, hard and local attention."""
