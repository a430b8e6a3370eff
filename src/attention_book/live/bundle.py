"""Packs the modules of JavaScript into classic scripts, which run from a double-clicked file too.

A browser refuses ES modules on ``file://``. So each module becomes a function of all the others,
kept with what it exports in ``attentionBookLive``: the same script runs in a page, in a notebook
(as an anywidget) and, since the functions' text is their source, in a Worker.

This module imports nothing: the book's build reads it without the package.
"""

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

MODULES = Path(__file__).parent / "modules"
#: What every page with a figure loads: elements, controls, the page's side of a widget.
CORE = ("page/page", "page/figure")

#: What a widget that starts the engine has of it already.
ENGINES_OWN = ("engine/tokens", "engine/subwords")

IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
EXPORTED = re.compile(r"^export (?:async )?(?:const|function\*?|class) (\w+)", re.MULTILINE)
DEFAULT = re.compile(r"^export default ", re.MULTILINE)
START = """\
"use strict";
globalThis.attentionBookLive ??= {
  modules: {},
  factories: {},
  define(name, factory) {
    if (name in this.factories) return;
    this.factories[name] = factory;
    this.modules[name] = factory(this.modules);
  },
};
"""


def script(names: Iterable[str], *, without: Iterable[str] = ()) -> str:
    """Return a classic script that defines some modules and all that they import.

    Args:
        names: Modules by their path below ``modules/``, such as ``figures/softmax``.
        without: Modules that another script of the page defines, with all that they import.

    Raises:
        FileNotFoundError: if there is no such module.
        ValueError: if modules import each other in a circle, or a name that is not exported.
    """
    there = ordered(without)
    parts = [defined(name) for name in ordered(names) if name not in there]
    return START + "".join(parts)


def core() -> str:
    """Return the script that every page with a figure loads first."""
    return script(CORE)


def figure(name: str) -> str:
    """Return the script of one figure, to be loaded after :func:`core`."""
    return registered(figure_module(name), without=CORE)


def widget(name: str) -> str:
    """Return the script of one widget, to be loaded after :func:`core`."""
    return registered(f"widgets/{name}", without=CORE)


def registered(module: str, *, without: Iterable[str] = ()) -> str:
    """Return a script that defines a figure or a widget and draws it wherever the page asks."""
    name, found = PurePosixPath(module).name, f'attentionBookLive.modules["{module}"].default'
    register = 'attentionBookLive.modules["page/page"].register'
    return script(["page/page", module], without=without) + f'{register}("{name}", {found});\n'


def engine() -> str:
    """Return the script of the translators' engine, which their widgets load when it is needed.

    What every such widget brings along for its own use is left out.
    """
    return script(["engine/serve"], without=ENGINES_OWN)


def esm(name: str) -> str:
    """Return a widget as the one module that anywidget asks for, with the engine if it needs it."""
    module = f"widgets/{name}"
    starts_the_engine = "page/engine" in ordered([module])
    text = script([module, *(["engine/serve"] if starts_the_engine else [])])
    return text + f'export default attentionBookLive.modules["{module}"].default;\n'


def styles() -> str:
    """Return the style sheet of all figures and widgets."""
    return (MODULES / "live.css").read_text(encoding="utf8")


def figures() -> list[str]:
    """Return the names of all figures, in whatever folder they stand."""
    return sorted(path.stem for path in (MODULES / "figures").rglob("*.mjs"))


def figure_module(name: str) -> str:
    """Return the module of a figure by its path below ``modules/``: ``figures/today/roofline``.

    Raises:
        FileNotFoundError: if there is no such figure.
    """
    found = list((MODULES / "figures").rglob(f"{name}.mjs"))
    if not found:
        raise FileNotFoundError(f"no live figure {name!r}: there are {', '.join(figures())}")
    return found[0].relative_to(MODULES).with_suffix("").as_posix()


def widgets() -> list[str]:
    """Return the names of all widgets."""
    return sorted(path.stem for path in (MODULES / "widgets").glob("*.mjs"))


def ordered(names: Iterable[str]) -> list[str]:
    """Return modules with all that they import, each after what it imports."""
    found: list[str] = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise ValueError(f"modules import each other: {' → '.join((*path, name))}")
        if name not in found:
            for other in imported(name):
                visit(other, (*path, name))
            found.append(name)

    for name in names:
        visit(name, ())
    return found


def imported(name: str) -> list[str]:
    """Return the modules that a module imports."""
    return [beside(name, path) for _, path in IMPORT.findall(text_of(name))]


def defined(name: str) -> str:
    """Return a module as a call that defines it."""
    text = text_of(name)
    exports = EXPORTED.findall(text)
    body = IMPORT.sub(lambda found: taken(name, found[1], found[2]), text)
    if DEFAULT.search(body):
        body = DEFAULT.sub("const attentionBookDefault = ", body)
        exports.append("default: attentionBookDefault")
    body = re.sub(r"^export ", "", body, flags=re.MULTILINE)
    return (
        f'attentionBookLive.define("{name}", (modules) => {{\n{body}'
        f"return {{ {', '.join(exports)} }};\n}});\n"
    )


def taken(name: str, names: str, path: str) -> str:
    """Return the line that takes an import's names from the modules that are there."""
    there = EXPORTED.findall(text_of(beside(name, path)))
    wanted = [each.split()[0] for each in names.split(",") if each.strip()]
    if missing := [each for each in wanted if each not in there]:
        raise ValueError(f"{name} imports {missing[0]}: no `export const {missing[0]}` in {path}")
    renamed = ", ".join(" ".join(each.split()).replace(" as ", ": ") for each in names.split(","))
    return f'const {{ {renamed} }} = modules["{beside(name, path)}"];\n'


def beside(name: str, path: str) -> str:
    """Return the name of the module that an import's relative path leads to."""
    parts: list[str] = []
    for part in (*PurePosixPath(name).parent.parts, *PurePosixPath(path).with_suffix("").parts):
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def text_of(name: str) -> str:
    """Return the source of a module."""
    return (MODULES / f"{name}.mjs").read_text(encoding="utf8")
