"""Write book/page_torch/_names.py: what PyTorch has, to tell a typing error from what a page lacks.

python scripts/name_torch.py
"""

import importlib
import pkgutil
import textwrap
from pathlib import Path

import torch

TARGET = Path(__file__).resolve().parents[1] / "book" / "page_torch" / "_names.py"
MODULES = [
    *("torch", "amp", "autograd", "cuda", "linalg", "nn", "nn.functional", "nn.init"),
    *("nn.parallel", "nn.utils"),
    *("optim", "overrides", "special", "utils"),
]


def names() -> dict[str, list[str]]:
    """Return the public names of each namespace, submodules that nobody imported yet included."""
    spaces: dict[str, object] = {"Tensor": torch.Tensor}
    for each in MODULES:
        spaces[each] = importlib.import_module("torch" if each == "torch" else f"torch.{each}")
    found = {}
    for kind, space in spaces.items():
        inner = [module.name for module in pkgutil.iter_modules(getattr(space, "__path__", ()))]
        found[kind] = sorted({name for name in [*dir(space), *inner] if name[0] != "_"})
    return found


def main() -> None:
    """Write the module."""
    head = '"""What PyTorch has, by namespace: written by scripts/name_torch.py."""'
    lines = [head, "", "NAMES = {"]
    for kind, public in names().items():
        wrapped = textwrap.fill(" ".join(public), 99, break_long_words=False)
        lines += [f'    "{kind}": frozenset(', f'        """\n{wrapped}\n""".split()', "    ),"]
    TARGET.write_text("\n".join([*lines, "}", ""]), encoding="utf8")
    print(f"{TARGET.name}: PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
