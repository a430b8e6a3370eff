"""A model so small that everything it could ever say can be listed."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from attention_book.decoding import Hypothesis
from attention_book.text import BOS, EOS, PAD

NUM_HISTORIES = 101  # a prime, larger than the number of beginnings that are often met


@dataclass(frozen=True)
class TableState:
    """What was read (the sum of the source) and what was written (a number made of it)."""

    source: Tensor
    history: Tensor

    @property
    def batch_size(self) -> int:
        return len(self.source)

    def select(self, rows: Tensor) -> "TableState":
        return TableState(self.source[rows], self.history[rows])


class TableModel:
    """Looks its logits up in a random table: by the source's sum and by all that was written.

    A beam that continues another's state, a sentence that continues another's, a
    word that is fed twice: each leads to other entries of the table.
    """

    def __init__(self, seed: int, *, vocabulary: int = 7, scale: float = 1.5) -> None:
        generator = torch.Generator().manual_seed(seed)
        shape = (13, NUM_HISTORIES, vocabulary)
        self.table = scale * torch.randn(shape, generator=generator, dtype=torch.float64)
        self.rows_stepped = 0

    def encode(self, source: Tensor, source_mask: Tensor) -> TableState:
        key = (source * source_mask).sum(dim=1) % len(self.table)
        return TableState(key, torch.zeros_like(key))

    def start(self, memory: TableState) -> TableState:
        return memory

    def step(self, token: Tensor, state: TableState) -> tuple[Tensor, TableState]:
        self.rows_stepped += len(token)
        state = replace(state, history=(31 * state.history + token + 1) % NUM_HISTORIES)
        return self.table[state.source, state.history], state

    def decode(self, target_input: Tensor, memory: TableState) -> Tensor:
        powers = 31 ** torch.arange(target_input.shape[1])
        logits = []
        for n in range(1, target_input.shape[1] + 1):
            history = ((target_input[:, :n] + 1) * powers[:n].flip(0)).sum(dim=1) % NUM_HISTORIES
            logits.append(self.table[memory.source, history])
        return torch.stack(logits, dim=1)

    # --- oracles: plain Python, one sentence, one word at a time ---

    def next_words(self, source: Tensor, ids: tuple[int, ...]) -> dict[int, float]:
        """Every word that may follow, with its log-probability."""
        history = 0
        for token in (BOS, *ids):
            history = (31 * history + token + 1) % NUM_HISTORIES
        logits = self.table[int(source.sum()) % len(self.table), history]
        log_probs = logits.log_softmax(dim=0).tolist()
        return {word: p for word, p in enumerate(log_probs) if word not in (PAD, BOS)}

    def extended(
        self, source: Tensor, found: Hypothesis, length_penalty: float
    ) -> Iterator[Hypothesis]:
        """Every continuation of a sentence by one word; itself, if it has ended."""
        if found.finished:
            yield found
            return
        for word, log_prob in self.next_words(source, found.ids).items():
            ids = found.ids if word == EOS else (*found.ids, word)
            total = found.log_prob + log_prob
            length = len(found.ids) + 1
            score = total / ((5 + length) / 6) ** length_penalty
            yield Hypothesis(ids, total, word == EOS, score)

    def searched(
        self, source: Tensor, *, width: float, max_tokens: int, length_penalty: float = 0.0
    ) -> list[Hypothesis]:
        """Beam search as one would explain it; with an infinite width, all there is."""
        found = [Hypothesis((), 0.0, False, 0.0)]
        for _ in range(max_tokens):
            longer = itertools.chain(*(self.extended(source, h, length_penalty) for h in found))
            found = sorted(longer, key=lambda h: -h.score)
            found = found if math.isinf(width) else found[: int(width)]
        return found


@pytest.fixture(scope="session")
def table_model() -> type[TableModel]:
    return TableModel


@pytest.fixture(scope="session")
def sources() -> tuple[Tensor, Tensor]:
    """Sentences of different lengths, padded."""
    rows = [[5, 3], [4, 6, 4, 5, 3], [6, 5, 3], [9, 4, 4, 4, 4, 6, 3], [3], [8, 8, 3], [7, 3]]
    longest = max(map(len, rows))
    ids = torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])
    return ids, ids != PAD
