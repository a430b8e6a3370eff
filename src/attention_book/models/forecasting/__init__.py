"""Forecasting: a causal Transformer of numbers, and the baselines it must beat."""
