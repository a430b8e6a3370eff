"""The command as a whole: whatever is typed, it ends with a documented code and no traceback."""

import os
import signal
import subprocess
import sys
import time
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from attention_book.runs.command.program import program
from attention_book.runs.command.speech.failures import ExitCode, Failure, failure_of
from attention_book.runs.command.training.asked import settings_asked_for
from attention_book.runs.folder import MachineError, RunError
from attention_book.text import CorpusError
from attention_book.training import CheckpointError

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTED = {int(code) for code in ExitCode}
MODULE = [sys.executable, "-W", "ignore", "-m", "attention_book.runs.command.main"]

# --- hostile lines ---------------------------------------------------------------------------

OPTIONS = sorted(
    {name for each in [program, *program.commands.values()] for p in each.params for name in p.opts}
    - {"text"}
)
VALUES = st.one_of(
    st.sampled_from(
        [
            *("0", "-1", "1e999", "nan", "9" * 400, "runs/tiny", "runs", "..", "/", "/dev/null"),
            *("training.warmup=100", "training.betas=[1]", "model.config={}", "data=1", "zh"),
            *("data.train=['a']", "text.unit=words", "a=" + "[" * 5000, "model.config.a.b=1"),
        ]
    ),
    st.text(max_size=12),
    st.binary(max_size=8).map(os.fsdecode),
)
WORDS = st.one_of(st.sampled_from([*OPTIONS, *program.commands, "--", "-", "--=", "-x"]), VALUES)
LINES = st.builds(
    lambda name, words: [name, *words],
    st.sampled_from(list(program.commands)),
    st.lists(WORDS, max_size=6),
)


@pytest.fixture
def harmless(beside, monkeypatch):
    """Nothing is downloaded, and nothing is trained in earnest."""

    def refuse(*_, **__):
        raise CheckpointError("not in this test")

    places = {
        "training.beginning": ("start", "resume"),
        "translators.learned": ("trained",),
        "data": ("fetch_corpus",),
    }
    for module, names in places.items():
        for name in names:
            found = import_module(f"attention_book.runs.command.{module}")
            monkeypatch.setattr(found, name, refuse)
    monkeypatch.setattr("attention_book.runs.command.training.beginning.clear", refuse)
    monkeypatch.setattr("attention_book.runs.command.translate.save_attention", refuse)
    monkeypatch.setattr("attention_book.runs.command.export.write_files", refuse)
    monkeypatch.setattr("attention_book.runs.command.evaluate._save", refuse)
    monkeypatch.setattr("attention_book.runs.command.describing.systems.held_out", refuse)
    monkeypatch.setattr("attention_book.runs.command.export.as_trained", refuse)
    monkeypatch.setattr("attention_book.runs.command.inspect.pairs_of", refuse)
    monkeypatch.setattr("attention_book.runs.command.describing.corpora.read_lines", refuse)


@given(LINES)
@settings(max_examples=3 * settings().max_examples, suppress_health_check=list(HealthCheck))
@example(["train", "--settings", "\0"])
@example(["translate", "--file", "\0"])
@example(["translate", "--run", "\0", "a"])
@example(["evaluate", "--translations", "\0", "--references", "\0"])
@example(["evaluate", "--compare", "\0"])
@example(["data", "\0"])
@example(["train", "--set", "training.steps=" + "9" * 5000])
@example(["train", "--set", "model.config.d_model=" + "9" * 30])
@example(["train", "--folder", "\0", "--steps", "1"])
@example(["train", "--folder", "a" * 300, "--steps", "1"])
@example(["translate", "\ud800", "--run", "runs/tiny"])
@example(["inspect", "--run", "runs/tiny", "--sentences", "9" * 30])
def test_whatever_is_typed_ends_with_a_documented_code_and_a_line(say, harmless, words):
    found = say(words, "")
    assert found.code in DOCUMENTED - {ExitCode.UNEXPECTED}, found
    assert "Traceback" not in found.err
    if found.code:
        *notes, last = found.err.splitlines()
        assert last.startswith("attention-book"), found.err
        assert not any(line.startswith("attention-book") for line in notes), found.err


NOTHING = dict.fromkeys(
    ["recipe", "settings", "corpus", "source", "target", "bpe", "steps", "epochs", "folder"]
) | {"separate": False, "train": (), "validation": (), "test": ()}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = st.sampled_from(
    [
        *("training.warmup", "training.betas", "data.train", "data.corpus", "text.unit"),
        *("model.config", "model.config.d_model", "model.config.positions", "training"),
        *("training.learning_rate", "training.seed", "data.held_out", "training.steps"),
        *("text.shared", "model.kind", "data.source"),
    ]
)


@given(st.lists(st.tuples(NAMES, JSON | st.text(max_size=20)), min_size=1, max_size=3))
@settings(max_examples=5 * settings().max_examples)
@example([("model.config.d_model", "9" * 30)])
@example([("model.config", "{source_vocabulary = 5}")])
@example([("model.config", "{bos = 5}")])
@example([("text.unit", ": expected one of , got ''; did you mean ''" * 100)])
def test_whatever_is_set_gives_settings_or_one_clear_refusal(assignments):
    told = [f"{name}={value}" for name, value in assignments]
    try:
        found = settings_asked_for(NOTHING | {"set": told}).to_toml()
    except Failure as failure:
        refused = failure
    else:
        tomllib.loads(found)
        return
    assert refused.code == ExitCode.WRONG_LINE
    assert refused.text.zh
    assert refused.text.en


# --- how errors end --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CorpusError("a.tsv:3: expected source TAB target, got no tab"), ExitCode.DATA),
        (CheckpointError("x: expected a checkpoint, got none"), ExitCode.RUN),
        (RunError("x: expected the folder of a run, got one without settings.toml"), ExitCode.RUN),
        (MachineError("run: expected to be able to write, got: No space left"), ExitCode.MACHINE),
        (OSError(28, "No space left on device"), ExitCode.MACHINE),
        (MemoryError(), ExitCode.MACHINE),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate"), ExitCode.MACHINE),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), ExitCode.UNEXPECTED),
        (
            ImportError('x: expected it installed, got none; pip install "attention-book[a]"'),
            ExitCode.MACHINE,
        ),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED),
        (ImportError("no module"), ExitCode.UNEXPECTED),
        (ZeroDivisionError("division by zero"), ExitCode.UNEXPECTED),
    ],
)
def test_each_kind_of_error_has_its_code(say, beside, monkeypatch, error, code):
    assert failure_of(error).code == code

    def fail(*_):
        raise error

    monkeypatch.setattr("attention_book.runs.command.translate.learned", fail)
    for language in ("en", "zh"):
        found = say(f"translate hello --lang {language}")
        assert found.code == code
        assert len(found.err.strip().splitlines()) == 1
        assert "Traceback" not in found.err
    if code is ExitCode.UNEXPECTED:
        assert "Traceback" in say("translate hello", ATTENTION_BOOK_DEBUG="1").err


def test_a_reason_is_told_shortly_whatever_it_quotes() -> None:
    hostile = ": expected one of , got ''; did you mean ''" * 5000
    failure = failure_of(CorpusError(f"a.tsv:3: {hostile} at the end"))
    assert len(failure.text.en) < 520
    assert failure.text.en.startswith("a.tsv:3: ")


def test_the_entry_point_is_the_function_that_runs_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, name = project["scripts"]["attention-book"].partition(":")
    assert callable(getattr(import_module(module), name))


# --- in processes of their own ---------------------------------------------------------------


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_is_no_error(beside, closed) -> None:
    line = f"{' '.join(MODULE)} translate {'' if '<' in closed else 'hello'} {closed}"
    found = subprocess.run(
        ["bash", "-c", line], env=environment(), capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found
    assert "Traceback" not in found.stderr


def test_a_reader_who_goes_away_is_no_error(beside) -> None:
    many = f"yes hello | {' '.join(MODULE)} translate | head -1; echo ${{PIPESTATUS[1]}}"
    found = subprocess.run(
        ["bash", "-c", many], env=environment(), capture_output=True, text=True, check=False
    )
    assert found.stderr == ""
    assert found.stdout.splitlines()[-1] == "0"
    assert len(found.stdout.splitlines()) == 2


def test_control_c_saves_and_says_how_to_go_on(alone) -> None:
    words = [*MODULE, "train", "--corpus", "phrasebook", "--folder", "one", "--epochs", "500"]
    words += ["--set", "model.config.d_model=8", "--lang", "zh"]
    process = subprocess.Popen(words, env=environment(), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    lines = []
    while not any(line.startswith("第") for line in lines):  # the first step is done
        lines.append(process.stderr.readline())
        assert lines[-1], "".join(lines)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=100)[1]
    assert process.returncode == ExitCode.INTERRUPTED, rest
    assert "接着训练：attention-book train --resume --folder one" in rest
    assert "Traceback" not in rest
    assert list(Path("one/checkpoints").glob("step-*.safetensors"))
