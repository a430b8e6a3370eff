"""What an error says to type can be typed, and does what it says."""

import ast
import re
import shlex
import tomllib
from pathlib import Path

import pytest

import attention_book
from attention_book.runs.command.program import program
from attention_book.runs.command.speech.failures import ExitCode

PACKAGE = Path(attention_book.__file__).parent
# Of torchrun, of pip, of iconv.
OTHERS = {"--nproc-per-node"}


def said() -> list[tuple[str, str]]:
    """Every text of the command and of what it works with, with its place."""
    found = []
    for part in ("runs", "text"):
        for path in sorted((PACKAGE / part).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.append((f"{path.relative_to(PACKAGE)}:{node.lineno}", node.value))
    return found


def test_every_option_and_command_that_is_named_exists() -> None:
    """The kind: each text there is, help and errors, in both languages."""
    commands = [program, *program.commands.values()]
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


SMALL = "--set model.config.d_model=8 --set model.config.num_heads=2 --steps 1"


@pytest.mark.parametrize(
    ("line", "pattern", "extra"),
    [
        (
            "translate hi",
            r"train one first: (attention-book train)",
            f"--corpus phrasebook {SMALL}",
        ),
        (
            f"train --corpus phrasebook --folder one --epochs 2 {SMALL.replace('--steps 1', '')}",
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
        assert say(f"train --corpus phrasebook --folder one {SMALL}").code == 0
        refused = say(line)
        assert refused.code == ExitCode.RUN
        assert "--again" in refused.err
        assert "--folder" in refused.err
        assert say(f"train --corpus phrasebook --folder one {SMALL} --seed 3 --again").code == 0
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
