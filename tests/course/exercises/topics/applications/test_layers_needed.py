import pytest
import torch

from attention_book.course.exercises import check


def farthest(mask):
    """By walking: the longest of the shortest ways, or None where one is missing."""
    ways = []
    for start in range(len(mask)):
        steps, frontier = {start: 0}, [start]
        while frontier:
            near = {j for i in frontier for j in mask[i].nonzero().flatten().tolist()}
            frontier = sorted(near - set(steps))
            steps.update(dict.fromkeys(frontier, max(steps.values()) + 1))
        if len(steps) < len(mask):
            return None
        ways.append(max(steps.values()))
    return max(ways)


def powers(mask, *, diagonal=True, first=0, never=None):
    step = mask | torch.eye(len(mask)).bool() if diagonal else mask
    reached = torch.eye(len(mask)).bool() if first == 0 else step
    for num_layers in range(first, 3 * len(mask)):
        if reached.all():
            return num_layers
        reached = (step.int() @ reached.int()) > 0
    return never


def doubling(mask):
    reached, num_layers = mask | torch.eye(len(mask)).bool(), 1
    while not reached.all() and num_layers < 20:
        reached, num_layers = (reached.int() @ reached.int()) > 0, num_layers + 1
    return num_layers if reached.all() else None


def test_other_right_answers_pass():
    assert check("layers-needed", farthest)
    assert check("layers-needed", powers)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda mask: powers(mask, diagonal=False), "no-residual"),
        (lambda mask: powers(mask, first=1), "single-position"),
        (lambda mask: None if powers(mask) is None else powers(mask) + 1, "off-by-one"),
        (lambda mask: None if powers(mask) is None else powers(mask) - 1, "off-by-one"),
        (doubling, "squared"),
        (lambda mask: powers(mask, never=len(mask)), "never"),
    ],
)
def test_a_wrong_answer_gets_its_hint(answer, mistake):
    verdict = check("layers-needed", answer)
    assert not verdict
    assert verdict.mistake == mistake
