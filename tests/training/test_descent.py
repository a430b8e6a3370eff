"""Descent: the steps are the optimizer's own, and the loop is the caller's."""

import math

import pytest
import torch
from torch import Tensor, nn

from attention_book.training import Report, descend


def test_the_reports_are_those_of_gradient_descent_by_hand() -> None:
    x, by_hand = nn.Parameter(torch.tensor([3.0, -4.0])), torch.tensor([3.0, -4.0])
    optimizer = torch.optim.SGD([x], lr=0.1)
    for step, report in enumerate(descend(lambda: (x**2).sum(), optimizer, steps=5), start=1):
        gradient = 2 * by_hand
        assert report.step == step
        assert report.loss == pytest.approx(by_hand.square().sum().item())
        assert report.gradient_norm == pytest.approx(gradient.norm().item())
        by_hand = by_hand - 0.1 * gradient
        torch.testing.assert_close(x.data, by_hand)
    assert step == 5


def test_the_norm_is_over_all_parameters_of_all_groups_that_have_a_gradient() -> None:
    a, b, unused = (nn.Parameter(torch.ones(())) for _ in range(3))
    optimizer = torch.optim.SGD([{"params": [a, unused]}, {"params": [b]}], lr=0.0)
    (report,) = descend(lambda: 3 * a + 4 * b, optimizer, steps=1)
    assert report == Report(step=1, loss=7.0, gradient_norm=5.0)


def test_gradients_do_not_pile_up() -> None:
    x = nn.Parameter(torch.ones(()))
    optimizer = torch.optim.SGD([x], lr=0.0)
    norms = [report.gradient_norm for report in descend(lambda: 2 * x, optimizer, steps=3)]
    assert norms == [2.0, 2.0, 2.0]


def test_nothing_happens_until_a_report_is_asked_for_and_a_break_stops_it() -> None:
    x = nn.Parameter(torch.tensor(8.0))
    reports = descend(lambda: x**2, torch.optim.SGD([x], lr=0.25), steps=100)
    assert x.item() == 8.0
    for report in reports:
        if report.loss < 20:
            break
    assert (report.step, x.item()) == (2, 2.0)


def test_the_loss_is_computed_anew_at_every_step() -> None:
    x, batches = nn.Parameter(torch.zeros(())), iter([1.0, 2.0, 3.0])

    def loss() -> Tensor:
        return (x - next(batches)) ** 2

    losses = [report.loss for report in descend(loss, torch.optim.SGD([x], lr=0.5), steps=3)]
    assert losses == [1.0, 1.0, 1.0]  # one step of this size lands on the target


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_stops_before_it_spoils_the_parameters(bad: float) -> None:
    x = nn.Parameter(torch.tensor(1.0))
    factors = iter([1.0, 1.0, bad])
    reports = descend(lambda: x * next(factors), torch.optim.SGD([x], lr=0.1), steps=5)
    with pytest.raises(ValueError, match=f"loss: expected a finite number, got {bad} at step 3"):
        list(reports)
    assert x.item() == pytest.approx(0.8)


@pytest.mark.usefixtures("unchecked")
def test_a_loss_with_several_numbers_is_named() -> None:
    x = nn.Parameter(torch.ones(3))
    reports = descend(lambda: x**2, torch.optim.SGD([x], lr=0.1), steps=1)
    with pytest.raises(ValueError, match=r"loss: .* got the shape \(3,\) at step 1"):
        next(reports)


@pytest.mark.usefixtures("unchecked")
def test_one_number_may_stand_in_brackets() -> None:
    x = nn.Parameter(torch.full((1,), 3.0))
    (report,) = descend(lambda: x**2, torch.optim.SGD([x], lr=0.1), steps=1)
    assert (report.loss, report.gradient_norm) == (9.0, 6.0)


def test_a_loss_that_reaches_no_parameter_is_named() -> None:
    x, y = nn.Parameter(torch.ones(())), nn.Parameter(torch.ones(()))
    optimizer = torch.optim.SGD([x], lr=0.1)
    with pytest.raises(ValueError, match=r"loss: .* got a constant at step 1"):
        next(descend(lambda: x.detach() ** 2, optimizer, steps=1))
    with pytest.raises(ValueError, match=r"loss: .* reaches none of them at step 1"):
        next(descend(lambda: y**2, optimizer, steps=1))
    assert x.item() == 1


@pytest.mark.parametrize("stop", [3, 2])
def test_a_schedule_sets_the_rate_of_each_step_and_puts_it_back(stop: int) -> None:
    x, by_hand = nn.Parameter(torch.tensor([3.0])), 3.0
    optimizer = torch.optim.SGD([x], lr=0.1)
    for report in descend(lambda: (x**2).sum(), optimizer, steps=3, schedule=lambda step: step / 4):
        by_hand -= 0.1 * report.step / 4 * 2 * by_hand
        torch.testing.assert_close(x.detach(), torch.tensor([by_hand]))
        if report.step == stop:
            break
    assert optimizer.param_groups[0]["lr"] == 0.1


def test_a_negative_number_of_steps_is_named() -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(()))], lr=0.1)
    assert list(descend(lambda: torch.ones(()), optimizer, steps=0)) == []
    with pytest.raises(ValueError, match="steps: expected 0 or more, got -1"):
        next(descend(lambda: torch.ones(()), optimizer, steps=-1))


def test_without_a_schedule_the_rates_are_the_callers():
    parameter = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    for _ in descend(lambda: parameter.square().sum(), optimizer, steps=3):
        optimizer.param_groups[0]["lr"] /= 2
    assert optimizer.param_groups[0]["lr"] == 0.5 / 2**3
