"""Where the code runs: in the book's build, in a reader's notebook, or in a terminal."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Set to 1 by the book's build for its kernels.
BUILD_VARIABLE = "ATTENTION_BOOK_BUILD"
#: Where pip finds the package: it is on no index.
# addresses: begin
ADDRESS = "git+https://github.com/attention-book/attention_book@main"
# addresses: end


def in_book_build() -> bool:
    """Whether this runs in the site's build, and not for a reader."""
    return os.environ.get(BUILD_VARIABLE) == "1"


def in_notebook() -> bool:
    """Whether this process is a notebook's kernel, asked without importing IPython."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_shell is not None and hasattr(get_shell(), "kernel")


def bar_options() -> dict[str, Any]:
    """Return how tqdm should draw a bar here: where to, and whether at all.

    A notebook paints standard error as an error, so there the bar is output. The
    book's build, and a file in the place of a terminal, get none.
    """
    return {
        "file": sys.stdout if in_notebook() else sys.stderr,
        "disable": in_book_build() or not (in_notebook() or sys.stderr.isatty()),
    }


@contextmanager
def from_extra(extra: str, library: str) -> Iterator[None]:
    """Import a library in this block; if it is missing, the error names the extra to install.

    Raises:
        ImportError: if the library is not installed.
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"{library}: expected it installed, got none; "
            f'pip install "attention-book[{extra}] @ {ADDRESS}"'
        ) from error


__all__ = ()  # for the package itself
