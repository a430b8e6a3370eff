"""A small torch in pure Python, for pages: what the book's exercises need of PyTorch.

Tensors of some thousand numbers on the CPU, views, broadcasting, gradients, modules, the same
random numbers for a seed, printing, and PyTorch's own errors where readers meet them. What it
lacks raises `MissingInPage`, which says that the notebook has it.

Its modules import each other relatively: the site's bundle calls this folder `torch`, the tests
call it `page_torch` and hold it against PyTorch, function by function.
"""

from ._broadcast import broadcast_shapes, broadcast_tensors
from ._copies import cat, column_stack, concat, concatenate, hstack, stack, vstack
from ._creation import (
    arange,
    as_tensor,
    asarray,
    bernoulli,
    cartesian_prod,
    combinations,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    logspace,
    meshgrid,
    multinomial,
    normal,
    ones,
    ones_like,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
    scalar_tensor,
    tensor,
    tril_indices,
    triu_indices,
    zeros,
    zeros_like,
)
from ._dtypes import (
    NAMES as _DTYPE_NAMES,
)
from ._dtypes import (
    STRIDED as _STRIDED,
)
from ._dtypes import (
    Size,
    bool_,
    device,
    dtype,
    finfo,
    get_default_dtype,
    iinfo,
    inf,
    layout,
    memory_format,
    nan,
    promote_types,
    set_default_dtype,
)
from ._graph import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from ._missing import MissingInPage
from ._missing import lookup as _lookup
from ._printing import set_printoptions
from ._random import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from ._tensor import Tensor

__version__ = "2.13.0+page"
e, pi = 2.718281828459045, 3.141592653589793
strided = _STRIDED
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
newaxis = None

for _name, _type in _DTYPE_NAMES.items():
    globals()[_name] = _type
bool = bool_


def is_tensor(x):
    return isinstance(x, Tensor)


def is_floating_point(x):
    return x.is_floating_point()


def is_nonzero(x):
    return x.__bool__()


def numel(x):
    return x.numel()


def detach(x):
    return x.detach()


def can_cast(a, b):
    return a.kind <= b.kind


from ._attach import attach as _attach

globals().update(_attach())
from . import (
    amp,
    autograd,
    compiler,
    cuda,
    functional,
    linalg,
    nn,
    optim,
    overrides,
    random,
    special,
    testing,
    utils,
)

layer_norm = nn.functional.layer_norm
dropout = nn.functional.dropout


def get_default_device():
    return device("cpu")


def _is_functional_tensor(x):
    return False


def get_num_threads():
    return 1


def set_num_threads(n):
    pass


def use_deterministic_algorithms(*args, **kwargs):
    pass


def set_float32_matmul_precision(*args):
    pass


def compile(model=None, **kwargs):
    return model if model is not None else lambda inner: inner


__getattr__ = _lookup("torch", "torch")
