"""What the last bits of a run depend on is kept where it can be, and told where it cannot."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from attention_book.foundations.bilingual import Bilingual
from attention_book.runs import StepReport, read_log, resume, start


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
