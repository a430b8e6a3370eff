"""Some functions under their other name."""

from ._missing import lookup
from ._pointwise import erf, exp2, expm1, log1p
from ._pointwise import sigmoid as expit
from ._reductions import logsumexp
from ._rows import log_softmax, softmax

__all__ = [
    "erf",
    "exp2",
    "expit",
    "expm1",
    "log1p",
    "log_softmax",
    "logsumexp",
    "softmax",
]
__getattr__ = lookup("special", "torch.special")
