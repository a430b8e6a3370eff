"""Figures are drawn without a screen and closed, and labels speak both languages again."""

import matplotlib
import matplotlib.pyplot as plt
import pytest

from attention_book.inspection.labels import set_language

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def _tidy():
    yield
    plt.close("all")
    set_language(None)
