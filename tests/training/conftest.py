"""What the tests of the trainer share: a small parallel corpus and a small translator."""

import random
from collections.abc import Callable

import pytest
import torch
from torch import nn

from attention_book import set_seed
from attention_book.models import Seq2Seq, Seq2SeqConfig
from attention_book.text import ParallelData, SentencePair, Vocabulary

LETTERS = "abcdefghijk"


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Draw the same numbers in every run."""
    torch.manual_seed(7)


def pairs(number: int, *, seed: int = 5) -> list[SentencePair]:
    """Words of 1 to 7 letters; the target is the source spelled backward, and a final dot."""
    draw = random.Random(seed)
    words = [draw.choices(LETTERS, k=draw.randint(1, 7)) for _ in range(number)]
    return [SentencePair(tuple(word), (*reversed(word), ".")) for word in words]


@pytest.fixture
def make_data() -> Callable[..., ParallelData]:
    """A function that makes parallel data of so many pairs."""
    vocabulary = Vocabulary.build([(*LETTERS, ".")])

    def make(number: int = 23, *, seed: int = 5, max_tokens: int | None = None) -> ParallelData:
        return ParallelData(pairs(number, seed=seed), vocabulary, vocabulary, max_tokens=max_tokens)

    return make


@pytest.fixture
def data(make_data: Callable[..., ParallelData]) -> ParallelData:
    """23 pairs: 5 batches of 5, the last one smaller."""
    return make_data()


@pytest.fixture
def make_model() -> Callable[..., Seq2Seq]:
    """A function that makes a model with dropout; the seed draws its weights, and what follows."""

    def make(seed: int = 1, **changes: object) -> Seq2Seq:
        set_seed(seed)
        settings = {"d_embed": 5, "d_hidden": 7, "dropout": 0.3, "num_layers": 2, **changes}
        return Seq2Seq(Seq2SeqConfig(source_vocabulary=16, target_vocabulary=16, **settings))

    return make


@pytest.fixture
def adam() -> Callable[..., torch.optim.Optimizer]:
    """A function that makes the optimizer of a model."""

    def make(model: nn.Module, *, lr: float = 0.01) -> torch.optim.Optimizer:
        return torch.optim.Adam(model.parameters(), lr=lr)

    return make
