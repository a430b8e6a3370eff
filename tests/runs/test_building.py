"""Random numbers of each process, seed and step; memory that there is, and that stays."""

from __future__ import annotations

import itertools
import platform
import subprocess
import sys
from contextlib import nullcontext

import pytest
import torch

from attention_book.foundations.bilingual import Bilingual
from attention_book.runs.building import (
    RandomNumbers,
    build_model,
    build_optimizer,
    bytes_needed,
    check_memory,
    free_memory,
    seed_of,
)
from attention_book.runs.codec import TextCodec
from attention_book.runs.folder import MachineError
from attention_book.runs.settings import ModelSettings, TextSettings, TrainingSettings

# A block of 200 MiB, freed and asked for again: how often the system had to lend a page anew.
FAULTS = """
import resource, sys, torch
from attention_book.runs.building import keep_freed_memory
if sys.argv[1] == "keep":
    assert keep_freed_memory()
for turn in range(8):
    if turn == 2:  # by then the block has found its place
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.empty(50 * 2**20).fill_(1.0)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def lent(mode: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", FAULTS, mode], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_what_is_freed_is_not_handed_back():
    assert lent("keep") < lent("leave") / 4


@pytest.fixture
def codec() -> TextCodec:
    return TextCodec.learn([("Go.", "Va !")], TextSettings(), ("en", "fr"))


@pytest.mark.parametrize(
    ("size", "free", "told", "refused"),
    [(64, 10**6, False, False), (4096, 10**11, True, False), (4096, 10**9, False, True)],
)
def test_what_a_model_takes_is_told_before_it_is_taken(
    codec, monkeypatch, size, free, told, refused
) -> None:
    settings = ModelSettings(config={"d_model": size, "d_ff": 4 * size, "num_layers": 2})
    monkeypatch.setattr("attention_book.runs.building.free_memory", lambda device: free)
    heard: list[Bilingual] = []
    state = torch.get_rng_state()
    wrong = pytest.raises(MachineError, match=r"memory: expected .* GB .*, got 1\.0 GB")
    with wrong if refused else nullcontext():
        check_memory(settings, codec, torch.device("cpu"), heard.append)
    assert bool(heard) == told
    assert torch.equal(torch.get_rng_state(), state), "nothing is drawn"


def test_the_bytes_are_those_of_weights_gradients_and_moments(codec) -> None:
    settings = ModelSettings(config={"d_model": 16, "num_heads": 2})
    model = build_model(settings, codec)
    optimizer = build_optimizer(model, TrainingSettings())
    sum(weight.sum() for weight in model.parameters()).backward()
    optimizer.step()
    moments = [s[name] for s in optimizer.state.values() for name in ("exp_avg", "exp_avg_sq")]
    kept = [*model.parameters(), *(weight.grad for weight in model.parameters()), *moments]
    assert bytes_needed(settings, codec) == sum(each.nbytes for each in kept)
    assert bytes_needed(settings, codec) > 0


def test_the_memory_that_is_free_is_read_where_it_stands(tmp_path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   2048 kB\n")
    assert free_memory(torch.device("cpu"), tmp_path / "meminfo") == 2 * 2**20
    (tmp_path / "meminfo").write_text("nothing\n")
    assert free_memory(torch.device("cpu"), tmp_path / "meminfo") is None


CPU = torch.device("cpu")


def drawn(seed: int, times: int) -> list[tuple[float, ...]]:
    numbers, found = RandomNumbers(seed, CPU), []
    for _ in range(times):  # as a step of dropout would
        with numbers:
            found.append(tuple(torch.rand(4).tolist()))
        torch.rand(3)  # the caller's
    return found


def test_seed_rank_and_step_are_not_one_number() -> None:
    """The kind: numbers mixed into one by a sum or side by side, so that neighbors coincide."""
    seeds, ranks, steps = (0, 1, 2, 3, 11, 12, 2**32 - 1), (0, 1, 2, 11, 12), (0, 1, 2, 11, 112)
    found = [seed_of(*each) for each in itertools.product(seeds, ranks, steps)]
    assert len(set(found)) == len(found)
    assert all(0 <= seed < 2**32 for seed in found)
    assert [seed_of(seed, 0) for seed in seeds] == list(seeds)


def test_a_step_of_one_seed_draws_what_no_step_of_another_draws() -> None:
    steps = [draw for seed in (1, 2, 3, 42, 2**32 - 1) for draw in drawn(seed, 5)]
    assert len(set(steps)) == len(steps)
    ranks = [draw for rank in range(4) for draw in drawn(seed_of(42, rank), 3)]
    assert len(set(ranks)) == len(ranks)


def test_the_caller_s_numbers_go_on() -> None:
    torch.manual_seed(5)
    expected = torch.rand(6).tolist()
    torch.manual_seed(5)
    first = torch.rand(3).tolist()
    drawn_between = RandomNumbers(1, CPU)
    with drawn_between:
        torch.rand(9)
    assert [*first, *torch.rand(3).tolist()] == expected
