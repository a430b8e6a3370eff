"""Laws of low-rank adaptation: B = 0 is the old model, merged is unmerged, little is trained."""

import copy

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.attention import MultiHeadAttention
from attention_book.inspection import capture_attention
from attention_book.models import (
    LanguageConfig,
    LanguageModel,
    LoRA,
    add_lora,
    load_lora,
    lora_state,
    merge_lora,
)
from attention_book.training import descend, next_token_loss

EXACT = {"rtol": 0, "atol": 1e-12}
D_IN, D_OUT = 11, 7
EVERY = ["W_q", "W_k", "W_v", "W_o", "W_1", "W_2", "readout"]


def make(*, bias: bool = True, rank: int = 3, **changes) -> LoRA:
    """A change whose B is not zero, in double precision."""
    lora = LoRA(nn.Linear(D_IN, D_OUT, bias=bias).double(), rank=rank, **changes)
    nn.init.normal_(lora.B)
    return lora


def language_model(**changes) -> LanguageModel:
    sizes = {"d_model": 10, "num_heads": 5, "d_ff": 13, "num_layers": 2, "dropout": 0.0}
    return LanguageModel(LanguageConfig(vocabulary=17, **sizes, **changes)).double()


def shaken(model: nn.Module) -> nn.Module:
    """Give every change a B that is not zero."""
    for module in model.modules():
        if isinstance(module, LoRA):
            nn.init.normal_(module.B)
    return model


def trained(module: nn.Module) -> list[Tensor]:
    return [p for p in module.parameters() if p.requires_grad]


@pytest.fixture
def tokens() -> Tensor:
    return torch.randint(4, 17, (3, 5))


@pytest.mark.parametrize("bias", [True, False])
def test_the_equation_row_by_row(bias) -> None:
    lora, x = make(bias=bias, alpha=2.0), torch.randn(2, 5, D_IN).double()
    expected = lora.base(x)
    for row, up in enumerate(lora.B):
        expected[..., row] += 2.0 / 3 * sum(up[r] * (x @ lora.A[r]) for r in range(3))
    torch.testing.assert_close(lora(x), expected, **EXACT)
    torch.testing.assert_close(F.linear(x, lora.weight, lora.bias), expected, **EXACT)
    torch.testing.assert_close(lora.merged()(x), expected, **EXACT)
    assert "rank=3, alpha=2" in repr(lora)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_it_begins_as_the_old_map_bit_for_bit(dtype) -> None:
    base, x = nn.Linear(D_IN, D_OUT).to(dtype), torch.randn(2, 5, D_IN).to(dtype)
    lora = LoRA(base, rank=3)
    assert lora.A.any()
    assert lora(x).dtype is dtype
    assert torch.equal(lora(x), base(x))
    assert torch.equal(lora.weight, base.weight)


def test_it_trains_rank_times_the_sum_of_the_sizes() -> None:
    lora = make()
    assert sum(p.numel() for p in trained(lora)) == 3 * (D_IN + D_OUT)
    lora(torch.randn(2, D_IN).double()).sum().backward()
    assert lora.base.weight.grad is None
    assert lora.base.bias.grad is None
    assert lora.A.grad.any()
    assert lora.B.grad.any()


@pytest.mark.parametrize("tied", [False, True])
def test_a_model_begins_as_before_and_only_the_changes_are_trained(tied, tokens) -> None:
    model = language_model(tied=tied)
    before, old = model(tokens), copy.deepcopy(model.state_dict())
    paths = add_lora(model, EVERY, rank=2)
    assert len(paths) == 2 * 6 + 1
    assert len(set(paths)) == len(paths)
    assert torch.equal(model(tokens), before)
    assert sum(p.numel() for p in trained(model)) == 2 * (
        2 * (4 * (10 + 10) + 2 * (10 + 13)) + (10 + 17)
    )
    optimizer = torch.optim.AdamW(trained(model), lr=0.01, weight_decay=0.1)
    real = torch.ones_like(tokens, dtype=torch.bool)
    losses = [
        r.loss for r in descend(lambda: next_token_loss(model, tokens, real), optimizer, steps=20)
    ]
    assert losses[-1] < losses[0] - 0.1
    kept = {path.replace("base.", ""): value for path, value in model.state_dict().items()}
    assert all(torch.equal(kept[path], value) for path, value in old.items())


@pytest.mark.parametrize("tied", [False, True])
def test_merged_is_unmerged_in_a_whole_model(tied, tokens) -> None:
    model = language_model(tied=tied, positions="rotary")
    add_lora(model, EVERY, rank=2)
    expected, embedding = shaken(model)(tokens), model.stack.embedding.weight.clone()
    old = model.state_dict().keys()
    paths = merge_lora(model)
    assert sorted(paths)[:2] == ["readout", "stack.layers.0.feed_forward.W_1"]
    assert not any(isinstance(module, LoRA) for module in model.modules())
    assert len(model.state_dict()) < len(old)
    assert not trained(model)
    torch.testing.assert_close(model(tokens), expected, **EXACT)
    assert torch.equal(model.stack.embedding.weight, embedding)  # though the readout shared it
    assert merge_lora(model) == []


def test_a_changed_model_steps_with_its_cache_and_shows_its_weights(tokens) -> None:
    model = language_model(positions="rotary").eval()
    add_lora(model, EVERY, rank=2)
    at_once, state = shaken(model)(tokens), model.start(3)
    for place, token in enumerate(tokens.T):
        logits, state = model.step(token, state)
        torch.testing.assert_close(logits, at_once[:, place], rtol=0, atol=1e-10)
    with capture_attention(model) as seen:
        model(tokens)
    merge_lora(model)
    with capture_attention(model) as merged:
        model(tokens)
    for name in seen:
        torch.testing.assert_close(seen[name][0], merged[name][0], **EXACT)
    assert not any(module.training for module in model.modules())


def test_changes_alone_are_saved_and_loaded(tokens) -> None:
    model = language_model()
    other = copy.deepcopy(model)
    for each in (model, other):
        add_lora(each, ["W_q", "W_v", "W_1"], rank=2)
    state = lora_state(shaken(model))
    assert sum(part.numel() for part in state.values()) == sum(p.numel() for p in trained(model))
    load_lora(other, state)
    assert torch.equal(other(tokens), model(tokens))
    before = copy.deepcopy(state)
    shaken(model)
    assert all(torch.equal(state[path], part) for path, part in before.items())  # a copy
    again = copy.deepcopy(other)
    again.load_state_dict(model.state_dict())
    assert torch.equal(again(tokens), model(tokens))


def test_a_state_that_does_not_fit_loads_nothing() -> None:
    model = language_model()
    add_lora(model, ["W_1"], rank=2)
    before = lora_state(model)
    path = next(reversed(before))
    missing = {name: part + 1 for name, part in before.items() if name != path}
    wrong = {name: part + 1 for name, part in before.items()} | {path: torch.zeros(3, 3)}
    bare = {name: part for name, part in before.items() if "=" not in name}
    two = {name.replace("alpha=2", "alpha=two"): part for name, part in before.items()}
    cases = [
        (bare, r"W_1\.alpha: expected it beside A and B"),
        (two, "W_1: expected what lora_state returned, got could not"),
        (missing, rf"state: .* got {path}"),
        (missing | {path: before[path], "W_9.A": before[path]}, r"state: .* got W_9\.A"),
        (wrong, rf"{path}: expected the shape \(13, 2\), got \(3, 3\)"),
    ]
    for state, message in cases:
        with pytest.raises(ValueError, match=message):
            load_lora(model, state)
        assert all(torch.equal(part, before[name]) for name, part in lora_state(model).items())
    whole = {name: part for name, part in model.state_dict().items() if "alpha" not in name}
    with pytest.raises(RuntimeError, match=r"Missing key.*W_1\.alpha"):
        model.load_state_dict(whole)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("targets", "rank", "alpha", "message"),
    [
        (["W_o"], 0, None, "rank: expected at least 1, got 0"),
        (["W_1", "W_o"], 11, None, "rank: expected at most 10"),
        (["W_o"], 2, 0.0, "alpha: expected a positive number"),
        (["W_o", "W_z"], 2, None, "targets: .* got 'W_z'"),
        ([], 2, None, "targets: expected at least one"),
        ("W_o", 2, None, "targets: expected a list of names, got the text 'W_o'"),
        (["embedding"], 2, None, "targets: .* got 'embedding'"),
    ],
)
def test_a_model_is_left_alone_where_settings_do_not_fit(targets, rank, alpha, message) -> None:
    model = language_model()
    with pytest.raises((ValueError, TypeError), match=message):
        add_lora(model, targets, rank=rank, alpha=alpha)
    assert not lora_state(model)
    assert all(p.requires_grad for p in model.parameters())
    with pytest.raises(TypeError, match=r"base: expected an nn\.Linear, got Embedding"):
        LoRA(nn.Embedding(3, 4), rank=2)


ORDERS = [["W_q", "W_v"], ["W_v", "W_q"], {"W_q", "W_v"}]


def with_changes(base: nn.Module, targets, *, rank: int = 2, alpha: float | None = None):
    """A copy of a model with changes."""
    model = copy.deepcopy(base)
    add_lora(model, targets, rank=rank, alpha=alpha)
    return model


@pytest.mark.parametrize("order", ORDERS, ids=["q, v", "v, q", "a set"])
def test_saved_changes_say_what_they_change(order, tokens, tmp_path) -> None:
    """The kind: numbers whose meaning hangs on the order in which something was built."""
    base = language_model()
    model = shaken(with_changes(base, ["W_q", "W_v"]))
    apart = with_changes(base, order)
    load_lora(apart, lora_state(model))
    assert torch.equal(apart(tokens), model(tokens))
    apart = with_changes(base, order)
    apart.load_state_dict(model.state_dict())
    assert torch.equal(apart(tokens), model(tokens))
    one_by_one = copy.deepcopy(base)
    for target in order:
        add_lora(one_by_one, [target], rank=2)
    load_lora(one_by_one, lora_state(model))
    assert torch.equal(one_by_one(tokens), model(tokens))
    save_file(lora_state(model), tmp_path / "changes.safetensors")  # names are kept by any format
    apart = with_changes(base, order)
    load_lora(apart, load_file(tmp_path / "changes.safetensors"))
    assert torch.equal(apart(tokens), model(tokens))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"alpha": 1}, "with alpha=1, as this model's has, got one with alpha=16; call add_lora"),
        ({"alpha": None}, "with alpha=2, as this model's has, got one with alpha=16"),
        ({"rank": 3}, r"expected the shape \(3, 10\), got \(2, 10\)"),
        ({"targets": ["W_q", "W_k"]}, r"state: .* got .*W_k.A"),
        ({"base": True}, "got one of another matrix; load it into a copy of the model"),
    ],
    ids=str,
)
def test_changes_that_would_mean_something_else_are_refused(other, message) -> None:
    """The kind: what decides the meaning of saved numbers is saved with them, and compared."""
    base = language_model()
    model = shaken(with_changes(base, ["W_q", "W_v"], alpha=16))
    settings = {"targets": ["W_q", "W_v"], "alpha": 16} | other
    wrong = with_changes(language_model() if settings.pop("base", False) else base, **settings)
    before = lora_state(wrong)
    with pytest.raises(ValueError, match=message):
        load_lora(wrong, lora_state(model))
    assert all(torch.equal(part, before[name]) for name, part in lora_state(wrong).items())
    if "base" not in other:
        with pytest.raises(RuntimeError):
            wrong.load_state_dict(model.state_dict())


def test_a_base_in_another_precision_is_the_same_base(tokens) -> None:
    base = language_model()
    model = shaken(with_changes(base, ["W_q", "W_1"], alpha=3))
    half = with_changes(base.bfloat16(), ["W_q", "W_1"], alpha=3)
    load_lora(half, lora_state(model))
    found, saved = (each.stack.layers[0].feed_forward.W_1.B for each in (half, model))
    assert torch.equal(found, saved.bfloat16())


def test_two_changes_of_one_map_are_saved_apart(tokens) -> None:
    base = language_model()
    model, other = (with_changes(base, ["W_1", "W_q"]) for _ in range(2))
    for each in (model, other):
        add_lora(each, ["W_q", "W_1"], rank=1, alpha=2)
    load_lora(other, lora_state(shaken(model)))
    assert torch.equal(other(tokens), model(tokens))


def test_a_change_is_called_and_builds_no_matrix(tokens) -> None:
    """The change is a call of its own: neither a hook nor a wrapper inside it is passed by."""
    attention = MultiHeadAttention(d_model=12, num_heads=3).double()
    add_lora(attention, ["W_q", "W_v"], rank=2)
    shaken(attention)
    x, memory = torch.randn(2, 5, 12).double(), torch.randn(2, 3, 12).double()
    before = [attention(x, x, x), attention(x, memory), attention(x, attention.project(memory))]
    calls = []
    inner = attention.W_v.base
    inner.register_forward_hook(lambda module, given, output: calls.append(len(output)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LoRA, "weight", property(lambda self: pytest.fail("W + BA was built")))
        after = [attention(x, x, x), attention(x, memory), attention(x, attention.project(memory))]
    assert len(calls) == 1 + 1 + 1
    for one, other in zip(after, before, strict=True):
        assert torch.equal(one, other)
