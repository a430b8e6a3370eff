"""Exercises of “What you need”: tensors, layers, a recurrent network, a loss, a step of descent."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.course.exercises import hints
from attention_book.course.exercises.core import Probe, exercise, probe, shares, wrong
from attention_book.foundations.bilingual import Bilingual

# --- broadcast ---------------------------------------------------------------------------------


def _two_vectors() -> Iterator[Probe]:
    yield probe((torch.tensor([1.0, 4.0]), torch.tensor([1.0, 2.0, 3.0])))
    yield probe(
        (torch.tensor([1.0, 5.0, 2.0]), torch.tensor([0.0, 3.0, 4.0])),
        "两个向量一样长",
        "the two vectors are equally long",
    )
    single = Bilingual("有一个向量只有一个数", "one of the vectors has a single number")
    yield Probe((torch.tensor([2.0]), torch.tensor([1.0, 5.0, 2.0])), single)
    yield Probe((torch.tensor([3.0, 1.0]), torch.tensor([2.0])), single)


BROADCAST = exercise(
    "broadcast",
    "写 `differences(a, b)`：不用循环，返回所有的差 a[i] − b[j]，形状是 (len(a), len(b))。",
    "Write `differences(a, b)` without a loop: all differences a[i] − b[j], in the shape (len(a),"
    " len(b)).",
    solution=lambda a, b: a[:, None] - b[None, :],
    probes=_two_vectors,
    mistakes={
        "no-new-axis": wrong(
            "两个向量各只有一个轴，相减是逐个对齐，不是两两配对。先用 `[:, None]` 给 `a` 添一个轴"
            "（见“张量与形状”）。",
            "Each vector has a single axis, so they are subtracted entry by entry, not in all"
            " pairs. Give `a` a second axis with `[:, None]` (section “Tensors and shapes”).",
            lambda a, b: a - b,
        ),
        "transposed": wrong(
            "行和列对调了：`a` 的下标要走第一个轴。",
            "Rows and columns are swapped: the index of `a` belongs to the first axis.",
            lambda a, b: a[None, :] - b[:, None],
        ),
        "sign": wrong(
            "符号反了：要的是 a[i] − b[j]。",
            "The sign is wrong: a[i] − b[j] is asked for.",
            lambda a, b: b[None, :] - a[:, None],
        ),
        "added": wrong(
            "要的是差，不是和。",
            "Differences are asked for, not sums.",
            lambda a, b: a[:, None] + b[None, :],
        ),
        "absolute": wrong(
            "差有正有负：不要取绝对值，那是距离。",
            "A difference has a sign: its absolute value would be a distance.",
            lambda a, b: (a[:, None] - b[None, :]).abs(),
        ),
        "squeezed": wrong(
            "一个向量只有一个数时，`squeeze` 把它的轴也去掉了：形状总是 (len(a), len(b))。",
            "Where a vector has a single number, `squeeze` removes its axis as well: the shape is"
            " always (len(a), len(b)).",
            lambda a, b: (a[:, None] - b[None, :]).squeeze(),
        ),
    },
)


# --- linear-layer ------------------------------------------------------------------------------

LINEAR_LAYER = exercise(
    "linear-layer",
    "写 `linear(x, W, b)`：与 `nn.Linear` 一样，x 的最后一个轴是特征，前面可以有任意多个轴；"
    "W 的形状是（输出特征，输入特征）。",
    "Write `linear(x, W, b)`, which does what `nn.Linear` does: the last axis of x holds the"
    " features, and any number of axes may come before it; W has the shape (output features,"
    " input features).",
    solution=lambda x, W, b: x @ W.mT + b,
    probes=lambda: [
        probe((torch.randn(5, 3), torch.randn(2, 3), torch.randn(2))),
        probe(
            (torch.randn(4, 7, 3), torch.randn(3, 3), torch.randn(3)),
            "输入是一批句子，权重矩阵是方阵",
            "the input is a batch, the weight matrix is square",
        ),
        probe(
            (torch.randn(3), torch.randn(2, 3), torch.randn(2)),
            "输入是一个向量",
            "the input is a single vector",
        ),
        probe(
            (torch.randn(4, 3), torch.randn(1, 3), torch.randn(1)),
            "输出只有一个特征",
            "there is a single output feature",
        ),
    ],
    mistakes={
        "not-transposed": wrong(
            "W 的每一行是一个输出特征：要乘以 W 的转置（见“线性层”）。",
            "Each row of W makes one output feature: multiply by the transpose of W (section “A"
            " linear layer”).",
            lambda x, W, b: x @ W + b,
        ),
        "no-bias": wrong("少了偏置 b。", "The bias b is missing.", lambda x, W, b: x @ W.mT),
        "activation": wrong(
            "线性层里没有激活函数。",
            "There is no activation function in a linear layer.",
            lambda x, W, b: (x @ W.mT + b).tanh(),
            lambda x, W, b: (x @ W.mT + b).relu(),
            lambda x, W, b: (x @ W.mT + b).sigmoid(),
        ),
        "bias-subtracted": wrong(
            "偏置是加上去的。", "The bias is added.", lambda x, W, b: x @ W.mT - b
        ),
    },
)


# --- embedding ---------------------------------------------------------------------------------

EMBEDDING = exercise(
    "embedding",
    "写 `embed(tokens, table)`：每个词元的编号换成表里的那一行；词元可以有任意多个轴。",
    "Write `embed(tokens, table)`, which replaces each token's number by that row of the table;"
    " tokens may have any number of axes.",
    solution=lambda tokens, table: table[tokens],
    probes=lambda: [
        probe((torch.tensor([0, 1, 0]), torch.randn(3, 2))),
        probe(
            (torch.tensor([[2, 0], [1, 2]]), torch.randn(5, 5)),
            "词元成批，表是方的",
            "the tokens come as a batch and the table is square",
        ),
        probe(
            (torch.tensor(2), torch.randn(3, 2)),
            "只有一个编号，没有轴",
            "there is a single number, without an axis",
        ),
        probe(
            (torch.tensor([[[1], [0]]]), torch.randn(3, 1)),
            "有些轴长度是 1",
            "some axes have size 1",
        ),
    ],
    mistakes={
        "columns": wrong(
            "取成了列：一个词是表里的一行（见“词嵌入”）。",
            "These are columns: a word is one row of the table (section “An embedding”).",
            lambda t, table: table[:, t],
            lambda t, table: table.mT[t],
        ),
        "added-up": wrong(
            "每个词元要有自己的向量，不能加在一起。",
            "Each token gets a vector of its own; do not add them up.",
            lambda t, table: table[t].sum(dim=-2),
            lambda t, table: table[t].mean(dim=-2),
        ),
        "first-rows": wrong(
            "取的是表的前几行，没有看词元的编号。",
            "These are the first rows of the table; the tokens' numbers were not used.",
            lambda t, table: table[: t.shape[-1]].expand(*t.shape, -1),
        ),
        "counted-from-one": wrong(
            "编号从 0 数起：编号 0 是第一行。",
            "Numbers count from 0: number 0 is the first row.",
            lambda t, table: table[t - 1],
        ),
        "axes-lost": wrong(
            "词元的各个轴要保留：结果的形状是词元的形状，后面再加一个特征的轴。",
            "Keep the axes of the tokens: the result has the shape of the tokens, and one more axis"
            " for the features.",
            lambda t, table: table[t.flatten()],
        ),
        "id-zero-lost": wrong(
            "编号 0 也是一个词元，表里也有它的一行。",
            "Number 0 is a token like any other, with a row of its own.",
            lambda t, table: table[t] * (t != 0)[..., None],
        ),
    },
)


# --- recurrent-steps ---------------------------------------------------------------------------


def _states(step: Callable[[Tensor, Tensor], Tensor], inputs: Tensor, first: float = 0.0) -> Tensor:
    state, states = torch.tensor(first), []
    for x in inputs:
        state = step(x, state)
        states.append(state)
    return torch.stack(states)


def _from_the_start(inputs: Tensor, w: float, u: float) -> Tensor:
    states = _states(lambda x, h: torch.tanh(w * x + u * h), inputs)
    return torch.cat((torch.zeros(1), states))


RECURRENT_STEPS = exercise(
    "recurrent-steps",
    "写 `states(inputs, w, u)`：从 h = 0 出发，对每个输入 x 做一步 h ← tanh(w·x + u·h)；"
    "返回一个张量，与 inputs 一样长：每一步之后的 h，不含开头的 0。",
    "Write `states(inputs, w, u)`: start from h = 0 and take one step h ← tanh(w·x + u·h) for"
    " each input x; return a tensor as long as inputs, the h after each step, without the 0 at"
    " the start.",
    solution=lambda inputs, w, u: _states(lambda x, h: torch.tanh(w * x + u * h), inputs),
    probes=lambda: [
        probe((torch.tensor([1.0, 0.0, 0.0]), 1.0, 1.0)),
        probe((torch.randn(4), 0.7, -0.5), "记忆带负号", "the memory changes sign"),
        probe((torch.randn(1), 0.9, 0.4), "句子只有一个词", "the sentence has a single word"),
    ],
    mistakes={
        "no-memory": wrong(
            "每一步都忘了前一步：上一个 h 要乘以 u，加进来（见“循环网络的一步”）。",
            "Each step has forgotten the one before: the previous h enters, times u (section “One"
            " step of a recurrent network”).",
            lambda x, w, u: torch.tanh(w * x),
        ),
        "no-tanh": wrong(
            "每一步都少了 tanh。",
            "The tanh of each step is missing.",
            lambda inputs, w, u: _states(lambda x, h: w * x + u * h, inputs),
        ),
        "swapped": wrong(
            "两个权重对调了：w 乘输入，u 乘上一个状态。",
            "The two weights are swapped: w goes with the input, u with the last state.",
            lambda inputs, w, u: _states(lambda x, h: torch.tanh(u * x + w * h), inputs),
        ),
        "start-included": [
            wrong(
                "开头的 h = 0 不算在内：有几个输入，就返回几个数。",
                "The h = 0 at the start is not part of the result: return one number for each"
                " input.",
                _from_the_start,
            ),
            wrong(
                "早了一步：第一个数是读过第一个输入之后的 h，不是开头的 0。",
                "One step early: the first number is the h after the first input, not the 0 at the"
                " start.",
                lambda x, w, u: _from_the_start(x, w, u)[:-1],
            ),
        ],
        "last-only": [
            wrong(
                "要返回每一步的 h，不只是最后一个。",
                "Return every h, not the last alone.",
                lambda inputs, w, u: _states(lambda x, h: torch.tanh(w * x + u * h), inputs)[-1:],
            ),
            wrong(
                "返回的只是最后一个 h：每一步的都要，收在一个列表里，最后 `torch.stack`。",
                "This is the last h alone: collect the one of each step in a list, and"
                " `torch.stack` it at the end.",
                lambda inputs, w, u: _states(lambda x, h: torch.tanh(w * x + u * h), inputs)[-1],
            ),
        ],
        "tanh-of-the-input-alone": wrong(
            "tanh 只包住了输入：它要作用于 w·x + u·h 的和。",
            "The tanh takes the input alone: it belongs around the sum w·x + u·h.",
            lambda inputs, w, u: _states(lambda x, h: torch.tanh(w * x) + u * h, inputs),
        ),
        "tanh-at-the-end": wrong(
            "tanh 要在每一步里做，下一步用的是它的结果，不能留到最后一起做。",
            "Take the tanh in each step, for the next one uses its result; not once at the end.",
            lambda inputs, w, u: _states(lambda x, h: w * x + u * h, inputs).tanh(),
        ),
        "previous-input": wrong(
            "带到下一步的是状态 h，不是上一个输入 x：更早的词都忘了。",
            "What is carried to the next step is the state h, not the previous input x: all earlier"
            " words are forgotten.",
            lambda x, w, u: torch.tanh(w * x + u * torch.cat((torch.zeros(1), x[:-1]))),
        ),
    },
)


# --- cross-entropy -----------------------------------------------------------------------------


def _logits_and_targets() -> Iterator[Probe]:
    yield probe((torch.tensor([[4.0, 2.0, 1.0]]).log(), torch.tensor([0])))
    yield probe((3 * torch.randn(5, 4), torch.tensor([3, 0, 2, 2, 1])))
    unlikely = torch.tensor([[0.0, 200.0, 3.0], [-1000.0, 0.0, 1.0]])
    yield probe((unlikely, torch.tensor([0, 0])), *hints.UNLIKELY_WORD)
    yield probe(
        (torch.tensor([[1000.0, 999.0], [-1000.0, -1001.0]]), torch.tensor([1, 0])),
        "对数几率很大",
        "the logits are large",
    )


def _of_the_right_word(log_weights: Tensor, targets: Tensor) -> Tensor:
    return -log_weights.gather(-1, targets[:, None]).mean()


CROSS_ENTROPY = exercise(
    "cross-entropy",
    "写 `loss(logits, targets)`：每一行是一个位置，列是词；返回正确的词的概率的负对数，"
    "取所有位置的平均。对数几率再大、正确的词再不可能，也要算得对。不要用 `F.cross_entropy`。",
    "Write `loss(logits, targets)`: rows are positions and columns are words; return minus the"
    " logarithm of the right word's probability, averaged over the positions. It must come out"
    " right for large logits, too, and for a right word that is next to impossible. Do not use"
    " `F.cross_entropy`.",
    solution=lambda logits, targets: F.cross_entropy(logits, targets),
    probes=_logits_and_targets,
    mistakes={
        "summed": wrong(
            "要取平均，不是求和。",
            "Average over the positions; do not add them up.",
            lambda x, y: F.cross_entropy(x, y, reduction="sum"),
        ),
        "no-softmax": wrong(
            "对数几率还不是概率：先做 softmax，再取对数（见“交叉熵”）。",
            "Logits are not probabilities yet: take the softmax first, then its logarithm (section"
            " “Cross-entropy”).",
            _of_the_right_word,
        ),
        "no-logarithm": wrong(
            "少了对数。",
            "The logarithm is missing.",
            lambda x, y: _of_the_right_word(x.softmax(dim=-1), y),
        ),
        "softmax-twice": wrong(
            "softmax 做了两次：`F.cross_entropy` 和 `log_softmax` 里已经有一次。",
            "The softmax was taken twice: `F.cross_entropy` and `log_softmax` contain one.",
            lambda x, y: F.cross_entropy(x.softmax(dim=-1), y),
        ),
        "wrong-axis": wrong(
            "softmax 要沿着词的轴，也就是最后一个轴。",
            "The softmax runs over the words, which are the last axis.",
            lambda x, y: _of_the_right_word(x.log_softmax(dim=0), y),
        ),
        "underflow": wrong(
            "概率小到存不下，就成了 0，再取对数就是 −∞；加一个小数、截断，也只是换成另一个错的数。"
            "不要经过概率：用 `log_softmax`，或先减去一行的最大值。",
            "A probability too small for its number type becomes 0, and its logarithm −∞; adding a"
            " small number or clamping only makes it another wrong one. Do not go through"
            " probabilities: take `log_softmax`, or subtract the row's maximum first.",
            lambda x, y: _of_the_right_word(x.softmax(dim=-1).log(), y),
            lambda x, y: _of_the_right_word((x.softmax(dim=-1) + 1e-9).log(), y),
            lambda x, y: _of_the_right_word(x.softmax(dim=-1).clamp(min=1e-7).log(), y),
            lambda x, y: _of_the_right_word(shares(x.exp()).log(), y),
            lambda x, y: _of_the_right_word(x - x.exp().sum(dim=-1, keepdim=True).log(), y),
        ),
        "sign": wrong(
            "少了负号：概率的对数不大于 0，损失不小于 0。",
            "The minus sign is missing: the logarithm of a probability is at most 0, a loss at"
            " least 0.",
            lambda x, y: -F.cross_entropy(x, y),
        ),
        "log-of-mean": wrong(
            "次序反了：先对每个位置的概率取对数，再平均。",
            "The wrong order: take the logarithm at each position first, then the mean.",
            lambda x, y: -(-_of_the_right_word(x.softmax(dim=-1), y)).log(),
        ),
        "bits": wrong(
            "这里的对数是自然对数。",
            "The logarithm here is the natural one.",
            lambda x, y: F.cross_entropy(x, y) / math.log(2),
        ),
        "every-pair": wrong(
            "`[:, targets]` 让每个位置取了所有的目标：每一行只取它自己的那一个，"
            "如 `[torch.arange(len(targets)), targets]`。",
            "`[:, targets]` takes all targets at every position: each row needs its own alone, as"
            " in `[torch.arange(len(targets)), targets]`.",
            lambda x, y: -x.log_softmax(dim=-1)[:, y].mean(),
        ),
        "mean-over-words": wrong(
            "平均时多除了词数：每个位置只有一个数，只对位置平均。",
            "Divided by the number of words as well: there is one number for each position, and the"
            " mean goes over the positions.",
            lambda x, y: F.cross_entropy(x, y) / x.shape[-1],
        ),
        "id-zero-lost": wrong(
            "编号 0 在这里是一个普通的词，不能略过。",
            "Number 0 is an ordinary word here and must not be left out.",
            lambda x, y: F.cross_entropy(x, y, ignore_index=0),
        ),
    },
)


# --- gradient-step -----------------------------------------------------------------------------

GRADIENT_STEP = exercise(
    "gradient-step",
    "写 `step(w, gradient, learning_rate)`：返回梯度下降一步之后的参数，不改动 w。",
    "Write `step(w, gradient, learning_rate)`: the parameters after one step of gradient descent,"
    " without changing w.",
    solution=lambda w, gradient, learning_rate: w - learning_rate * gradient,
    probes=lambda: [
        probe((torch.tensor([0.0]), torch.tensor([-6.0]), 0.1)),
        probe((torch.randn(2, 3), torch.randn(2, 3), 0.5)),
        probe(
            (torch.tensor([2.0, -1.0]), torch.tensor([0.0, 30.0]), 0.01),
            "梯度有一个是 0，一个很大",
            "of the gradients one is 0, another large",
        ),
        probe(
            (torch.tensor(2.0), torch.tensor(4.0), 0.25),
            "参数只有一个数",
            "there is a single parameter",
        ),
    ],
    mistakes={
        "uphill": wrong(
            "梯度指向损失增大的方向：要减去它（见“沿着梯度往下走”）。",
            "The gradient points to where the loss grows: subtract it (section “Downhill”).",
            lambda w, g, rate: w + rate * g,
        ),
        "no-rate": wrong(
            "步子要乘以学习率。",
            "The step is the gradient times the learning rate.",
            lambda w, g, rate: w - g,
        ),
        "step-alone": [
            wrong(
                "这只是步子：还要加到参数上。",
                "This is the step: add it to the parameters.",
                lambda w, g, rate: -rate * g,
            ),
            wrong(
                "这只是步子的长短：要从参数里减去它。",
                "This is the size of the step alone: subtract it from the parameters.",
                lambda w, g, rate: rate * g,
            ),
        ],
        "in-place": wrong(
            "这里要求不改动 w：`sub_` 改写了它。",
            "w was not to be changed: `sub_` overwrites it.",
            lambda w, g, rate: w.sub_(rate * g),
        ),
        "rate-of-both": wrong(
            "学习率只乘梯度，不乘参数。",
            "The rate multiplies the gradient, not the parameters.",
            lambda w, g, rate: rate * (w - g),
        ),
        "divided-by-rate": wrong(
            "学习率是乘上去的：它越小，步子越小。",
            "Multiply by the rate: the smaller it is, the smaller the step.",
            lambda w, g, rate: w - g / rate,
        ),
        "normalized": wrong(
            "步子随梯度的大小变：不要归一化，也不要只取符号。",
            "The step grows with the gradient: do not normalize it or take its sign alone.",
            lambda w, g, rate: w - rate * g.sign(),
            lambda w, g, rate: w - rate * g / g.norm(),
        ),
    },
)

EXERCISES = (BROADCAST, LINEAR_LAYER, EMBEDDING, RECURRENT_STEPS, CROSS_ENTROPY, GRADIENT_STEP)
