"""The book's grammar as a reader's own model takes it: sentences as tensors of word numbers."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_book.course.recipes import RECIPES
from attention_book.foundations.seed import shifted
from attention_book.metrics import corpus_bleu
from attention_book.text import BOS, EOS, PAD, ParallelData, SentencePair, Vocabulary

#: The recipe that trains the package's Transformer on the same data, with the same settings.
RECIPE = "transformer-en-fr-1"


class Grammar:
    """The sentences of the grammar, from English to French, as word numbers.

    The data, the order of its batches and the numbers of its words are those with which the book
    trains its own Transformer, so that the two can be compared.

    Args:
        seed: with the number of the epoch it names how the epoch is shuffled.
        num_train: how many sentences to train on; None: all 8,000.

    Attributes:
        pairs: the sentences of each split, as words.
        source_vocabulary: numbers the English words.
        target_vocabulary: numbers the French words.

    >>> grammar = Grammar(num_train=100)
    >>> source, target = grammar.batches(epochs=1)[0]
    >>> len(source) == len(target), target[:, 0].unique().tolist()
    (True, [2])
    """

    def __init__(self, *, seed: int = 1, num_train: int | None = None) -> None:
        self.seed = shifted(seed)
        self.pairs = dict(RECIPES[RECIPE].splits())
        self.pairs["train"] = self.pairs["train"][:num_train]
        train = RECIPES[RECIPE].splits()["train"]
        self.source_vocabulary = Vocabulary.build(pair.source for pair in train)
        self.target_vocabulary = Vocabulary.build(pair.target for pair in train)
        self._data = {name: self._numbered(pairs) for name, pairs in self.pairs.items()}

    def _numbered(self, pairs: tuple[SentencePair, ...]) -> ParallelData:
        return ParallelData(pairs, self.source_vocabulary, self.target_vocabulary)

    @property
    def sizes(self) -> tuple[int, int]:
        """How many source words there are, and how many target words."""
        return len(self.source_vocabulary), len(self.target_vocabulary)

    def batches(self, epochs: int = 3, size: int = 64) -> list[tuple[Tensor, Tensor]]:
        """Return what to train on: pairs of sources (B, m), and targets that begin with <bos>."""
        found = []
        for epoch in range(1, epochs + 1):
            seed = (self.seed << 20) + epoch  # as `training.fit` shuffles
            for batch in self._data["train"].batches(size, seed=seed):
                target = torch.cat((batch.target_input[:, :1], batch.target_output), 1)
                found.append((batch.source, target))
        return found

    def targets(self, split: str = "random") -> Tensor:
        """Return the French sentences of a split as one tensor, with <bos> and padding.

        >>> Grammar(num_train=10).targets()[:, 0].unique().tolist()
        [2]
        """
        (batch,) = self._data[split].batches(len(self._data[split]))
        return torch.cat((batch.target_input[:, :1], batch.target_output), 1)

    def ids(self, *sentences: str) -> Tensor:
        """Return English sentences as word numbers (B, m); words and marks stand apart.

        >>> Grammar(num_train=10).ids("the girl reads a book .").shape
        torch.Size([1, 7])
        """
        rows = [[*self.source_vocabulary.encode(each.split()), EOS] for each in sentences]
        longest = max(map(len, rows))
        return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])

    def words(self, ids: Tensor) -> list[str]:
        """Return what was written, a sentence for each row: what stands between <bos> and <eos>.

        >>> grammar = Grammar(num_train=10)
        >>> grammar.words(torch.tensor([[BOS, *grammar.target_vocabulary.encode(["le"]), EOS]]))
        ['le']
        """
        return [" ".join(words) for words in self._words(ids, [None] * len(ids))]

    def _words(self, ids: Tensor, limits: list[Any]) -> list[tuple[str, ...]]:
        found = []
        for row, limit in zip(ids[:, 1:].tolist(), limits, strict=True):
            row = row[:limit]
            row = row[: row.index(EOS)] if EOS in row else row
            found.append(
                tuple(self.target_vocabulary.decode(i for i in row if i not in (PAD, BOS)))
            )
        return found

    def translations(
        self, translate: Callable[..., Tensor], model: Any, split: str = "random"
    ) -> list[tuple[str, ...]]:
        """Return the translations of a split, by the reader's own ``translate``.

        They end where the package's do at the latest: at twice the source's length, and ten.
        """
        found = []
        for batch in self._data[split].batches(250):
            longest = 2 * (batch.source_mask.sum(1) - 1) + 10
            written = translate(model, batch.source, most=int(longest.max()) + 1)
            found += self._words(written, longest.tolist())
        return found

    def bleu(self, translate: Callable[..., Tensor], model: Any, split: str = "random") -> float:
        """Return the BLEU of the reader's translations of a split, 0 to 100."""
        found = self.translations(translate, model, split)
        return corpus_bleu(found, [pair.target for pair in self.pairs[split]])
