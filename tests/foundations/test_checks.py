"""Every check lets good tensors through and names what is wrong with bad ones."""

import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

from attention_book.attention import DotScore
from attention_book.foundations import checks, is_strict, strict
from attention_book.foundations.checks import check_sizes, check_whole


def test_good_tensors_pass():
    queries, keys, values = torch.rand(2, 3, 7), torch.rand(2, 5, 7), torch.rand(2, 5, 11)
    checks.check_queries_keys(queries, keys)
    checks.check_same_features(queries, keys)
    checks.check_features("queries", queries, 7)
    checks.check_values(keys, values)
    checks.check_boolean("mask", torch.ones(3, 5, dtype=torch.bool), "may attend")
    checks.check_positive("bandwidth", 0.5)
    checks.check_probability("dropout", 0.0)
    checks.check_probability("dropout", 1.0)
    checks.check_feature_sizes(queries, keys, 7, 7)
    checks.check_sizes(d_q=1, d_k=7)
    checks.check_radius(1, smallest=1)
    checks.check_score(DotScore())
    checks.check_score(lambda queries, keys: queries @ keys.mT)


@pytest.mark.parametrize(
    ("queries", "keys", "message"),
    [
        ((7,), (5, 7), r"expected the axes .* \(7,\) and \(5, 7\)"),
        ((3, 7), (7,), r"expected the axes .* \(3, 7\) and \(7,\)"),
        ((2, 3, 7), (3, 5, 7), r"same leading .* \(2, 3, 7\) and \(3, 5, 7\)"),
        ((3, 7), (1, 5, 7), r"same leading .* \(3, 7\) and \(1, 5, 7\)"),
        ((2, 3, 7), (2, 0, 7), r"keys: expected at least one key, got the shape \(2, 0, 7\)"),
    ],
)
def test_queries_and_keys_that_do_not_fit(queries, keys, message):
    with pytest.raises(ValueError, match=message):
        checks.check_queries_keys(torch.rand(queries), torch.rand(keys))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("queries", "keys", "message"),
    [
        (torch.ones(3, 7).long(), torch.rand(5, 7), "got torch.int64 and torch.float32"),
        (torch.rand(3, 7), torch.ones(5, 7).cfloat(), "got torch.float32 and torch.complex64"),
        ([[1.0]], [[2.0]], "got list and list"),
        (torch.rand(3, 7), None, "got torch.float32 and NoneType"),
    ],
)
def test_only_floating_point_tensors_are_compared(queries, keys, message):
    with pytest.raises(TypeError, match=f"queries and keys: expected floating .*{message}"):
        checks.check_queries_keys(queries, keys)


def test_unequal_features_name_both_shapes():
    with pytest.raises(ValueError, match=r"d_q = d_k, got the shapes \(3, 7\) and \(5, 6\)"):
        checks.check_same_features(torch.rand(3, 7), torch.rand(5, 6))


def test_a_layer_names_the_size_it_was_built_for():
    with pytest.raises(ValueError, match=r"keys: expected the feature size 7, got .*\(5, 6\)"):
        checks.check_features("keys", torch.rand(5, 6), 7)


@pytest.mark.parametrize("shape", [(5,), (4, 11), (1, 5, 11)])
def test_each_key_needs_one_value(shape):
    with pytest.raises(ValueError, match=r"values: expected one value for each key"):
        checks.check_values(torch.rand(5, 7), torch.rand(shape))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("mask", "cure"),
    [
        (torch.ones(2, 2), "float32; a float is a bias, never a mask"),
        (torch.ones(2, 2).int(), r"int32; 1 .* with mask\.bool\(\)"),
        ([[True]], r"list; torch\.as_tensor\(mask, dtype=torch\.bool\)"),
        (None, "NoneType$"),
    ],
)
def test_only_booleans_are_masks(mask, cure):
    with pytest.raises(TypeError, match=f"mask: expected a boolean .* got .*{cure}"):
        checks.check_boolean("mask", mask, "may attend")


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan])
def test_widths_are_positive(value):
    with pytest.raises(ValueError, match="bandwidth: expected a positive number, got"):
        checks.check_positive("bandwidth", value)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("value", [-0.1, 1.5, math.nan, "0.1"])
def test_probabilities_lie_between_0_and_1(value):
    with pytest.raises(ValueError, match="dropout: expected a probability between 0 and 1, got"):
        checks.check_probability("dropout", value)


def test_the_first_bad_element_is_named():
    tensor = torch.tensor([[1.0, 2.0], [-3.0, -4.0]])
    with pytest.raises(ValueError, match=r"x: expected 0 or more, got x\[1, 0\] = -3\.0"):
        checks.reject_where(tensor < 0, tensor, "x", "0 or more")
    checks.reject_where(tensor > 9, tensor, "x", "9 or less")
    with pytest.raises(ValueError, match=r"x: expected 0 or more, got x = -3\.0"):
        checks.reject_where(tensor[1, 0] < 0, tensor[1, 0], "x", "0 or more")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("score", [DotScore, "dot", None, len, lambda queries: queries, nn.ReLU()])
def test_a_score_is_something_to_call_and_no_class(score):
    with pytest.raises(TypeError, match=r"score: expected a scoring function such as DotScore\(\)"):
        checks.check_score(score)


@pytest.mark.parametrize("size", [0, -1])
def test_sizes_are_at_least_1(size):
    with pytest.raises(ValueError, match=f"d_hidden: expected at least 1, got {size}"):
        checks.check_sizes(d_q=3, d_hidden=size)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("radius", [-1, 0, math.nan])
def test_a_window_has_a_radius(radius):
    with pytest.raises(ValueError, match=f"radius: expected 1 or more, got {radius}"):
        checks.check_radius(radius, smallest=1)


# --- the data too ----------------------------------------------------------------------------


def test_the_tests_are_strict():
    assert is_strict()


def test_a_block_speaks_for_itself_and_is_left_whatever_happens():
    with strict(False):
        assert not is_strict()
        with strict():
            assert is_strict()
        with pytest.raises(ZeroDivisionError), strict():
            _ = 1 / 0
        assert not is_strict()
    assert is_strict()


def test_a_block_speaks_for_its_own_thread():
    with ThreadPoolExecutor(1) as pool, strict(False):
        assert pool.submit(is_strict).result()


@pytest.mark.parametrize(("value", "expected"), [(None, "False"), ("1", "True"), ("0", "False")])
def test_the_environment_says_what_holds_outside_of_blocks(value, expected):
    environment = {k: v for k, v in os.environ.items() if k != checks.STRICT_VARIABLE}
    if value is not None:
        environment[checks.STRICT_VARIABLE] = value
    program = "from attention_book.foundations import is_strict; print(is_strict())"
    found = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == expected


def test_no_check_of_the_data_is_compiled():
    def twice(x):
        return 2 * x if not is_strict() else x / 0

    compiled = torch.compile(twice, fullgraph=True, backend="eager")
    assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 2.0))


def test_that_something_is_real_is_asked_in_strict_mode_only():
    nothing = torch.zeros(2, 3, dtype=torch.bool)
    with pytest.raises(ValueError, match="mask: expected at least one real token, got none"):
        checks.check_some_real("mask", nothing)
    checks.check_some_real("mask", ~nothing)
    with strict(False):
        checks.check_some_real("mask", nothing)


# --- whole numbers -----------------------------------------------------------------------------


@pytest.mark.parametrize("number", [32.0, 10.5, float("nan"), "8", None, True, np.float64(4), 2j])
def test_a_size_is_a_whole_number(number: object) -> None:
    """The kind: a number from a division or a file that is no number of anything."""
    with pytest.raises(ValueError, match="d_model: expected a whole number, got"):
        check_sizes(d_model=number)


def test_an_integer_of_another_library_is_one() -> None:
    check_sizes(d_model=np.int64(4), d_k=2)
    check_whole(pad=np.int32(0), bos=-1)
