"""The scripts that make the book's other editions can be imported."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "book" / "_ext", ROOT / "scripts"):
    sys.path.append(str(folder))
