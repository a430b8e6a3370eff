"""A run that somebody has changed: every command ends with a documented code, in its own folder."""

import os
import pickle
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attention_book.cli.errors import ExitCode

DOCUMENTED = {int(code) for code in ExitCode} - {ExitCode.UNEXPECTED, ExitCode.INTERRUPTED}
COMMANDS = [
    "translate hello",
    "evaluate --limit 2 --resamples 0",
    "export --folder {to}",
    "inspect --sentences 2",
    "train --resume --folder {run}",
]


class Deadly:
    """Says, when it is unpickled, that it was."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.fixture(scope="module")
def place(tiny_run, tmp_path_factory) -> Path:
    """A folder with a run that is not finished, in ``original``, and something precious."""
    folder = tmp_path_factory.mktemp("hostile")
    shutil.copytree(tiny_run / "runs/tiny", folder / "original")
    (folder / "original/curves.svg").unlink()
    (folder / "original/checkpoints/step-00000004.safetensors").unlink()
    precious = folder / "precious"
    (precious / "train").mkdir(parents=True)
    for name in (".mine.part", "step-00000001.safetensors", "header.json", "train/header.json"):
        (precious / name).write_text(f"mine: {name}")
    return folder


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def files(run: Path) -> list[str]:
    return sorted(path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file())


def change(data: st.DataObject, place: Path, path: Path, trace: Path) -> str:
    """Change one file of a run, and return how."""
    whole = path.read_bytes()
    kinds = ["bytes", "cut", "longer", "random", "other", "gone", "folder", "pipe", "pickle"]
    kind = data.draw(st.sampled_from([*kinds, "link out", "link to nothing", "link to itself"]))
    path.unlink()
    if kind == "bytes":
        content = bytearray(whole)
        for at in data.draw(
            st.lists(st.integers(0, max(len(whole) - 1, 0)), min_size=1, max_size=4)
        ):
            content[at : at + 1] = bytes([data.draw(st.integers(0, 255))])
        path.write_bytes(content)
    elif kind == "cut":
        path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    elif kind == "longer":
        path.write_bytes(whole + data.draw(st.binary(min_size=1, max_size=8)))
    elif kind == "random":
        path.write_bytes(data.draw(st.binary(max_size=100)))
    elif kind == "other":
        other = data.draw(st.sampled_from(files(place / "original")))
        path.write_bytes((place / "original" / other).read_bytes())
    elif kind == "pickle":
        path.write_bytes(pickle.dumps(Deadly(trace)))
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind.startswith("link"):
        targets = {"link out": place / "precious/header.json", "link to itself": path}
        path.symlink_to(targets.get(kind, Path("nowhere")))
    return kind


@given(data=st.data())
@settings(
    max_examples=settings().max_examples // 2,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_one_file_is_changed(say, beside, place, data):
    run, to, trace = place / "run", place / "to", place / "it ran"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(place / "original", run)
    before = snapshot(place / "precious")
    name = data.draw(st.sampled_from(files(run)))
    how = change(data, place, run / name, trace)
    command = data.draw(st.sampled_from(COMMANDS)).format(run=run, to=to)
    words = (
        command.split() if command.startswith("train") else [*command.split(), "--run", str(run)]
    )
    found = say(words, "")
    assert found.code in DOCUMENTED, (name, how, found)
    assert "Traceback" not in found.err
    assert snapshot(place / "precious") == before, (name, how)
    assert not trace.exists(), (name, how)
    if to.exists():
        assert all(path.parent == to for path in to.rglob("*"))


@pytest.mark.parametrize("name", ["checkpoints", "corpus", "corpus/train", ".lock"])
@pytest.mark.parametrize("command", ["train --resume", "train --again"])
def test_what_leads_out_of_a_run_is_left_alone(say, beside, place, name, command):
    run = place / "run"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(place / "original", run)
    before = snapshot(place / "precious")
    path = run / name
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    path.symlink_to(place / "precious" / ("header.json" if name == ".lock" else ""))
    found = say([*command.split(), "--folder", str(run)])
    assert found.code == ExitCode.RUN, found
    assert "expected no link" in found.err
    assert snapshot(place / "precious") == before


@pytest.mark.parametrize(
    ("setting", "value", "code"),
    [
        ("source", "'xx'", ExitCode.WRONG_LINE),
        ("corpus", "'grammar'\nnum_train = 1", 0),
        ("corpus", "'../../etc/passwd'", ExitCode.RUN),
    ],
)
def test_a_corpus_that_is_not_there_is_named(say, beside, place, setting, value, code):
    run = place / "run"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(place / "original", run)
    lines = (run / "settings.toml").read_text().splitlines()
    changed = [
        f"{setting} = {value}" if each.startswith(f"{setting} =") else each for each in lines
    ]
    assert changed != lines
    (run / "settings.toml").write_text("\n".join(changed))
    for command in ("evaluate --limit 2 --resamples 0", "inspect --sentences 2"):
        found = say([*command.split(), "--run", str(run)])
        assert found.code == code, found
        assert "unexpected" not in found.err


def test_a_run_whose_name_is_a_path_is_exported_into_its_folder(say, beside, place, tmp_path):
    for name in ("..", "../x y'\");alert(1)//", "a" * 200):
        run = tmp_path / "deep" / name
        shutil.rmtree(tmp_path / "deep", ignore_errors=True)
        run.mkdir(parents=True, exist_ok=True)
        shutil.copytree(place / "original", run, dirs_exist_ok=True)
        to = tmp_path / "to"
        found = say(["export", "--run", str(run), "--folder", str(to)])
        assert found.code == 0, found
        assert all(path.parent == to for path in to.rglob("*"))
        shutil.rmtree(to)
