"""Masking for masked language models: hidden words, and the targets at their places."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attention_book.foundations.shapes import TokenIds, TokenMask
from attention_book.text.batches import encode_source
from attention_book.text.vocabulary import SPECIALS, Vocabulary

#: The token that stands for a hidden word; a vocabulary must be built with it.
MASK = "<mask>"


@dataclass(frozen=True, eq=False)
class MaskedTokens:
    """A text with some words hidden, and which they are.

    Attributes:
        tokens: What the model reads, (batch, token).
        chosen: True where it is asked what stood there, (batch, token).

    >>> hidden = MaskedTokens(torch.tensor([[2, 9, 3]]), torch.tensor([[False, True, False]]))
    >>> hidden.chosen.sum()
    tensor(1)
    """

    tokens: TokenIds
    chosen: TokenMask


def encode_text(
    sentences: Sequence[Sequence[str]], vocabulary: Vocabulary
) -> tuple[TokenIds, TokenMask]:
    """Return sentences as numbers between ``<bos>`` and ``<eos>``, and which are real.

    Raises:
        ValueError: if there is no sentence, or one is empty.
        TypeError: if a sentence is a string rather than its tokens.

    >>> vocabulary = Vocabulary.build([("go", "on", ".")])
    >>> encode_text([("go", "."), ("go", "on", ".")], vocabulary)[0]
    tensor([[2, 5, 4, 3, 0],
            [2, 5, 6, 4, 3]])
    """
    ids, real = encode_source(sentences, vocabulary)
    first = torch.full_like(ids[:, :1], vocabulary.special_ids.bos)
    return torch.cat((first, ids), dim=1), torch.cat((torch.ones_like(real[:, :1]), real), dim=1)


def mask_tokens(
    tokens: TokenIds,
    vocabulary: Vocabulary,
    *,
    share: float = 0.15,
    masked: float = 0.8,
    random: float = 0.1,
    generator: torch.Generator | None = None,
) -> MaskedTokens:
    """Choose words at random, and hide most of them.

    Of the chosen words ``masked`` become ``<mask>``, ``random`` become another word drawn
    from the vocabulary, and the others stay: so that a word that the model reads is no
    promise, and it has to think about every one. Devlin et al. (2019), section 3.1.
    Special tokens are never chosen, and never drawn.

    Args:
        tokens: Texts as numbers; left as they are.
        vocabulary: Numbers the words, ``<mask>`` among them.
        share: Probability that a word is chosen.
        masked: Probability that a chosen word becomes ``<mask>``.
        random: Probability that it becomes a word drawn at random.
        generator: Of the drawing, on the CPU; by default torch's global one.

    Raises:
        ValueError: if a probability is out of range, ``masked`` and ``random`` exceed 1
            together, or the vocabulary has no ``<mask>``.

    >>> words = Vocabulary.build([("we", "go", "on", "."), (MASK,)])
    >>> text = torch.tensor([[2, *words.encode(("we", "go", "on", ".")), 3]])
    >>> hidden = mask_tokens(text, words, share=1.0, masked=1.0, random=0.0)
    >>> words.decode(hidden.tokens[0].tolist())
    ['<bos>', '<mask>', '<mask>', '<mask>', '<mask>', '<eos>']
    """
    _check(share=share, masked=masked, random=random, together=masked + random)
    mask, others = _numbers(vocabulary)
    chosen = _draw(tokens, generator) < share
    unchosen = torch.tensor([mask, *vocabulary.encode(SPECIALS)], device=tokens.device)
    chosen &= ~torch.isin(tokens, unchosen)
    what = _draw(tokens, generator)
    which = torch.randint(len(others), tokens.shape, generator=generator)
    drawn = others[which].to(tokens.device)
    hidden = tokens.masked_fill(chosen & (what < masked), mask)
    hidden = torch.where(chosen & (what >= masked) & (what < masked + random), drawn, hidden)
    return MaskedTokens(hidden, chosen)


def _draw(tokens: TokenIds, generator: torch.Generator | None) -> Tensor:
    """Draw on the CPU, so that a seed gives the same draws on every device."""
    return torch.rand(tokens.shape, generator=generator).to(tokens.device)


def _numbers(vocabulary: Vocabulary) -> tuple[int, Tensor]:
    """Return the number of <mask>, and those of all words."""
    if MASK not in vocabulary:
        raise ValueError(f"vocabulary: expected one with {MASK}, got {vocabulary!r} without")
    (mask,) = vocabulary.encode((MASK,))
    words = torch.tensor(vocabulary.words())
    return mask, words[words != mask]


def _check(**probabilities: float) -> None:
    for name, value in probabilities.items():
        if not 0 <= value <= 1:
            name = "masked + random" if name == "together" else name
            raise ValueError(f"{name}: expected a probability between 0 and 1, got {value}")
