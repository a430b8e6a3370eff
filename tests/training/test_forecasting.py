"""Training a forecaster: on the past alone, every value of it, and it does learn."""

import itertools

import pytest
import torch

from attention_book import set_seed
from attention_book.models import Forecaster, ForecasterConfig
from attention_book.training import WarmForecaster, train_forecaster

WAVE = torch.arange(60).double().mul(0.7).sin()


def trained(past: torch.Tensor, *, steps: int = 30, **settings: object) -> Forecaster:
    set_seed(3)
    config = ForecasterConfig(**{"context": 11, "num_layers": 1, **settings})
    model = Forecaster.scaled_to(past, config)
    for _ in train_forecaster(model, past, steps=steps):
        pass
    return model


def test_it_learns_a_wave() -> None:
    model = trained(WAVE[:50], steps=300, dropout=0.0)
    error = (model.forecast(WAVE[:50], 10) - WAVE[50:]).abs().mean()
    assert error < 0.1 < (WAVE[49] - WAVE[50:]).abs().mean()


def test_the_same_seed_trains_the_same_model() -> None:
    assert torch.equal(trained(WAVE).forecast(WAVE, 5), trained(WAVE).forecast(WAVE, 5))


@pytest.mark.parametrize("at", [0, 37, 59])
def test_every_value_of_the_past_counts(at: int) -> None:
    changed = WAVE.clone()
    changed[at] += 1
    before, after = (dict(trained(past, steps=20).named_parameters()) for past in (WAVE, changed))
    assert any(not torch.equal(before[name], after[name]) for name in before)


def test_the_first_loss_is_that_of_persistence() -> None:
    set_seed(3)
    config = ForecasterConfig(context=59)  # one window: the whole past
    model = Forecaster.scaled_to(WAVE, config)
    report = next(train_forecaster(model, WAVE, steps=1))
    expected = WAVE.diff().square().mean() / WAVE.var()
    assert report.loss == pytest.approx(expected.item(), rel=1e-5)


def test_a_past_shorter_than_the_context_is_one_window() -> None:
    model = trained(WAVE[:7], steps=3)
    assert model.forecast(WAVE[:7], 2).isfinite().all()


def test_a_second_call_goes_on() -> None:
    model = trained(WAVE, steps=100, dropout=0.0)
    again = next(train_forecaster(model, WAVE, steps=1))
    fresh = next(train_forecaster(Forecaster.scaled_to(WAVE, model.config), WAVE, steps=1))
    assert again.loss < fresh.loss / 2


def test_afterwards_dropout_is_off() -> None:
    assert not trained(WAVE, steps=2).training


def test_one_value_teaches_nothing() -> None:
    model = Forecaster(ForecasterConfig(), mean=0.0, scale=1.0)
    with pytest.raises(ValueError, match="past: expected two values or more, got 1"):
        next(train_forecaster(model, WAVE[:1], steps=1))


def warm(**settings: int) -> WarmForecaster:
    config = ForecasterConfig(context=11)
    return WarmForecaster(config, **{"steps": 6, "more_steps": 3, "seed": 5, **settings})


def test_a_warm_start_goes_on_and_leaves_the_first_model_alone() -> None:
    method = warm(steps=200)
    first = method(WAVE[:40])
    model, before = method.model, first(WAVE, 4)
    second = method(WAVE[:50])
    assert torch.equal(first(WAVE, 4), before)
    assert method.model is not model
    assert (method.model.mean, method.model.scale) == (model.mean, model.scale)
    untrained = WAVE[-1] - WAVE[:4]  # what persistence would miss by is far more
    assert 0 < (second(WAVE, 4) - before).abs().max() < untrained.abs().max()


def test_a_warm_start_repeats_itself_and_draws_nothing() -> None:
    state, forecasts = torch.get_rng_state(), []
    for _ in range(2):
        method = warm()
        method(WAVE[:40])
        forecasts.append(method(WAVE[:50])(WAVE, 4))
    assert torch.equal(*forecasts)
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.equal(warm(seed=6)(WAVE[:40])(WAVE, 4), warm()(WAVE[:40])(WAVE, 4))


def test_another_seed_is_another_draw_whatever_the_length() -> None:
    """The kind: the sum of seed and length is the same for others, and two runs were one."""
    start, draws = torch.get_rng_state(), {}
    for seed, length in itertools.product(range(4), range(38, 42)):
        method = warm(seed=seed, steps=0)
        method(WAVE[:length])
        weights = torch.cat([weight.flatten() for weight in method.model.parameters()])
        draws[seed, length] = tuple(weights.tolist())
    assert len(set(draws.values())) == len(draws)
    assert torch.equal(torch.get_rng_state(), start)


def test_a_warm_start_refuses_a_past_that_it_has_seen_the_end_of() -> None:
    method = warm()
    method(WAVE[:40])
    with pytest.raises(ValueError, match="past: expected 40 values or more, as in the last call"):
        method(WAVE[:39])


def test_without_more_steps_a_warm_start_stays_as_it_is() -> None:
    method = warm(more_steps=0)
    assert torch.equal(method(WAVE[:40])(WAVE, 4), method(WAVE[:50])(WAVE, 4))


def test_a_warm_start_refuses_another_series() -> None:
    method = warm()
    method(WAVE[:40])
    with pytest.raises(ValueError, match="past: expected the past of the last call"):
        method(WAVE[:60] + 1.0)


def test_stopping_early_leaves_no_dropout_on():
    model = Forecaster.scaled_to(WAVE, ForecasterConfig(context=9))
    for report in train_forecaster(model, WAVE, steps=5):
        if report.step == 2:
            break
    assert not model.training
