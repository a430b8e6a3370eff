"""Several processes take the steps that one takes with the whole batch, however they end."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from attention_book.models import Transformer, TransformerConfig
from attention_book.runs import read_log, status
from attention_book.runs.ddp import parts_to_shard
from attention_book.training.checkpoint import read_tensors

Said = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("together")


@pytest.fixture(scope="module")
def said(folder: Path) -> Said:
    """What came of each scenario."""
    script = Path(__file__).with_name("together.py")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "ATTENTION_BOOK_STRICT": "1"}
    done = subprocess.run(
        [sys.executable, str(script), str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = (json.loads(line) for line in done.stdout.splitlines())
    return {line["name"]: line for line in lines}


def reports(scenario: dict[str, Any]) -> list[list[float]]:
    """The reports of the first process; all processes got the same."""
    first, *others = (rank["reports"] for rank in scenario["ranks"])
    assert all(other == first for other in others)
    return first


def weights(folder: Path) -> dict[str, torch.Tensor]:
    newest = max((folder / "checkpoints").glob("*.safetensors"))
    return read_tensors(newest)[0]


@pytest.mark.parametrize(
    ("one", "several"),
    [
        ("epoch of 1", "epoch of 4"),
        ("several of 1", "several of 2"),
        ("several of 1", "shards of 2"),
        ("recurrent of 1", "recurrent of 2"),
    ],
)
def test_several_processes_take_the_steps_of_one(
    said: Said, folder: Path, one: str, several: str
) -> None:
    found, expected = (torch.tensor(numbers(reports(said[name]))) for name in (several, one))
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-10)
    theirs, ours = weights(folder / several), weights(folder / one)
    assert set(ours) <= set(theirs)
    for name in ours:
        if not name.startswith("random."):
            torch.testing.assert_close(theirs[name], ours[name], rtol=1e-5, atol=1e-9)
    logs = [
        [line["loss"] for line in read_log(folder / name / "log.jsonl")] for name in (one, several)
    ]
    torch.testing.assert_close(torch.tensor(logs[0]), torch.tensor(logs[1]), rtol=1e-5, atol=0)


def numbers(found: list[list[float | None]]) -> list[list[float]]:
    return [[0.0 if value is None else value for value in report] for report in found]


def test_each_pair_is_read_once(said: Said, folder: Path) -> None:
    assert said["epoch of 4"]
    alone, together = (
        Counter((folder / f"epoch of {world}.jsonl").read_text().splitlines()) for world in (1, 4)
    )
    assert together == alone
    assert sum(alone.values()) > 40


def test_low_precision_is_near(said: Said) -> None:
    found, expected = (
        torch.tensor(numbers(reports(said[f"bfloat16 of {world}"]))) for world in (4, 1)
    )
    torch.testing.assert_close(found[:, 0], expected[:, 0], rtol=2e-2, atol=0)


def test_only_the_first_process_writes_and_all_are_refused_what_it_is(said: Said) -> None:
    errors = [rank["error"] for rank in said["refused"]["ranks"]]
    assert errors[0] == errors[1]
    assert "RunError" in errors[0]
    assert "training.accumulate: 3 there, 1 given" in errors[0]


def test_a_worker_that_dies_ends_all_within_seconds(said: Said) -> None:
    survivor, victim = said["killed"]["ranks"]
    assert victim["ended"][0] == -9
    assert survivor["ended"][0] == 0  # it could say what happened, and ended by itself
    assert survivor["ended"][1] - victim["ended"][1] < 10
    assert survivor["error"].startswith("MachineError: processes: expected all 2 to answer")
    assert "\n" not in survivor["error"]


def test_an_interrupted_training_is_saved_by_all_and_resumes_to_the_same_bits(
    said: Said, folder: Path
) -> None:
    for rank in said["interrupted"]["ranks"]:
        assert rank["error"].endswith("interrupted, and saved at step 4")
    assert reports(said["resumed"]) == reports(said["undisturbed"])[4:]
    same_bits(folder / "cut", folder / "undisturbed")


def test_an_elastic_restart_goes_on_and_ends_with_the_same_bits(said: Said, folder: Path) -> None:
    assert reports(said["elastic"]) == reports(said["undisturbed"])[4:]
    same_bits(folder / "elastic", folder / "undisturbed")


def test_without_restarts_the_agent_gives_up_and_says_who_died(said: Said, folder: Path) -> None:
    # Of the two that ended the agent names the one that it hears of first.
    words = ("Signal 9 (SIGKILL)", "expected all 2 to answer, got none from one of them")
    assert any(each in said["given up"]["error"] for each in words)
    assert status(folder / "given-up") == "unfinished"


def test_what_two_share_one_goes_on_with(said: Said, folder: Path) -> None:
    found, expected = reports(said["of one"]), reports(said["undivided"])[4:]
    found, expected = numbers(found), numbers(expected)
    torch.testing.assert_close(torch.tensor(found), torch.tensor(expected), rtol=1e-8, atol=1e-10)
    theirs, ours = weights(folder / "fewer"), weights(folder / "undivided")
    for name in ours:
        if not name.startswith("random."):
            torch.testing.assert_close(theirs[name], ours[name], rtol=1e-5, atol=1e-9)


def same_bits(folder: Path, other: Path) -> None:
    tensors, about = read_tensors(max((folder / "checkpoints").glob("*.safetensors")))
    others, its_about = read_tensors(max((other / "checkpoints").glob("*.safetensors")))
    assert about == its_about
    assert tensors.keys() == others.keys()
    assert any(name.startswith("random.1.") for name in tensors)
    for name, value in tensors.items():
        assert torch.equal(value, others[name]), name


@pytest.mark.parametrize("positions", ["sinusoidal", "relative", "buckets"])
def test_no_weight_belongs_to_two_shards(positions: str) -> None:
    config = TransformerConfig(source_vocabulary=9, target_vocabulary=9, positions=positions)
    parts = parts_to_shard(Transformer(config))
    seen = [id(parameter) for part in parts for parameter in part.parameters()]
    assert parts
    assert len(seen) == len(set(seen))
