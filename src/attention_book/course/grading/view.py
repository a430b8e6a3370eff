"""What a graded notebook may import: the book without its exercises, and what runs the cells."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

#: The folder of the package.
PACKAGE = Path(__file__).parents[2]
#: Modules of this folder that run in the child, with the time limit they share with `check`.
_INSIDE = ("__init__", "wire", "peer", "confine", "session", "runner", "server", "handed_over")
#: Solutions, and what leads to them.
_HIDDEN = ("exercises", "own_file", "grading", "cli", "__pycache__")


def make_view(folder: Path, *, book: bool = True, exercises: bool = False) -> Path:
    """Copy what a child may import.

    Args:
        folder: Where to; it must not exist.
        book: False leaves out the whole book but ``check``: an examination without a library.
        exercises: Keeps the exercises with their solutions, for tests of the grader itself.

    Returns:
        The folder.
    """
    source, target = PACKAGE, folder / "attention_book"
    course, grading = target / "course", target / "course" / "grading"
    hidden = tuple(name for name in _HIDDEN if name != "exercises" or not exercises)
    if book:
        shutil.copytree(source, target, ignore=shutil.ignore_patterns(*hidden))
    else:
        course.mkdir(parents=True)
        for package in (target, course):
            (package / "__init__.py").write_text("", encoding="utf8")
        shutil.copy(source / "course" / "time_limit.py", course)
    grading.mkdir()
    for name in _INSIDE:
        shutil.copy(source / "course" / "grading" / f"{name}.py", grading)
    if not exercises:
        (course / "exercises").mkdir()
        shutil.copy(grading / "handed_over.py", course / "exercises" / "__init__.py")
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


def warm_fonts(folder: Path) -> str:
    """Let matplotlib make its list of fonts once: without it each notebook would, for seconds."""
    subprocess.run(
        [sys.executable, "-c", "import matplotlib.font_manager"],
        check=False,
        capture_output=True,
        env={**os.environ, "MPLCONFIGDIR": str(folder), "MPLBACKEND": "Agg"},
    )
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    return str(folder)
