"""The style: what it sets, whatever letters a label has, and the numbers that a plot accepts.

Whatever letters a label has, the figure shows them: laws on pixels.

The kind: letters that the book's own font lacks become boxes, the same for every letter:
traditional Chinese, Japanese, Korean, Hebrew and Arabic, combining marks, emoji. So two words that
differ must differ in their pixels.
"""

import json
import os
import re
import subprocess
import sys
import warnings
from itertools import chain
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from fontTools.ttLib import TTFont
from matplotlib import font_manager, ft2font

from attention_book.foundations import visible_label
from attention_book.foundations.bilingual import L
from attention_book.plotting import bars, curves, heatmap, heatmaps, style
from attention_book.plotting.curves import svg_of_curves
from attention_book.plotting.style import FONT_FAMILY, as_array, in_cell

# --- style -------------------------------------------------------------------------------------


DARK_PAGE = "#14181e"
ROOT = Path(__file__).parents[2]
CALL = re.compile(r"""\bL\(\s*f?(["'])(.*?)\1\s*,\s*f?(["'])(.*?)\3""", re.S)

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


def test_the_font_has_every_character_of_every_label_in_the_book():
    sources = chain(ROOT.glob("book/*.md"), ROOT.glob("src/**/*.py"))
    used = {
        (character, path.name)
        for path in sources
        for match in CALL.finditer(path.read_text(encoding="utf8"))
        for character in match[2] + match[4]
    }
    font = TTFont(ROOT / "src/attention_book/plotting/fonts" / style.FONT_FILE)
    assert used, "no label found: does the pattern still fit the calls?"
    assert {place for place in used if ord(place[0]) not in font.getBestCmap()} == set()


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


# --- letters -----------------------------------------------------------------------------------


NOWHERE = "\U00013000"  # a hieroglyph
SHAPES = hasattr(ft2font, "__libraqm_version__")


@pytest.fixture(autouse=True)
def _untold(monkeypatch):
    monkeypatch.setattr(style, "_told", set())


def ink(text, family):
    """The pixels of a text in these fonts."""
    figure = plt.figure(figsize=(3, 0.5), dpi=100)
    figure.text(0.05, 0.3, text, family=family, size=14)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., 0] < 128


def skip_without_a_font(text):
    fonts = {*font_manager.findSystemFonts(), *(f.fname for f in font_manager.fontManager.ttflist)}
    fonts = {path for path in fonts if "LastResort" not in path}
    for letter in filter(style._has_ink, text):
        if not any(style._has(path, letter) for path in fonts):
            pytest.skip(f"no font here has {letter}")


def family_of(axes):
    return axes.get_xticklabels()[0].get_fontfamily()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("歡迎", "饕餮"),  # traditional
        ("龘", "靐"),  # rare
        ("안녕", "세계"),
        ("こん", "にち"),
        ("カナ", "ワヨ"),
        ("שלום", "עולם"),
        ("كتاب", "جميل"),
        ("नम", "सत"),
        ("ไทย", "ดีก"),
        ("e\u0301", "e\u0308"),
        ("Ġ", "ħ"),
        ("😀", "😉"),
        ("␣a", "↵a"),
        ("ә", "ө"),
    ],
)
def test_letters_are_no_boxes(one, other):
    skip_without_a_font(one + other)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        axes = heatmap(np.eye(2), keys=[one, other], queries=[other, one], title=one, xlabel=other)
        axes.figure.canvas.draw()
    family = family_of(axes)
    assert family[: len(FONT_FAMILY)] == [*FONT_FAMILY], "ours come first"
    assert (ink(one, family) != ink(other, family)).any()
    assert ink(one, family).any()
    for text in (axes.title, axes.xaxis.label, axes.get_yticklabels()[0]):
        assert text.get_fontfamily() == family


def test_each_figure_has_the_fonts_of_its_letters():
    word = "歡迎"
    skip_without_a_font(word)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for axes in (
            heatmaps(np.zeros((1, 1, 2, 2)), titles=[word])[0, 0].title,
            heatmaps(np.zeros((1, 1, 2, 2)), xlabel=word)[0, 0].xaxis.label,
            curves([1, 2], {word: [1, 2]}).get_legend().get_texts()[0],
            curves([1, 2], {"a": [1, 2]}, ylabel=word).yaxis.label,
            bars([word, "b"], [1, 2]).get_xticklabels()[0],
            bars([word, "b"], [1, 2], horizontal=True).get_yticklabels()[0],
        ):
            assert len(axes.get_fontfamily()) > len(FONT_FAMILY)
            axes.figure.canvas.draw()
        svg_of_curves({word: [(1, 2)]}, xlabel="x", ylabel="y")


def test_common_letters_need_no_font_of_the_system():
    axes = heatmap(np.eye(2), keys=["我", "book"], queries=["é", "▁"], title="权重 α → β")
    assert family_of(axes) == [*FONT_FAMILY]


def test_what_no_font_has_is_named_once_and_with_a_cure(monkeypatch):
    monkeypatch.setattr(style, "_of_the_system", lambda: iter(()))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(2):
            heatmap(np.eye(2), keys=[NOWHERE, "歡"], queries=["नम", "a"]).figure.canvas.draw()
    ours = [str(each.message) for each in told if "no font of this system" in str(each.message)]
    assert len(ours) == 1
    assert "(U+13000 EGYPTIAN HIEROGLYPH A001)" in ours[0]
    assert "the Noto family for CJK, Devanagari, Egyptian" in ours[0]
    if SHAPES:  # its font of last resort names the script, so that nothing more need be said
        assert len(told) == len(ours)


def test_a_letter_for_private_use_is_no_sign_of_another_font(monkeypatch):
    """The kind: a code that each font gives another sign; one of them was drawn, without a word."""
    monkeypatch.setattr(style, "_told", set())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        axes = heatmap(np.eye(2), keys=["\ue123", "a"], queries=["b", "\U000f0001"])
        axes.figure.canvas.draw()
    assert "STIXNonUnicode" not in family_of(axes)
    [ours] = [str(each.message) for each in told if "private use" in str(each.message)]
    assert "U+E123, U+F0001" in ours
    if SHAPES:
        assert len(told) == 1


def test_a_font_that_was_installed_later_is_found(monkeypatch):
    """Matplotlib's list is made once and kept; what came later stands in none of its entries."""
    word = "歡迎"
    skip_without_a_font(word)
    lacking = [
        entry for entry in font_manager.fontManager.ttflist if not style._has(entry.fname, word[0])
    ]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", lacking)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        heatmap(np.eye(2), keys=[word, "a"]).figure.canvas.draw()


def test_the_books_figures_do_not_depend_on_the_machine(monkeypatch):
    monkeypatch.setenv("ATTENTION_BOOK_BUILD", "1")
    assert style.families(FONT_FAMILY, ["歡迎"]) == [*FONT_FAMILY]


def cropped(text):
    """The ink of a text, from its first column to its last."""
    found = ink(text, [*FONT_FAMILY])
    (there,) = found.any(axis=0).nonzero()
    return found[:, there[0] : there[-1] + 1]


def likeness(one, other):
    """The part of the ink that two pictures share, if one may be moved by a pixel."""
    moved = [np.roll(other, shift, axis=1) for shift in (-1, 0, 1)]
    return max((one & each).sum() / (one | each).sum() for each in moved)


@pytest.mark.skipif(not SHAPES, reason="this Matplotlib shapes no letters")
@pytest.mark.parametrize("text", ["שלום עולם יפה", "هذا كتاب جميل", "כל ספר"])
def test_whole_sentences_run_from_right_to_left(text):
    first, whole = cropped(text.split()[0]), cropped(text)
    width = first.shape[1]
    at_right, at_left = whole[:, -width:], whole[:, :width]
    assert likeness(at_right, first) > 0.7 > likeness(at_left, first)


def test_a_map_with_right_to_left_keys_runs_so():
    keys = ["הספר", "הזה", "יפה"]
    weights = np.array([[1.0, 0, 0], [0.2, 0.8, 0], [0.1, 0.2, 0.7]])
    axes = heatmap(weights, queries=keys, keys=keys, annotate=True)
    axes.figure.canvas.draw()
    places = [label.get_window_extent().x0 for label in axes.get_xticklabels()]
    assert places == sorted(places, reverse=True)
    first = min(axes.texts, key=lambda text: -text.get_window_extent().x0 - text.get_position()[1])
    assert axes.get_yticklabels()[0].get_window_extent().x0 > first.get_window_extent().x1
    np.testing.assert_array_equal(np.asarray(axes.images[0].get_array()), weights)
    sizes = {text.get_fontsize() for text in axes.texts}
    assert sizes == {9}, "numbers keep their size"


@pytest.mark.parametrize(
    ("tokens", "labels"),
    [
        (["the", "Ġcat", "Ġthe"], ["the", "␣cat", "␣the"]),
        (["å", "ľ¨", "Ċ"], ["在(1/2)", "在(2/2)", "↵"]),
        (["▁the", "cat", "▁"], ["␣the", "cat", "␣"]),
        (["a\ud800", "\u200b", "\u0301"], ["a\ufffd", "<U+200B>", "◌\u0301"]),
        (np.array(["a", "b", "c"]), ["a", "b", "c"]),
        (["Ġorġ", "u", "jien"], ["Ġorġ", "u", "jien"]),
    ],
)
def test_labels_are_what_people_read(tokens, labels):
    axes = heatmap(np.eye(3), queries=tokens, keys=tokens)
    axes.figure.canvas.draw()
    for ticks in (axes.get_xticklabels(), axes.get_yticklabels()):
        assert [tick.get_text() for tick in ticks] == labels
    assert all(visible_label(label) == label for label in labels)


# --- numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_tensors_of_every_precision_keep_their_values(dtype):
    given = torch.tensor([0.5, -0.25, 3.0], dtype=dtype, requires_grad=True)
    assert as_array(given, "x", axes="point").tolist() == [0.5, -0.25, 3.0]


def test_no_cell_shows_a_negative_zero():
    written = [in_cell(value) for value in (-0.0, -0.004, -0.006, 0.004, -1.0)]
    assert written == ["0.00", "0.00", "-0.01", "0.00", "-1.00"]


def test_booleans_become_zeros_and_ones():
    assert as_array(torch.tensor([True, False]), "x", axes="point").tolist() == [1.0, 0.0]


@pytest.mark.parametrize("given", [torch.ones(3, dtype=torch.float64), np.ones(3)])
def test_the_callers_numbers_are_copied(given):
    as_array(given, "x", axes="point")[0] = 7.0
    assert given[0] == 1.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (torch.zeros(2, 3, 5), r"matrix must have axes \(query key\), got shape \(2, 3, 5\)"),
        (torch.zeros(0, 3), r"matrix is empty: shape \(0, 3\)"),
        ([[1.0], [1.0, 2.0]], r"matrix must be numbers with axes \(query key\)"),
        ([["a"]], r"matrix must be numbers with axes \(query key\)"),
    ],
)
def test_wrong_numbers_get_one_clear_error(given, message):
    with pytest.raises(ValueError, match=message):
        as_array(given, "matrix", axes="query key")


def test_double_precision_is_kept():
    third = torch.tensor([1 / 3], dtype=torch.float64)
    assert as_array(third, "x", axes="point")[0] == 1 / 3
