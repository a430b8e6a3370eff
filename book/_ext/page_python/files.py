"""What a page loads: the engine, the standard library, the book's package, and the scripts.

Each of the large ones is written twice, as it is fetched and as a script, since a browser fetches
nothing beside a page that it opened from a folder. They are written anew where a source is other.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.util
import json
import re
import shutil
import tomllib
from pathlib import Path

from bilingual.marks import LANGUAGES
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging

from page_python import bundle

logger = logging.getLogger(__name__)

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[2]
PACKAGE = REPOSITORY / "src" / "attention_book"
TORCH = REPOSITORY / "book" / "page_torch"
ENGINE = HERE / "engine"
STATIC = HERE / "static"
SCRIPTS = ("python", "editor", "box")
#: The steps of the reader's own file, and the module that cuts the file of each.
OWN_FILE = PACKAGE / "course" / "own_file"
#: What pages do without in what they load at once: comments, and the blanks that lines begin with.
COMMENT = re.compile(r"^ *(?://|/\*)[^\n]*\n|^ +", re.M)
#: What every build needs, and where it comes from.
NEEDED = {
    ENGINE / "pyodide.asm.wasm.gz": "it is in the repository; see engine/README.md",
    ENGINE / "pyodide.js.gz": "it is in the repository; see engine/README.md",
    ENGINE / "library.zip.gz": "it is in the repository; see engine/README.md",
    TORCH / "__init__.py": "it is in the repository",
}


def missing() -> str:
    """Return what a build lacks to have Python in its pages, and how to get it; "" if nothing."""
    for path, origin in NEEDED.items():
        if not path.is_file():
            return f"{path.relative_to(REPOSITORY)} is missing ({origin})"
    return ""


def write(app: Sphinx, config: Config) -> None:
    """Write all files into a folder of the build, from which Sphinx copies them."""
    if lacking := missing():
        logger.info("no Python in the pages: %s", lacking)
        return
    folder = Path(app.doctreedir) / "page_python"
    key, made_of = folder / "key", key_of()
    if not key.is_file() or key.read_text() != made_of:
        shutil.rmtree(folder, ignore_errors=True)
        for name in ("python", "page_python"):
            (folder / "static" / name).mkdir(parents=True)
        write_files(folder / "static")
        key.write_text(made_of)
    config.html_static_path.append(str(folder / "static"))
    app.add_css_file("page_python.css", priority=920)


def key_of() -> str:
    """Return what the files depend on, as a short number."""
    digest = hashlib.sha256()
    used = [*NEEDED, *STATIC.iterdir(), Path(__file__), Path(bundle.__file__)]
    for path in sorted({*used, *bundle.paths(PACKAGE, TORCH)}):
        digest.update(f"{path}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def write_files(static: Path) -> None:
    """Write the files that a page fetches or loads, and its script and styles."""
    engine = gzip.decompress((ENGINE / "pyodide.js.gz").read_bytes())
    packed = {
        "engine": (ENGINE / "pyodide.asm.wasm.gz").read_bytes(),
        "library": (ENGINE / "library.zip.gz").read_bytes(),
        "worker": gzip.compress(engine + (STATIC / "worker.js").read_bytes(), mtime=0),
        "book": gzip.compress(bundle.bundle(PACKAGE, TORCH), mtime=0),
    }
    for name, data in packed.items():
        (static / "python" / f"{name}.bin").write_bytes(data)
        text = f'pagePython.receive("{name}", "{base64.b64encode(data).decode()}");\n'
        (static / "python" / f"{name}.js").write_text(text, encoding="utf8")
    version = hashlib.sha256(b"".join(packed.values())).hexdigest()[:8]
    for each in ENGINE.glob("LICENSE-*"):
        shutil.copy(each, static / "python")
    known = json.dumps({"bytes": sum(map(len, packed.values())), "version": version})
    parts = [(STATIC / f"{name}.js").read_text(encoding="utf8") for name in SCRIPTS]
    script = "\n".join([f"pagePython.files = {known};", *parts])
    (static / "page_python" / "box.js").write_text(script, encoding="utf8")
    own_file = own_file_script()
    (static / "page_python" / "own_file.js").write_text(own_file, encoding="utf8")
    shutil.copy(STATIC / "box.css", static / "page_python")
    version = hashlib.sha256((script + own_file).encode()).hexdigest()[:8]
    for kind in ("js", "css"):
        text = COMMENT.sub("", (STATIC / f"start.{kind}").read_text(encoding="utf8"))
        text = text.replace("VERSION", version)
        (static / f"page_python.{kind}").write_text(text, encoding="utf8")


def own_file_script() -> str:
    """Return the script that a page loads when a reader opens the file of their own.

    It begins with the worked file as of each step, in both languages, and where the steps stand.
    """
    spec = importlib.util.spec_from_file_location("own_file_source", OWN_FILE / "source.py")
    assert spec is not None
    assert spec.loader is not None
    source = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(source)  # it imports nothing of the package
    known: set[str] = set()
    steps = []
    for row in tomllib.loads((OWN_FILE / "steps.toml").read_text(encoding="utf8"))["step"]:
        names = [name for name in row["names"] if "." not in name and name not in known]
        known.update(names)
        title = [row["title"][language] for language in LANGUAGES]
        steps.append({"page": row["chapter"], "title": title, "names": names})
    numbers = range(1, len(steps) + 1)
    texts = {each: [source.file_at(n, each) for n in numbers] for each in LANGUAGES}
    data = json.dumps({"steps": steps, "texts": texts}, ensure_ascii=False)
    script = (STATIC / "own_file.js").read_text(encoding="utf8")
    return f"pagePython.ownFile = {data};\n{script}"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
