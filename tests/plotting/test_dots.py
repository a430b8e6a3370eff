import pytest
import torch

from attention_book.plotting import dots


def test_every_draw_is_a_dot_and_their_mean_a_stroke():
    values = torch.tensor([[-0.5, -0.25, 0.0], [1.0, 3.0, 2.0]])
    axes = dots(["旋转", "GQA"], values, xlabel="difference")
    zero, *lines = axes.lines
    assert set(zero.get_xdata()) == {0}
    means, rows = lines[::2], lines[1::2]
    assert [line.get_xdata().tolist() for line in rows] == values.tolist()
    assert [set(line.get_ydata()) for line in rows] == [{0}, {1}]
    assert [set(line.get_xdata()) for line in means] == [{-0.25}, {2.0}]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["旋转", "GQA"]
    assert axes.yaxis_inverted()
    assert axes.get_xlabel() == "difference"


def test_axes_of_the_caller_are_drawn_into():
    axes = dots(["a"], [[1.0]])
    assert dots(["b"], [[2.0]], ax=axes) is axes


@pytest.mark.parametrize(
    ("labels", "values", "message"),
    [
        (["a"], [[1.0], [2.0]], "labels must name 2 rows, got 1"),
        (["a"], [1.0], r"values must have axes \(label draw\)"),
        ([], torch.zeros(0, 3), "values is empty"),
    ],
)
def test_bad_input_gets_one_clear_error(labels, values, message):
    with pytest.raises(ValueError, match=message):
        dots(labels, values)
