"""A device that is none: its tensors lie on the CPU, and every wait for them is written down.

Whoever mixes them with tensors of the CPU gets the error that a GPU's would give, and whoever reads
one back, or copies to the device and waits for it, is counted, with the line that did it. So a
whole training or search shows without a card what it would do on one. Autograd, autocast and
generators work; kernels are the CPU's, so the numbers are too.

Registering a device holds for a process; ``tests/devices`` runs all that needs it in one of its
own.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend("pretended")
torch._C._set_only_lift_cpu_tensors(True)
torch.__future__.set_swap_module_params_on_conversion(True)

DEVICE = torch.device("pretended", 0)
_SOURCE = "src/attention_book/"
_aten: Any = torch.ops.aten
#: What waits until the device has computed its argument: the result's size, or value, is in it.
_READS = {
    _aten._local_scalar_dense.default,
    _aten.equal.default,
    _aten.is_nonzero.default,
    _aten.nonzero.default,
    _aten.masked_select.default,
    _aten._unique2.default,
    _aten.unique_dim.default,
    _aten.unique_consecutive.default,
    _aten.repeat_interleave.Tensor,
    _aten.bincount.default,
}
_INDEXING = {
    _aten.index.Tensor,
    _aten._unsafe_index.Tensor,
    _aten.index_put.default,
    _aten.index_put_.default,
    _aten._index_put_impl_.default,
}


class Log:
    """What happened between the device and the CPU, counted by its place in the package."""

    def __init__(self) -> None:
        self.waits: Counter[str] = Counter()
        self.doubles: Counter[str] = Counter()

    def wait(self, what: str) -> None:
        """Count a wait."""
        self.waits[f"{_place()}: {what}"] += 1


LOG = Log()


def _place() -> str:
    frame: Any = sys._getframe(2)
    while frame is not None:
        _, found, path = frame.f_code.co_filename.partition(_SOURCE)
        if found:
            return f"{path}:{frame.f_lineno} {frame.f_code.co_name}"
        frame = frame.f_back
    return "the caller"


class Pretended(Tensor):
    """A tensor that says it lies on the device, and has its numbers on the CPU."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor, requires_grad: bool = False) -> "Pretended":
        made = Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            layout=inner.layout,
            device=DEVICE,
            requires_grad=requires_grad,
        )
        made.inner = inner
        return made  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"Pretended({self.inner})"

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        flat, _ = tree_flatten((args, kwargs))
        ours = [each for each in flat if isinstance(each, Pretended)]
        others = [t for t in flat if isinstance(t, Tensor) and not isinstance(t, Pretended)]
        _check_together(func, args, ours, others)
        target = kwargs.get("device")
        to_cpu = target is not None and torch.device(target).type == "cpu"
        if func in _READS:
            LOG.wait(str(func))
        elif func is _aten._to_copy.default and target is not None:
            waits = not kwargs.get("non_blocking")
            if to_cpu and ours:
                LOG.wait("to the CPU")
            elif not to_cpu and others and waits:
                LOG.wait("to the device")
        elif func is _aten.copy_.default and isinstance(args[0], Pretended) != isinstance(
            args[1], Pretended
        ):
            non_blocking = len(args) > 2 and args[2]
            if not (isinstance(args[0], Pretended) and (non_blocking or not args[1].ndim)):
                LOG.wait("a copy")
        if torch.float64 in [each for each in flat if isinstance(each, torch.dtype)] and not to_cpu:
            LOG.doubles[_place()] += 1
        if target is not None:
            kwargs["device"] = torch.device("cpu")
        kwargs.pop("pin_memory", None)
        generator = kwargs.get("generator")
        if generator is not None and ours and not getattr(generator, "pretended", False):
            raise RuntimeError("Expected a 'pretended' device type for generator but found 'cpu'")
        if func in _WRITTEN_OUT:  # an operation that the CPU has under another name
            func = _WRITTEN_OUT[func]
        back = {id(each.inner): each for each in ours}
        bare = lambda t: t.inner if isinstance(t, Pretended) else t  # noqa: E731
        out = func(*tree_map(bare, args), **tree_map(bare, kwargs))

        def wrapped(thing: Any) -> Any:
            if not isinstance(thing, Tensor):
                return thing
            return back.get(id(thing), thing if to_cpu else Pretended(thing))

        return tree_map(wrapped, out)


def _gru_cell(
    inputs: Tensor, hidden: Tensor, before: Tensor, b_i: Any = None, b_h: Any = None
) -> tuple[Tensor, Tensor]:
    inputs, hidden = (x if b is None else x + b for x, b in ((inputs, b_i), (hidden, b_h)))
    (r_i, z_i, n_i), (r_h, z_h, n_h) = inputs.chunk(3, -1), hidden.chunk(3, -1)
    r, z = (r_i + r_h).sigmoid(), (z_i + z_h).sigmoid()
    n = (n_i + r * n_h).tanh()
    return n + z * (before - n), torch.cat((r, z, n, before, n_h), -1)


def _gru_cell_backward(slope: Tensor, kept: Tensor, has_bias: bool) -> tuple[Any, ...]:
    r, z, n, before, n_h = kept.chunk(5, -1)
    new = slope * (1 - z) * (1 - n * n)
    update = slope * (before - n) * z * (1 - z)
    reset = new * n_h * r * (1 - r)
    inputs = torch.cat((reset, update, new), -1)
    hidden = torch.cat((reset, update, new * r), -1)
    biases = (inputs.sum(0), hidden.sum(0)) if has_bias else (None, None)
    return inputs, hidden, slope * z, *biases


_WRITTEN_OUT = {
    _aten._thnn_fused_gru_cell.default: _gru_cell,
    _aten._thnn_fused_gru_cell_backward.default: _gru_cell_backward,
}
_torchs_gru = torch.nn.GRU.forward


def _gru(self: Any, x: Tensor, h: Any = None) -> Any:
    """Run a GRU cell by cell: torch's own would ask for cuDNN."""
    if not isinstance(x, Pretended):
        return _torchs_gru(self, x, h)
    finals = []
    for layer, weights in enumerate(self.all_weights):
        state = x.new_zeros(x.shape[0], self.hidden_size) if h is None else h[layer]
        states = []
        for step in x.unbind(1):
            state = torch.gru_cell(step, state, *weights)
            states.append(state)
        x = torch.stack(states, 1)
        finals.append(state)
    return x, torch.stack(finals)


torch.nn.GRU.forward = _gru  # type: ignore[method-assign]


def _check_together(func: Any, args: Any, ours: list[Any], others: list[Tensor]) -> None:
    """Refuse what a GPU refuses, and count an index that it has to wait for."""
    if func in (_aten._to_copy.default, _aten.copy_.default) or not ours or not others:
        return
    if func in _INDEXING:
        if not isinstance(args[0], Pretended):
            raise RuntimeError("indices should be on the same device as the indexed tensor (cpu)")
        index = [each for each in args[1] if each is not None]
        if any(not isinstance(each, Pretended) for each in index):
            LOG.wait("an index on the CPU")
        return
    name = str(func)
    if any(each.ndim for each in others) and "_fused_" not in name and "_foreach" not in name:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"pretended:0 and cpu! ({name})"
        )


def _is_ours(device: Any) -> bool:
    if device is None or isinstance(device, int):
        return False
    return torch.device(device).type == DEVICE.type


class _ToDevice(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:  # type: ignore[override]
        return Pretended(x.detach())

    @staticmethod
    def backward(context: Any, gradient: Any) -> Any:  # type: ignore[override]
        return gradient.inner if isinstance(gradient, Pretended) else gradient


class _Functions(TorchFunctionMode):
    """Moves and makes tensors, where torch would ask the device itself."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is Tensor.to:
            return _moved(func, args, kwargs)
        if func is Tensor.tolist and isinstance(args[0], Pretended):
            LOG.wait("tolist")
            return args[0].inner.tolist()
        if func in (Tensor.numpy, Tensor.__array__) and isinstance(args[0], Pretended):
            raise TypeError("can't convert pretended:0 device type tensor to numpy")
        if func is Tensor.pin_memory:
            return args[0]
        if func is Tensor.new_tensor and isinstance(args[0], Pretended):
            LOG.wait("new_tensor")
            return Pretended(args[0].inner.new_tensor(*args[1:], **kwargs))
        if not _is_ours(kwargs.get("device")) or func.__name__ == "_parse_to":
            return func(*args, **kwargs)
        if func in (torch.tensor, torch.as_tensor, torch.asarray):
            data = args[0] if args else kwargs["data"]
            if isinstance(data, Pretended):
                kept = {name: value for name, value in kwargs.items() if name == "dtype"}
                return data.to(**kept) if kept else data
            LOG.wait(func.__name__)
            return Pretended(func(*args, **{**kwargs, "device": "cpu"}))
        if any(isinstance(each, Pretended) for each in args):
            return func(*args, **kwargs)
        generator = kwargs.get("generator")
        if generator is not None and not getattr(generator, "pretended", False):
            raise RuntimeError("Expected a 'pretended' device type for generator but found 'cpu'")
        wants = kwargs.pop("requires_grad", False)
        if kwargs.get("dtype") == torch.float64:
            LOG.doubles[_place()] += 1
        made = func(*args, **{**kwargs, "device": "cpu"})
        return Pretended(made, requires_grad=wants) if isinstance(made, Tensor) else made


def _moved(func: Any, args: Any, kwargs: Any) -> Any:
    """Move a tensor, or let torch do what is no move to the device."""
    x, given = args[0], [*args[1:], kwargs.get("device"), kwargs.get("other")]
    target = dtype = None
    for each in given:
        if isinstance(each, torch.device | str):
            target = each
        elif isinstance(each, Tensor):
            target, dtype = each.device, each.dtype
        elif isinstance(each, torch.dtype):
            dtype = each
    dtype = kwargs.get("dtype") or dtype
    if not _is_ours(target) or isinstance(x, Pretended):
        return func(*args, **kwargs)
    if not kwargs.get("non_blocking"):
        LOG.wait("to the device")
    y = x if dtype is None else x.to(dtype)
    if x.is_leaf and x.requires_grad and not torch.is_grad_enabled():
        return Pretended(y.detach())
    return _ToDevice.apply(y)


class _Dispatch(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        flat, _ = tree_flatten((args, kwargs))
        if any(isinstance(each, Pretended) for each in flat) or _is_ours(kwargs.get("device")):
            return Pretended.__torch_dispatch__(func, types, args, kwargs)
        return func(*args, **kwargs)


@contextmanager
def pretending() -> Iterator[Log]:
    """Let the device exist in this block, and note what happens there."""
    LOG.__init__()  # type: ignore[misc]
    with _Functions(), _Dispatch():
        yield LOG
