"""Which checkpoints are kept, that no damaged one is taken for whole, and the mean of several."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attention_book.runs import RunError, load_run, start
from attention_book.runs.checkpoints import Checkpoints, Place, average_checkpoints, read_place
from attention_book.training import CheckpointError
from attention_book.training.checkpoint import read_tensors, write_tensors


def write(files: Checkpoints, step: int, *, keep: int, planned: bool = True) -> None:
    place = Place(step=step, num_steps=99, planned=planned)
    files.write(place, {"model.x": torch.full((2,), step)}, {}, keep=keep)


def test_the_last_are_kept_and_an_interruption_does_not_count(tmp_path: Path) -> None:
    files = Checkpoints(tmp_path)
    for step in (10, 20, 30):
        write(files, step, keep=2)
    assert files.steps() == [20, 30]
    write(files, 33, keep=2, planned=False)
    assert files.steps() == [20, 30, 33]
    assert files.planned(33) == [20, 30]
    write(files, 40, keep=2)
    assert files.steps() == [30, 40]


def test_what_is_no_checkpoint_is_left_alone(tmp_path: Path) -> None:
    for name in ("notes.txt", "step-1.safetensors", "step-00000010.damaged"):
        (tmp_path / name).write_text("mine")
    files = Checkpoints(tmp_path)
    for step in (10, 20, 30):
        write(files, step, keep=1)
    assert files.steps() == [30]
    assert len(list(tmp_path.iterdir())) == 4


def test_the_newest_whole_one_is_read(tmp_path: Path) -> None:
    files, told = Checkpoints(tmp_path), []
    assert files.newest(told.append) is None
    for step in (1, 2, 3):
        write(files, step, keep=9)
    for step in (2, 3):
        files.path(step).write_bytes(files.path(step).read_bytes()[:-1])
    stored = files.newest(told.append)
    assert (stored.place.step, stored.tensors["model.x"].tolist()) == (1, [1, 1])
    assert len(told) == 2
    assert files.steps() == [1]


def test_a_flipped_bit_of_any_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "file.safetensors"
    write_tensors(path, {"x": torch.tensor([1.5, -2.0])}, {"extra": {"step": 12}})
    whole, found = path.read_bytes(), read_tensors(path)
    for place in range(len(whole)):  # of each byte another bit
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            tensors, about = read_tensors(path)
        except CheckpointError:
            continue
        assert torch.equal(tensors["x"], found[0]["x"])  # the name of the checksum
        assert about["extra"] == found[1]["extra"]


def test_a_file_of_something_else_is_no_checkpoint_of_a_run(tmp_path: Path) -> None:
    files = Checkpoints(tmp_path)
    write_tensors(files.path(3), {}, {"extra": {}})
    with pytest.raises(CheckpointError, match="expected the checkpoint of a run"):
        files.read(3)


def test_a_place_goes_on() -> None:
    place = Place(step=4, num_steps=5, batch=2)
    assert place.after_step(batch=3) == replace(place, step=5, batch=3)
    assert [place.at_end, place.after_step().at_end] == [False, True]


def test_names_that_only_look_like_ours_are_no_checkpoints(tmp_path: Path) -> None:
    files = Checkpoints(tmp_path)
    write(files, 7, keep=9)
    for name in ("step-０００００００９.safetensors", "step-000000000009.safetensors"):
        (tmp_path / name).write_bytes(files.path(7).read_bytes())
    (tmp_path / "step-00000011.safetensors").mkdir()
    (tmp_path / "step-00000012.safetensors").symlink_to("nowhere")
    assert files.steps() == [7]
    stored = files.newest(lambda text: None)
    assert stored is not None
    assert stored.place.step == 7


def test_a_checkpoint_under_another_name_is_set_aside(tmp_path: Path) -> None:
    files, told = Checkpoints(tmp_path), []
    for step in (1, 2):
        write(files, step, keep=9)
    files.path(2).rename(files.path(9))
    stored = files.newest(told.append)
    assert stored is not None
    assert (stored.place.step, len(told)) == (1, 1)
    files.path(1).rename(files.path(9))
    with pytest.raises(CheckpointError, match="expected the checkpoint of step 9, got step 1"):
        files.read(9)


@pytest.mark.parametrize(
    "wrong",
    [
        {"step": "3"},
        {"step": None},
        {"step": True},
        {"step": -1},
        {"epoch": 0},
        {"batch": 1.5},
        {"num_steps": [9]},
        {"planned": "yes"},
        {"best_loss": "low"},
        {"else": 1},
    ],
)
def test_a_place_that_cannot_be_is_refused(wrong) -> None:
    with pytest.raises(CheckpointError, match="expected the checkpoint of a run, got another"):
        read_place({"extra": {"place": {"step": 3, **wrong}}})


def test_numbers_are_averaged_in_double_precision_and_counts_are_the_last(tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(3)]
    weights = [torch.tensor([1.0, 2**24], dtype=torch.float32) + number for number in range(3)]
    for number, path in enumerate(paths):
        tensors = {
            "model.w": weights[number],
            "model.n": torch.tensor(number),
            "random.cpu": torch.ones(1),
        }
        write_tensors(path, tensors, {"config": {"a": 1}})
    average_checkpoints(paths, tmp_path / "mean", extra={"steps": [1, 2, 3]})
    tensors, about = read_tensors(tmp_path / "mean")
    expected = torch.stack(weights).double().mean(dim=0).float()
    assert tensors.keys() == {"model.w", "model.n"}
    assert torch.equal(tensors["model.w"], expected)
    assert tensors["model.n"].item() == 2
    assert (about["config"], about["extra"]) == ({"a": 1}, {"steps": [1, 2, 3]})


def test_a_run_has_the_mean_of_its_last_checkpoints(tmp_path: Path, make) -> None:
    folder = tmp_path / "run"
    list(start(make(average=2), folder))
    files = [folder / "checkpoints" / f"step-{step:08d}.safetensors" for step in (4, 6)]
    last, mean = load_run(folder, "last").model, load_run(folder).model
    for name, value in mean.state_dict().items():
        both = [read_tensors(path)[0][f"model.{name}"].double() for path in files]
        assert torch.equal(value, (sum(both) / 2).float())
    assert not torch.equal(mean.readout.weight, last.readout.weight)
    assert load_run(folder).which == "average"


@pytest.mark.usefixtures("unchecked")
def test_what_there_is_not_cannot_be_loaded(tmp_path: Path, make) -> None:
    with pytest.raises(RunError, match=r"without settings\.toml"):
        load_run(tmp_path)
    next(start(make(), tmp_path / "run"))
    with pytest.raises(RunError, match="got none yet"):
        load_run(tmp_path / "run")
    with pytest.raises(RunError, match="expected the weights of a run, got none"):
        load_run(tmp_path / "run", "average")
    with pytest.raises(ValueError, match="did you mean 'last'"):
        load_run(tmp_path / "run", "lst")


def test_checkpoints_of_two_models_have_no_mean(tmp_path: Path) -> None:
    for name, shape in (("1", (2,)), ("2", (3,)), ("3", (2, 1))):
        write_tensors(tmp_path / name, {"model.w": torch.zeros(shape)}, {})
    for other in ("2", "3"):
        with pytest.raises(CheckpointError, match=r"expected a model as in .*1, got another"):
            average_checkpoints([tmp_path / "1", tmp_path / other], tmp_path / "to", extra={})
    assert not (tmp_path / "to").exists()
