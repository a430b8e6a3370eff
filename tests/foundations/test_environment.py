"""A library that is not installed is named, with what installs it; other errors pass unchanged."""

import pytest

from attention_book.foundations.environment import from_extra


def test_a_missing_library_names_the_extra() -> None:
    message = r'nowhere: expected it installed, got none; pip install "attention-book\[plot\]"'
    with pytest.raises(ImportError, match=message) as caught, from_extra("plot", "nowhere"):
        import nowhere_to_be_found  # noqa: F401
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_other_errors_pass() -> None:
    with pytest.raises(KeyError), from_extra("plot", "matplotlib"):
        raise KeyError("something else")
