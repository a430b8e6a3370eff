"""The package's own bundler, read as a file: to import the package would load torch."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

LIVE = Path(__file__).resolve().parents[3] / "src" / "attention_book" / "live"
STYLES = LIVE / "modules" / "live.css"
#: Of one widget each: only the pages that have it load it.
OWN_STYLES = {name: LIVE / "modules" / f"{name}.css" for name in ("cut", "walk", "next-word")}


@cache
def bundler(folder: Path | None = None) -> Any:
    """Return the module that packs scripts.

    With a folder it also finds modules there, under the folder's name: ``questions/store`` is
    ``modules/store.mjs`` of the extension ``questions``.
    """
    spec = importlib.util.spec_from_file_location("live_bundle", LIVE / "bundle.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if folder is not None:
        theirs, name = module.text_of, folder.parent.name

        def text_of(path: str) -> str:
            """Return the source of a module."""
            first, _, rest = path.partition("/")
            if first == name:
                return folder.joinpath(f"{rest}.mjs").read_text(encoding="utf8")
            return str(theirs(path))

        module.text_of = text_of
    return module


def sources() -> list[Path]:
    """Return every file that the scripts are made of."""
    return sorted((LIVE / "modules").rglob("*.mjs"))
