"""The n-gram model, a baseline for language models: count what followed the last few words."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.foundations.checks import check_sizes
from attention_book.foundations.shapes import Logits, StepIds, StepLogits, TokenIds
from attention_book.models.protocols import check_one_each
from attention_book.text import BOS, EOS, PAD

History = tuple[int, ...]
Probabilities = Float[Tensor, " vocabulary"]


@dataclass(frozen=True)
class NgramState:
    """The last words of each text: all that an n-gram model remembers.

    >>> state = NgramState(((2, 4), (2, 5)))
    >>> state.select(torch.tensor([1, 1, 0])).histories
    ((2, 5), (2, 5), (2, 4))
    """

    histories: tuple[History, ...]

    @property
    def batch_size(self) -> int:
        """How many texts are being written."""
        return len(self.histories)

    def select(self, rows: StepIds) -> "NgramState":
        """Return the texts with these numbers."""
        return NgramState(tuple(self.histories[row] for row in rows.tolist()))


@dataclass(frozen=True, eq=False)
class NgramModel:
    """Predict the next word from how often it followed the last :math:`n-1` words.

    .. math::

        p(w \\mid h) = \\frac{c(h, w) + d(h)\\, p(w \\mid h')}{c(h) + d(h)}

    where :math:`c` counts, :math:`d(h)` is the number of *different* words seen after
    :math:`h`, and :math:`h'` is :math:`h` without its oldest word; below the empty history
    stands the uniform distribution. The more different words have followed, the likelier is
    one that has not yet: Witten-Bell smoothing (Witten and Bell 1991, method C). Every word
    of the vocabulary keeps a probability above 0, and they sum to 1.

    Attributes:
        order: :math:`n`: 1 looks at no word, 2 (a bigram model) at the last one.
        vocabulary: Number of different tokens.
        counts: How often each token followed each history of 0 to n - 1 tokens.
        bos: Number of the token that begins a sentence.
        eos: Number of the token that ends one.
        pad: Number of the token that fills a batch up.

    >>> model = NgramModel.count([[4, 5], [4, 6], [4, 5]], order=2, vocabulary=7)
    >>> model(torch.tensor([[2, 4]])).softmax(dim=-1)[0, 1, 4:]
    tensor([0.1099, 0.4791, 0.2484])
    """

    order: int
    vocabulary: int
    counts: dict[History, Counter[int]]
    bos: int = BOS
    eos: int = EOS
    pad: int = PAD
    _seen: dict[History, Probabilities] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def count(
        cls,
        sentences: Iterable[Sequence[int]],
        *,
        order: int,
        vocabulary: int,
        bos: int = BOS,
        eos: int = EOS,
        pad: int = PAD,
    ) -> "NgramModel":
        """Count in sentences of token numbers; ``<bos>`` and ``<eos>`` are added here.

        Raises:
            ValueError: if ``order`` or ``vocabulary`` is below 1, there is no sentence, or a
                number is not one of the vocabulary's.
        """
        check_sizes(order=order, vocabulary=vocabulary)
        counts: dict[History, Counter[int]] = {}
        for sentence in sentences:
            tokens = [bos, *sentence, eos]
            _check_tokens(tokens, vocabulary)
            for place in range(1, len(tokens)):
                for length in range(min(order, place + 1)):
                    history = tuple(tokens[place - length : place])
                    counts.setdefault(history, Counter())[tokens[place]] += 1
        if not counts:
            raise ValueError("sentences: expected at least one, got none")
        return cls(order, vocabulary, counts, bos, eos, pad)

    def probabilities(self, history: History) -> Probabilities:
        """Return how probable each token is after a history; its oldest words may not count."""
        return self._known(self._last(history)).clone()  # a copy: the caller may change it

    def _known(self, history: History) -> Probabilities:
        if history not in self._seen:
            self._seen[history] = self._smoothed(history)
        return self._seen[history]

    def _smoothed(self, history: History) -> Probabilities:
        if history:
            shorter = self._known(history[1:])
        else:
            shorter = torch.full((self.vocabulary,), 1 / self.vocabulary, device="cpu")
        if history not in self.counts:
            return shorter
        followed = self.counts[history]
        smoothed = len(followed) * shorter
        numbers = (torch.tensor([*each], device="cpu") for each in (followed, followed.values()))
        words, counts = numbers
        smoothed[words] += counts
        return smoothed / (followed.total() + len(followed))

    def __call__(self, tokens: TokenIds) -> Logits:
        """Return, at every place, the log-probabilities of the token that follows."""
        rows = [
            torch.stack([self.probabilities(tuple(row[: place + 1])) for place in range(len(row))])
            for row in tokens.tolist()
        ]
        return torch.stack(rows).log().to(tokens.device)

    def start(self, batch_size: int) -> NgramState:
        """Return the state with nothing read.

        Raises:
            ValueError: if ``batch_size`` is below 1.
        """
        check_sizes(batch_size=batch_size)
        return NgramState(((),) * batch_size)

    def step(self, token: StepIds, state: NgramState) -> tuple[StepLogits, NgramState]:
        """Read one token of each text, and guess the next; ``state`` is left as it was.

        Raises:
            ValueError: if there are not as many tokens as texts.
        """
        check_one_each(token, state.batch_size)
        pairs = zip(state.histories, token.tolist(), strict=True)
        histories = tuple(self._last((*history, number)) for history, number in pairs)
        logits = torch.stack([self.probabilities(history) for history in histories]).log()
        return logits.to(token.device), NgramState(histories)

    def _last(self, history: History) -> History:
        return history[-(self.order - 1) :] if self.order > 1 else ()


def _check_tokens(tokens: Sequence[int], vocabulary: int) -> None:
    for token in tokens:
        if not 0 <= token < vocabulary:
            raise ValueError(f"sentences: expected numbers from 0 to {vocabulary - 1}, got {token}")
