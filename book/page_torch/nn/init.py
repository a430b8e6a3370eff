"""First values of parameters."""

import math

from .._graph import no_grad
from .._missing import lookup


def _filled(fill):
    def apply(tensor, *args, **kwargs):
        with no_grad():
            fill(tensor, *args, **kwargs)
        return tensor

    return apply


uniform_ = _filled(lambda t, a=0.0, b=1.0, generator=None: t.uniform_(a, b, generator=generator))
normal_ = _filled(
    lambda t, mean=0.0, std=1.0, generator=None: t.normal_(mean, std, generator=generator)
)
constant_ = _filled(lambda t, val: t.fill_(val))
zeros_, ones_ = _filled(lambda t: t.fill_(0)), _filled(lambda t: t.fill_(1))


@_filled
def eye_(t):
    t.zero_()
    t.fill_diagonal_(1)


def _fans(t):
    if t.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(t.shape[2:])
    return t.shape[1] * field, t.shape[0] * field


def calculate_gain(nonlinearity, param=None):
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    return {"relu": math.sqrt(2.0), "tanh": 5.0 / 3, "selu": 0.75}.get(nonlinearity, 1.0)


@_filled
def xavier_uniform_(t, gain=1.0, generator=None):
    bound = gain * math.sqrt(6.0 / sum(_fans(t)))
    t.uniform_(-bound, bound, generator=generator)


@_filled
def xavier_normal_(t, gain=1.0, generator=None):
    t.normal_(0.0, gain * math.sqrt(2.0 / sum(_fans(t))), generator=generator)


@_filled
def kaiming_uniform_(t, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    if 0 in t.shape:
        return
    fan = _fans(t)[mode != "fan_in"]
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(fan)
    t.uniform_(-bound, bound, generator=generator)


@_filled
def kaiming_normal_(t, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    t.normal_(
        0.0,
        calculate_gain(nonlinearity, a) / math.sqrt(_fans(t)[mode != "fan_in"]),
        generator=generator,
    )


__getattr__ = lookup("nn.init", "torch.nn.init")
