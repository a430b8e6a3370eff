"""What a chapter needs of Jupyter: one line of set-up, numbers for the prose, source to read."""

import inspect
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from attention_book.course.measurement import Measurement, measured
from attention_book.foundations.bilingual import Bilingual, chosen_language, set_language
from attention_book.foundations.environment import from_extra, in_book_build
from attention_book.plotting.style import SAVE_METADATA, use_style

with from_extra("course", "IPython"):
    from IPython.core.getipython import get_ipython
    from IPython.display import display

#: Set it to 0 to compare two builds: timings are then shown as 0, or as nothing.
TIMINGS_VARIABLE = "ATTENTION_BOOK_TIMINGS"
#: Before a mime type it tells myst-nb that the value is glued and not shown.
GLUE_PREFIX = "application/papermill.record/"
#: Under this type a measurement is stored among a cell's outputs, in the book's build.
MEASUREMENT_TYPE = "application/vnd.attention-book.measurement"
#: What is printed beside a comparison that does not hold.
DID_NOT_COME_OUT = Bilingual("在这里没有得到", "did not come out here")


def setup(language: str | None = None) -> None:
    """Prepare a chapter: the book's style, sharp figures, labels in one language or both.

    A Python number that a cell ends with is shown with six digits; ``print`` shows them all.

    Args:
        language: "zh" or "en" for labels in that language alone; None, as in
            the book, for labels in both.

    >>> setup()
    """
    set_language(language)
    use_style(transparent=in_book_build())
    shell = get_ipython()
    if shell is not None and hasattr(shell, "kernel"):
        _draw_as_svg(shell)
        _show_six_digits(shell)


def _draw_as_svg(shell: Any) -> None:
    with from_extra("course", "matplotlib-inline"):
        from matplotlib_inline.config import InlineBackend
    backend = InlineBackend.instance(parent=shell)
    # The settings outlive the backend's own start, which may come after this call.
    backend.shell = shell
    backend.figure_formats = {"svg"}
    backend.print_figure_kwargs = {"bbox_inches": "tight", "metadata": SAVE_METADATA}


def _show_six_digits(shell: Any) -> None:
    def show(number: float, printer: Any, cycle: bool) -> None:
        printer.text(repr(float(f"{number:.6g}")))

    shell.display_formatter.formatters["text/plain"].for_type(float, show)


def glue(name: str, value: Any) -> None:
    """Give a number or a word of this run to the prose, under a name.

    A name that begins with ``timing_`` says that the value is another one in every run.
    In the book it is stored without being shown, and ``{glue:text}`` inserts it.
    In a reader's notebook, where no prose can fetch it, it is printed.

    Args:
        name: letters, digits and underscores; unique in the book.
        value: a number, a string, or a tensor or array with one element; for the
            answers of a question also a list or a dictionary of them.

    >>> glue("mse_average", 0.25)
    mse_average = 0.25
    """
    if not name.isidentifier():
        raise ValueError(f"name must be letters, digits and underscores, got {name!r}")
    plain = _plain(value)
    if name.startswith("timing_") and os.environ.get(TIMINGS_VARIABLE) == "0":
        plain = type(plain)()
    if in_book_build():
        record: dict[str, Any] = {"scrapbook": {"name": name, "mime_prefix": GLUE_PREFIX}}
        display({GLUE_PREFIX + "text/plain": repr(plain)}, raw=True, metadata=record)
    else:
        print(f"{name} = {plain:.6g}" if isinstance(plain, float) else f"{name} = {plain}")


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if hasattr(value, "shape") and math.prod(value.shape) != 1:
        raise ValueError(f"value must be a single number, got shape {tuple(value.shape)}")
    plain = value.item() if hasattr(value, "item") else value
    if not isinstance(plain, str | int | float):
        raise TypeError(f"value must be a number or a string, got {type(value).__name__}")
    return plain


def measure(name: str, value: Any, *, draws: int = 1, **bounds: Any) -> None:
    """Record what a training or a draw gave beside its bound; never raise if it does not hold.

    What holds exactly or to rounding is asserted. What depends on a training or a draw may
    come out differently on another processor: then the book says so where it is claimed, and
    goes on. In a reader's notebook the comparison is printed.

    Args:
        name: Small letters, digits and hyphens, unique to one chapter; the slug of a claim
            makes the measurement that claim's evidence.
        value: A number or a truth value, or a tensor or sequence of them, of which the one
            with the smallest margin counts.
        draws: Over how many trainings or draws the value was taken.
        **bounds: ``above``, ``at_least``, ``below``, ``at_most``; none for a truth value,
            which is to be true.

    >>> measure("demo-learns", [0.97, 0.99], above=0.9, draws=2)
    demo-learns: 0.97 > 0.9
    >>> measure("demo-forgets", 0.4, below=0.1)
    demo-forgets: 0.4 < 0.1 did not come out here
    """
    for each in measured(name, value, draws=draws, **bounds):
        if in_book_build():
            display({MEASUREMENT_TYPE: json.dumps(each.to_dict())}, raw=True)
        else:
            print(_told(each))


def _told(measurement: Measurement) -> str:
    if measurement.came_out:
        return str(measurement)
    return f"{measurement} {DID_NOT_COME_OUT.text(chosen_language() or 'en')}"


@dataclass(frozen=True)
class Source:
    """Python source that a notebook shows with colors and a terminal as text."""

    text: str

    def __repr__(self) -> str:
        """The bare source."""
        return self.text

    def _repr_markdown_(self) -> str:
        return f"~~~python\n{self.text}\n~~~"


def show_source(thing: Callable[..., Any] | type | ModuleType) -> Source:
    """Show the real source of a function, class or module, as it is installed.

    Args:
        thing: what to look at.

    Returns:
        The source; as the last line of a cell it is displayed.

    >>> show_source(in_book_build)
    def in_book_build() -> bool:
        ...
    """
    return Source(inspect.getsource(thing).rstrip())


__all__ = ["glue", "measure", "setup", "show_source"]
