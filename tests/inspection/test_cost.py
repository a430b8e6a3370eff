"""What a layer costs: operations and memory are those that happen."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile

from attention_book.attention import DotProductAttention, MultiHeadAttention, causal_mask
from attention_book.inspection import peak_bytes
from attention_book.inspection.cost import operations, sequential_steps

# --- cost --------------------------------------------------------------------------------------


sizes = st.integers(1, 7)


@settings(max_examples=40)
@given(m=sizes, k=sizes, n=sizes, batch=sizes)
def test_a_product_counts_each_multiplication_and_each_addition(m, k, n, batch):
    one, other = torch.randn(batch, m, k), torch.randn(batch, k, n)
    assert operations(torch.matmul, one, other) == 2 * batch * m * k * n
    assert operations(torch.mv, one[0], other[0, :, 0]) == 2 * m * k
    assert operations(torch.dot, one[0, 0], other[0, :, 0]) == 2 * k


@settings(max_examples=40)
@given(n=sizes, d=sizes)
def test_the_three_layers_of_the_table(n, d):
    x = torch.randn(1, n, d)
    convolution = nn.Conv1d(d, d, kernel_size=3, padding=1)
    assert operations(lambda x: convolution(x.mT), x) == 2 * 3 * n * d**2
    recurrent = nn.RNN(d, d, batch_first=True)
    assert operations(lambda x: recurrent(x)[0], x) == 2 * 2 * n * d**2
    attention = DotProductAttention()
    assert operations(attention, x, x, x) == 2 * 2 * n**2 * d
    assert operations(attention, x, x, x, causal_mask(n)) == 2 * 2 * n**2 * d


@pytest.mark.parametrize("training", [True, False])
def test_torchs_own_attention_can_be_counted(training):
    n, d, d_ff = 5, 6, 7
    layer = nn.TransformerEncoderLayer(d, 2, d_ff, batch_first=True).train(training)
    projections, products, feed_forward = 4 * 2 * n * d**2, 2 * 2 * n**2 * d, 2 * 2 * n * d * d_ff
    assert operations(layer, torch.randn(1, n, d)) == projections + products + feed_forward


def test_what_is_no_product_counts_nothing():
    assert operations(lambda x: x.softmax(-1) + x.tanh(), torch.randn(3, 4)) == 0


@pytest.mark.parametrize("layer", [nn.RNN, nn.GRU, nn.LSTM])
@pytest.mark.parametrize("length", [2, 11, 300])
def test_recurrence_takes_as_many_steps_as_there_are_positions(layer, length):
    recurrent = layer(3, 5, batch_first=True).double()
    x = torch.randn(1, length, 3).double()
    assert sequential_steps(lambda x: recurrent(x)[0], x) == length


@pytest.mark.parametrize("length", [1, 2, 11, 300])
def test_attention_takes_as_many_steps_for_any_length(length):
    x = torch.randn(1, length, 8)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    for need_weights in (True, False):

        def run(x, need_weights=need_weights):
            return attention(x, x, x, need_weights=need_weights)[0]

        assert sequential_steps(run, x) == 4  # project, score, average, project
    fused = DotProductAttention()
    assert sequential_steps(lambda x: fused(x, x, x), x) == 2


def test_the_longest_chain_counts():
    weight = torch.randn(3, 3, requires_grad=True)

    def two_ways(x):
        return x @ weight + x @ weight @ weight.tanh() @ weight

    assert sequential_steps(two_ways, torch.randn(2, 3)) == 3
    stack = nn.Sequential(*(nn.Conv1d(2, 2, 3, padding=1) for _ in range(5)))
    assert sequential_steps(stack, torch.randn(1, 2, 4)) == 5
    assert sequential_steps(torch.tanh, torch.randn(2)) == 0


def test_token_numbers_are_counted_from_their_vectors_on():
    embedding = nn.Embedding(7, 3)
    weight = torch.randn(3, 3)
    assert sequential_steps(lambda ids: embedding(ids) @ weight, torch.tensor([1, 2])) == 1


def test_counting_leaves_no_trace():
    x = torch.randn(2, 3)
    layer = nn.Linear(3, 3)
    with torch.no_grad():
        assert sequential_steps(layer, x) == 1
        assert not torch.is_grad_enabled()
    assert not x.requires_grad
    assert layer.weight.grad is None


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(ValueError, match="expected an output that torch can differentiate"):
        sequential_steps(lambda x: x.detach(), torch.randn(3))
    with pytest.raises(ValueError, match="expected an output that torch can differentiate"):
        sequential_steps(lambda ids: F.one_hot(ids), torch.tensor([1, 2]))


def test_a_layer_that_hides_its_steps_is_refused():
    # In single precision torch may run an LSTM in one piece, as the processor allows.
    recurrent, x = nn.LSTM(3, 5, batch_first=True), torch.randn(1, 7, 3)
    name = recurrent(x)[0].grad_fn.next_functions[0][0].name()
    if "Mkldnn" in recurrent(x)[0].grad_fn.name() + name:
        with pytest.raises(ValueError, match="one node for a whole recurrent layer"):
            sequential_steps(lambda x: recurrent(x)[0], x)
    else:
        assert sequential_steps(lambda x: recurrent(x)[0], x) == 7


# --- memory ------------------------------------------------------------------------------------


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
