"""Settings with a name, for real text: a TOML file each, in the folder ``named``."""

from importlib.resources import files

_FOLDER = files("attention_book.runs.settings") / "named"
#: The names, in the order of the alphabet.
TEXT_RECIPES: tuple[str, ...] = tuple(
    sorted(
        file.name.removesuffix(".toml") for file in _FOLDER.iterdir() if file.name.endswith(".toml")
    )
)


def text_of(name: str) -> str:
    """Return the text of a recipe's file.

    >>> text_of("multi30k-en-de").splitlines()[2]
    '[data]'
    """
    return (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")
