"""Gradients cut to a length."""

from .. import _reductions
from .._copies import cat, stack
from .._creation import tensor
from .._missing import lookup
from .._tensor import Tensor


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    grads = [p.grad for p in parameters if p.grad is not None]
    if not grads:
        return tensor(0.0)
    total = _reductions.norm(stack([_reductions.norm(g, norm_type) for g in grads]), norm_type)
    share = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul_(share)
    return total


def clip_grad_value_(parameters, clip_value, foreach=None):
    for p in [parameters] if isinstance(parameters, Tensor) else parameters:
        if p.grad is not None:
            p.grad.clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters):
    return cat([p.reshape(-1) for p in parameters])


__path__: list[str] = []  # what is imported from in here is missing, and says so
__getattr__ = lookup("nn.utils", "torch.nn.utils")
