"""The robustness run: what it runs, what it keeps, what it writes down."""

import json

import pytest
import robustness
from evidence.execution.code_closure import Package
from tiny import HEADER, ROOT, cell

CHAPTER = (
    HEADER
    + "# A\n\n"
    + cell(
        "import torch\nfrom attention_book import set_seed\n"
        "from attention_book.course import notebook\nset_seed(1)\n"
        "drawn = torch.rand(()).item()"
    )
    + cell("assert f'{drawn:.3f}' == '0.758'", tags="[hide-input, printed-numbers]")
    + cell(
        "notebook.measure('a-drawn', drawn, below=[0.99, 0.98], draws=2)\n"
        "notebook.measure('a-first', abs(drawn - 0.7576), below=1e-3)"
    )
)


@pytest.fixture
def repo(tmp_path, monkeypatch):
    (tmp_path / "book").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "book/a.md").write_text(CHAPTER, encoding="utf8")
    (tmp_path / "book/b.md").write_text("# B\n", encoding="utf8")
    (tmp_path / "book/_toc.yml").write_text(
        "root: b\nparts:\n- chapters:\n  - file: b\n  - file: a\n", encoding="utf8"
    )
    monkeypatch.setattr(robustness, "ROOT", tmp_path)
    for name, path in (
        ("WORK", "book/_build/robustness"),
        ("DATA", "benchmarks/robustness.json"),
        ("TABLE", "benchmarks/robustness.md"),
    ):
        monkeypatch.setattr(robustness, name, tmp_path / path)
    return tmp_path


def test_ten_seeds_and_every_set_of_kernels():
    found = robustness.variants()
    assert sum(variant.has_other_seeds for variant in found) == 10
    assert "default" in [variant.name for variant in found]
    assert len({json.dumps(variant.environment) for variant in found}) == len(found)


def test_other_draws_are_taken_kept_and_written_down(repo, capsys):
    runs = ["default", "seed+1000", "seed+2000"]
    assert robustness.main(["--runs", *runs, "--jobs", "1"]) == 1, "one measurement hangs on a seed"
    told = capsys.readouterr().out
    assert "[3/3]" in told
    assert told.count("a-first:") == 2
    assert "AssertionError" not in told, "printed numbers are left out where seeds differ"

    record = json.loads((repo / "benchmarks/robustness.json").read_text(encoding="utf8"))["a"]
    drawn, first = record["measurements"]["a-drawn"], record["measurements"]["a-first"]
    assert (drawn["held"], drawn["runs"]) == (3, 3)
    assert (first["held"], first["missed"]) == (1, ["seed+1000", "seed+2000"])
    assert drawn["worst"]["bound"] == 0.98
    table = (repo / "benchmarks/robustness.md").read_text(encoding="utf8")
    assert "1 of 2 measurements held in every run that was made" in table
    assert "| a | a-drawn | 3/3 |" in table

    assert robustness.main(["--runs", *runs, "--jobs", "1"]) == 1
    assert "[" not in capsys.readouterr().out, "what is kept is not run again"


def test_a_shorter_run_does_not_forget_a_longer_one(repo):
    digests = {"cells": "same", "code": "same"}
    page = digests | {"runs": ["avx2", "seed+1000"], "problems": {}, "measurements": {}}
    shorter = page | {"runs": ["avx2"]}
    gone = {"a": page, "gone": page, "b": page}
    robustness.DATA.write_text(json.dumps(gone), encoding="utf8")
    assert robustness.with_earlier({"a": shorter}, ["a", "b"]) == {"a": page, "b": page}
    changed = shorter | {"code": "others"}
    assert robustness.with_earlier({"a": changed}, ["a"]) == {"a": changed}


def test_runs_of_the_same_code_made_elsewhere_add_up():
    def page(runs, held, value):
        worst = {"value": value, "relation": "above", "bound": 1.0, "run": runs[0]}
        missed = runs[held:]
        entry = {"held": held, "runs": len(runs), "missed": missed, "worst": worst}
        return {"code": "c", "runs": runs, "problems": {}, "measurements": {"a-b": entry}}

    here, there = page(["avx2", "seed+1000"], 2, 3.0), page(["seed+2000"], 0, 0.5)
    both = robustness.added_up(here, there)
    assert sorted(both["runs"]) == ["avx2", "seed+1000", "seed+2000"]
    entry = both["measurements"]["a-b"]
    assert (entry["held"], entry["runs"], entry["missed"]) == (2, 3, ["seed+2000"])
    assert entry["worst"]["value"] == 0.5
    assert robustness.added_up(here, page(["avx2"], 1, 9.0)) == here, "a run counts once"


def test_only_what_changed_is_run_again(repo):
    before = robustness.jobs(["a"], Package(repo / "src"))
    (repo / "book/a.md").write_text(CHAPTER + "\nProse.\n", encoding="utf8")
    assert robustness.jobs(["a"], Package(repo / "src")) == before
    (repo / "book/a.md").write_text(CHAPTER.replace("0.99", "0.97"), encoding="utf8")
    assert robustness.jobs(["a"], Package(repo / "src")) != before


def test_what_is_recorded_held():
    """Other measurements are replaced by better ones, or by weaker sentences."""
    record = json.loads((ROOT / "benchmarks/robustness.json").read_text(encoding="utf8"))
    missed = {
        name: entry["missed"]
        for page in record.values()
        for name, entry in page["measurements"].items()
        if entry["missed"]
    }
    assert record
    assert not missed
    assert not {chapter: page["problems"] for chapter, page in record.items() if page["problems"]}


def test_an_unknown_chapter_is_named(repo, capsys):
    with pytest.raises(SystemExit):
        robustness.main(["nowhere"])
    assert "no chapter nowhere; there are a" in capsys.readouterr().err
