"""The mean of checkpoints: of every number, and of nothing but numbers."""

from pathlib import Path

import pytest
import torch

from attention_book.runs import RunError, load_run, start
from attention_book.runs.averaging import average_checkpoints
from attention_book.training import CheckpointError
from attention_book.training.checkpoints.tensor_file import read_tensors, write_tensors


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
