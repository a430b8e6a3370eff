import pytest
import torch
from torch import nn

from attention_book.attention import (
    AdditiveScore,
    Attention,
    DotProductAttention,
    HardAttention,
    MultiHeadAttention,
    RelativePositions,
    ScaledDotScore,
    causal_mask,
)
from attention_book.foundations import strict
from attention_book.inspection import capture_attention

BATCH, LENGTH, WIDTH = 2, 5, 3


class Reader(nn.Module):
    """Two attention modules and dropout in and between them, called by position and by name."""

    def __init__(self, second=None):
        super().__init__()
        self.first = DotProductAttention(dropout=0.5)
        self.between = nn.Dropout(0.5)
        self.second = second or Attention(AdditiveScore(d_q=WIDTH, d_k=WIDTH, d_hidden=7))

    def forward(self, x, mask):
        x = self.between(self.first(x, x, x, mask))
        return self.second(keys=x, queries=x, values=x, mask=mask)


@pytest.fixture
def x():
    torch.manual_seed(0)
    return torch.randn(BATCH, LENGTH, WIDTH, dtype=torch.float64)


@pytest.fixture
def model():
    torch.manual_seed(1)
    return Reader().double()


def hooks(model):
    return [
        hook
        for module in model.modules()
        for hook in (*module._forward_hooks, *module._forward_pre_hooks)
    ]


def test_weights_times_values_is_what_the_module_returned(x):
    attention, mask = DotProductAttention(), causal_mask(LENGTH)
    with capture_attention(attention) as seen:
        output = attention(x, x, x, mask)
    assert list(seen) == ["DotProductAttention"]
    torch.testing.assert_close(seen["DotProductAttention"][0] @ x, output)
    assert (seen["DotProductAttention"][0][..., ~mask] == 0).all()


def test_each_submodule_is_seen_under_its_name_once_per_call(model, x):
    with capture_attention(model) as seen:
        model(x, causal_mask(LENGTH))
        model(2 * x, None)
    assert {name: len(calls) for name, calls in seen.items()} == {"first": 2, "second": 2}
    torch.testing.assert_close(seen["first"][1], model.first.weights(2 * x, 2 * x))


@pytest.mark.parametrize("second", [None, HardAttention(ScaledDotScore(), choice="sample")])
def test_outputs_and_random_numbers_are_those_of_a_run_without_capturing(x, second):
    model = Reader(second).double()
    torch.manual_seed(5)
    plain, after_plain = model(x, None), torch.rand(3)
    torch.manual_seed(5)
    with capture_attention(model):
        captured = model(x, None)
    torch.testing.assert_close(captured, plain, rtol=0, atol=0)
    torch.testing.assert_close(torch.rand(3), after_plain, rtol=0, atol=0)


def test_a_sampled_choice_is_seen_as_it_was_made(x):
    hard = HardAttention(ScaledDotScore(), choice="sample")
    with capture_attention(hard) as seen:
        outputs = [hard(x, x, x) for _ in range(20)]
    for weights, output in zip(seen["HardAttention"], outputs, strict=True):
        torch.testing.assert_close(weights @ x, output)


def test_no_graph_is_kept_and_gradients_still_flow(model, x):
    x.requires_grad_()
    with capture_attention(model) as seen:
        model(x, None).sum().backward()
    assert x.grad is not None
    assert not any(weights.requires_grad for calls in seen.values() for weights in calls)


def test_nothing_stays_in_the_model(model, x):
    before = {name: dict(vars(module)) for name, module in model.named_modules()}
    with capture_attention(model):
        assert hooks(model)
        model(x, None)
    assert hooks(model) == []
    after = {name: dict(vars(module)) for name, module in model.named_modules()}
    assert {n: set(v) for n, v in after.items()} == {n: set(v) for n, v in before.items()}


def test_an_error_in_the_model_removes_the_hooks_too(model, x):
    with pytest.raises(TypeError), capture_attention(model):
        model(x, torch.zeros(LENGTH, LENGTH))
    assert hooks(model) == []


def test_a_call_that_failed_does_not_disturb_the_next(x):
    hard = HardAttention(ScaledDotScore(), choice="sample")
    with capture_attention(hard) as seen:
        with pytest.raises(TypeError):
            hard(x, x, x, torch.zeros(LENGTH, LENGTH))
        torch.rand(1)
        output = hard(x, x, x)
    torch.testing.assert_close(seen["HardAttention"][0] @ x, output)


def test_a_model_without_attention_is_refused():
    refused = pytest.raises(ValueError, match="no submodule of Linear has a weights method")
    with refused, capture_attention(nn.Linear(2, 2)):
        pass


class Stacked(nn.Module):
    """Its weights come from those of another attention that it calls."""

    def __init__(self):
        super().__init__()
        self.inner = DotProductAttention()

    def weights(self, queries, keys, mask=None):
        return self.inner.weights(self.inner(queries, keys, keys, mask), keys, mask)

    def forward(self, queries, keys, values, mask=None):
        return self.weights(queries, keys, mask) @ values


def test_calls_made_only_to_recompute_are_not_collected(x):
    model = Stacked()
    with capture_attention(model) as seen:
        outputs = [model(x, x, x), model(2 * x, x, x)]
    assert {name: len(calls) for name, calls in seen.items()} == {"Stacked": 2, "inner": 2}
    for weights, output in zip(seen["Stacked"], outputs, strict=True):
        torch.testing.assert_close(weights @ x, output)
    torch.testing.assert_close(seen["inner"][1], model.inner.weights(2 * x, x))


def test_a_shared_module_called_twice_in_one_run_is_seen_twice_in_order(x):
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = self.again = DotProductAttention()

        def forward(self, x):
            return self.again(self.attention(x, x, x), x, x)

    model = Twice()
    with capture_attention(model) as seen:
        model(x)
    first = model.attention.weights(x, x)
    assert list(seen) == ["attention"]
    torch.testing.assert_close(seen["attention"][0], first)
    torch.testing.assert_close(seen["attention"][1], model.attention.weights(first @ x, x))


def test_a_layer_that_is_called_weights_is_no_attention(x):
    model = nn.Module()
    model.weights = nn.Linear(WIDTH, WIDTH)
    with pytest.raises(ValueError, match="no submodule"), capture_attention(model):
        pass


def test_weights_that_ask_for_more_than_forward_are_named(x):
    class Greedy(DotProductAttention):
        def weights(self, queries, keys, temperature):
            raise AssertionError

    model = Greedy()
    refused = pytest.raises(TypeError, match=r"Greedy.weights: expected .*, got temperature")
    with refused, capture_attention(model):
        model(x, x, x)
    assert hooks(model) == []


def test_the_weights_of_every_head_are_seen_however_it_is_called(x):
    positions = RelativePositions(d_k=WIDTH, max_distance=2)
    attention = MultiHeadAttention(d_model=2 * WIDTH, num_heads=2, positions=positions).double()
    x = torch.cat([x, 2 * x], dim=-1)
    mask, past = causal_mask(LENGTH), attention.project(x)
    with capture_attention(attention) as seen:
        attention(x, x, x, mask)
        attention(x, past, mask=mask)
        attention(x[:, 3:], past, mask=mask[3:], offset=3)
    raw, projected, later = seen["MultiHeadAttention"]
    torch.testing.assert_close(raw, attention.weights(x, x, mask))
    torch.testing.assert_close(projected, raw)
    torch.testing.assert_close(later, raw[:, :, 3:])
    assert list(seen) == ["MultiHeadAttention"]


# A graph calls no module, and a shell is not what it holds: whatever was made of a model, its
# weights are seen under its own names, or one sentence says what to capture.


class Wrapped(nn.Module):
    """Two attentions below a module of its own."""

    def __init__(self):
        super().__init__()
        self.reader = Reader().eval()

    def forward(self, x, mask=None):
        return self.reader(x, mask)


def compiled(model):
    return torch.compile(model, backend="eager")


def compiled_in_place(model):
    model.compile(backend="eager")
    return model


def partly_compiled(model):
    model.reader.first = compiled(model.reader.first)
    return model


def compiled_below(model):
    model.reader = compiled(model.reader)
    return model


def whole_graph(model):
    return torch.compile(model, backend="eager", fullgraph=True)


def called_by_a_compiled_function(model):
    return compiled(lambda x: model(x))


MADE = [compiled, compiled_in_place, partly_compiled, compiled_below, whole_graph]
MADE += [called_by_a_compiled_function, nn.DataParallel]


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_whatever_was_made_of_a_model_is_seen(x, make, warm, unchecked):
    torch.compiler.reset()
    model = Wrapped().double()
    expected = {}
    with capture_attention(model) as plain:
        model(x)
    expected = {name: calls[0] for name, calls in plain.items()}
    made = make(model)
    if warm:
        made(x)
    watched = made if isinstance(made, nn.Module) else model
    with capture_attention(watched) as seen:
        output = made(x)
    found = {name.removeprefix("module."): calls for name, calls in seen.items()}
    assert found.keys() == expected.keys()
    for name, calls in found.items():
        assert len(calls) == 1
        torch.testing.assert_close(calls[0], expected[name])
    torch.testing.assert_close(output, model(x))
    assert hooks(model) == []


@pytest.mark.filterwarnings("default")  # a kernel that is mapped by a slow rule
def test_what_a_transform_maps_is_seen_when_it_is_over(x):
    attention = DotProductAttention()
    rows = torch.stack((x, 2 * x, 3 * x))
    with strict(False), capture_attention(attention) as seen:  # no data are read under vmap
        torch.func.vmap(lambda x: attention(x, x, x))(rows)
    [mapped] = seen["DotProductAttention"]
    torch.testing.assert_close(mapped, torch.stack([attention.weights(x, x) for x in rows]))
    with capture_attention(attention) as seen:
        torch.func.grad(lambda x: attention(x, x, x).sum())(x)
    [found] = seen["DotProductAttention"]
    assert type(found) is torch.Tensor
    torch.testing.assert_close(found * 1, attention.weights(x, x))


def test_a_functional_call_is_seen(x):
    model = Reader().double().eval()
    with capture_attention(model) as seen:
        torch.func.functional_call(model, dict(model.named_parameters()), (x, None))
    assert [len(calls) for calls in seen.values()] == [1, 1]


@pytest.mark.filterwarnings("ignore:.*torch.jit.trace")
def test_a_program_says_what_to_capture_instead(x, unchecked):
    program = torch.export.export(Wrapped().double(), (x,)).module()
    traced = torch.jit.trace(nn.Linear(WIDTH, WIDTH).double(), x)
    for made in (program, traced):
        refused = pytest.raises(ValueError, match="capture the model that this program was made")
        with refused, capture_attention(made):
            made(x)
    for thing in (DotProductAttention, len, None):
        with pytest.raises(TypeError, match="model: expected a module"), capture_attention(thing):
            pass


def test_a_block_without_a_call_says_so(x):
    model, twin = Reader().double(), Reader().double()
    for call in (lambda: None, lambda: twin(x, None), lambda: model.first.forward(x, x, x)):
        refused = pytest.raises(ValueError, match="model: expected a call of it in the block")
        with refused, capture_attention(model):
            call()
    assert hooks(model) == []


def test_a_module_that_is_replaced_in_the_block_is_named(x):
    model = Reader().double()
    refused = pytest.raises(ValueError, match="second: expected the module that was there when")
    with refused, capture_attention(model):
        model.second = DotProductAttention()
        model(x, None)
