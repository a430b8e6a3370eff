"""``attention-book train``: what it asks for, what it refuses, how it goes on, what it says."""

import json
import re
import shlex
import signal
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from attention_book.cli.errors import ExitCode
from attention_book.cli.progress import SECONDS, peak_memory, shown, with_estimate, with_forecast
from attention_book.foundations.bilingual import set_language
from attention_book.runs import RunSettings
from attention_book.runs.log import StepReport
from attention_book.runs.settings import TEXT_RECIPES

SMALL = (
    "--corpus phrasebook --set model.config.d_model=8 --set model.config.num_heads=2 "
    "--set model.config.d_ff=8"
)


def settings_of(say, line):
    found = say(f"train --print-settings {line}")
    assert found.code == 0, found.err
    return tomllib.loads(found.out)


# --- which settings --------------------------------------------------------------------------


def test_without_options_it_is_the_books_transformer(say):
    found = RunSettings.from_toml(say("train --print-settings").out)
    assert found == RunSettings.from_recipe("transformer-en-fr-1")


@pytest.mark.parametrize("name", TEXT_RECIPES)
def test_a_recipe_for_real_text_is_a_line_of_its_own(say, alone, name):
    found = RunSettings.from_toml(say(f"train --print-settings --recipe {name}").out)
    assert found == RunSettings.from_recipe(name)
    assert name.startswith(found.data.corpus)
    assert settings_of(say, f"--recipe {name} --steps 7")["training"]["steps"] == 7
    translated = say(f"translate --recipe {name} hello")  # nothing is trained by surprise
    assert translated.code == ExitCode.WRONG_LINE
    assert f"attention-book train --recipe {name}" in translated.err


def test_what_is_printed_is_read_again(say, alone):
    Path("mine.toml").write_text(say("train --print-settings --steps 7 --bpe 300").out)
    assert settings_of(say, "--settings mine.toml") == settings_of(say, "--steps 7 --bpe 300")


def test_steps_and_epochs_replace_each_other(say):
    assert "epochs" not in settings_of(say, "--steps 7")["training"]
    assert settings_of(say, "--steps 7")["training"]["steps"] == 7
    batches = settings_of(say, "--set training.batch_tokens=512")["training"]
    assert (batches["batch_tokens"], "batch_size" in batches) == (512, False)


def test_own_files_are_read_as_subwords_in_any_language(say):
    found = settings_of(say, "--train a.it b.en.gz --source it --target en --separate")
    assert found["data"]["train"] == ["a.it", "b.en.gz"]
    assert "corpus" not in found["data"]
    assert (found["text"]["unit"], found["text"]["shared"]) == ("subwords", False)
    other = settings_of(say, "--train a.tsv --test b c --source it --target en --bpe 500")
    assert (other["data"]["train"], other["data"]["test"]) == (["a.tsv"], ["b", "c"])
    assert other["text"]["num_pieces"] == 500


def test_a_named_corpus_knows_its_languages(say):
    data = settings_of(say, "--corpus multi30k-en-de")["data"]
    assert (data["corpus"], data["source"], data["target"]) == ("multi30k-en-de", "en", "de")


@pytest.mark.parametrize(
    ("assignment", "part", "name", "value"),
    [
        ("training.warmup=100", "training", "warmup", 100),
        ("training.betas=[0.9,0.98]", "training", "betas", [0.9, 0.98]),
        ("training.precision=bfloat16", "training", "precision", "bfloat16"),
        ('data.source="zh"', "data", "source", "zh"),
        ("text.lowercase=true", "text", "lowercase", True),
    ],
)
def test_one_setting_is_changed(say, assignment, part, name, value):
    assert settings_of(say, f"--set {assignment}")[part][name] == value


def test_a_setting_of_the_model_is_changed_beside_the_others(say):
    config = settings_of(say, "--set model.config.num_layers=6")["model"]["config"]
    assert (config["num_layers"], config["d_model"]) == (6, 64)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--set training.warmu=1", "did you mean 'warmup'"),
        ("--set warmup=1", "such as training.warmup=100"),
        ("--set training.warmup", "such as training.warmup=100"),
        ("--set training.warmup.more=1", "training"),
        ("--set nothing.at.all=1", "nothing"),
        ("--set training.warmup=many", "expected int"),
        ("--recipe a --settings b", "one of the two"),
        ("--recipe tranformer", "expected one of"),
        ("--settings nowhere.toml", "cannot be read"),
        ("--train pairs.tsv", "languages"),
        ("--train a b c --source it --target en", "unexpected extra"),
        ("--train a --train b --train c --source it --target en", "one file or two"),
        ("--corpus grammar --source zh --target zh --steps 1 --folder x", "language"),
        ("--resume --again", "one of the two"),
        ("--steps 3 --epochs 2", "one of the two"),
        ("--bpe 100", "256"),
    ],
)
def test_what_is_wrong_on_the_line_is_told_in_one_line(say, alone, line, expected):
    found = say(f"train {line}")
    assert found.code == ExitCode.WRONG_LINE, found
    assert expected in found.err
    assert "Traceback" not in found.err


def test_nothing_in_a_file_of_settings_is_executed_or_believed(say, alone):
    Path("bad.toml").write_text("[training]\nwarmup = \"__import__('os').abort()\"\n")
    assert say("train --settings bad.toml").code == ExitCode.WRONG_LINE
    Path("bad.toml").write_bytes(b"\xff\x00")
    assert say("train --settings bad.toml").code == ExitCode.WRONG_LINE


# --- a training ------------------------------------------------------------------------------


def test_a_run_says_how_good_it_is_and_the_next_line_works(say, alone):
    found = say(f"train --folder runs/one --steps 2 {SMALL}")
    assert found.code == 0, found.err
    assert re.search(r"BLEU of lower-case tokens \d+\.\d .*, on 4 sentences", found.out)
    assert "step 2 of 2" in found.err
    [line] = [each for each in found.out.splitlines() if "translate" in each]
    translated = say(shlex.split(line)[1:])
    assert translated.code == 0, translated.err
    assert len(translated.out.splitlines()) == 1


def test_a_finished_run_is_not_trained_again(say, beside):
    before = Path("runs/tiny/log.jsonl").read_bytes()
    found = say("train --resume --folder runs/tiny")
    assert found.code == 0
    assert "finished" in found.err
    assert "BLEU" in found.out
    assert Path("runs/tiny/log.jsonl").read_bytes() == before


def test_another_run_in_the_folder_is_named_with_what_differs(say, beside):
    found = say("train --folder runs/tiny --steps 9")
    assert found.code == ExitCode.RUN
    assert "training.steps: 4 there, 9 given" in found.err
    assert "--again" in found.err


def test_an_interrupted_run_says_how_it_goes_on_and_does(say, alone, monkeypatch):
    def interrupt(report):
        if report.step == 2:
            signal.raise_signal(signal.SIGINT)

    line = f"train --folder runs/one --steps 4 {SMALL}"
    monkeypatch.setattr("attention_book.cli.train.shown", interrupting(interrupt))
    found = say(line)
    monkeypatch.undo()
    monkeypatch.chdir(alone)
    assert found.code == ExitCode.INTERRUPTED
    saved = re.search(r"saved at step (\d); go on with: (.+)", found.err)
    assert saved, found.err
    refused = say(line)
    assert (refused.code, "--resume" in refused.err) == (ExitCode.RUN, True)
    resumed = say(shlex.split(saved[2])[1:])
    assert resumed.code == 0, resumed.err
    logged = [json.loads(each) for each in Path("runs/one/log.jsonl").read_text().splitlines()]
    assert [each["step"] for each in logged] == [1, 2, 3, 4]


def interrupting(act):
    def through(reports):
        for report in reports:
            act(report)
            yield report

    return through


def test_again_removes_the_run_and_nothing_else(say, alone):
    line = f"train --folder one --steps 1 {SMALL}"
    assert say(line).code == 0
    Path("one/notes.txt").write_text("mine")
    changed = f"train --folder one --steps 2 {SMALL}"
    assert say(changed).code == ExitCode.RUN
    assert say(f"{changed} --again").code == 0
    assert Path("one/notes.txt").read_text() == "mine"
    assert len(Path("one/log.jsonl").read_text().splitlines()) == 2


def test_there_must_be_something_to_go_on_with(say, alone):
    assert say("train --resume --folder nowhere").code == ExitCode.RUN
    Path("file").write_text("no folder")
    assert say("train --folder file --steps 1").code in (ExitCode.RUN, ExitCode.MACHINE)


def test_own_text_in_a_language_without_rules(say, alone):
    lines = [f"io vedo {n} case\tI see {n} houses\n" for n in range(120)]
    Path("pairs.tsv").write_text("".join(lines), encoding="utf-8")
    line = (
        "train --train pairs.tsv --source it --target en --bpe 300 --steps 2 "
        "--set model.config.d_model=8 --set model.config.num_heads=2 --set model.config.d_ff=8"
    )
    found = say(line)
    assert found.code == 0, found.err
    assert Path("runs/pairs-it-en/settings.toml").is_file()
    assert say("translate", "io vedo\n\n").out.count("\n") == 2
    Path("pairs.tsv").write_text("no tab here\n", encoding="utf-8")
    broken = say(f"{line} --folder other")
    assert broken.code == ExitCode.DATA
    assert "pairs.tsv:1:" in broken.err


def test_only_the_first_of_several_processes_speaks(say, beside):
    found = say("train --resume --folder runs/tiny", RANK="1")
    assert (found.code, found.out, found.err) == (0, "", "")


# --- progress --------------------------------------------------------------------------------


def steps(count):
    for step in range(1, count + 1):
        yield StepReport(
            step=step, num_steps=count, epoch=1, loss=2.0, num_tokens=100, seconds=0.5,
            learning_rate=0.1, gradient_norm=1.0,
        )  # fmt: skip


def test_elsewhere_than_in_a_terminal_a_line_comes_every_few_seconds(capsys):
    ticks = iter(range(1000))
    passed = list(shown(steps(20), clock=lambda: float(next(ticks)), terminal=False))
    lines = capsys.readouterr().err.splitlines()
    assert [report.step for report in passed] == list(range(1, 21))
    assert 3 <= len(lines) <= 20 / SECONDS + 2
    assert lines[-1] == "step 20 of 20 (epoch 1) · loss 2.000 · 200 tokens/s · 0:00 left"
    set_language("zh")
    list(shown(steps(1), terminal=False))
    assert "第 1/1 步" in capsys.readouterr().err


def test_in_a_terminal_there_is_a_bar(capsys):
    list(shown(steps(3), terminal=True))
    bar = capsys.readouterr().err
    assert "3/3" in bar
    assert "loss 2.000 · 200 tokens/s" in bar


def test_what_takes_a_while_is_announced_once(capsys):
    """After a few steps: how long the rest takes, and how much memory; of a minute nothing."""

    def slow(count, seconds):
        return (replace(report, seconds=seconds) for report in steps(count))

    for count, each, expected in ((1000, 9.0, True), (1000, 0.01, False), (4, 100.0, False)):
        passed = list(with_forecast(slow(count, each), memory=lambda: 2_500_000_000))
        said = capsys.readouterr().err
        assert len(passed) == count
        assert bool(said) == expected
        if expected:
            assert (
                said == "the other 995 steps will take about 2 h 29 min; 2.5 GB of memory so far\n"
            )
    assert list(with_estimate(range(3), 3, "few")) == [0, 1, 2]
    assert capsys.readouterr().err == ""
    assert peak_memory() is None or peak_memory() > 1_000_000
