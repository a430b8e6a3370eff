"""The command as a whole: whatever is typed, it ends with a documented code and no traceback.

Results are the same whatever the locale says; the READMEs' lines are typed as they stand.
"""

import os
import re
import shlex
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

from attention_book.cli import language as of_language
from attention_book.cli.asked import settings_asked_for
from attention_book.cli.errors import ExitCode, Failure, failure_of
from attention_book.cli.program import program
from attention_book.runs import DataSettings, ModelSettings, RunSettings, TrainingSettings
from attention_book.runs.folder import MachineError, RunError
from attention_book.text import CorpusError
from attention_book.training import CheckpointError

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTED = {int(code) for code in ExitCode}
MODULE = [sys.executable, "-W", "ignore", "-m", "attention_book.cli.main"]

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
        "train": ("start", "resume"),
        "translators": ("trained",),
        "data": ("fetch_corpus",),
    }
    for module, names in places.items():
        for name in names:
            found = import_module(f"attention_book.cli.{module}")
            monkeypatch.setattr(found, name, refuse)
    monkeypatch.setattr("attention_book.cli.train.clear", refuse)
    monkeypatch.setattr("attention_book.cli.translate.save_attention", refuse)
    monkeypatch.setattr("attention_book.cli.export.write_files", refuse)
    monkeypatch.setattr("attention_book.cli.evaluate._save", refuse)
    monkeypatch.setattr("attention_book.cli.evaluate.held_out", refuse)
    monkeypatch.setattr("attention_book.cli.export.as_trained", refuse)
    monkeypatch.setattr("attention_book.cli.inspect.pairs_of", refuse)
    monkeypatch.setattr("attention_book.cli.data.read_lines", refuse)


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
    ["recipe", "settings", "corpus", "source", "target", "bpe", "steps", "epochs", "folder", "task"]
) | {"separate": False, "text": (), "train": (), "validation": (), "test": ()}
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
    for task in (None, "language"):
        try:
            found = settings_asked_for(NOTHING | {"task": task, "set": told}).to_toml()
        except Failure as failure:
            refused = failure
        else:
            tomllib.loads(found)
            continue
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

    monkeypatch.setattr("attention_book.cli.translate.learned", fail)
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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_full_disk_behind_standard_output_is_told_without_numbers(beside, language) -> None:
    line = f"{' '.join(MODULE)} translate hello --lang {language} > /dev/full"
    found = subprocess.run(
        line, shell=True, env=environment(), capture_output=True, text=True, encoding="utf-8"
    )
    assert found.returncode == ExitCode.MACHINE
    expected = {
        "en": "attention-book: No space left on device",
        "zh": "attention-book：磁盘满了",
    }
    assert found.stderr.strip().splitlines()[-1] == expected[language]


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


CHINESE = "注意力 été ﷺ"
# The command, with a model that says what no old encoding has.
PROGRAM = f"""
import sys
from attention_book.runs.codec import TextCodec
TextCodec.target_text = lambda *_: {CHINESE!r}
from attention_book.cli.program import program
for line in {{lines!r}}:
    program.main(line.split(), standalone_mode=False)
"""
LOCALE_LINES = [
    "translate hello",
    "train --print-settings --corpus grammar --target zh --folder 文件夹",
    "data --lang zh",
    "--help --lang zh",
]


@pytest.mark.parametrize("encoding", ["cp1252", "gbk", "ascii", "latin-1", "utf-16"])
def test_a_pipe_gets_utf_8_whatever_the_locale_is(beside, encoding):
    """The kind: data, as against messages; each line of the command that writes any."""
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM.format(lines=LOCALE_LINES)],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "PYTHONIOENCODING": encoding,
            "OMP_NUM_THREADS": "1",
        },
        capture_output=True,
        check=True,
    )
    out = found.stdout.decode("utf-8")  # and nothing else
    assert out.startswith(f"{CHINESE}\n")
    assert "训练" in out
    assert "\\u" not in out


@pytest.mark.parametrize(
    "line",
    [
        "translate -",
        "translate --file -",
        "evaluate --translations - --references lines.txt --resamples 0",
        "evaluate --translations lines.txt --references - --resamples 0",
        "evaluate --translations lines.txt --references lines.txt --sources - --resamples 0",
        "evaluate --translations lines.txt --references lines.txt --compare - --resamples 1",
        "evaluate --test - --resamples 0",
        "data - --source en --target fr",
        "data pairs.tsv --test - --source en --target fr",
        "train --print-settings --settings -",
    ],
)
def test_a_hyphen_is_standard_input(say, beside, tmp_path, monkeypatch, line):
    """The kind: every place where a file or a text may be named."""
    texts = {"lines.txt": "wait !\nhe laughed .\n", "pairs.tsv": "Go.\tVa !\nRun!\tCours !\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    which = "pairs.tsv" if line.startswith(("data", "evaluate --test")) else "lines.txt"
    given = "[training]\nseed = 7\n" if "--settings" in line else texts[which]
    (tmp_path / "given.txt").write_text(given, encoding="utf-8")
    run = [] if not line.startswith(("translate", "evaluate --test")) else ["--run", "runs/tiny"]
    words = [str(tmp_path / word) if word in texts else word for word in line.split()]
    named = [str(tmp_path / "given.txt") if word == "-" else word for word in words]
    if named[:2] == ["translate", named[-1]] and "--file" not in named:
        named = ["translate", "--file", named[-1]]
    from_input, from_file = say([*words, *run], given), say([*named, *run])
    assert from_input.code == from_file.code == 0, from_input.err
    said = from_file.out.replace(str(tmp_path / "given.txt"), "-")
    assert from_input.out.replace("standard input", "given.txt").splitlines()[-4:] == [
        *said.splitlines()[-4:]
    ]


@pytest.mark.parametrize(
    "line",
    [
        "evaluate --translations - --references -",
        "data - --test - --source en --target fr",
        "translate - - --run runs/tiny",
    ],
)
def test_standard_input_is_read_once(say, beside, line):
    found = say(line, "a\n")
    assert (found.code, found.out) == (ExitCode.WRONG_LINE, "")
    assert "can be read once" in found.err


@pytest.mark.parametrize("option", ["--train", "--validation", "--test"])
def test_a_training_reads_files(say, alone, option):
    train = "" if option == "--train" else "--train a.tsv"
    found = say(f"train {train} {option} - --source en --target fr", "a\tb\n")
    assert (found.code, list(alone.iterdir())) == (ExitCode.WRONG_LINE, [])
    assert "write it to a file first" in found.err


def test_results_are_not_mixed_on_standard_output(say, beside):
    found = say("translate hello --attention - --run runs/tiny")
    assert found.code == ExitCode.WRONG_LINE
    assert not (beside / "-").exists()


SETTINGS = RunSettings(
    data=DataSettings(corpus="phrasebook"),
    model=ModelSettings(config={"d_model": 8, "num_heads": 2, "d_ff": 8}),
    training=TrainingSettings(epochs=None, steps=2),
)


def lines(name: str) -> list[str]:
    """The lines of the README's blocks that call the command."""
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = re.findall(r"(?s)```bash\n(.*?)```", text)
    return [
        line for block in blocks for line in block.splitlines() if line.startswith("attention-")
    ]


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_first_lines_to_type_work_as_they_stand(say, alone, monkeypatch, name):
    monkeypatch.setattr(RunSettings, "from_recipe", classmethod(lambda cls, recipe: SETTINGS))
    commands = [shlex.split(line, comments=True)[1:] for line in lines(name)]
    kinds = ["train", "translate", "evaluate", "train", "write", "export"]
    assert [words[0] for words in commands] == kinds
    monkeypatch.setattr(of_language, "_WRITTEN", 4)
    commands[3] += ["--steps", "1", "--set", "model.config.num_layers=1"]
    for words in commands:
        found = say(words)
        assert found.code == 0, found.err
        assert found.out.strip()
    assert Path("runs/transformer-en-fr-1/settings.toml").is_file()
