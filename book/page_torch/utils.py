"""Nothing but the name: a page loads no data in batches."""

from ._missing import lookup

__getattr__ = lookup("utils", "torch.utils")
