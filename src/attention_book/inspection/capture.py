"""Look at the attention weights of a whole model, from outside.

The modules return their output and keep nothing. While a `with` block lasts, each of them is
watched: what it was called with is handed to its own `weights` method, a pure function.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from inspect import isroutine, signature
from typing import Any

import torch
from torch import Tensor, nn

RandomState = tuple[Tensor, list[Tensor]]
_SHELL = "_orig_mod"  # where a compiled module keeps the module


@contextmanager
def capture_attention(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Collect the weights of every attention module in ``model`` while it runs.

    An attention module is any submodule with a ``weights`` method. Its forward
    call is repeated as ``weights(queries, keys, mask)``, with the arguments
    taken from the call by name (an offset or a bias too, where ``weights`` has
    one), without gradients and from the same random state. The outputs and the
    random numbers drawn later are those of a run without capturing. Dropout
    acts after the weights, so it does not show.

    What ``torch.compile`` made runs as it was written meanwhile, and goes by the name that it has
    without compiling. Within a ``torch.func.vmap`` the weights have the mapped axis too.

    Args:
        model: any module; it may itself be an attention module.

    Yields:
        Name of the submodule to its weights, one tensor for each call, in the
        order of the calls. The model itself goes by the name of its class.

    Raises:
        ValueError: if no submodule has a ``weights`` method, as in an exported program; at the
            end of the block, if none of them was called, or one was replaced.
        TypeError: if the model is no module; when it runs, if a ``weights`` method asks for
            something that its ``forward`` was not given.

    >>> from attention_book.attention import DotProductAttention
    >>> model = nn.Sequential(DotProductAttention())
    >>> with capture_attention(model) as seen:
    ...     output = model[0](torch.zeros(1, 2, 4), torch.zeros(1, 5, 4), torch.ones(1, 5, 3))
    >>> seen["0"][0].shape
    torch.Size([1, 2, 5])
    """
    if not isinstance(model, nn.Module):
        got = model.__name__ if isinstance(model, type) else type(model).__name__
        raise TypeError(f"model: expected a module, such as a Transformer, got {got}")
    watched = _with_weights(model)
    if not watched:
        program = isinstance(model, torch.fx.GraphModule | torch.jit.ScriptModule)
        cure = "; capture the model that this program was made of" if program else ""
        raise ValueError(
            f"no submodule of {type(model).__name__} has a weights method to capture{cure}"
        )
    seen: dict[str, list[Tensor]] = {name: [] for name in watched}
    watch = _Watch()
    with ExitStack() as hooks:
        hooks.enter_context(_as_written())
        for name, module in watched.items():
            before, after = watch.hooks(seen[name])
            handle = module.register_forward_pre_hook(before, with_kwargs=True)
            hooks.enter_context(_removing(handle))
            hooks.enter_context(_removing(module.register_forward_hook(after, with_kwargs=True)))
        yield seen
    now = _with_weights(model)
    replaced = [name for name, each in watched.items() if now.get(name) is not each]
    if missed := [name for name in replaced if not seen[name]]:
        raise ValueError(
            f"{missed[0]}: expected the module that was there when the block began, got another "
            "in its place; replace modules before capture_attention"
        )
    if not any(seen.values()):
        raise ValueError(
            "model: expected a call of it in the block, got none; call the model itself, and not "
            "a copy of it, its forward, or a program that was exported from it"
        )


def _with_weights(model: nn.Module) -> dict[str, nn.Module]:
    """Return the modules that have a ``weights`` method, by name.

    The shell that ``torch.compile`` puts around a module passes its attributes on; the module
    itself is meant.
    """
    found = {}
    for name, module in model.named_modules():
        if isroutine(getattr(module, "weights", None)) and _SHELL not in module._modules:
            plain = ".".join(part for part in name.split(".") if part != _SHELL)
            found[plain or type(module).__name__] = module
    return found


def _as_written() -> AbstractContextManager[Any]:
    """Let compiled functions run uncompiled: in a graph, no module is called."""
    stance = getattr(torch.compiler, "set_stance", None)
    compiled = "torch._dynamo" in sys.modules  # else nothing is, and the import takes seconds
    return stance("force_eager") if compiled and stance is not None else nullcontext()


class _Watch:
    """The hooks of all modules: remember the random state, then recompute the weights.

    A ``weights`` method may itself call a module that is watched; what runs only
    because we recompute is no call of the model, and is not collected.
    """

    def __init__(self) -> None:
        self.recomputing = False

    def hooks(self, calls: list[Tensor]) -> tuple[Callable[..., None], Callable[..., None]]:
        begun: list[tuple[RandomState, dict[str, Any]]] = []

        def before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if not self.recomputing:
                begun.append((_random_state(), arguments_of(module, args, kwargs)))

        def after(
            module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
        ) -> None:
            if self.recomputing:
                return
            self.recomputing = True
            try:
                state, arguments = begun.pop()
                with torch.no_grad(), _replay(state):
                    weights: Any = module.weights
                    found = call_with(weights, arguments)
                    # A transform's own tensors mean nothing when it is over.
                    calls.append(torch.func.debug_unwrap(found))
            finally:
                self.recomputing = False

        return before, after


def arguments_of(
    module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call of ``module`` by name, defaults included.

    Ask before the call: a cache goes on by it, and here is a handle that stays where it is.
    """
    call = signature(module.forward).bind(*args, **kwargs)
    call.apply_defaults()
    cache = call.arguments.get("cache")
    return call.arguments if cache is None else call.arguments | {"cache": cache.fork()}


def call_with(method: Callable[..., Any], arguments: dict[str, Any]) -> Any:
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
