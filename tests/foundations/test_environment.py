"""A library that is not installed is named, with what installs it; other errors pass unchanged."""

from pathlib import Path

import pytest

from attention_book.foundations.environment import from_extra


def test_a_missing_library_names_the_extra() -> None:
    message = r'nowhere: expected it installed, got none; pip install "attention-book\[plot\] @ git'
    with pytest.raises(ImportError, match=message) as caught, from_extra("plot", "nowhere"):
        import nowhere_to_be_found  # noqa: F401
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_other_errors_pass() -> None:
    with pytest.raises(KeyError), from_extra("plot", "matplotlib"):
        raise KeyError("something else")


def test_the_advice_names_what_the_readme_installs_from() -> None:
    """The name is on no index: what an error says to type must be what the README says to type."""
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    for extra in ("all", "command"):
        with pytest.raises(ImportError) as caught, from_extra(extra, "nowhere"):
            import nowhere_to_be_found  # noqa: F401
        assert str(caught.value).partition("; ")[2] in readme
