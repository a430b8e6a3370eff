"""The programs that are compared, each behind the same few calls."""

from importlib import import_module

from peers.programs.program import Program

#: What each is called, and where it stands.
PLACES = {
    "ours": "peers.programs.ours:Ours",
    "torch.nn": "peers.programs.torch_nn:TorchNN",
    "d2l": "peers.programs.d2l:D2L",
    "Marian": "peers.programs.marian:Marian",
    "ours without biases": "peers.programs.ours:OursWithoutBiases",
    "x-transformers": "peers.programs.x_transformers:XTransformers",
}


def load(name: str) -> type[Program] | None:
    """Return a program's class; None where its package is not installed."""
    module, _, attribute = PLACES[name].partition(":")
    try:
        found: type[Program] = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name not in ("transformers", "x_transformers"):
            raise  # something else is wrong
        return None
    return found if found.is_installed() else None


def installed(names: list[str] | None = None) -> dict[str, type[Program]]:
    """Return those of these programs, or of all, that are there, and what they compare with."""
    found = {name: kind for name in names or PLACES if (kind := load(name)) is not None}
    wanted = {*found, *(ours_for(kind) for kind in found.values())}
    return {name: kind for name in PLACES if name in wanted and (kind := load(name)) is not None}


def ours_for(program: Program | type[Program]) -> str:
    """Return which of ours a program is compared with: the one with the same parameters."""
    return "ours" if program.has_biases else "ours without biases"


__all__ = ["PLACES", "Program", "installed", "load", "ours_for"]
