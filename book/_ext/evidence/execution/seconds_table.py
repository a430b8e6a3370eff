"""A table of where a build's time went: chapters, slow cells and recipes."""

import json
from pathlib import Path

from evidence.execution.notebook_runner import Run


def seconds_table(runs: list[Run], trained: Path) -> str:
    """Return, as Markdown, how long each chapter, each slow cell and each recipe took."""
    lines = ["# Where the time went", "", "| chapter | seconds | cells over 1 s |", "|---|---|---|"]
    for run in sorted(runs, key=lambda run: -run.seconds):
        code = [cell for cell in run.notebook.cells if cell.cell_type == "code"]
        slow = [
            f"{number}: {cell.metadata['seconds']:.1f}"
            for number, cell in enumerate(code, start=1)
            if cell.metadata.get("seconds", 0) > 1
        ]
        lines.append(f"| {run.name} | {run.seconds:.1f} | {', '.join(slow)} |")
    lines.append(f"| all, one after the other | {sum(run.seconds for run in runs):.0f} | |")
    lines += ["", "| recipe | seconds |", "|---|---|"]
    for file in sorted(trained.glob("*.safetensors")):
        lines.append(f"| {file.stem.rpartition('-')[0]} | {training_seconds(file):.1f} |")
    return "\n".join(lines) + "\n"


def training_seconds(file: Path) -> float:
    """Return how long a recipe was trained, by the reports in its file's header."""
    with file.open("rb") as stream:
        header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
    reports = json.loads(header["__metadata__"]["attention_book"])["reports"]
    return float(sum(report["seconds"] for report in reports))
