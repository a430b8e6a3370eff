"""Cross-entropy per token, for translation and language models, and perplexity."""

import math
import operator
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from attention_book.foundations.checks import (
    check_probability,
    check_some_real,
    is_strict,
    reject_where,
)
from attention_book.foundations.shapes import Logits, TargetIds, TargetMask, TokenIds, TokenMask
from attention_book.models import LanguageModel
from attention_book.models.evaluating import evaluating, moved
from attention_book.models.protocols import Memory, State, Translator
from attention_book.models.sources import check_real, reading_places
from attention_book.text import Batch, MaskedTokens, PackedBatch, ParallelData

# A target that cross_entropy skips; it is the number of no token.
_IGNORED = -100
#: What a logit is filled with to say "impossible" is as low, whatever the type that it was in.
_FILLED = torch.finfo(torch.float16).min


def loss_per_token(
    logits: Logits, targets: TargetIds, mask: TargetMask, *, label_smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the *real* tokens, in nats.

    .. math::

        L = -\\frac{1}{\\sum_{it} m_{it}} \\sum_{it} m_{it} \\log p(y_{it} \\mid y_{i,<t}, x_i)

    The sum is divided by the number of real tokens, once: how much padding a batch
    has, and what the model says there, makes no difference. Its exponential is the
    perplexity. Where no token is real, the loss and its gradient are 0, so that nothing is
    learned from nothing; in strict mode (:func:`~attention_book.foundations.strict`) it is
    an error.

    Args:
        logits: One prediction for every place, (batch, target, vocabulary).
        targets: What was to be predicted, (batch, target); anything at padding.
        mask: True = a real token, (batch, target).
        label_smoothing: How much of each target's probability is spread over the
            whole vocabulary (Szegedy et al. 2016, section 7), except for what the model can't
            say: a logit of ``-inf``, or as low as the lowest number of half precision (-65504),
            with which code fills, takes no part. Where the target itself is ``-inf``, the loss
            is infinite.

    Logits in half precision are taken to single first, and so is the loss.

    >>> logits = torch.tensor([[[0.0, 0.0], [9.0, -9.0]]])
    >>> targets, mask = torch.tensor([[1, 1]]), torch.tensor([[True, False]])
    >>> loss_per_token(logits, targets, mask)  # a coin's toss: log 2
    tensor(0.6931)
    """
    _check(logits, targets, mask)
    check_probability("label_smoothing", label_smoothing)
    check_some_real("mask", mask)
    real = targets.long().masked_fill(~mask, _IGNORED)
    lowest = logits <= _FILLED if label_smoothing else None
    precise = _precise(logits, mask).flatten(0, 1)
    loss = _mean(precise, real.flatten(), label_smoothing, lowest)
    return loss.masked_fill(~mask.any(), 0.0)  # not 0 / 0 where no token is real


def token_losses(
    logits: Logits, targets: TargetIds, mask: TargetMask
) -> Float[Tensor, "batch target"]:
    """Return each token's own cross-entropy in nats; 0 at padding.

    .. math:: \\ell_{it} = -m_{it} \\log p(y_{it} \\mid y_{i,<t}, x_i)

    Args:
        logits: One prediction for every place, (batch, target, vocabulary).
        targets: What was to be predicted, (batch, target); anything at padding.
        mask: True = a real token, (batch, target).

    >>> logits = torch.tensor([[[0.0, 0.0], [9.0, -9.0]]])
    >>> targets, mask = torch.tensor([[1, 1]]), torch.tensor([[True, False]])
    >>> token_losses(logits, targets, mask)
    tensor([[0.6931, 0.0000]])
    """
    _check(logits, targets, mask)
    real = targets.long().masked_fill(~mask, _IGNORED)
    losses = F.cross_entropy(
        _precise(logits, mask).flatten(0, 1),
        real.flatten(),
        ignore_index=_IGNORED,
        reduction="none",
    )
    return losses.view(targets.shape)


def _check(logits: Tensor, targets: Tensor, mask: Tensor) -> None:
    if logits.ndim != 3 or not logits.shape[:2] == targets.shape == mask.shape:
        raise ValueError(
            "logits, targets and mask: expected the shapes (batch, target, vocabulary), "
            f"(batch, target) and (batch, target), got {tuple(logits.shape)}, "
            f"{tuple(targets.shape)} and {tuple(mask.shape)}"
        )
    if mask.dtype != torch.bool:
        raise TypeError(f"mask: expected a boolean tensor (True = a real token), got {mask.dtype}")
    if targets.is_floating_point() or targets.dtype == torch.bool:
        raise TypeError(
            f"targets: expected the numbers of tokens, whole numbers, got {targets.dtype}"
        )
    if is_strict() and not mask.is_meta:
        size = logits.shape[-1]
        reject_where(
            mask & ((targets < 0) | (targets >= size)),
            targets,
            "targets",
            f"numbers from 0 to {size - 1} where the mask is True",
        )


def _precise(logits: Tensor, mask: Tensor) -> Tensor:
    """Return at least single precision: half has three digits, too few for a sum or a mean.

    At padding anything may stand: a gradient of 0 times NaN there would be NaN.
    """
    precise = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return precise.masked_fill(~mask[..., None], 0.0)


def _mean(logits: Tensor, targets: Tensor, label_smoothing: float, lowest: Tensor | None) -> Tensor:
    """Return torch's mean cross-entropy, which spreads nothing to words that cannot be said."""
    if lowest is None:
        return F.cross_entropy(logits, targets, ignore_index=_IGNORED)
    log_probs = logits.log_softmax(dim=-1)
    said = F.nll_loss(log_probs, targets, ignore_index=_IGNORED)
    never = (log_probs == -math.inf) | lowest.flatten(0, 1)
    ignored = targets == _IGNORED
    spread = -log_probs.masked_fill(never, 0.0).sum(dim=-1)
    size = logits.shape[-1]
    spread = spread * (size / (size - never.sum(dim=-1)).clamp(min=1))  # 1 where all can be said
    mean = spread.masked_fill(ignored, 0.0).sum() / (~ignored).sum()
    return (1 - label_smoothing) * said + mean * (label_smoothing / size)


#: What guesses every next token: a causal language model, or counted n-grams.
Guess = Callable[[TokenIds], Logits]


def next_token_loss(model: Guess, tokens: TokenIds, real: TokenMask) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of every token but the first, in nats.

    .. math:: L = -\\frac{1}{T} \\sum_t \\log p(y_t \\mid y_{<t})

    Args:
        model: Guesses each next token.
        tokens: Texts that begin with ``<bos>``, (batch, token).
        real: False = padding, wherever it stands: the model reads each text from its beginning.

    >>> import torch
    >>> from attention_book.models import LanguageConfig, LanguageModel
    >>> model = LanguageModel(LanguageConfig(vocabulary=10))
    >>> tokens = torch.tensor([[2, 7, 3]])
    >>> next_token_loss(model, tokens, tokens > 0).item() > 0
    True
    """
    check_real(tokens, real)
    places = reading_places(real)  # not all that guesses is told of padding, so it comes last
    tokens, real = tokens.scatter(1, places, tokens), real.scatter(1, places, real)
    return loss_per_token(model(tokens[:, :-1]), tokens[:, 1:], real[:, 1:])


def packed_loss(
    model: LanguageModel, batch: PackedBatch, *, label_smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of every next token of packed texts, in nats.

    .. math:: L = -\\frac{1}{T} \\sum_{dt} \\log p(y_{d,t} \\mid y_{d,<t})

    Each text :math:`d` is read by itself, whatever stands beside it in its row.

    Args:
        model: A causal language model; the batch is moved to where it lies.
        batch: Rows in which several texts stand.
        label_smoothing: As in :func:`loss_per_token`.

    >>> import torch
    >>> from attention_book.models import LanguageConfig
    >>> model = LanguageModel(LanguageConfig.today(vocabulary=10))
    >>> row = torch.tensor([[2, 7, 2, 8]])
    >>> documents = torch.tensor([[1, 1, 2, 2]])
    >>> batch = PackedBatch(row, torch.tensor([[7, 3, 8, 3]]), documents, documents > 0)
    >>> packed_loss(model, batch).item() > 0
    True
    """
    batch = moved(batch, model)
    logits = model(batch.tokens, documents=batch.documents)
    return loss_per_token(logits, batch.targets, batch.mask, label_smoothing=label_smoothing)


def hidden_token_loss(
    model: LanguageModel, hidden: MaskedTokens, tokens: TokenIds, real: TokenMask
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the tokens that were chosen, and of no other, in nats.

    .. math:: L = -\\frac{1}{|C|} \\sum_{t \\in C} \\log p(y_t \\mid \\tilde y)

    Args:
        model: Guesses every token from all that it reads.
        hidden: What it reads, and what was chosen.
        tokens: What really stands there, (batch, token).
        real: False = padding.

    Where nothing was chosen, the loss is 0.

    >>> import torch
    >>> from attention_book.models import LanguageConfig, LanguageModel
    >>> model = LanguageModel(LanguageConfig(vocabulary=10, causal=False))
    >>> tokens = torch.tensor([[2, 7, 3]])
    >>> hidden = MaskedTokens(torch.tensor([[2, 9, 3]]), tokens == 7)
    >>> hidden_token_loss(model, hidden, tokens, tokens > 0).item() > 0
    True
    """
    return loss_per_token(model(hidden.tokens, real), tokens, hidden.chosen)


def perplexity(model: Guess, tokens: TokenIds, real: TokenMask) -> float:
    """Return among how many equally likely tokens the model seems to choose.

    .. math::

        \\operatorname{PPL} = \\exp\\Bigl(-\\frac{1}{T} \\sum_t \\log p(y_t \\mid y_{<t})\\Bigr)

    One mean over all tokens, and then the exponential. The model is in evaluation mode
    meanwhile and without gradients, and as before afterwards.

    Args:
        model: Guesses each next token.
        tokens: Texts that begin with ``<bos>``, (batch, token).
        real: False = padding.

    >>> import torch
    >>> uniform = lambda tokens: torch.zeros(*tokens.shape, 8)
    >>> tokens = torch.tensor([[2, 4, 5, 3]])
    >>> round(perplexity(uniform, tokens, tokens > 0), 4)
    8.0
    """
    with evaluating(model):
        return math.exp(next_token_loss(model, tokens, real).item())


def batch_loss(
    model: Translator[Memory, State], batch: Batch, *, label_smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Return the loss per real token of one batch, with teacher forcing.

    The decoder reads the true words, whatever it would have said itself, and is
    asked for the next one at every place.

    Args:
        model: A translator; the batch is moved to where it lies.
        batch: Some sentence pairs.
        label_smoothing: As in :func:`loss_per_token`.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> from attention_book.text import SentencePair, Vocabulary
    >>> words = Vocabulary.build([("go", ".", "va", "!")])
    >>> data = ParallelData([SentencePair(("go", "."), ("va", "!"))], words, words)
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=8, target_vocabulary=8))
    >>> batch_loss(model, next(data.batches(1))).shape
    torch.Size([])
    """
    batch = moved(batch, model)
    memory = model.encode(batch.source, batch.source_mask)
    logits = model.decode(batch.target_input, memory)
    return loss_per_token(
        logits, batch.target_output, batch.target_mask, label_smoothing=label_smoothing
    )


def evaluate_loss(
    model: Translator[Memory, State], data: ParallelData, *, batch_size: int = 128
) -> float:
    """Return the loss per real target token, without dropout, in nats.

    The model is in evaluation mode during the call, without gradients, and as before
    afterwards. Torch's global random numbers are left alone.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> from attention_book.text import SentencePair, Vocabulary
    >>> words = Vocabulary.build([("go", ".", "va", "!")])
    >>> data = ParallelData([SentencePair(("go", "."), ("va", "!"))], words, words)
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=8, target_vocabulary=8))
    >>> evaluate_loss(model, data) > 0
    True
    """
    losses, counts = [], []
    with evaluating(model):
        # "Shuffled", by a fixed seed, so that sentences of similar length go together.
        for batch in data.batches(batch_size, seed=0):
            losses.append(batch_loss(model, batch))
            counts.append(batch.num_tokens)
    # Read together: a look at each would wait for the device after every batch.
    means = torch.stack(losses).tolist()
    return float(sum(map(operator.mul, means, counts))) / data.num_tokens
