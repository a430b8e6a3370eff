"""Layers."""

from .._missing import lookup
from . import functional, init, parallel, utils
from .attention import MultiheadAttention
from .containers import ModuleDict, ModuleList, ParameterList, Sequential
from .layers import (
    ELU,
    GELU,
    Conv1d,
    Conv2d,
    CrossEntropyLoss,
    Dropout,
    Embedding,
    Flatten,
    Identity,
    LayerNorm,
    LeakyReLU,
    Linear,
    LogSoftmax,
    MSELoss,
    ReLU,
    RMSNorm,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from .module import Module
from .parameter import Buffer, Parameter
from .recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell

__getattr__ = lookup("nn", "torch.nn")
