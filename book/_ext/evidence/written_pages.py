"""Written pages are kept in step with the book: they speak of each other, and they go.

Sphinx writes a page again when its own source has changed. But a page repeats what others say:
titles in the sidebar and in the links to the neighbors, the words and numbers of references,
the authors and years of citations. Here

* a page is written again (none is read again) when one of the facts that it repeats has changed:
  all pages repeat titles, numbers and the contents, each the sources that it cites;
* the files of a page that has left the book, or has another name now, leave the site.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from bilingual.environment import PerBook
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

#: Of what each page says of others.
FACTS_DIGESTS = PerBook[dict[str, str]]("shared_facts_digests", {})


def shared_facts(env: BuildEnvironment) -> dict[str, Any]:
    """Return what a page may repeat of another one."""
    objects = {
        name: sorted(str(described) for described in domain.get_objects())
        for name, domain in env.domains.items()
        if name != "cite"
    }
    return {
        "titles": {page: title.pformat() for page, title in env.titles.items()},
        "contents": env.toctree_includes,
        "sections": env.toc_secnumbers,
        "figures": env.toc_fignumbers,
        "equations": env.get_domain("math").data["objects"],
        "objects": objects,
    }


def cited_sources(env: BuildEnvironment) -> dict[str, list[str]]:
    """Return what each page that cites says of its sources."""
    domain: Any = env.domains.get("cite")
    if domain is None:
        return {}
    said = {each.key: f"{each.formatted_entry.text!r} {each.entry!r}" for each in domain.citations}
    pages: dict[str, set[str]] = {}
    for reference in domain.citation_refs:
        keys = (target.key for target in reference.targets)
        pages.setdefault(reference.docname, set()).update(said.get(key, key) for key in keys)
    return {page: sorted(sources) for page, sources in pages.items()}


def pages_to_write(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return the pages for which what they say of others has changed."""
    shared, cited = shared_facts(env), cited_sources(env)
    base = hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()
    now = {
        page: hashlib.sha256(f"{base} {cited.get(page)}".encode()).hexdigest()
        for page in env.found_docs
    }
    before = FACTS_DIGESTS.of(env)
    FACTS_DIGESTS.update(env, now)
    return sorted(page for page in now if now[page] != before.get(page))


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
