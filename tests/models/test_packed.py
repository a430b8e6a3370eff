"""The law of packed texts: side by side in a row each is as by itself, for all positions."""

from collections.abc import Callable
from functools import partial

import pytest
import torch

from attention_book.attention import DynamicNtkScaling, LongRopeScaling, RopeScaling
from attention_book.models import LanguageConfig, LanguageModel
from attention_book.models.config import RotarySettings
from attention_book.text import PackedBatch
from attention_book.training import loss_per_token, packed_loss

KINDS = ("sinusoidal", "learned", "relative", "buckets", "rotary", "alibi", "none")


def model_with(positions: str, **changes: object) -> LanguageModel:
    torch.manual_seed(3)
    config = LanguageConfig.today(
        vocabulary=19,
        d_model=24,
        num_heads=4,
        num_kv_heads=2,
        d_ff=20,
        num_layers=2,
        positions=positions,
        max_positions=16,
        **changes,
    )
    model = LanguageModel(config).double().eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.4)
    return model


def texts() -> list[torch.Tensor]:
    dice = torch.Generator().manual_seed(5)
    return [torch.randint(4, 19, (1, length), generator=dice) for length in (5, 3, 1, 4)]


@pytest.mark.parametrize("windows", [(), (2, None)], ids=["wide", "windows"])
@pytest.mark.parametrize("positions", KINDS)
def test_packed_equals_apart(positions: str, windows: tuple[int | None, ...]) -> None:
    model, parts = model_with(positions, windows=windows), texts()
    padding = torch.zeros(1, 2, dtype=torch.long)
    row = torch.cat([*parts, padding], dim=1)
    numbers = [torch.full_like(part, number) for number, part in enumerate(parts, start=1)]
    documents = torch.cat([*numbers, padding], dim=1)
    at_once = model(row, documents=documents)
    begin = 0
    for part in parts:
        here = at_once[:, begin : begin + part.shape[1]]
        torch.testing.assert_close(here, model(part))
        begin += part.shape[1]


@pytest.mark.parametrize("positions", KINDS)
def test_without_the_numbers_the_texts_would_see_each_other(positions: str) -> None:
    model, parts = model_with(positions), texts()
    row = torch.cat(parts, dim=1)
    assert not torch.allclose(model(row)[:, 5:8], model(parts[1]), atol=1e-3)


def test_the_loss_is_the_mean_over_the_texts_by_themselves() -> None:
    model, (one, other, *_) = model_with("sinusoidal"), texts()
    row = torch.cat([one, other], dim=1)
    documents = torch.tensor([[1, 1, 1, 1, 1, 2, 2, 2]])
    targets = row.roll(-1, dims=1)
    mask = torch.ones_like(row, dtype=torch.bool)
    mask[0, 7] = False
    found = packed_loss(model, PackedBatch(row, targets, documents, mask))
    losses = [
        loss_per_token(model(one), targets[:, :5], mask[:, :5]) * 5,
        loss_per_token(model(other), targets[:, 5:], mask[:, 5:]) * 2,
    ]
    torch.testing.assert_close(found, sum(losses) / 7)


BY_LENGTH: dict[str, Callable[..., RopeScaling]] = {
    "dynamic-ntk": partial(DynamicNtkScaling, factor=2.0, trained_length=6),
    "longrope": partial(
        LongRopeScaling, trained_length=6, short_factors=(1.0,) * 3, long_factors=(1.0, 2.0, 4.0)
    ),
}


@pytest.mark.parametrize("windowed", [False, True])
@pytest.mark.parametrize("name", BY_LENGTH)
def test_no_text_is_turned_by_the_length_of_its_row(name: str, windowed: bool) -> None:
    """The kind: two short texts in a row beyond the trained length were read as long ones."""

    def model_of(**length: int) -> LanguageModel:
        by_length = RotarySettings(scaling=BY_LENGTH[name](**length))
        if windowed:
            return model_with("rotary", windows=(2, None), windowed_rotary=by_length)
        return model_with("rotary", rotary=by_length)

    free, fixed, (one, other, *_) = model_of(), model_of(length=8), texts()
    row = torch.cat([one, other], dim=1)
    documents = torch.tensor([[1, 1, 1, 1, 1, 2, 2, 2]])
    beyond = "documents: expected one text in a row beyond 6 tokens, .* got several in row 0"
    with pytest.raises(ValueError, match=beyond):
        free(row, documents=documents)
    with pytest.raises(ValueError, match=beyond):  # padding would count as text
        free(row, documents=torch.tensor([[1] * 7 + [0]]))
    torch.testing.assert_close(fixed(row, documents=documents)[:, 5:], fixed(other))
    torch.testing.assert_close(free(row, documents=torch.ones_like(row)), free(row))
    short = free(row[:, :6], documents=documents[:, :6])
    torch.testing.assert_close(short[:, :5], free(one))


def test_padding_and_numbers_together_are_refused() -> None:
    model, (one, *_) = model_with("none"), texts()
    with pytest.raises(ValueError, match="and no real"):
        model(one, one > 0, documents=one)
