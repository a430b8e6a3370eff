"""The book's pages in the order in which they are read."""

from sphinx.environment import BuildEnvironment


def reading_order(env: BuildEnvironment) -> list[str]:
    """Return every page: as the table of contents lists them, then those it does not."""
    order: dict[str, None] = {}

    def visit(page: str) -> None:
        if page not in order:
            order[page] = None
            for child in env.toctree_includes.get(page, []):
                visit(child)

    visit(env.config.root_doc)
    return [*order, *sorted(env.found_docs - order.keys())]
