"""Writing by filling in: masked diffusion draws hidden words, some of them in each round."""

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor

from attention_book.foundations.checks import check_sizes
from attention_book.foundations.shapes import TokenIds, TokenMask
from attention_book.models.evaluating import evaluating

#: Which of the words drawn in a round are kept.
UnmaskingOrder = Literal["surest", "random", "left"]


def unmask(
    model: Callable[[Tensor, Tensor], Tensor],
    tokens: TokenIds,
    real: TokenMask,
    *,
    mask: int,
    rounds: int,
    order: UnmaskingOrder = "surest",
    never: tuple[int, ...] = (),
    generator: torch.Generator | None = None,
) -> TokenIds:
    """Fill in the hidden words of texts in so many rounds.

    In each round the model reads the texts as they stand, a word is drawn for every gap, and some
    of them are kept, as many gaps a round as come out even. Nie et al. (2025), "LLaDA", with words
    drawn where they take the likeliest.

    Args:
        model: Guesses every token from all that it reads, as a language model that is not causal;
            called with texts and with what of them is real.
        tokens: Texts with gaps, (batch, token); left as they are.
        real: False = padding.
        mask: The number that stands for a gap.
        rounds: As many as there are gaps: one word at a time. One: all at once.
        order: Kept are the words with the largest probability, some at random, or the first ones.
        never: Tokens that are not drawn; ``mask`` is none of those that are.
        generator: Source of the random draws, on the CPU; by default torch's global one.

    Raises:
        ValueError: if there is no round, or the order is unknown.

    >>> from attention_book.models import LanguageConfig, LanguageModel
    >>> reader = LanguageModel(LanguageConfig(vocabulary=10, causal=False))
    >>> tokens = torch.tensor([[2, 9, 5, 9, 3]])
    >>> found = unmask(reader, tokens, tokens > 0, mask=9, rounds=2)
    >>> (found == 9).sum().item(), found[0, 2].item()
    (0, 5)
    """
    check_sizes(rounds=rounds)
    if order not in get_args(UnmaskingOrder):
        raise ValueError(f"order: expected surest, random or left, got {order!r}")
    num_gaps = (tokens == mask).sum(dim=1, keepdim=True)
    with torch.no_grad(), evaluating(model):
        for done in range(1, rounds + 1):
            out = torch.tensor([mask, *never], device=tokens.device)
            chances = model(tokens, real).index_fill(-1, out, -torch.inf).softmax(dim=-1).cpu()
            drawn = chances.flatten(0, 1).multinomial(1, generator=generator).view(tokens.shape)
            rank = _urgency(chances.gather(-1, drawn[..., None])[..., 0], order, generator)
            drawn, gaps = drawn.to(tokens.device), tokens == mask
            rank = rank.to(tokens.device).masked_fill(~gaps, -torch.inf)
            first = rank.argsort(dim=1, descending=True)
            left = (num_gaps * (rounds - done)).div(rounds, rounding_mode="floor")
            kept = first.argsort(dim=1) < gaps.sum(dim=1, keepdim=True) - left
            tokens = torch.where(kept, drawn, tokens)
    return tokens


def _urgency(chances: Tensor, order: UnmaskingOrder, generator: torch.Generator | None) -> Tensor:
    """Return a number for each word drawn, larger for those that are kept first."""
    if order == "surest":
        return chances
    if order == "random":
        return torch.rand(chances.shape, generator=generator)
    return -torch.arange(chances.shape[1]).expand(chances.shape).float()


__all__ = ["unmask"]
