"""The names of weights, whatever a model was wrapped in: compiled, copied to several devices.

``torch.compile`` puts ``_orig_mod.`` before the names of what it wraps, ``DataParallel`` and its
kin ``module.``; a part may be wrapped as well as the whole, and twice. The weights are the same.
"""

from collections.abc import Iterable, Mapping

from torch import nn
from torch.nn.parallel import DataParallel, DistributedDataParallel

# What no module of anybody's own is called.
_PRIVATE = frozenset({"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})
#: Parts of a name that say how a module was wrapped.
WRAPPERS = _PRIVATE | {"module"}


def unwrapped(model: nn.Module) -> nn.Module:
    """Return the model within ``torch.compile``, ``DataParallel`` and ``DistributedDataParallel``.

    >>> inner = nn.Linear(2, 2)
    >>> unwrapped(DataParallel(DataParallel(inner))) is inner
    True
    """
    while True:
        if isinstance(model, DataParallel | DistributedDataParallel):
            model = model.module
        elif isinstance(inner := getattr(model, "_orig_mod", None), nn.Module):
            model = inner
        else:
            return model


def plain_name(name: str, wrappers: Iterable[str] = _PRIVATE) -> str:
    """Return the name of a weight without what wrappers have added to it.

    >>> plain_name("_orig_mod.encoder._orig_mod.weight"), plain_name("module.weight", WRAPPERS)
    ('encoder.weight', 'weight')
    """
    return ".".join(part for part in name.split(".") if part not in wrappers)


def renamed(found: Mapping[str, object], own: Iterable[str]) -> dict[str, str]:
    """Return which name of a model's own each found name is: the same but for wrappers.

    What has no counterpart, or several, keeps its name.

    >>> renamed({"module.weight": 1, "bias": 2}, ["_orig_mod.weight", "_orig_mod.bias"])
    {'module.weight': '_orig_mod.weight', 'bias': '_orig_mod.bias'}
    """
    names = set(own)
    if names == found.keys():
        return {name: name for name in found}
    theirs, ours = ({plain_name(each, WRAPPERS): each for each in all_} for all_ in (found, names))
    if len(theirs) < len(found) or len(ours) < len(names):
        return {name: name for name in found}
    return {name: ours.get(plain, name) for plain, name in theirs.items()}


def wrapped_in(names: Iterable[str]) -> str:
    """Return what some of the names were wrapped in; an empty text: nothing.

    >>> wrapped_in(["bias", "module._orig_mod.weight"])
    '_orig_mod., module.'
    """
    parts = {part for name in names for part in name.split(".") if part in WRAPPERS}
    return ", ".join(f"{part}." for part in sorted(parts))


__all__ = ["WRAPPERS", "plain_name", "renamed", "unwrapped", "wrapped_in"]
