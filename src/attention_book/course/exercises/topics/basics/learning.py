"""Exercises on learning: a recurrent network, the cross-entropy loss, a step of descent."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _inputs_and_weights() -> Iterator[Probe]:
    yield Probe((torch.tensor([1.0, 0.0, 0.0]), 1.0, 1.0))
    yield Probe((torch.randn(4), 0.7, -0.5), Bilingual("记忆带负号", "the memory changes sign"))
    yield Probe(
        (torch.randn(1), 0.9, 0.4), Bilingual("句子只有一个词", "the sentence has a single word")
    )


def _states(step: Callable[[Tensor, Tensor], Tensor], inputs: Tensor, first: float = 0.0) -> Tensor:
    state, states = torch.tensor(first), []
    for x in inputs:
        state = step(x, state)
        states.append(state)
    return torch.stack(states)


def _from_the_start(inputs: Tensor, w: float, u: float) -> Tensor:
    states = _states(lambda x, h: torch.tanh(w * x + u * h), inputs)
    return torch.cat((torch.zeros(1), states))


def _previous_input(inputs: Tensor, w: float, u: float) -> Tensor:
    before = torch.cat((torch.zeros(1), inputs[:-1]))
    return torch.tanh(w * inputs + u * before)


RECURRENT_STEPS = Exercise(
    name="recurrent-steps",
    task=Bilingual(
        "写 `states(inputs, w, u)`：从 h = 0 出发，对每个输入 x 做一步 h ← tanh(w·x + u·h)；"
        "返回一个张量，与 inputs 一样长：每一步之后的 h，不含开头的 0。",
        "Write `states(inputs, w, u)`: start from h = 0 and take one step h ← tanh(w·x + u·h) for"
        " each input x; return a tensor as long as inputs, the h after each step, without the 0"
        " at the start.",
    ),
    solution=lambda inputs, w, u: _states(lambda x, h: torch.tanh(w * x + u * h), inputs),
    probes=_inputs_and_weights,
    mistakes=(
        Mistake(
            "no-memory",
            lambda inputs, w, u: torch.tanh(w * inputs),
            Bilingual(
                "每一步都忘了前一步：上一个 h 要乘以 u，加进来（见“循环网络的一步”）。",
                "Each step has forgotten the one before: the previous h enters, times u (section"
                " “One step of a recurrent network”).",
            ),
        ),
        Mistake(
            "no-tanh",
            lambda inputs, w, u: _states(lambda x, h: w * x + u * h, inputs),
            Bilingual("每一步都少了 tanh。", "The tanh of each step is missing."),
        ),
        Mistake(
            "swapped",
            lambda inputs, w, u: _states(lambda x, h: torch.tanh(u * x + w * h), inputs),
            Bilingual(
                "两个权重对调了：w 乘输入，u 乘上一个状态。",
                "The two weights are swapped: w goes with the input, u with the last state.",
            ),
        ),
        Mistake(
            "start-included",
            _from_the_start,
            Bilingual(
                "开头的 h = 0 不算在内：有几个输入，就返回几个数。",
                "The h = 0 at the start is not part of the result: return one number for each"
                " input.",
            ),
        ),
        Mistake(
            "start-included",
            lambda inputs, w, u: _from_the_start(inputs, w, u)[:-1],
            Bilingual(
                "早了一步：第一个数是读过第一个输入之后的 h，不是开头的 0。",
                "One step early: the first number is the h after the first input, not the 0 at"
                " the start.",
            ),
        ),
        Mistake(
            "last-only",
            lambda inputs, w, u: _states(lambda x, h: torch.tanh(w * x + u * h), inputs)[-1:],
            Bilingual("要返回每一步的 h，不只是最后一个。", "Return every h, not the last alone."),
        ),
        Mistake(
            "tanh-of-the-input-alone",
            lambda inputs, w, u: _states(lambda x, h: torch.tanh(w * x) + u * h, inputs),
            Bilingual(
                "tanh 只包住了输入：它要作用于 w·x + u·h 的和。",
                "The tanh takes the input alone: it belongs around the sum w·x + u·h.",
            ),
        ),
        Mistake(
            "tanh-at-the-end",
            lambda inputs, w, u: _states(lambda x, h: w * x + u * h, inputs).tanh(),
            Bilingual(
                "tanh 要在每一步里做，下一步用的是它的结果，不能留到最后一起做。",
                "Take the tanh in each step, for the next one uses its result; not once at the "
                "end.",
            ),
        ),
        Mistake(
            "previous-input",
            _previous_input,
            Bilingual(
                "带到下一步的是状态 h，不是上一个输入 x：更早的词都忘了。",
                "What is carried to the next step is the state h, not the previous input x: "
                "all earlier words are forgotten.",
            ),
        ),
        Mistake(
            "last-only",
            lambda inputs, w, u: _states(lambda x, h: torch.tanh(w * x + u * h), inputs)[-1],
            Bilingual(
                "返回的只是最后一个 h：每一步的都要，收在一个列表里，最后 `torch.stack`。",
                "This is the last h alone: collect the one of each step in a list, and "
                "`torch.stack` it at the end.",
            ),
        ),
    ),
)


def _logits_and_targets() -> Iterator[Probe]:
    yield Probe((torch.tensor([[4.0, 2.0, 1.0]]).log(), torch.tensor([0])))
    yield Probe((3 * torch.randn(5, 4), torch.tensor([3, 0, 2, 2, 1])))
    unlikely = torch.tensor([[0.0, 200.0, 3.0], [-150.0, 0.0, 1.0]])
    yield Probe(
        (unlikely, torch.tensor([0, 0])),
        Bilingual("正确的词几乎不可能", "the right word is next to impossible"),
    )
    yield Probe(
        (torch.tensor([[1000.0, 999.0], [-1000.0, -1001.0]]), torch.tensor([1, 0])),
        Bilingual("对数几率很大", "the logits are large"),
    )


def _of_the_right_word(log_weights: Tensor, targets: Tensor) -> Tensor:
    return -log_weights.gather(-1, targets[:, None]).mean()


def _bare(logits: Tensor) -> Tensor:
    return logits.exp() / logits.exp().sum(dim=-1, keepdim=True)


_UNDERFLOW = Bilingual(
    "概率小到存不下，就成了 0，再取对数就是 −∞；加一个小数、截断，也只是换成另一个错的数。"
    "不要经过概率：用 `log_softmax`，或先减去一行的最大值。",
    "A probability too small for its number type becomes 0, and its logarithm −∞; adding a small"
    " number or clamping only makes it another wrong one. Do not go through probabilities: take"
    " `log_softmax`, or subtract the row's maximum first.",
)

CROSS_ENTROPY = Exercise(
    name="cross-entropy",
    task=Bilingual(
        "写 `loss(logits, targets)`：每一行是一个位置，列是词；返回正确的词的概率的负对"
        "数，取所有位置的平均。对数几率再大、正确的词再不可能，也要算得对。不要用"
        " `F.cross_entropy`。",
        "Write `loss(logits, targets)`: rows are positions and columns are words; "
        "return minus the logarithm of the right word's probability, averaged over the "
        "positions. It must come out right for large logits, too, and for a right word "
        "that is next to impossible. Do not use `F.cross_entropy`.",
    ),
    solution=lambda logits, targets: F.cross_entropy(logits, targets),
    probes=_logits_and_targets,
    mistakes=(
        Mistake(
            "summed",
            lambda logits, targets: F.cross_entropy(logits, targets, reduction="sum"),
            Bilingual("要取平均，不是求和。", "Average over the positions; do not add them up."),
        ),
        Mistake(
            "no-softmax",
            _of_the_right_word,
            Bilingual(
                "对数几率还不是概率：先做 softmax，再取对数（见“交叉熵”）。",
                "Logits are not probabilities yet: take the softmax first, then its logarithm"
                " (section “Cross-entropy”).",
            ),
        ),
        Mistake(
            "no-logarithm",
            lambda logits, targets: _of_the_right_word(logits.softmax(dim=-1), targets),
            Bilingual("少了对数。", "The logarithm is missing."),
        ),
        Mistake(
            "softmax-twice",
            lambda logits, targets: F.cross_entropy(logits.softmax(dim=-1), targets),
            Bilingual(
                "softmax 做了两次：`F.cross_entropy` 和 `log_softmax` 里已经有一次。",
                "The softmax was taken twice: `F.cross_entropy` and `log_softmax` contain one.",
            ),
        ),
        Mistake(
            "wrong-axis",
            lambda logits, targets: _of_the_right_word(logits.log_softmax(dim=0), targets),
            Bilingual(
                "softmax 要沿着词的轴，也就是最后一个轴。",
                "The softmax runs over the words, which are the last axis.",
            ),
        ),
        Mistake(
            "underflow",
            lambda logits, targets: _of_the_right_word(logits.softmax(dim=-1).log(), targets),
            _UNDERFLOW,
        ),
        Mistake(
            "underflow",
            lambda logits, targets: _of_the_right_word(
                (logits.softmax(dim=-1) + 1e-9).log(), targets
            ),
            _UNDERFLOW,
        ),
        Mistake(
            "underflow",
            lambda logits, targets: _of_the_right_word(
                logits.softmax(dim=-1).clamp(min=1e-7).log(), targets
            ),
            _UNDERFLOW,
        ),
        Mistake(
            "underflow",
            lambda logits, targets: _of_the_right_word(_bare(logits).log(), targets),
            _UNDERFLOW,
        ),
        Mistake(
            "underflow",
            lambda logits, targets: _of_the_right_word(
                logits - logits.exp().sum(dim=-1, keepdim=True).log(), targets
            ),
            _UNDERFLOW,
        ),
        Mistake(
            "sign",
            lambda logits, targets: -F.cross_entropy(logits, targets),
            Bilingual(
                "少了负号：概率的对数不大于 0，损失不小于 0。",
                "The minus sign is missing: the logarithm of a probability is at most 0, a "
                "loss at least 0.",
            ),
        ),
        Mistake(
            "log-of-mean",
            lambda logits, targets: -(-_of_the_right_word(logits.softmax(dim=-1), targets)).log(),
            Bilingual(
                "次序反了：先对每个位置的概率取对数，再平均。",
                "The wrong order: take the logarithm at each position first, then the mean.",
            ),
        ),
        Mistake(
            "bits",
            lambda logits, targets: F.cross_entropy(logits, targets) / math.log(2),
            Bilingual("这里的对数是自然对数。", "The logarithm here is the natural one."),
        ),
        Mistake(
            "every-pair",
            lambda logits, targets: -logits.log_softmax(dim=-1)[:, targets].mean(),
            Bilingual(
                "`[:, targets]` 让每个位置取了所有的目标：每一行只取它自己的那一个，如"
                " `[torch.arange(len(targets)), targets]`。",
                "`[:, targets]` takes all targets at every position: each row needs its own "
                "alone, as in `[torch.arange(len(targets)), targets]`.",
            ),
        ),
        Mistake(
            "mean-over-words",
            lambda logits, targets: F.cross_entropy(logits, targets) / logits.shape[-1],
            Bilingual(
                "平均时多除了词数：每个位置只有一个数，只对位置平均。",
                "Divided by the number of words as well: there is one number for each "
                "position, and the mean goes over the positions.",
            ),
        ),
        Mistake(
            "id-zero-lost",
            lambda logits, targets: F.cross_entropy(logits, targets, ignore_index=0),
            Bilingual(
                "编号 0 在这里是一个普通的词，不能略过。",
                "Number 0 is an ordinary word here and must not be left out.",
            ),
        ),
    ),
)


def _weights_gradients_rates() -> Iterator[Probe]:
    yield Probe((torch.tensor([0.0]), torch.tensor([-6.0]), 0.1))
    yield Probe((torch.randn(2, 3), torch.randn(2, 3), 0.5))
    yield Probe(
        (torch.tensor([2.0, -1.0]), torch.tensor([0.0, 30.0]), 0.01),
        Bilingual("梯度有一个是 0，一个很大", "of the gradients one is 0, another large"),
    )
    yield Probe(
        (torch.tensor(2.0), torch.tensor(4.0), 0.25),
        Bilingual("参数只有一个数", "there is a single parameter"),
    )


def _in_place(w: Tensor, gradient: Tensor, learning_rate: float) -> Tensor:
    return w.sub_(learning_rate * gradient)


GRADIENT_STEP = Exercise(
    name="gradient-step",
    task=Bilingual(
        "写 `step(w, gradient, learning_rate)`：返回梯度下降一步之后的参数，不改动 w。",
        "Write `step(w, gradient, learning_rate)`: the parameters after one step of gradient"
        " descent, without changing w.",
    ),
    solution=lambda w, gradient, learning_rate: w - learning_rate * gradient,
    probes=_weights_gradients_rates,
    mistakes=(
        Mistake(
            "uphill",
            lambda w, gradient, learning_rate: w + learning_rate * gradient,
            Bilingual(
                "梯度指向损失增大的方向：要减去它（见“沿着梯度往下走”）。",
                "The gradient points to where the loss grows: subtract it (section “Downhill”).",
            ),
        ),
        Mistake(
            "no-rate",
            lambda w, gradient, learning_rate: w - gradient,
            Bilingual("步子要乘以学习率。", "The step is the gradient times the learning rate."),
        ),
        Mistake(
            "step-alone",
            lambda w, gradient, learning_rate: -learning_rate * gradient,
            Bilingual(
                "这只是步子：还要加到参数上。", "This is the step: add it to the parameters."
            ),
        ),
        Mistake(
            "in-place",
            _in_place,
            Bilingual(
                "这里要求不改动 w：`sub_` 改写了它。",
                "w was not to be changed: `sub_` overwrites it.",
            ),
        ),
        Mistake(
            "step-alone",
            lambda w, gradient, learning_rate: learning_rate * gradient,
            Bilingual(
                "这只是步子的长短：要从参数里减去它。",
                "This is the size of the step alone: subtract it from the parameters.",
            ),
        ),
        Mistake(
            "rate-of-both",
            lambda w, gradient, learning_rate: learning_rate * (w - gradient),
            Bilingual(
                "学习率只乘梯度，不乘参数。",
                "The rate multiplies the gradient, not the parameters.",
            ),
        ),
        Mistake(
            "divided-by-rate",
            lambda w, gradient, learning_rate: w - gradient / learning_rate,
            Bilingual(
                "学习率是乘上去的：它越小，步子越小。",
                "Multiply by the rate: the smaller it is, the smaller the step.",
            ),
        ),
        Mistake(
            "normalized",
            lambda w, gradient, learning_rate: w - learning_rate * gradient.sign(),
            Bilingual(
                "步子随梯度的大小变：不要归一化，也不要只取符号。",
                "The step grows with the gradient: do not normalize it or take its sign alone.",
            ),
        ),
        Mistake(
            "normalized",
            lambda w, gradient, learning_rate: w - learning_rate * gradient / gradient.norm(),
            Bilingual(
                "步子随梯度的大小变：不要归一化，也不要只取符号。",
                "The step grows with the gradient: do not normalize it or take its sign alone.",
            ),
        ),
    ),
)

EXERCISES = (RECURRENT_STEPS, CROSS_ENTROPY, GRADIENT_STEP)
