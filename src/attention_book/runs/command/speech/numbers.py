"""Numbers on the command line, refused in the language that is spoken."""

from typing import Any

import click

from attention_book.foundations.bilingual import Bilingual
from attention_book.runs.command.speech.language import spoken


class Whole(click.IntRange):
    """A whole number from ``min`` on."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or complain."""
        self.name = spoken(Bilingual("整数", "whole number"))
        return super().convert(value, param, ctx)


class Number(click.FloatRange):
    """A finite number from ``min`` on."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or complain."""
        self.name = spoken(Bilingual("数", "number"))
        number = super().convert(value, param, ctx)
        if number != number or number in (float("inf"), float("-inf")):
            text = Bilingual(f"{value!r} 不是有限的数。", f"{value!r} is not a finite number.")
            self.fail(spoken(text), param, ctx)
        return number


#: How many of something: one at least, and no more than there can be.
COUNT = Whole(min=1, max=1_000_000_000)

__all__ = ["COUNT", "Number", "Whole"]
