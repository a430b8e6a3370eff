"""The scripts of figures and widgets: written once a build, loaded by the pages that have one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from live.bundler import OWN_STYLES, STYLES, bundler

FOLDER = "live"


def write(app: Sphinx, config: Config) -> None:
    """Write all scripts into a folder of the build, from which Sphinx copies them."""
    folder = Path(app.doctreedir) / "live_static"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / FOLDER).mkdir(parents=True)
    for styles in (STYLES, *OWN_STYLES.values()):
        shutil.copy(styles, folder / styles.name)
    texts = {"core": bundler().core(), "engine": bundler().engine()}
    texts |= {name: bundler().figure(name) for name in bundler().figures()}
    texts |= {name: bundler().widget(name) for name in bundler().widgets()}
    for name, text in texts.items():
        (folder / FOLDER / f"{name}.js").write_text(text, encoding="utf8")
    config.html_static_path.append(str(folder))


def load(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Load what a page's figures need."""
    elements = doctree.findall(nodes.Element) if doctree else ()
    names = sorted({each["live"] for each in elements if "live" in each})
    for name in (["core"] if names else []) + names:
        app.add_js_file(f"{FOLDER}/{name}.js", loading_method="defer")
    for name in OWN_STYLES.keys() & names:
        app.add_css_file(OWN_STYLES[name].name, priority=921)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", write)
    app.connect("html-page-context", load)
    app.add_css_file(STYLES.name, priority=920)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
