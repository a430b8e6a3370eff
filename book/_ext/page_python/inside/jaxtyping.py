"""A stand-in for jaxtyping: in a page `Float[Tensor, "query key"]` is a note that nobody checks."""

from typing import Any


class _Shaped:
    def __getitem__(self, item: Any) -> Any:
        return item[0]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Shaped()
