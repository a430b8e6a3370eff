"""`python benchmarks/gpu --dry-run`: every part runs at tiny sizes, and is not run twice."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "gpu"
#: What needs a card, or a library that a checkout does not bring.
MAY_FAIL = ("sdpa efficient", "sdpa cudnn", "x-transformers", "Hugging Face")


def ran(folder: Path, *parts: str) -> str:
    environment = {**os.environ, "OUT": str(folder), "ATTENTION_BOOK_STRICT": "0"}
    command = [sys.executable, SCRIPT, "--dry-run", *parts]
    return subprocess.run(command, env=environment, capture_output=True, text=True).stdout


@pytest.mark.parametrize("part", ["kernels", "training", "decoding", "translation"])
def test_a_part_measures_all_it_names_and_is_finished(tmp_path, part) -> None:
    ran(tmp_path, part)
    found = json.loads((tmp_path / f"{part}.json").read_text())
    wrong = {key: value["error"] for key, value in found["results"].items() if "error" in value}
    assert {k: v for k, v in wrong.items() if not k.endswith(MAY_FAIL[:2])} == {
        k: v for k, v in wrong.items() if any(name in k for name in MAY_FAIL[2:])
    }
    assert found["finished"], found
    assert {"torch", "python", "date"} <= set(found["machine"])
    assert f"## {part.capitalize()}" in (tmp_path / "gpu.md").read_text(encoding="utf-8")
    assert f"{part}: finished before" in ran(tmp_path, part)


def test_what_was_cut_off_is_not_tried_again(tmp_path) -> None:
    (tmp_path / "kernels.json").write_text(
        json.dumps({"tiny": True, "results": {}, "running": "ceiling fp32", "killed_in": []})
    )
    ran(tmp_path, "kernels")
    found = json.loads((tmp_path / "kernels.json").read_text())
    assert found["killed_in"] == ["ceiling fp32"]
    assert "not tried again" in found["results"]["ceiling fp32"]["error"]
    assert "error" not in found["results"]["ceiling bf16"]
