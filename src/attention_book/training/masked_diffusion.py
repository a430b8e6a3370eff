"""Masked diffusion: training a model to fill in any share of hidden words, and so in any order."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from attention_book.foundations.shapes import TokenIds, TokenMask
from attention_book.models import LanguageModel
from attention_book.text import MaskedTokens


def hide_words(
    tokens: TokenIds,
    words: TokenMask,
    rates: Float[Tensor, " batch"],
    *,
    mask: int,
    generator: torch.Generator | None = None,
) -> MaskedTokens:
    """Hide each word of a text with the probability that the text was given.

    Args:
        tokens: Texts as numbers; left as they are.
        words: True where something may be hidden.
        rates: One probability for each text.
        mask: Number of the token that stands for a hidden one.
        generator: Source of the random draws, on the CPU; by default torch's global one.

    >>> tokens = torch.tensor([[2, 7, 8, 3], [2, 9, 3, 0]])
    >>> hide_words(tokens, tokens > 3, torch.tensor([1.0, 0.0]), mask=4).tokens
    tensor([[2, 4, 4, 3],
            [2, 9, 3, 0]])
    """
    drawn = torch.rand(tokens.shape, generator=generator, device="cpu").to(tokens.device)
    chosen = words & (drawn < rates[:, None])
    return MaskedTokens(tokens.masked_fill(chosen, mask), chosen)


def diffusion_loss(
    model: LanguageModel,
    hidden: MaskedTokens,
    tokens: TokenIds,
    real: TokenMask,
    *,
    words: TokenMask,
    rates: Float[Tensor, " batch"],
) -> Float[Tensor, ""]:
    """Return the surprise at the hidden words, each weighed by one over its text's rate, in nats.

    .. math::

        L = \\frac{1}{N} \\sum_b \\frac{1}{t_b} \\sum_{i \\in H_b} -\\log p(y_i \\mid \\tilde y_b)

    :math:`H_b` are the hidden words of text b, N is the number of all words. Nie et al. (2025),
    equation 3. With rates drawn from 0 to 1 its mean is that of the surprise at a text which is
    read word by word, over all orders (Uria et al. 2014; Ou et al. 2025).

    Args:
        model: Guesses every token from all that it reads.
        hidden: What it reads, and what was hidden.
        tokens: What really stands there.
        real: False = padding.
        words: True where something could have been hidden.
        rates: The probability with which it was, for each text.

    >>> from attention_book.models import LanguageConfig
    >>> model = LanguageModel(LanguageConfig(vocabulary=10, causal=False))
    >>> tokens, rates = torch.tensor([[2, 7, 8, 3]]), torch.tensor([1.0])
    >>> hidden = hide_words(tokens, tokens > 4, rates, mask=4)
    >>> diffusion_loss(
    ...     model, hidden, tokens, tokens > 0, words=tokens > 4, rates=rates
    ... ).item() > 0
    True
    """
    surprise = F.cross_entropy(model(hidden.tokens, real).mT, tokens, reduction="none")
    return (surprise * hidden.chosen / rates[:, None]).sum() / words.sum()


__all__ = ["diffusion_loss", "hide_words"]
