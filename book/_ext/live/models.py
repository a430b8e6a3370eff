"""The translators' files: exported by the package in a process of its own, only when they are old.

The build itself loads neither the package nor torch. A model is exported when its trained weights,
or the code that writes its files, are others than last time. A model that takes too long to train
for a build is recorded in ``book/data/runs``, as it was exported, and copied. A page depends on the
models that it names: where one is old, the page is read again.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bilingual.environment import PerPage
from evidence.execution.keyed_execution import TRAINED, TRAINED_VARIABLE
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from live.bundler import LIVE

logger = logging.getLogger(__name__)

#: The models that each page names.
NAMED = PerPage[list[str]]("live_models")
WRITERS = ("export.py", "examples.py", "exported.py", "cuts.py", "../inspection/cutting.py")
#: Below the book, the models that are recorded.
RECORDED = Path("data") / "runs"


def folder_of(build: Sphinx | Builder) -> Path:
    """Return where the build keeps the models' files, as they stand below ``_static``."""
    return Path(build.doctreedir) / "live_models" / "live" / "models"


def offer(app: Sphinx, config: Config) -> None:
    """Have Sphinx copy whatever is there when it writes."""
    folder = folder_of(app)
    folder.mkdir(parents=True, exist_ok=True)
    config.html_static_path.append(str(folder.parents[1]))


def key_of(name: str, trained: Path) -> str:
    """Return what a model's files depend on, as a short number."""
    digest = hashlib.sha256(trained.name.encode())
    for path in sorted(trained.glob(f"{name}-*.safetensors")):
        digest.update(f"{path.name} {path.stat().st_size}\n".encode())  # a recipe's key is its name
    for writer in WRITERS:
        digest.update((LIVE / writer).read_bytes())
    return digest.hexdigest()[:16]


def key_file(app: Sphinx, name: str) -> Path:
    """Return where it is noted what an exported model was made of; it is not published."""
    return Path(app.doctreedir) / "live_model_keys" / name


def files_of(app: Sphinx, name: str) -> dict[str, Path]:
    """Return the files that a page loads: the model, the same as a script, its example."""
    return {end: folder_of(app) / f"{name}{end}" for end in (".bin", ".js", ".example.js")}


def cuts_of(build: Sphinx | Builder, name: str) -> Path:
    """Return the file with the sentences that show what a cut look does."""
    return folder_of(build) / f"{name}.cuts.json"


def recorded(app: Sphinx, name: str) -> dict[str, Path]:
    """Return the files that the book keeps of a model; none of one that a build trains."""
    ends = (".bin", ".example.js")  # a language model has no example
    paths = {end: Path(app.srcdir) / RECORDED / f"{name}{end}" for end in ends}
    found = {end: path for end, path in paths.items() if path.is_file()}
    return found if ".bin" in found else {}


def is_current(app: Sphinx, name: str) -> bool:
    """Whether the files that pages load are there, and those of this book and its package."""
    files, origin = files_of(app, name), recorded(app, name)
    needed = {".js", *origin} if origin else files.keys()
    if not all(files[end].is_file() for end in needed):
        return False
    if origin:
        return all(files[end].read_bytes() == path.read_bytes() for end, path in origin.items())
    key = key_file(app, name)
    if not cuts_of(app, name).is_file():
        return False
    return key.is_file() and key.read_text() == key_of(name, Path(TRAINED.of(app.env)))


def outdated(app: Sphinx, env: BuildEnvironment, *_: set[str]) -> list[str]:
    """Return the pages that name a model which is old."""
    return pages_of(env, [name for name in names_in(env) if not is_current(app, name)])


def names_in(env: BuildEnvironment) -> list[str]:
    return sorted({name for names in NAMED.of(env).values() for name in names})


def pages_of(env: BuildEnvironment, models: list[str]) -> list[str]:
    return [page for page, names in NAMED.of(env).items() if not set(models).isdisjoint(names)]


def prepare(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Copy and export what is old or missing; return the pages to be written again."""
    old = [name for name in names_in(env) if not is_current(app, name)]
    kept = [name for name in old if recorded(app, name)]
    for name in kept:
        copy_recorded(app, name)
    return pages_of(env, kept + export(app, [name for name in old if name not in kept]))


def copy_recorded(app: Sphinx, name: str) -> None:
    """Copy a recorded model, and write it in base64 too."""
    files, origin = files_of(app, name), recorded(app, name)
    encoded = base64.b64encode(origin[".bin"].read_bytes()).decode()
    files[".js"].write_text(
        f'attentionBookLive.arrived("model", "{name}", "{encoded}");\n', encoding="utf8"
    )
    for end, path in origin.items():
        shutil.copyfile(path, files[end])


def export(app: Sphinx, names: list[str]) -> list[str]:
    """Have the package export models; return those that are there now."""
    if not names:
        return []
    trained, folder = Path(TRAINED.of(app.env)), folder_of(app)
    logger.info("exporting the translators %s", ", ".join(names))
    done = subprocess.run(
        [sys.executable, "-m", "attention_book.live.export", *names, "--folder", str(folder)],
        env={**os.environ, TRAINED_VARIABLE: str(trained), "PYTHONPATH": str(LIVE.parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        logger.warning("the translators %s: no export: %s", ", ".join(names), last, type="live")
        return []
    for name in names:
        key_file(app, name).parent.mkdir(parents=True, exist_ok=True)
        key_file(app, name).write_text(key_of(name, trained))
    return names


def setup(app: Sphinx) -> dict[str, bool]:
    NAMED.connect(app)
    app.connect("config-inited", offer)
    app.connect("env-get-outdated", outdated)
    app.connect("env-updated", prepare)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
