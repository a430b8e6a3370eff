"""Masked diffusion: its loss is the mean over all orders of reading; what is hidden."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import Tensor

from attention_book.models import LanguageConfig, LanguageModel
from attention_book.text import MaskedTokens
from attention_book.training import diffusion_loss, hide_words

HOLE, LENGTH = 9, 4


@pytest.fixture
def reader() -> LanguageModel:
    config = LanguageConfig(vocabulary=10, causal=False, dropout=0.0)
    return LanguageModel(config).double().eval()


def surprise(model: LanguageModel, text: Tensor, hidden: tuple[int, ...]) -> Tensor:
    """-log p of each word, from those that are not hidden."""
    seen = text.clone()
    seen[list(hidden)] = HOLE
    guesses = model(seen[None])[0].log_softmax(dim=-1)
    return -guesses[torch.arange(len(text)), text]


@torch.no_grad()
def test_its_mean_is_that_over_all_orders(reader) -> None:
    """The integral over the rate by Gauss: the integrand is a polynomial, so it is exact."""
    text = torch.randint(4, 9, (LENGTH,))
    orders = [
        sum(surprise(reader, text, order[j:])[order[j]] for j in range(LENGTH))
        for order in itertools.permutations(range(LENGTH))
    ]
    nodes, weights = np.polynomial.legendre.leggauss(LENGTH)
    words, total = torch.ones(1, LENGTH, dtype=torch.bool), torch.zeros(()).double()
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        for chosen in itertools.product([False, True], repeat=LENGTH):
            number = sum(chosen)
            chance = node**number * (1 - node) ** (LENGTH - number)
            where = torch.tensor([chosen])
            hidden = MaskedTokens(text[None].masked_fill(where, HOLE), where)
            rates = torch.tensor([node])
            loss = diffusion_loss(reader, hidden, text[None], words, words=words, rates=rates)
            total += weight * chance * loss
    torch.testing.assert_close(LENGTH * total, sum(orders) / math.factorial(LENGTH))


@torch.no_grad()
def test_each_text_has_a_rate_and_padding_counts_nothing(reader) -> None:
    tokens = torch.tensor([[2, 5, 6, 7, 3, 0, 0], [2, 8, 4, 5, 6, 7, 3]])
    real, words = tokens > 0, tokens > 3
    hidden = hide_words(tokens, words, torch.ones(2), mask=HOLE)
    rates = torch.tensor([0.5, 0.25]).double()
    apart = [
        sum(surprise(reader, row[there], tuple((row[there] > 3).nonzero()[:, 0].tolist()))[1:-1])
        for row, there in zip(tokens, real, strict=True)
    ]
    found = diffusion_loss(reader, hidden, tokens, real, words=words, rates=rates)
    torch.testing.assert_close(found, (apart[0] / 0.5 + apart[1] / 0.25) / 8)


def test_words_alone_are_hidden_each_at_its_text_s_rate() -> None:
    tokens = torch.randint(4, 9, (3, 4000))
    tokens[:, ::4] = 2
    hidden = hide_words(tokens, tokens > 3, torch.tensor([0.0, 0.3, 1.0]), mask=HOLE)
    assert torch.equal(hidden.tokens == HOLE, hidden.chosen)
    assert torch.equal(hidden.tokens[~hidden.chosen], tokens[~hidden.chosen])
    assert not hidden.chosen[:, ::4].any()
    share = hidden.chosen.sum(dim=1) / 3000
    assert share[0] == 0
    assert share[1] == pytest.approx(0.3, abs=0.05)
    assert share[2] == 1
