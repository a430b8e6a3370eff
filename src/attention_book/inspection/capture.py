"""Look at the attention weights of a whole model, from outside.

The modules return their output and keep nothing. While a `with` block lasts, each of them is
watched: what it was called with is handed to its own `weights` method, a pure function.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from inspect import isroutine, signature
from typing import Any

import torch
from torch import Tensor, nn

RandomState = tuple[Tensor, list[Tensor]]


@contextmanager
def capture_attention(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Collect the weights of every attention module in ``model`` while it runs.

    An attention module is any submodule with a ``weights`` method. Its forward
    call is repeated as ``weights(queries, keys, mask)``, with the arguments
    taken from the call by name (an offset or a bias too, where ``weights`` has
    one), without gradients and from the same random state. The outputs and the
    random numbers drawn later are those of a run without capturing. Dropout
    acts after the weights, so it does not show.

    Args:
        model: any module; it may itself be an attention module.

    Yields:
        Name of the submodule to its weights, one tensor for each call, in the
        order of the calls. The model itself goes by the name of its class.

    Raises:
        ValueError: if no submodule has a ``weights`` method.
        TypeError: when the model runs, if a ``weights`` method asks for something that
            its ``forward`` was not given.

    >>> from attention_book.attention import DotProductAttention
    >>> model = nn.Sequential(DotProductAttention())
    >>> with capture_attention(model) as seen:
    ...     output = model[0](torch.zeros(1, 2, 4), torch.zeros(1, 5, 4), torch.ones(1, 5, 3))
    >>> seen["0"][0].shape
    torch.Size([1, 2, 5])
    """
    watched = {
        name or type(model).__name__: module
        for name, module in model.named_modules()
        if isroutine(getattr(module, "weights", None))
    }
    if not watched:
        raise ValueError(f"no submodule of {type(model).__name__} has a weights method to capture")
    seen: dict[str, list[Tensor]] = {name: [] for name in watched}
    watch = _Watch()
    with ExitStack() as hooks:
        for name, module in watched.items():
            before, after = watch.hooks(seen[name])
            hooks.enter_context(_removing(module.register_forward_pre_hook(before)))
            hooks.enter_context(_removing(module.register_forward_hook(after, with_kwargs=True)))
        yield seen


class _Watch:
    """The hooks of all modules: remember the random state, then recompute the weights.

    A ``weights`` method may itself call a module that is watched; what runs only
    because we recompute is no call of the model, and is not collected.
    """

    def __init__(self) -> None:
        self.recomputing = False

    def hooks(self, calls: list[Tensor]) -> tuple[Callable[..., None], Callable[..., None]]:
        states: list[RandomState] = []

        def before(module: nn.Module, args: tuple[Any, ...]) -> None:
            if not self.recomputing:
                states.append(_random_state())

        def after(
            module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
        ) -> None:
            if self.recomputing:
                return
            self.recomputing = True
            try:
                with torch.no_grad(), _replay(states.pop()):
                    weights: Any = module.weights
                    calls.append(call_with(weights, arguments_of(module, args, kwargs)))
            finally:
                self.recomputing = False

        return before, after


def arguments_of(
    module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call of ``module`` by name, defaults included."""
    call = signature(module.forward).bind(*args, **kwargs)
    call.apply_defaults()
    return call.arguments


def call_with(method: Callable[..., Tensor], arguments: dict[str, Any]) -> Tensor:
    """Call a module's method with those of ``arguments`` that it names.

    Raises:
        TypeError: if it names one that is not there.
    """
    wanted = signature(method).parameters
    if unknown := [name for name in wanted if name not in arguments]:
        raise TypeError(
            f"{method.__qualname__}: expected arguments that forward takes too, "
            f"got {', '.join(unknown)}"
        )
    return method(**{name: arguments[name] for name in wanted})


def _random_state() -> RandomState:
    return torch.get_rng_state(), torch.cuda.get_rng_state_all()


@contextmanager
def _replay(state: RandomState) -> Iterator[None]:
    """Draw the same random numbers again, then go on as if nothing had been drawn."""
    now = _random_state()
    try:
        _set_random_state(state)
        yield
    finally:
        _set_random_state(now)


def _set_random_state(state: RandomState) -> None:
    cpu, gpus = state
    torch.set_rng_state(cpu)
    torch.cuda.set_rng_state_all(gpus)


@contextmanager
def _removing(handle: Any) -> Iterator[None]:
    try:
        yield
    finally:
        handle.remove()


__all__ = ["capture_attention"]
