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

MASKED_LOSS = Exercise(
    name="masked-loss",
    task=Bilingual(
        "写 `loss(logits, targets, mask)`：真词的平均交叉熵，"
        "单位奈特；logits 的形状是（批量，位置，词表）。",
        "Write `loss(logits, targets, mask)`: the mean cross-entropy of the real tokens in nats;"
        " logits has the shape (batch, position, vocabulary).",
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
    ),
)

EXERCISES = (MASKED_LOSS,)
