"""Checkpoints: written atomically, read back, and used to resume a training."""
