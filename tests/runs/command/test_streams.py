"""Results on standard output, and text from standard input: the same whatever the locale says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attention_book.runs.command.speech.failures import ExitCode

ROOT = Path(__file__).resolve().parents[3]
CHINESE = "注意力 été ﷺ"
# The command, with a model that says what no old encoding has.
PROGRAM = f"""
import sys
from attention_book.runs.codec.text_codec import TextCodec
TextCodec.target_text = lambda *_: {CHINESE!r}
from attention_book.runs.command.program import program
for line in {{lines!r}}:
    program.main(line.split(), standalone_mode=False)
"""
LINES = [
    "translate hello",
    "train --print-settings --corpus grammar --target zh --folder 文件夹",
    "data --lang zh",
    "--help --lang zh",
]


@pytest.mark.parametrize("encoding", ["cp1252", "gbk", "ascii", "latin-1", "utf-16"])
def test_a_pipe_gets_utf_8_whatever_the_locale_is(beside, encoding):
    """The kind: data, as against messages; each line of the command that writes any."""
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM.format(lines=LINES)],
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
