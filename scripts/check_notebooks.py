"""Run the book's notebooks from top to bottom where only the package is installed.

In a fresh virtual environment that holds the package, pip's choice of its dependencies, and a
Jupyter kernel: what a reader has. (The book's build runs the same cells with the pinned versions,
in kernels from which the build's own tools are hidden.)

`--first 8` runs the first cells of each alone, and `--versions FILE` installs what a service has,
as the list of Colab says: what breaks there next is seen before a reader meets it.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "book" / "_build" / "html" / "_notebooks"

RUN = """
import json, sys
import nbformat
from nbclient import NotebookClient
for name in json.loads(sys.argv[1]):
    notebook = nbformat.read(name, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    notebook.cells = code[: int(sys.argv[3]) or None]
    try:
        quietly = ["--IPKernelApp.log_level=CRITICAL"]
        client = NotebookClient(notebook, timeout=1800, extra_arguments=quietly)
        client.execute(cwd=sys.argv[2])
        outputs = [o for c in notebook.cells for o in c.get("outputs", [])]
        wrong = [o.get("text") or o.get("evalue") for o in outputs
                 if o.output_type == "error" or o.get("name") == "stderr"]
        print(json.dumps([name, "".join(map(str, wrong))]), flush=True)
    except Exception as error:
        print(json.dumps([name, str(error)]), flush=True)
"""


def run_notebooks(
    python: Path, notebooks: list[Path], environment: dict[str, str], first: int
) -> dict[str, str]:
    """Return what went wrong in each notebook ("" where nothing did)."""
    names = json.dumps([str(path) for path in notebooks])
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [str(python), "-c", RUN, names, folder, str(first)],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    missing = {str(path): "the run ended before this notebook" for path in notebooks}
    return missing | dict(results)


def constraints_of(versions: Path) -> str:
    """Return the lines of a list of versions that pip can hold to: "torch==2.9.0+cu126"."""
    lines = re.findall(r"(?m)^([\w.-]+)==(\d[\w.]*)", versions.read_text(encoding="utf8"))
    return "".join(f"{name}=={version}\n" for name, version in lines)


def fresh_environment(folder: Path, versions: Path | None) -> Path:
    """Make a virtual environment with the package and a kernel; return its Python."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    source = folder / "source"  # a copy: pip would leave its build folder in the repository
    ignore = shutil.ignore_patterns(".*", "book", "tests", "node_modules", "build")
    shutil.copytree(ROOT, source, ignore=ignore)
    install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    if versions is not None:
        folder.joinpath("versions.txt").write_text(constraints_of(versions), encoding="utf8")
        install += ["-c", str(folder / "versions.txt")]
    subprocess.run([*install, f"{source}[all]", "ipykernel", "nbclient"], check=True)
    return python


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="chapters (all of them without any)")
    parser.add_argument("--first", type=int, default=0, help="so many code cells of each")
    parser.add_argument("--versions", type=Path, help="a list of versions, as of pip freeze")
    parser.add_argument("--folder", type=Path, default=NOTEBOOKS, help="where the notebooks are")
    options = parser.parse_args(arguments)
    folder_of_all = options.folder.resolve()
    notebooks = sorted(folder_of_all.rglob("*.ipynb"))
    if options.names:
        notebooks = [path for path in notebooks if path.stem in options.names]
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        # The notebooks train their models once, together, and not each of them anew.
        environment = {"OMP_NUM_THREADS": "1", "ATTENTION_BOOK_TRAINED": f"{folder}/trained"}
        python = fresh_environment(Path(folder) / "venv", options.versions)
        results = run_notebooks(python, notebooks, environment, options.first)
    failed = {name: error for name, error in results.items() if error}
    for name, error in failed.items():
        print(f"{Path(name).relative_to(folder_of_all)}:\n{error}\n")
    seconds = time.perf_counter() - start
    print(f"{len(results)} notebooks, {len(failed)} failed, {seconds:.0f} s")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
