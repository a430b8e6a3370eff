"""Live figures of regression, gradients, Bahdanau's step and recall are the package's."""

import math
import re
from typing import Any

import pytest
import torch

from attention_book.attention import (
    KERNELS,
    AdditiveScore,
    Attention,
    DotScore,
    FixedState,
    KernelRegression,
    average_pooling,
    dot_product_attention,
)
from attention_book.course import datasets

# --- kernel regression -------------------------------------------------------------------------


WEEK = ([1.0, 2.0, 4.0], [10.0, 20.0, 60.0])
NARROW, WIDE = 0.05, 3.0


def doubles(numbers: Any) -> torch.Tensor:
    """As a tensor in double precision."""
    return torch.tensor(numbers, dtype=torch.float64)


def close(found: Any, expected: torch.Tensor) -> None:
    """The same to 12 decimals."""
    torch.testing.assert_close(doubles(found), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("bandwidth", [NARROW, 0.3, 1.0, WIDE])
@pytest.mark.parametrize("points", ["week", "curve"])
def test_weights_answer_line_and_errors(
    kernel: str, bandwidth: float, points: str, compute: Any
) -> None:
    regression = KernelRegression(kernel=kernel, bandwidth=bandwidth)
    for query in (0.0, 1.9, 3.0, 5.0):
        found = compute(
            "kernel-regression", points=points, query=query, bandwidth=bandwidth, kernel=kernel
        )
        keys, values, at = doubles(found["keys"]), doubles(found["values"]), doubles([query])
        close([found["weights"]], regression.weights(at, keys))
        close([found["answer"]], regression(at, keys, values))
    close(found["line"], regression(doubles([i * 5 / 200 for i in range(201)]), keys, values))
    if points == "curve":
        tests = doubles([i / 10 for i in range(50)])
        true = datasets._curve(tests)
        for name, line in (
            ("error", regression(tests, keys, values)),
            ("averageError", average_pooling(tests, keys, values)),
        ):
            close(found[name], (line - true).square().mean())
        close(found["truth"], datasets._curve(doubles(query)))


def test_the_notebook_of_the_chapter(compute: Any) -> None:
    found = compute("kernel-regression")
    assert (found["keys"], found["values"]) == WEEK
    assert [round(weight, 3) for weight in found["weights"]] == [0.100, 0.450, 0.450]
    assert round(found["answer"], 1) == 37.0
    changed = compute("kernel-regression", pages1=80, pages2=0, pages4=7)
    assert changed["values"] == [80, 0, 7]
    assert changed["weights"] == found["weights"], "weights depend on keys alone"


def test_nothing_in_reach(compute: Any, draw: Any) -> None:
    nowhere = {"kernel": "boxcar", "bandwidth": NARROW, "query": 3}
    found = compute("kernel-regression", **nowhere)
    assert found["weights"] == [0, 0, 0]
    assert found["answer"] == found["heard"] == 0
    assert "一个键也够不着" in draw("kernel-regression", **nowhere)
    edge = compute("kernel-regression", kernel="boxcar", bandwidth=1, query=3)
    assert edge["weights"] == [0, 0.5, 0.5], "a key on the edge counts"


def test_how_many_points_are_heard(compute: Any) -> None:
    found = compute("kernel-regression", points="curve", kernel="boxcar", bandwidth=3, query=2.5)
    assert found["heard"] == pytest.approx(12)
    alone = compute("kernel-regression", points="curve", bandwidth=NARROW, query=0)
    assert alone["heard"] == pytest.approx(1, abs=1e-9)


def test_what_the_caption_says(compute: Any) -> None:
    def error(**state: Any) -> float:
        return compute("kernel-regression", points="curve", **state)["error"]

    falling = [error(bandwidth=h) for h in (1.0, 0.8, 0.6, 0.4)]
    assert falling == sorted(falling, reverse=True)
    assert error(bandwidth=NARROW) > 3 * falling[-1]
    average = compute("kernel-regression", points="curve")["averageError"]
    assert error(kernel="boxcar", bandwidth=WIDE) > average
    missed = compute("kernel-regression", points="curve", kernel="boxcar", bandwidth=0.1)
    assert 0 in missed["line"]
    flattened = compute("kernel-regression", points="curve")["line"]
    true = datasets._curve(doubles([i * 5 / 200 for i in range(201)]))
    assert max(flattened) < true.max()
    assert math.isfinite(min(flattened))


# --- gradients ---------------------------------------------------------------------------------


SCORES = torch.tensor([1.5, 3.0, 2.0, 5.0, 0.0], dtype=torch.float64)
PAGES = torch.tensor([[1.0], [16.0], [40.0], [300.0], [0.0]], dtype=torch.float64)
HIDDEN = ["00000", "00010", "10101", "11110", "11111"]


def backward(scores: torch.Tensor, hidden: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Weights, output and gradient: keys of an identity matrix make the query the scores."""
    leaf = scores.clone()[None].requires_grad_()
    mask = torch.tensor([[digit == "0" for digit in hidden]])
    desk, keys = Attention(DotScore()), torch.eye(5, dtype=torch.float64)
    output = desk(leaf, keys, PAGES, mask)
    output.sum().backward()
    return desk.weights(leaf, keys, mask)[0].detach(), output.detach(), leaf.grad[0]


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("factor", [0, 0.3, 1, 2, 4])
def test_weights_output_and_derivatives(factor: float, hidden: str, compute) -> None:
    found = compute("gradients", factor=factor, hidden=hidden)
    weights, output, gradient = backward(factor * SCORES, hidden)
    double = dict(rtol=0, atol=1e-10)
    for name, expected in (("weights", weights), ("derivatives", gradient)):
        ours = torch.tensor(found[name], dtype=torch.float64)
        torch.testing.assert_close(ours, expected, **double)
    assert found["output"] == pytest.approx(output.item(), abs=1e-10)
    assert found["push"] == pytest.approx(gradient.clamp(min=0).sum().item(), abs=1e-10)
    assert sum(found["derivatives"]) == pytest.approx(0, abs=1e-10)
    hidden_ones = [
        each for each, bit in zip(found["derivatives"], hidden, strict=True) if bit == "1"
    ]
    assert not any(hidden_ones), "what is hidden has a derivative of exactly 0"


@pytest.mark.parametrize("hidden", HIDDEN)
def test_the_curve_is_the_push_at_every_factor(hidden: str, compute) -> None:
    curve = compute("gradients", hidden=hidden)["curve"]
    assert len(curve) == 41
    expected = [backward(n / 10 * SCORES, hidden)[2].clamp(min=0).sum().item() for n in range(41)]
    assert curve == pytest.approx(expected, abs=1e-10)
    assert max(curve) <= 75


def test_the_printed_numbers_of_the_worked_example(compute) -> None:
    for factor, output, book in (
        (0, 71.4, 45.7),
        (1, 248.9, 41.8),
        (2, 294.0, 5.9),
        (4, 299.9, 0.1),
    ):
        found = compute("gradients", factor=factor)
        assert round(found["output"], 1) == output
        assert round(found["derivatives"][3], 1) == book


# --- a step of Bahdanau's attention ------------------------------------------------------------


BAHDANAU_STATES = {
    "chases": [[0.0, 0.4], [0.4, 0.2], [0.2, -0.3]],
    "swapped": [[0.0, -0.4], [0.4, -0.2], [0.2, 0.3]],
}
TARGETS = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, -1.0]], dtype=torch.float64)


def by_hand() -> Attention:
    """The chapter's matrices: two hidden units, which compare the first feature with a clock."""
    score = AdditiveScore(d_q=1, d_k=2, d_hidden=2, bias=True).double().requires_grad_(False)
    score.W_q.weight[:] = -50
    score.W_k.weight[:] = torch.tensor([[50.0, 0.0], [50.0, 0.0]], dtype=torch.float64)
    score.W_k.bias[:] = torch.tensor([5.0, -5.0], dtype=torch.float64)
    score.w_v.weight[:] = math.log(18) / 2 * torch.tensor([[1.0, -1.0]], dtype=torch.float64)
    return Attention(score)


@pytest.mark.parametrize("order", BAHDANAU_STATES)
@pytest.mark.parametrize("clock", [0.0, 0.13, 0.3, 0.4, 0.5])
def test_weights_context_and_words(order: str, clock: float, compute) -> None:
    found = compute("bahdanau-step", clock=clock, order=order)
    states = torch.tensor(BAHDANAU_STATES[order], dtype=torch.float64)
    look, query = by_hand(), torch.tensor([[clock]], dtype=torch.float64)
    weights = look.weights(query, states)
    context = look(query, states, states)
    assert found["weights"] == pytest.approx(weights[0].tolist(), abs=1e-12)
    assert found["context"] == pytest.approx(context[0].tolist(), abs=1e-12)
    written = (10 * math.log(2) * context @ TARGETS.T).softmax(-1)
    assert found["written"] == pytest.approx(written[0].tolist(), abs=1e-12)


@pytest.mark.parametrize(
    ("clock", "weights", "context", "written"),
    [
        (0, [0.9, 0.05, 0.05], [0.03, 0.355], [0.899, 0.095, 0.007]),
        (0.4, [0.05, 0.9, 0.05], [0.37, 0.185], [0.214, 0.770, 0.016]),
        (0.2, [0.05, 0.05, 0.9], [0.20, -0.24], [0.020, 0.423, 0.557]),
    ],
)
def test_the_three_steps_are_the_table_of_the_chapter(
    clock: float, weights: list[float], context: list[float], written: list[float], compute
) -> None:
    found = compute("bahdanau-step", clock=clock)
    assert [round(w, 3) for w in found["weights"]] == weights
    assert [round(c, 3) for c in found["context"]] == context
    assert [round(p, 3) for p in found["written"]] == written
    assert [round(p, 3) for p in found["shut"]] == [0.010, 0.330, 0.660]


def test_the_figure_starts_before_the_first_word(compute) -> None:
    assert compute("bahdanau-step") == compute("bahdanau-step", clock=0, order="chases")


WINDOW = re.compile(r'<rect class="live-window" x="([-\d.]+)"[^>]* width="([-\d.]+)"')
WORD_CLOCK = re.compile(r'<circle class="live-key" cx="([-\d.]+)"')
RIBBON = re.compile(r'<path class="live-weight-line" stroke-width="([-\d.]+)" d="M([-\d.]+) ')


@pytest.mark.parametrize("order", BAHDANAU_STATES)
@pytest.mark.parametrize("clock", [0, 0.03, 0.13, 0.2, 0.27, 0.4, 0.48])
def test_the_window_holds_the_words_that_answer_yes_and_then_no(
    clock: float, order: str, compute, draw
) -> None:
    found, drawing = (
        compute("bahdanau-step", clock=clock, order=order),
        draw("bahdanau-step", clock=clock, order=order),
    )
    left, width = map(float, WINDOW.search(drawing).groups())
    places = [float(x) for x in WORD_CLOCK.findall(drawing)]
    inside = [left < x < left + width for x in places]
    assert inside == [past > 0 > beyond for past, beyond in found["inner"]]
    # A word in the window outweighs every other, and its ribbon is as much wider.
    ribbons = [(float(x), float(wide)) for wide, x in RIBBON.findall(drawing)]
    assert [x for x, _ in ribbons] == places
    for weight, (_, wide), within in zip(found["weights"], ribbons, inside, strict=True):
        assert wide == pytest.approx(max(1, 30 * weight))
        assert within == (weight == max(found["weights"]))


# --- recall ------------------------------------------------------------------------------------


STATES = [{"pairs": n, "size": d, "times": t} for n in (2, 16, 32) for d in (8, 16) for t in (1, 2)]


@pytest.mark.parametrize("state", STATES, ids=str)
def test_each_memory_reads_what_the_package_reads(state, compute) -> None:
    first = compute("recall", **state)["first"]
    keys, values = (torch.tensor(first[name], dtype=torch.float64) for name in ("keys", "values"))
    assert keys.shape == (state["pairs"] * state["times"], state["size"])
    for vectors in (keys, values):
        torch.testing.assert_close(vectors.norm(dim=-1), torch.ones(len(vectors)).double())
    asked, ones = keys[-state["pairs"] :], torch.ones(len(keys), dtype=torch.float64)
    empty = FixedState.empty(keys, values)
    expected = {
        "sum": empty.write(keys, values).read(asked),
        "delta": empty.write(keys, values, strength=ones).read(asked),
        "softmax": dot_product_attention(asked, keys, values, scale=16.0),
    }
    for kind, reads in expected.items():
        found = torch.tensor(first["reads"][kind], dtype=torch.float64)
        torch.testing.assert_close(found, reads, rtol=0, atol=1e-12)


def test_the_keys_are_random_directions(compute) -> None:
    keys = torch.tensor(compute("recall", pairs=32)["first"]["keys"], dtype=torch.float64)
    products = (keys @ keys.T)[~torch.eye(32, dtype=torch.bool)]
    assert abs(products.mean()) < 0.03
    assert products.square().mean() == pytest.approx(1 / 16, rel=0.2)


def test_the_page_says_what_the_chapter_says(compute) -> None:
    once, twice = compute("recall")["means"], compute("recall", times=2)["means"]
    assert once["sum"] > once["delta"] + 0.05
    assert twice["delta"] > twice["sum"] + 0.1
    assert once["softmax"] > 0.99
    assert twice["softmax"] < 0.6
    found = compute("recall")["shares"]
    assert found["delta"][-1] == pytest.approx(1)
    assert found["delta"][0] < found["sum"][0] - 0.2
