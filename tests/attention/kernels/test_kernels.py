"""Kernels and Nadaraya-Watson regression: oracles in plain Python, limits, and golden numbers."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book import set_seed
from attention_book.attention import (
    KERNELS,
    Kernel,
    KernelRegression,
    average_pooling,
    kernel_weights,
    leave_one_out_error,
    nadaraya_watson,
)
from attention_book.course.datasets import RegressionData, sine_data
from attention_book.foundations import strict

every_kernel = pytest.mark.parametrize("name", KERNELS)

PLAIN_DENSITIES = {
    "gaussian": lambda u: math.exp(-u * u / 2) / math.sqrt(2 * math.pi),
    "boxcar": lambda u: 0.5 if abs(u) <= 1 else 0.0,
    "epanechnikov": lambda u: 0.75 * (1 - u * u) if abs(u) < 1 else 0.0,
    "triangular": lambda u: 1 - abs(u) if abs(u) < 1 else 0.0,
}


def draw_numbers(num_queries: int = 5, num_keys: int = 7) -> tuple[torch.Tensor, ...]:
    """Queries, keys and values in double precision, with two batch axes of 2 and 3."""
    set_seed(0)
    queries = torch.randn(2, 3, num_queries, dtype=torch.float64)
    keys, values = torch.randn(2, 2, 3, num_keys, dtype=torch.float64)
    return queries, keys, values


@pytest.fixture
def golden() -> RegressionData:
    """The data of the chapter: one 10 x 10 draw comes before it."""
    set_seed(42)
    torch.randn(10, 10)
    return sine_data()


# --- the densities ---------------------------------------------------------------------------


@every_kernel
@given(u=st.floats(-3, 3))
def test_a_density_is_its_formula_and_symmetric(name: str, u: float) -> None:
    scaled = torch.tensor([u, -u], dtype=torch.float64)
    assert KERNELS[name].density(scaled).tolist() == pytest.approx([PLAIN_DENSITIES[name](u)] * 2)


@every_kernel
def test_the_log_density_is_the_log_of_the_density(name: str) -> None:
    u = torch.linspace(-2, 2, 81, dtype=torch.float64)
    kernel = KERNELS[name]
    torch.testing.assert_close(kernel.log_density(u), kernel.density(u).log())


@pytest.mark.parametrize("name", ["gaussian", "epanechnikov", "triangular"])
def test_the_log_density_has_a_finite_gradient_even_where_it_is_minus_infinity(name: str) -> None:
    u = torch.tensor([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0], requires_grad=True)
    KERNELS[name].log_density(u).sum().backward()
    assert u.grad.isfinite().all()


# --- the weights -----------------------------------------------------------------------------


@every_kernel
def test_weights_are_the_quotient_of_plain_densities(name: str) -> None:
    queries, keys, _ = draw_numbers()
    weights = kernel_weights(queries, keys, kernel=name, bandwidth=1.7)
    density = PLAIN_DENSITIES[name]
    for batch in [(a, b) for a in range(2) for b in range(3)]:
        for i, query in enumerate(queries[batch].tolist()):
            row = [density((query - key) / 1.7) for key in keys[batch].tolist()]
            expected = [likeness / sum(row) if sum(row) else 0.0 for likeness in row]
            assert weights[*batch, i].tolist() == pytest.approx(expected)


@every_kernel
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_weights_keep_the_precision_of_the_queries(name: str, dtype: torch.dtype) -> None:
    queries, keys, values = (tensor.to(dtype) for tensor in draw_numbers())
    bandwidth = torch.tensor(2.0, dtype=torch.float64)
    output = nadaraya_watson(queries, keys, values, kernel=name, bandwidth=bandwidth)
    assert output.dtype == dtype
    assert output.isfinite().all()


def test_a_kernel_of_your_own_is_accepted() -> None:
    """The tricube kernel, from its formula."""

    def tricube(u: torch.Tensor) -> torch.Tensor:
        return 70 / 81 * (1 - u.abs().clamp(max=1) ** 3) ** 3

    own = Kernel("tricube", tricube, lambda u: tricube(u).log())
    weights = kernel_weights(torch.tensor([0.0]), torch.tensor([0.0, 0.5, 2.0]), kernel=own)
    near, far = (70 / 81, 70 / 81 * (1 - 0.5**3) ** 3)
    assert weights[0].tolist() == pytest.approx([near / (near + far), far / (near + far), 0])


# --- the predictions -------------------------------------------------------------------------


@every_kernel
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    queries, keys, values = (t[0, 0].requires_grad_() for t in draw_numbers(3, 4))
    bandwidth = torch.tensor(3.1, dtype=torch.float64, requires_grad=True)

    def predict(*inputs: torch.Tensor) -> torch.Tensor:
        q, k, v, h = inputs
        return nadaraya_watson(q, k, v, kernel=name, bandwidth=h)

    assert torch.autograd.gradcheck(predict, (queries, keys, values, bandwidth))


def test_a_wide_kernel_becomes_the_average_and_a_narrow_one_the_nearest_neighbor() -> None:
    queries, keys, values = draw_numbers()
    nearest = (queries[..., :, None] - keys[..., None, :]).abs().argmin(dim=-1)
    wide = nadaraya_watson(queries, keys, values, bandwidth=1e5)
    narrow = nadaraya_watson(queries, keys, values, bandwidth=1e-4)
    torch.testing.assert_close(wide, average_pooling(queries, keys, values))
    torch.testing.assert_close(narrow, values.gather(-1, nearest))


def test_leaving_one_out_is_a_loop_over_the_others() -> None:
    _, keys, values = (tensor[0, 0] for tensor in draw_numbers())
    squared_errors = []
    for i in range(len(keys)):
        others = [j for j in range(len(keys)) if j != i]
        prediction = nadaraya_watson(keys[i : i + 1], keys[others], values[others], bandwidth=0.7)
        squared_errors.append((prediction.item() - values[i].item()) ** 2)
    expected = sum(squared_errors) / len(squared_errors)
    assert leave_one_out_error(keys, values, bandwidth=0.7).item() == pytest.approx(expected)


def test_the_numbers_of_the_chapter(golden: RegressionData) -> None:
    data = golden
    mean = average_pooling(data.x_test, data.x_train, data.y_train)
    curve = nadaraya_watson(data.x_test, data.x_train, data.y_train)
    assert data.n_test == 50
    assert mean[0].item() == pytest.approx(2.317400, abs=1e-5)
    assert (mean - data.y_true).square().mean().item() == pytest.approx(0.8858, abs=5e-5)
    assert (curve - data.y_true).square().mean().item() == pytest.approx(0.4418, abs=5e-5)
    weights = kernel_weights(data.x_test, data.x_train)
    assert weights.max().item() == pytest.approx(0.0863, abs=5e-5)


def test_more_data_help_only_a_bandwidth_that_shrinks() -> None:
    """Consistency: with h = 1 the bias stays; with h = n^(-1/5) the error goes to 0."""
    fixed, shrinking = [], []
    for n in (50, 500, 5000):
        set_seed(42)
        data = sine_data(n_train=n)
        for errors, bandwidth in ((fixed, 1.0), (shrinking, n ** (-1 / 5))):
            curve = nadaraya_watson(data.x_test, data.x_train, data.y_train, bandwidth=bandwidth)
            errors.append((curve - data.y_true).square().mean().item())
    assert all(0.35 < error < 0.55 for error in fixed)
    assert shrinking[0] > 2 * shrinking[1] > 4 * shrinking[2]
    assert shrinking[2] < 0.01


# --- wrong input -----------------------------------------------------------------------------


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bandwidth": 0.0}, "bandwidth: expected a positive number, got 0"),
        ({"bandwidth": -1.5}, "bandwidth: expected a positive number, got -1.5"),
        ({"bandwidth": math.nan}, "bandwidth: expected a positive number, got nan"),
        ({"bandwidth": torch.ones(3)}, r"bandwidth: expected one number, got the shape \(3,\)"),
        ({"kernel": "sinc"}, "kernel: expected one of .*'gaussian'.*, got 'sinc'"),
        ({"keys": torch.ones(0)}, r"keys: expected at least one key, got the shape \(0,\)"),
        ({"keys": torch.ones(2, 4)}, r"queries and keys: .* got the shapes \(3,\) and \(2, 4\)"),
        ({"queries": torch.tensor(1.0)}, r"queries and keys: .* got the shapes \(\) and \(4,\)"),
        ({"keys": torch.tensor([0, 1, math.nan, 3])}, "scores: .*nan"),
    ],
)
def test_wrong_input_is_named(arguments: dict[str, object], message: str) -> None:
    valid = {"queries": torch.ones(3), "keys": torch.ones(4)}
    with pytest.raises(ValueError, match=message):
        kernel_weights(**(valid | arguments))


@every_kernel
def test_a_key_that_is_nan_is_never_taken_for_a_far_one(name: str) -> None:
    keys = torch.tensor([0.0, math.nan, 1.0])
    with pytest.raises(ValueError, match=r"scores: .* got scores\[0, 1\] = nan"):
        kernel_weights(torch.zeros(2), keys, kernel=name)
    hidden = torch.tensor([[True, False, True]])
    weights = kernel_weights(torch.zeros(2), keys, kernel=name, mask=hidden)
    expected = kernel_weights(torch.zeros(2), keys[[0, 2]], kernel=name)
    torch.testing.assert_close(weights[:, [0, 2]], expected)


@pytest.mark.usefixtures("unchecked")
def test_one_bandwidth_may_have_any_shape() -> None:
    queries, keys = torch.rand(3), torch.rand(4)
    for shape in ((), (1,), (1, 1, 1)):
        weights = kernel_weights(queries, keys, bandwidth=torch.full(shape, 0.5))
        torch.testing.assert_close(weights, kernel_weights(queries, keys, bandwidth=0.5))


@pytest.mark.usefixtures("unchecked")
def test_whole_numbers_must_be_floating_point_too() -> None:
    with pytest.raises(TypeError, match=r"queries and keys: .*float32 and torch\.int64"):
        kernel_weights(torch.rand(3), torch.arange(4), bandwidth=0.5)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_float_mask_is_refused(kernel) -> None:
    mask, values = torch.ones(3, 4), torch.ones(4)
    for call in (
        lambda: kernel_weights(torch.ones(3), torch.ones(4), kernel=kernel, mask=mask),
        lambda: nadaraya_watson(torch.ones(3), torch.ones(4), values, kernel=kernel, mask=mask),
        lambda: KernelRegression(kernel=kernel)(torch.ones(3), torch.ones(4), values, mask),
    ):
        with pytest.raises(TypeError, match="float32; a float is a bias, never a mask"):
            call()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("shape", [(2, 4), (3, 5), (2, 3, 4), (4,)])
def test_a_mask_of_another_shape_is_named(kernel, shape) -> None:
    for predict in (
        lambda mask: kernel_weights(torch.ones(3), torch.ones(4), kernel=kernel, mask=mask),
        lambda mask: nadaraya_watson(
            torch.ones(3), torch.ones(4), torch.ones(4), kernel=kernel, mask=mask
        ),
    ):
        with pytest.raises(ValueError, match="mask: expected a shape that broadcasts to"):
            predict(torch.ones(shape, dtype=torch.bool))


@pytest.mark.usefixtures("unchecked")
def test_values_must_match_the_keys() -> None:
    for predict in (nadaraya_watson, average_pooling):
        with pytest.raises(ValueError, match=r"values: .*shape \(4,\), got the shape \(5,\)"):
            predict(torch.ones(3), torch.ones(4), torch.ones(5))


@pytest.mark.usefixtures("unchecked")
def test_one_key_can_not_be_left_out() -> None:
    for keys in (torch.ones(1), torch.ones(0), torch.tensor(1.0)):
        with pytest.raises(ValueError, match="keys: expected at least 2 to leave one out, got"):
            leave_one_out_error(keys, keys)


# A density that underflows is not a key that is hidden: the nearest keys keep their weights,
# however far all of them are. Only a kernel of bounded support has nobody in reach.


@pytest.mark.parametrize(
    ("keys", "bandwidth", "expected"),
    [
        ([1e20, 1.1e20, -3e20], 1.0, [1.0, 0.0, 0.0]),
        ([2e20, 1e20, 1e20], 1.0, [0.0, 0.5, 0.5]),
        ([3e38, -3e38], 1.0, [0.5, 0.5]),
        ([1.0, 2.0, -1.0], 1e-40, [0.5, 0.0, 0.5]),
        ([300.0, 400.0], 1.0, [1.0, 0.0]),
        ([0.0, 1e20], 1.0, [1.0, 0.0]),
    ],
)
def test_far_from_all_keys_the_nearest_still_count(keys, bandwidth, expected) -> None:
    query, keys, wanted = torch.tensor([0.0]), torch.tensor(keys), torch.tensor([expected])
    assert torch.equal(kernel_weights(query, keys, bandwidth=bandwidth), wanted)
    hidden = torch.cat((keys, torch.tensor([0.0]))), torch.tensor([[True] * len(keys) + [False]])
    found = kernel_weights(query, hidden[0], bandwidth=bandwidth, mask=hidden[1])
    assert torch.equal(found, torch.nn.functional.pad(wanted, (0, 1)))
    nobody = torch.zeros(1, len(keys), dtype=torch.bool)
    assert not kernel_weights(query, keys, bandwidth=bandwidth, mask=nobody).any()
    assert not kernel_weights(query + 5, keys + 50, kernel="boxcar").any()


@pytest.mark.parametrize("narrow", [torch.float16, torch.bfloat16])
def test_in_half_precision_a_square_has_room(narrow) -> None:
    query, keys = torch.tensor([0.0]), torch.tensor([400.0, 402.0, 5e4])
    found = kernel_weights(query.to(narrow), keys.to(narrow))
    exact = kernel_weights(query.double(), keys.to(narrow).double())
    assert found.dtype == narrow
    torch.testing.assert_close(found.double(), exact, rtol=1e-2, atol=1e-2)


def test_gradients_far_from_all_keys_are_finite() -> None:
    query, keys = torch.tensor([0.0, 1e20]), torch.tensor([1.0, 1e20, 2e20])
    width = torch.tensor(1.0)
    for each in (query, keys, width):
        each.requires_grad_()
    nadaraya_watson(query, keys, torch.tensor([1.0, 2.0, 3.0]), bandwidth=width).sum().backward()
    assert all(each.grad.isfinite().all() for each in (query, keys, width))


def test_a_bandwidth_on_a_device_is_not_read_back(reads_of) -> None:
    query, keys = torch.randn(3), torch.randn(5)
    assert reads_of(lambda: kernel_weights(query, keys, bandwidth=torch.tensor(2.0))) == 0
    with strict(False), pytest.raises(ValueError, match="bandwidth: expected a positive number"):
        kernel_weights(query, keys, bandwidth=-1.0)
