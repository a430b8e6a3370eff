"""Which cells of a page can be changed and run in it: those that need nothing but themselves.

No list says which. Such a cell imports, or takes from its page's imports, what a page has; it
defines all else that it uses; its numbers are its own, not drawn by a generator that other cells
have moved on; and what it shows is text. That the page's torch then prints the same text,
`tests/site/test_page_cells.py` checks; where it does not, a comment above the cell says why:
``% notebook-only: a page has no meta tensors``.
"""

from __future__ import annotations

import ast
import builtins
import dis
import re
from collections.abc import Iterator
from contextlib import suppress
from types import CodeType

from docutils import nodes

from page_python.names import Names, imports

#: Of these modules a page has what cells use.
AT_HAND = (
    "torch", "math", "itertools", "collections", "copy", "functools",
    "attention_book", "attention_book.attention", "attention_book.decoding",
    "attention_book.metrics", "attention_book.models", "attention_book.text",
    "attention_book.training",
)  # fmt: skip
#: What draws numbers: functions, methods, and the layers that begin with drawn weights.
DRAWN = {
    *("rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like"),
    *("normal", "normal_", "uniform_", "sample", "shuffle", "choice"),
    *("multinomial", "bernoulli", "exponential_", "dropout", "Dropout"),
    *("Linear", "Bilinear", "Embedding", "GRU", "GRUCell", "LSTM", "RNN", "MultiheadAttention"),
}
#: What makes draws the cell's own; and those that even then are others than PyTorch's.
SEEDS = {"manual_seed", "set_seed"}
DRAWN_OTHERWISE = {"multinomial", "bernoulli", "dropout", "Dropout", "exponential_"}
#: A cell with one of these is folded, or is not what a reader would type.
TAGS = {
    "setup", "evidence", "hide-input", "hide-output", "hide-cell", "remove-input", "remove-output",
    "remove-cell", "raises-exception", "skip-execution", "printed-numbers",
}  # fmt: skip
FRACTION = re.compile(r"\d\.")
CHECK = re.compile(r'\bcheck\("[\w-]+", (\w+)\)')
#: How a comment begins that takes the cell below it out.
LEFT_OUT = "notebook-only:"
#: Where a cell is part of the answer to an exercise, which has an editor of its own.
ANSWERS = ("solution_node", "exercise_node", "exercise_enumerable_node")
#: The class by which a page's script finds such a cell.
MARK = "py-cell"


def mark(doctree: nodes.document, names: Names) -> list[str]:
    """Mark the cells that can be run in the page; ``names`` are those that its cells import.

    Returns:
        For each of them, if the page checks its function later on, the call of ``check``, which
        stands below the code in the editor; else "".
    """
    defined: dict[str, nodes.Element] = {}  # function → the cell that defined it last
    checked: dict[nodes.Element, str] = {}
    for cell, code, tree in cells_of(doctree):
        functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        defined |= dict.fromkeys(functions, cell)
        for found in CHECK.finditer(code):
            if found[1] in defined:
                checked.setdefault(defined[found[1]], found[0])
    calls = []
    for cell, code, tree in cells_of(doctree):
        shows = shows_text(cell) and not hangs_on_draws(cell, tree)
        if is_read(cell) and stands_alone(code, tree, names) and (cell in checked or shows):
            cell["classes"].append(MARK)
            calls.append(checked.get(cell, ""))
    return calls


def cells_of(doctree: nodes.document) -> Iterator[tuple[nodes.Element, str, ast.Module]]:
    """Yield each code cell with its code; not those that are no plain Python."""
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") == "cell_code" and (code := code_of(cell)):
            with suppress(SyntaxError):  # a magic of IPython
                yield cell, code, ast.parse(code)


def code_of(cell: nodes.Element) -> str:
    listing = next(iter(cell.findall(nodes.literal_block)), None)
    return listing.astext() if listing is not None else ""


def is_read(cell: nodes.Element) -> bool:
    """Whether readers see the cell, in the text and not in an answer, and nothing takes it out."""
    tags = cell["cell_metadata"].get("tags", [])
    before = cell.parent.children[: cell.parent.index(cell)][-1:]
    left_out = any(isinstance(n, nodes.comment) and n.astext().startswith(LEFT_OUT) for n in before)
    above, answers = cell.parent, False
    while above is not None:
        answers |= type(above).__name__ in ANSWERS
        above = above.parent
    return not (left_out or answers or TAGS & set(tags))


def stands_alone(code: str, tree: ast.Module, names: Names) -> bool:
    """Whether a cell defines or imports all that it uses, of what a page has."""
    modules = [module for _, (module, _) in imports(tree)]
    modules += [names[name][0] if name in names else "" for name in needed(code)]
    return all(module in AT_HAND or module.startswith("torch.") for module in modules)


def needed(code: str) -> set[str]:
    """Return the names that a cell uses before it has defined them, but for Python's own."""
    return set(lacking(compile(code, "<cell>", "exec"))) - set(vars(builtins))


def lacking(code: CodeType) -> Iterator[str]:
    """Yield the names that a piece of code takes from elsewhere, read off its instructions."""
    stored = set()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_NAME", "LOAD_GLOBAL") and step.argval not in stored:
            yield step.argval
        elif step.opname in ("STORE_NAME", "STORE_GLOBAL"):
            stored.add(step.argval)
    for inner in code.co_consts:  # functions, which are called when all is there
        if isinstance(inner, CodeType):
            yield from (name for name in lacking(inner) if name not in stored)


def shows_text(cell: nodes.Element) -> bool:
    """Whether a cell's output is text: what it prints, or a value as Python writes it."""
    outputs = outputs_of(cell)
    return bool(outputs) and all(
        [getattr(form, "attributes", {}).get("mime_type") for form in each.children]
        == ["text/plain"]
        if each.get("nb_element") == "mime_bundle"
        else "stream" in each["classes"] and "stderr" not in each["classes"]
        for each in outputs
    )


def outputs_of(cell: nodes.Element) -> list[nodes.Element]:
    shown = [node for part in cell.children[1:] for node in part.children]
    return [node for node in shown if isinstance(node, nodes.Element)]


def hangs_on_draws(cell: nodes.Element, tree: ast.Module) -> bool:
    """Whether a cell shows drawn numbers: without a seed of its own, any fraction may be one."""
    used = {
        getattr(node, "attr", getattr(node, "id", ""))
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute | ast.Name)
    }
    is_drawn = used & DRAWN_OTHERWISE or (used & DRAWN and not used & SEEDS)
    return bool(is_drawn) and any(FRACTION.search(each.astext()) for each in outputs_of(cell))
