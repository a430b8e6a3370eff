"""Curves and bars show the numbers that they were given."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from attention_book.foundations import L
from attention_book.plotting import bars, curves, regression
from attention_book.plotting.style import INK, LINE_COLORS, PAPER

# --- curves ------------------------------------------------------------------------------------


@pytest.fixture
def data():
    return SimpleNamespace(
        x_train=torch.rand(11),
        y_train=torch.rand(11),
        x_test=torch.arange(0, 5, 0.1),
        y_true=torch.arange(0, 5, 0.1).sin(),
    )


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_curves_hold_what_was_given():
    x = torch.linspace(0, 1, 17)
    axes = curves(x, {"a": x**2, "b": (x + 1).requires_grad_()}, xlabel="x", ylabel="y", title="t")
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), (x**2).double())
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), (x + 1).double())
    assert legend(axes) == ["a", "b"]
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == ("x", "y", "t")


def test_curves_differ_in_color_and_in_dashes():
    axes = curves([0, 1], {str(i): [i, i] for i in range(6)})
    assert len({line.get_color() for line in axes.lines}) == 6
    # The drawn pattern: a name such as "--" would hide two equal patterns.
    assert len({str(line._dash_pattern) for line in axes.lines}) == 6


def test_few_points_are_marked_and_many_are_not():
    assert curves(range(5), {"a": range(5)}).lines[0].get_marker() == "o"
    assert curves(range(50), {"a": range(50)}).lines[0].get_marker() == ""


def test_an_empty_label_keeps_the_legend_away():
    assert curves([0, 1], {"": [0, 1]}).get_legend() is None


def test_a_legend_above_lies_over_no_curve():
    axes = curves(range(9), {L("一", "a"): range(9), "b": range(9, 0, -1)}, legend="above")
    axes.figure.draw_without_rendering()
    assert axes.get_legend().get_window_extent().y0 >= axes.get_window_extent().y1 - 1
    assert axes.get_legend().get_window_extent().y1 <= axes.figure.bbox.y1


def test_scales_and_limits():
    axes = curves(
        [1, 10], {"a": [1, 10]}, logx=True, logy=True, xlim=(1.0, 10.0), ylim=(0.1, 100.0)
    )
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (axes.get_xlim(), axes.get_ylim()) == ((1, 10), (0.1, 100))


def test_one_limit_leaves_the_other_alone():
    axes = curves([0, 4], {"a": [0, 1]}, ylim=(0.0, 2.0))
    assert axes.get_xlim()[1] > 4


def test_given_axes_are_drawn_into_and_keep_their_names():
    _, mine = plt.subplots()
    mine.set_xlabel("mine")
    assert curves([0, 1], {"a": [0, 1]}, ax=mine) is mine
    assert mine.get_xlabel() == "mine"
    assert len(plt.get_fignums()) == 1


def test_a_regression_shows_points_truth_and_prediction(data):
    axes = regression(data, data.y_true * 2)
    points, truth, prediction = axes.lines
    assert points.get_marker() == "o"
    assert points.get_alpha() in (None, 1), "a faded point can't be seen on a dark page"
    assert points.get_markeredgecolor() == PAPER
    np.testing.assert_array_equal(points.get_xdata(), data.x_train.double())
    np.testing.assert_array_equal(points.get_ydata(), data.y_train.double())
    np.testing.assert_array_equal(truth.get_ydata(), data.y_true.double())
    np.testing.assert_array_equal(prediction.get_ydata(), (data.y_true * 2).double())
    assert (axes.get_xlim(), axes.get_ylim()) == ((0, 5), (-1, 5))


def test_predictions_differ_from_the_truth_and_from_each_other(data):
    axes = regression(data, {"a": data.y_true, "b": data.y_true})
    assert [line.get_color() for line in axes.lines] == [LINE_COLORS[0], INK, *LINE_COLORS[1:3]]
    assert legend(axes)[2:] == ["a", "b"]


@pytest.mark.parametrize("horizontal", [True, False])
def test_bars_are_as_long_as_their_values(horizontal):
    axes = bars(["点积", L("加性", "additive")], [0.5, 0.25], horizontal=horizontal, annotate=True)
    sizes = [bar.get_width() if horizontal else bar.get_height() for bar in axes.patches]
    assert sizes == [0.5, 0.25]
    assert [text.get_text() for text in axes.texts] == ["0.500", "0.250"]
    ticks = axes.get_yticklabels() if horizontal else axes.get_xticklabels()
    assert [tick.get_text() for tick in ticks] == ["点积", L("加性", "additive")]
    plt.gcf().canvas.draw()


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ([0.236, 0.0621, 0.0], ["0.236", "0.062", "0.000"]),
        ([95.24, 19.6], ["95.2", "19.6"]),
        ([121, 61], ["121", "61"]),
    ],
)
def test_all_bars_are_written_with_the_same_decimals(values, written):
    axes = bars(["a", "b", "c"][: len(values)], values, annotate=True)
    assert [text.get_text() for text in axes.texts] == written


@pytest.mark.parametrize(("x", "whole"), [([1, 2, 3, 4, 5], True), ([0.5, 1.5, 2.5], False)])
def test_over_whole_numbers_only_whole_numbers_are_ticks(x, whole):
    axes = curves(x, {"loss": x})
    assert all(tick == round(tick) for tick in axes.get_xticks()) == whole


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda data: curves([0, 1], {}), "lines must hold at least one curve"),
        (lambda data: curves([0, 1], {"a": [1]}), r"lines\['a'\] must have 2 points .*got 1"),
        (lambda data: curves([[0]], {"a": [1]}), r"x must have axes \(point\), got shape \(1, 1\)"),
        (lambda data: bars(["a"], [1, 2]), "labels must name 2 values, got 1"),
        (
            lambda data: regression(data, {"a": torch.ones(3)}),
            r"predictions\['a'\] must have 50 points like x_test, got 3",
        ),
    ],
)
def test_wrong_input_gets_one_clear_error_and_leaves_no_figure(data, call, message):
    with pytest.raises(ValueError, match=message):
        call(data)
    assert plt.get_fignums() == []


def test_a_logarithmic_axis_writes_numbers_out_where_none_is_long() -> None:
    def written(heights: list[float]) -> list[str]:
        axes = curves([1, 2, 3], {"loss": heights}, logy=True)
        axes.figure.canvas.draw()
        return [tick.get_text() for tick in axes.get_yticklabels(which="both") if tick.get_text()]

    assert {"0.1", "0.2", "0.5", "1", "2"} <= set(written([0.08, 0.4, 3]))
    assert {"0.1", "1", "10", "100"} <= set(written([0.05, 5, 500]))
    assert "2" not in written([0.05, 5, 500])
    assert all("10^" in label for label in written([1e-7, 1, 100]))
