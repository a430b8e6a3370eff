"""The package `questions` can be imported, and the tiny books of other folders."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "tests" / "questions", ROOT / "tests" / "book", ROOT / "tests" / "lesson")
for folder in (*FOLDERS, ROOT / "book" / "_ext", ROOT / "scripts"):
    sys.path.append(str(folder))
