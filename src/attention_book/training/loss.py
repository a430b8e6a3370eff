"""Cross-entropy per token, for translation and language models, and perplexity."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from attention_book.foundations.checks import check_probability, check_some_real
from attention_book.foundations.shapes import Logits, TargetIds, TargetMask, TokenIds, TokenMask
from attention_book.models import MaskedLanguageModel
from attention_book.models.evaluating import evaluating
from attention_book.text import MaskedTokens

# A target that cross_entropy skips; it is the number of no token.
_IGNORED = -100


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
            whole vocabulary (Szegedy et al. 2016, section 7).

    Raises:
        ValueError: if the shapes don't fit or ``label_smoothing`` is no probability; and in
            strict mode, if no token is real.

    >>> logits = torch.tensor([[[0.0, 0.0], [9.0, -9.0]]])
    >>> targets, mask = torch.tensor([[1, 1]]), torch.tensor([[True, False]])
    >>> loss_per_token(logits, targets, mask)  # a coin's toss: log 2
    tensor(0.6931)
    """
    _check(logits, targets, mask)
    check_probability("label_smoothing", label_smoothing)
    check_some_real("mask", mask)
    real = targets.masked_fill(~mask, _IGNORED)
    loss = F.cross_entropy(
        logits.flatten(0, 1),
        real.flatten(),
        ignore_index=_IGNORED,
        label_smoothing=label_smoothing,
    )
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

    Raises:
        ValueError: if the shapes don't fit.

    >>> logits = torch.tensor([[[0.0, 0.0], [9.0, -9.0]]])
    >>> targets, mask = torch.tensor([[1, 1]]), torch.tensor([[True, False]])
    >>> token_losses(logits, targets, mask)
    tensor([[0.6931, 0.0000]])
    """
    _check(logits, targets, mask)
    real = targets.masked_fill(~mask, _IGNORED)
    losses = F.cross_entropy(
        logits.flatten(0, 1), real.flatten(), ignore_index=_IGNORED, reduction="none"
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


#: What guesses every next token: a causal language model, or counted n-grams.
Guess = Callable[[TokenIds], Logits]


def next_token_loss(model: Guess, tokens: TokenIds, real: TokenMask) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of every token but the first, in nats.

    .. math:: L = -\\frac{1}{T} \\sum_t \\log p(y_t \\mid y_{<t})

    Args:
        model: Guesses each next token.
        tokens: Texts that begin with ``<bos>``, (batch, token).
        real: False = padding.

    >>> import torch
    >>> from attention_book.models import CausalLanguageModel, LanguageModelConfig
    >>> model = CausalLanguageModel(LanguageModelConfig(vocabulary=10))
    >>> tokens = torch.tensor([[2, 7, 3]])
    >>> next_token_loss(model, tokens, tokens > 0).item() > 0
    True
    """
    return loss_per_token(model(tokens[:, :-1]), tokens[:, 1:], real[:, 1:])


def hidden_token_loss(
    model: MaskedLanguageModel, hidden: MaskedTokens, tokens: TokenIds, real: TokenMask
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the tokens that were chosen, and of no other, in nats.

    .. math:: L = -\\frac{1}{|C|} \\sum_{t \\in C} \\log p(y_t \\mid \\tilde y)

    Args:
        model: Guesses every token from all that it reads.
        hidden: What it reads, and what was chosen.
        tokens: What really stands there, (batch, token).
        real: False = padding.

    Where nothing was chosen, the loss is 0.

    Raises:
        ValueError: in strict mode, if nothing was chosen.

    >>> import torch
    >>> from attention_book.models import LanguageModelConfig
    >>> model = MaskedLanguageModel(LanguageModelConfig(vocabulary=10))
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
