"""What the tests of corpora may ask for."""

from functools import partial

import pytest

from attention_book.runs.corpora import lines
from attention_book.text import grammar_corpus


@pytest.fixture(autouse=True)
def few_sentences(monkeypatch):
    """Draw few sentences of the grammar, for they take their time."""
    monkeypatch.setattr(lines, "grammar_corpus", partial(grammar_corpus, num_test=20))
