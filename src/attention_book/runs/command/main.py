"""Where the command begins: what is missing is said in one line, whatever is missing."""

import os
import sys

from attention_book.foundations.environment import from_extra


def main() -> None:
    """Run the command with the arguments of this process, and end the process."""
    try:
        with from_extra("command", "click"):
            import click  # noqa: F401
        from attention_book.runs.command.program import program
    except ImportError as error:
        if "attention-book[" not in str(error):
            raise
        print(f"attention-book: {error}", file=sys.stderr)
        sys.exit(5)
    if os.environ.get("RANK", "0") != "0":  # of many processes of torchrun the first one speaks
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
    program.main(prog_name="attention-book")


__all__ = ("main",)

if __name__ == "__main__":
    main()
