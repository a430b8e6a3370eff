"""A project that has no cells at all can use the package, too."""

import subprocess
import sys
from pathlib import Path

EXTENSIONS = Path(__file__).resolve().parents[2] / "book" / "_ext"
CONF = """
import sys
sys.path.insert(0, {path!r})
extensions = ["myst_parser", "bilingual", "lesson"]
myst_enable_extensions = ["colon_fence"]
"""


def test_a_project_without_cells_is_built(tmp_path):
    (tmp_path / "conf.py").write_text(CONF.format(path=str(EXTENSIONS)), encoding="utf8")
    (tmp_path / "index.md").write_text("# Title\n\nWords.\n", encoding="utf8")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", ".", "_build/html"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "_build" / "counts.md").exists()
