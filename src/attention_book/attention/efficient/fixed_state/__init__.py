"""A state of fixed size in place of the KV cache: sums, decay, the delta rule, the gated one."""
