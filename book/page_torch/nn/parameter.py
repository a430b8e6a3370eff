"""Parameters: tensors that a module lists."""

from .._creation import empty
from .._tensor import Tensor


class Parameter(Tensor):
    """A tensor that is learned."""

    def __new__(cls, data=None, requires_grad=True):
        made = object.__new__(cls)
        if data is None:
            data = empty(0)
        made._s, made._o, made.shape, made._strides, made.dtype = (
            data._s,
            data._o,
            data.shape,
            data._strides,
            data.dtype,
        )
        made._wants = requires_grad
        return made


class Buffer(Tensor):
    """A tensor that belongs to a module and is not learned."""

    def __new__(cls, data, *, persistent=True):
        return data
