"""Nothing but the name: a page loads no data in batches."""

from ._missing import lookup

__path__: list[str] = []  # what is imported from in here is missing, and says so
__getattr__ = lookup("utils", "torch.utils")
