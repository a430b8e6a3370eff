"""Functions with a name, for answers that are handed a function."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, repr=False)
class Named:
    """A function that prints as what it is called, wherever a verdict shows it.

    Attributes:
        name: what it is called.
        function: what it does.

    >>> Named("double", lambda x: 2 * x)
    double
    >>> Named("double", lambda x: 2 * x)(4)
    8
    """

    name: str
    function: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        """Show the name."""
        return self.name
