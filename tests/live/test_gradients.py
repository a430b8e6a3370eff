"""Who gets the blame: the figure's derivatives are those of automatic differentiation."""

import pytest
import torch

from attention_book.attention import Attention, DotScore

SCORES = torch.tensor([1.5, 3.0, 2.0, 5.0, 0.0], dtype=torch.float64)
PAGES = torch.tensor([[1.0], [16.0], [40.0], [300.0], [0.0]], dtype=torch.float64)
HIDDEN = ["00000", "00010", "10101", "11110", "11111"]


def backward(scores: torch.Tensor, hidden: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Weights, output and gradient: keys of an identity matrix make the query the scores."""
    leaf = scores.clone()[None].requires_grad_()
    mask = torch.tensor([[digit == "0" for digit in hidden]])
    desk, keys = Attention(DotScore()), torch.eye(5, dtype=torch.float64)
    output = desk(leaf, keys, PAGES, mask)
    output.sum().backward()
    return desk.weights(leaf, keys, mask)[0].detach(), output.detach(), leaf.grad[0]


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("factor", [0, 0.3, 1, 2, 4])
def test_weights_output_and_derivatives(factor: float, hidden: str, compute) -> None:
    found = compute("gradients", factor=factor, hidden=hidden)
    weights, output, gradient = backward(factor * SCORES, hidden)
    double = dict(rtol=0, atol=1e-10)
    for name, expected in (("weights", weights), ("derivatives", gradient)):
        ours = torch.tensor(found[name], dtype=torch.float64)
        torch.testing.assert_close(ours, expected, **double)
    assert found["output"] == pytest.approx(output.item(), abs=1e-10)
    assert found["push"] == pytest.approx(gradient.clamp(min=0).sum().item(), abs=1e-10)
    assert sum(found["derivatives"]) == pytest.approx(0, abs=1e-10)
    hidden_ones = [
        each for each, bit in zip(found["derivatives"], hidden, strict=True) if bit == "1"
    ]
    assert not any(hidden_ones), "what is hidden has a derivative of exactly 0"


@pytest.mark.parametrize("hidden", HIDDEN)
def test_the_curve_is_the_push_at_every_factor(hidden: str, compute) -> None:
    curve = compute("gradients", hidden=hidden)["curve"]
    assert len(curve) == 41
    expected = [backward(n / 10 * SCORES, hidden)[2].clamp(min=0).sum().item() for n in range(41)]
    assert curve == pytest.approx(expected, abs=1e-10)
    assert max(curve) <= 75


def test_the_printed_numbers_of_the_worked_example(compute) -> None:
    for factor, output, book in (
        (0, 71.4, 45.7),
        (1, 248.9, 41.8),
        (2, 294.0, 5.9),
        (4, 299.9, 0.1),
    ):
        found = compute("gradients", factor=factor)
        assert round(found["output"], 1) == output
        assert round(found["derivatives"][3], 1) == book
