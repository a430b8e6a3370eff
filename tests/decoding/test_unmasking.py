"""Writing by filling in: how many words a round keeps, which, and from what it drew them."""

import itertools
import math

import pytest
import torch
from torch import Tensor, nn

from attention_book.decoding import unmask
from attention_book.models import LanguageConfig, LanguageModel

HOLE = 9
TEXT = torch.tensor([[2, HOLE, HOLE, 5, HOLE, HOLE, HOLE, 3], [2, HOLE, 6, HOLE, 3, 0, 0, 0]])


class Noted(nn.Module):
    """A reader that keeps what it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = LanguageModel(LanguageConfig(vocabulary=10, causal=False, dropout=0.0))
        self.shown: list[Tensor] = []

    def forward(self, tokens: Tensor, real: Tensor) -> Tensor:
        self.shown.append(tokens.clone())
        return self.inner(tokens, real)


def write(reader: nn.Module, **how) -> Tensor:
    return unmask(reader, TEXT, TEXT > 0, mask=HOLE, never=(0, 1, 2, 3), **how)


orders = pytest.mark.parametrize("order", ["surest", "random", "left"])


@orders
@pytest.mark.parametrize("rounds", [1, 2, 3, 5, 8])
def test_rounds_share_the_gaps_evenly_and_leave_none(order, rounds) -> None:
    reader = Noted()
    found = write(reader, rounds=rounds, order=order)
    states = [*reader.shown, found]
    left = torch.stack([(each == HOLE).sum(dim=1) for each in states])
    assert len(states) == rounds + 1
    for row, gaps in ((0, 5), (1, 2)):
        assert left[:, row].tolist() == [gaps * (rounds - r) // rounds for r in range(rounds + 1)]
    assert (found[TEXT == HOLE] > 3).all()
    assert torch.equal(found[TEXT != HOLE], TEXT[TEXT != HOLE])
    for before, after in itertools.pairwise(states):
        assert torch.equal(after[before != HOLE], before[before != HOLE])  # nothing is taken back


def test_from_the_left_the_first_gap_is_filled_first() -> None:
    reader = Noted()
    write(reader, rounds=5, order="left")
    gaps = [(each[0] == HOLE).nonzero()[:, 0].tolist() for each in reader.shown]
    assert gaps == [[1, 2, 4, 5, 6], [2, 4, 5, 6], [4, 5, 6], [5, 6], [6]]


def test_the_surest_word_is_kept_first() -> None:
    """A reader that knows the fifth word for certain and nothing else."""

    class Sure(Noted):
        def forward(self, tokens: Tensor, real: Tensor) -> Tensor:
            super().forward(tokens, real)
            logits = torch.zeros(*tokens.shape, 10)
            logits[:, 5, 7] = 20.0
            return logits

    reader = Sure()
    write(reader, rounds=5)
    assert reader.shown[1][0].tolist() == [2, HOLE, HOLE, 5, HOLE, 7, HOLE, 3]


class Coin(nn.Module):
    """Knows two words, one three times as likely as the other, whatever it reads."""

    def forward(self, tokens: Tensor, real: Tensor) -> Tensor:
        logits = torch.full((*tokens.shape, 10), -torch.inf)
        logits[..., 4], logits[..., 8] = 0.0, math.log(3)
        return logits


@pytest.mark.parametrize("order", ["random", "left"])
def test_it_draws_with_the_model_s_probabilities(order) -> None:
    text = torch.full((2000, 3), HOLE)
    found = unmask(Coin(), text, text > 0, mask=HOLE, rounds=2, order=order)
    assert (found == 8).float().mean().item() == pytest.approx(0.75, abs=0.02)


def test_to_keep_the_surest_is_to_prefer_likely_words() -> None:
    """Of two gaps the surer is kept first: the likelier word, unless both draws miss it."""
    text = torch.full((4000, 2), HOLE)
    found = unmask(Coin(), text, text > 0, mask=HOLE, rounds=2)
    first = 1 - 0.25**2
    assert (found == 8).float().mean().item() == pytest.approx((first + 0.75) / 2, abs=0.015)


@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be() -> None:
    for how, message in (
        ({"rounds": 0}, "rounds: expected at least 1"),
        ({"rounds": 1, "order": "right"}, "order: expected surest, random or left, got 'right'"),
    ):
        with pytest.raises(ValueError, match=message):
            write(Noted(), **how)
