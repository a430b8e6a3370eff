"""The page's torch against PyTorch, call by call: values, types, gradients, text and errors."""

import math
import re
import warnings

import calls
import pytest
import torch
from as_torch import import_page_torch
from hypothesis import given
from hypothesis import strategies as st

page_torch = import_page_torch("page_torch")
#: Topics whose calls make their own gradients, or none.
PLAIN = ("writing", "writing_views", "modules", "printing", "gradients", "errors", "training")


def plain(value):
    """Return something that can be compared across the two torches."""
    if isinstance(value, torch.Tensor | page_torch.Tensor):
        numbers = value.detach().double().flatten().tolist()
        return {
            "numbers": numbers,
            "shape": list(value.shape),
            "dtype": str(value.dtype),
            "gradients": value.requires_grad,
        }
    if isinstance(value, torch.dtype | torch.Size | page_torch.dtype | page_torch.Size):
        return repr(value)
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return f"<{type(value).__name__.removeprefix('builtin_function_or_')}>"


def evaluated(library, setup, expression, topic):
    """Return what a call gives with one of the torches, with its gradients, or its error."""
    space = {"torch": library, "nn": library.nn, "F": library.nn.functional, "math": math}
    space["made"] = lambda *how: calls.made(library, *how)
    try:
        for line in setup:
            exec(line, space)
        value = eval(expression, space)
        if topic in PLAIN:
            return {"value": plain(value)}
        inputs = [space[name] for name in ("x", "y") if isinstance(space.get(name), library.Tensor)]
    except Exception as error:
        return {"error": type(error).__name__, "text": str(error)}
    result = {"value": plain(value)}
    inputs = [each.requires_grad_() for each in inputs if each.is_floating_point()]
    try:
        result["gradients"] = plain(gradients(library, eval(expression, space), inputs))
    except Exception as error:
        result["gradients"] = type(error).__name__
    return result


def gradients(library, value, inputs):
    """Return the gradients of a weighted sum of what a call gives."""
    if not (inputs and isinstance(value, library.Tensor) and value.requires_grad):
        return None
    weights = library.arange(1.0, value.numel() + 1).reshape(value.shape) / 7
    loss = (value * weights.to(value.dtype)).sum()
    return library.autograd.grad(loss, inputs, allow_unused=True)


def alike(a, b, coarse=False):
    """Whether two results are the same, apart from how sums round."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        coarse = coarse or "16" in a.get("dtype", "")
        return all(alike(a[key], b[key], coarse) for key in a)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        if all(isinstance(each, float) for each in a + b):
            # a gradient may be a small rest of large numbers
            scale = max([1.0, *(abs(each) for each in a if math.isfinite(each))])
            return all(near(x, y, coarse, scale) for x, y in zip(a, b, strict=True))
        return all(alike(x, y, coarse) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return near(a, b, coarse)
    return type(a) is type(b) and a == b


def near(x, y, coarse, scale=1.0):
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    relative, absolute = (2e-2, 1e-2) if coarse else (2e-4, 2e-5)
    return math.isclose(x, y, rel_tol=relative, abs_tol=absolute * scale)


#: Where the two differ on purpose or beyond repair: which calls, in which part, and why.
DIFFERENT = [
    (r"(made\('bool'|= True).*(\*\*|pow|atan2)", "gradients", "PyTorch's formula takes no bool"),
    (r"(half|bfloat16).*(\*\*|pow|atan2)", "gradients", "a long chain, rounded at each step"),
    (r"bfloat16.*(rsqrt|softmax)", "gradients", "the same, in the coarsest type alone"),
    (r"(half|bfloat16).*(%|//|remainder|fmod|floor_divide)", "value", "jumps, rounded before"),
    (r"= 1e-8.*(\*\*|pow)", "gradients", "PyTorch rounds the exponent, or not, by the size"),
    (r"special.*(var|std)", "gradients", "of what is NaN itself"),
    (r"special.*prod", "gradients", "PyTorch divides by a factor; infinities tell"),
]


def comparable(result, lines, topic):
    """Leave out what need not be the same."""
    parts = {part for pattern, part, _ in DIFFERENT if re.search(pattern, lines, re.DOTALL)}
    if topic != "errors":
        parts.add("text")  # the type of an error is the same, its words only where readers err
    return {part: found for part, found in result.items() if part not in parts}


@pytest.mark.differential
@pytest.mark.parametrize("topic", calls.TOPICS)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_call_does_what_it_does_in_pytorch(topic, seed):
    compare(topic, seed)


@pytest.mark.parametrize(
    ("topic", "seed"),
    [
        pytest.param("indexing", 155_488, id="out of bounds where the result is empty"),
        pytest.param("binary", 1_008_146_240, id="a single exponent of a double base"),
    ],
)
def test_what_once_differed_does_not(topic, seed):
    compare(topic, seed)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("of", ["F.cross_entropy(x", "F.nll_loss(x.log_softmax(-1)"])
@pytest.mark.parametrize("what", ["ignore_index=0", "weight=s", "weight=s, ignore_index=2"])
def test_a_mean_is_that_of_what_counts(of, what, reduction):
    setup = [
        "x = torch.arange(12.0).reshape(4, 3).sin()",
        "t = torch.tensor([0, 2, 0, 1]); s = torch.tensor([0.5, 1.0, 3.0])",
    ]
    hold_to_pytorch(setup, f"{of}, t, {what}, reduction='{reduction}')", "layers")


def compare(topic, seed):
    """Draw a call, and hold the page's answer to PyTorch's."""
    hold_to_pytorch(*calls.call(topic, seed), topic)


def hold_to_pytorch(setup, expression, topic):
    lines = "\n".join([*setup, expression])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = (evaluated(each, setup, expression, topic) for each in (torch, page_torch))
    same = alike(
        *(comparable(each, lines, topic) for each in (theirs, ours)),
        re.search("half|bfloat16", lines) is not None,
    )
    assert same, f"\n{lines}\nPyTorch: {theirs}\nthe page: {ours}"
