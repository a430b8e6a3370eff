"""Protocols whose instances are told by what their methods take, not by names alone."""

from inspect import Parameter, signature
from typing import Any, Protocol


class Fitting(type(Protocol)):  # type: ignore[misc]
    """What makes ``isinstance`` of a protocol look at the arguments too.

    A method must take the protocol's arguments, under their names: ``start(memory)`` is not
    ``start(batch_size)``. What a function's own arguments are called does not matter, only how
    many there are. A class is no instance of what its instances are.

    >>> from typing import runtime_checkable
    >>> @runtime_checkable
    ... class Compares(Protocol, metaclass=Fitting):
    ...     def __call__(self, one: int, other: int) -> int: ...
    >>> isinstance(pow, Compares), isinstance(len, Compares)
    (True, False)
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        """Whether the names are there, and every method takes what the protocol gives it."""
        if not super().__instancecheck__(instance) or isinstance(instance, type):
            return False
        protocols = (each for each in cls.__mro__ if isinstance(each, Fitting))
        methods = {
            name: method
            for protocol in protocols
            for name, method in vars(protocol).items()
            if callable(method) and (name == "__call__" or not name.startswith("_"))
        }
        return all(_fits(name, method, instance) for name, method in methods.items())


def _fits(name: str, asked: Any, instance: Any) -> bool:
    # What a module is called with, its forward takes.
    call = getattr(instance, "forward", instance)
    method = call if name == "__call__" else getattr(instance, name)
    required = [
        each.name
        for each in list(signature(asked).parameters.values())[1:]
        if each.default is Parameter.empty
    ]
    try:
        taken = signature(method)
        if name == "__call__":
            taken.bind(*required)
        else:
            taken.bind(**dict.fromkeys(required))
    except (TypeError, ValueError):  # it takes others, or does not say which
        return False
    return True
