"""The translators' files: exported by the package in a process of its own, only when they are old.

The build itself loads neither the package nor torch. A model is exported when its trained weights,
or the code that writes its files, are others than last time. A model that takes too long to train
for a build is recorded in ``book/data/runs``, as it was exported, and copied.
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
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from live.bundler import LIVE

logger = logging.getLogger(__name__)

#: The models that each page names.
NAMED = PerPage[list[str]]("live_models")
WRITERS = ("export.py", "examples.py", "exported.py")
#: Below the book, the models that are recorded.
RECORDED = Path("data") / "runs"


def folder_of(app: Sphinx) -> Path:
    """Return where the build keeps the models' files, as they stand below ``_static``."""
    return Path(app.doctreedir) / "live_models" / "live" / "models"


def offer(app: Sphinx, config: Config) -> None:
    """Have Sphinx copy whatever is there when it writes."""
    folder = folder_of(app)
    folder.mkdir(parents=True, exist_ok=True)
    config.html_static_path.append(str(folder.parents[1]))


def key_of(name: str, trained: Path) -> str:
    """Return what a model's files depend on, as a short number."""
    digest = hashlib.sha256(trained.name.encode())
    for path in sorted(trained.glob(f"{name}-*.safetensors")):
        digest.update(f"{path.name} {path.stat().st_mtime_ns}\n".encode())
    for writer in WRITERS:
        digest.update((LIVE / writer).read_bytes())
    return digest.hexdigest()[:16]


def is_current(name: str, folder: Path, trained: Path) -> bool:
    key = folder.parents[1] / f"{name}.key"
    whole = all((folder / f"{name}{ending}").is_file() for ending in (".bin", ".js", ".example.js"))
    return whole and key.is_file() and key.read_text() == key_of(name, trained)


def copy_recorded(name: str, recorded: Path, folder: Path) -> bool:
    """Copy a recorded model, and write it in base64 too; return whether it was another before."""
    whole, own = (recorded / f"{name}.bin").read_bytes(), folder / f"{name}.bin"
    shown, own_example = recorded / f"{name}.example.js", folder / f"{name}.example.js"
    there = own.is_file() and own_example.is_file() and (folder / f"{name}.js").is_file()
    if there and own.read_bytes() == whole and own_example.read_bytes() == shown.read_bytes():
        return False
    encoded = base64.b64encode(whole).decode()
    (folder / f"{name}.js").write_text(
        f'attentionBookLive.arrived("model", "{name}", "{encoded}");\n', encoding="utf8"
    )
    shutil.copyfile(shown, own_example)
    own.write_bytes(whole)
    return True


def prepare(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Copy and export what is old or missing; return the pages to be written again."""
    named, recorded = NAMED.of(env), Path(app.srcdir) / RECORDED
    names = sorted({name for names in named.values() for name in names})
    kept = [name for name in names if (recorded / f"{name}.bin").is_file()]
    changed = {name for name in kept if copy_recorded(name, recorded, folder_of(app))}
    changed |= set(export(app, env, [name for name in names if name not in kept]))
    return [page for page, names in named.items() if not changed.isdisjoint(names)]


def export(app: Sphinx, env: BuildEnvironment, names: list[str]) -> list[str]:
    """Have the package export those of the models that are old or missing; return which."""
    trained, folder = Path(TRAINED.of(env)), folder_of(app)
    old = [name for name in names if not is_current(name, folder, trained)]
    if not old:
        return []
    logger.info("exporting the translators %s", ", ".join(old))
    done = subprocess.run(
        [sys.executable, "-m", "attention_book.live.export", *old, "--folder", str(folder)],
        env={**os.environ, TRAINED_VARIABLE: str(trained), "PYTHONPATH": str(LIVE.parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        logger.warning("the translators %s: no export: %s", ", ".join(old), last, type="live")
        return []
    for name in old:
        (folder.parents[1] / f"{name}.key").write_text(key_of(name, trained))
    return old


def setup(app: Sphinx) -> dict[str, bool]:
    NAMED.connect(app)
    app.connect("config-inited", offer)
    app.connect("env-updated", prepare)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
