"""What the book's pages call themselves: titles, labels, numbers, sources, package names.

A notebook stands alone, so its references become text with a link to the site. This reads all
pages once and knows, for each label, its page, its number and its words in both languages.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml
from myst_blocks import Block, book_extensions, cut
from reference.package_names import listed_names, module_tree
from website.addresses import Addresses, read_addresses

#: How a numbered thing is called.
KINDS = {
    "figure": ("图", "Fig."),
    "exercise": ("练习", "Exercise"),
    "equation": ("", ""),
    "proof": ("", ""),
}
PROOFS = {
    "theorem": ("定理", "Theorem"),
    "definition": ("定义", "Definition"),
    "lemma": ("引理", "Lemma"),
    "proposition": ("命题", "Proposition"),
    "corollary": ("推论", "Corollary"),
    "algorithm": ("算法", "Algorithm"),
    "example": ("例", "Example"),
    "remark": ("评注", "Remark"),
    "property": ("性质", "Property"),
    "proof": ("证明", "Proof"),
}
#: A heading, without the badge of its section.
HEADING = re.compile(r"^(#+)\s+(.*?)(?:\s*\{(?:core|optional)\}`\d+`)?$", re.M)


#: Directives that make a numbered figure.
FIGURES = ("diagram", "stages", "live", "translator", "figure")


@dataclass(frozen=True)
class Label:
    """Where a label points."""

    page: str
    anchor: str
    kind: str  # "heading", "figure", "equation", "exercise", "proof"
    number: str = ""
    title: str = ""  # MyST, both languages
    proof: str = ""

    def words(self, language: str) -> str:
        """Return what Sphinx writes for a numbered reference."""
        if self.kind == "equation":
            return f"({self.number})"
        names = PROOFS[self.proof] if self.kind == "proof" else KINDS[self.kind]
        return f"{names[language == 'en']} {self.number}".strip()


class BookIndex:
    """The labels, titles, citations and package names of a book."""

    def __init__(self, root: Path) -> None:
        self.root, self.book = root, root / "book"
        self.addresses: Addresses = read_addresses(root)
        self.extensions = book_extensions(self.book)
        self.labels: dict[str, Label] = {}
        self.titles: dict[str, str] = {}
        self.pages = dict(self.numbered_pages())
        counts: dict[tuple[str, str], int] = {}
        for page, chapter in self.pages.items():
            self.read_page(page, chapter, counts)

    def numbered_pages(self) -> Iterator[tuple[str, str]]:
        """Yield the pages in reading order, each with its chapter number ("" without one)."""
        toc = yaml.safe_load((self.book / "_toc.yml").read_text(encoding="utf8"))
        yield toc["root"], ""
        number = 0
        for part in toc.get("parts", [toc]):
            numbered = part.get("numbered", False)
            for entry in part.get("chapters", []):
                number += bool(numbered)
                yield entry["file"], str(number) if numbered else ""
                yield from ((section["file"], "") for section in entry.get("sections", []))

    def source(self, page: str) -> str:
        return (self.book / f"{page}.md").read_text(encoding="utf8")

    def is_executed(self, page: str) -> bool:
        return "kernelspec:" in self.source(page)[:600]

    @cached_property
    def chapters(self) -> list[str]:
        """The pages with cells, in reading order."""
        return [page for page in self.pages if self.is_executed(page)]

    def blocks(self, text: str, page: str, line: int = 1) -> Iterator[Block]:
        """Yield all blocks, those inside directives too."""
        for block in cut(text, page, self.extensions, line):
            yield block
            if block.kind == "directive" and block.name not in ("code-cell", "math", "glossary"):
                yield from self.blocks(block.text, page, block.line)

    def read_page(self, page: str, chapter: str, counts: dict[tuple[str, str], int]) -> None:
        targets: list[str] = []

        def number(kind: str) -> str:
            counts[kind, chapter] = counts.get((kind, chapter), 0) + 1
            return f"{chapter}.{counts[kind, chapter]}" if chapter else str(counts[kind, chapter])

        for block in self.blocks(self.source(page), page):
            if block.kind == "target":
                targets.append(block.text)
            elif block.kind == "equation":
                self.add(
                    Label(
                        page, f"equation-{block.options['label']}", "equation", number("equation")
                    ),
                    block.options["label"],
                )
            elif block.kind == "directive":
                self.add_directive(block, page, number)
            elif block.kind == "text" and (heading := HEADING.match(block.text)):
                self.titles.setdefault(page, heading[2])
                for name in targets:
                    self.add(Label(page, name, "heading", title=heading[2]), name)
            if block.kind != "target":
                targets = []

    def add_directive(self, block: Block, page: str, number) -> None:  # type: ignore[no-untyped-def]
        options = block.options
        if block.name == "code-cell":
            figure = options.get("mystnb", {}).get("figure", {}) if "mystnb" in options else {}
            if "name" in figure:
                self.add(Label(page, figure["name"], "figure", number("figure")), figure["name"])
        elif block.name == "sources" and "name" in options:
            label = Label(page, options["name"], "heading", title=block.argument)
            self.add(label, options["name"])
        elif block.name in FIGURES and "name" in options:
            self.add(Label(page, options["name"], "figure", number("figure")), options["name"])
        elif block.name in ("exercise", "exercise-start") and "label" in options:
            label = Label(page, options["label"], "exercise", number("exercise"))
            self.add(label, options["label"])
        elif block.name == "math" and "label" in options:
            label = Label(page, f"equation-{options['label']}", "equation", number("equation"))
            self.add(label, options["label"])
        elif block.name.startswith("prf:") and "label" in options:
            proof = block.name.removeprefix("prf:")
            label = Label(page, options["label"], "proof", number(proof), proof=proof)
            self.add(label, options["label"])

    def add(self, label: Label, name: str) -> None:
        self.labels[name] = label

    def url(self, page: str, language: str, anchor: str = "") -> str:
        """Return a page's address on the site."""
        return f"{self.addresses.site}/{page}.html?lang={language}" + (anchor and f"#{anchor}")

    @cached_property
    def citations(self) -> dict[str, str]:
        """Author and year of each source."""
        from pybtex.database import parse_file

        return {
            key: author_year(e)
            for key, e in parse_file(str(self.book / "references.bib")).entries.items()
        }

    @cached_property
    def package_pages(self) -> dict[str, tuple[str, str]]:
        """The page and anchor of each name in the package's reference."""
        found = {}
        for page in self.pages:
            for block in self.blocks(self.source(page), page):
                if block.kind == "directive" and block.name == "api":
                    for short in block.text.split():
                        name = f"{block.argument}.{short}"
                        found[name] = (page, name)
                elif block.kind == "directive" and block.name == "api-shapes":
                    for short in self.shape_names():
                        anchor = f"shape-{short.lower()}"
                        found[f"attention_book.foundations.shapes.{short}"] = (page, anchor)
        return found

    def shape_names(self) -> list[str]:
        return listed_names(module_tree(self.root / "src/attention_book/foundations/shapes.py"))


def author_year(entry) -> str:  # type: ignore[no-untyped-def]
    names = [" ".join(person.last_names) for person in entry.persons.get("author", [])]
    who = f"{names[0]} et al." if len(names) > 2 else " & ".join(names)
    return f"{who} {entry.fields.get('year', '')}".replace("{", "").replace("}", "").strip()
