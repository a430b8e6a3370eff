"""The examples in the extensions' docstrings, which pytest does not collect."""

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["website.slimming.slim_styles"])
def test_examples_are_true(name):
    result = doctest.testmod(import_module(name))
    assert result.attempted
    assert not result.failed
