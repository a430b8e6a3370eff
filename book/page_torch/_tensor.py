"""The tensor: numbers in a list, seen through a shape, strides and an offset.

Views share the list, so what is written into one shows in the others, as in PyTorch. What can be
done with tensors stands in other modules, which add their functions to this class.
"""

import copy
import math

from . import _graph
from ._dtypes import CPU, STRIDED, TITLES, Size, get_default_dtype
from ._graph import Node, edge_of, record
from ._missing import known, missing


def strides_of(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size if size else 1
    return tuple(reversed(strides))


class _Kind(type):
    """Tells what only PyTorch's class has from what nobody has."""

    def __getattr__(cls, name):
        if not name.startswith("__") and name in known("Tensor"):
            raise missing(f"torch.Tensor.{name}")
        raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")


class Tensor(metaclass=_Kind):
    """Numbers of one type in a grid of any number of axes."""

    is_cuda = is_meta = is_sparse = is_quantized = is_nested = is_mps = False
    device = CPU
    layout = STRIDED
    _node = _leaf = _base = grad = _hooks = None
    _output = _turn = _seen = 0
    _wants = False
    __array_priority__ = 1000

    def __new__(cls, *data):
        if cls is Tensor or not data:
            return new_from(data)
        return object.__new__(cls)

    # --- what a tensor is ------------------------------------------------------------------

    def _sync(self):
        """Where the base has been written into, this view comes from its new state."""
        base = self._base
        if base is not None and base._turn != self._seen:
            self._seen = base._turn
            edge = edge_of(base)
            if edge is None:
                self._node = None
            else:
                places, shape, _size = places_in(base, self), base.shape, self.shape
                self._node = Node("AsStridedBackward0", [edge], lambda g: spread(g, places, shape))

    @property
    def requires_grad(self):
        if self._base is not None:
            self._sync()
        return self._wants or self._node is not None

    @requires_grad.setter
    def requires_grad(self, wanted):
        self.requires_grad_(wanted)

    def requires_grad_(self, wanted=True):
        if self._node is not None:
            if not wanted:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use"
                    " a computed variable in a subgraph that doesn't require differentiation use"
                    " var_no_grad = var.detach()."
                )
            return self
        if wanted and self.dtype.kind != 2:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        self._wants = wanted
        return self

    @property
    def is_leaf(self):
        self._sync()
        return self._node is None

    @property
    def grad_fn(self):
        self._sync()
        return self._node

    @property
    def data(self):
        return alias(self)

    @data.setter
    def data(self, other):
        self._s, self._o, self.shape, self._strides, self.dtype = (
            other._s,
            other._o,
            other.shape,
            other._strides,
            other.dtype,
        )

    @property
    def ndim(self):
        return len(self.shape)

    def dim(self):
        return len(self.shape)

    ndimension = dim

    def size(self, dim=None):
        if dim is None:
            return self.shape
        most = max(len(self.shape), 1)
        if not (self.shape and -most <= dim < most):
            raise IndexError(
                "Dimension specified as 0 but tensor has no dimensions"
                if not self.shape
                else f"Dimension out of range (expected to be in range of [{-most}, {most - 1}],"
                f" but got {dim})"
            )
        return self.shape[dim]

    def numel(self):
        return math.prod(self.shape)

    nelement = numel

    @property
    def itemsize(self):
        return self.dtype.itemsize

    def element_size(self):
        return self.dtype.itemsize

    @property
    def nbytes(self):
        return self.numel() * self.dtype.itemsize

    def stride(self, dim=None):
        return self._strides if dim is None else self._strides[dim]

    def storage_offset(self):
        return self._o

    def data_ptr(self):
        return id(self._s) + self._o * self.dtype.itemsize

    def is_contiguous(self):
        step = 1
        for size, stride in zip(reversed(self.shape), reversed(self._strides), strict=True):
            if size != 1:
                if stride != step:
                    return self.numel() == 0
                step *= size
        return True

    def is_floating_point(self):
        return self.dtype.kind == 2

    def is_complex(self):
        return False

    def is_signed(self):
        return self.dtype.is_signed

    # --- numbers out of it -----------------------------------------------------------------

    def item(self):
        if self.numel() != 1:
            raise RuntimeError(
                f"a Tensor with {self.numel()} elements cannot be converted to Scalar"
            )
        return flat(self)[0]

    def tolist(self):
        numbers = flat(self)
        if not self.shape:
            return numbers[0]
        if not numbers:
            return _empty_lists(self.shape)
        for size in reversed(self.shape[1:]):
            numbers = [numbers[i : i + size] for i in range(0, len(numbers), size)]
        return list(numbers)

    def __bool__(self):
        if self.numel() != 1:
            if self.numel() == 0:
                raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(flat(self)[0])

    def __float__(self):
        return float(self._only())

    def __int__(self):
        return int(self._only())

    def _only(self):
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return flat(self)[0]

    def __index__(self):
        if self.dtype.kind == 2 or self.numel() != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self):
        if not self.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element):
        return bool((self == element).any())

    def __hash__(self):
        return id(self)

    def __format__(self, spec):
        if not self.shape and type(self) is Tensor:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __repr__(self, *, tensor_contents=None):
        from ._printing import shown

        return shown(self)

    def numpy(self):
        raise missing("torch.Tensor.numpy")

    def __array__(self, dtype=None):
        raise missing("numpy.ndarray")

    def __reversed__(self):
        return self.flip(0) if self.shape else self

    # --- copies ----------------------------------------------------------------------------

    def detach(self):
        return alias(self)

    def detach_(self):
        self._node, self._wants = None, False
        return self

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy"
                " protocol at the moment.  If you were attempting to deepcopy a module, this may"
                " be because of a torch.nn.utils.weight_norm usage, see"
                " https://github.com/pytorch/pytorch/pull/103001"
            )
        if id(self) in memo:
            return memo[id(self)]
        key = ("numbers", id(self._s))
        if key not in memo:
            memo[key] = list(self._s)
        twin = object.__new__(type(self))
        twin.__dict__.update(
            {k: copy.deepcopy(v, memo) for k, v in self.__dict__.items() if k not in _GEOMETRY}
        )
        twin._s, twin._o, twin.shape, twin._strides, twin.dtype = (
            memo[key],
            self._o,
            self.shape,
            self._strides,
            self.dtype,
        )
        twin._wants = self._wants
        memo[id(self)] = twin
        return twin

    def __copy__(self):
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __reduce_ex__(self, protocol):
        return _rebuilt, (type(self), flat(self)[:], tuple(self.shape), self.dtype, self._wants)

    # --- gradients -------------------------------------------------------------------------

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        from . import autograd

        autograd.backward(self, gradient, retain_graph, create_graph, inputs)

    def retain_grad(self):
        if not self.is_leaf:
            node, position = self._node, self._output
            inner = node.backward

            def keep(*gradients):
                got = gradients[position]
                if got is not None:
                    self.grad = got.detach() if self.grad is None else self.grad + got.detach()
                return inner(*gradients)

            node.backward = keep

    def register_hook(self, hook):
        if self.is_leaf:
            self._hooks = [*(self._hooks or ()), hook]
            return Handle(lambda: self._hooks.remove(hook))
        node, position = self._node, self._output
        inner = node.backward

        def hooked(*gradients):
            gradients = list(gradients)
            changed = hook(gradients[position])
            if changed is not None:
                gradients[position] = changed
            return inner(*gradients)

        node.backward = hooked
        return Handle(lambda: setattr(node, "backward", inner))

    # --- parts -----------------------------------------------------------------------------

    def __getitem__(self, key):
        from ._indexing import got

        return got(self, key)

    def __setitem__(self, key, value):
        from ._indexing import put

        put(self, key, value)

    def __getattr__(self, name):
        if not name.startswith("_") and name in known("Tensor"):
            raise missing(f"torch.Tensor.{name}")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


_GEOMETRY = {
    "_s",
    "_o",
    "shape",
    "_strides",
    "dtype",
    "_node",
    "_leaf",
    "_base",
    "_output",
    "_turn",
    "_seen",
    "_wants",
    "_hooks",
}


class Handle:
    """Removes a hook again."""

    def __init__(self, remove):
        self.remove = remove


def _empty_lists(shape):
    return [_empty_lists(shape[1:]) if len(shape) > 1 else [] for _ in range(shape[0])]


def _rebuilt(kind, numbers, shape, dtype, wants):
    twin = object.__new__(kind)
    _fill(twin, numbers, shape, dtype)
    twin._wants = wants
    return twin


def _fill(tensor, numbers, shape, dtype):
    tensor._s, tensor._o, tensor.dtype = numbers, 0, dtype
    tensor.shape, tensor._strides = Size(shape), strides_of(shape)


def new(numbers, shape, dtype):
    """Return a tensor of numbers that fit the type already, in the order of the axes."""
    made = object.__new__(Tensor)
    _fill(made, numbers, shape, dtype)
    return made


def make(numbers, shape, dtype):
    """Return a tensor of numbers that are yet to be rounded."""
    return new(dtype.fit(numbers), shape, dtype)


def new_from(data):
    """What `torch.Tensor(...)` gives: sizes or data."""
    if (
        len(data) == 1
        and isinstance(data[0], (list, tuple, Tensor))
        and not isinstance(data[0], Size)
    ):
        from ._creation import tensor

        return tensor(data[0], dtype=get_default_dtype())
    sizes = data[0] if data and isinstance(data[0], Size) else data
    return new([0.0] * math.prod(sizes), sizes if data else (0,), get_default_dtype())


def alias(tensor):
    """Return a tensor of the same numbers, outside of the graph."""
    made = object.__new__(Tensor)
    made._s, made._o, made.shape, made._strides, made.dtype = (
        tensor._s,
        tensor._o,
        tensor.shape,
        tensor._strides,
        tensor.dtype,
    )
    return made


def view(tensor, shape, strides, offset, name, backward):
    """Return another look at the numbers of a tensor."""
    made = object.__new__(Tensor)
    made._s, made._o, made.dtype = tensor._s, offset, tensor.dtype
    made.shape, made._strides = Size(shape), tuple(strides)
    made._base = tensor if tensor._base is None else tensor._base
    made._seen = made._base._turn
    if tensor.dtype.kind == 2 and _graph._enabled[-1]:
        record(made, name, (tensor,), backward)
    return made


def index(tensor):
    """Return where in the list each number is."""
    places = [tensor._o]
    for size, stride in zip(tensor.shape, tensor._strides, strict=True):
        if size == 0:
            return []
        if size > 1:
            steps = [i * stride for i in range(size)]
            places = [place + step for place in places for step in steps]
    return places


def flat(tensor):
    """Return the numbers in the order of the axes. Not to be changed."""
    if tensor.is_contiguous():
        numbers, start, count = tensor._s, tensor._o, math.prod(tensor.shape)
        return numbers if len(numbers) == count else numbers[start : start + count]
    numbers = tensor._s
    return [numbers[i] for i in index(tensor)]


def places_in(base, part):
    """Return which numbers of a tensor a view of it shows."""
    where = {place: i for i, place in enumerate(index(base))}
    return [where[place] for place in index(part)]


def spread(gradient, places, shape):
    """Return a gradient for a whole, where only some places have one; several add up."""
    numbers = [0.0] * math.prod(shape)
    for place, each in zip(places, flat(gradient), strict=True):
        numbers[place] += each
    made = make(numbers, shape, gradient.dtype)
    if _graph._enabled[-1]:
        size = gradient.shape
        record(made, "SpreadBackward0", (gradient,), lambda g: collect(g, places, size))
    return made


def collect(tensor, places, shape):
    """Return the numbers at some places, as a tensor of its own."""
    numbers = flat(tensor)
    made = new([numbers[place] for place in places], shape, tensor.dtype)
    whole = tensor.shape
    return record(made, "IndexBackward0", (tensor,), lambda g: spread(g, places, whole))


def check_writable(tensor, constant=False):
    """Reject what must not be written into; a constant may go where numbers share their place."""
    if _graph._enabled[-1]:
        if tensor._wants and tensor._node is None:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
            )
        base = tensor._base
        if base is not None and base._wants and base._node is None:
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place"
                " operation."
            )
    if not constant and any(
        size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor._strides, strict=True)
    ):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a"
            " single"
            " memory location. Please clone() the tensor before performing the operation."
        )


def assign(tensor, made, constant=False):
    """Write a result into a tensor, and its history; return the tensor."""
    check_writable(tensor, constant)
    if made.shape != tensor.shape:
        raise RuntimeError(
            f"output with shape {list(tensor.shape)} doesn't match the broadcast shape"
            f" {list(made.shape)}"
        )
    if made.dtype.kind > tensor.dtype.kind:
        raise RuntimeError(
            f"result type {TITLES[made.dtype]} can't be cast to the desired output type"
            f" {TITLES[tensor.dtype]}"
        )
    numbers = flat(made) if made.dtype is tensor.dtype else tensor.dtype.fit(flat(made))
    numbers = list(numbers)
    if tensor.is_contiguous():
        tensor._s[tensor._o : tensor._o + len(numbers)] = numbers
    else:
        store = tensor._s
        for place, number in zip(index(tensor), numbers, strict=True):
            store[place] = number
    if _graph._enabled[-1] and (tensor.requires_grad or made.requires_grad):
        _rebase(tensor, edge_of(made))
    return tensor


def _rebase(tensor, edge):
    """Give a tensor that was written into the history of what was written."""
    base = tensor._base
    if base is None:
        tensor._node, tensor._output = edge if edge else (None, 0)
        tensor._turn += 1
        return
    places, shape = places_in(base, tensor), tensor.shape

    def back(gradient):
        kept = list(flat(gradient))
        for place in places:
            kept[place] = 0.0
        return new(kept, gradient.shape, gradient.dtype), collect(gradient, places, shape)

    base._node, base._output = Node("CopySlices", [edge_of(base), edge], back), 0
    base._turn += 1
    tensor._sync()
