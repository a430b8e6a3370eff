"""A training that is cut off, by whatever and whenever, goes on as if nothing had happened."""

import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch import nn

from attention_book.text import ParallelData, SentencePair, Vocabulary
from attention_book.training import (
    CheckpointError,
    EarlyStopping,
    fit,
    load_checkpoint,
    read_checkpoint,
    save_checkpoint,
)


def weights(model: nn.Module) -> list[float]:
    return nn.utils.parameters_to_vector(model.parameters()).tolist()


def history(reports) -> list[tuple]:
    """Everything in the reports but the clock."""
    return [
        (r.epoch, r.loss_per_token, r.num_tokens, r.gradient_norm, r.validation_loss)
        for r in reports
    ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "training.safetensors"


@pytest.fixture
def start(make_model, make_data, adam):
    """A function that starts, or goes on with, a training, with a new model and optimizer."""

    def begin(path: str | Path | None, *, model_seed: int = 1, **changes: object):
        model = make_model(model_seed)
        optimizer = changes.pop("optimizer", adam)(model)
        options = {"epochs": 5, "batch_size": 5, "validation": make_data(7, seed=9), **changes}
        data = options.pop("data", make_data())
        return model, optimizer, fit(model, data, optimizer, checkpoint=path, **options)

    return begin


@pytest.mark.parametrize("every", [1, 2, 3])
@pytest.mark.parametrize("stopped_after", [1, 3, 4])
def test_a_resumed_training_is_the_uninterrupted_one(start, path, every, stopped_after) -> None:
    model, optimizer, reports = start(None)
    expected = history(reports)
    _, _, first = start(path, checkpoint_every=every)
    list(islice(first, stopped_after))
    done = stopped_after // every * every
    assert path.exists() == (done > 0)
    again, its_optimizer, rest = start(path, checkpoint_every=every)
    assert history(rest) == expected
    assert weights(again) == weights(model)
    ours, theirs = (each.state_dict()["state"] for each in (its_optimizer, optimizer))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[n][name], theirs[n][name]) for n in theirs for name in theirs[n])
    assert read_checkpoint(path).epoch == 5


def test_the_file_may_be_named_by_a_string(start, path) -> None:
    list(start(str(path), epochs=2)[2])
    assert read_checkpoint(str(path)).epoch == 2
    again, _, rest = start(path, epochs=2)
    list(rest)
    load_checkpoint(str(path), model=again)


def test_tokens_that_utf_8_refuses_can_be_trained_on(start, path) -> None:
    words = Vocabulary.build([("\ud800", "b")])
    data = ParallelData([SentencePair(("\ud800",), ("b",))], words, words)
    assert len(list(start(path, epochs=1, data=data)[2])) == 1


def test_the_schedule_goes_on_where_it_was(start, path) -> None:
    asked: list[int] = []

    def schedule(step: int) -> float:
        asked.append(step)
        return 1 / step

    model, _, reports = start(None, schedule=schedule)
    list(reports)
    del asked[:]
    list(islice(start(path, schedule=schedule)[2], 2))
    again, _, rest = start(path, schedule=schedule)
    list(rest)
    assert asked == list(range(1, 26))
    assert weights(again) == weights(model)


def test_epochs_that_are_done_are_reported_and_not_trained_again(start, path, monkeypatch) -> None:
    model, _, reports = start(path)
    expected = list(reports)
    again, _, rest = start(path, model_seed=1)
    monkeypatch.setattr(again, "encode", None)
    assert list(rest) == expected  # the seconds too
    assert weights(again) == weights(model)


def test_more_epochs_can_be_asked_for_later(start, path) -> None:
    model, _, reports = start(None, epochs=6)
    expected = history(reports)
    list(start(path, epochs=2)[2])
    again, _, rest = start(path, epochs=6)
    assert history(rest) == expected
    assert weights(again) == weights(model)


def test_early_stopping_decides_the_same_after_a_break(start, path) -> None:
    def run(reports, at_most: int) -> list[tuple]:
        stopping, seen = EarlyStopping(patience=2, min_improvement=0.05), []
        for report in islice(reports, at_most):
            seen.append((report.epoch, report.validation_loss, stopping.best_epoch))
            if stopping.update(report.validation_loss):
                break
        return seen

    options = {"epochs": 50}
    model, _, reports = start(None, **options)
    expected = run(reports, 50)
    assert 2 < len(expected) < 50  # it did stop early
    run(start(path, **options)[2], 2)
    again, _, rest = start(path, **options)
    assert run(rest, 50) == expected
    assert weights(again) == weights(model)
    once_more, _, rest = start(path, **options)  # after it has stopped: it stops there again
    assert run(rest, 50) == expected
    assert weights(once_more) == weights(model)


def test_a_changed_learning_rate_is_remembered(start, path) -> None:
    def run(path: Path | None, at_most: int) -> nn.Module:
        model, optimizer, reports = start(path)
        for report in islice(reports, at_most):
            if report.epoch == 2:
                optimizer.param_groups[0]["lr"] = 0.001
        return model

    model = run(None, 5)
    run(path, 3)
    assert weights(run(path, 5)) == weights(model)


def test_the_checkpoint_of_another_training_is_refused_and_nothing_changes(
    start, path, make_data
) -> None:
    list(start(path, epochs=2)[2])
    kept = path.read_bytes()
    for changes, message in [
        ({"batch_size": 6}, "batch_size: expected 6, got 5"),
        ({"seed": 1}, "seed: expected 1, got 42"),
        ({"clip": None}, "clip: expected None, got 1.0"),
        ({"label_smoothing": 0.1}, "label_smoothing: expected 0.1, got 0.0"),
        ({"schedule": lambda step: 1.0}, "schedule: expected True, got False"),
        ({"data": make_data(22)}, "data: expected 22 pairs, .* got 23 pairs"),
        ({"data": make_data(seed=6)}, "data: expected 23 pairs, .* got 23 pairs"),
        (
            {"data": make_data(max_tokens=50)},
            "data: expected 23 pairs, .*=50,.* got 23 pairs, .*=None",
        ),
        ({"validation": None}, "validation: expected None, got 7 pairs"),
        ({"epochs": 1}, "expected at most 1 epochs, got 2"),
        ({"optimizer": lambda m: torch.optim.Adam(m.parameters(), lr=0.02)}, "optimizer: expected"),
        ({"optimizer": lambda m: torch.optim.SGD(m.parameters(), lr=0.01)}, "optimizer: expected"),
    ]:
        model, optimizer, reports = start(path, **changes)
        before, state = weights(model), torch.get_rng_state()
        with pytest.raises(CheckpointError, match=message):
            list(reports)
        assert weights(model) == before
        assert not optimizer.state
        assert torch.equal(torch.get_rng_state(), state)
    assert path.read_bytes() == kept


def test_a_checkpoint_that_is_none_of_a_training_is_refused(start, path) -> None:
    model, optimizer, reports = start(path)
    save_checkpoint(path, model=model, optimizer=optimizer)
    with pytest.raises(CheckpointError, match="expected the checkpoint of a training, got another"):
        list(reports)


# Imports torch once, and then lets one child after the other train, each until it is killed: at
# the n-th call of a function, wherever that may be, or just before or after a certain one.
KILLED_AGAIN_AND_AGAIN = """
import itertools, os, random, signal, sys
from pathlib import Path

import torch

torch.set_num_threads(1)
from attention_book import set_seed
from attention_book.models import Seq2Seq, Seq2SeqConfig
from attention_book.text import ParallelData, SentencePair, Vocabulary
from attention_book.training import fit, read_checkpoint

words = Vocabulary.build([list("abcdefg")])
letters = random.Random(1)
texts = [letters.choices("abcdefg", k=letters.randint(1, 6)) for _ in range(30)]
data = ParallelData([SentencePair(tuple(t), tuple(t)) for t in texts], words, words)

def train(path):
    set_seed(1)
    config = Seq2SeqConfig(source_vocabulary=11, target_vocabulary=11, d_embed=5, d_hidden=5,
                           dropout=0.3, num_layers=1)
    model = Seq2Seq(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    list(fit(model, data, optimizer, epochs=25, batch_size=10, checkpoint=path))

def in_a_child(path, kill):
    child = os.fork()
    if child == 0:
        if kill is not None:
            sys.setprofile(kill)
        train(path)
        sys.setprofile(None)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def at_call(number):
    calls = itertools.count()
    return lambda frame, event, argument: next(calls) == number and die()

def around(event, function):
    return lambda frame, e, f: e == event and f == function and die()

def warm_up():
    # What torch imports late is imported here, once, and not by every child. No backward pass:
    # its threads, where there are any, would not survive a fork.
    weight = torch.nn.Parameter(torch.ones(2))
    weight.grad = torch.ones(2)
    torch.optim.Adam([weight]).step()

warm_up()
folder = Path(sys.argv[1])
assert in_a_child(folder / "whole", None) == 0
draw = random.Random(2)
kills = [around(event, function) for function in (os.fsync, os.replace)
         for event in ("c_call", "c_return")]
kills += [at_call(draw.randrange(90_000)) for _ in range(6)]  # an epoch makes 17,000 calls
draw.shuffle(kills)
path, codes, epochs = folder / "killed", [], []
for kill in kills:
    codes.append(in_a_child(path, kill))
    epochs.append(read_checkpoint(path).epoch if path.exists() else 0)
codes.append(in_a_child(path, None))
print(codes, epochs)
assert codes[:-1] == [-signal.SIGKILL] * 10, "every child but the last is killed"
assert epochs == sorted(epochs), "an epoch was lost"
assert codes[-1] == 0
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_killed_at_any_moment_it_goes_on_to_the_same_weights(tmp_path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", KILLED_AGAIN_AND_AGAIN, tmp_path], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
    whole, killed = (tensors(tmp_path / name) for name in ("whole", "killed"))
    assert whole.keys() == killed.keys()
    assert all(torch.equal(whole[name], killed[name]) for name in whole)
    ours, theirs = (read_checkpoint(tmp_path / name).reports for name in ("whole", "killed"))
    assert history(ours) == history(theirs)


def tensors(path: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    return load_file(path)
