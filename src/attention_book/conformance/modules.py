"""What laws of modules share: comparing their outputs; gradients, precision, graphs."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from attention_book.conformance.report import Breach, DoesNotApply, told
from attention_book.foundations.bilingual import Bilingual


def first_of(out: Any) -> Tensor:
    """Return the output among whatever a model returns."""
    out = out[0] if isinstance(out, tuple) else out
    if not isinstance(out, Tensor):
        out = getattr(out, "logits", None) if hasattr(out, "logits") else out.last_hidden_state
    assert isinstance(out, Tensor)
    return out


def same(a: Tensor, b: Tensor, tolerance: float = 2e-4) -> bool:
    """Compare, relative to the largest output; the first tells how exact that can be."""
    tolerance *= 1e-6 if a.dtype == torch.float64 else 1
    if a.element_size() == 2:  # half precision is coarse
        tolerance = max(tolerance, 8 * torch.finfo(a.dtype).eps)
    if a.shape != b.shape:
        return False
    if not a.numel():
        return True
    a, b = a.detach().double(), b.detach().double()
    return bool((a - b).abs().max() <= tolerance * b.abs().max().clamp(min=1e-2))


def moved(a: Tensor, b: Tensor) -> bool:
    """Tell whether outputs differ by more than rounding."""
    return not same(a, b, 1e-6)


def gap_of(got: Tensor, right: Tensor) -> Bilingual:
    """Say how far outputs are from the right ones."""
    if got.shape != right.shape:
        shapes = tuple(got.shape), tuple(right.shape)
        return Bilingual(
            f"形状是 {shapes[0]}，应为 {shapes[1]}", f"shape {shapes[0]}, expected {shapes[1]}"
        )
    most, size = f"{(got - right).abs().max():.3g}", f"{right.abs().max():.3g}"
    return Bilingual(f"最多差 {most}，最大的输出是 {size}", f"off by up to {most} of {size}")


def size_told(b: int, n: int, zh: str = "", en: str = "") -> Bilingual:
    """Say which input it is."""
    return Bilingual(
        f"批量 {b}，长度 {n}{zh and '，'}{zh}", f"batch {b}, length {n}{en and ', '}{en}"
    )


def lengths_of(b: int, n: int) -> list[int]:
    """Return how many places of each example are real."""
    return [n - i % max(1, n - 1) for i in range(b)]


def where_padded(b: int, lengths: list[int], side: str) -> Bilingual:
    """Say which padded input it is."""
    zh = {"right": "右边", "left": "左边", "between": "中间"}[side]
    en = {"right": "on the right", "left": "on the left", "between": "in between"}[side]
    return Bilingual(
        f"批量 {b}，长度 {lengths}，{zh}再填 2 处", f"batch {b}, lengths {lengths}, 2 more {en}"
    )


def learned_in(module: nn.Module | None) -> dict[str, Tensor]:
    """Return the parameters that are trained."""
    if module is None:
        return {}
    return {name: each for name, each in module.named_parameters() if each.requires_grad}


def breach_of_gradients(
    inputs: dict[str, Tensor],
    learned: dict[str, Tensor],
    kept: Tensor,
    upstream: Tensor,
    where: Bilingual,
) -> Breach | None:
    """Differentiate by inputs and parameters: each must be reached, by finite numbers.

    Args:
        inputs: features that require gradients.
        learned: parameters.
        kept: the outputs that count.
        upstream: what they are multiplied with.
        where: the input.
    """
    if not kept.requires_grad:
        found = Bilingual("输出不要求梯度", "the outputs require no gradient")
        return Breach("gradient-cut", where, found)
    leaves = inputs | learned
    grads = torch.autograd.grad((kept * upstream).sum(), list(leaves.values()), allow_unused=True)
    for name, grad in zip(leaves, grads, strict=True):
        # A bias of the keys moves no weight, and a pooler is no part of it.
        needed = name in inputs or (".weight" in name and "pool" not in name)
        if grad is None and needed:
            found = Bilingual(f"{name} 没有梯度", f"{name}: no gradient")
            return Breach("gradient-cut", where, found)
        if grad is not None and not grad.isfinite().all():
            found = Bilingual(f"{name} 的梯度不是有限的数", f"{name}: a gradient is not finite")
            return Breach("nan-gradients", where, found)
    return None


def breach_of_precision(
    module: nn.Module,
    call: Callable[[torch.dtype], Tensor],
    dtypes: tuple[torch.dtype, torch.dtype],
    where: Bilingual,
) -> Breach | None:
    """Compare a module in half precision with itself; it is left as it was."""
    own, dtype = dtypes
    full, before = call(own), copy.deepcopy(module.state_dict())
    module.to(dtype)
    try:
        got = call(dtype)
    finally:
        module.to(own)
        module.load_state_dict(before)
    if got.dtype != dtype:
        found = Bilingual(f"结果是 {got.dtype}", f"the result is {got.dtype}")
        return Breach("other-dtype", where, found)
    error = (got.float() - full).abs().max() / full.abs().max() / torch.finfo(dtype).eps
    if error <= 40:
        return None
    found = Bilingual(f"误差 {error:.0f} eps，最多 40", f"error {error:.0f} eps, at most 40")
    return Breach("coarse-sums", where, found)


def breach_of_graph(
    call: Callable[..., Any], given: Sequence[Tensor], right: Tensor, where: Bilingual
) -> Breach | None:
    """Compile a call as one graph, and compare."""
    torch._dynamo.reset()
    compiled = torch.compile(call, fullgraph=True, backend="eager")
    try:
        got = first_of(compiled(*given))
    except Exception as error:
        return Breach("breaks-the-graph", where, told(error))
    return None if same(got, right) else Breach("breaks-the-graph", where, gap_of(got, right))


def breach_of_trace(
    call: Callable[..., Any], given: Sequence[Tensor], where: Bilingual
) -> Breach | None:
    """Trace a call with tensors that hold no numbers, then call it as usual."""
    try:
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            call(*(mode.from_tensor(each) for each in given))
    except Exception:
        raise DoesNotApply("不能用假张量追踪", "can't be traced with fake tensors") from None
    try:
        spoiled = isinstance(first_of(call(*given)), FakeTensor)
    except Exception:
        spoiled = True
    if not spoiled:
        return None
    found = Bilingual(
        "之后一次平常的调用失败，或者得到假张量",
        "an ordinary call afterwards fails or gives a fake tensor",
    )
    return Breach("keeps-tensors-of-a-trace", where, found)


__all__ = ()  # for the laws themselves
