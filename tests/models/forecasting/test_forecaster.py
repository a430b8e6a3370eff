"""The causal Transformer over numbers: blind to what comes later, at home in any units."""

import pytest
import torch

from attention_book.models import Forecaster, ForecasterConfig, persistence
from attention_book.models.config import POSITION_KINDS
from attention_book.training import load_checkpoint, save_checkpoint


def make(mean: float = 3.0, scale: float = 2.0, **settings: object) -> Forecaster:
    """A model in double precision whose read-out is no longer 0."""
    torch.manual_seed(11)
    config = ForecasterConfig(**{"d_model": 20, "context": 13, **settings})
    model = Forecaster(config, mean=mean, scale=scale).double().eval()
    torch.nn.init.normal_(model.read_out.weight)
    return model


@pytest.mark.parametrize("positions", POSITION_KINDS)
def test_a_later_value_moves_no_earlier_forecast(positions: str) -> None:
    model, values = make(positions=positions), torch.randn(2, 11).double()
    changed = values.clone()
    changed[:, 6] += 5
    before, after = model(values), model(changed)
    assert torch.equal(before[:, :6], after[:, :6])
    assert (before[:, 6:] - after[:, 6:]).abs().min() > 1e-9


def test_untrained_it_is_persistence() -> None:
    model = Forecaster(ForecasterConfig(context=7), mean=4.0, scale=9.0)
    past = torch.randn(23).double()
    assert torch.equal(model.forecast(past, 5), persistence(past)(past, 5))


def test_a_forecast_feeds_itself_back() -> None:
    model, past = make(), torch.randn(31).double()
    known = past
    for _ in range(4):
        known = torch.cat([known, model(known[None, -13:])[0, -1:]])
    torch.testing.assert_close(model.forecast(past, 4), known[31:])
    # Going on from one's own forecast is going on.
    first = model.forecast(past, 2)
    rest = model.forecast(torch.cat([past, first]), 2)
    torch.testing.assert_close(torch.cat([first, rest]), model.forecast(past, 4))


def test_it_reads_the_context_and_no_more() -> None:
    model, past = make(), torch.randn(31).double()
    changed = past.clone()
    changed[:-13] += 5
    assert torch.equal(model.forecast(past, 1), model.forecast(changed, 1))
    changed[-13] += 5
    assert not torch.equal(model.forecast(past, 1), model.forecast(changed, 1))


def test_other_units_give_the_same_forecast_in_other_units() -> None:
    values = torch.randn(3, 13).double()
    in_celsius, in_fahrenheit = make(mean=3.0, scale=2.0), make(mean=37.4, scale=3.6)
    torch.testing.assert_close(1.8 * in_celsius(values) + 32, in_fahrenheit(1.8 * values + 32))


def test_it_is_scaled_to_the_past_it_is_given() -> None:
    past = torch.tensor([1.0, 4.0, 7.0, 4.0]).double()
    model = Forecaster.scaled_to(past, ForecasterConfig())
    assert model.mean == 4.0
    assert model.scale == pytest.approx(6**0.5)


def test_single_precision_inside_does_not_round_the_values() -> None:
    config = ForecasterConfig(context=7)
    past = torch.full((1, 5), 1e9, dtype=torch.float64) + torch.arange(5)
    model = Forecaster(config, mean=1e9, scale=1.0)
    assert torch.equal(model(past), past)
    assert model.forecast(past[0], 2).dtype == torch.float64


def test_forecasting_draws_nothing_and_keeps_the_mode() -> None:
    model, past = make(dropout=0.5).train(), torch.randn(20).double()
    state = torch.get_rng_state()
    assert torch.equal(model.forecast(past, 3), model.forecast(past, 3))
    assert torch.equal(torch.get_rng_state(), state)
    assert model.training
    assert not model.forecast(past, 3).requires_grad


def test_a_checkpoint_holds_the_units(tmp_path) -> None:
    model, other = make(mean=3.25, scale=0.1), make(mean=-70.0, scale=9.0)
    save_checkpoint(tmp_path / "model.safetensors", model=model)
    load_checkpoint(tmp_path / "model.safetensors", model=other)
    past = torch.randn(20).double()
    assert (other.mean, other.scale) == (3.25, 0.1)
    assert torch.equal(other.forecast(past, 5), model.forecast(past, 5))


def test_weights_without_their_units_are_refused() -> None:
    weights = dict(make().named_parameters())
    with pytest.raises(RuntimeError, match=r"Forecaster:\s+Missing key.* \"_extra_state\""):
        make().load_state_dict(weights)


def test_what_makes_no_model_is_refused() -> None:
    with pytest.raises(ValueError, match="context: expected at least 1, got 0"):
        ForecasterConfig(context=0)
    with pytest.raises(ValueError, match=r"scale: expected a positive number, got 0\.0"):
        Forecaster.scaled_to(torch.ones(5), ForecasterConfig())
    with pytest.raises(ValueError, match="values: expected at most context=13, got 14"):
        make()(torch.zeros(1, 14).double())
    with pytest.raises(ValueError, match=r"context: expected at most max_positions=64 .* got 65"):
        ForecasterConfig(context=65, positions="learned", max_positions=64)
