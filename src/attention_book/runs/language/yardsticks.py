"""What a language model must beat, and what it must not do: n-grams, xz, and copying."""

import lzma
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from attention_book.foundations.checks import check_probability, check_sizes
from attention_book.text import BOS, EOS

History = tuple[int, ...]


class KneserNey:
    """Interpolated Kneser–Ney: count what followed the last few tokens, and in how many ways.

    .. math::

        p(w \\mid h) = \\frac{\\max(c(h, w) - d, 0) + d\\, N(h)\\, p(w \\mid h')}{c(h)}

    :math:`c` counts for the longest histories; for a shorter one :math:`c(h, w)` is the number of
    different tokens before which :math:`h` stood in front of :math:`w`. :math:`N(h)` is the number
    of different tokens after :math:`h`, and :math:`h'` is :math:`h` without its oldest token;
    below the empty history stands the uniform distribution. Kneser and Ney (1995), interpolated as
    in Chen and Goodman (1999).

    Args:
        documents: Numbers of tokens, without ``<bos>`` and ``<eos>``.
        vocabulary: Number of different tokens.
        order: The length of an n-gram.
        discount: d, from 0 to 1.

    >>> model = KneserNey([[4, 5], [4, 6], [4, 5]], vocabulary=7, order=2)
    >>> round(sum(model.probability(token, (4,)) for token in range(7)), 6)
    1.0
    """

    def __init__(
        self,
        documents: Iterable[Sequence[int]],
        *,
        vocabulary: int,
        order: int,
        discount: float = 0.75,
    ) -> None:
        check_sizes(vocabulary=vocabulary, order=order)
        check_probability("discount", discount)
        self.vocabulary, self.order, self.discount = vocabulary, order, discount
        tables: list[defaultdict[History, defaultdict[int, int]]] = [
            defaultdict(lambda: defaultdict(int)) for _ in range(order)
        ]
        for document in documents:
            text = self._framed(document)
            for place in range(order - 1, len(text)):
                tables[-1][tuple(text[place - order + 1 : place])][text[place]] += 1
        for length in range(order - 1, 0, -1):
            for history, after in tables[length].items():
                shorter = tables[length - 1][history[1:]]
                for token in after:
                    shorter[token] += 1
        self._tables = [
            {history: (sum(after.values()), after) for history, after in table.items()}
            for table in tables
        ]

    def _framed(self, document: Sequence[int]) -> list[int]:
        return [BOS] * max(1, self.order - 1) + [*document, EOS]

    def probability(self, token: int, history: History) -> float:
        """Return how probable a token is after a history; its oldest tokens may not count."""
        found = 1 / self.vocabulary
        for length, table in enumerate(self._tables):
            known = table.get(history[len(history) - length :] if length else ())
            if known is None:
                break
            total, after = known
            kept = max(after.get(token, 0) - self.discount, 0)
            found = (kept + self.discount * len(after) * found) / total
        return found

    def nats(self, documents: Iterable[Sequence[int]]) -> float:
        """Return the mean loss of each token, ``<eos>`` included."""
        total, count = 0.0, 0
        for document in documents:
            text = self._framed(document)
            begin = len(text) - len(document) - 1
            for place in range(begin, len(text)):
                history = tuple(text[max(0, place - self.order + 1) : place])
                total -= math.log(self.probability(text[place], history))
                count += 1
        if not count:
            raise ValueError("documents: expected at least one, got none")
        return total / count


def xz_bits_a_byte(train: str, held_out: str) -> float:
    """Return how many bits xz adds for each byte of a text that comes after another.

    >>> xz_bits_a_byte("the cat sat on the mat. " * 50, "the cat sat on the mat. ") < 1
    True
    """
    before, after = train.encode(), held_out.encode()
    if not after:
        raise ValueError("held_out: expected a text, got none")
    return 8 * (_packed(before + after) - _packed(before)) / len(after)


def _packed(content: bytes) -> int:
    return len(lzma.compress(content, preset=9))


@dataclass(frozen=True, kw_only=True)
class Copying:
    """How much of some texts stands in the training text word by word.

    Attributes:
        num_texts: How many texts were looked at.
        whole: How many of them stand there whole, as a document.
        longest: The longest run of tokens that stands there: the median over the texts.
        longest_of_all: The longest of all.

    >>> Copying(num_texts=200, whole=3, longest=5.0, longest_of_all=9).share
    0.015
    """

    num_texts: int
    whole: int
    longest: float
    longest_of_all: int

    @property
    def share(self) -> float:
        """Which share of the texts stands there whole."""
        return self.whole / self.num_texts


def copying(texts: Sequence[Sequence[int]], train: Iterable[Sequence[int]]) -> Copying:
    """Measure how much of some texts stands in the training documents.

    >>> copying([[1, 2, 3], [9, 2, 3]], [[1, 2, 3], [2, 3, 4]])
    Copying(num_texts=2, whole=1, longest=2.5, longest_of_all=3)
    """
    if not texts:
        raise ValueError("texts: expected at least one, got none")
    # As letters, for Python looks for a string in another in a moment; an end parts two documents.
    end = chr(EOS)
    everything = end + end.join(map(_letters, train)) + end
    spelled = list(map(_letters, texts))
    best = [_longest_run(text, everything) for text in spelled]
    return Copying(
        num_texts=len(texts),
        whole=sum(f"{end}{text}{end}" in everything for text in spelled),
        longest=float(median(best)),
        longest_of_all=max(best),
    )


def _letters(numbers: Iterable[int]) -> str:
    """Return a letter for each number, none of them half a character."""
    return "".join(chr(each if each < 0xD800 else each + 0x800) for each in numbers)


def _longest_run(text: str, everything: str) -> int:
    best = 0
    for end in range(1, len(text) + 1):
        while end - best > 0 and text[end - best - 1 : end] in everything:
            best += 1
    return best
