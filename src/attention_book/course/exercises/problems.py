"""What is wrong with an answer on one input, in words: what goes wrong in any exercise."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor

from attention_book.course.exercises.comparing import difference
from attention_book.course.exercises.core import Exercise, Law, Probe
from attention_book.course.exercises.running import Outcome, copied
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual

#: What can go wrong in any exercise: what is said of it, and what helps.
GENERAL: Mapping[str, tuple[Bilingual, Bilingual | None]] = {
    "function": (
        Bilingual("请交出函数本身，不要调用它。", "Hand over the function itself; do not call it."),
        None,
    ),
    "signature": (
        Bilingual("函数的参数个数不对。", "The function takes the wrong number of arguments."),
        None,
    ),
    "endless": (
        Bilingual("函数停不下来。", "The function does not come to an end."),
        Bilingual(
            "看看循环：每一圈改变了什么，条件什么时候不再成立？",
            "Look at the loop: what changes in each round, and when is its condition no longer"
            " true?",
        ),
    ),
    "state": (
        Bilingual(
            "同样的输入，两次调用的结果不同。",
            "Called twice with the same input, the function gives different results.",
        ),
        Bilingual(
            "函数在两次调用之间留下了什么，或者抽了随机数：看看它改写的全局变量、作默认值的列表。",
            "It keeps something between calls, or draws random numbers: look for a global variable"
            " that it changes, or a list as a default value.",
        ),
    ),
    "no-gradient": (
        Bilingual("梯度传不过这个结果。", "No gradient flows through the result."),
        Bilingual(
            "`.detach()`、`.data`、`.item()`、`.numpy()`、`torch.tensor(…)` 和 `no_grad` 把结果"
            "与输入断开了：从头到尾只用对张量的运算。",
            "`.detach()`, `.data`, `.item()`, `.numpy()`, `torch.tensor(…)` and `no_grad` cut the"
            " result off from its inputs: compute with tensors from beginning to end.",
        ),
    ),
    "raises": (
        Bilingual("函数出错了。", "The function raises an error."),
        Bilingual("用上面的输入自己调用一次。", "Call it yourself with the input shown above."),
    ),
    "type": (
        Bilingual("返回值的类型不对。", "The result is of the wrong type."),
        None,
    ),
    "shape": (
        Bilingual("结果的形状不对。", "The result has the wrong shape."),
        Bilingual(
            "逐步写下每个中间结果的形状，看哪个轴多了、少了或换了位置。",
            "Write down the shape of every intermediate result: which axis is too many, missing"
            " or in another place?",
        ),
    ),
    "dtype": (
        Bilingual("结果的数据类型不对。", "The result has the wrong data type."),
        None,
    ),
    "device": (
        Bilingual("结果在另一个设备上。", "The result is on another device."),
        Bilingual(
            "新建的张量要和输入在同一个设备上：`device=x.device`。",
            "A new tensor belongs on the device of the inputs: `device=x.device`.",
        ),
    ),
    "input": (
        Bilingual(
            "函数改动了交给它的参数。", "The function changes an argument that it was given."
        ),
        Bilingual(
            "以下划线结尾的方法、`+=` 和下标赋值都就地改写；调用者还要用这个张量。",
            "Methods that end in an underscore, `+=` and assignment to an index write in place;"
            " the caller still needs that tensor.",
        ),
    ),
    "value": (Bilingual("结果与应得的不一样。", "The result differs from the expected one."), None),
}
#: What is shown of two tensors that differ in it.
ASPECTS: Mapping[str, Callable[[Tensor], Any]] = {
    "shape": lambda tensor: tuple(tensor.shape),
    "dtype": lambda tensor: str(tensor.dtype),
    "device": lambda tensor: str(tensor.device),
}
#: Stands before a law, which would read as if it held.
LAW_BROKEN = Bilingual("不满足这条性质：", "This law is broken: ")
FORGOTTEN_RETURN = Bilingual(
    "函数返回了 None：是不是忘了 `return`？`print` 只是显示，不会返回。",
    "The function returned None: is a `return` missing? `print` only shows a value.",
)
#: Is said of a wrong answer whose arguments have the right names.
OTHER_ORDER = Bilingual(
    "参数按位置交给函数，次序是 {}；你的次序不同。",
    "The arguments are handed over by position, in the order {}; yours come in another order.",
)


#: What is wrong on every input alike: nothing special about the first explains it.
EVERYWHERE = ("type", "dtype", "device")


@dataclass(frozen=True)
class Tried:
    """A probe with what the solution and the answer make of it."""

    probe: Probe
    right: Outcome
    answered: Outcome

    @cached_property
    def problem(self) -> str | None:
        """What is wrong with the answer here, by its name in ``GENERAL``."""
        if self.answered.error is not None:
            return "endless" if self.answered.endless else "raises"
        if found := difference(self.right.value, self.answered.value):
            return found
        return None if self.answered.changed is None else "input"


@dataclass(frozen=True)
class Problem:
    """What is wrong: the fields of the verdict that tell it."""

    law: str
    statement: Bilingual
    finding: Finding | None
    hint: Bilingual | None


def not_callable(exercise: Exercise, answer: Any) -> Problem:
    """Say that the answer can't be called with what the exercise hands over."""
    name = "signature" if callable(answer) else "function"
    wanted = f"`f({', '.join(exercise.parameters)})`"
    got = _signature(answer) if callable(answer) else answer
    return Problem(
        name, GENERAL[name][0], Finding({}, Bilingual(wanted, wanted), got), exercise.task
    )


def _signature(answer: Callable[..., Any]) -> Bilingual:
    """Return a function as it is written when it is called, with its arguments."""
    try:
        written = f"`f{inspect.signature(answer)}`"
    except ValueError:  # a built-in without a signature
        written = f"`{answer!r}`"
    return Bilingual(written, written)


def other_order(exercise: Exercise, answer: Callable[..., Any]) -> Bilingual | None:
    """Say that the arguments come in another order than they are handed over, if they do."""
    try:
        names = tuple(inspect.signature(answer).parameters)
    except (TypeError, ValueError):  # a built-in without a signature
        return None
    if names == exercise.parameters or sorted(names) != sorted(exercise.parameters):
        return None
    order = f"`{', '.join(exercise.parameters)}`"
    return Bilingual(OTHER_ORDER.zh.format(order), OTHER_ORDER.en.format(order))


def law_broken(law: Law, finding: Finding) -> Problem:
    """Say that a law does not hold, and which."""
    statement = Bilingual(LAW_BROKEN.zh + law.statement.zh, LAW_BROKEN.en + law.statement.en)
    return Problem(law.name, statement, finding, law.hint)


def general(name: str, finding: Finding) -> Problem:
    """Say what can go wrong in any exercise, by its name in ``GENERAL``."""
    return Problem(name, GENERAL[name][0], finding, GENERAL[name][1])


def problem_of(exercise: Exercise, tried: Tried) -> Problem:
    """Say what is wrong on one input."""
    name = tried.problem or "value"
    statement, hint = GENERAL[name]
    if (about := tried.probe.about) and name not in EVERYWHERE:
        statement = Bilingual(
            f"{statement.zh}在这个输入里，{about.zh}。", f"{statement.en} Here {about.en}."
        )
    if name == "type" and tried.answered.value is None:
        hint = FORGOTTEN_RETURN
    given = dict(zip(exercise.parameters, map(copied, tried.probe.arguments), strict=False))
    expected, got = copied(tried.right.value), tried.answered.happened()
    if name == "input":
        changed = exercise.parameters[tried.answered.changed or 0]
        expected = Bilingual(f"`{changed}` 不变", f"`{changed}` as it was")
        got = Bilingual(f"`{changed}` 变了", f"`{changed}` changed")
    elif name in ASPECTS and isinstance(expected, Tensor):
        expected, got = ASPECTS[name](expected), ASPECTS[name](got)
    return Problem(name, statement, Finding(given, expected, got), hint)
