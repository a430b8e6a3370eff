"""The site is what the last sound build wrote: a build writes beside it, and hands it over whole.

The folder that is named to Sphinx, `_build/html`, is the site. The pages are written into
`_build/.site`; from there `publish` copies what has changed, and takes away what a build before
had brought and this one has not. What others have put into the site stays.
"""

from __future__ import annotations

import filecmp
import os
import shutil
from pathlib import Path

from sphinx.application import Sphinx

SITE, WRITTEN = "html", ".site"
#: What was published last, a name a line. It stands beside the site: whoever deletes the doctrees
#: keeps the list of what has to go.
LIST = ".published.txt"


def site_of(app: Sphinx) -> Path:
    """Return the folder of the site that this build may change."""
    return Path(app.outdir).with_name(SITE)


def publish(app: Sphinx) -> None:
    """Make the site what this build has written."""
    written, site, note = Path(app.outdir), site_of(app), Path(app.outdir).with_name(LIST)
    if written == site:
        return  # a project that writes elsewhere
    names = sorted(p.relative_to(written).as_posix() for p in written.rglob("*") if p.is_file())
    for name in names:
        target = site / name
        if not (target.is_file() and filecmp.cmp(written / name, target)):
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f"{target.name}.part")
            shutil.copy2(written / name, part)
            os.replace(part, target)
    before = note.read_text(encoding="utf8").splitlines() if note.is_file() else []
    for gone in set(before) - set(names):
        Path(site, gone).unlink(missing_ok=True)
    note.write_text("\n".join(names), encoding="utf8")
    app.builder.epilog = f"The site is in {os.path.relpath(site)}."


def setup(app: Sphinx) -> dict[str, bool]:
    if app.outdir.name == SITE:  # before there is a builder, which remembers it
        app.outdir = app.outdir.with_name(WRITTEN)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
