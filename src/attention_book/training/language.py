"""The two objectives of language models: the next word, or the hidden ones."""

import math
from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor

from attention_book.models import MaskedLanguageModel
from attention_book.models.evaluating import evaluating
from attention_book.shapes import Logits, TokenIds, TokenMask
from attention_book.text import MaskedTokens
from attention_book.training.loss import loss_per_token

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

    Raises:
        ValueError: if nothing was chosen.

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
