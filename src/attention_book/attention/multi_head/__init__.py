"""Several heads at once: multi-head, grouped-query and self-attention, and their cache."""
