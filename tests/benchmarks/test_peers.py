"""`make peers`: what it checks before it measures, what it counts, and what it writes down.

Nothing is timed here, and no other library is needed: nn.Transformer is there with torch.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import torch

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from paired import summary, take_turns
from peers.__main__ import main
from peers.agreement import check_decoding, check_training
from peers.memory import can_measure, measured, peak_during
from peers.programs import installed, ours_for
from peers.programs.ours import OursWithoutBiases
from peers.programs.torch_nn import TorchNN
from peers.report import BY_HAND
from peers.sizes import TINY, create, decoding_batch, settings, training_batch
from peers.waiting import passes, step
from peers.work import decoding_work, training_work

PLAN = TINY["tiny"]
SIZE = PLAN.size


def programs(*names, **kinds):
    chosen = installed(list(names)) | kinds
    config = settings(SIZE.config(dropout=0.0), biases=True, endless=True)
    return create(chosen, config, max_tokens=SIZE.tokens + 1, endless=True)


def test_a_tiny_run_compares_every_task_and_writes_it_down(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"old\n\n{BY_HAND}\n\nA thought.\n", encoding="utf-8")
    tasks = ["training", "decoding", "learning"]
    arguments = ["--tiny", "--only", "torch.nn", "--device", "cpu", "--out", str(tmp_path / "page")]
    results = main([*arguments, "--tasks", *tasks])
    assert {(row.task, row.program) for row in results.rows} == {
        ("training step", "ours"),
        ("training step", "torch.nn"),
        ("greedy decoding", "ours"),
        ("greedy decoding", "torch.nn"),
        ("4 beams", "ours"),  # nn.Transformer has no search
    }
    assert [row.program for row in results.rows if row.ours is None] == ["ours"] * 3
    assert {row.program for row in results.learned} == {"ours", "torch.nn"}
    stored = json.loads((tmp_path / "page.json").read_text(encoding="utf-8"))
    assert len(stored["rows"]) == 5
    assert stored["versions"]["torch"] == version("torch")  # torch itself may add "+cu130"
    written = page.read_text(encoding="utf-8")
    assert written.endswith(f"{BY_HAND}\n\nA thought.\n")
    assert "| tiny | torch.nn |" in written
    assert "old" not in written


def test_what_is_not_installed_is_left_out_and_ours_comes_along():
    assert list(installed(["torch.nn"])) == ["ours", "torch.nn"]
    assert ours_for(TorchNN) == "ours"
    assert ours_for(OursWithoutBiases) == "ours without biases"


class OneWeightOff(TorchNN):
    """A program that takes over all parameters but one."""

    def copy_(self, ours):
        super().copy_(ours)
        with torch.no_grad():
            self.model.transformer.decoder.layers[0].multihead_attn.out_proj.weight[0, 0] += 0.5


class SecondBest(TorchNN):
    """A program that once writes the second best word."""

    def greedy(self, batch, num_tokens):
        written = super().greedy(batch, num_tokens)
        written[1, 2] = 4 if written[1, 2] != 4 else 5
        return written


def test_programs_that_agree_are_told_so():
    found = check_training(programs("torch.nn"), training_batch(SIZE))
    assert found == {"torch.nn": "the same parameters and logits, a gradient of the same length"}
    check_decoding(programs("torch.nn"), decoding_batch(PLAN), PLAN.num_tokens)


def test_one_weight_that_differs_is_found():
    with pytest.raises(AssertionError, match="off"):
        check_training(programs("ours", off=OneWeightOff), training_batch(SIZE))


def test_a_word_that_is_not_the_best_is_found():
    with pytest.raises(AssertionError, match="another word was better"):
        check_decoding(programs("ours", second=SecondBest), decoding_batch(PLAN), PLAN.num_tokens)


def test_no_pass_and_no_step_of_decoding_reads_from_the_device(reads_of):
    ours, batch = programs("ours")["ours"], training_batch(SIZE)
    assert reads_of(passes(ours.train(), batch)) == 0
    assert reads_of(step(ours.model.eval(), batch)) == 0


def test_the_operations_of_a_training_step_are_those_of_the_formulas():
    n, d, f, words = SIZE.tokens, SIZE.d_model, SIZE.d_ff, SIZE.words
    attention = 4 * n * d * d + 2 * n * n * d  # four projections; scores and averages
    encoder, decoder = attention + 2 * n * d * f, 2 * attention + 2 * n * d * f
    forward = 2 * SIZE.batch * (SIZE.num_layers * (encoder + decoder) + n * d * words)
    assert training_work(PLAN).operations == 3 * forward  # the backward pass has two for each
    assert training_work(PLAN).num_bytes == 10 * 4 * programs("ours")["ours"].num_parameters


def test_writing_reads_the_decoders_weights_at_every_step():
    d, f, words, rows = SIZE.d_model, SIZE.d_ff, SIZE.words, PLAN.num_sources
    read_once = 4 * d * d + 4 * d + 2 * d * f + d + f + 4 * d  # an encoder layer, with its biases
    each_step = 6 * d * d + 8 * d + 2 * d * f + d + f + 6 * d + words * d
    kept = 2 * d * rows * (sum(range(1, PLAN.num_tokens + 1)) + PLAN.num_tokens * SIZE.tokens)
    expected = read_once + PLAN.num_tokens * each_step + kept
    assert decoding_work(PLAN).num_bytes == 4 * expected
    more = decoding_work(PLAN, width=4)
    assert more.num_bytes == 4 * (expected + 3 * kept)
    assert more.operations > decoding_work(PLAN).operations


def test_ratios_are_taken_within_a_round():
    """Programs on a clock of our own: one takes 20 ms, the other half as long, then all is slow."""
    now, calls = [0.0], []

    def program(name, seconds):
        def call():
            calls.append(name)
            now[0] += seconds * (3 if len(calls) > 8 else 1)

        return call

    programs = {"slow": program("slow", 0.04), "fast": program("fast", 0.02)}
    seconds = take_turns(programs, rounds=6, clock=lambda: now[0])
    assert {name: len(each) for name, each in seconds.items()} == {"slow": 6, "fast": 6}
    timing = summary(seconds["fast"], seconds["slow"])
    assert timing.ratio == pytest.approx(0.5)
    assert timing.lower_quartile <= 0.5 <= timing.upper_quartile


@pytest.mark.skipif(not can_measure(), reason="this system does not tell a process its peak")
def test_the_peak_is_that_of_the_call():
    before = peak_during(lambda: None, "cpu")
    assert peak_during(lambda: torch.ones(2**24), "cpu") > before + 0.9 * 2**26
    assert peak_during(lambda: None, "cpu") < before + 0.5 * 2**26, "the last peak is forgotten"
    (found,) = measured(["ours"], "tiny", "cpu", threads=1)
    assert found.program == "ours"
    assert 2**26 < found.imported < found.training
