"""Tied weights: what the config says of them is true of what is saved and of what is loaded.

The kind: whatever gives a tied layer a matrix of its own leaves a config that says "tied", and
the file of such a model is read as another one.
"""

import copy
import io

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import prune

from attention_book.models import (
    LanguageConfig,
    LanguageModel,
    LoRA,
    Transformer,
    TransformerConfig,
    add_lora,
    merge_lora,
)
from attention_book.training import CheckpointError, load_checkpoint, save_checkpoint

WORDS, EXACT = 13, {"rtol": 0, "atol": 1e-12}
SIZES = {"d_model": 12, "num_heads": 3, "d_ff": 7, "num_layers": 1}


def _language(**settings: bool) -> nn.Module:
    config = LanguageConfig(vocabulary=WORDS, tied=True, dropout=0.0, **SIZES, **settings)
    return LanguageModel(config)


def _transformer(**ties: bool) -> nn.Module:
    sizes = {"source_vocabulary": WORDS, "target_vocabulary": WORDS, "dropout": 0.0}
    return Transformer(TransformerConfig(**sizes, **SIZES, **ties))


MODELS = {
    "decoder": lambda: LanguageModel(LanguageConfig.today(vocabulary=WORDS, tied=True, **SIZES)),
    "causal": lambda: _language(),
    "masked": lambda: _language(causal=False),
    "tied": lambda: _transformer(tied=True),
    "shared": lambda: _transformer(shared=True),
}


def build(kind: str) -> nn.Module:
    return MODELS[kind]().double().eval()


def outputs(model: nn.Module) -> Tensor:
    tokens = torch.tensor([[2, 7, 8, 3], [2, 5, 3, 4]])
    if isinstance(model, Transformer):
        return model(tokens, tokens > 0, tokens)
    return model(tokens, None if model.config.causal else tokens > 0)


def shaken(model: nn.Module) -> nn.Module:
    for module in model.modules():
        if isinstance(module, LoRA):
            nn.init.normal_(module.B)
    return model


def _assigned(model: nn.Module) -> None:
    model.readout.weight = nn.Parameter(model.readout.weight.detach() * 2)


def _copied(model: nn.Module) -> None:
    model.readout = copy.deepcopy(model.readout)
    with torch.no_grad():
        model.readout.weight.mul_(2)


def _new(model: nn.Module) -> None:
    model.readout = nn.Linear(12, WORDS, bias=False).double()


def _merged_by_hand(model: nn.Module) -> None:
    add_lora(model, ["readout"], rank=2)
    model.readout = shaken(model).readout.merged()


def _embedding(model: nn.Module) -> None:
    owner = model.decoder if isinstance(model, Transformer) else model.stack
    owner.embedding.weight = nn.Parameter(owner.embedding.weight.detach() * 2)


def _pruned(model: nn.Module) -> None:
    _copied(model)
    prune.l1_unstructured(model.readout, "weight", amount=0.5)
    prune.remove(model.readout, "weight")


def _under_a_change(model: nn.Module) -> None:
    _copied(model)
    add_lora(model, ["readout"], rank=2)


UNTIED = [_assigned, _copied, _new, _merged_by_hand, _embedding, _pruned, _under_a_change]


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_that_came_apart_is_refused_until_its_config_says_so(kind, tmp_path) -> None:
    for take_apart in UNTIED:
        model = build(kind)
        take_apart(model)
        expected = outputs(model)
        with pytest.raises(ValueError, match=r"weight: expected the matrix of .*call untie\(\)"):
            save_checkpoint(tmp_path / "file", model=model)
        model.untie()
        assert not model.config.tied
        save_checkpoint(tmp_path / "file", model=model)
        other = type(model)(model.config).double().eval()
        if take_apart is _under_a_change:
            add_lora(other, ["readout"], rank=2)
        load_checkpoint(tmp_path / "file", model=other)
        torch.testing.assert_close(outputs(other), expected, **EXACT)
        tied = build(kind)
        with pytest.raises(CheckpointError, match="expected a model with"):
            load_checkpoint(tmp_path / "file", model=tied)


@pytest.mark.parametrize("kind", MODELS)
def test_tying_again_takes_the_embedding(kind) -> None:
    model = build(kind)
    expected = outputs(model)
    _assigned(model)
    assert not model.is_tied()
    model.tie()
    assert model.is_tied()
    assert torch.equal(outputs(model), expected)
    model.state_dict()


@pytest.mark.parametrize("kind", MODELS)
def test_a_merged_output_layer_is_saved_and_loaded_as_it_is(kind, tmp_path) -> None:
    model = build(kind)
    add_lora(model, ["readout"], rank=2)
    again = build(kind)
    add_lora(again, ["readout"], rank=2)
    again.load_state_dict(shaken(model).state_dict())  # the change apart, the matrix still one
    assert again.is_tied()
    expected = outputs(model)
    assert torch.equal(outputs(again), expected)
    merge_lora(model)
    assert not model.config.tied
    save_checkpoint(tmp_path / "file", model=model)
    other = type(model)(model.config).double().eval()
    other.load_state_dict(model.state_dict())
    load_checkpoint(tmp_path / "file", model=other)
    for each in (model, other):
        torch.testing.assert_close(outputs(each), expected, **EXACT)
    with pytest.raises(RuntimeError, match="expected the matrix of"):
        build(kind).load_state_dict(model.state_dict())


@pytest.mark.parametrize("kind", MODELS)
def test_two_matrices_do_not_go_into_one(kind, tmp_path) -> None:
    state = dict(build(kind).state_dict())
    state["readout.weight"] = state["readout.weight"] * 2
    for assign in (False, True):
        with pytest.raises(RuntimeError, match=r"readout\.weight: expected the matrix of"):
            build(kind).load_state_dict(state, assign=assign)
    with pytest.raises(RuntimeError, match=r"0\.readout\.weight: expected the matrix of"):
        nn.Sequential(build(kind)).load_state_dict({f"0.{name}": v for name, v in state.items()})

    class Old(nn.Module):  # as it was before such a model was refused
        config = build(kind).config

        def state_dict(self) -> dict[str, Tensor]:
            return state

    save_checkpoint(tmp_path / "file", model=Old())
    model = build(kind)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(CheckpointError, match=r"readout\.weight: expected the matrix of"):
        load_checkpoint(tmp_path / "file", model=model)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("kind", MODELS)
def test_one_matrix_stays_one(kind) -> None:
    model = build(kind)
    number = sum(1 for _ in model.parameters())
    state = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.device("meta"):
        empty = MODELS[kind]().double()
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    assigned = build(kind)
    assigned.load_state_dict(state, assign=True)
    ways = {
        "to_empty": empty.to_empty(device="cpu"),
        "assign": assigned,
        "cast": copy.deepcopy(model).float(),
        "copy": copy.deepcopy(model),
        "pickle": torch.load(file, weights_only=False),
    }
    for way, other in ways.items():
        assert other.is_tied(), way
        assert sum(1 for _ in other.parameters()) == number, way
        if way != "cast":
            other.load_state_dict(state)
            assert torch.equal(outputs(other.eval()), outputs(model)), way
        other.state_dict()
    diverged = copy.deepcopy(model)
    nn.init.constant_(diverged.readout.weight, torch.nan)
    build(kind).load_state_dict({name: v.clone() for name, v in diverged.state_dict().items()})


def test_what_is_not_tied_is_left_alone() -> None:
    model = Transformer(
        TransformerConfig(source_vocabulary=WORDS, target_vocabulary=WORDS, **SIZES)
    )
    before = model.config
    model.untie()
    model.tie()
    assert model.is_tied()
    assert model.config is before
    assert model.readout.weight is not model.decoder.embedding.weight


def test_a_changed_alpha_in_a_checkpoint_changes_nothing(tmp_path) -> None:
    model = build("decoder")
    add_lora(model, ["W_q", "readout"], rank=2, alpha=16)
    save_checkpoint(tmp_path / "file", model=shaken(model))
    other = build("decoder")
    add_lora(other, ["W_q", "readout"], rank=2, alpha=1)
    before = outputs(other)
    with pytest.raises(CheckpointError, match=r"W_q\.alpha: expected 1\.0, .* got 16\.0"):
        load_checkpoint(tmp_path / "file", model=other)
    assert torch.equal(outputs(other), before)
    same = build("decoder")
    add_lora(same, ["readout", "W_q"], rank=2, alpha=16)
    load_checkpoint(tmp_path / "file", model=same)
    assert torch.equal(outputs(same), outputs(model))
