"""No page is stale: what is read again is decided by contents.

Sphinx compares modification times, which lie after a checkout or a copy, and knows nothing of
the extensions beside this one. Here

* a change of one of our extensions, a template, a stylesheet or an installed package, or a build
  that was interrupted, makes Sphinx forget the saved pages (executed cells are kept, see
  keyed_execution);
* a page is read again when its source or a file it includes has other contents than at its last
  reading, whatever the clock says; and when they are the same, it is not;
* a book that has been moved, or copied, keeps its saved pages.
"""

import hashlib
import os
import pickle
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from bilingual.environment import PerPage
from docutils import nodes
from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.environment import BuildEnvironment

EXTENSIONS = Path(__file__).parents[1]
STATE = "fresh_pages.txt"
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
    before = state.read_text(encoding="utf8").splitlines() if state.is_file() else []
    if before[:1] != [machinery_digest()]:
        forget_saved_pages(app)
    elif before[1:] != [str(app.srcdir)]:
        move_saved_pages(app)


def move_saved_pages(app: Sphinx) -> None:
    """Tell the saved environment where the book is now: all that it names stands below.

    But the lists of sources name their files from the root of the disk: they are read again.
    """
    path = Path(app.doctreedir, ENV_PICKLE_FILENAME)
    if path.is_file():
        env = pickle.loads(path.read_bytes())
        env.srcdir = app.srcdir
        lists = env.domaindata.get("cite", {}).get("bibliographies", ())
        env.reread_always |= {key.docname for key in lists}
        path.write_bytes(pickle.dumps(env, pickle.HIGHEST_PROTOCOL))


def changed_pages(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Return the pages whose contents differ, and keep the others, whatever the clock says."""
    known = DIGESTS.of(env)
    same = {d for d in env.found_docs if d in known and known[d] == page_digest(env, d)}
    saved = {d for d in same & changed if Path(app.doctreedir, f"{d}.doctree").is_file()}
    changed -= saved - env.reread_always
    return sorted(env.found_docs & known.keys() - same - added)


def begin(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Note that a build is under way: until `finish` it counts as interrupted."""
    Path(app.doctreedir, STATE).unlink(missing_ok=True)


def remember(app: Sphinx, doctree: nodes.document) -> None:
    """Remember the contents of a page that was just read, and of what it depends on."""
    env, page, book = app.env, app.env.docname, app.srcdir
    if page in env.dependencies:
        env.dependencies[page] = {
            type(each)(os.path.relpath(Path(book, each), book)) for each in env.dependencies[page]
        }
    DIGESTS.of(env)[page] = page_digest(env, page)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Note that a build is finished, and what machinery it had."""
    if exception is None:
        state = f"{machinery_digest()}\n{app.srcdir}\n"
        Path(app.doctreedir, STATE).write_text(state, encoding="utf8")


def setup(app: Sphinx) -> dict[str, bool]:
    compare_machinery(app)  # at once: Sphinx loads the saved pages right after the extensions
    app.connect("env-get-outdated", changed_pages, priority=100)  # before others add theirs
    app.connect("env-before-read-docs", begin)
    DIGESTS.connect(app)
    app.connect("doctree-read", remember, priority=999)  # when all has been noted it depends on
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
