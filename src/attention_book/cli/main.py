"""Where the command begins: what is missing is said in one line, whatever is missing."""

import sys

from attention_book.foundations.environment import from_extra


def main() -> None:
    """Run the command with the arguments of this process, and end the process."""
    try:
        with from_extra("command", "click"):
            import click  # noqa: F401
        from attention_book.cli.program import program
        from attention_book.runs.building import keep_freed_memory
    except ImportError as error:
        if "attention-book[" not in str(error):
            raise
        print(f"attention-book: {error}", file=sys.stderr)
        sys.exit(5)
    keep_freed_memory()
    program.main(prog_name="attention-book")


if __name__ == "__main__":
    main()
