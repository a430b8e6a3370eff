"""Layers."""

from .._missing import lookup
from . import functional, init, utils
from .containers import ModuleDict, ModuleList, ParameterList, Sequential
from .layers import (
    ELU,
    GELU,
    GRU,
    LSTM,
    RNN,
    Conv1d,
    Conv2d,
    CrossEntropyLoss,
    Dropout,
    Embedding,
    Flatten,
    GRUCell,
    Identity,
    LayerNorm,
    LeakyReLU,
    Linear,
    LogSoftmax,
    MSELoss,
    MultiheadAttention,
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

__getattr__ = lookup("nn", "torch.nn")
