"""Checkpoints: written atomically, read back, and trainings that go on from them."""
