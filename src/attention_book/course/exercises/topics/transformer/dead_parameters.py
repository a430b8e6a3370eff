"""An exercise whose answer finds parameters that do nothing."""

from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor

from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.course.exercises.named import Named
from attention_book.foundations.bilingual import Bilingual

Parameters = Mapping[str, Tensor]


def _models() -> Iterator[Probe]:
    x, y = torch.linspace(0, 5, 9), torch.randn(9)
    W_q, W_k, b_q, b_k = *torch.randn(2, 4, 4), *torch.randn(2, 4)
    words = torch.randn(5, 4)

    def kernel(width: Tensor, shift: Tensor) -> Tensor:
        scores: Tensor = -((x[:, None] - x) / width).square() / 2
        return (scores + shift).softmax(dim=-1) @ y

    def attention(b_q: Tensor, b_k: Tensor) -> Tensor:
        scores = (words @ W_q + b_q) @ (words @ W_k + b_k).mT / 2
        output: Tensor = scores.softmax(dim=-1) @ words
        return output

    def line(slope: Tensor, height: Tensor) -> Tensor:
        return slope * x + height

    def proportional(slope: Tensor, spare: Tensor) -> Tensor:
        return slope * x + 0 * spare

    yield Probe((Named("kernel", kernel), {"width": torch.ones(()), "shift": torch.ones(())}))
    yield Probe((Named("attention", attention), {"b_q": b_q, "b_k": b_k}))
    yield Probe((Named("line", line), {"slope": torch.ones(()), "height": torch.ones(())}))
    unused = {"slope": torch.ones(()), "spare": torch.ones(())}
    yield Probe((Named("proportional", proportional), unused))


def _dead(function: Callable[..., Tensor], parameters: Parameters) -> set[str]:
    before, names = function(**parameters), set()
    for name, value in parameters.items():
        after = function(**{**parameters, name: value + 1 + torch.rand_like(value)})
        if torch.allclose(before, after, rtol=1e-4, atol=1e-4):
            names.add(name)
    return names


def _without_gradient(function: Callable[..., Tensor], parameters: Parameters) -> set[str]:
    leaves = {name: value.clone().requires_grad_() for name, value in parameters.items()}
    loss = function(**leaves).square().sum()
    gradients = torch.autograd.grad(loss, list(leaves.values()))
    return {name for name, each in zip(leaves, gradients, strict=True) if not each.any()}


def _exactly_equal(function: Callable[..., Tensor], parameters: Parameters) -> set[str]:
    before = function(**parameters)
    moved = {name: {**parameters, name: value + 0.7} for name, value in parameters.items()}
    return {name for name, each in moved.items() if torch.equal(before, function(**each))}


DEAD_PARAMETERS = Exercise(
    name="dead-parameters",
    task=Bilingual(
        "写 `dead(function, parameters)`：返回一个集合，"
        "里面是改了也不影响 `function(**parameters)` 的参数的名字。",
        "Write `dead(function, parameters)`: return the set of the names of those parameters"
        " whose change leaves `function(**parameters)` as it is.",
    ),
    solution=_dead,
    probes=_models,
    mistakes=(
        Mistake(
            "rounding-taken-for-life",
            _without_gradient,
            Bilingual(
                "舍入误差不是生命：约掉的参数，梯度也很少恰好是 0，输出也很少一位不差。"
                "改动它，用 `allclose` 比较输出。",
                "Rounding error is no sign of life: the gradient of a parameter that cancels is"
                " rarely exactly 0, nor are outputs equal to the last bit. Change it, and compare"
                " outputs with `allclose`.",
            ),
        ),
        Mistake(
            "rounding-taken-for-life",
            _exactly_equal,
            Bilingual(
                "舍入误差不是生命：输出很少一位不差，用 `allclose` 比较。",
                "Rounding error is no sign of life: outputs are rarely equal to the last bit, so"
                " compare with `allclose`.",
            ),
        ),
        Mistake(
            "never-dead",
            lambda function, parameters: set(),
            Bilingual("它从不报告。", "It never reports any."),
        ),
        Mistake(
            "always-dead",
            lambda function, parameters: set(parameters),
            Bilingual("有用的参数也被报告了。", "Parameters that are of use are reported too."),
        ),
        Mistake(
            "living",
            lambda function, parameters: set(parameters) - _dead(function, parameters),
            Bilingual(
                "反了：要报告的是改了也没有影响的。",
                "Inverted: report those whose change has no effect.",
            ),
        ),
    ),
)

EXERCISES = (DEAD_PARAMETERS,)
