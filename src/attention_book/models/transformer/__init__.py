"""The Transformer (Vaswani et al. 2017): its settings, layers, stacks, and cached state."""
