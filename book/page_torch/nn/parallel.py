"""Names for `isinstance`: a page has one device."""

from .._missing import lookup
from .layers import only_named

DataParallel = only_named("parallel.DataParallel")
DistributedDataParallel = only_named("parallel.DistributedDataParallel")

__getattr__ = lookup("nn.parallel", "torch.nn.parallel")
