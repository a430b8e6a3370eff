"""What the tests of the models share: small models of every kind, and a batch with padding."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from attention_book.models import Seq2Seq, Seq2SeqConfig
from attention_book.models.recurrent.config import ATTENTION_KINDS

# Every kind of attention, with an encoder that reads from one side and, where both go together,
# from both.
VARIANTS = [
    *[(kind, False) for kind in ATTENTION_KINDS],
    *[(kind, True) for kind in ATTENTION_KINDS if kind not in ("luong-dot", "input-dot")],
]


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Draw the same numbers in every run."""
    torch.manual_seed(7)


@pytest.fixture
def build() -> Callable[..., Seq2Seq]:
    """A function that makes a model in eval mode and double precision; primes for the sizes."""

    def make(attention: str, **changes: object) -> Seq2Seq:
        sizes = {"d_embed": 11, "d_hidden": 11, "num_places": 7, "num_layers": 2}
        config = Seq2SeqConfig(
            source_vocabulary=13, target_vocabulary=17, attention=attention, **{**sizes, **changes}
        )
        return Seq2Seq(config).double().eval()

    return make


@pytest.fixture(params=VARIANTS, ids=lambda v: f"{v[0]}{'-both-ways' if v[1] else ''}")
def model(request: pytest.FixtureRequest, build: Callable[..., Seq2Seq]) -> Seq2Seq:
    """A model of every kind."""
    kind, both_ways = request.param
    return build(kind, bidirectional=both_ways)


@pytest.fixture(params=[v for v in VARIANTS if v[0] != "none"], ids=str)
def attentive(request: pytest.FixtureRequest, build: Callable[..., Seq2Seq]) -> Seq2Seq:
    """A model of every kind that has attention."""
    kind, both_ways = request.param
    return build(kind, bidirectional=both_ways)


@pytest.fixture
def source() -> Tensor:
    """Three sentences of 7, 3 and 5 tokens."""
    return torch.tensor(
        [[4, 5, 6, 7, 8, 9, 3], [10, 4, 3, 0, 0, 0, 0], [12, 12, 6, 5, 3, 0, 0]],
    )


@pytest.fixture
def target() -> Tensor:
    """Five target tokens for each of them."""
    return torch.randint(4, 17, (3, 5))
