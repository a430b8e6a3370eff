"""A run takes the steps of whole batches, and goes on where it was cut off, bit by bit."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from attention_book.foundations.bilingual import Bilingual
from attention_book.runs import (
    BatchPlan,
    Interrupted,
    MachineError,
    RunError,
    RunFolder,
    StepReport,
    load_run,
    read_log,
    resume,
    start,
    status,
)
from attention_book.runs import training as training_of_runs
from attention_book.runs.building import open_material, prepare_material
from attention_book.runs.checkpoints import Checkpoints
from attention_book.runs.corpus import part_of
from attention_book.runs.ddp import Ranks
from attention_book.runs.training import Training, count_steps
from attention_book.training import CheckpointError, inverse_square_root_schedule
from attention_book.training.checkpoint import read_tensors


@pytest.fixture
def material(tmp_path, make):
    folder = RunFolder(tmp_path / "run")
    folder.claim(make())
    prepare_material(folder, make(), print)
    return open_material(folder)


def test_epochs_and_steps_are_counted(tmp_path, make, material) -> None:
    settings = make(steps=None, epochs=3, accumulate=2)
    plan = BatchPlan(batch_size=5)
    batches = [material.train.num_batches(plan, epoch) for epoch in (1, 2, 3)]
    expected = sum(-(-number // 2) for number in batches)
    assert count_steps(settings.training, plan, material.train) == expected
    reports = list(start(settings, tmp_path / "epochs"))
    assert [report.step for report in reports] == list(range(1, expected + 1))
    assert {report.num_steps for report in reports} == {expected}
    assert sum(report.num_tokens for report in reports) == 3 * material.train.num_tokens
    ends = [a.epoch for a, b in pairwise(reports) if a.epoch != b.epoch]
    assert ends == [1, 2]
    # Without a word of the settings there are checkpoint and validation at the end of an epoch.
    settings = replace(
        settings, training=replace(settings.training, validate_every=None, checkpoint_every=None)
    )
    looked = [r.step for r in start(settings, tmp_path / "ends") if r.validation_loss is not None]
    steps = [-(-number // 2) for number in batches]
    assert looked == [steps[0], steps[0] + steps[1], expected]


def test_batches_that_make_a_step_are_one_batch(make, material) -> None:
    """Accumulated batches of some sizes: the gradient of the mean over all their tokens."""
    with torch.random.fork_rng():
        training = Training(make(accumulate=3, clip=0.0, batch_size=4), material, Ranks())
        training.model.double().eval()
        batches = list(material.train.batches(BatchPlan(batch_size=4), 1))[:3]
        counts = [batch.num_tokens for batch in batches]
        assert len(set(counts)) > 1
        losses = training.replica.losses(batches, counts, sum(counts))
        mean = sum(loss().mean for loss in losses) / 3
        total = sum(
            training.replica.plain(batch) * count
            for batch, count in zip(batches, counts, strict=True)
        )
    torch.testing.assert_close(mean, total / sum(counts))


@pytest.mark.parametrize("schedule", ["linear", "inverse-square-root", "constant"])
def test_the_learning_rate_peaks_at_what_is_set(tmp_path, make, schedule: str) -> None:
    settings = make(schedule=schedule, learning_rate=0.03, warmup=3)
    rates = [report.learning_rate for report in start(settings, tmp_path / schedule)]
    assert max(rates) == rates[2] == 0.03
    assert rates[:2] == pytest.approx([0.01, 0.02])
    if schedule == "constant":
        assert rates[3:] == [0.03] * 3
    elif schedule == "linear":
        assert rates[3:] == pytest.approx([0.0225, 0.015, 0.0075])
    else:
        factor = inverse_square_root_schedule(warmup=3)
        assert rates[3:] == pytest.approx([0.03 * factor(step) for step in (4, 5, 6)])


def test_betas_and_decay_reach_the_optimizer(make, material) -> None:
    training = Training(make(betas=(0.8, 0.9), weight_decay=0.2), material, Ranks())
    optimizer = training.stepper.optimizer
    assert type(optimizer) is torch.optim.AdamW
    assert optimizer.defaults["betas"] == (0.8, 0.9)
    decay = {
        id(each): group["weight_decay"]
        for group in optimizer.param_groups
        for each in group["params"]
    }
    parameters = list(training.model.parameters())
    assert len(decay) == len(parameters)
    assert all(decay[id(each)] == (0.2 if each.ndim > 1 else 0.0) for each in parameters)


def test_the_validation_loss_is_that_of_all_its_tokens(make, material) -> None:
    training = Training(make(label_smoothing=0.3), material, Ranks())
    training.model.double()
    whole = material.validation.batch(torch.arange(len(material.validation)))
    training.model.eval()
    expected = training.replica.plain(whole).item()
    training.model.train()
    assert training.validate() == pytest.approx(expected)
    assert training.model.training


def until(reports: Iterator[StepReport], step: int) -> None:
    """Take the steps up to one, and leave."""
    for report in reports:
        if report.step == step:
            break


def tensors(path: Path) -> dict[str, torch.Tensor]:
    return read_tensors(path)[0]


def without_times(folder: Path) -> list[str]:
    return [json.dumps({**line, "tokens_per_second": 0}) for line in read_log(folder / "log.jsonl")]


def same(folder: Path, other: Path) -> None:
    """Check that two runs ended alike, to the last bit."""
    names = sorted(path.relative_to(folder) for path in folder.rglob("*.safetensors"))
    assert names == sorted(path.relative_to(other) for path in other.rglob("*.safetensors"))
    for name in names:
        ours, its_about = read_tensors(folder / name)
        theirs, about = read_tensors(other / name)
        assert its_about == about
        assert all(torch.equal(ours[each], theirs[each]) for each in theirs)
    assert without_times(folder) == without_times(other)
    assert (folder / "curves.svg").read_bytes() == (other / "curves.svg").read_bytes()


@pytest.fixture
def undisturbed(tmp_path: Path, make) -> Path:
    list(start(make(keep=2, average=2), tmp_path / "undisturbed"))
    return tmp_path / "undisturbed"


def test_the_folder_holds_all_that_a_run_leaves(undisturbed: Path, make) -> None:
    steps = [path.name for path in sorted((undisturbed / "checkpoints").iterdir())]
    assert steps == ["step-00000004.safetensors", "step-00000006.safetensors"]
    assert RunFolder(undisturbed).settings() == make(keep=2, average=2)
    [entry] = json.loads((undisturbed / "versions.json").read_text())
    assert entry["torch"] == torch.__version__
    assert [line["step"] for line in read_log(undisturbed / "log.jsonl")] == [1, 2, 3, 4, 5, 6]
    assert status(undisturbed) == "finished"
    assert list(resume(undisturbed)) == []


def test_a_checkpoint_that_a_killed_process_left_over_goes(undisturbed: Path, make) -> None:
    kept = Checkpoints(undisturbed / "checkpoints")
    kept.path(2).write_bytes(kept.path(4).read_bytes())
    (undisturbed / "curves.svg").unlink()  # so that the run is not finished
    assert list(resume(undisturbed)) == []
    assert kept.steps() == [4, 6]


def test_the_best_weights_are_those_of_the_lowest_validation_loss(tmp_path: Path, make) -> None:
    steep = make(
        learning_rate=0.5, schedule="constant", validate_every=1, checkpoint_every=1, keep=6
    )
    list(start(steep, tmp_path / "run"))
    losses = {
        line["step"]: line["validation_loss"] for line in read_log(tmp_path / "run/log.jsonl")
    }
    step = min(losses, key=losses.__getitem__)
    assert step < 6, "a rate as large as this is to spoil what was learned"
    best, kept = RunFolder(tmp_path / "run").best, Checkpoints(tmp_path / "run/checkpoints")
    assert read_tensors(best)[1]["extra"] == {"step": step, "validation_loss": losses[step]}
    there = tensors(kept.path(step))
    assert all(torch.equal(weight, there[name]) for name, weight in tensors(best).items())


@pytest.mark.parametrize("step", [1, 3, 4, 5])
def test_a_resumed_run_ends_with_the_same_bits(undisturbed, tmp_path, make, step: int) -> None:
    folder = tmp_path / "cut"
    until(start(make(keep=2, average=2), folder), step)
    assert status(folder) == "unfinished"
    for report in resume(folder):
        torch.rand(report.step)  # the caller's random numbers are the caller's
        assert report.step > step // 2 * 2
    same(folder, undisturbed)


def test_the_callers_random_numbers_are_left_alone(tmp_path, make) -> None:
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    list(start(make(), tmp_path / "run"))
    load_run(tmp_path / "run")
    assert torch.equal(torch.rand(3), expected)


def test_another_seed_and_another_order_give_other_weights(tmp_path, make, undisturbed) -> None:
    list(start(make(seed=7), tmp_path / "other"))
    assert without_times(tmp_path / "other") != without_times(undisturbed)


# --- Ctrl-C ----------------------------------------------------------------------------------


def test_ctrl_c_saves_and_leaves_no_trace_in_the_end(undisturbed, tmp_path, make) -> None:
    folder = tmp_path / "interrupted"
    seen = []
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted, match="saved at step 3") as caught:  # noqa: PT012
        for report in start(make(keep=2, average=2), folder):
            seen.append(report.step)
            if report.step == 2:
                signal.raise_signal(signal.SIGINT)
    assert (seen, caught.value.step) == ([1, 2, 3], 3)
    assert signal.getsignal(signal.SIGINT) is before
    assert (folder / "curves.svg").exists()
    assert [report.step for report in resume(folder)] == [4, 5, 6]
    same(folder, undisturbed)


def test_a_second_ctrl_c_breaks_off_at_once(tmp_path, make) -> None:
    with pytest.raises(KeyboardInterrupt) as caught:  # noqa: PT012
        for _ in start(make(), tmp_path / "run"):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
    assert not isinstance(caught.value, Interrupted)


# --- what is refused -------------------------------------------------------------------------


def test_a_folder_with_a_run_is_refused_with_what_differs(tmp_path, make) -> None:
    folder = tmp_path / "run"
    until(start(make(), folder), 2)
    with pytest.raises(RunError, match="got one to resume"):
        next(start(make(), folder))
    with pytest.raises(RunError, match=r"training\.warmup: 2 there, 3 given; training\.seed"):
        next(start(make(warmup=3, seed=1), folder))
    with pytest.raises(RunError, match="expected the folder of a run, got no folder"):
        next(resume(tmp_path / "nothing"))


def test_a_run_in_use_is_refused(tmp_path, make) -> None:
    going = start(make(), tmp_path / "run")
    next(going)
    with pytest.raises(RunError, match="got one that is in use"):
        next(resume(tmp_path / "run"))
    assert [report.step for report in going] == [2, 3, 4, 5, 6]
    assert list(resume(tmp_path / "run")) == []


def test_a_missing_gpu_is_one_clear_error(tmp_path, make, monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(MachineError, match='expected a GPU for "cuda", got none'):
        next(start(make(device="cuda"), tmp_path / "run"))
    assert not (tmp_path / "run").exists()


# --- disks -----------------------------------------------------------------------------------


def test_a_full_disk_is_one_clear_error_and_the_last_checkpoint_stays(
    undisturbed, tmp_path, make, monkeypatch
) -> None:
    folder, fsync = tmp_path / "run", os.fsync

    def full(file: int) -> None:
        if Checkpoints(folder / "checkpoints").steps() == [2]:
            raise OSError(28, "No space left on device")
        fsync(file)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MachineError, match=r"No space left.*step-00000002\.safetensors is still"):
        list(start(make(keep=2, average=2), folder))
    monkeypatch.undo()
    assert not list(folder.rglob("*.part"))
    assert [report.step for report in resume(folder)] == [3, 4, 5, 6]
    same(folder, undisturbed)


@pytest.mark.parametrize("damage", ["cut", "a bit", "empty"])
def test_a_damaged_checkpoint_is_told_of_and_the_one_before_is_taken(
    undisturbed, tmp_path, make, damage: str
) -> None:
    folder, told = tmp_path / "run", []
    until(start(make(keep=2, average=2), folder), 5)
    last = folder / "checkpoints" / "step-00000004.safetensors"
    content = bytearray(last.read_bytes())
    content[len(content) // 2] ^= 1
    half = len(content) // 2
    last.write_bytes({"cut": content[:half], "a bit": content, "empty": b""}[damage])
    assert [report.step for report in resume(folder, tell=told.append)] == [3, 4, 5, 6]
    [note] = told
    assert isinstance(note, Bilingual)
    assert "step-00000004.safetensors is damaged" in note.en
    (folder / "checkpoints" / "step-00000004.damaged").unlink()
    same(folder, undisturbed)


def test_without_any_whole_checkpoint_there_is_one_error(tmp_path, make) -> None:
    folder = tmp_path / "run"
    until(start(make(), folder), 5)
    names = sorted((folder / "checkpoints").iterdir())
    for path in names:
        path.write_bytes(b"?")
    with pytest.raises(CheckpointError, match="expected a checkpoint to go on from"):
        list(resume(folder))
    assert sorted((folder / "checkpoints").iterdir()) == names  # nothing was taken away


def test_a_run_of_an_earlier_version_in_which_all_decays_is_refused(
    tmp_path, make, monkeypatch
) -> None:
    """It was told of the shapes of parameter 10."""

    def build_one_group(model, settings) -> torch.optim.Optimizer:
        rate, decay = settings.learning_rate, settings.weight_decay
        return torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=decay, fused=True)

    folder = tmp_path / "run"
    with monkeypatch.context() as earlier:
        earlier.setattr(training_of_runs, "build_optimizer", build_one_group)
        until(start(make(weight_decay=0.1), folder), 5)
    with pytest.raises(CheckpointError, match="weight_decay: expected decay of matrices alone"):
        list(resume(folder))


def test_what_nobody_listens_to_is_a_warning(tmp_path, make) -> None:
    folder = tmp_path / "run"
    until(start(make(), folder), 5)
    (folder / "checkpoints" / "step-00000004.safetensors").write_bytes(b"")
    with pytest.warns(UserWarning, match="is damaged; going on"):
        list(resume(folder))


def test_a_torn_log_and_lines_to_come_are_cut_off(undisturbed, tmp_path, make) -> None:
    folder = tmp_path / "run"
    until(start(make(keep=2, average=2), folder), 5)
    with (folder / "log.jsonl").open("a") as log:
        log.write('{"step": 6, "lo')
    list(resume(folder))
    same(folder, undisturbed)


def test_little_data_is_trained_on_without_validation(tmp_path, make, pairs) -> None:
    sources = [f"aa {chr(ord('a') + number)}" for number in range(20)]
    kept = [source for source in sources if part_of(source, 0.15) == "train"][:9]
    pairs.write_text("".join(f"{source}\tbb\n" for source in kept), encoding="utf-8")
    told = []
    reports = list(start(make(), tmp_path / "run", tell=told.append))
    assert {report.validation_loss for report in reports} == {None}
    assert "no validation loss" in told[0].en
    assert load_run(tmp_path / "run").which == "last"
