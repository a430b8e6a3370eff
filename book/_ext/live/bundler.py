"""The package's own bundler, read as a file: to import the package would load torch."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

LIVE = Path(__file__).resolve().parents[3] / "src" / "attention_book" / "live"
STYLES = LIVE / "modules" / "live.css"


@cache
def bundler() -> Any:
    """Return the module that packs scripts."""
    spec = importlib.util.spec_from_file_location("live_bundle", LIVE / "bundle.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sources() -> list[Path]:
    """Return every file that the scripts are made of."""
    return sorted((LIVE / "modules").rglob("*.mjs"))
