"""What is installed is enough: torch and jaxtyping for the core, an extra for all that asks for it.

Each test runs a fresh Python: this one has loaded everything already.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from setuptools import Distribution

from attention_book.foundations.environment import ADDRESS, from_extra

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "scripts"))

from try_wheel import TRANSLATE  # noqa: E402

PACKAGE = ROOT / "src" / "attention_book"

#: Every library that the package knows, but for torch and jaxtyping.
EXTRAS = (
    *("matplotlib", "numpy", "tokenizers", "pooch", "tqdm", "sacrebleu", "safetensors"),
    *("statsmodels", "sklearn", "IPython", "matplotlib_inline"),
)

# filelock is one of torch's own requirements, so it is always there.
WITHOUT_EXTRAS = f"""
import sys

class Without:
    "A finder that finds everything but the extras, as where they are not installed."
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, *rest):
        return None if name.split(".")[0] in {EXTRAS} else self.finder.find_spec(name, *rest)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""

LOADED = f"""
import sys, torch, jaxtyping
before = set(sys.modules)  # both load NumPy where there is one
import attention_book.attention, attention_book.models, attention_book.training
import attention_book.decoding, attention_book.inspection, attention_book.text
import attention_book.course.datasets, attention_book.metrics
import attention_book.course.exercises, attention_book.course.diagnosis
names = {{name.split(".")[0] for name in set(sys.modules) - before}}
print(*sorted(names & {set(EXTRAS)}))
"""

ASK = """
import torch
from attention_book.course.recipes import Recipe, trained
from attention_book.course.datasets import digit_images, load_series
from attention_book.metrics import corpus_bleu, corpus_chrf
from attention_book.models import fit_autoregression
from attention_book.text import SubwordTokenizer, load_corpus
from attention_book.training import progress, read_checkpoint, save_checkpoint

def plot():
    import attention_book.plotting

def chapter():
    import attention_book.course.notebook

words = [("va", "!")]
for use in (
    plot,
    chapter,
    lambda: load_corpus("tatoeba-eng-fra"),
    lambda: SubwordTokenizer.train(["low"], num_tokens=259),
    lambda: SubwordTokenizer.from_json("{}"),
    lambda: corpus_bleu(words, words),
    lambda: corpus_chrf(words, words),
    lambda: save_checkpoint("nowhere", model=torch.nn.Linear(2, 2)),
    lambda: read_checkpoint("nowhere"),
    lambda: next(progress([], total=1)),
    lambda: trained(Recipe(name="tiny", corpus="phrasebook", num_train=64, epochs=1)),
    lambda: load_series("co2"),
    lambda: digit_images(seed=0),
    lambda: fit_autoregression(torch.randn(40), max_lags=2),
):
    try:
        use()
    except ImportError as error:
        print(error)
"""


def fresh(*code: str) -> list[str]:
    """Run code in a Python of its own; return the lines it printed."""
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "\n".join(code)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.splitlines()


def test_importing_the_core_loads_no_extra() -> None:
    assert fresh(LOADED) == [""]


def test_torch_and_jaxtyping_are_enough_to_train_and_translate() -> None:
    assert fresh(WITHOUT_EXTRAS, TRANSLATE) == ["va !"]


def test_the_translation_is_the_same_where_the_extras_are_installed() -> None:
    assert fresh(TRANSLATE) == ["va !"]


def test_what_needs_an_extra_says_which() -> None:
    expected = [
        ("matplotlib", "plot"),
        ("matplotlib", "plot"),
        ("pooch", "text"),
        ("tokenizers", "text"),
        ("tokenizers", "text"),
        ("sacrebleu", "metrics"),
        ("sacrebleu", "metrics"),
        ("safetensors", "training"),
        ("safetensors", "training"),
        ("tqdm", "training"),
        ("tqdm", "training"),
        ("statsmodels", "data"),
        ("scikit-learn", "data"),
        ("statsmodels", "data"),
    ]
    assert fresh(WITHOUT_EXTRAS, ASK) == [
        f"{library}: expected it installed, got none; "
        f'pip install "attention-book[{extra}] @ {ADDRESS}"'
        for library, extra in expected
    ]


def test_the_advice_names_what_the_readme_installs_from() -> None:
    """The name is on no index: what an error says to type must be what the README says to type."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for extra in ("all", "command"):
        with pytest.raises(ImportError) as caught, from_extra(extra, "nowhere"):
            import nowhere_to_be_found  # noqa: F401
        assert str(caught.value).partition("; ")[2] in readme


# --- the wheel -------------------------------------------------------------------------------


@pytest.fixture
def distribution(monkeypatch: pytest.MonkeyPatch) -> Distribution:
    """The package as setuptools reads it from pyproject.toml."""
    monkeypatch.chdir(ROOT)
    found = Distribution({"script_name": "setup.py"})
    found.parse_config_files()
    return found


def test_the_wheel_contains_every_file_of_the_package(distribution: Distribution) -> None:
    build = distribution.get_command_obj("build_py")
    build.ensure_finalized()
    listed = {ROOT / folder / name for _, folder, _, names in build.data_files for name in names}
    modules = {ROOT / file for *_, file in build.find_all_modules()}
    there = {path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert listed | modules == there
    for needed in ("py.typed", "plotting/fonts/OFL.txt", "text/data/LICENSE"):
        assert PACKAGE / needed in listed
    assert any(path.parts[-3] == "phrasebook" for path in listed), "the topics' folders"


def test_the_wheel_needs_torch_and_jaxtyping_alone(distribution: Distribution) -> None:
    names = {requirement.split(">")[0] for requirement in distribution.install_requires}
    assert names == {"torch", "jaxtyping"}
