"""To another device, without waiting for it."""

import torch
from torch import Tensor


def sent(tensor: Tensor, device: torch.device | str) -> Tensor:
    """Return a tensor on another device; a GPU fetches it while the program goes on.

    What lies in pageable memory is copied to the driver first, so it may change afterwards. A read
    by the CPU waits, for else it could come too early, and so does Apple's GPU.

    >>> sent(torch.tensor([2.0]), "cpu")
    tensor([2.])
    """
    waits = torch.device(device).type in ("cpu", "mps")
    return tensor.to(device, non_blocking=not waits)
