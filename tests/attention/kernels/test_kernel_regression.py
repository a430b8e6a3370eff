"""The two layers: what they compute, and how the learned bandwidth behaves."""

import pytest
import torch

from attention_book import set_seed
from attention_book.attention import (
    KernelRegression,
    LearnableKernelRegression,
    leave_one_out_error,
    leave_one_out_mask,
    nadaraya_watson,
)
from attention_book.course.datasets import RegressionData, sine_data
from attention_book.training import descend


@pytest.fixture
def golden() -> RegressionData:
    """The data of the chapter: one 10 x 10 draw comes before it."""
    set_seed(42)
    torch.randn(10, 10)
    return sine_data()


def train(
    regression: LearnableKernelRegression, data: RegressionData, optimizer, steps: int
) -> list[float]:
    """Minimize the summed leave-one-out error; return the losses."""
    others = leave_one_out_mask(len(data.x_train))

    def loss() -> torch.Tensor:
        predictions = regression(data.x_train, data.x_train, data.y_train, others)
        return ((predictions - data.y_train) ** 2).sum()

    return [report.loss for report in descend(loss, optimizer, steps=steps)]


def distance_to_truth(regression: LearnableKernelRegression, data: RegressionData) -> float:
    """The mean squared distance to the curve without noise."""
    curve = regression(data.x_test, data.x_train, data.y_train)
    return (curve - data.y_true).square().mean().item()


@pytest.mark.parametrize("kernel", ["gaussian", "boxcar", "epanechnikov", "triangular"])
def test_the_fixed_layer_is_the_function(kernel: str) -> None:
    queries, keys, values = torch.randn(3, 2, 5, dtype=torch.float64)
    mask = (torch.arange(5) != 1)[None]
    layer = KernelRegression(kernel=kernel, bandwidth=0.7)
    expected = nadaraya_watson(queries, keys, values, kernel=kernel, bandwidth=0.7, mask=mask)
    assert torch.equal(layer(queries, keys, values, mask), expected)


@pytest.mark.parametrize(
    ("layer", "bandwidth"),
    [
        (LearnableKernelRegression(initial=-4.0), 0.25),
        (LearnableKernelRegression(parameter="log_bandwidth", initial=-1.0), 0.36787944),
        (LearnableKernelRegression(parameter="log_bandwidth", bias=True), 1.0),
    ],
)
def test_the_learnable_layer_is_the_function_at_its_bandwidth(
    layer: LearnableKernelRegression, bandwidth: float
) -> None:
    queries, keys, values = torch.randn(3, 2, 5)
    assert layer.bandwidth.item() == pytest.approx(bandwidth)
    torch.testing.assert_close(
        layer(queries, keys, values), nadaraya_watson(queries, keys, values, bandwidth=bandwidth)
    )


@pytest.mark.parametrize("parameter", ["inverse_width", "log_bandwidth"])
def test_the_output_is_the_weights_times_the_values(parameter: str) -> None:
    queries, keys, values = torch.randn(3, 2, 5)
    layer = LearnableKernelRegression(parameter=parameter)
    by_hand = (layer.weights(queries, keys) @ values.unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(layer(queries, keys, values), by_hand)


@pytest.mark.parametrize("parameter", ["inverse_width", "log_bandwidth"])
def test_the_gradient_of_the_bandwidth_is_that_of_finite_differences(parameter: str) -> None:
    layer = LearnableKernelRegression(parameter=parameter, initial=0.8).double()
    data = torch.randn(3, 5, dtype=torch.float64)

    def predict(raw: torch.Tensor) -> torch.Tensor:
        name = "w" if parameter == "inverse_width" else "log_bandwidth"
        return torch.func.functional_call(layer, {name: raw}, tuple(data))

    assert torch.autograd.gradcheck(predict, torch.tensor([0.8]).double().requires_grad_())


def test_only_the_inverse_width_draws_its_first_value() -> None:
    set_seed(3)
    first = torch.rand(1)
    set_seed(3)
    assert torch.equal(LearnableKernelRegression().w, first)
    set_seed(3)
    LearnableKernelRegression(parameter="log_bandwidth", bias=True)
    LearnableKernelRegression(initial=0.5)
    assert torch.equal(torch.rand(1), first)


def test_gradient_descent_overshoots_in_one_step(golden: RegressionData) -> None:
    regression = LearnableKernelRegression()
    assert regression.w.item() == pytest.approx(0.7401, abs=5e-5)
    optimizer = torch.optim.SGD(regression.parameters(), lr=0.5)
    losses = train(regression, golden, optimizer, steps=1)
    assert regression.w.item() == pytest.approx(18.6274, abs=2e-3)
    losses += train(regression, golden, optimizer, steps=4)
    assert losses == pytest.approx(
        [33.161629, 11.731106, 11.728750, 11.726463, 11.724256], abs=1e-4
    )
    assert regression.w.item() == pytest.approx(18.4927, abs=2e-3)
    assert distance_to_truth(regression, golden) == pytest.approx(0.1207, abs=1e-4)


def test_the_log_bandwidth_with_adam_and_a_dead_bias(golden: RegressionData) -> None:
    regression = LearnableKernelRegression(parameter="log_bandwidth", bias=True)
    optimizer = torch.optim.Adam(regression.parameters(), lr=0.1)
    losses = train(regression, golden, optimizer, steps=20)
    assert losses[0] == pytest.approx(25.184610, abs=1e-4)
    assert losses[-1] == pytest.approx(12.746226, abs=1e-3)
    assert regression.bandwidth.item() == pytest.approx(0.2365, abs=1e-4)
    assert distance_to_truth(regression, golden) == pytest.approx(0.0964, abs=1e-4)

    assert regression.bias.grad.abs() < 1e-4  # rounding noise, which Adam makes steps of
    assert regression.bias.abs() > 0.01
    with_bias = regression(golden.x_test, golden.x_train, golden.y_train)
    with torch.no_grad():
        regression.bias.zero_()
    torch.testing.assert_close(regression(golden.x_test, golden.x_train, golden.y_train), with_bias)


def test_the_leave_one_out_error_is_flat_where_the_test_error_is_not(
    golden: RegressionData,
) -> None:
    widths = torch.arange(0.5, 25, 0.2)
    errors = [leave_one_out_error(golden.x_train, golden.y_train, bandwidth=1 / w) for w in widths]
    tests = [distance_to_truth(LearnableKernelRegression(initial=w.item()), golden) for w in widths]
    chosen, best = int(torch.stack(errors).argmin()), int(torch.tensor(tests).argmin())
    assert widths[chosen].item() == pytest.approx(16.9, abs=0.21)
    assert widths[best].item() == pytest.approx(7.3, abs=0.21)
    assert tests[chosen] == pytest.approx(0.114, abs=1e-3)
    assert tests[best] == pytest.approx(0.072, abs=1e-3)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("parameter", ["inverse_width", "log_bandwidth"])
def test_an_integer_may_start_the_parameter(parameter: str) -> None:
    of_int = LearnableKernelRegression(parameter=parameter, initial=1)
    assert of_int.bandwidth == LearnableKernelRegression(parameter=parameter, initial=1.0).bandwidth


@pytest.mark.usefixtures("unchecked")
def test_wrong_input_is_named() -> None:
    with pytest.raises(ValueError, match=r"parameter: expected one of .*, got 'width'"):
        LearnableKernelRegression(parameter="width")
    with pytest.raises(ValueError, match="bandwidth: expected a positive number, got 0"):
        KernelRegression(bandwidth=0)
    with pytest.raises(ValueError, match=r"kernel: expected one of .*, got 'cosine'"):
        KernelRegression(kernel="cosine")
    for layer in (KernelRegression(), LearnableKernelRegression()):
        with pytest.raises(ValueError, match="values: expected one number for each key"):
            layer(torch.ones(3), torch.ones(4), torch.ones(5))
        with pytest.raises(ValueError, match="keys: expected at least one key"):
            layer.weights(torch.ones(3), torch.ones(0))
