"""Exercises of part III, translation: batches, losses, beams, BLEU, Bahdanau's look, alignment."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.attention import masked_softmax
from attention_book.course.exercises.core import Probe, exercise, probe, wrong
from attention_book.foundations.bilingual import Bilingual
from attention_book.metrics import alignment_scores, ngram_matches
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


def _mask_from_ids(sentences: list[Ids], padding: int) -> tuple[Tensor, Tensor]:
    ids = _padded(sentences, padding)[0]
    return ids, ids != padding


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
            _mask_from_ids,
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
        about = Bilingual("有填充", "there is padding") if min(lengths) < width else None
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
    unlikely = torch.tensor([[[0.0, 200.0, -3.0], [0.0, 0.0, 1.0]]])
    yield probe(
        (unlikely, torch.tensor([[0, 2]]), torch.tensor([[True, True]])),
        "正确的词几乎不可能",
        "the right word is next to impossible",
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
        "sign": wrong(
            "少了负号：损失不小于 0。",
            "The minus sign is missing: a loss is at least 0.",
            lambda x, y, m: -loss_per_token(x, y, m),
        ),
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


# --- beam-step ---------------------------------------------------------------------------------


def _beams() -> Iterator[Probe]:
    first = torch.tensor([[0.6, 0.3, 0.1], [0.1, 0.1, 0.8]]).log()
    yield probe(
        (torch.tensor([-0.1, -2.5]), first, 2),
        "两个最好的延续来自同一束",
        "the two best continuations come from one beam",
    )
    yield probe((torch.tensor([-1.0, -1.1]), torch.randn(2, 5).log_softmax(dim=-1), 2))
    yield probe((-torch.rand(3), torch.randn(3, 7).log_softmax(dim=-1), 3))
    alike = torch.tensor([[0.7, 0.2, 0.1], [0.8, 0.15, 0.05]]).log()
    yield probe(
        (torch.tensor([-1.0, -1.4]), alike, 2),
        "两束接同一个词最好",
        "one token is the best for two beams",
    )
    yield probe(
        (torch.tensor([-0.5, -0.7]), torch.randn(2, 4).log_softmax(dim=-1), 5),
        "要的延续比束多",
        "more continuations are asked for than there are beams",
    )
    yield probe(
        (torch.tensor([0.0]), torch.randn(1, 4).log_softmax(dim=-1), 3),
        "起初只有一束",
        "at the start there is a single beam",
    )


def _best(totals: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
    scores, places = totals.flatten().topk(width)
    return scores, places // totals.shape[-1], places % totals.shape[-1]


def _of_totals(
    combine: Callable[[Tensor, Tensor], Tensor],
) -> Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor, Tensor]]:
    return lambda scores, log_probs, width: _best(combine(scores[:, None], log_probs), width)


def _swapped(scores: Tensor, log_probs: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
    found, beams, tokens = _best(scores[:, None] + log_probs, width)
    return found, tokens, beams


def _each_beam(scores: Tensor, log_probs: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
    found, tokens = (scores[:, None] + log_probs).max(dim=-1)
    order = found.argsort(descending=True)[:width]
    return found[order], order, tokens[order]


Step = tuple[Tensor, Tensor, Tensor]


def _worst(scores: Tensor, log_probs: Tensor, width: int) -> Step:
    totals = scores[:, None] + log_probs
    values, places = totals.flatten().topk(width, largest=False)
    return values, places // totals.shape[-1], places % totals.shape[-1]


def _reversed(scores: Tensor, log_probs: Tensor, width: int) -> Step:
    values, beams, tokens = _best(scores[:, None] + log_probs, width)
    return values.flip(0), beams.flip(0), tokens.flip(0)


def _by_beams(scores: Tensor, log_probs: Tensor, width: int) -> Step:
    values, places = (scores[:, None] + log_probs).flatten().topk(width)
    return values, places // len(scores), places % len(scores)


def _each_token(scores: Tensor, log_probs: Tensor, width: int) -> Step:
    best, beams = (scores[:, None] + log_probs).max(dim=0)
    order = best.argsort(descending=True)[:width]
    return best[order], beams[order], order


BEAM_STEP = exercise(
    "beam-step",
    "写 `step(scores, log_probs, width)`：scores（束）是得分，log_probs（束，词）是下一个词的对数"
    "概率；返回最好的 width 个延续的得分、来自哪一束、接哪个词，得分高的在前。width 不一定等于束"
    "数。",
    "Write `step(scores, log_probs, width)`: from the beams' scores (beam) and the"
    " log-probabilities of the next token (beam, token) return the scores, beams and tokens of"
    " the best continuations, the best first. There need not be as many beams as width.",
    solution=_of_totals(torch.add),
    probes=_beams,
    mistakes={
        "past-forgotten": wrong(
            "只比了这一步：要加上这一束到目前为止的得分。",
            "Only this step was compared: add what the beam has scored so far.",
            _of_totals(lambda scores, log_probs: log_probs),
        ),
        "one-from-each": wrong(
            "每一束各留一个，成了几个互不相干的贪心搜索：所有延续要一起比。",
            "One from each beam makes several greedy searches side by side: all continuations"
            " compete together.",
            _each_beam,
        ),
        "multiplied": wrong(
            "概率相乘，对数概率相加。",
            "Probabilities are multiplied, log-probabilities are added.",
            _of_totals(lambda scores, log_probs: scores * log_probs),
        ),
        "swapped": wrong(
            "词与束颠倒了：先返回束的编号，再返回词的编号；拉平之后，整除得到束，余数是词。",
            "Beam and token are swapped: return the beam's number first. Of a flattened place, the"
            " quotient is the beam and the remainder the token.",
            _swapped,
        ),
        "worst-first": wrong(
            "次序反了：对数概率越接近 0 越好，最好的排在最前。",
            "The wrong way round: the closer to 0 a log-probability the better, and the best come"
            " first.",
            _worst,
            _reversed,
        ),
        "width-fixed": wrong(
            "返回几个由 `width` 决定，不由束数决定，也不要写死。",
            "How many to return is for `width` to say, not for the number of beams, nor a fixed"
            " number.",
            lambda s, logs, width: _best(s[:, None] + logs, 2),
            lambda s, logs, width: _best(s[:, None] + logs, len(s)),
        ),
        "divided-by-beams": wrong(
            "拉平之后每一束占“词数”个位置：除以词数，不是束数。",
            "Flattened, each beam takes as many places as there are tokens: divide by their number,"
            " not by that of the beams.",
            _by_beams,
        ),
        "probabilities": wrong(
            "得分是对数概率之和：不要取指数。",
            "A score is a sum of log-probabilities: take no exponential.",
            _of_totals(lambda scores, log_probs: scores.exp() * log_probs.exp()),
            _of_totals(lambda scores, log_probs: scores + log_probs.exp()),
        ),
        "one-for-each-token": wrong(
            "每个词只留了一束：两束接同一个词，是两个不同的延续。",
            "Only one beam is kept for each token: two beams that go on with one token are two"
            " continuations.",
            _each_token,
        ),
    },
)


# --- bleu --------------------------------------------------------------------------------------

Tokens = Sequence[str]


def _tokens(text: str) -> list[str]:
    return text.split()


def _translations() -> Iterator[Probe]:
    reference = _tokens("le chat est sur le lit .")
    yield probe((reference, reference), "译文与参考相同", "prediction and reference agree")
    yield probe((_tokens("le chat est ."), reference), "译文太短", "the prediction is short")
    yield probe(
        (_tokens("le le le chat est est sur le lit ."), reference),
        "译文重复了词",
        "words are repeated",
    )
    yield probe(
        (_tokens("un chat est sur le sol là ."), reference), "译文较长", "the prediction is long"
    )
    yield probe((_tokens("chat sur lit"), reference), "没有一个二元组对", "no bigram is right")
    yield probe(
        (_tokens("Le chat est sur le lit le"), reference),
        "有一个词大写",
        "one word has a capital letter",
    )
    yield probe((["chat"], reference), "译文只有一个词", "the prediction is one word")


def _brevity(prediction: Tokens, reference: Tokens) -> float:
    return math.exp(min(0.0, 1 - len(reference) / len(prediction)))


def _precision(prediction: Tokens, reference: Tokens, n: int) -> float:
    return ngram_matches(prediction, reference, n).precision


def _unclipped(prediction: Tokens, reference: Tokens, n: int) -> float:
    def ngrams(tokens: Tokens) -> Counter[tuple[str, ...]]:
        return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))

    found, wanted = ngrams(prediction), ngrams(reference)
    hits = sum(count for ngram, count in found.items() if ngram in wanted)
    return hits / found.total() if found else 0.0


def _bleu(
    *,
    brevity: Callable[[Tokens, Tokens], float] = _brevity,
    precision: Callable[[Tokens, Tokens, int], float] = _precision,
    mean: Callable[[float, float], float] = lambda p1, p2: math.sqrt(p1 * p2),
) -> Callable[[Tokens, Tokens], float]:
    def bleu(prediction: Tokens, reference: Tokens) -> float:
        p1, p2 = (precision(prediction, reference, n) for n in (1, 2))
        return brevity(prediction, reference) * mean(p1, p2)

    return bleu


def _of_orders(*orders: int) -> Callable[[Tokens, Tokens], float]:
    def bleu(prediction: Tokens, reference: Tokens) -> float:
        product = math.prod(_precision(prediction, reference, n) for n in orders)
        return float(_brevity(prediction, reference) * product ** (1 / len(orders)))

    return bleu


def _recall(prediction: Tokens, reference: Tokens) -> float:
    p1, p2 = (_precision(reference, prediction, n) for n in (1, 2))
    return _brevity(prediction, reference) * math.sqrt(p1 * p2)


def _smoothed(prediction: Tokens, reference: Tokens) -> float:
    first, second = (ngram_matches(prediction, reference, n) for n in (1, 2))
    product = (first.matches + 1) / (first.total + 1) * (second.matches + 1) / (second.total + 1)
    return _brevity(prediction, reference) * math.sqrt(product)


def _of_sets(prediction: Tokens, reference: Tokens, n: int) -> float:
    def ngrams(tokens: Tokens) -> list[tuple[str, ...]]:
        return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]

    found = ngrams(prediction)
    return len({*found} & {*ngrams(reference)}) / len(found) if found else 0.0


BLEU = exercise(
    "bleu",
    "写 `bleu(prediction, reference)`：一个句子的 BLEU，0 到 1，只用一元组和二元组，不平滑，"
    "大小写算不同；两个参数都是词的列表。有一个精确率是 0，或者没有二元组，结果就是 0。",
    "Write `bleu(prediction, reference)`: one sentence's BLEU, 0 to 1, with unigrams and bigrams"
    " only, not smoothed, where capitals count as other letters; both arguments are lists of"
    " tokens. If a precision is 0, or there is no bigram, the result is 0.",
    solution=_bleu(),
    probes=_translations,
    mistakes={
        "no-brevity-penalty": wrong(
            "没有简短惩罚：只写有把握的几个词就能得高分。",
            "No brevity penalty: a few safe words get a high score.",
            _bleu(brevity=lambda prediction, reference: 1.0),
        ),
        "penalty-inverted": wrong(
            "惩罚的是太长的译文，应当惩罚太短的：比值颠倒了。",
            "This punishes long predictions, not short ones: the ratio is upside down.",
            _bleu(brevity=lambda p, r: math.exp(min(0.0, 1 - len(p) / len(r)))),
        ),
        "penalty-unbounded": wrong(
            "译文长于参考时，惩罚因子大于 1，成了奖励：它至多是 1。",
            "For a prediction longer than its reference the factor exceeds 1 and becomes a bonus:"
            " it is 1 at most.",
            _bleu(brevity=lambda p, r: math.exp(1 - len(r) / len(p))),
        ),
        "not-clipped": wrong(
            "没有封顶：同一个词写很多遍，每一遍都算对。至多数到参考里出现的次数。",
            "Not clipped: a right word counts every time it is repeated. Count it at most as often"
            " as the reference has it.",
            _bleu(precision=_unclipped),
        ),
        "arithmetic-mean": wrong(
            "BLEU 用几何平均：有一个精确率是 0，整个就是 0。",
            "BLEU takes the geometric mean: if one precision is 0, all is 0.",
            _bleu(mean=lambda p1, p2: (p1 + p2) / 2),
        ),
        "percent": wrong(
            "这里要 0 到 1，不是 0 到 100。",
            "Here it runs from 0 to 1, not to 100.",
            lambda p, r: 100 * _bleu()(p, r),
        ),
        "product": wrong(
            "精确率相乘之后还要开方。",
            "The product of the precisions lacks its root.",
            _bleu(mean=lambda p1, p2: p1 * p2),
        ),
        "one-order": wrong(
            "一元组和二元组的精确率都要：两者相乘，再开平方。",
            "Both precisions are needed, of unigrams and of bigrams: multiply them and take the"
            " root.",
            _of_orders(1),
            _of_orders(2),
        ),
        "four-orders": wrong(
            "这里只用一元组和二元组，不到四元组。",
            "Only unigrams and bigrams are used here, no longer ones.",
            _of_orders(1, 2, 3, 4),
        ),
        "recall": wrong(
            "分母是译文里的元组数，不是参考里的：BLEU 用精确率，不用召回率。",
            "Divide by the n-grams of the prediction, not of the reference: BLEU takes precisions,"
            " not recalls.",
            _recall,
        ),
        "penalty-without-exponential": wrong(
            "简短惩罚是 exp(1 − r/c)，不是长度之比。",
            "The brevity penalty is exp(1 − r/c), not the ratio of the lengths.",
            _bleu(brevity=lambda p, r: min(1.0, len(p) / len(r))),
        ),
        "smoothed": wrong(
            "给计数加了 1：这里不平滑，没有一个对就是 0。",
            "One was added to the counts: nothing is smoothed here, and where none is right the"
            " result is 0.",
            _smoothed,
        ),
        "repetitions-lost": wrong(
            "用集合数，重复的词只算一次：参考里出现两次的，译文里两次都算对。",
            "Counted as sets, a repeated word counts once: what the reference has twice may be"
            " right twice.",
            _bleu(precision=_of_sets),
        ),
        "lower-case": wrong(
            "大小写不同就是不同的词：不要转成小写。",
            "Words that differ in capitals are different words: do not lower them.",
            lambda p, r: _bleu()([word.lower() for word in p], [word.lower() for word in r]),
        ),
        "logarithm-of-zero": wrong(
            "精确率可能是 0，0 没有对数：这时结果是 0。",
            "A precision can be 0, and 0 has no logarithm: the result is 0 then.",
            lambda p, r: (
                _brevity(p, r) * math.exp(sum([math.log(_precision(p, r, n)) for n in (1, 2)]) / 2)
            ),
        ),
    },
)


# --- bahdanau-look -----------------------------------------------------------------------------


def _states_and_annotations() -> Iterator[Probe]:
    for lengths in ((3, 3), (4, 2), (5, 1, 3), (2,)):
        batch, width = len(lengths), max(lengths)
        mask = torch.arange(width) < torch.tensor(lengths)[:, None]
        weights = torch.randn(7, 2), torch.randn(7, 3), torch.randn(7)
        about = Bilingual("有填充", "there is padding") if min(lengths) < width else None
        yield Probe((torch.randn(batch, 2), torch.randn(batch, width, 3), mask, *weights), about)


def _scores(state: Tensor, annotations: Tensor, W_s: Tensor, W_h: Tensor, v: Tensor) -> Tensor:
    return torch.tanh((state @ W_s.T)[:, None] + annotations @ W_h.T) @ v


def _look(weigh: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return a look whose weights are made of scores and mask, both (batch, key)."""

    def look(
        state: Tensor, annotations: Tensor, mask: Tensor, W_s: Tensor, W_h: Tensor, v: Tensor
    ) -> Tensor:
        weights = weigh(_scores(state, annotations, W_s, W_h, v), mask)
        return (weights[..., None] * annotations).sum(dim=1)

    return look


def _over_batch(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=0)


def _scaled_to_zero(scores: Tensor, mask: Tensor) -> Tensor:
    return (scores * mask).softmax(dim=-1)


def _highest(scores: Tensor, mask: Tensor) -> Tensor:
    seen = scores.masked_fill(~mask, -torch.inf)
    return (seen == seen.amax(dim=-1, keepdim=True)).to(scores.dtype)


def _over_all(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -torch.inf).flatten().softmax(dim=0).view_as(scores)


_right_look = _look(lambda scores, mask: masked_softmax(scores, mask))

LOOK = exercise(
    "bahdanau-look",
    "写 `look(state, annotations, mask, W_s, W_h, v)`：解码器的状态（批量，d_s）看一眼源句的注释"
    "（批量，位置，d_h），返回上下文（批量，d_h）；mask（批量，位置）里 True 是真词；W_s 的形状是"
    "（隐单元，d_s），W_h 是（隐单元，d_h），v 是（隐单元）。",
    "Write `look(state, annotations, mask, W_s, W_h, v)`: the decoder's state (batch, d_s) looks"
    " at the annotations (batch, position, d_h) and returns a context (batch, d_h); True in mask"
    " (batch, position) marks a real word; W_s has the shape (hidden unit, d_s), W_h (hidden"
    " unit, d_h), and v (hidden unit).",
    solution=_right_look,
    probes=_states_and_annotations,
    mistakes={
        "padding-seen": wrong(
            "没有填充时对，有填充就错：填充也分到了权重。评分之后、softmax 之前要遮住它。",
            "Right without padding, wrong with it: the padding gets weight as well. Hide it after"
            " scoring and before the softmax.",
            _look(lambda scores, mask: scores.softmax(dim=-1)),
        ),
        "masked-afterwards": wrong(
            "softmax 之后才遮，短句的权重之和小于 1，上下文也跟着缩小。",
            "Masked after the softmax, the weights of a short sentence sum to less than 1, and its"
            " context shrinks.",
            _look(lambda scores, mask: scores.softmax(dim=-1) * mask),
        ),
        "over-the-batch": wrong(
            "softmax 沿着批量的轴，成了句子与句子相争：要沿源句的位置。",
            "The softmax runs over the batch: sentences compete with one another. It goes over the"
            " positions of the source.",
            _look(_over_batch),
            _look(_over_all),
        ),
        "plain-average": wrong(
            "每个词的权重都一样：评分没有用上。",
            "Every word has the same weight: the scores are not used.",
            _look(lambda scores, mask: mask / mask.sum(dim=-1, keepdim=True)),
        ),
        "state-left-out": wrong(
            "状态没有进入评分：每一步看到的都一样，这不是注意力，是一个固定的平均。",
            "The state is not part of the score: every step sees the same. This is no attention but"
            " a fixed average.",
            lambda s, h, m, W_s, W_h, v: _right_look(s * 0, h, m, W_s, W_h, v),
        ),
        "scores-set-to-zero": wrong(
            "把评分变成 0 并没有遮住它：`exp(0)` 是 1，不是 0。填 `-inf`。",
            "A score of 0 is not hidden: `exp(0)` is 1, not 0. Fill with `-inf`.",
            _look(_scaled_to_zero),
        ),
        "mask-inverted": [
            wrong(
                "掩码反了：True 是真词。",
                "The mask is inverted: True marks a real word.",
                _look(lambda scores, mask: masked_softmax(scores, ~mask)),
            ),
            wrong(
                "掩码反了：要填充的是 `~mask` 的位置。",
                "The mask is inverted: what gets filled is `~mask`.",
                _look(lambda scores, mask: scores.masked_fill(mask, -torch.inf).softmax(dim=-1)),
            ),
        ],
        "highest-only": wrong(
            "只取了评分最高的词：上下文是所有真词的加权平均。",
            "Only the word of the highest score is taken: the context is a weighted average over"
            " all real words.",
            _look(_highest),
        ),
        "no-softmax": wrong(
            "没有 softmax：评分还不是权重。",
            "There is no softmax: scores are no weights yet.",
            _look(lambda scores, mask: scores * mask),
        ),
        "not-normalized": wrong(
            "指数还要除以这一句的和。",
            "The exponentials still have to be divided by the sum of their sentence.",
            _look(lambda scores, mask: scores.exp() * mask),
        ),
        "sign": wrong(
            "符号反了：评分越高，权重越大。",
            "The sign is reversed: a higher score means a larger weight.",
            _look(lambda scores, mask: masked_softmax(-scores, mask)),
        ),
        "no-tanh": wrong(
            "评分里少了 tanh。",
            "The tanh of the score is missing.",
            lambda s, h, m, W_s, W_h, v: (
                masked_softmax((((s @ W_s.T)[:, None] + h @ W_h.T) @ v), m)[..., None] * h
            ).sum(dim=1),
        ),
    },
)


# --- alignment-error-rate ----------------------------------------------------------------------

Links = set[tuple[int, int]]


def _alignments() -> Iterator[Probe]:
    sure = {(0, 0), (1, 1)}
    yield probe(({(0, 0), (1, 2)}, sure, set()), "没有“可能”的连线", "no link is merely possible")
    yield probe(({(0, 0), (2, 1), (2, 2)}, sure, {(2, 1), (2, 2)}))
    yield probe(({(0, 0), (1, 1), (3, 3)}, sure, {(2, 2), (3, 2), (3, 3), (4, 4)}))
    three = {(0, 0), (1, 1), (2, 3)}
    yield probe(({(0, 0), (1, 1), (3, 3), (4, 5)}, three, {(3, 3), (0, 1)}))
    yield probe((set(), sure, {(2, 2)}), "一条连线也没有画", "no link was drawn")


def _f_measure(a: Links, s: Links, p: Links) -> float:
    hits = len(a & (s | p)) * len(a & s)
    if not hits:
        return 1.0
    precision, recall = len(a & (s | p)) / len(a), len(a & s) / len(s)
    return 1 - 2 * precision * recall / (precision + recall)


ALIGNMENT_ERROR_RATE = exercise(
    "alignment-error-rate",
    "写 `error_rate(predicted, sure, possible)`：三个连线的集合，返回 AER；确定的连线也算可能的。",
    "Write `error_rate(predicted, sure, possible)`: from three sets of links return the AER; sure"
    " links count as possible ones, too.",
    solution=lambda predicted, sure, possible: (
        alignment_scores(predicted, sure, possible).error_rate
    ),
    probes=_alignments,
    mistakes={
        "possible-ignored": wrong(
            "“可能”的连线没有用上：画了它们不算错。",
            "The possible links are not used: to draw one is no error.",
            lambda a, s, p: 1 - 2 * len(a & s) / (len(a) + len(s)),
        ),
        "sure-not-possible": wrong(
            "确定的连线也是可能的：P 要把 S 包括在内。",
            "A sure link is a possible one as well: P includes S.",
            lambda a, s, p: 1 - (len(a & s) + len(a & p)) / (len(a) + len(s)),
        ),
        "divided-by-possible": wrong(
            "分母里是 |S|，不是 |P|：漏掉只是“可能”的连线不算错。",
            "The denominator has |S|, not |P|: to miss a merely possible link is no error.",
            lambda a, s, p: 1 - (len(a & s) + len(a & (s | p))) / (len(a) + len(s | p)),
        ),
        "agreement": wrong(
            "这是吻合的程度，越大越好；错误率是 1 减去它。",
            "This is the agreement, larger for better; the error rate is 1 minus it.",
            lambda a, s, p: (len(a & s) + len(a & (s | p))) / (len(a) + len(s)),
        ),
        "precision-alone": wrong(
            "只看了画出来的连线对不对：漏掉的确定连线也要算。",
            "This asks only whether what was drawn is right: sure links that are missing count as"
            " well.",
            lambda a, s, p: 1 - len(a & (s | p)) / len(a),
        ),
        "recall-alone": wrong(
            "只看了确定的连线有没有找到：画错的连线也要算。",
            "This asks only whether sure links were found: wrong links count as well.",
            lambda a, s, p: 1 - len(a & s) / len(s),
        ),
        "f-measure": wrong(
            "这是 1 减 F 值：AER 把分子加起来、分母加起来再相除，两者一般不相等。",
            "This is 1 minus the F measure: the AER adds up what is above and what is below, then"
            " divides; the two differ in general.",
            _f_measure,
        ),
        "percent": wrong(
            "这里要 0 到 1，不是百分数。",
            "Here it runs from 0 to 1; it is no percentage.",
            lambda a, s, p: 100 * (1 - (len(a & s) + len(a & (s | p))) / (len(a) + len(s))),
        ),
        "sure-not-counted": wrong(
            "分子里的一项是 |A ∩ S|：确定的连线要单独数。",
            "One of the terms above is |A ∩ S|: count the sure links apart.",
            lambda a, s, p: 1 - 2 * len(a & (s | p)) / (len(a) + len(s)),
        ),
        "rounded": wrong(
            "不要四舍五入。",
            "Do not round.",
            lambda a, s, p: round(1 - (len(a & s) + len(a & (s | p))) / (len(a) + len(s)), 2),
        ),
    },
)

EXERCISES = (
    TEACHER_FORCING,
    PAD_BATCH,
    MASKED_LOSS,
    CLIP_GRADIENTS,
    BEAM_STEP,
    BLEU,
    LOOK,
    ALIGNMENT_ERROR_RATE,
)
