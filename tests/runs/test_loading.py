"""A run is loaded as it was trained; one that somebody has changed is refused, and runs nothing."""

import os
import pickle
import re
import shutil
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from attention_book.runs import (
    DataSettings,
    ModelSettings,
    RunError,
    RunSettings,
    TrainingSettings,
    load_run,
    resume,
    start,
)
from attention_book.training import CheckpointError
from attention_book.training.checkpoint import read_tensors, write_tensors

FEW = settings(
    max_examples=settings().max_examples // 2,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
VALUES = JSON | st.sampled_from([-1, 2**31, 2**70, 1e308, "\ud800", "../x", [], {}, [[0.9]]])


pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three steps, with a checkpoint of each."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    wanted = RunSettings(
        data=DataSettings(corpus="phrasebook", num_train=64),
        model=ModelSettings(config={"d_model": 8, "num_heads": 2, "d_ff": 8, "num_layers": 1}),
        training=TrainingSettings(
            epochs=None, steps=3, batch_size=8, checkpoint_every=1, average=2, device="cpu"
        ),
    )
    assert len(list(start(wanted, folder))) == 3
    return folder


@pytest.fixture(scope="module")
def cut_off(run: Path) -> Path:
    """The same run, cut off after its second step."""
    folder = run.with_name("cut-off")
    shutil.copytree(run, folder)
    for name in ("checkpoints/step-00000003.safetensors", "average.safetensors", "curves.svg"):
        (folder / name).unlink()
    return folder


def places(content, path=()):
    """Every place in some JSON, but not each of many numbers."""
    yield path
    if isinstance(content, dict | list):
        items = content.items() if isinstance(content, dict) else enumerate(content)
        for key, value in list(items)[:24]:
            yield from places(value, (*path, key))


def changed(content, path, value):
    if not path:
        return value
    copy = dict(content) if isinstance(content, dict) else list(content)
    copy[path[0]] = changed(content[path[0]], path[1:], value)
    return copy


def refused(act, *kinds):
    """Whether something is refused, by one of these errors and in words."""
    try:
        act()
    except kinds as error:
        assert re.search("expected|not finite|cannot", str(error)), error  # noqa: PT017
        return True
    return False


# --- what the plain values say ---------------------------------------------------------------


@FEW
@given(data=st.data())
def test_whatever_a_file_says_it_is_loaded_or_refused(run, data):
    tensors, about = read_tensors(run / "best.safetensors")
    path = data.draw(st.sampled_from([p for p in places(about) if p]))
    wrong = changed(about, path, data.draw(VALUES))
    copy = run / "best.safetensors"
    whole = copy.read_bytes()
    try:
        write_tensors(copy, tensors, wrong)
        refused(lambda: load_run(run, "best"), CheckpointError, RunError)
    finally:
        copy.write_bytes(whole)


@FEW
@given(data=st.data())
@example(data=None)
def test_whatever_a_checkpoint_says_it_is_gone_on_from_or_refused(cut_off, data):
    copy = cut_off.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(cut_off, copy)
    shutil.rmtree(copy / "checkpoints")
    name = "checkpoints/step-00000002.safetensors"
    tensors, about = read_tensors(cut_off / name)
    if data is None:  # as it is
        write_tensors(copy / name, tensors, about)
        assert [report.step for report in resume(copy)] == [3]
        return
    path = data.draw(st.sampled_from([p for p in places(about) if p]))
    write_tensors(copy / name, tensors, changed(about, path, data.draw(VALUES)))
    refused(lambda: list(resume(copy)), CheckpointError, RunError, ValueError)


# --- what the tensors are --------------------------------------------------------------------

TENSORS = st.sampled_from(
    [
        torch.zeros(()),
        torch.zeros(0),
        torch.full((3, 2), torch.nan),
        torch.zeros(8, 8, dtype=torch.float16),
        torch.zeros(8, dtype=torch.bool),
        torch.zeros(5056, dtype=torch.uint8),
        torch.full((5056,), 255, dtype=torch.uint8),
        torch.zeros(2, dtype=torch.complex64),
        torch.zeros(2, dtype=torch.float8_e4m3fn),
        None,
    ]
)


@FEW
@given(data=st.data())
def test_whatever_the_tensors_are_a_run_goes_on_or_is_refused(cut_off, data):
    copy = cut_off.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(cut_off, copy)
    shutil.rmtree(copy / "checkpoints")
    name = "checkpoints/step-00000002.safetensors"
    tensors, about = read_tensors(cut_off / name)
    other = data.draw(st.sampled_from(sorted(tensors)))
    value = data.draw(TENSORS)
    tensors.pop(other)
    if value is not None:
        tensors[data.draw(st.sampled_from([other, "optimizer.x", "optimizer.9999.exp_avg"]))] = (
            value
        )
    write_tensors(copy / name, tensors, about)
    errors = (CheckpointError, RunError, ValueError)
    refused(lambda: list(resume(copy)), *errors)
    refused(lambda: load_run(copy, "last"), *errors)


def test_settings_that_ask_for_more_than_the_file_has_take_no_memory(run):
    text = (run / "settings.toml").read_text()
    try:
        for wrong in (
            ("d_model = 8", "d_model = 1000000"),
            ("num_layers = 1", "num_layers = 999999"),
        ):
            assert wrong[0] in text
            (run / "settings.toml").write_text(text.replace(*wrong))
            with pytest.raises(CheckpointError, match="expected"):
                load_run(run, "best")
    finally:
        (run / "settings.toml").write_text(text)


def test_a_model_that_cannot_be_built_is_refused(run):
    text = (run / "settings.toml").read_text()
    start = text.index("[model]")
    config = '[model]\nkind = "seq2seq"\n[model.config]\nattention = "input-dot"\nd_embed = 3\n'
    try:
        (run / "settings.toml").write_text(text[:start] + config + text[text.index("[training]") :])
        with pytest.raises(RunError, match=r"input-dot.*expected"):
            load_run(run, "best")
    finally:
        (run / "settings.toml").write_text(text)


# --- what is no such file --------------------------------------------------------------------


class Deadly:
    """Says, when it is unpickled, that it was."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("written_by", ["pickle", "torch"])
def test_a_pickle_is_refused_and_not_run(run, tmp_path, written_by):
    copy, trace = tmp_path / "copy", tmp_path / "it ran"
    shutil.copytree(run, copy)
    for name in (
        "best.safetensors",
        "average.safetensors",
        "checkpoints/step-00000003.safetensors",
    ):
        if written_by == "torch":
            torch.save({"model": Deadly(trace)}, copy / name)
        else:
            (copy / name).write_bytes(pickle.dumps(Deadly(trace)))
    for which in ("best", "average"):
        with pytest.raises(CheckpointError, match="expected a checkpoint"):
            load_run(copy, which)
    load_run(copy, "last")  # the one before it
    assert not trace.exists()


@pytest.mark.parametrize("kind", ["folder", "pipe", "link to nothing", "link to a device", "empty"])
def test_what_is_no_file_is_refused_and_not_waited_for(run, tmp_path, kind):
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    for name in ("best.safetensors", "checkpoints/step-00000003.safetensors"):
        path = copy / name
        path.unlink()
        {
            "folder": path.mkdir,
            "pipe": lambda path=path: os.mkfifo(path),
            "link to nothing": lambda path=path: path.symlink_to("nowhere"),
            "link to a device": lambda path=path: path.symlink_to("/dev/zero"),
            "empty": path.touch,
        }[kind]()
    with pytest.raises((CheckpointError, RunError), match="expected"):
        load_run(copy, "best")
    assert load_run(copy, "last").extra["place"]["step"] == 2
