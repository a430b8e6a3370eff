"""Recurrent layers: a cell that is carried along a sequence, in several layers, in both directions.

Left out: packed sequences, projections (`proj_size`).
"""

import math

from .._arithmetic import mul
from .._copies import cat, stack
from .._creation import empty, zeros
from .._missing import missing
from .._pointwise import relu, sigmoid, tanh
from .._tensor import Tensor
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


def _gru(x, state, w_x, w_h, b_x, b_h):
    """Take one step: x (batch, input), state a tuple of one h (batch, hidden)."""
    (h,) = state
    x_r, x_z, x_n = F.linear(x, w_x, b_x).chunk(3, -1)
    h_r, h_z, h_n = F.linear(h, w_h, b_h).chunk(3, -1)
    reset, update = sigmoid(x_r + h_r), sigmoid(x_z + h_z)
    new = tanh(x_n + reset * h_n)
    return (new + update * (h - new),)


def _lstm(x, state, w_x, w_h, b_x, b_h):
    h, c = state
    i, f, g, o = (F.linear(x, w_x, b_x) + F.linear(h, w_h, b_h)).chunk(4, -1)
    c = sigmoid(f) * c + mul(sigmoid(i), tanh(g))
    return sigmoid(o) * tanh(c), c


def _rnn(nonlinearity):
    function = {"tanh": tanh, "relu": relu}[nonlinearity]
    return lambda x, state, w_x, w_h, b_x, b_h: (
        function(F.linear(x, w_x, b_x) + F.linear(state[0], w_h, b_h)),
    )


class _Recurrent(Module):
    """What GRU, LSTM and RNN share: the parameters and the way along the sequence."""

    gates = states = 1

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        device=None,
        dtype=None,
        **ignored,
    ):
        super().__init__()
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, dropout
        self.bidirectional = bidirectional
        rows, ends = self.gates * hidden_size, ["", "_reverse"] if bidirectional else [""]
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * len(ends)
            for end in ends:
                shapes = {"weight_ih": (rows, width), "weight_hh": (rows, hidden_size)}
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                for name, shape in shapes.items():
                    self.register_parameter(
                        f"{name}_l{layer}{end}", Parameter(empty(*shape, dtype=dtype))
                    )
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for each in self.parameters():
            init.uniform_(each, -bound, bound)

    def flatten_parameters(self):
        pass

    def _weights(self, layer, end):
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return [self._parameters.get(f"{name}_l{layer}{end}") for name in names]

    def forward(self, input, hx=None):
        if not isinstance(input, Tensor):
            raise missing("torch.nn.utils.rnn.PackedSequence")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size},"
                f" got {input.shape[-1]}"
            )
        batched = input.dim() == 3
        x = input if batched else input.unsqueeze(0 if self.batch_first else 1)
        x = x.transpose(0, 1) if self.batch_first else x  # (time, batch, input)
        ends = ["", "_reverse"] if self.bidirectional else [""]
        count = self.num_layers * len(ends)
        if hx is None:
            start = zeros(count, x.shape[1], self.hidden_size, dtype=x.dtype)
            given = (start,) * self.states
        else:
            given = (hx,) if self.states == 1 else hx
            given = tuple(each if batched else each.unsqueeze(1) for each in given)
            wanted = (count, x.shape[1], self.hidden_size)
            for name, each in zip(("", " [1]"), given, strict=False):
                if tuple(each.shape) != wanted:
                    raise RuntimeError(
                        f"Expected hidden{name} size {wanted}, got {list(each.shape)}"
                        if self.states == 1 or name
                        else f"Expected hidden[0] size {wanted}, got {list(each.shape)}"
                    )
        last = []
        for layer in range(self.num_layers):
            if layer and self.dropout:
                x = F.dropout(x, self.dropout, self.training)
            outputs = []
            for side, end in enumerate(ends):
                weights = self._weights(layer, end)
                state = tuple(each[layer * len(ends) + side] for each in given)
                steps = []
                for step in x.unbind(0) if side == 0 else reversed(x.unbind(0)):
                    state = self.step(step, state, *weights)
                    steps.append(state[0])
                outputs.append(stack(steps if side == 0 else steps[::-1]))
                last.append(state)
            x = outputs[0] if len(outputs) == 1 else cat(outputs, -1)
        final = [stack(each) for each in zip(*last, strict=True)]
        x = x.transpose(0, 1) if self.batch_first else x
        if not batched:
            x, final = x.squeeze(0 if self.batch_first else 1), [h.squeeze(1) for h in final]
        return x, final[0] if self.states == 1 else tuple(final)

    def extra_repr(self):
        usual = {
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0.0,
            "bidirectional": False,
        }
        told = [
            f"{name}={getattr(self, name)}" for name in usual if getattr(self, name) != usual[name]
        ]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *told])


class GRU(_Recurrent):
    """Gated recurrent units."""

    gates = 3
    step = staticmethod(_gru)


class LSTM(_Recurrent):
    """Long short-term memory."""

    gates, states = 4, 2
    step = staticmethod(_lstm)


class RNN(_Recurrent):
    """The plain recurrent layer."""

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", *args, **kwargs):
        super().__init__(input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity, self.step = nonlinearity, _rnn(nonlinearity)


class _Cell(Module):
    """One step of a recurrent layer."""

    gates = 1

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = self.gates * hidden_size
        self.weight_ih = Parameter(empty(rows, input_size, dtype=dtype))
        self.weight_hh = Parameter(empty(rows, hidden_size, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, dtype=dtype)) if bias else None)
        bound = 1 / math.sqrt(hidden_size) if hidden_size > 0 else 0
        for each in self.parameters():
            init.uniform_(each, -bound, bound)

    def _weights(self):
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def extra_repr(self):
        bias = "" if self.bias else ", bias=False"
        return f"{self.input_size}, {self.hidden_size}{bias}"


class GRUCell(_Cell):
    """One step of a GRU."""

    gates = 3

    def forward(self, input, hx=None):
        start = zeros(*input.shape[:-1], self.hidden_size, dtype=input.dtype) if hx is None else hx
        return _gru(input, (start,), *self._weights())[0]


class LSTMCell(_Cell):
    """One step of an LSTM."""

    gates = 4

    def forward(self, input, hx=None):
        start = zeros(*input.shape[:-1], self.hidden_size, dtype=input.dtype)
        return _lstm(input, (start, start) if hx is None else hx, *self._weights())
