"""What the page's torch lacks it says in both languages; what it has, PyTorch has too."""

import importlib
import math

import pytest
import torch
from as_torch import import_page_torch

page_torch = import_page_torch("page_torch")
_missing = importlib.import_module("page_torch._missing")
SPACES = ["", "nn", "nn.functional", "nn.init", "nn.utils", "linalg", "special", "autograd"]
SPACES += ["cuda", "overrides", "compiler", "random"]


@pytest.fixture(autouse=True)
def _as_before(monkeypatch):
    monkeypatch.setattr(_missing, "asked", [])
    monkeypatch.setattr(_missing, "language", None)


@pytest.mark.parametrize(
    ("what", "call"),
    [
        ("torch.fft", lambda: page_torch.fft),
        ("torch.nn.BatchNorm1d", lambda: page_torch.nn.BatchNorm1d),
        ("torch.nn.functional.grid_sample", lambda: page_torch.nn.functional.grid_sample),
        ("torch.linalg.svd", lambda: page_torch.linalg.svd),
        ("torch.Tensor.digamma", lambda: page_torch.ones(2).digamma),
        ("torch.Tensor.digamma", lambda: page_torch.Tensor.digamma),
        ("torch.Tensor.numpy", lambda: page_torch.ones(2).numpy()),
        ("torch.nn.Conv1d", lambda: page_torch.nn.Conv1d(1, 1, 1)),
        ("torch.device('cuda')", lambda: page_torch.ones(2, device="cuda")),
        ("torch.Tensor.view(torch.int32)", lambda: page_torch.ones(2).view(page_torch.int32)),
        (
            "torch.nn.functional.pad(mode='reflect')",
            lambda: page_torch.nn.functional.pad(page_torch.ones(2), (1, 1), mode="reflect"),
        ),
    ],
)
def test_what_only_pytorch_has_is_named_with_the_way_to_the_notebook(what, call):
    with pytest.raises(page_torch.MissingInPage) as caught:
        call()
    assert caught.value.what == what
    assert "笔记本" in caught.value.zh
    assert "notebook" in caught.value.en
    assert all(what in text for text in (caught.value.zh, caught.value.en))
    assert _missing.asked == [what]


@pytest.mark.parametrize(
    "module", ["distributions", "utils.data", "optim.lr_scheduler", "nn.utils.rnn", "fft"]
)
def test_a_module_that_only_pytorch_has_is_named_where_it_is_imported(module):
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(f"page_torch.{module}")
    assert isinstance(caught.value, _missing.ModuleMissingInPage)
    assert caught.value.what == f"torch.{module}"
    assert "笔记本" in str(caught.value)
    assert "notebook" in str(caught.value)
    assert _missing.asked == [f"torch.{module}"]


@pytest.mark.parametrize("module", ["distribution", "utils.dat", "nn.functionl"])
def test_a_module_that_nobody_has_is_a_typing_error(module):
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(f"page_torch.{module}")
    assert not isinstance(caught.value, _missing.ModuleMissingInPage)


@pytest.mark.parametrize("space", SPACES)
def test_a_typing_error_is_no_missing_part(space):
    module = page_torch
    for name in space.split(".") if space else []:
        module = getattr(module, name)
    with pytest.raises(AttributeError, match="sofmax") as caught:
        _ = module.sofmax
    assert not isinstance(caught.value, page_torch.MissingInPage)
    with pytest.raises(AttributeError, match="no attribute 'sofmax'"):
        page_torch.ones(2).sofmax()
    assert _missing.asked == []


def test_the_error_speaks_the_language_of_the_page(monkeypatch):
    error = _missing.missing("torch.fft")
    assert str(error) == f"{error.en} {error.zh}"
    for language in ("zh", "en"):
        monkeypatch.setattr(_missing, "language", language)
        error = _missing.missing("torch.fft")
        assert str(error) == getattr(error, language)


@pytest.mark.parametrize("space", ["Tensor", *SPACES])
def test_pytorch_has_what_the_page_has(space):
    ours, theirs = page_torch, torch
    for name in space.split(".") if space else []:
        ours, theirs = getattr(ours, name), getattr(theirs, name)
    home = f"page_torch.{space}" if space not in ("", "Tensor") else "page_torch"
    own = [
        name
        for name, value in vars(ours).items()
        if name[0] != "_" and str(getattr(value, "__module__", "")).startswith(home)
    ]
    extra = {"MissingInPage", "bool_", "only_named"}
    assert [name for name in own if not hasattr(theirs, name) and name not in extra] == []


def test_a_random_number_is_pytorchs():
    for library in (torch, page_torch):
        library.manual_seed(7)
    for draw in (
        lambda library: library.rand(5),
        lambda library: library.randn(3),
        lambda library: library.randn(2, 20),
        lambda library: library.randn(5, dtype=library.float64),
        lambda library: library.randint(-3, 9, (6,)),
        lambda library: library.randperm(7),
        lambda library: library.rand(3, generator=library.Generator().manual_seed(1)),
    ):
        theirs, ours = draw(torch).tolist(), draw(page_torch).tolist()
        assert all(
            math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6)
            for a, b in zip(_flat(theirs), _flat(ours), strict=True)
        )


def _flat(numbers):
    if not isinstance(numbers, list):
        return [numbers]
    return [each for inner in numbers for each in _flat(inner)]
