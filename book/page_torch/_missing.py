"""What this small torch lacks: one clear error, and a note for the page that shows it."""

#: Everything that was asked for and is lacking, since the page last emptied the list.
asked: list[str] = []


class MissingInPage(AttributeError):
    """A part of PyTorch that the page's torch does not have."""


def missing(what):
    """Return the error that says so."""
    asked.append(what)
    return MissingInPage(f"this page has no {what}; in the notebook it works")


def known(kind):
    """Return the names that the real PyTorch has in one of its namespaces."""
    from ._names import NAMES

    return NAMES[kind]


def lookup(kind, prefix):
    """Return a module's ``__getattr__``: tells what only PyTorch has from what nobody has."""

    def __getattr__(name):
        if not name.startswith("__") and name in known(kind):
            raise missing(f"{prefix}.{name}")
        raise AttributeError(f"module {prefix!r} has no attribute {name!r}")

    return __getattr__
