"""The translators' files: exported by the package in a process of its own, only when they are old.

The build itself loads neither the package nor torch. A model is exported when its trained weights,
or the code that writes its files, are others than last time.
"""

from __future__ import annotations

import hashlib
import os
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
WRITERS = ("export.py", "examples.py")


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


def export(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Export what is old or missing; return the pages that show it, to be written again."""
    named = NAMED.of(env)
    trained, folder = Path(TRAINED.of(env)), folder_of(app)
    names = sorted({name for names in named.values() for name in names})
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
    return [page for page, names in named.items() if not set(names).isdisjoint(old)]


def setup(app: Sphinx) -> dict[str, bool]:
    NAMED.connect(app)
    app.connect("config-inited", offer)
    app.connect("env-updated", export)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
