"""Attention, from a plain average to the Transformer: the package behind the book."""

from attention_book.foundations.seed import set_seed

__all__ = ["set_seed"]


def __getattr__(name: str) -> str:
    """Return the version of what is installed, once somebody asks for it."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("attention-book")
    except PackageNotFoundError:  # the files alone, as in a page
        return "0+unknown"
