"""While tests run, every function refuses tensors that it does not declare (conftest.py)."""

import importlib.util
import pkgutil

import pytest
import torch
from jaxtyping import TypeCheckError

import attention_book
from attention_book.attention import merge_heads


def test_every_module_but_the_grammars_is_checked() -> None:
    modules = pkgutil.walk_packages(attention_book.__path__, "attention_book.")
    specs = [importlib.util.find_spec(module.name) for module in modules]
    unchecked = {
        spec.name
        for spec in specs
        if spec and type(spec.loader).__module__ != "jaxtyping._import_hook"
    }
    grammar = "attention_book.text.grammar"
    assert grammar in unchecked
    others = {name for name in unchecked if not name.startswith(grammar)}
    assert others == {"attention_book.text", "attention_book.pytest_plugin"}  # without tensors


def test_a_shape_that_is_not_declared_is_refused() -> None:
    with pytest.raises(TypeCheckError, match="merge_heads"):
        merge_heads(torch.ones(2, 3))
