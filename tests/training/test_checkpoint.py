"""Checkpoints: what is written comes back, and what is no checkpoint changes nothing."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.parallel import DataParallel
from torch.optim.swa_utils import AveragedModel

from attention_book.training import (
    CheckpointError,
    EpochReport,
    load_checkpoint,
    read_checkpoint,
    save_checkpoint,
)
from attention_book.training.checkpoint import (
    optimizer_rest,
    optimizer_tensors,
    read_tensors,
    renamed,
    restore,
    write_tensors,
)

REPORTS = tuple(
    EpochReport(epoch=e, loss_per_token=0.1 / e, num_tokens=7, gradient_norm=1 / 3, seconds=0.1)
    for e in (1, 2)
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "folders" / "model.safetensors"


@pytest.fixture
def trained(make_model, adam) -> tuple[nn.Module, torch.optim.Optimizer]:
    """A model and an optimizer that have taken a step."""
    model = make_model()
    optimizer = adam(model)
    sum(parameter.square().sum() for parameter in model.parameters()).backward()
    optimizer.step()
    return model, optimizer


def content(*things: nn.Module | torch.optim.Optimizer) -> list:
    return [plain(thing.state_dict()) for thing in things]


def plain(value: object) -> object:
    """Tensors as their type and their numbers, so that all can be compared with ==."""
    if isinstance(value, torch.Tensor):
        return (str(value.dtype), value.tolist())
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def test_everything_comes_back_bit_by_bit(trained, make_model, adam, path) -> None:
    model, optimizer = trained
    extra = {"words": ["été", "中文"], "nested": {"a": [1, None, 0.1]}}
    save_checkpoint(path, model=model, optimizer=optimizer, reports=REPORTS, extra=extra)
    expected = torch.rand(5)
    other = make_model(seed=9)
    other_optimizer = adam(other)
    torch.rand(3)
    checkpoint = load_checkpoint(path, model=other, optimizer=other_optimizer)
    assert torch.equal(torch.rand(5), expected)
    assert content(other, other_optimizer) == content(model, optimizer)
    assert (checkpoint.reports, checkpoint.extra, checkpoint.epoch) == (REPORTS, extra, 2)
    assert read_checkpoint(path) == checkpoint


def test_without_an_optimizer_the_random_numbers_are_left_alone(trained, make_model, path) -> None:
    model, optimizer = trained
    save_checkpoint(path, model=model, optimizer=optimizer)
    other = make_model(seed=9)
    state = torch.get_rng_state()
    load_checkpoint(path, model=other)
    assert torch.equal(torch.get_rng_state(), state)
    assert content(other) == content(model)


def test_what_was_loaded_is_a_copy(trained, make_model, adam, path) -> None:
    model, optimizer = trained
    save_checkpoint(path, model=model, optimizer=optimizer)
    other = make_model(seed=9)
    its_optimizer = adam(other)
    load_checkpoint(path, model=other, optimizer=its_optimizer)
    path.write_bytes(bytes(path.stat().st_size))
    assert content(other, its_optimizer) == content(model, optimizer)


def test_tied_weights_are_written_and_stay_tied(path) -> None:
    def tied(seed: int) -> nn.Module:
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5))
        model[1].weight = model[0].weight
        return model

    model, other = tied(1), tied(2)
    save_checkpoint(path, model=model)
    load_checkpoint(path, model=other)
    assert content(other) == content(model)
    assert other[1].weight is other[0].weight


def test_a_transposed_weight_is_written_as_it_reads(path) -> None:
    model, other = nn.Linear(3, 5), nn.Linear(3, 5)
    model.weight = nn.Parameter(torch.randn(3, 5).T)
    save_checkpoint(path, model=model)
    load_checkpoint(path, model=other)
    assert torch.equal(other.weight, model.weight)


def test_anybody_can_read_it_and_nothing_is_pickled(trained, path) -> None:
    model, optimizer = trained
    save_checkpoint(path, model=model, optimizer=optimizer, reports=REPORTS)
    with safe_open(path, framework="numpy") as file:
        about = json.loads(file.metadata()["attention_book"])
        assert about["config"] == model.config.to_dict()
        assert [report["epoch"] for report in about["reports"]] == [1, 2]
        names = {name.partition(".")[0] for name in file.keys()}  # noqa: SIM118
    assert names == {"model", "optimizer", "random"}


# --- writing ---------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_a_writing_that_fails_leaves_the_old_file_and_no_other(
    trained, path, monkeypatch, where
) -> None:
    model, _ = trained
    save_checkpoint(path, model=model)
    old = path.read_bytes()
    with monkeypatch.context() as patched:

        def fail(*_: object) -> None:
            raise OSError("No space left on device")

        patched.setattr(*{"fsync": (os, "fsync", fail), "replace": (Path, "replace", fail)}[where])
        with pytest.raises(OSError, match="No space left"):
            save_checkpoint(path, model=model, reports=REPORTS)
    assert path.read_bytes() == old
    assert list(path.parent.iterdir()) == [path]


def test_the_content_is_on_the_disk_before_it_gets_its_name(trained, path, monkeypatch) -> None:
    done, fsync, replace = [], os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda file: (done.append("fsync"), fsync(file)))
    monkeypatch.setattr(Path, "replace", lambda *p: (done.append("replace"), replace(*p)))
    save_checkpoint(path, model=trained[0])
    assert done == ["fsync", "replace"]


# --- what is no checkpoint, or another's -----------------------------------------------------


def broken(kind: str, path: Path) -> None:
    whole = path.read_bytes()
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "text":
        path.write_text("epoch,loss\n1,0.5\n" * 100)
    elif kind == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif kind == "foreign":
        save_file({"weight": torch.ones(3)}, path)
    else:
        about = {"no JSON": "{", "a list": "[1]", "another format": '{"format": "checkpoint 0"}',
                 "no reports": '{"format": "attention_book checkpoint 1"}'}  # fmt: skip
        save_file({"weight": torch.ones(3)}, path, metadata={"attention_book": about[kind]})


@pytest.mark.parametrize(
    "kind",
    ["empty", "text", "cut", "foreign", "no JSON", "a list", "another format", "no reports"],
)
def test_a_broken_file_is_one_clear_error_and_nothing_changes(trained, path, kind) -> None:
    model, optimizer = trained
    save_checkpoint(path, model=model, optimizer=optimizer)
    broken(kind, path)
    before, state = content(model, optimizer), torch.get_rng_state()
    with pytest.raises(CheckpointError, match=r"model.safetensors: expected "):
        load_checkpoint(path, model=model, optimizer=optimizer)
    with pytest.raises(CheckpointError, match=r"model.safetensors: expected "):
        read_checkpoint(path)
    assert content(model, optimizer) == before
    assert torch.equal(torch.get_rng_state(), state)


def test_a_changed_bit_is_noticed(trained, make_model, adam, path) -> None:
    save_checkpoint(path, model=trained[0], optimizer=trained[1])
    whole = path.read_bytes()
    path.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    model = make_model(seed=9)
    its_optimizer = adam(model)
    before = content(model, its_optimizer)
    with pytest.raises(CheckpointError, match=r"expected the tensors that were written, got other"):
        load_checkpoint(path, model=model, optimizer=its_optimizer)
    assert content(model, its_optimizer) == before


def test_every_type_of_tensor_comes_back(path) -> None:
    class Model(nn.Module):
        def __init__(self, value: int) -> None:
            super().__init__()
            for dtype in (torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.bool):
                self.register_buffer(
                    f"a_{dtype}".replace(".", "_"), torch.full((3,), value).to(dtype)
                )
            self.register_buffer("number", torch.tensor(value))
            self.register_buffer("empty", torch.zeros(0, 3))

    model, other = Model(1), Model(0)
    save_checkpoint(path, model=model)
    load_checkpoint(path, model=other)
    assert content(other) == content(model)


def test_no_file_is_no_checkpoint(trained, path) -> None:
    for read in (read_checkpoint, lambda path: load_checkpoint(path, model=trained[0])):
        with pytest.raises(FileNotFoundError):
            read(path)


def test_another_model_or_optimizer_is_refused_and_nothing_changes(
    trained, make_model, adam, path
) -> None:
    model, optimizer = trained
    save_checkpoint(path, model=model, optimizer=optimizer)

    def sgd(model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.SGD(model.parameters(), lr=0.1)

    def another(layer: nn.Module) -> nn.Module:
        layer.config = model.config  # the same settings, and yet not the same tensors
        return layer

    cases: list[tuple[nn.Module, Callable, str]] = [
        (
            make_model(dropout=0.1),
            adam,
            r"a model with {'dropout': 0.1}, got one with {'dropout': ",
        ),
        (make_model(attention="luong-general"), adam, "expected a model with .*luong-general"),
        (nn.Linear(3, 5), adam, "expected a model with no settings, got one with"),
        (another(nn.Linear(3, 5)), adam, r"bias: expected \(5,\), torch.float32, got nothing"),
        (make_model().double(), adam, "expected .*float64.*, got .*float32"),
        (make_model(), sgd, "optimizer: expected SGD, got Adam"),
    ]
    for other, optimize, message in cases:
        its = optimize(other)
        before, state = content(other, its), torch.get_rng_state()
        with pytest.raises(CheckpointError, match=message):
            load_checkpoint(path, model=other, optimizer=its)
        assert content(other, its) == before
        assert torch.equal(torch.get_rng_state(), state)


def test_a_model_without_its_optimizer_cannot_be_trained_on(trained, path) -> None:
    model, optimizer = trained
    save_checkpoint(path, model=model)
    with pytest.raises(CheckpointError, match="expected the state of an optimizer, got none"):
        load_checkpoint(path, model=model, optimizer=optimizer)


# --- a config that has changed since ---------------------------------------------------------


def with_config(path: Path, change: Callable[[dict], object]) -> None:
    """Write the file again, as it was before its model's config was changed; it had no checksum."""
    with safe_open(path, framework="pt") as file:
        about = json.loads(file.metadata()["attention_book"])
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    change(about["config"])
    del about["checksum"]
    save_file(tensors, path, metadata={"attention_book": json.dumps(about)})


def test_a_file_that_is_older_than_a_field_with_a_default_still_loads(make_model, path) -> None:
    model, other = make_model(1), make_model(2)
    save_checkpoint(path, model=model)
    with_config(path, lambda config: [config.pop(name) for name in ("num_places", "bidirectional")])
    assert content(other) != content(model)
    load_checkpoint(path, model=other)
    assert content(other) == content(model)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(depth=3), "Seq2SeqConfig: expected no setting depth, got one"),
        (
            lambda c: c.pop("source_vocabulary"),
            "Seq2SeqConfig: expected the setting source_vocabulary, got none",
        ),
        # Before it could be chosen it was "bahdanau", whatever this model says.
        (lambda c: c.pop("attention"), "expected a model with .*'none'.* got one with .*bahdanau"),
    ],
)
def test_a_config_that_does_not_fit_is_one_clear_error(make_model, path, change, message) -> None:
    model = make_model(attention="none")
    save_checkpoint(path, model=model)
    with_config(path, change)
    before = content(model)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(path, model=model)
    assert content(model) == before


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
