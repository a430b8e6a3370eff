"""Export the chapters as notebooks in one language each: notebooks/{zh,en}/*.ipynb.

Colab and Jupyter know no MyST, so the chapters become plain Markdown and code. The notebooks are
committed; `--check` (part of `make test`) fails when one is stale, missing or left over.
"""

import argparse
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(Path(__file__).parent))
sys.path.append(str(ROOT / "book" / "_ext"))

from book_index import BookIndex  # noqa: E402
from myst_blocks import ExportError  # noqa: E402
from myst_inline import LANGUAGES  # noqa: E402
from myst_notebook import PageExporter  # noqa: E402

INSTALL = '''\
try:
    import attention_book
except ImportError:  # Colab, or a Jupyter that does not have the book's package yet
    %pip install -q "{requirement}"'''

WORDS = {
    "zh": {
        "page": "网页版",
        "other": "English",
        "previous": "上一章：",
        "next": "下一章：",
        "note": "本笔记本由《注意力之书》的同一章导出；"
        "正文里以 `name` 代替的数，由单元格以 `name = …` 印出。",
    },
    "en": {
        "page": "This chapter on the site",
        "other": "中文",
        "previous": "Previous chapter: ",
        "next": "Next chapter: ",
        "note": "Exported from this chapter of The Attention Book; for a number that the text calls"
        " `name`, a cell prints `name = …`.",
    },
}
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def navigation(index: BookIndex, page: str, language: str) -> str:
    """Return the links from a notebook to the site and to its neighbours."""
    words, exporter = WORDS[language], PageExporter(index, page, language)
    other = "en" if language == "zh" else "zh"
    translation = index.addresses.source(f"notebooks/{other}/{page}.ipynb")
    links = [
        f"[{words['page']}]({index.url(page, language)})",
        f"[{words['other']}]({translation})",
    ]
    place = index.chapters.index(page)
    for word, neighbour in (("previous", place - 1), ("next", place + 1)):
        if 0 <= neighbour < len(index.chapters):
            name = index.chapters[neighbour]
            title = exporter.inline.title(name)
            links.append(f"{words[word]}[{title}]({index.url(name, language)})")
    return " · ".join(links)


def export(index: BookIndex, page: str, language: str) -> nbformat.NotebookNode:
    """Return a chapter as a notebook without outputs; its cells' ids never change by chance."""
    links = navigation(index, page, language)
    install = INSTALL.format(requirement=index.addresses.requirement_of_notebooks)
    cells = [
        nbformat.v4.new_code_cell(install, id="install"),
        nbformat.v4.new_markdown_cell(f"{links}\n\n*{WORDS[language]['note']}*", id="about"),
    ]
    for number, cell in enumerate(PageExporter(index, page, language).cells()):
        new = nbformat.v4.new_code_cell if cell.kind == "code" else nbformat.v4.new_markdown_cell
        cells.append(new(cell.text.strip(), id=f"cell-{number:03d}", metadata=cell.metadata))
    cells.append(nbformat.v4.new_markdown_cell(f"---\n\n{links}", id="links"))
    return nbformat.v4.new_notebook(cells=cells, metadata=METADATA)


def notebooks(root: Path) -> tuple[dict[Path, str], list[ExportError]]:
    """Return each notebook's path and text, and what cannot be exported."""
    index, texts, errors = BookIndex(root), {}, []
    for page in index.chapters:
        for language in LANGUAGES:
            path = root / "notebooks" / language / f"{page}.ipynb"
            try:
                texts[path] = nbformat.writes(export(index, page, language)).rstrip("\n") + "\n"
            except ExportError as error:
                errors.append(error)
    return texts, errors


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if stale")
    check = parser.parse_args(arguments).check
    wanted, errors = notebooks(root)
    if errors:
        print("\n".join(dict.fromkeys(map(str, errors))), file=sys.stderr)
        return 1
    present = set((root / "notebooks").rglob("*.ipynb"))
    stale = [p for p, text in wanted.items() if not p.is_file() or p.read_text("utf8") != text]
    extra = sorted(present - set(wanted))
    if check:
        for path in [*stale, *extra]:
            print(f"stale: {path.relative_to(root)} (run scripts/export_notebooks.py)")
        return bool(stale or extra)
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path], encoding="utf8", newline="\n")
    for path in extra:
        path.unlink()
    print(f"{len(wanted)} notebooks, {len(stale)} written, {len(extra)} removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
