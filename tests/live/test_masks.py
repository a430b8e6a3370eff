"""The mask editor: rules, conventions, leaks and weights are the package's."""

import itertools
import re
from typing import Any

import pytest
import torch

from attention_book.attention import (
    additive_from_mask,
    causal_mask,
    ignore_from_mask,
    mask_from_additive,
    mask_from_ignore,
    mask_from_lengths,
    masked_softmax,
    window_mask,
)

SIZE = 6
UNTOUCHED, ALL_PRESSED = "0" * SIZE**2, "1" * SIZE**2
LENGTHS, RADII = (0, 1, 4, SIZE), (0, 1, 3, SIZE - 1)
ROLLED = "000000001000010000000000000000100001"


def rule(length: int, causal: str, radius: int) -> torch.Tensor:
    """The package's mask of the three rules together."""
    mask = mask_from_lengths(torch.tensor(length), SIZE) & window_mask(SIZE, radius=radius)
    return mask & causal_mask(SIZE) if causal == "1" else mask


@pytest.mark.parametrize("changed", [UNTOUCHED, ALL_PRESSED, ROLLED])
@pytest.mark.parametrize("causal", ["0", "1"])
def test_rules_changes_and_weights(changed: str, causal: str, compute: Any) -> None:
    pressed = torch.tensor([digit == "1" for digit in changed]).view(SIZE, SIZE)
    for length, radius in itertools.product(LENGTHS, RADII):
        found = compute("masks", length=length, causal=causal, radius=radius, changed=changed)
        expected = rule(length, causal, radius)
        mask = expected ^ pressed
        assert found["rule"] == expected.tolist()
        assert found["mask"] == mask.tolist()
        weights = masked_softmax(torch.zeros(SIZE, SIZE, dtype=torch.float64), mask)
        ours = torch.tensor(found["weights"], dtype=torch.float64)
        torch.testing.assert_close(ours, weights, rtol=0, atol=1e-12)
        assert torch.equal(ours == 0, ~mask), "a hidden key weighs exactly 0"
        assert found["empty"] == (~mask).all(-1).tolist()


@pytest.mark.parametrize("causal", ["0", "1"])
@pytest.mark.parametrize("changed", [UNTOUCHED, ALL_PRESSED, ROLLED])
def test_what_leaks(changed: str, causal: str, compute: Any) -> None:
    for length, radius in itertools.product(LENGTHS, RADII):
        found = compute("masks", length=length, causal=causal, radius=radius, changed=changed)
        mask = torch.tensor(found["mask"])
        padded = mask & ~mask_from_lengths(torch.tensor(length), SIZE)
        later = mask & ~causal_mask(SIZE) & torch.tensor(causal == "1")
        leaks = [[bool(why) for why in row] for row in found["leaks"]]
        assert leaks == (padded | later).tolist()
        named = [[why == "padding" for why in row] for row in found["leaks"]]
        assert named == padded.tolist()
        if changed == UNTOUCHED:
            assert not any(itertools.chain(*leaks)), "the rules themselves leak nothing"


def written(html: str) -> list[str]:
    """What stands in the cells, row by row."""
    cells = re.findall(r'class="live-square".*?<text[^>]*>([^<]+)<', html)
    assert len(cells) == SIZE**2
    return cells


def test_four_conventions(draw: Any, compute: Any) -> None:
    state = {"changed": ROLLED}
    mask = torch.tensor(compute("masks", **state)["mask"])
    shown = {
        convention: written(draw("masks", convention=convention, **state))
        for convention in ("see", "ignore", "numbers", "additive")
    }
    letters = {True: "T", False: "F"}
    assert shown["see"] == [letters[cell] for cell in mask.flatten().tolist()]
    ignore = ignore_from_mask(mask)
    assert shown["ignore"] == [letters[cell] for cell in ignore.flatten().tolist()]
    numbers = torch.tensor([int(cell) for cell in shown["numbers"]]).view(SIZE, SIZE)
    assert torch.equal(mask_from_ignore(numbers), mask)
    infinity = {"0": 0.0, "−∞": -torch.inf}
    additive = torch.tensor([infinity[cell] for cell in shown["additive"]]).view(SIZE, SIZE)
    assert torch.equal(additive, additive_from_mask(mask))
    assert torch.equal(mask_from_additive(additive), mask)


def test_what_the_caption_says(compute: Any, draw: Any) -> None:
    found = compute("masks")
    leaking = [
        (query + 1, key + 1)
        for query, key in itertools.product(range(SIZE), repeat=2)
        if found["leaks"][query][key]
    ]
    assert leaking == [(2, 3)]
    assert found["empty"] == [False] * 5 + [True]
    assert draw("masks").count('class="live-alarm"') == 1
    assert "没有漏" in draw("masks", changed=UNTOUCHED, radius=5)
