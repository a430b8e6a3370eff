"""The steps on the page's small torch: what the checker asks for, a page can answer."""

import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "book" / "_ext"))
from page_python.bundle import bundle  # noqa: E402

SCRIPT = """
import html, os, sys
os.environ["ATTENTION_BOOK_BUILD"] = "1"  # as in a page: verdicts in both languages
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import torch
assert str(Path(torch.__file__)).startswith(sys.argv[1])
from attention_book.course.own_file.checking import check_file
from attention_book.course.own_file.source import file_at
file = Path(sys.argv[1], "my_attention.py")
file.write_text(file_at(16))
verdict = check_file(16, file, language="en")
assert verdict, verdict
file.write_text(file_at(16).replace("torch.tanh(", "("))
verdict = check_file(16, file, language="en", remember=False)
assert (verdict.broken, verdict.mistake) == (7, "no-tanh"), verdict
assert "later edit of `Look`" in str(verdict)
from attention_book.course.own_file.in_page import check
shown = html.unescape(check(file_at(3), 3, 2, file_at(2), 10)._repr_html_())
assert '{"passed": true, "step": 3, "broken": null, "line": null}' in shown, shown
assert "第 1–3 步都对" in shown and "steps 1 to 3 hold" in shown.lower()
"""


def test_all_steps_are_checked_by_the_torch_of_the_page(tmp_path: Path) -> None:
    archive = bundle(ROOT / "src" / "attention_book", ROOT / "book" / "page_torch")
    zipfile.ZipFile(BytesIO(archive)).extractall(tmp_path)
    done = subprocess.run(
        [sys.executable, "-I", "-c", SCRIPT, str(tmp_path)],
        capture_output=True,
        cwd=tmp_path,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
