"""Weights have one name, whatever the model, or a part of it, was wrapped in."""

import pytest
import torch
from torch import nn
from torch.nn.parallel import DataParallel
from torch.optim.swa_utils import AveragedModel

from attention_book.training import CheckpointError, load_checkpoint, save_checkpoint
from attention_book.training.checkpoints.tensor_file import read_tensors, write_tensors
from attention_book.training.checkpoints.wrappers import renamed


def part_compiled(model: nn.Module) -> nn.Module:
    model.encoder = torch.compile(model.encoder)
    return model


pytestmark = pytest.mark.filterwarnings("ignore:.*script_method")

# What people wrap a model in, outside and inside, once and twice.
WRAPPED = {
    "plain": lambda model: model,
    "compiled": torch.compile,
    "copied": DataParallel,
    "copied, compiled": lambda model: torch.compile(DataParallel(model)),
    "compiled, copied": lambda model: DataParallel(torch.compile(model)),
    "part compiled": part_compiled,
    "part and whole": lambda model: torch.compile(part_compiled(model)),
}


@pytest.mark.parametrize("written", WRAPPED)
def test_weights_go_from_any_wrapper_into_any_other(make_model, tmp_path, written) -> None:
    """The kind: names that a wrapper prefixes, at either end, at the front or in the middle."""
    path, model = tmp_path / "model.safetensors", make_model(1)
    expected = [weight.clone() for weight in model.parameters()]
    save_checkpoint(path, model=WRAPPED[written](model))
    for wrap in WRAPPED.values():
        other = make_model(2)
        load_checkpoint(path, model=wrap(other))
        assert all(map(torch.equal, other.parameters(), expected))


@pytest.mark.parametrize("prefix", ["_orig_mod.", "module.", "module._orig_mod.", "a.module."])
def test_names_with_a_prefix_are_those_without(prefix) -> None:
    plain = prefix.replace("_orig_mod.", "").replace("module.", "")
    own = [f"{plain}weight", f"{plain}bias"]
    found = {f"{prefix}weight": 1, f"{prefix}bias": 2}
    assert list(renamed(found, own).values()) == own
    assert list(renamed(dict.fromkeys(own), found).values()) == list(found)


@pytest.mark.parametrize("prefix", ["_orig_mod.", "module.", "module._orig_mod."])
@pytest.mark.parametrize("with_config", [True, False])
def test_a_file_of_a_wrapped_model_is_read(make_model, tmp_path, prefix, with_config) -> None:
    """As it was written before, or is by others: with the prefix, and maybe without settings."""
    path, model, other = tmp_path / "model.safetensors", make_model(1), make_model(2)
    save_checkpoint(path, model=model)
    tensors, about = read_tensors(path)
    named = {name.replace("model.", f"model.{prefix}", 1): t for name, t in tensors.items()}
    about["config"] = about["config"] if with_config else None
    write_tensors(path, named, {name: about[name] for name in ("config", "reports", "extra")})
    load_checkpoint(path, model=other)
    assert all(map(torch.equal, other.parameters(), model.parameters()))


def test_names_that_only_a_wrapper_tells_apart_stay_apart() -> None:
    found = {"module.weight": 1, "weight": 2}
    assert renamed(found, ["weight"]) == {name: name for name in found}
    assert renamed(found, found) == {name: name for name in found}


def test_what_a_wrapper_adds_is_refused_and_the_wrapper_named(make_model, tmp_path) -> None:
    path, model = tmp_path / "model.safetensors", make_model()
    average = AveragedModel(model)
    average.config = model.config
    save_checkpoint(path, model=average)
    with pytest.raises(CheckpointError, match=r"n_averaged: expected nothing, got .*torch.int64"):
        load_checkpoint(path, model=make_model())
    save_checkpoint(path, model=average.module)
    load_checkpoint(path, model=make_model())
