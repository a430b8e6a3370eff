from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from attention_book.foundations import L
from attention_book.plotting import heatmap, heatmaps
from attention_book.plotting.heatmaps import BAR, LABELS
from attention_book.plotting.ramp import weight_color
from attention_book.plotting.style import (
    DARK_TEXT,
    INK,
    LIGHT_TEXT,
    MAX_WIDTH,
    ON_HIGH_WEIGHT,
    ON_LOW_WEIGHT,
    TICK_SIZE,
)


def color_bars(figure):
    return [axes for axes in figure.axes if axes.get_label() == "<colorbar>"]


def drawn(axes):
    return np.asarray(axes.images[0].get_array())


def texts(labels):
    return [label.get_text() for label in labels]


def test_each_panel_holds_its_matrix():
    matrices = torch.rand(2, 3, 5, 7)
    axes = heatmaps(matrices)
    assert axes.shape == (2, 3)
    for place in np.ndindex(2, 3):
        np.testing.assert_array_equal(drawn(axes[place]), matrices[place].double())


@given(low=st.floats(-3, 0), high=st.floats(0.1, 3))
def test_all_panels_share_one_scale_and_one_color_bar(low, high):
    matrices = torch.zeros(1, 2, 2, 3)
    matrices[0, 0, 0, 0], matrices[0, 1, 1, 2] = low, high
    axes = heatmaps(matrices)
    scales = {panel.images[0].get_clim() for panel in axes.flat}
    assert scales == {(matrices.min().item(), matrices.max().item())}
    assert axes[0, 0].images[0].norm is axes[0, 1].images[0].norm
    assert len(color_bars(axes[0, 0].figure)) == 1
    plt.close("all")


def test_the_scale_of_weights_starts_at_zero_and_ends_can_be_chosen():
    uniform = torch.full((1, 1, 2, 4), 0.25)
    assert heatmaps(uniform)[0, 0].images[0].get_clim() == (0.0, 0.25)
    assert heatmaps(uniform, vmin=-1.0, vmax=1.0)[0, 0].images[0].get_clim() == (-1, 1)


def test_hidden_scores_do_not_stretch_the_scale():
    scores = torch.tensor([[0.5, -torch.inf], [2.0, torch.nan]])
    assert heatmap(scores).images[0].get_clim() == (0.0, 2.0)
    plt.gcf().canvas.draw()


def test_a_matrix_of_zeros_can_be_drawn():
    heatmap(torch.zeros(2, 2))
    plt.gcf().canvas.draw()


@pytest.mark.parametrize(
    "matrix",
    [
        torch.eye(3, requires_grad=True),
        torch.eye(3, dtype=torch.bfloat16),
        torch.eye(3, dtype=torch.bool),
        np.eye(3),
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    ],
)
def test_any_kind_of_numbers_will_do(matrix):
    np.testing.assert_array_equal(drawn(heatmap(matrix)), np.eye(3))


def test_names_stand_at_the_outer_panels_only():
    axes = heatmaps(torch.rand(2, 2, 3, 3), xlabel="keys", ylabel="queries", titles=["A", "B"])
    assert [panel.get_title() for panel in axes.flat] == ["A", "B", "", ""]
    assert [panel.get_xlabel() for panel in axes.flat] == ["", "", "keys", "keys"]
    assert [panel.get_ylabel() for panel in axes.flat] == ["queries", "", "queries", ""]


def test_every_panel_may_have_a_title_of_its_own():
    axes = heatmaps(torch.rand(2, 2, 3, 3), titles=list("ABCD"))
    assert [panel.get_title() for panel in axes.flat] == list("ABCD")


@pytest.mark.parametrize("columns", [1, 2, 4, 8])
def test_by_default_no_figure_is_wider_than_a_page(columns):
    axes = heatmaps(torch.rand(1, columns, 3, 3))
    assert axes[0, 0].figure.get_figwidth() <= MAX_WIDTH + 1e-9


def test_tokens_label_rows_and_columns():
    axes = heatmap(torch.rand(2, 3), queries=["I", "sleep"], keys=["我", "睡", "$"])
    assert texts(axes.get_yticklabels()) == ["I", "sleep"]
    assert texts(axes.get_xticklabels()) == ["我", "睡", "$"]
    plt.gcf().canvas.draw()


@pytest.mark.parametrize(
    ("keys", "angle"), [(["我", "睡"], 0), (["internationalization", "是"], 45)]
)
def test_only_long_tokens_are_slanted(keys, angle):
    axes = heatmap(torch.rand(2, 2), keys=keys, xlabel="keys")
    assert {label.get_rotation() for label in axes.get_xticklabels()} == {angle}
    assert axes.xaxis.get_label_position() == ("top" if angle else "bottom"), (
        "slanted tokens in two languages leave a gap below them"
    )


def test_a_token_that_fits_its_column_in_both_languages_stays_level():
    keys = ["2", "12", "19", "36", L("平均", "mean")]
    axes = heatmap(torch.rand(6, 5), keys=keys, size=(4.4, 3.2))
    assert {label.get_rotation() for label in axes.get_xticklabels()} == {0}


@pytest.mark.parametrize("columns", [1, 3, 5])
def test_panels_of_a_wished_size_keep_their_shape_and_fit_a_page(columns):
    sizes = []
    for size in ((0.3, 0.4), (3.0, 4.0)):
        heatmaps(torch.rand(1, columns, 2, 2), size=size)
        width, height = plt.gcf().get_size_inches()
        sizes.append((width, width - BAR, height - LABELS))
    for width, panels, height in sizes:
        assert width <= MAX_WIDTH + 1e-9
        assert height / (panels / columns) == pytest.approx(4 / 3)
    assert sizes[0][1] == pytest.approx(0.3 * columns), "what fits stays as it was wished"


@pytest.mark.parametrize(("size", "most"), [((0.9, 0.9), 4), ((2.0, 2.0), 6)])
def test_a_narrow_panel_has_fewer_ticks(size, most):
    panel = heatmaps(torch.rand(1, 1, 24, 24), size=size)[0, 0]
    inside = [tick for tick in panel.get_xticks() if 0 <= tick < 24]
    assert most - 2 < len(inside) <= most


def test_values_are_as_large_as_the_ticks_and_zero_has_no_sign():
    axes = heatmap([[-0.001, 1.0]], annotate=True)
    assert [text.get_text() for text in axes.texts] == ["0.00", "1.00"]
    assert {text.get_fontsize() for text in axes.texts} == {TICK_SIZE}


def contrast(color, ground):
    def light(each):
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            for part in to_rgb(each)
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05

    return max(light(color), light(ground)) / min(light(color), light(ground))


def test_numbers_stand_out_on_every_weight_in_both_modes():
    weights = np.linspace(0, 1, 60).reshape(6, 10)
    axes = heatmap(weights, annotate=True)
    # What the site makes of the two inks that follow the mode.
    dark = {ON_LOW_WEIGHT: "#ffffff", ON_HIGH_WEIGHT: "#000000"}
    for weight, text in zip(weights.flat, axes.texts, strict=True):
        ink = text.get_color()
        assert contrast(ink, weight_color(weight)) >= 4.5
        assert contrast(dark.get(ink, ink), weight_color(weight, dark=True)) >= 4.5


@pytest.mark.parametrize("cmap", ["Greys", "Blues", "RdBu_r"])
def test_numbers_stand_out_on_other_colors(cmap):
    axes = heatmap(np.linspace(0, 1, 60).reshape(6, 10), annotate=True, cmap=cmap)
    for value, text in zip(np.linspace(0, 1, 60), axes.texts, strict=True):
        assert text.get_color() in (DARK_TEXT, LIGHT_TEXT)
        assert contrast(text.get_color(), axes.images[0].to_rgba(value)[:3]) >= 4.5


def test_where_there_is_no_color_the_ink_is_that_of_the_page():
    axes = heatmap([[-np.inf, np.nan, 1.0]], annotate=True)
    assert [(text.get_text(), text.get_color()) for text in axes.texts] == [
        ("-inf", ON_LOW_WEIGHT),
        ("nan", INK),
        ("1.00", ON_HIGH_WEIGHT),
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: heatmaps(torch.rand(3, 3)), r"matrices must have axes .*got shape \(3, 3\)"),
        (lambda: heatmap(torch.rand(1, 3, 3)), r"matrix must have axes .*got shape \(1, 3, 3\)"),
        (lambda: heatmap(torch.rand(2, 3), keys=["a"]), r"keys must be 3 tokens .*got 1"),
        (lambda: heatmap(torch.rand(2, 3), queries=["a"]), r"queries must be 2 tokens .*got 1"),
        (lambda: heatmap(torch.eye(2), vmin=2.0, vmax=1.0), r"vmax must be at least 2, .* got 1"),
        (lambda: heatmap(torch.eye(2), vmax=-1.0), r"vmax must be at least 0, .* got -1"),
        (
            lambda: heatmaps(torch.rand(2, 3, 2, 2), titles=["a", "b"]),
            r"titles must be 3 .* or 6 .*got 2",
        ),
    ],
)
def test_wrong_input_gets_one_clear_error_and_leaves_no_figure(call, message):
    with pytest.raises(ValueError, match=message):
        call()
    assert plt.get_fignums() == []


@pytest.mark.parametrize(("height", "aspect"), [(3, 1.0), (30, "auto")])
def test_cells_too_narrow_for_their_numbers_are_not_square(height, aspect):
    axes = heatmap(torch.rand(height, 3), annotate=True, size=(3.0, 3.0))
    assert axes.get_aspect() == aspect
    axes.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts[:3]]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_numbers_get_smaller_before_they_touch():
    axes = heatmap(torch.rand(9, 9), annotate=True, size=(2.0, 3.0))
    axes.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts[:9]]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
