"""Layers: what is learned or drawn at random, and activations and losses as modules."""

import math

from .. import _pointwise
from .._creation import empty, ones, zeros
from .._graph import no_grad
from .._missing import missing
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


class Linear(Module):
    """x W^T + b."""

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self):
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"


class Embedding(Module):
    """A table: a row for each number."""

    def __init__(
        self, num_embeddings, embedding_dim, padding_idx=None, device=None, dtype=None, **ignored
    ):
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx = (
            num_embeddings,
            embedding_dim,
            padding_idx,
        )
        self.weight = Parameter(empty(num_embeddings, embedding_dim, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input):
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self):
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class LayerNorm(Module):
    """Mean 0 and variance 1 over the last axes, then a scale and a shift."""

    def __init__(
        self,
        normalized_shape,
        eps=1e-5,
        elementwise_affine=True,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.normalized_shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.register_parameter(
            "weight",
            Parameter(ones(*self.normalized_shape, dtype=dtype)) if elementwise_affine else None,
        )
        self.register_parameter(
            "bias",
            Parameter(zeros(*self.normalized_shape, dtype=dtype))
            if elementwise_affine and bias
            else None,
        )

    def reset_parameters(self):
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        affine = f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {affine}"


class RMSNorm(Module):
    """Mean square 1 over the last axes, then a scale."""

    def __init__(
        self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None
    ):
        super().__init__()
        self.normalized_shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.register_parameter(
            "weight",
            Parameter(ones(*self.normalized_shape, dtype=dtype)) if elementwise_affine else None,
        )

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class Dropout(Module):
    """Zero at random while training."""

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input):
        return F.dropout(input, self.p, self.training)

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


def _activation(name, function, **settings):
    def __init__(self, *args, **kwargs):
        Module.__init__(self)
        given = {**settings, **dict(zip(settings, args, strict=False)), **kwargs}
        for key, value in given.items():
            object.__setattr__(self, key, value)
        object.__setattr__(self, "_given", {key: given[key] for key in settings})

    def forward(self, input):
        return function(input, **self._given)

    def extra_repr(self):
        return ", ".join(
            f"{key}={value!r}" for key, value in self._given.items() if value is not None
        )

    body = {
        "__init__": __init__,
        "forward": forward,
        "extra_repr": extra_repr,
        "__doc__": f"{name}, as a layer.",
    }
    return type(name, (Module,), body)


ReLU, GELU, SiLU = (
    _activation("ReLU", _pointwise.relu),
    _activation("GELU", F.gelu, approximate="none"),
    _activation("SiLU", F.silu),
)
Tanh, Sigmoid = _activation("Tanh", _pointwise.tanh), _activation("Sigmoid", _pointwise.sigmoid)
Softmax, LogSoftmax = (
    _activation("Softmax", F.softmax, dim=None),
    _activation("LogSoftmax", F.log_softmax, dim=None),
)
Softplus, LeakyReLU = (
    _activation("Softplus", F.softplus),
    _activation("LeakyReLU", F.leaky_relu, negative_slope=0.01),
)
ELU, Flatten = (
    _activation("ELU", F.elu, alpha=1.0),
    _activation(
        "Flatten",
        lambda x, start_dim, end_dim: x.flatten(start_dim, end_dim),
        start_dim=1,
        end_dim=-1,
    ),
)


class Identity(Module):
    """Hands on what it gets."""

    def forward(self, input):
        return input


class CrossEntropyLoss(Module):
    """F.cross_entropy, as a layer."""

    def __init__(self, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
        super().__init__()
        self.weight, self.ignore_index, self.reduction, self.label_smoothing = (
            weight,
            ignore_index,
            reduction,
            label_smoothing,
        )

    def forward(self, input, target):
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class MSELoss(Module):
    """F.mse_loss, as a layer."""

    def __init__(self, reduction="mean"):
        super().__init__()
        self.reduction = reduction

    def forward(self, input, target):
        return F.mse_loss(input, target, reduction=self.reduction)


def only_named(name):
    """Return a class that can be named and inherited from; to make one is an error."""

    def __init__(self, *args, **kwargs):
        raise missing(f"torch.nn.{name}")

    return type(name, (Module,), {"__init__": __init__, "__doc__": "Not in the page's torch."})


Transformer, TransformerEncoder, TransformerDecoder = map(
    only_named, ("Transformer", "TransformerEncoder", "TransformerDecoder")
)
TransformerEncoderLayer, TransformerDecoderLayer, Conv1d, Conv2d = map(
    only_named, ("TransformerEncoderLayer", "TransformerDecoderLayer", "Conv1d", "Conv2d")
)
