"""A step of Bahdanau's decoder: the figure's numbers are those of the package's additive score."""

import math
import re

import pytest
import torch

from attention_book.attention import AdditiveScore, Attention

STATES = {
    "chases": [[0.0, 0.4], [0.4, 0.2], [0.2, -0.3]],
    "swapped": [[0.0, -0.4], [0.4, -0.2], [0.2, 0.3]],
}
TARGETS = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, -1.0]], dtype=torch.float64)


def by_hand() -> Attention:
    """The chapter's matrices: one hidden unit, which compares the first feature."""
    score = AdditiveScore(d_q=2, d_k=2, d_hidden=1).double().requires_grad_(False)
    score.W_q.weight[:] = torch.tensor([[-2.5 * math.log(3), 0.0]], dtype=torch.float64)
    score.W_k.weight[:] = torch.tensor([[2.5 * math.log(3), 0.0]], dtype=torch.float64)
    score.w_v.weight[:] = -2 * math.log(2)
    return Attention(score)


@pytest.mark.parametrize("order", STATES)
@pytest.mark.parametrize(("verb", "who"), [(0.2, -0.3), (-0.6, 0.6), (1.0, 0.0)])
def test_weights_context_and_words(order: str, verb: float, who: float, compute) -> None:
    found = compute("bahdanau-step", verb=verb, who=who, order=order)
    states = torch.tensor(STATES[order], dtype=torch.float64)
    look, query = by_hand(), torch.tensor([[verb, who]], dtype=torch.float64)
    weights = look.weights(query, states)
    context = look(query, states, states)
    assert found["weights"] == pytest.approx(weights[0].tolist(), abs=1e-12)
    assert found["context"] == pytest.approx(context[0].tolist(), abs=1e-12)
    written = (10 * math.log(2) * context @ TARGETS.T).softmax(-1)
    assert found["written"] == pytest.approx(written[0].tolist(), abs=1e-12)
    again = compute("bahdanau-step", verb=verb, who=-who, order=order)
    assert again["weights"] == found["weights"], "the hidden unit looks at the first feature alone"


def test_the_start_is_the_table_of_the_chapter(compute) -> None:
    found = compute("bahdanau-step")
    assert found["weights"] == pytest.approx([4 / 7, 1 / 7, 2 / 7], abs=1e-12)
    assert found["context"] == pytest.approx([0.8 / 7, 1.2 / 7], abs=1e-12)
    assert [round(p, 3) for p in found["written"]] == [0.566, 0.381, 0.053]
    assert [round(p, 3) for p in found["shut"]] == [0.010, 0.330, 0.660]


NAME = re.compile(r'<text class="[^"]*live-halo" x="([-\d.]+)" y="([-\d.]+)"[^>]*>(\w+)</text>')
#: Where s stands on a source state, on the context, between two of them, and at the rims.
QUERIES = [(0.2, -0.3), (0, 0.4), (0.4, 0.2), (0.1, 0.15), (0.25, -0.3), (-0.6, 0), (1, 0.6)]


@pytest.mark.parametrize(("verb", "who"), QUERIES)
def test_no_name_covers_another(verb: float, who: float, draw) -> None:
    found = NAME.findall(draw("bahdanau-step", verb=verb, who=who))
    names = {name: (float(x), float(y)) for x, y, name in found}
    assert set(names) == {"Tom", "chases", "Jerry", "C", "s"}
    x, y = names.pop("s")
    assert 0 <= x <= 336
    for name, (left, base) in names.items():
        beside = x >= left + 7 * len(name) or x + 7 <= left
        assert beside or abs(y - base) >= 14, f"s crowds {name}"
