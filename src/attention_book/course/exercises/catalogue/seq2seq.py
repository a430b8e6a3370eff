"""Exercises on training a translator: shifted targets, batches, losses, clipping."""

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.course.exercises import hints
from attention_book.course.exercises.core import Probe, exercise, probe, wrong
from attention_book.foundations.bilingual import Bilingual
from attention_book.training import loss_per_token, token_losses

# --- teacher-forcing ---------------------------------------------------------------------------

Ids = list[int]


def _prepended(tokens: Ids, bos: int, eos: int) -> tuple[Ids, Ids]:
    output = [*tokens, eos]
    tokens.insert(0, bos)
    return tokens, output


TEACHER_FORCING = exercise(
    "teacher-forcing",
    "写 `shift(tokens, bos, eos)`：返回一对列表，教师强制时解码器的输入和它要预测的输出。",
    "Write `shift(tokens, bos, eos)`: return a pair of lists, the decoder's input under teacher"
    " forcing and the output it has to predict.",
    solution=lambda tokens, bos, eos: ([bos, *tokens], [*tokens, eos]),
    probes=lambda: [
        probe(([7, 5, 9], 2, 3)),
        probe(([4, 4], 2, 3)),
        probe(([8], 0, 1), "句子只有一个词", "the sentence has one word"),
        probe(([], 2, 3), "句子是空的", "the sentence is empty"),
    ],
    mistakes={
        "no-bos": wrong(
            "没有 `<bos>`：第一个词从来没有被预测过，翻译时解码器不知从何开始。",
            "No `<bos>`: the first word is never predicted, and in translation the decoder has"
            " nothing to start from.",
            lambda t, bos, eos: (t, [*t[1:], eos]),
        ),
        "no-eos": [
            wrong(
                "输出里没有 `<eos>`：模型学不会停下来。",
                "The output has no `<eos>`: the model can't learn to stop.",
                lambda t, bos, eos: ([bos, *t[:-1]], t),
            ),
            wrong(
                "输出里没有 `<eos>`：模型学不会停下来，两个列表也不一样长。",
                "The output has no `<eos>`: the model can't learn to stop, and the two lists differ"
                " in length.",
                lambda t, bos, eos: ([bos, *t], list(t)),
            ),
        ],
        "not-shifted": [
            wrong(
                "输入与输出没有错开：每一步都能照抄输入，损失很低，却什么也没学到。",
                "Input and output are not shifted: every step can copy its input; the loss is low"
                " and nothing is learned.",
                lambda t, bos, eos: ([bos, *t, eos], [bos, *t, eos]),
            ),
            wrong(
                "输入与输出相同：每一步都能照抄输入。输入前面加 `<bos>`，输出后面加 `<eos>`。",
                "Input and output are the same, and every step can copy: `<bos>` comes before the"
                " input, `<eos>` after the output.",
                lambda t, bos, eos: (list(t), list(t)),
            ),
        ],
        "eos-in-input": wrong(
            "输入多了一个 `<eos>`：句子结束之后没有什么要预测，两个列表应当一样长。",
            "The input has an `<eos>` too many: after the end there is nothing to predict, and both"
            " lists are equally long.",
            lambda t, bos, eos: ([bos, *t, eos], [*t, eos]),
        ),
        "swapped": wrong(
            "输入与输出颠倒了：解码器看着答案，去预测上一个词。",
            "Input and output are swapped: the decoder sees the answer and predicts the word before"
            " it.",
            lambda t, bos, eos: ([*t, eos], [bos, *t]),
        ),
        "in-place": wrong(
            "`insert`、`append` 改写了语料里的句子：下一轮它就有两个 `<bos>` 了。造一个新的列表。",
            "`insert` and `append` change the sentence in the corpus: in the next epoch it has two"
            " `<bos>`. Make a new list.",
            _prepended,
        ),
        "bos-in-output": wrong(
            "`<bos>` 不用预测：输出从第一个词开始。",
            "`<bos>` is not to be predicted: the output begins with the first word.",
            lambda t, bos, eos: ([bos, *t], [bos, *t, eos]),
        ),
        "markers-swapped": wrong(
            "标记弄反了：输入以 `<bos>` 开头，输出以 `<eos>` 结尾。",
            "The markers are mixed up: the input begins with `<bos>`, the output ends with"
            " `<eos>`.",
            lambda t, bos, eos: ([eos, *t], [*t, bos]),
            lambda t, bos, eos: ([eos, *t], [*t, eos]),
        ),
        "markers-fixed": wrong(
            "`bos` 与 `eos` 是参数：不要写死它们的编号。",
            "`bos` and `eos` are arguments: do not write their numbers into the function.",
            lambda t, bos, eos: ([2, *t], [*t, 3]),
        ),
        "in-pairs": wrong(
            "返回的是一对一对的数：要一对列表，先输入，后输出。",
            "These are pairs of numbers: return a pair of lists, the input first.",
            lambda t, bos, eos: list(zip([bos, *t], [*t, eos], strict=True)),
        ),
    },
)


# --- pad-batch ---------------------------------------------------------------------------------


def _padded(sentences: list[Ids], padding: int) -> tuple[Tensor, Tensor]:
    width = max(map(len, sentences))
    ids = torch.tensor([row + [padding] * (width - len(row)) for row in sentences])
    lengths = torch.tensor([len(row) for row in sentences])
    return ids, torch.arange(width) < lengths[:, None]


def _cut(sentences: list[Ids], padding: int) -> tuple[Tensor, Tensor]:
    width = min(map(len, sentences))
    ids = torch.tensor([row[:width] for row in sentences])
    return ids, torch.ones_like(ids, dtype=torch.bool)


def _padded_before(sentences: list[Ids], padding: int) -> tuple[Tensor, Tensor]:
    ids, mask = _padded([row[::-1] for row in sentences], padding)
    return ids.flip(-1), mask.flip(-1)


def _shared_row(sentences: list[Ids], padding: int) -> tuple[Tensor, Tensor]:
    rows = [[padding] * max(map(len, sentences))] * len(sentences)
    for row, sentence in zip(rows, sentences, strict=True):
        row[: len(sentence)] = sentence
    return torch.tensor(rows), _padded(sentences, padding)[1]


def _appended(sentences: list[Ids], padding: int) -> tuple[Tensor, Tensor]:
    result = _padded(sentences, padding)
    for row in sentences:
        row += [padding] * (result[0].shape[1] - len(row))
    return result


PAD_BATCH = exercise(
    "pad-batch",
    "写 `pad(sentences, padding)`：把编号的列表装进一个张量，短句后面补 padding；连同掩码一起返"
    "回，True 是真词。句子里也可以有编号等于 padding 的词。",
    "Write `pad(sentences, padding)`: put lists of ids into one tensor, with padding after the"
    " short ones; return it with a mask, True for real tokens. A sentence may hold a word whose"
    " id equals padding.",
    solution=_padded,
    probes=lambda: [
        probe(([[5, 6, 7], [8]], 0)),
        probe(([[4, 3], [9, 8, 7, 6, 3], [5, 5, 3]], 1)),
        probe(([[4, 3], [5, 3]], 0), "句子一样长", "the sentences are equally long"),
        probe(
            ([[0, 7, 0], [0]], 0),
            "句子里有编号与填充相同的词",
            "a word in a sentence has the padding's number",
        ),
        probe(([[6, 5]], 2), "只有一个句子", "there is a single sentence"),
    ],
    mistakes={
        "cut": wrong(
            "把长句截短了：应当向最长的句子看齐。",
            "Long sentences are cut: go by the longest one.",
            _cut,
        ),
        "padded-before": wrong(
            "填充补在了前面：每个词的位置都变了，因果掩码和位置编码都会弄错。",
            "The padding stands before the words: it moves every position, and causal masks and"
            " positional encodings go wrong.",
            _padded_before,
        ),
        "mask-inverted": wrong(
            "掩码反了：True 是真词。",
            "The mask is inverted: True marks real tokens.",
            lambda rows, pad: (
                _padded(rows, pad)[0],
                ~_padded(rows, pad)[1],
            ),
        ),
        "shared-row": wrong(
            "`[row] * n` 是同一行的 n 个名字，改一行就改了所有行。",
            "`[row] * n` is one row under n names: change one and all of them change.",
            _shared_row,
        ),
        "in-place": wrong(
            "交进来的句子自己变长了：`+=` 和 `append` 就地改写列表，语料被填充污染。",
            "The sentences themselves grew: `+=` and `append` change a list in place, and the"
            " corpus is polluted with padding.",
            _appended,
        ),
        "mask-from-ids": wrong(
            "掩码是从编号猜出来的：句子里有编号等于 padding 的词，就把它也遮住了。按句子的长度来。",
            "The mask is guessed from the ids: a word whose id equals padding is hidden as well. Go"
            " by the lengths of the sentences.",
            lambda rows, pad: (_padded(rows, pad)[0], _padded(rows, pad)[0] != pad),
        ),
        "zeros": wrong(
            "补的总是 0：要补 `padding`。",
            "The padding is always 0: take `padding`.",
            lambda rows, pad: (_padded(rows, 0)[0], _padded(rows, pad)[1]),
        ),
        "time-first": wrong(
            "行是句子，列是位置：结果转置了。",
            "Rows are sentences and columns are positions: the result is transposed.",
            lambda rows, pad: (
                _padded(rows, pad)[0].mT,
                _padded(rows, pad)[1].mT,
            ),
        ),
        "sorted": wrong(
            "句子的次序变了：不要排序，译文还要与它们对得上。",
            "The sentences come in another order: do not sort them, since their translations have"
            " to match.",
            lambda rows, pad: _padded(sorted(rows, key=len, reverse=True), pad),
        ),
    },
)


# --- masked-loss -------------------------------------------------------------------------------


def _predictions() -> Iterator[Probe]:
    for lengths in ((2, 2), (3, 1), (5, 2, 3)):
        width = max(lengths)
        mask = torch.arange(width) < torch.tensor(lengths)[:, None]
        targets = torch.randint(1, 7, mask.shape) * mask
        about = Bilingual(*hints.PADDED) if min(lengths) < width else None
        yield Probe((torch.randn(*mask.shape, 7), targets, mask), about)
    mask = torch.tensor([[True, True, True, False], [True, False, False, False]])
    targets = torch.tensor([[3, 0, 0, 0], [0, 5, 0, 2]])
    yield probe(
        (torch.randn(2, 4, 7), targets, mask),
        "真词里有编号 0，填充里有别的编号",
        "some real tokens have the id 0, and some padding has others",
    )
    nothing = torch.tensor([[True, True], [False, False]])
    yield probe(
        (torch.randn(2, 2, 7), torch.tensor([[4, 6], [0, 0]]), nothing),
        "有一句全是填充",
        "one sentence is nothing but padding",
    )
    unlikely = torch.tensor([[[0.0, 200.0, -3.0], [800.0, 0.0, 1.0]]])
    yield probe(
        (unlikely, torch.tensor([[0, 2]]), torch.tensor([[True, True]])), *hints.UNLIKELY_WORD
    )


def _of_losses(combine: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return a loss made of the real tokens' losses (0 at padding) and the mask."""
    return lambda logits, targets, mask: combine(token_losses(logits, targets, mask), mask)


def _each(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.mT, targets, reduction="none")


def _logits_hidden(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    return _each(logits * mask[..., None], targets)


def _chosen(values: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    return -values.gather(-1, targets[..., None])[..., 0][mask].mean()


MASKED_LOSS = exercise(
    "masked-loss",
    "写 `loss(logits, targets, mask)`：真词的平均交叉熵，单位奈特；logits 的形状是（批量，位置，"
    "词表）。哪些是真词只由 mask 决定：真词的编号可以是任何数，0 也可以；对数几率可以相差几百。",
    "Write `loss(logits, targets, mask)`: the mean cross-entropy of the real tokens in nats;"
    " logits has the shape (batch, position, vocabulary). The mask alone says which tokens are"
    " real: they may have any id, 0 included; logits may lie hundreds apart.",
    solution=lambda logits, targets, mask: loss_per_token(logits, targets, mask),
    probes=_predictions,
    mistakes={
        "padding-counted": wrong(
            "填充也算成了要预测的词：模型很快学会写填充，损失好看，译文不好。",
            "Padding counts as words to be predicted: the model soon learns to write padding, and"
            " the loss looks better than the translations.",
            lambda x, y, m: F.cross_entropy(x.flatten(0, 1), y.flatten()),
        ),
        "divided-by-all": wrong(
            "分子只算真词，分母却连填充一起数：一批里填充越多，损失越小。要除以真词的个数。",
            "Only real tokens above, but padding is counted below: the more padding, the smaller"
            " the loss. Divide by the number of real tokens.",
            _of_losses(lambda losses, mask: losses.mean()),
        ),
        "divided-twice": wrong(
            "除了两次：求过平均的损失又除以词数，报出来的数就小得离谱。",
            "Divided twice: a mean was divided by the number of tokens once more, and the reported"
            " number is far too small.",
            _of_losses(lambda losses, mask: losses.sum() / mask.sum() ** 2),
            _of_losses(lambda losses, mask: losses.mean(dim=1).sum() / mask.sum()),
        ),
        "sum": wrong(
            "求的是和：批量越大，损失和梯度越大。除以真词的个数。",
            "This is the sum: loss and gradient grow with the batch. Divide by the number of real"
            " tokens.",
            _of_losses(lambda losses, mask: losses.sum()),
        ),
        "per-batch": wrong(
            "除以了句子的个数：长句子的损失就大。要除以真词的个数。",
            "Divided by the number of sentences: longer ones have a larger loss. Divide by the"
            " number of real tokens.",
            _of_losses(lambda losses, mask: losses.sum() / len(losses)),
        ),
        "mean-of-means": wrong(
            "先对每句求平均再平均：短句里的词比长句里的词更重。所有真词一起平均。",
            "A mean of the sentences' means gives a word in a short sentence more weight than one"
            " in a long sentence. Average all real tokens at once.",
            _of_losses(lambda losses, mask: (losses.sum(dim=1) / mask.sum(dim=1)).mean()),
        ),
        "softmax-twice": wrong(
            "`cross_entropy` 自己会做 softmax：交给它对数几率，不要交概率。",
            "`cross_entropy` takes the softmax itself: give it logits, not probabilities.",
            lambda x, y, m: loss_per_token(x.softmax(dim=-1), y, m),
        ),
        "wrong-axis": wrong(
            "softmax 要沿词表的轴，不是沿位置。",
            "The softmax goes over the vocabulary, not over the positions.",
            lambda x, y, m: (
                -(x.log_softmax(dim=1).gather(-1, y[..., None]).squeeze(-1) * m).sum() / m.sum()
            ),
        ),
        "bits": wrong(
            "这是比特；奈特用自然对数。",
            "These are bits; nats take the natural logarithm.",
            lambda x, y, m: loss_per_token(x, y, m) / math.log(2),
        ),
        "id-zero-as-padding": wrong(
            "把编号 0 当成了填充：真词也可能是 0，填充也可能是别的。由掩码决定。",
            "The id 0 is taken for padding: a real token may have it, and padding another. Go by"
            " the mask.",
            lambda x, y, m: F.cross_entropy(x.mT, y, ignore_index=0),
            lambda x, y, m: F.cross_entropy(x.mT, y * m, ignore_index=0),
        ),
        "logits-hidden": wrong(
            "把填充处的对数几率变成 0，并没有去掉它的损失：那里成了均匀分布。要遮的是损失。",
            "Logits of 0 do not remove the loss at padding: they make a uniform distribution there."
            " Mask the losses.",
            lambda x, y, m: _logits_hidden(x, y, m).mean(),
            lambda x, y, m: _logits_hidden(x, y, m).sum() / m.sum(),
        ),
        "mask-inverted": wrong(
            "掩码反了：只算了填充的损失。",
            "The mask is inverted: only the losses of padding are counted.",
            lambda x, y, m: (_each(x, y) * ~m).sum() / m.sum(),
        ),
        "sign": wrong(*hints.LOSS_NEGATIVE, lambda x, y, m: -loss_per_token(x, y, m)),
        "underflow": wrong(
            "概率小到存不下，就成了 0，再取对数就是 −∞；加一个小数也只是换成另一个错的数。"
            "用 `log_softmax`。",
            "A probability too small for its number type becomes 0, and its logarithm −∞; adding a"
            " small number only makes it another wrong one. Take `log_softmax`.",
            lambda x, y, m: _chosen(x.softmax(dim=-1).log(), y, m),
            lambda x, y, m: _chosen((x.softmax(dim=-1) + 1e-9).log(), y, m),
        ),
        "no-softmax": wrong(
            "对数几率还不是对数概率：先做 `log_softmax`。",
            "Logits are no log-probabilities yet: take `log_softmax` first.",
            lambda x, y, m: _chosen(x, y, m),
        ),
        "perplexity": wrong(
            "这是困惑度；损失是它的对数。",
            "This is the perplexity; the loss is its logarithm.",
            lambda x, y, m: loss_per_token(x, y, m).exp(),
        ),
        "shifted-again": wrong(
            "logits 与 targets 已经对齐：不要再错开一位。",
            "Logits and targets are aligned already: do not shift them again.",
            lambda x, y, m: _each(x[:, :-1], y[:, 1:])[m[:, 1:]].mean(),
        ),
    },
)


# --- clip-gradients ----------------------------------------------------------------------------


def _norm(gradients: Sequence[Tensor]) -> float:
    return math.sqrt(sum(gradient.square().sum().item() for gradient in gradients))


def _factor(max_norm: float, norm: float) -> float:
    return max_norm / norm if norm > max_norm else 1.0


def _clip(gradients: Sequence[Tensor], max_norm: float) -> list[Tensor]:
    factor = _factor(max_norm, _norm(gradients))
    return [gradient * factor for gradient in gradients]


def _zero_divided(gradients: Sequence[Tensor], max_norm: float) -> list[Tensor]:
    """Divide by the norm whatever it is: the minimum comes too late."""
    factor = min(1.0, max_norm / _norm(gradients))
    return [gradient * factor for gradient in gradients]


def _largest_number(gradients: Sequence[Tensor], max_norm: float) -> list[Tensor]:
    largest = max(gradient.abs().max().item() for gradient in gradients)
    return [gradient * _factor(max_norm, largest) for gradient in gradients]


def _to_one(gradients: Sequence[Tensor], max_norm: float) -> list[Tensor]:
    norm = _norm(gradients)
    return [gradient / norm if norm > max_norm else gradient.clone() for gradient in gradients]


def _clip_in_place(gradients: Sequence[Tensor], max_norm: float) -> Sequence[Tensor]:
    factor = _factor(max_norm, _norm(gradients))
    for gradient in gradients:
        gradient.mul_(factor)
    return gradients


CLIP_GRADIENTS = exercise(
    "clip-gradients",
    "写 `clip(gradients, max_norm)`：所有梯度合起来的范数超过 max_norm 时，按同一比例缩小；"
    "返回新的张量。梯度可以全是 0。",
    "Write `clip(gradients, max_norm)`: where the norm of all gradients together exceeds"
    " max_norm, shrink them by one factor; return new tensors. All gradients may be 0.",
    solution=_clip,
    probes=lambda: [
        probe(([torch.tensor([3.0, 0.0]), torch.tensor([4.0])], 1.0)),
        probe(([torch.randn(2, 3), torch.randn(5)], 0.5)),
        probe(
            ([torch.tensor([0.3]), torch.tensor([0.4])], 2.0),
            "范数本来就不大",
            "the norm is small already",
        ),
        probe(([torch.zeros(2), torch.zeros(1, 3)], 1.0), "梯度全是 0", "all gradients are 0"),
        probe(
            ([torch.tensor([1e-3]), torch.tensor([3e4, -4e4])], 2.5),
            "大小悬殊",
            "sizes differ by far",
        ),
        probe(([torch.tensor(-6.0)], 2.0), "只有一个数", "there is a single number"),
    ],
    mistakes={
        "each-alone": wrong(
            "每个张量各自裁剪，改变了梯度的方向：先算所有张量合起来的范数。",
            "Clipping each tensor alone turns the direction of the gradient: take the norm of all"
            " of them together.",
            lambda gs, most: [_clip([each], most)[0] for each in gs],
        ),
        "values": wrong(
            "裁的是每个数，不是范数：方向变了，范数也可能仍然太大。",
            "This clips every number, not the norm: the direction changes, and the norm may still"
            " be too large.",
            lambda gs, most: [each.clamp(-most, most) for each in gs],
        ),
        "always": wrong(
            "范数本来就小的梯度被放大了：只缩小，不放大。",
            "A gradient that was small is blown up: shrink only, never enlarge.",
            lambda gs, most: [each * (most / (_norm(gs) or 1.0)) for each in gs],
        ),
        "sum-of-norms": wrong(
            "范数不能相加：先把所有的平方相加，最后开根号。",
            "Norms do not add up: sum all squares first, and take the root at the end.",
            lambda gs, most: [
                each * _factor(most, sum(_norm([other]) for other in gs)) for each in gs
            ],
        ),
        "no-root": wrong(
            "平方和忘了开根号。",
            "The sum of squares lacks its root.",
            lambda gs, most: [each * _factor(most, _norm(gs) ** 2) for each in gs],
        ),
        "in-place": wrong(
            "这里要求返回新的张量：`mul_` 改写了交进来的梯度。",
            "New tensors were asked for: `mul_` overwrites the gradients handed in.",
            _clip_in_place,
        ),
        "zero-divided": wrong(
            "梯度全是 0 时，范数也是 0，不能作除数：先问范数是否超过 max_norm，超过才除。",
            "Where all gradients are 0 so is the norm, and it can't be divided by: ask first"
            " whether it exceeds max_norm, and divide only then.",
            _zero_divided,
        ),
        "largest-number": wrong(
            "范数是平方和的平方根，不是最大的绝对值。",
            "The norm is the root of the sum of squares, not the largest absolute value.",
            _largest_number,
        ),
        "not-clipped": wrong(
            "范数超过 max_norm 时没有缩小。",
            "Nothing is shrunk where the norm exceeds max_norm.",
            lambda gs, most: list(gs),
        ),
        "to-norm-one": wrong(
            "缩小之后的范数应当是 max_norm，不是 1。",
            "After shrinking the norm should be max_norm, not 1.",
            _to_one,
        ),
    },
)

EXERCISES = (TEACHER_FORCING, PAD_BATCH, MASKED_LOSS, CLIP_GRADIENTS)
