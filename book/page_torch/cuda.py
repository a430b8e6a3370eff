"""A page has no GPU."""

from ._missing import lookup


def is_available():
    return False


def is_initialized():
    return False


def device_count():
    return 0


def manual_seed_all(seed):
    pass


manual_seed = manual_seed_all


def synchronize(device=None):
    pass


def empty_cache():
    pass


__getattr__ = lookup("cuda", "torch.cuda")
