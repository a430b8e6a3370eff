"""No page is stale: what is read again is decided by contents.

Sphinx compares modification times, which lie after a checkout or a copy, and knows nothing of
the extensions beside this one. Here

* a change of one of our extensions, a template, a stylesheet or an installed package, or a build
  that was interrupted, makes Sphinx forget the saved pages (executed cells are kept, see
  keyed_execution);
* a page is read again when its source or a file it includes has other contents than at its last
  reading, whatever the clock says;
* where no page is read, Sphinx's global sums (figure numbers, the bibliography), for which it
  loads every saved page, are left as they are: an unchanged book is ready in a moment.
"""

import hashlib
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from bilingual.environment import PerPage
from docutils import nodes
from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.environment import BuildEnvironment

EXTENSIONS = Path(__file__).parents[1]
STATE = "fresh_pages.txt"
#: What is computed over all pages once they have been read.
GLOBAL_SUMS = ("env-updated", "env-get-updated")
#: Of each page, and of the files that it includes, at its last reading.
DIGESTS = PerPage[str]("page_digests")


def digest_of_files(paths: Iterable[Path], root: Path) -> str:
    """Return one digest of the files' names (below ``root``) and contents."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
        content = path.read_bytes() if path.is_file() else b"missing"
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def machinery_digest() -> str:
    """Return a digest of what turns sources into pages: our extensions, the installed packages."""
    files = [
        path
        for path in EXTENSIONS.rglob("*")
        if path.is_file() and path.suffix != ".md" and "__pycache__" not in path.parts
    ]
    packages = sorted(p.name for p in Path(sysconfig.get_path("purelib")).glob("*.dist-info"))
    return hashlib.sha256(
        (digest_of_files(files, EXTENSIONS) + "\n".join(packages)).encode()
    ).hexdigest()


def page_digest(env: BuildEnvironment, docname: str) -> str:
    """Return a digest of a page's source and of the files it includes."""
    included = (Path(env.srcdir, name) for name in env.dependencies.get(docname, ()))
    return digest_of_files([Path(env.doc2path(docname)), *included], Path(env.srcdir))


def forget_saved_pages(app: Sphinx) -> None:
    """Let the next build read every page again."""
    Path(app.doctreedir, ENV_PICKLE_FILENAME).unlink(missing_ok=True)


def compare_machinery(app: Sphinx) -> None:
    """Forget the saved pages unless the last build was finished, by the same machinery."""
    state = Path(app.doctreedir, STATE)
    if not (state.is_file() and state.read_text(encoding="utf8") == machinery_digest()):
        forget_saved_pages(app)


class Changes:
    """What has changed since the last build, as this one finds out."""

    def __init__(self) -> None:
        self.pages_are_gone = False

    def changed_pages(
        self,
        app: Sphinx,
        env: BuildEnvironment,
        added: set[str],
        changed: set[str],
        removed: set[str],
    ) -> list[str]:
        """Return the pages whose contents differ, whatever the clock says."""
        self.pages_are_gone = bool(removed)
        known = DIGESTS.of(env)
        unchecked = env.found_docs - added - changed
        return [d for d in unchecked if d in known and known[d] != page_digest(env, d)]

    def begin(self, app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
        """Note that a build is under way; where no page is read, leave the global sums alone."""
        if docnames or self.pages_are_gone:
            # Until `finish` writes it again, the build counts as interrupted.
            Path(app.doctreedir, STATE).unlink(missing_ok=True)
        else:
            for event in GLOBAL_SUMS:
                app.events.listeners[event].clear()


def remember(app: Sphinx, doctree: nodes.document) -> None:
    """Remember the contents of a page that was just read."""
    DIGESTS.of(app.env)[app.env.docname] = page_digest(app.env, app.env.docname)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Note that a build is finished, and what machinery it had."""
    if exception is None:
        Path(app.doctreedir, STATE).write_text(machinery_digest(), encoding="utf8")


def setup(app: Sphinx) -> dict[str, bool]:
    compare_machinery(app)  # at once: Sphinx loads the saved pages right after the extensions
    changes = Changes()
    app.connect("env-get-outdated", changes.changed_pages)
    app.connect("env-before-read-docs", changes.begin)
    DIGESTS.connect(app)
    app.connect("doctree-read", remember, priority=999)  # when all has been noted it depends on
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
