"""Nadaraya–Watson kernel regression, with fixed and with learnable kernels."""
