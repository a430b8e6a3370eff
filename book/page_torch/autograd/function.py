"""Operations with a `forward` and a `backward` of one's own."""

from .. import _graph
from .._graph import Node, edge_of, no_grad
from .._tensor import Tensor


class _Context:
    """What a function of one's own keeps for its way back."""

    saved_tensors = ()
    needs_input_grad = ()

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors):
        self.constant = {id(each) for each in tensors}

    def mark_dirty(self, *tensors):
        pass

    def set_materialize_grads(self, value):
        pass


class Function:
    """An operation with a `forward` and a `backward` of its own."""

    @classmethod
    def apply(cls, *args):
        context = _Context()
        context.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        with no_grad():
            if "setup_context" in vars(cls):
                made = cls.forward(*args)
                cls.setup_context(context, args, made)
            else:
                made = cls.forward(context, *args)
        outputs = list(made) if isinstance(made, tuple) else [made]
        if _graph.is_grad_enabled() and any(context.needs_input_grad):
            inputs = [a for a in args if isinstance(a, Tensor)]

            def back(*gradients):
                shaped = [
                    g if g is not None or not isinstance(o, Tensor) else o.detach() * 0
                    for g, o in zip(gradients, outputs, strict=True)
                ]
                got = cls.backward(context, *shaped)
                got = got if isinstance(got, tuple) else (got,)
                return [g for g, a in zip(got, args, strict=True) if isinstance(a, Tensor)]

            edges = [edge_of(each) for each in inputs]
            node = Node(f"{cls.__name__}Backward", edges, back, len(outputs))
            constant = getattr(context, "constant", ())
            for place, each in enumerate(outputs):
                if isinstance(each, Tensor) and each.dtype.kind == 2 and id(each) not in constant:
                    if any(each is other for other in inputs):
                        each = outputs[place] = each.detach()
                    each._node, each._output, each._wants = node, place, False
        return tuple(outputs) if isinstance(made, tuple) else outputs[0]


def once_differentiable(backward):
    return backward


FunctionCtx = _Context
