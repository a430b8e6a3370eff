"""Peak memory: known by arithmetic, and the same as torch's profiler counts."""

import pytest
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from attention_book.attention import MultiHeadAttention
from attention_book.inspection import peak_bytes

X = torch.ones(1000)  # 4,000 bytes


def free_on_the_way(x):
    y = x + 1
    for _ in range(9):
        y = y + 1
    return y.sum()


def keep_all(x):
    return [x + number for number in range(9)]


def in_place(x):
    y = x.clone()
    for _ in range(9):
        y.add_(1)
    return y


def views(x):
    return x.view(10, 100).T[3:].unsqueeze(0)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (free_on_the_way, 8000),
        (keep_all, 36000),
        (in_place, 4000),
        (views, 0),
        (lambda x: x.mul_(1), 0),
        (lambda x: x.view(1, -1).expand(50, -1), 0),
        (lambda x: x.double(), 8000),
        (lambda x: torch.empty(0), 0),
        (lambda x: x.sum().item(), 4),
        (lambda x: None, 0),
    ],
)
def test_what_is_known_by_arithmetic(function, expected):
    assert peak_bytes(function, X.clone()) == expected


def test_what_was_there_before_counts_nothing():
    outside = [torch.ones(1000)]

    def let_go(x):
        outside.clear()
        return x + 1

    assert peak_bytes(let_go, X) == 4000


def test_what_the_backward_pass_keeps_counts():
    def exponentials(x, layers=5):
        x = x.detach().requires_grad_()
        y = x
        for _ in range(layers):
            y = y.exp()
        return torch.autograd.grad(y.sum(), x)

    assert peak_bytes(exponentials, X) >= 5 * 4000
    with torch.no_grad():
        assert peak_bytes(lambda x: x.exp().exp().exp().exp().exp(), X) == 8000


def matrices(x):
    return (x[:, None] * x).softmax(-1) @ x


def training_step(x):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(1000, 30), nn.Tanh(), nn.Linear(30, 7))
    loss = model(x).square().sum()
    loss.backward()
    return loss


def attend(x):
    heads = MultiHeadAttention(d_model=20, num_heads=4).requires_grad_(False)
    words = x.view(1, 50, 20)
    return heads.combine(heads.weights(words, words), words)


@pytest.mark.parametrize("function", [free_on_the_way, matrices, training_step, attend])
def test_the_profiler_counts_as_much(function):
    function(X)  # the first call fills caches
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        function(X)
    held = peak = 0
    for event in seen.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    # Numbers that autograd or a kernel makes for itself: a few bytes.
    assert peak_bytes(function, X) == pytest.approx(peak, abs=300, rel=0.002)


@pytest.mark.parametrize("function", [free_on_the_way, keep_all, matrices, views])
def test_on_the_meta_device_nothing_is_taken_and_all_is_counted(function):
    assert peak_bytes(function, X.to("meta")) == peak_bytes(function, X)
    if function is matrices:
        assert peak_bytes(function, torch.empty(1_000_000, device="meta")) >= 8e12


def test_calls_are_counted_each_for_itself():
    assert peak_bytes(lambda x: x + peak_bytes(keep_all, x), X) >= 4000
    assert [peak_bytes(in_place, X) for _ in range(3)] == [4000] * 3


def test_an_error_goes_through():
    with pytest.raises(RuntimeError):
        peak_bytes(lambda x: x @ torch.ones(3), X)
    assert peak_bytes(in_place, X) == 4000
