"""Peak memory of a call, counted while it runs."""

import weakref
from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def peak_bytes(function: Callable[..., object], *inputs: Tensor) -> int:
    """Return the most bytes of tensors that one call holds at once.

    Counted is what the call itself creates and has not yet let go, its result included;
    what existed before counts nothing. A view shares its memory and counts nothing either.
    A backward pass within the call is part of it. What one of torch's kernels takes for
    itself while it computes is not seen.

    On the ``meta`` device, where tensors have a shape and no numbers, the bytes are those
    that the call would take: so can be measured what would not fit.

    Args:
        function: Any function; a step of training, for example.
        inputs: What to call it with.

    >>> import torch
    >>> x = torch.zeros(1000)
    >>> peak_bytes(lambda x: (x + 1) * 2, x)
    8000
    >>> peak_bytes(lambda x: (x + 1).view(10, 100), x)
    4000
    """
    counter = _Counter()
    with counter:
        result = function(*inputs)
    del result  # it lived to the end
    return counter.peak


class _Counter(TorchDispatchMode):
    """Sees every operation of torch, and each memory for the first time and the last."""

    def __init__(self) -> None:
        super().__init__()
        self.held: int = 0
        self.peak: int = 0
        self.known: set[int] = set()

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Run an operation; count what it has created."""
        kwargs = kwargs or {}
        given = {_address(each) for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)}
        result = func(*args, **kwargs)
        for each in tree_leaves(result):
            if isinstance(each, Tensor) and _address(each) not in given:
                self._count(each)
        return result

    def _count(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        address, size = _address(tensor), storage.nbytes()
        if address in self.known:
            return
        self.known.add(address)
        self.held += size
        self.peak = max(self.peak, self.held)
        weakref.finalize(storage, self._release, address, size)

    def _release(self, address: int, size: int) -> None:
        self.known.discard(address)
        self.held -= size


def _address(tensor: Tensor) -> int:
    """Return what is the same for all views of one memory."""
    address: int = tensor.untyped_storage()._cdata
    return address


__all__ = ["peak_bytes"]
