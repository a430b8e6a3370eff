"""One contract for every mechanism of the package: each law of conformance, each subject."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

import subjects

import attention_book.attention
import attention_book.models
from attention_book.conformance import laws
from attention_book.foundations.checks import STRICT_VARIABLE


def named(subjects_of_a_kind):
    return pytest.mark.parametrize(
        "subject", [pytest.param(each, id=each.name) for each in subjects_of_a_kind]
    )


def obeys(subject):
    found = [law.outcome() for law in laws(subject) if law.name not in subjects.OF_GRAPHS]
    broken = {each.law: each.breach for each in found if each.breach is not None}
    assert not broken
    assert sum(each.reason is None for each in found) >= 6


@named(subjects.kernels())
def test_the_laws_of_functions_hold(subject):
    obeys(subject)


@named(subjects.layers())
def test_the_laws_of_layers_hold(subject):
    obeys(subject)


@named(subjects.models())
def test_the_laws_of_models_hold(subject):
    obeys(subject)


def test_the_laws_of_graphs_hold():
    """Compiled as one graph, and nothing is left behind by a trace; in a process of its own."""
    script = Path(__file__).with_name("subjects.py")
    environment = {**os.environ, STRICT_VARIABLE: "0"}
    run = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, check=False
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert list(found) == [each.name for each in subjects.with_graphs()]
    assert {name: broken for name, broken in found.items() if broken} == {}


#: What is attention or a model, and why no law here holds it: its tests are its own.
ELSEWHERE = {
    "LocationAttention": "it does not look at the keys",
    "Forecaster": "numbers, not tokens",
    "VisionTransformer": "an image has no padding; its layers are held to the laws",
}


def test_no_mechanism_is_left_out():
    source = Path(subjects.__file__).read_text(encoding="utf8")
    names = [
        name
        for module in (attention_book.attention, attention_book.models)
        for name in module.__all__
        if name.endswith(("Attention", "_attention", "LanguageModel", "Transformer", "Regression"))
        or name in ("Seq2Seq", "Forecaster")
    ]
    base = {"LanguageModel"}  # the causal and the masked one are it
    assert len(names) > 20
    assert {name for name in names if name not in source} == set(ELSEWHERE) - base
