"""The log: one line a step, whatever a crash left; and what the last bits of a run depend on."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.foundations.bilingual import Bilingual
from attention_book.runs import StepReport, read_log, resume, start
from attention_book.runs.log import Log, as_line, draw_curves


def report(step: int, **changes: float | None) -> StepReport:
    values = {"loss": 1 / 3, "seconds": 0.5, "gradient_norm": 2.0, "learning_rate": 0.1, **changes}
    return StepReport(step=step, num_steps=9, epoch=1, num_tokens=7, **values)


def write(path: Path, steps: range, *, after: int = 0) -> None:
    log = Log(path, step=after)
    for step in steps:
        log.write(report(step))
    log.keep()
    log.close()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write(tmp_path / "log", range(1, 4))
    lines = list(read_log(tmp_path / "log"))
    assert [line["step"] for line in lines] == [1, 2, 3]
    assert lines[0]["loss"] == 1 / 3
    assert lines[0]["tokens_per_second"] == 14.0


def test_later_lines_are_cut_off_and_the_rest_is_kept_to_the_byte(tmp_path: Path) -> None:
    write(tmp_path / "log", range(1, 6))
    before = (tmp_path / "log").read_bytes().splitlines()
    write(tmp_path / "log", range(4, 4), after=3)
    assert (tmp_path / "log").read_bytes().splitlines() == before[:3]


def test_a_number_that_json_lacks_is_nothing() -> None:
    assert json.loads(as_line(report(1, gradient_norm=float("inf"))))["gradient_norm"] is None
    assert b"Infinity" not in as_line(report(1, gradient_norm=float("inf")))


def test_there_is_no_log_yet(tmp_path: Path) -> None:
    assert list(read_log(tmp_path / "none")) == []


@given(st.binary(max_size=60), st.integers(0, 3))
def test_anything_behind_the_lines_ends_them(tmp_path_factory, rubbish: bytes, steps: int) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    write(path, range(1, steps + 1))
    with path.open("ab") as file:
        file.write(b"?" + rubbish)
    assert [line["step"] for line in read_log(path)][:steps] == list(range(1, steps + 1))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
HOSTILE = [
    "[" * 100_000,
    {"step": 2},
    {"step": True, "loss": 1.0},
    {"step": 2, "loss": "low", "validation_loss": [1]},
    {"step": 2, "loss": float("inf")},
    {"step": 2, "loss": 10**400},
]


def with_a_line(folder: Path, content: object) -> list[float]:
    """Write a log, a line of somebody else's, and a line more; return what is read then."""
    write(folder / "log", range(1, 2))
    text = content if isinstance(content, str) else json.dumps(content)
    with (folder / "log").open("ab") as file:
        file.write(text.encode(errors="surrogatepass") + b"\n")
    write(folder / "log", range(2, 3), after=1)
    return [line["step"] for line in read_log(folder / "log")]


@given(content=JSON)
def test_whatever_somebody_has_written_ends_the_log(tmp_path_factory, content):
    assert with_a_line(tmp_path_factory.getbasetemp(), content) == [1, 2]


def test_what_is_no_number_is_neither_read_nor_drawn(tmp_path: Path) -> None:
    for content in HOSTILE:
        assert with_a_line(tmp_path, content)[0] == 1
    with (tmp_path / "log").open("a") as file:
        file.write('{"step": 3}\n{"step": 4, "loss": "low"}\n')
    draw_curves(tmp_path / "log", tmp_path / "curves.svg")
    assert (tmp_path / "curves.svg").read_bytes()


def until(reports: Iterator[StepReport], step: int) -> None:
    """Take the steps up to one, and leave."""
    for report in reports:
        if report.step == step:
            break


def losses(folder: Path) -> list[float]:
    return [line["loss"] for line in read_log(folder / "log.jsonl")]


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_a_resumed_run_keeps_its_number_of_threads(tmp_path, make, two_threads):
    """Sums are cut among threads: with others, the last bits would be others."""
    torch.set_num_threads(1)
    until(start(make(), tmp_path / "cut"), 3)
    torch.set_num_threads(2)
    told: list[Bilingual] = []
    seen = []
    for _ in resume(tmp_path / "cut", tell=told.append):
        seen.append(torch.get_num_threads())
    assert set(seen) == {1}
    assert torch.get_num_threads() == 2, "the caller's own are put back"
    assert told == []
    written = json.loads((tmp_path / "cut" / "versions.json").read_text())
    assert [entry["threads"] for entry in written] == [1, 1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("torch", "2.0"),
        ("kernels", "NEON"),
        ("processor", "another"),
        ("processes", 3),
        ("device", "NVIDIA H100"),
        ("attention_book", "0.0"),
    ],
)
def test_what_else_has_changed_is_told_once(tmp_path, make, name, value):
    """The kind: whatever the versions say and bits depend on."""
    until(start(make(), tmp_path / "cut"), 3)
    file = tmp_path / "cut" / "versions.json"
    [entry] = json.loads(file.read_text())
    file.write_text(json.dumps([{**entry, name: value}]))
    told: list[Bilingual] = []
    list(resume(tmp_path / "cut", tell=told.append))
    assert len(told) == 1
    assert f"{name.partition('_')[0]}" in told[0].en
    assert f"{value}, now" in told[0].en
    assert str(value) in told[0].zh


@pytest.mark.parametrize("content", ["", "[]", "{}", '[{"threads": "many"}]', '[{"threads": -1}]'])
def test_versions_that_say_nothing_change_nothing(tmp_path, make, content):
    until(start(make(), tmp_path / "cut"), 3)
    (tmp_path / "cut" / "versions.json").write_text(content)
    list(resume(tmp_path / "cut", tell=lambda text: None))
    list(start(make(), tmp_path / "whole"))
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")
