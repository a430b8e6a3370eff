import json
import os
import re
import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from matplotlib import font_manager

from attention_book.foundations.bilingual import L
from attention_book.plotting import style
from attention_book.plotting.heatmaps import heatmap

DARK_PAGE = "#14181e"

DRAW = """
import matplotlib, sys, torch
matplotlib.use("agg")
import matplotlib.pyplot as plt
from attention_book.foundations import L
from attention_book.plotting import curves, heatmap
from attention_book.plotting.style import SAVE_METADATA, use_style
use_style(transparent=True)
heatmap(torch.eye(3), keys=["我", "爱", "你"], title=L("权重", "Weights"), annotate=True)
plt.savefig(sys.argv[1] + "-map.svg", metadata=SAVE_METADATA)
curves(range(20), {L("损失", "loss"): range(20), "Adam": range(1, 21)}, logy=True)
plt.savefig(sys.argv[1] + "-curves.svg", metadata=SAVE_METADATA)
"""


def draw(target, **environment):
    """Draw two figures in a fresh Python; return its messages and the two files."""
    process = subprocess.run(
        [sys.executable, "-c", DRAW, str(target)],
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    files = [target.with_name(f"{target.name}-{kind}.svg") for kind in ("map", "curves")]
    return process.stdout + process.stderr, [file.read_bytes() for file in files]


def luminance(color):
    """Relative luminance as the accessibility guidelines (WCAG 2.2) define it."""
    channels = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in mpl.colors.to_rgb(color)
    ]
    return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]


def contrast(one, other):
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("color", style.LINE_COLORS)
@pytest.mark.parametrize("page", ["#ffffff", DARK_PAGE])
def test_every_line_can_be_seen_on_both_pages(color, page):
    assert contrast(color, page) >= 3


def test_no_two_lines_share_a_color_or_a_dash():
    assert len(set(style.LINE_COLORS)) == len(style.LINE_COLORS)
    assert len(set(style.LINE_DASHES)) == len(style.LINE_DASHES)


def test_text_on_cells_never_follows_the_page():
    assert {style.DARK_TEXT, style.LIGHT_TEXT}.isdisjoint({style.INK, style.PAPER})


def test_the_books_own_font_is_found_first():
    assert font_manager.findfont("Noto Sans SC").endswith(style.FONT_FILE)


def test_a_character_outside_the_font_is_reported():
    with style.book_style():
        plt.figure().text(0, 0, "霾")
    with pytest.warns(UserWarning, match="missing from font"):
        plt.gcf().canvas.draw()


def test_drawing_leaves_the_sessions_settings_alone():
    before = dict(mpl.rcParams)
    heatmap([[1.0, 0.0]])
    assert dict(mpl.rcParams) == before


def test_use_style_sets_them_and_transparency_is_a_choice():
    with mpl.rc_context():
        style.use_style()
        assert mpl.rcParams["font.family"] == list(style.FONT_FAMILY)
        assert mpl.rcParams["figure.facecolor"] == style.PAPER
        style.use_style(transparent=True)
        assert mpl.rcParams["figure.facecolor"] == "none"


def test_two_runs_write_the_same_bytes(tmp_path):
    first = draw(tmp_path / "first", PYTHONHASHSEED="1")
    second = draw(tmp_path / "second", PYTHONHASHSEED="2")
    assert first == second
    messages, (weights, _) = first
    assert messages == ""
    svg = weights.decode("utf8")
    assert f">{L('权重', 'Weights')}</text>" in svg, "text must stay text, in one element"
    assert not re.search(r"<dc:date>", svg)


def test_a_stale_font_cache_changes_nothing(tmp_path):
    """The cache names a Noto Sans SC that has been removed; nobody asks for it."""
    stale = font_manager.FontManager.__new__(font_manager.FontManager)
    stale.__dict__.update(font_manager.fontManager.__dict__)
    gone = font_manager.FontEntry(
        fname="/nowhere/NotoSansSC.otf", name="Noto Sans SC", weight=400, size="scalable"
    )
    own = font_manager.fontManager.ttflist
    stale.ttflist = [gone, *(entry for entry in own if style.FONT_FILE not in entry.fname)]
    config = tmp_path / "config"
    config.mkdir()
    cache = config / f"fontlist-v{font_manager.FontManager.__version__}.json"
    font_manager.json_dump(stale, cache)
    assert "/nowhere/" in json.dumps(json.loads(cache.read_text()))
    messages, files = draw(tmp_path / "stale", MPLCONFIGDIR=str(config))
    assert messages == ""
    assert files == draw(tmp_path / "fresh")[1]
