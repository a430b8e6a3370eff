"""Training a classifier: what each step draws, how fast it goes, and that it learns."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attention_book.training import fit_classifier


@pytest.fixture
def data():
    torch.manual_seed(3)
    labels = torch.arange(60) % 3
    return torch.eye(3)[labels] + 0.1 * torch.randn(60, 3), labels


def test_it_learns(data):
    torch.manual_seed(0)
    model = nn.Linear(3, 3)
    losses = [report.loss for report in fit_classifier(model, *data, steps=200, learning_rate=0.05)]
    assert (model(data[0]).argmax(dim=-1) == data[1]).all()
    assert losses[-1] < losses[0]


def test_the_loss_is_the_smoothed_cross_entropy_of_a_batch_drawn_with_replacement(data):
    torch.manual_seed(0)
    model, (inputs, labels) = nn.Linear(3, 3), data
    torch.manual_seed(5)
    rows = torch.randint(60, (7,))
    expected = F.cross_entropy(model(inputs[rows]), labels[rows], label_smoothing=0.3).item()
    torch.manual_seed(5)
    steps = fit_classifier(model, inputs, labels, steps=1, batch_size=7, label_smoothing=0.3)
    assert next(steps).loss == pytest.approx(expected)


def test_noise_is_added_to_the_inputs_of_every_step_and_to_nothing_else(data):
    model, (inputs, labels), seen = nn.Linear(3, 3), data, []
    kept = inputs.clone()
    model.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    for _ in fit_classifier(model, inputs, labels, steps=2, batch_size=500, noise=0.3):
        pass
    assert torch.equal(inputs, kept)
    for batch in seen:
        # The inputs are 0.1 from a corner of the unit cube: with the noise about 0.32.
        assert (batch - batch.round().clamp(0, 1)).std().item() == pytest.approx(0.28, abs=0.06)
    assert not torch.equal(seen[0], seen[1])


def test_every_step_goes_at_the_rate_of_the_schedule(data, monkeypatch):
    rates = []

    class Watched(torch.optim.AdamW):
        def step(self, closure=None):
            rates.append(self.param_groups[0]["lr"])
            return super().step(closure)

    monkeypatch.setattr(torch.optim, "AdamW", Watched)
    for _ in fit_classifier(nn.Linear(3, 3), *data, steps=5, warmup=2, learning_rate=1.0):
        pass
    assert rates == pytest.approx([1 / 2, 1, 3 / 4, 1 / 2, 1 / 4])


def test_nothing_happens_until_it_is_iterated_and_then_the_model_trains(data):
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout()).eval()
    steps = fit_classifier(model, *data, steps=2)
    assert not model.training
    next(steps)
    assert model.training


@pytest.mark.usefixtures("unchecked")
def test_labels_that_do_not_fit_are_named(data):
    with pytest.raises(ValueError, match="labels: expected one for each of 60 inputs, got 59"):
        next(fit_classifier(nn.Linear(3, 3), data[0], data[1][1:], steps=1))
