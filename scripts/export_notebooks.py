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
from myst_notebook import EVIDENCE_TITLE, PageExporter  # noqa: E402

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
        "note": "本笔记本由《注意力之书》的同一章导出。",
        "evidence": "题为“证据”的折叠单元格，给出正文里的数，并检验正文的论断。",
        "tools": "`notebook.glue(name, value)` 把这次运行得到的一个数交给正文，在笔记本里则印成"
        " `name = …`，正文里就以 `name` 代替这个数；`notebook.measure(name, value, above=…)`"
        " 把取决于训练或抽样的结果同它的界限相比，告诉你这次是否得到。"
        "`L(中文, 英文)` 是有两种语言的标签，笔记本只显示其中一种。",
    },
    "en": {
        "page": "This chapter on the site",
        "other": "中文",
        "previous": "Previous chapter: ",
        "next": "Next chapter: ",
        "note": "Exported from this chapter of The Attention Book.",
        "evidence": " The folded cells called “Evidence” produce the numbers of the text and test"
        " its claims.",
        "tools": "`notebook.glue(name, value)` gives a number of this run to the text, which calls"
        " it `name` here, and prints it as `name = …`; `notebook.measure(name, value, above=…)`"
        " compares a result that depends on a training or a draw with its bound, and tells you"
        " whether it came out. `L(zh, en)` is a label in two languages, of which a notebook shows"
        " one.",
    },
}
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def navigation(index: BookIndex, page: str, language: str) -> str:
    """Return the links from a notebook to the site and to its neighbors."""
    words, exporter = WORDS[language], PageExporter(index, page, language)
    other = "en" if language == "zh" else "zh"
    translation = index.addresses.source(f"notebooks/{other}/{page}.ipynb")
    links = [
        f"[{words['page']}]({index.url(page, language)})",
        f"[{words['other']}]({translation})",
    ]
    place = index.chapters.index(page)
    for word, neighbor in (("previous", place - 1), ("next", place + 1)):
        if 0 <= neighbor < len(index.chapters):
            name = index.chapters[neighbor]
            title = exporter.inline.title(name)
            links.append(f"{words[word]}[{title}]({index.url(name, language)})")
    return " · ".join(links)


def about(links: str, language: str, *, has_evidence: bool) -> str:
    """Return what a notebook says of itself and of the book's own names in its cells."""
    words = WORDS[language]
    note = words["note"] + (words["evidence"] if has_evidence else "")
    return f"{links}\n\n*{note}*\n\n{words['tools']}"


def export(index: BookIndex, page: str, language: str) -> nbformat.NotebookNode:
    """Return a chapter as a notebook without outputs; its cells' ids never change by chance."""
    links = navigation(index, page, language)
    install = INSTALL.format(requirement=index.addresses.requirement_of_notebooks)
    own = PageExporter(index, page, language).cells()
    has_evidence = any(cell.text.startswith(EVIDENCE_TITLE) for cell in own)
    introduction = about(links, language, has_evidence=has_evidence)
    cells = [
        nbformat.v4.new_code_cell(install, id="install"),
        nbformat.v4.new_markdown_cell(introduction, id="about"),
    ]
    for number, cell in enumerate(own):
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
