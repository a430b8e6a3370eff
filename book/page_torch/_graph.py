"""Reverse-mode differentiation: the graph of operations, and the walk back through it."""

import functools
import inspect
from contextlib import ContextDecorator

_enabled = [True]


def is_grad_enabled():
    return _enabled[-1]


class set_grad_enabled(ContextDecorator):
    """Switch recording on or off, as a statement, a block or a decorator."""

    def __init__(self, mode=True):
        self.mode, self.before = mode, _enabled[-1]
        _enabled[-1] = mode

    def __enter__(self):
        _enabled[-1] = self.before
        _enabled.append(self.mode)

    def __exit__(self, *error):
        _enabled.pop()


class _Switch:
    mode = False

    def __new__(cls, function=None):
        self = super().__new__(cls)
        return self(function) if function is not None else self

    def __enter__(self):
        _enabled.append(self.mode)

    def __exit__(self, *error):
        _enabled.pop()

    def __call__(self, function):
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def switched(*args, **kwargs):
                made = function(*args, **kwargs)
                while True:
                    with type(self)():
                        try:
                            each = next(made)
                        except StopIteration:
                            return
                    yield each
        else:

            @functools.wraps(function)
            def switched(*args, **kwargs):
                with type(self)():
                    return function(*args, **kwargs)

        return switched


class no_grad(_Switch):
    """Record nothing."""


class inference_mode(_Switch):
    """Record nothing."""

    def __new__(cls, mode=True):
        if callable(mode):
            return super().__new__(cls, mode)
        self = object.__new__(cls)
        self.mode = not mode
        return self

    def __init__(self, mode=True):
        pass


class enable_grad(_Switch):
    """Record again, inside of a block that does not."""

    mode = True


class Node:
    """One operation: where its inputs came from, and how a gradient goes back to them.

    `edges` are pairs (node, number of its output) or None; `backward` gets one gradient for
    each output and returns one for each input.
    """

    __slots__ = ("__weakref__", "backward", "edges", "name", "outputs")

    def __init__(self, name, edges, backward, outputs=1):
        self.name, self.edges, self.backward, self.outputs = name, edges, backward, outputs

    def __repr__(self):
        return f"<{self.name} object at {id(self):#x}>"

    @property
    def next_functions(self):
        return tuple((edge[0], edge[1]) if edge else (None, 0) for edge in self.edges)


class Leaf(Node):
    """Where a gradient arrives: a tensor that no operation made."""

    __slots__ = ("variable",)

    def __init__(self, variable):
        super().__init__("AccumulateGrad", (), None)
        self.variable = variable


def edge_of(tensor):
    """Return where the gradient of a tensor goes; None if nowhere."""
    tensor._sync()
    if tensor._node is not None:
        return tensor._node, tensor._output
    if not tensor._wants:
        return None
    if tensor._leaf is None:
        tensor._leaf = Leaf(tensor)
    return tensor._leaf, 0


def record(made, name, inputs, backward):
    """Note how a tensor was made, if a gradient may be asked for; return it."""
    if _enabled[-1] and made.dtype.kind == 2:
        edges = [edge_of(each) for each in inputs]
        if any(edges):
            made._node = Node(name, edges, backward)
    return made


def _order(roots):
    """Return all nodes, each before those that its inputs came from."""
    done, order, stack = set(), [], [(node, False) for node in roots]
    while stack:
        node, left = stack.pop()
        if left:
            order.append(node)
        elif id(node) not in done:
            done.add(id(node))
            stack.append((node, True))
            stack.extend(
                (edge[0], False) for edge in node.edges if edge and id(edge[0]) not in done
            )
    return order[::-1]


def walk(roots, gradients, wanted=None, create_graph=False):
    """Send gradients back from tensors.

    With `wanted` (edges), return their gradients and touch nothing; else add to `.grad`.
    """
    arrived = {}
    for root, gradient in zip(roots, gradients, strict=True):
        _add(arrived, edge_of(root), gradient)
    needed = {} if wanted is None else {(id(n), i): None for n, i in wanted}
    _enabled.append(create_graph)
    try:
        for node in _order([edge_of(root)[0] for root in roots]):
            got = [arrived.pop((id(node), i), None) for i in range(node.outputs)]
            if all(each is None for each in got):
                continue
            for i, each in enumerate(got):
                if (id(node), i) in needed:
                    needed[id(node), i] = each
            if isinstance(node, Leaf):
                if wanted is None:
                    _accumulate(node.variable, got[0], create_graph)
                continue
            if node.backward is None:
                raise RuntimeError(
                    "Trying to backward through the graph a second time (or directly access saved"
                    " tensors after they have already been freed). Saved intermediate values of the"
                    " graph are freed when you call .backward() or autograd.grad(). Specify"
                    " retain_graph=True if you need to backward through the graph a second time or"
                    " if you need to access saved tensors after calling backward."
                )
            back = node.backward(*got)
            for edge, each in zip(
                node.edges, back if isinstance(back, (tuple, list)) else (back,), strict=True
            ):
                if edge is not None and each is not None:
                    _add(arrived, edge, each)
    finally:
        _enabled.pop()
    return list(needed.values())


def release(roots):
    """Forget how tensors were made: a second walk is an error, as in PyTorch."""
    for node in _order([edge_of(root)[0] for root in roots]):
        if not isinstance(node, Leaf):
            node.backward = None


def _add(arrived, edge, gradient):
    key = (id(edge[0]), edge[1])
    arrived[key] = gradient if arrived.get(key) is None else arrived[key] + gradient


def _accumulate(leaf, gradient, create_graph):
    for hook in leaf._hooks or ():
        changed = hook(gradient)
        gradient = gradient if changed is None else changed
    gradient = gradient.to(leaf.dtype)
    if not create_graph:
        gradient = gradient.detach().clone()
    leaf.grad = gradient if leaf.grad is None else leaf.grad + gradient
