"""The layers of the package, read from its imports; and what each name owes its readers."""

import ast
import doctest
import importlib
import inspect
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import attention_book

PACKAGE = "attention_book"
ROOT = Path(attention_book.__file__).parent

# Lowest first. A unit (a module or a folder directly in the package) imports only from the
# layers below its own; within a folder imports are free as long as they run in no circle.
LAYERS = [
    {"foundations"},
    {"attention", "text", "plotting"},
    {"models", "metrics"},
    {"training", "decoding"},
    {"inspection", "conformance"},
    {"course", "pytest_plugin"},
    {"live"},
    {"runs"},
    {"cli"},
]

# What comes from outside the standard library. These two the package needs: they may stand
# anywhere. All others are extras: each stands where it is used, in a block of `from_extra`.
NEEDED = {"torch", "jaxtyping"}
# A package that asks in its `__init__` has asked for all of its modules.
BEHIND_A_DOOR = {"plotting": {"matplotlib", "cycler", "numpy"}, "cli": {"click"}}
# The modules that ask, where that is not the package's `__init__`: the command must be able to say
# in a line of its own that click is missing.
DOORS = {"cli": "cli.main"}
EXTRAS = {
    "IPython": {"course.notebook"},
    "matplotlib_inline": {"course.notebook"},
    "filelock": {"course.recipes.trained", "runs.folder"},
    "pooch": {"text.corpora"},
    "tqdm": {"text.corpora", "training.loop", "cli.progress"},
    "tokenizers": {"models.pretrained.load", "text.bpe"},
    "sacremoses": {"runs.codec"},
    "safetensors": {"models.pretrained.weights", "training.checkpoint"},
    "sacrebleu": {"metrics.bleu", "runs.scoring"},
    "statsmodels": {"course.datasets", "models.forecasting.baselines"},
    "sklearn": {"course.datasets"},
    "anywidget": {"live.viewer.widget"},
    "traitlets": {"live.viewer.widget"},
    "tomli_w": {"runs.settings"},
}
# Where a library is used if it is there, and nothing is missed if it is not.
IF_INSTALLED = {"numpy": {"foundations.seed"}, "pytest": {"pytest_plugin"}}

SHAPELESS_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
# A file is one subject that one reads in a sitting. It is split for a second subject or a second
# caller, never for a count; this one only names what nobody can have read in a sitting.
MAX_MODULE_LINES = 600  # of code: without docstrings, comments and blank lines

PUBLIC_MODULES = [
    PACKAGE,
    f"{PACKAGE}.foundations",
    f"{PACKAGE}.attention",
    f"{PACKAGE}.text",
    f"{PACKAGE}.course.datasets",
    f"{PACKAGE}.models",
    f"{PACKAGE}.metrics",
    f"{PACKAGE}.training",
    f"{PACKAGE}.decoding",
    f"{PACKAGE}.inspection",
    f"{PACKAGE}.conformance",
    f"{PACKAGE}.plotting",
    f"{PACKAGE}.course.recipes",
    f"{PACKAGE}.course.exercises",
    f"{PACKAGE}.course.diagnosis",
    f"{PACKAGE}.course.models",
    f"{PACKAGE}.course.notebook",
    f"{PACKAGE}.course.own_file",
    f"{PACKAGE}.live",
    f"{PACKAGE}.runs",
]
# What a reader would not type at a prompt, and why.
NO_EXAMPLE = {
    "Score": "a protocol: its examples are the scores",
    "KeyProjectingScore": "a protocol: its examples are the scores",
    "Translator": "a protocol: its examples are the models",
}


class Module(NamedTuple):
    """One source file: its name within the package ("" for the root) and its syntax tree."""

    name: str
    tree: ast.Module
    code_lines: frozenset[int]

    @property
    def unit(self) -> str:
        return self.name.split(".")[0]


def read_modules() -> list[Module]:
    modules = []
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        modules.append(Module(name, tree, frozenset(code_lines(source) - docstring_lines(tree))))
    return modules


def code_lines(source: str) -> set[int]:
    """The numbers of the lines that are neither blank nor a comment alone."""
    silent = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in silent and token.type != tokenize.ENDMARKER:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines


def docstring_lines(tree: ast.Module) -> set[int]:
    """The numbers of the lines of all docstrings."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if documented and ast.get_docstring(node) is not None:
            lines.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines


MODULES = read_modules()
NAMES = {module.name for module in MODULES}


def imported_names(tree: ast.Module) -> Iterator[str]:
    """Every imported module, absolute; `from a import b` gives a.b, as b may be a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: write the import out from {PACKAGE} on"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_imports(module: Module) -> set[str]:
    """The modules of the package that this one imports, named as in ``NAMES``."""
    found = set()
    for name in imported_names(module.tree):
        if name.split(".")[0] == PACKAGE:
            inner = name.removeprefix(PACKAGE).removeprefix(".")
            found.add(inner if inner in NAMES else inner.rpartition(".")[0])
    return found


def layer_of(unit: str) -> int:
    for height, units in enumerate(LAYERS):
        if unit in units:
            return height
    raise AssertionError(f"{unit!r} stands in no layer: give it a place in LAYERS")


# --- arrows ----------------------------------------------------------------------------------


def test_imports_point_down() -> None:
    offenders = []
    for module in MODULES:
        for name in own_imports(module):
            unit = name.split(".")[0]
            if module.name == "":  # `import attention_book` stays cheap: the lowest layer only
                below = unit in LAYERS[0]
            else:
                below = unit == module.unit or layer_of(unit) < layer_of(module.unit)
            if not below:
                offenders.append(f"{module.name or PACKAGE} imports {name}")
    assert not offenders, "not from a layer below"


def test_imports_run_in_no_circle() -> None:
    arrows = {m.name: own_imports(m) for m in MODULES}
    assert list(TopologicalSorter(arrows).static_order())  # raises CycleError


def is_in(module: Module, package: str) -> bool:
    """Whether a module is the package or stands in it."""
    return f"{module.name}.".startswith(f"{package}.")


def outsiders(tree: ast.AST) -> set[str]:
    """The libraries that some code imports, but for the standard one, torch and jaxtyping."""
    ours = {PACKAGE, *NEEDED, *sys.stdlib_module_names}
    return {name.split(".")[0] for name in imported_names(tree)} - ours


def blocks_of_extras(module: Module) -> Iterator[tuple[str, str, ast.With]]:
    """Each `with from_extra(extra, library)`: the extra, the library and the block."""
    for node in ast.walk(module.tree):
        for item in node.items if isinstance(node, ast.With) else ():
            match item.context_expr:
                case ast.Call(ast.Name("from_extra"), [ast.Constant(extra), ast.Constant(library)]):
                    yield extra, library, node


def test_outsiders_are_imported_where_the_table_says() -> None:
    offenders = []
    for module in MODULES:
        asked = set().union(*(outsiders(block) for *_, block in blocks_of_extras(module)))
        for name in outsiders(module.tree):
            if any(name in BEHIND_A_DOOR[each] for each in BEHIND_A_DOOR if is_in(module, each)):
                continue
            if module.name not in EXTRAS.get(name, set()) | IF_INSTALLED.get(name, set()):
                offenders.append(f"{module.name} imports {name}")
            elif name in EXTRAS and name not in asked:
                offenders.append(f"{module.name} imports {name} outside of `from_extra`")
    assert not offenders, "give each its place in EXTRAS"


def test_an_extra_that_is_asked_for_installs_the_library() -> None:
    installs = extras_of_the_project()
    offenders = [
        f"{module.name}: the extra {extra!r} has no {library}"
        for module in MODULES
        for extra, library, _ in blocks_of_extras(module)
        if library.lower() not in installs[extra]
    ]
    assert not offenders
    doors = {module.name for module in MODULES for _ in blocks_of_extras(module)}
    assert {DOORS.get(package, package) for package in BEHIND_A_DOOR} <= doors


def extras_of_the_project() -> dict[str, set[str]]:
    """What each extra installs by itself or by another extra of ours."""
    project = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, set[str]] = {}
    for extra, wanted in project["project"]["optional-dependencies"].items():  # in this order
        found[extra] = set()
        for requirement in wanted:
            name, *own = re.findall(r"[\w-]+", requirement.split(">=")[0].split("==")[0])
            found[extra].update(*(found[each] for each in own), () if own else (name,))
    return found


# --- sizes and names -------------------------------------------------------------------------


def test_a_module_is_named_for_an_idea_and_read_in_a_sitting() -> None:
    shapeless = [m.name for m in MODULES if set(m.name.split(".")) & SHAPELESS_NAMES]
    sizes = {m.name: len(m.code_lines) for m in MODULES if not lists_names_alone(m.tree)}
    long = [f"{name}: {size}" for name, size in sizes.items() if size > MAX_MODULE_LINES]
    silent = [m.name for m in MODULES if not ast.get_docstring(m.tree)]
    assert not shapeless, "names that say nothing"
    assert not long, f"more than {MAX_MODULE_LINES} lines of code"
    assert not silent, "does not say what it is for"


def lists_names_alone(tree: ast.Module) -> bool:
    """Whether a module is what a package offers: imports, ``__all__`` and nothing else."""
    _docstring, *rest = tree.body
    return all(
        isinstance(node, ast.ImportFrom)
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
        for node in rest
    )


# --- where is …? -----------------------------------------------------------------------------

# What a stranger searches for, and the one module whose first line must say it.
NAMES_OF_THE_FIELD = {
    "Nadaraya–Watson": "attention.kernels.kernels",
    "MHA": "attention.multi_head",
    "GQA": "attention.multi_head",
    "MQA": "attention.multi_head",
    "MLA": "attention.latent",
    "KV cache": "attention.cache",
    "SWA": "attention.visibility",
    "sinks": "attention.soft",
    "PagedAttention": "attention.paged",
    "RoPE": "attention.positions.rotary",
    "YaRN": "attention.positions.rope_scaling",
    "ALiBi": "attention.positions.alibi",
    "T5 bias": "attention.positions.t5_buckets",
    "Shaw": "attention.positions.relative",
    "Sinusoidal": "attention.positions.sinusoidal",
    "FlashAttention": "attention.efficient.flash",
    "Online softmax": "attention.efficient.online_softmax",
    "Linear attention": "attention.efficient.linear",
    "RetNet": "attention.efficient.fixed_state.chunks",
    "Gated DeltaNet": "attention.efficient.fixed_state.chunks",
    "Masked softmax": "attention.softmax",
    "Location-based": "attention.location",
    "local-p": "attention.local",
    "Bahdanau's": "models.recurrent.bahdanau",
    "Luong": "models.recurrent.luong",
    "(seq2seq; ": "models.recurrent.seq2seq",
    "FFN": "models.parts",
    "pre-norm": "models.parts",
    "RMSNorm": "models.parts",
    "SwiGLU": "models.parts",
    "masked (BERT)": "models.language",
    "LoRA": "models.lora",
    "ViT": "models.vision.vision_transformer",
    "BPE": "text.bpe",
    "Noam": "training.schedule",
    "Xavier": "training.loop",
    "perplexity": "training.loss",
    "Beam search": "decoding.beam",
    "nucleus": "decoding.sampling",
    "Speculative sampling": "decoding.speculative",
    "roofline": "inspection.roofline",
    "top-k": "decoding.sampling",
    "chrF": "metrics.bleu",
    "AER": "metrics.alignment",
}


def test_the_drawing_of_the_architecture_is_the_layers_that_are() -> None:
    text = (ROOT.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    drawn, forward = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    units = {unit for layer in LAYERS for unit in layer}
    lines = [[word for word in line[:33].split() if word in units] for line in drawn.splitlines()]
    assert [set(line) for line in reversed(lines)] == LAYERS
    for line in forward.splitlines():
        path = ROOT / line.split()[0]
        assert path.is_dir() if line.split()[0].endswith("/") else path.is_file(), line


def test_a_name_of_the_field_leads_to_one_module() -> None:
    library = [m for m in MODULES if m.name and m.unit != "course"]  # exercises bear names, too
    lines = {m.name: (ast.get_docstring(m.tree) or "").partition("\n")[0] for m in library}
    found = {
        name: [module for module, line in lines.items() if name in line and not is_folder(module)]
        for name in NAMES_OF_THE_FIELD
    }
    assert found == {name: [module] for name, module in NAMES_OF_THE_FIELD.items()}


def is_folder(module: str) -> bool:
    return ROOT.joinpath(*module.split(".")).is_dir()


# --- documentation ---------------------------------------------------------------------------


def public_objects() -> list[tuple[str, object]]:
    found = {}
    for module_name in PUBLIC_MODULES:
        module = importlib.import_module(module_name)
        for name in getattr(module, "__all__", None) or defined_in(module):
            found[f"{module_name}.{name}"] = getattr(module, name)
    return [
        (name, thing)
        for name, thing in found.items()
        if inspect.isroutine(thing) or inspect.isclass(thing)
    ]


def defined_in(module: ModuleType) -> list[str]:
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__
    ]


def test_public_names_are_explained_with_an_example() -> None:
    silent, without_example = [], []
    for name, thing in public_objects():
        docstring = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
        if not docstring:
            silent.append(name)
        elif name.rpartition(".")[2] not in NO_EXAMPLE and not has_example(docstring):
            without_example.append(name)
    assert not silent, "no docstring"
    assert not without_example, "no example"


def has_example(docstring: str) -> bool:
    return bool(doctest.DocTestParser().get_examples(docstring))
