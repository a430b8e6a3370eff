"""Nothing is overridden in a page."""

from ._missing import lookup


def has_torch_function(*args):
    return False


__getattr__ = lookup("overrides", "torch.overrides")
