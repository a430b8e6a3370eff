"""An exercise on training a translator: the loss of padded batches."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual
from attention_book.training import loss_per_token, token_losses


def _predictions() -> Iterator[Probe]:
    for lengths in ((2, 2), (3, 1), (5, 2, 3)):
        width = max(lengths)
        mask = torch.arange(width) < torch.tensor(lengths)[:, None]
        targets = torch.randint(1, 7, mask.shape) * mask
        about = Bilingual("有填充", "there is padding") if min(lengths) < width else None
        yield Probe((torch.randn(*mask.shape, 7), targets, mask), about)
    mask = torch.tensor([[True, True, True, False], [True, False, False, False]])
    targets = torch.tensor([[3, 0, 0, 0], [0, 5, 0, 2]])
    yield Probe(
        (torch.randn(2, 4, 7), targets, mask),
        Bilingual(
            "真词里有编号 0，填充里有别的编号",
            "some real tokens have the id 0, and some padding has others",
        ),
    )
    nothing = torch.tensor([[True, True], [False, False]])
    yield Probe(
        (torch.randn(2, 2, 7), torch.tensor([[4, 6], [0, 0]]), nothing),
        Bilingual("有一句全是填充", "one sentence is nothing but padding"),
    )
    unlikely = torch.tensor([[[0.0, 200.0, -3.0], [0.0, 0.0, 1.0]]])
    yield Probe(
        (unlikely, torch.tensor([[0, 2]]), torch.tensor([[True, True]])),
        Bilingual("正确的词几乎不可能", "the right word is next to impossible"),
    )


def _of_losses(combine: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return a loss made of the real tokens' losses (0 at padding) and the mask."""
    return lambda logits, targets, mask: combine(token_losses(logits, targets, mask), mask)


def _with_padding(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def _of_probabilities(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    return loss_per_token(logits.softmax(dim=-1), targets, mask)


def _over_positions(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    chosen = logits.log_softmax(dim=1).gather(-1, targets[..., None]).squeeze(-1)
    return -(chosen * mask).sum() / mask.sum()


_DIVIDED_TWICE = Bilingual(
    "除了两次：求过平均的损失又除以词数，报出来的数就小得离谱。",
    "Divided twice: a mean was divided by the number of tokens once more, and the"
    " reported number is far too small.",
)


def _each(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.mT, targets, reduction="none")


def _logits_hidden(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    return _each(logits * mask[..., None], targets)


def _chosen(values: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    return -values.gather(-1, targets[..., None])[..., 0][mask].mean()


def _shifted_again(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    return _each(logits[:, :-1], targets[:, 1:])[mask[:, 1:]].mean()


_ID_ZERO = Bilingual(
    "把编号 0 当成了填充：真词也可能是 0，填充也可能是别的。由掩码决定。",
    "The id 0 is taken for padding: a real token may have it, and padding another. Go by the mask.",
)
_LOGITS_HIDDEN = Bilingual(
    "把填充处的对数几率变成 0，并没有去掉它的损失：那里成了均匀分布。要遮的是损失。",
    "Logits of 0 do not remove the loss at padding: they make a uniform distribution there. Mask"
    " the losses.",
)
_UNDERFLOW = Bilingual(
    "概率小到存不下，就成了 0，再取对数就是 −∞；加一个小数也只是换成另一个错的数。"
    "用 `log_softmax`。",
    "A probability too small for its number type becomes 0, and its logarithm −∞; adding a small"
    " number only makes it another wrong one. Take `log_softmax`.",
)

MASKED_LOSS = Exercise(
    name="masked-loss",
    task=Bilingual(
        "写 `loss(logits, targets, mask)`：真词的平均交叉熵，单位奈特；logits 的形状是"
        "（批量，位置，词表）。哪些是真词只由 mask 决定：真词的编号可以是任何数，0 也可"
        "以；对数几率可以相差几百。",
        "Write `loss(logits, targets, mask)`: the mean cross-entropy of the real "
        "tokens in nats; logits has the shape (batch, position, vocabulary). The mask "
        "alone says which tokens are real: they may have any id, 0 included; logits "
        "may lie hundreds apart.",
    ),
    solution=lambda logits, targets, mask: loss_per_token(logits, targets, mask),
    probes=_predictions,
    mistakes=(
        Mistake(
            "padding-counted",
            _with_padding,
            Bilingual(
                "填充也算成了要预测的词：模型很快学会写填充，损失好看，译文不好。",
                "Padding counts as words to be predicted: the model soon learns to write padding,"
                " and the loss looks better than the translations.",
            ),
        ),
        Mistake(
            "divided-by-all",
            _of_losses(lambda losses, mask: losses.mean()),
            Bilingual(
                "分子只算真词，分母却连填充一起数：一批里填充越多，损失越小。要除以真词的个数。",
                "Only real tokens above, but padding is counted below: the more padding, the"
                " smaller the loss. Divide by the number of real tokens.",
            ),
        ),
        Mistake(
            "divided-twice",
            _of_losses(lambda losses, mask: losses.sum() / mask.sum() ** 2),
            _DIVIDED_TWICE,
        ),
        Mistake(
            "divided-twice",
            _of_losses(lambda losses, mask: losses.mean(dim=1).sum() / mask.sum()),
            _DIVIDED_TWICE,
        ),
        Mistake(
            "sum",
            _of_losses(lambda losses, mask: losses.sum()),
            Bilingual(
                "求的是和：批量越大，损失和梯度越大。除以真词的个数。",
                "This is the sum: loss and gradient grow with the batch. Divide by the number of"
                " real tokens.",
            ),
        ),
        Mistake(
            "per-batch",
            _of_losses(lambda losses, mask: losses.sum() / len(losses)),
            Bilingual(
                "除以了句子的个数：长句子的损失就大。要除以真词的个数。",
                "Divided by the number of sentences: longer ones have a larger loss. Divide by the"
                " number of real tokens.",
            ),
        ),
        Mistake(
            "mean-of-means",
            _of_losses(lambda losses, mask: (losses.sum(dim=1) / mask.sum(dim=1)).mean()),
            Bilingual(
                "先对每句求平均再平均：短句里的词比长句里的词更重。所有真词一起平均。",
                "A mean of the sentences' means gives a word in a short sentence more weight than"
                " one in a long sentence. Average all real tokens at once.",
            ),
        ),
        Mistake(
            "softmax-twice",
            _of_probabilities,
            Bilingual(
                "`cross_entropy` 自己会做 softmax：交给它对数几率，不要交概率。",
                "`cross_entropy` takes the softmax itself: give it logits, not probabilities.",
            ),
        ),
        Mistake(
            "wrong-axis",
            _over_positions,
            Bilingual(
                "softmax 要沿词表的轴，不是沿位置。",
                "The softmax goes over the vocabulary, not over the positions.",
            ),
        ),
        Mistake(
            "bits",
            lambda logits, targets, mask: loss_per_token(logits, targets, mask) / math.log(2),
            Bilingual(
                "这是比特；奈特用自然对数。", "These are bits; nats take the natural logarithm."
            ),
        ),
        Mistake(
            "id-zero-as-padding",
            lambda logits, targets, mask: F.cross_entropy(logits.mT, targets, ignore_index=0),
            _ID_ZERO,
        ),
        Mistake(
            "id-zero-as-padding",
            lambda logits, targets, mask: F.cross_entropy(
                logits.mT, targets * mask, ignore_index=0
            ),
            _ID_ZERO,
        ),
        Mistake(
            "logits-hidden",
            lambda logits, targets, mask: _logits_hidden(logits, targets, mask).mean(),
            _LOGITS_HIDDEN,
        ),
        Mistake(
            "logits-hidden",
            lambda logits, targets, mask: _logits_hidden(logits, targets, mask).sum() / mask.sum(),
            _LOGITS_HIDDEN,
        ),
        Mistake(
            "mask-inverted",
            lambda logits, targets, mask: (_each(logits, targets) * ~mask).sum() / mask.sum(),
            Bilingual(
                "掩码反了：只算了填充的损失。",
                "The mask is inverted: only the losses of padding are counted.",
            ),
        ),
        Mistake(
            "sign",
            lambda logits, targets, mask: -loss_per_token(logits, targets, mask),
            Bilingual(
                "少了负号：损失不小于 0。", "The minus sign is missing: a loss is at least 0."
            ),
        ),
        Mistake(
            "underflow",
            lambda logits, targets, mask: _chosen(logits.softmax(dim=-1).log(), targets, mask),
            _UNDERFLOW,
        ),
        Mistake(
            "underflow",
            lambda logits, targets, mask: _chosen(
                (logits.softmax(dim=-1) + 1e-9).log(), targets, mask
            ),
            _UNDERFLOW,
        ),
        Mistake(
            "no-softmax",
            lambda logits, targets, mask: _chosen(logits, targets, mask),
            Bilingual(
                "对数几率还不是对数概率：先做 `log_softmax`。",
                "Logits are no log-probabilities yet: take `log_softmax` first.",
            ),
        ),
        Mistake(
            "perplexity",
            lambda logits, targets, mask: loss_per_token(logits, targets, mask).exp(),
            Bilingual(
                "这是困惑度；损失是它的对数。", "This is the perplexity; the loss is its logarithm."
            ),
        ),
        Mistake(
            "shifted-again",
            _shifted_again,
            Bilingual(
                "logits 与 targets 已经对齐：不要再错开一位。",
                "Logits and targets are aligned already: do not shift them again.",
            ),
        ),
    ),
)

EXERCISES = (MASKED_LOSS,)
