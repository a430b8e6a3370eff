"""A compiled model is one graph, and nothing in it lies on the CPU: it can be a CUDA graph."""

import json
import os
import subprocess
import sys
from pathlib import Path

GRAPHS = Path(__file__).with_name("graphs.py")


def test_nothing_in_a_graph_lies_on_another_device(tmp_path) -> None:
    path = tmp_path / "graphs.json"
    environment = {**os.environ, "ATTENTION_BOOK_STRICT": "0"}
    subprocess.run([sys.executable, GRAPHS, path], check=True, env=environment)
    found = json.loads(path.read_text())
    assert {name: each["elsewhere"] for name, each in found.items() if each["elsewhere"]} == {}
    assert len(found) == 28
    assert min(each["nodes"] for each in found.values()) > 100
