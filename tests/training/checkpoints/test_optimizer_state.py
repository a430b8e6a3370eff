"""An optimizer's state goes through names and numbers and comes back the same."""

import json

import pytest
import torch
from torch import Tensor, nn

from attention_book.training.checkpoints.optimizer_state import (
    optimizer_rest,
    optimizer_tensors,
    restore,
)

OPTIMIZERS = {
    "adam": lambda p: torch.optim.Adam(p, lr=0.03, betas=(0.8, 0.9)),
    "adam with amsgrad": lambda p: torch.optim.Adam(p, lr=0.03, amsgrad=True),
    "adam fused": lambda p: torch.optim.Adam(p, lr=0.03, fused=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.03),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.03),
    "sgd with momentum": lambda p: torch.optim.SGD(p, lr=0.03, momentum=0.9),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.03, centered=True),
}


def new_layer() -> nn.Linear:
    torch.manual_seed(2)
    return nn.Linear(3, 5)


def step(layer: nn.Module, optimizer: torch.optim.Optimizer, number: int) -> None:
    generator = torch.Generator().manual_seed(number)
    optimizer.zero_grad()
    layer(torch.randn(7, 3, generator=generator)).square().sum().backward()
    optimizer.step()


def taken(optimizer: torch.optim.Optimizer) -> tuple[dict[str, Tensor], dict]:
    """What is written, after a visit to JSON."""
    tensors = {name: value.clone() for name, value in optimizer_tensors(optimizer).items()}
    return tensors, json.loads(json.dumps(optimizer_rest(optimizer)))


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("steps_before", [0, 3])
def test_a_restored_optimizer_goes_on_as_the_first_would_have(make, steps_before) -> None:
    layer = new_layer()
    optimizer = make(layer.parameters())
    for number in range(steps_before):
        step(layer, optimizer, number)
    again = new_layer()
    again.load_state_dict({name: value.clone() for name, value in layer.state_dict().items()})
    other = make(again.parameters())
    restore(other, *taken(optimizer))
    for number in range(10, 14):
        step(layer, optimizer, number)
        step(again, other, number)
    assert torch.equal(layer.weight, again.weight)
    assert torch.equal(layer.bias, again.bias)
    assert optimizer.state_dict()["param_groups"] == other.state_dict()["param_groups"]


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    layer = new_layer()
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.03)
    step(layer, optimizer, 1)
    written = taken(optimizer)
    wider = nn.Linear(3, 7)
    for other, message in [
        (torch.optim.SGD(layer.parameters(), lr=0.1), "optimizer: expected SGD, got Adam"),
        (torch.optim.Adam([layer.weight]), r"expected groups of \[1\] parameters, got \[2\]"),
        (torch.optim.Adam(wider.parameters()), r"parameter 0: exp_avg: expected the shape \(7, 3"),
    ]:
        before = str(other.state_dict())
        with pytest.raises(ValueError, match=message):
            restore(other, *written)
        assert str(other.state_dict()) == before
