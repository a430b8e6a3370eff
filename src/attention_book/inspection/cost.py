"""What a layer costs: operations and peak memory, counted while it runs, not derived."""

import math
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

# --- operations --------------------------------------------------------------------------------


#: The nodes of torch's graph that stand for a product of matrices.
PRODUCTS = ("Mm", "Addmm", "Bmm", "Baddbmm", "Addbmm", "Mv", "Addmv", "Dot", "Convolution")
#: Nodes that stand for a whole recurrent layer and don't say how many steps it takes.
SEALED = ("CudnnRnn", "MkldnnRnn", "MiopenRnn")

aten = torch.ops.aten


def operations(function: Callable[..., object], *inputs: Tensor) -> int:
    """Count the additions and multiplications in the matrix products of one call.

    A product (m, k) @ (k, n) counts 2mkn, a multiplication and an addition for each
    term; whatever is not a product of matrices (softmax, tanh, sums) counts nothing.
    A convolution counts its padding. Attention by a fused kernel counts as the two
    products that it computes. Backward passes are not run.

    Args:
        function: A module, or any function of tensors.
        inputs: What to call it with.

    >>> operations(torch.nn.Linear(3, 5), torch.zeros(7, 3))
    210
    """
    vectors: dict[Any, Any] = {aten.mv: _with_a_vector, aten.dot: _with_a_vector}
    counter = FlopCounterMode(display=False, custom_mapping=vectors)
    # With gradients on, torch's own layers take the way that can be counted.
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH), counter:
        function(*inputs)
    return counter.get_total_flops()


def sequential_steps(function: Callable[..., Tensor], *inputs: Tensor) -> int:
    """Count the matrix products that must wait for one another.

    The longest chain of products in the graph that torch keeps for the backward pass:
    each needs the result of the one before, so more processors do not shorten it.

    Args:
        function: From tensors to one tensor, differentiable.
        inputs: What to call it with.

    >>> x = torch.zeros(1, 7, 4)
    >>> recurrent = torch.nn.RNN(4, 4, batch_first=True)
    >>> sequential_steps(lambda x: recurrent(x)[0], x)
    7
    >>> sequential_steps(torch.nn.Linear(4, 4), x)
    1
    """
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
        output = function(*(_leaf(each) for each in inputs))
    if output.grad_fn is None:
        raise ValueError("function: expected an output that torch can differentiate, got none")
    return _longest_chain(output.grad_fn)


def _with_a_vector(shape: Sequence[int], *others: object, **options: object) -> int:
    """Torch counts products of matrices only; this is a product with a vector."""
    return 2 * math.prod(shape)


def _leaf(x: Tensor) -> Tensor:
    return x.detach().requires_grad_(x.is_floating_point())


def _longest_chain(last: torch.autograd.graph.Node) -> int:
    """Walk the graph from the output to its leaves; without recursion, for chains are long."""
    longest: dict[torch.autograd.graph.Node, int] = {}
    pending = [last]
    while pending:
        node = pending[-1]
        before = [each for each, _ in node.next_functions if each is not None]
        unknown = [each for each in before if each not in longest]
        if unknown:
            pending += unknown
        else:
            longest[pending.pop()] = _own_steps(node) + max(
                map(longest.__getitem__, before), default=0
            )
    return longest[last]


def _own_steps(node: torch.autograd.graph.Node) -> int:
    name = node.name().removesuffix("0").removesuffix("Backward")
    if name.startswith(SEALED):
        raise ValueError(
            f"function: expected one graph node for each step, got {node.name()}, one node for "
            "a whole recurrent layer; call it in double precision on the CPU"
        )
    return int(name in PRODUCTS)


# --- memory ------------------------------------------------------------------------------------


def peak_bytes(function: Callable[..., object], *inputs: Tensor) -> int:
    """Return the most bytes of tensors that one call holds at once.

    Counted is what the call itself creates and has not yet let go, its result included;
    what existed before counts nothing. A view shares its memory and counts nothing either.
    A backward pass within the call is part of it. What one of torch's kernels takes for
    itself while it computes is not seen.

    On the ``meta`` device, where tensors have a shape and no numbers, the bytes are those
    that the call would take, so you can measure calls that would not fit into memory.

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
