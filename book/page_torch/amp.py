"""Names for annotations: a page has no mixed precision."""

from ._missing import lookup, missing


class GradScaler:
    """Not in the page's torch."""

    def __init__(self, *args, **kwargs):
        raise missing("torch.amp.GradScaler")


__getattr__ = lookup("amp", "torch.amp")
