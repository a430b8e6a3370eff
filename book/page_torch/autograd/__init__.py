"""Gradients: of functions of one's own too."""

from .. import _graph
from .._dtypes import float32
from .._graph import Node, edge_of, enable_grad, no_grad, set_grad_enabled
from .._missing import lookup
from .._tensor import Tensor, new
from .function import Function


def _started(tensors, gradients):
    """Return tensors and the gradients that a walk starts with."""
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if gradients is None or isinstance(gradients, Tensor):
        gradients = [gradients] * len(tensors) if gradients is None else [gradients]
    made = []
    for tensor, gradient in zip(tensors, gradients, strict=True):
        if not tensor.requires_grad:
            raise RuntimeError(
                "element 0 of tensors does not require grad and does not have a grad_fn"
            )
        if gradient is None:
            if tensor.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            gradient = new([1.0], tensor.shape, tensor.dtype)
        elif gradient.shape != tensor.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[0] has a shape of {gradient.shape} and"
                " output[0] has a"
                f" shape of {tensor.shape}."
            )
        made.append(gradient)
    return tensors, made


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None):
    tensors, gradients = _started(tensors, grad_tensors)
    if inputs is None:
        _graph.walk(tensors, gradients, None, create_graph)
    else:
        inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        for leaf, each in zip(
            inputs,
            _graph.walk(tensors, gradients, [edge_of(i) for i in inputs], create_graph),
            strict=True,
        ):
            if each is not None:
                leaf.grad = each if leaf.grad is None else leaf.grad + each
    if not (create_graph if retain_graph is None else retain_graph):
        _graph.release(tensors)


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    tensors, gradients = _started(outputs, grad_outputs)
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    edges = [edge_of(each) for each in inputs]
    if any(edge is None for edge in edges):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    found = _graph.walk(tensors, gradients, edges, create_graph)
    by_edge = dict(zip(dict.fromkeys((id(n), i) for n, i in edges), found, strict=True))
    found = [by_edge[id(n), i] for n, i in edges]
    if materialize_grads:
        found = [
            each if each is not None else x.detach() * 0
            for each, x in zip(found, inputs, strict=True)
        ]
    elif not allow_unused and any(each is None for each in found):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. Set"
            " allow_unused=True if this is the desired behavior."
        )
    if not (create_graph if retain_graph is None else retain_graph):
        _graph.release(tensors)
    return tuple(found)


class set_detect_anomaly:
    """Accepted, and without effect."""

    def __init__(self, mode=True, check_nan=True):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


detect_anomaly = set_detect_anomaly


def gradcheck(function, inputs, eps=1e-6, atol=1e-5, rtol=1e-3, **ignored):
    """Compare gradients with differences."""
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    out = function(*inputs)
    weight = out.detach() * 0 + 1
    found = grad((out * weight).sum(), [i for i in inputs if i.requires_grad], allow_unused=True)
    for x, got in zip([i for i in inputs if i.requires_grad], found, strict=True):
        for place in range(x.numel()):
            values = []
            for step in (eps, -eps):
                with no_grad():
                    moved = x.detach().clone()
                    moved.view(-1)[place] += step
                    values.append(function(*[moved if i is x else i for i in inputs]).sum().item())
            slope = (values[0] - values[1]) / (2 * eps)
            own = 0.0 if got is None else got.reshape(-1)[place].item()
            if abs(slope - own) > atol + rtol * abs(slope):
                raise RuntimeError(f"Jacobian mismatch: {slope} and {own}")
    return True


__getattr__ = lookup("autograd", "torch.autograd")
