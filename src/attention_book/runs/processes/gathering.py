"""Weights that several processes share (FSDP2), put together and taken apart again.

Torch's ``DTensor`` is told by its methods: to import it takes long, and most runs have none.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn


def whole(tensor: Tensor) -> Tensor:
    """Return a tensor whole. All processes must ask, for each has a part of it.

    >>> whole(torch.tensor([1, 2]))
    tensor([1, 2])
    """
    put_together: Any = getattr(tensor, "full_tensor", None)
    found: Tensor = put_together() if put_together else tensor
    return found


def like(tensor: Tensor, pattern: Tensor) -> Tensor:
    """Return of a whole tensor what this process has of the pattern, on its device.

    >>> like(torch.tensor([1, 2]), torch.zeros(2))
    tensor([1, 2])
    """
    mesh: Any = getattr(pattern, "device_mesh", None)
    if mesh is None or tensor.ndim != pattern.ndim:  # a count of steps is everybody's
        return tensor.to(pattern.device)
    from torch.distributed.tensor import distribute_tensor

    placements: Any = getattr(pattern, "placements", None)
    part: Tensor = distribute_tensor(
        tensor.to(pattern.device), mesh, placements, src_data_rank=None
    )
    return part


def whole_state(model: nn.Module) -> dict[str, Tensor]:
    """Return parameters and buffers, whole, on the CPU.

    >>> [name for name in whole_state(nn.Linear(2, 2))]
    ['weight', 'bias']
    """
    return {name: whole(value.detach()).cpu() for name, value in model.state_dict().items()}


def fill(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give a model the weights of :func:`whole_state`; both must have the same names and shapes.

    >>> one, other = nn.Linear(2, 2), nn.Linear(2, 2)
    >>> fill(one, whole_state(other))
    >>> torch.equal(one.weight, other.weight)
    True
    """
    with torch.no_grad():
        for name, value in model.state_dict().items():
            value.copy_(like(weights[name], value))
