"""How far logits of the same model may differ by rounding."""

import torch
from torch import Tensor

#: How far logits may be from those in double precision, relative to the largest; where another's
#: in this type are further off, three times as far. Below double precision the mean counts: which
#: single logit is hit hardest by rounding is chance. In single precision, where it is small, none
#: may be off by more than ten times as much either.
TOLERANCE = {
    torch.float64: 1e-9,
    torch.float32: 1e-5,
    torch.bfloat16: 0.02,
    torch.float16: 0.003,
}


def off_by(found: Tensor, theirs: Tensor, true: Tensor) -> str:
    """Return how far logits are from the true ones if rounding cannot be all, or nothing.

    Args:
        found: Ours.
        theirs: Another's of the same type; where they overflow, nothing is expected of ours.
        true: The other's in double precision.
    """
    assert found.dtype == theirs.dtype
    if not theirs.isfinite().all():
        return ""
    largest = true.abs().max().clamp(min=1)
    offs = [(each.double() - true).abs() / largest for each in (found, theirs)]
    tolerance = TOLERANCE[found.dtype]
    if found.dtype == torch.float64:
        bounds = [(torch.max, tolerance, 0.0)]
    elif found.dtype == torch.float32:
        bounds = [(torch.mean, tolerance, 3.0), (torch.max, 10 * tolerance, 10.0)]
    else:
        bounds = [(torch.mean, tolerance, 3.0)]
    for far, most, times in bounds:
        off, other = (far(each).item() for each in offs)
        if not off <= max(most, times * other):
            return f"off by {off:.3g} of the largest logit, the other by {other:.3g}"
    return ""
