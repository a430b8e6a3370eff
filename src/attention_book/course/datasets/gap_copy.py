"""Random words that come again behind a gap of filler words: copying over any distance."""

import torch
from torch import Tensor

from attention_book.course.datasets.repeated import RepeatedBatch
from attention_book.foundations.checks import check_sizes

#: How many words can come again, and how many fill the gaps; their numbers follow.
NUM_CONTENT, NUM_FILLERS = 32, 16


def copy_with_gaps(
    batch: int, length: int = 64, *, generator: torch.Generator | None = None
) -> RepeatedBatch:
    """Draw texts: 8 to 16 different words, 0 to 24 fillers, the same words again, and so on.

    Each text has one list of words, in one order, and gaps of one size, filled anew each time.
    A word can be known from the second time on, but for the first of the list, whose place
    the gap hides.

    Args:
        batch: How many texts.
        length: Words in each.
        generator: The source of randomness; by default torch's global one.

    Raises:
        ValueError: if a size is below 1.

    >>> texts = copy_with_gaps(2, 64, generator=torch.Generator().manual_seed(0))
    >>> texts.words.shape, texts.words.max() < 48
    (torch.Size([2, 64]), tensor(True))
    """
    check_sizes(batch=batch, length=length)
    size = torch.randint(8, 17, (batch, 1), generator=generator)
    gap = torch.randint(25, (batch, 1), generator=generator)
    content = torch.rand(batch, NUM_CONTENT, generator=generator).argsort(dim=1)
    place = torch.arange(length)
    phase = place % (size + gap)
    shown = phase < size
    words = torch.where(
        shown,
        content.gather(1, phase.clamp(max=NUM_CONTENT - 1)),
        _fillers((batch, length), generator),
    )
    return RepeatedBatch(words, shown & (phase > 0) & (place >= size + gap))


def copy_once(
    batch: int, length: int, *, num_words: int = 12, generator: torch.Generator | None = None
) -> RepeatedBatch:
    """Draw texts that begin and end with the same words, and have fillers between.

    Args:
        batch: How many texts.
        length: Words in each.
        num_words: How many words come twice.
        generator: The source of randomness; by default torch's global one.

    Raises:
        ValueError: if a size is below 1, or the words do not fit twice.

    >>> words = copy_once(1, 6, num_words=2).words
    >>> torch.equal(words[:, :2], words[:, -2:])
    True
    """
    check_sizes(batch=batch, length=length, num_words=num_words)
    if length < 2 * num_words or num_words > NUM_CONTENT:
        raise ValueError(
            f"num_words: expected at most {min(length // 2, NUM_CONTENT)}, which fit twice into "
            f"length={length}, got {num_words}"
        )
    words = _fillers((batch, length), generator)
    content = torch.rand(batch, NUM_CONTENT, generator=generator).argsort(dim=1)[:, :num_words]
    words[:, :num_words] = words[:, -num_words:] = content
    known = (torch.arange(length) > length - num_words).expand(batch, -1)
    return RepeatedBatch(words, known)


def _fillers(shape: tuple[int, int], generator: torch.Generator | None) -> Tensor:
    return torch.randint(NUM_CONTENT, NUM_CONTENT + NUM_FILLERS, shape, generator=generator)
