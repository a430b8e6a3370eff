"""Written pages are kept in step with the book: they speak of each other, and they go.

Sphinx writes a page again when its own source has changed. But a page repeats what others say:
titles in the sidebar and in the links to the neighbors, the words and numbers of references,
the authors and years of citations. Here

* every page is written again (none is read again) when one of these shared facts has changed;
* the files of a page that has left the book, or has another name now, leave the site.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from bilingual.environment import PerBook
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from evidence.fresh_pages import digest_of_files

#: Of what the pages say of each other.
FACTS_DIGEST = PerBook("shared_facts_digest", "")


def shared_facts(env: BuildEnvironment) -> dict[str, Any]:
    """Return what a page may repeat of another one."""
    objects = {
        name: sorted(str(described) for described in domain.get_objects())
        for name, domain in env.domains.items()
    }
    sources = [Path(env.srcdir, name) for name in getattr(env.config, "bibtex_bibfiles", [])]
    return {
        "titles": {page: title.pformat() for page, title in env.titles.items()},
        "contents": env.toctree_includes,
        "sections": env.toc_secnumbers,
        "figures": env.toc_fignumbers,
        "equations": env.get_domain("math").data["objects"],
        "objects": objects,
        "sources": digest_of_files(sources, Path(env.srcdir)),
    }


def pages_to_write(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return every page if what pages say of each other has changed, else none."""
    facts = json.dumps(shared_facts(env), sort_keys=True)
    digest = hashlib.sha256(facts.encode()).hexdigest()
    return sorted(env.found_docs) if FACTS_DIGEST.update(env, digest) else []


def remove_gone_pages(app: Sphinx, exception: Exception | None) -> None:
    """Remove pages that the book no longer has: Sphinx's copies of their sources name them."""
    if exception is not None or app.builder.format != "html":
        return
    sources = Path(app.outdir, "_sources")
    for source in list(sources.rglob("*.md")):
        page = source.relative_to(sources).with_suffix("").as_posix()
        if page not in app.env.found_docs:
            source.unlink()
            Path(app.outdir, f"{page}.html").unlink(missing_ok=True)


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("evidence.fresh_pages")
    app.connect("env-get-updated", pages_to_write, priority=900)  # after the numbers are given
    app.connect("build-finished", remove_gone_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
