"""A start that fails keeps no folder; a run that goes on says from where; advice can be typed."""

import ast
import json
import re
import shlex
import shutil
import signal
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

import attention_book
from attention_book.cli.errors import ExitCode
from attention_book.cli.program import program
from attention_book.runs.folder import RunFolder

SMALL = (
    "--bpe 300 --set model.config.d_model=8 --set model.config.num_heads=2 "
    "--set model.config.d_ff=8 --steps 2 --folder one"
)
LINE = f"train --train pairs.tsv --source it --target en {SMALL}"


@pytest.fixture
def pairs(alone) -> Path:
    path = alone / "pairs.tsv"
    lines = [f"io vedo {n} case\tI see {n} houses\n" for n in range(80)]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def raising(error):
    def fail(*_, **__):
        raise error

    return fail


# What may fail between the folder and the first checkpoint: where, and how.
FAILURES = {
    "the disk is full at the codec": ("building.write_whole", OSError(28, "No space")),
    "the disk is full at the settings": ("folder.write_whole", OSError(28, "No space")),
    "the disk is full at the corpus": ("building.prepare_split", OSError(28, "No space")),
    "the disk is full at the log": ("log.write_whole", OSError(28, "No space")),
    "the disk is full at the first checkpoint": ("checkpoints.write_tensors", OSError(28, "No")),
    "the tokenizer fails": ("building.learn_codec", ValueError("texts: expected some")),
    "a library is missing": (
        "building.learn_codec",
        ImportError('tokenizers: expected it installed, got none; pip install "attention-book[a]"'),
    ),
    "Ctrl-C while the text is read": ("building.learn_codec", KeyboardInterrupt()),
    "Ctrl-C while the corpus is prepared": ("building.prepare_split", KeyboardInterrupt()),
    "Ctrl-C while the model is built": ("training.build_model", KeyboardInterrupt()),
    "no memory": ("training.build_model", MemoryError()),
    "no GPU": ("training.joined", None),
}


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("change", ["", "--seed 7"])
def test_after_a_start_that_fails_the_line_starts_again(say, pairs, monkeypatch, name, change):
    """The kind: whatever fails before the first checkpoint; the same line, and another one."""
    place, error = FAILURES[name]
    if error is None:
        assert say(f"{LINE} --set training.device=cuda").code == ExitCode.MACHINE
    else:
        with monkeypatch.context() as patch:
            patch.setattr(f"attention_book.runs.{place}", raising(error))
            failed = say(LINE)
            assert failed.code in set(ExitCode) - {ExitCode.FINE, ExitCode.UNEXPECTED}, failed
            if isinstance(error, KeyboardInterrupt):
                assert "nothing is kept" in failed.err
                assert "saves" not in failed.err
    trained = Path("one/best.safetensors").is_file()  # something is there, after all
    again = say(f"{LINE} {change}")
    if change and trained:
        assert again.code == ExitCode.RUN
        again = say(f"{LINE} {change} --again")
    assert again.code == 0, again.err
    assert len(Path("one/log.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    assert RunFolder("one").settings().training.seed == (7 if change else 42)


def test_what_was_mended_since_is_read_anew(say, pairs, monkeypatch):
    """A corpus that a failed start has prepared is not taken for that of today's files."""
    old = pairs.read_text(encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr("attention_book.runs.training.build_model", raising(MemoryError()))
        assert say(LINE).code == ExitCode.MACHINE
    assert Path("one/corpus/train").is_dir()
    pairs.write_text(old.replace("houses", "roofs"), encoding="utf-8")
    assert say(LINE).code == 0
    mended = Path("one/codec.json").read_text(encoding="utf-8")
    shutil.rmtree("one")
    assert say(LINE).code == 0
    assert Path("one/codec.json").read_text(encoding="utf-8") == mended
    log = Path("one/log.jsonl").read_text(encoding="utf-8")
    assert len(log.splitlines()) == 2


def test_a_failed_start_hides_no_other_run(say, pairs):
    assert say(f"{LINE.replace('--folder one', '--folder runs/good')}").code == 0
    Path("dirty.tsv").write_text("no tab\n", encoding="utf-8")
    bad = LINE.replace("pairs.tsv", "dirty.tsv").replace("--folder one", "--folder runs/bad")
    assert say(bad).code == ExitCode.DATA
    assert say("translate io").code == 0


def test_resume_says_from_where(say, pairs, monkeypatch):
    def interrupt(reports):
        for report in reports:
            if report.step == 1:
                signal.raise_signal(signal.SIGINT)
            yield report

    with monkeypatch.context() as patch:
        patch.setattr("attention_book.cli.train.shown", interrupt)
        assert say(LINE.replace("--steps 2", "--steps 4")).code == ExitCode.INTERRUPTED
    step = max(int(file.stem.rpartition("-")[2]) for file in Path("one/checkpoints").glob("step-*"))
    resumed = say("train --resume --folder one")
    assert resumed.code == 0, resumed.err
    assert f"going on with one from step {step}" in resumed.err


def test_a_start_that_failed_is_resumed_with_its_own_settings(say, pairs, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("attention_book.runs.training.build_model", raising(MemoryError()))
        assert say(LINE).code == ExitCode.MACHINE
    assert say("train --resume --folder one").code == 0
    assert RunFolder("one").settings().data.source == "it"


@pytest.mark.parametrize("line", ["as before", "train --resume --folder runs/tiny"])
def test_all_processes_see_that_a_run_is_finished(say, beside, tiny_line, line):
    """The kind: a decision of the first process that the others must come to without it."""
    words = line if "--resume" in line else tiny_line
    for rank in ("0", "1", "3"):
        found = say(words, RANK=rank, WORLD_SIZE="4", LOCAL_RANK=rank)
        assert found.code == 0, found.err
        assert bool(found.out) == (rank == "0")


def test_another_run_in_the_folder_is_refused_by_all(say, beside):
    for rank in ("0", "1"):
        found = say("train --folder runs/tiny --steps 9", RANK=rank, WORLD_SIZE="2")
        assert found.code == ExitCode.RUN


@pytest.mark.parametrize("line", ["--device cuda", "--set training.device=cuda", "--device mps"])
def test_a_device_that_is_not_there_is_named(say, alone, line):
    found = say(f"train --corpus phrasebook --folder one {line}")
    assert found.code == ExitCode.MACHINE
    assert "device: expected" in found.err
    assert not Path("one").exists()


def test_the_seed_and_the_device_are_settings(say):
    printed = say("train --print-settings --seed 7 --device cpu").out
    assert "seed = 7" in printed
    assert 'device = "cpu"' in printed


@pytest.mark.parametrize("command", ["translate hello", "evaluate --limit 2 --resamples 0",
                                     "inspect --sentences 2 --json"])  # fmt: skip
def test_a_model_computes_where_it_is_told(say, beside, tmp_path, monkeypatch, command):
    """The kind: every command that has a model; by default where it was trained."""
    shutil.copytree("runs/tiny", tmp_path / "trained")
    file = tmp_path / "trained" / "settings.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('device = "auto"', 'device = "cuda"'), encoding="utf-8")
    run = ["--run", str(tmp_path / "trained")]
    plain = say([*command.split(), "--run", "runs/tiny"])
    elsewhere = say([*command.split(), *run])
    assert elsewhere.code == 0, elsewhere.err
    if command.startswith("translate"):
        assert elsewhere.out == plain.out
    assert say([*command.split(), *run, "--device", "cpu"]).out == elsewhere.out
    refused = say([*command.split(), *run, "--device", "cuda"])
    assert refused.code == ExitCode.MACHINE
    moved: list[str] = []
    module = import_module("attention_book.cli.translators")
    known = module.device_named
    monkeypatch.setattr(module, "device_named", lambda name: moved.append(name) or known("cpu"))
    assert say([*command.split(), *run]).code == 0
    assert say([*command.split(), *run, "--device", "mps"]).code == 0
    assert moved == ["cuda", "mps"]


def test_tables_fit_sixty_columns(say, beside, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    from attention_book.cli.terminal import columns

    for language in ("en", "zh"):
        for line in ("inspect --sentences 3", "data", "data phrasebook"):
            out = say(f"{line} --lang {language}").out
            for row in out.splitlines():
                assert columns(row) <= 60 or "runs/tiny" in row, row


def test_what_is_exported_says_where(say, beside, tmp_path):
    found = say(["export", "--run", "runs/tiny", "--folder", str(tmp_path)])
    assert found.code == 0, found.err
    for line in found.out.splitlines():
        assert Path(line.partition("  ")[0]).is_absolute()
        assert Path(line.partition("  ")[0]).is_file()


def test_a_full_disk_is_named_with_the_path(say, beside, tmp_path, monkeypatch):
    full = raising(OSError(28, "No space left on device"))
    monkeypatch.setattr("attention_book.cli.export.write_files", full)
    found = say(["export", "--run", "runs/tiny", "--folder", str(tmp_path)])
    assert found.code == ExitCode.MACHINE
    assert f"{tmp_path}: cannot be written: No space left on device" in found.err


def test_what_is_no_folder_is_said_to_be_none(say, alone):
    assert (
        "nowhere: expected the folder of a run, got no folder"
        in say("translate --run nowhere hi").err
    )
    Path("empty").mkdir()
    assert "got a folder without settings.toml" in say("translate --run empty hi").err


def test_a_comparison_names_the_winner_or_that_there_is_none(say, alone):
    Path("refs").write_text("".join(f"the cat {n} sat on the mat\n" for n in range(40)))
    Path("good").write_text("".join(f"the cat {n} sat on the mat\n" for n in range(40)))
    Path("bad").write_text("".join(f"a dog {n} sat on a mat now\n" for n in range(40)))
    line = "evaluate --references refs --resamples 200 --translations"
    for mine, other, winner in (("good", "bad", "good"), ("bad", "good", "good")):
        assert f"{winner} is better" in say(f"{line} {mine} --compare {other}").out
        compared = json.loads(say(f"{line} {mine} --compare {other} --json").out)["compared"]
        assert compared["winner"] == winner
    assert "there is no winner" in say(f"{line} good --compare good").out


PACKAGE = Path(attention_book.__file__).parent
# Of torchrun, of pip, of iconv.
OTHERS = {"--nproc-per-node"}


def every_command(group: Any) -> Iterator[Any]:
    """The commands of a group, and theirs."""
    for command in group.commands.values():
        yield command
        if isinstance(command, click.Group):
            yield from every_command(command)


def said() -> list[tuple[str, str]]:
    """Every text of the command and of what it works with, with its place."""
    found = []
    for part in ("cli", "runs", "text"):
        for path in sorted((PACKAGE / part).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.append((f"{path.relative_to(PACKAGE)}:{node.lineno}", node.value))
    return found


def test_every_option_and_command_that_is_named_exists() -> None:
    """The kind: each text there is, help and errors, in both languages."""
    commands = [program, *every_command(program)]
    known = {name for each in commands for p in each.params for name in p.opts} | OTHERS
    missing = []
    for place, text in said():
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text):
            if option not in known:
                missing.append(f"{place}: {option}")
        for name in re.findall(r"attention-book ([a-z]+)", text):
            if name not in program.commands:
                missing.append(f"{place}: attention-book {name}")
    assert not missing, "\n".join(missing)


def test_every_setting_that_is_named_can_be_set(say) -> None:
    found = {
        each
        for _, text in said()
        for each in re.findall(r"(?:data|text|training|model\.config)\.\w+=[\w.]+", text)
        if not each.endswith("=")
    }
    assert {"data.on_problem=skip", "training.warmup=100"} <= found
    for each in sorted(found - {"text.unit=", "text.shared="}):
        printed = say(["train", "--print-settings", "--set", each])
        assert printed.code == 0, printed.err
        part, _, value = each.rpartition(".")[0], "", each.partition("=")[2]
        table = tomllib.loads(printed.out)
        for name in part.split("."):
            table = table[name]
        assert str(table[each.partition("=")[0].rpartition(".")[2]]) == value


LEAST = "--set model.config.d_model=8 --set model.config.num_heads=2 --steps 1"


@pytest.mark.parametrize(
    ("line", "pattern", "extra"),
    [
        (
            "translate hi",
            r"train one first: (attention-book train)",
            f"--corpus phrasebook {LEAST}",
        ),
        (
            f"train --corpus phrasebook --folder one --epochs 2 {LEAST.replace('--steps 1', '')}",
            None,
            "",
        ),
        ("translate --recipe multi30k-en-de hi", r"(attention-book train --recipe \S+);", "SHOW"),
        ("train --folder one --train a.tsv", r"such as (--source it --target en)", "SHOW"),
    ],
)
def test_the_line_that_is_advised_works(say, alone, line, pattern, extra):
    """The kind: each error that says what to type, followed to the letter."""
    if pattern is None:  # what is there already: finish it, keep it, begin anew
        assert say(f"train --corpus phrasebook --folder one {LEAST}").code == 0
        refused = say(line)
        assert refused.code == ExitCode.RUN
        assert "--again" in refused.err
        assert "--folder" in refused.err
        assert say(f"train --corpus phrasebook --folder one {LEAST} --seed 3 --again").code == 0
        return
    found = say(line)
    assert found.code in (ExitCode.RUN, ExitCode.WRONG_LINE)
    advised = re.search(pattern, found.err)
    assert advised, found.err
    words = shlex.split(advised[1])
    if extra == "SHOW":
        words = words if words[0] == "attention-book" else [*line.split(), *words]
        extra = "--print-settings"
    words = [word for word in words if word != "attention-book"]
    followed = say([*words, *extra.split()])
    assert followed.code == 0, followed.err


def test_settings_that_are_printed_can_be_read(say, alone) -> None:
    text = say("train --print-settings").out
    assert say("train --print-settings --settings -", text).out == text
