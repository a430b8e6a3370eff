"""Some functions under their other name."""

from ._broadcast import broadcast_tensors
from ._creation import meshgrid
from ._products import cdist, einsum, tensordot
from ._reductions import norm
from ._views import split

__all__ = ["broadcast_tensors", "cdist", "einsum", "meshgrid", "norm", "split", "tensordot"]
