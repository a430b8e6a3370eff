"""Imports the page's torch: beside the real one, or in its place where a process has no other."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

PLACE = Path(__file__).resolve().parents[2] / "book" / "page_torch"


def import_page_torch(name: str = "torch") -> ModuleType:
    """Import the folder under this name, once; as `torch`, only where there is no other yet."""
    if name in sys.modules:
        assert name != "torch", "PyTorch is imported already"
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(
        name, PLACE / "__init__.py", submodule_search_locations=[str(PLACE)]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]
