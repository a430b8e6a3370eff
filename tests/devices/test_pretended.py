"""On a device that is none: nothing fails there, and a step waits for it once."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import attention_book.attention
import attention_book.decoding
import attention_book.inspection
import attention_book.metrics
import attention_book.models
import attention_book.training

DRIVEN = Path(__file__).with_name("driven.py")
PACKAGES = (
    attention_book.attention,
    attention_book.models,
    attention_book.decoding,
    attention_book.training,
    attention_book.inspection,
    attention_book.metrics,
)
#: What takes no tensors: numbers, texts, the weights of others; or what others are made of.
NOT_DRIVEN = {
    "models": "BahdanauDecoder DecoderState FixedContextDecoder LuongDecoder RecurrentEncoder "
    "RotarySettings SourceMemory TiedModel TokenStack Translator Writer LoRA NgramState "
    "Pretrained PretrainedError load_pretrained DecoderOutline",
    "decoding": "Hypothesis Speculation Translation expected_words length_factor round_law "
    "CacheMemory Drafts Request Schedule Served Step StepTimes random_requests serve",
    "training": "BatchLoss Checkpoint CheckpointError EarlyStopping EpochReport Report "
    "batch_loss linear_schedule progress read_checkpoint save_checkpoint",
    "attention": "KVCache Kernel Score Cache Positions",
    "inspection": "CachedToken Roofline StepCost decoding_step fastest_seconds measured_roofline "
    "Traffic attention_traffic largest_tile traffic PATHS",
    "metrics": "AlignmentScores LengthBin NgramMatches alignment_scores bleu_by_length "
    "bleu_signature brevity_penalty corpus_alignment_scores corpus_bleu corpus_chrf d2l_bleu "
    "diagonal_alignment edit_distance ngram_matches rolling_origins sentence_bleu textbook_bleu "
    "uniform_weights",
}
Found = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> Found:
    """What the drivers did, in a process of their own: a device is registered for good."""
    path = tmp_path_factory.mktemp("pretended") / "found.json"
    environment = {**os.environ, "ATTENTION_BOOK_STRICT": "0", "MPLBACKEND": "agg"}
    subprocess.run([sys.executable, DRIVEN, path], check=True, env=environment)
    read: Found = json.loads(path.read_text())
    return read


def waits(found: Found, one: str, other: str) -> int:
    """How often the longer of two drivers waited more."""
    shorter, longer = (sum(found[name]["waits"].values()) for name in (one, other))
    return longer - shorter


def test_nothing_fails_on_a_device(found) -> None:
    assert {name: each["error"] for name, each in found.items() if each["error"]} == {}
    assert len(found) > 100


@pytest.mark.parametrize("package", PACKAGES, ids=lambda each: each.__name__.split(".")[-1])
def test_every_public_name_is_driven(package) -> None:
    words = set(re.findall(r"\w+", DRIVEN.read_text()))
    left_out = set(NOT_DRIVEN.get(package.__name__.split(".")[-1], "").split())
    new = set(package.__all__) - words - left_out
    assert not new, f"call these in {DRIVEN.name}, with tensors on the device: {sorted(new)}"


@pytest.mark.parametrize("search", ["greedy", "beam", "sample"])
def test_a_step_of_a_search_waits_once(found, search) -> None:
    assert waits(found, f"{search} 4", f"{search} 12") == 8


def test_a_drafted_word_is_waited_for_once_and_so_is_the_verdict_on_it(found) -> None:
    assert waits(found, "speculative 4", "speculative 12") <= 3 * 8


@pytest.mark.parametrize("way", ["plain", "smoothed", "unclipped"])
def test_a_batch_of_a_training_waits_once(found, way) -> None:
    assert waits(found, f"fit {way} 3", f"fit {way} 7") == 4


def test_a_step_of_several_batches_waits_once(found) -> None:
    assert waits(found, "fit accumulated 3", "fit accumulated 7") == 2  # one step, then three


def test_a_mixture_of_experts_waits_once_however_many_they_are(found) -> None:
    for name in ("mixture 4", "mixture 9"):
        assert list(found[name]["waits"].values()) == [1]


def test_a_recorded_step_never_waits(found) -> None:
    waits = found["recorded"]["waits"]
    assert not [place for place in waits if not place.startswith(("the caller", "attention/posit"))]


def test_an_evaluation_waits_once_in_all(found) -> None:
    assert waits(found, "evaluate_loss 3", "evaluate_loss 7") == 0


@pytest.mark.parametrize("name", ["heads rotary plain", "Transformer alibi pre", "fit plain 7"])
def test_a_model_makes_no_double_precision_on_a_device(found, name) -> None:
    assert found[name]["doubles"] == {}
