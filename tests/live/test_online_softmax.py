"""Online softmax: every tile's numbers are the package's, and the end is softmax for all tiles."""

import pytest
import torch

from attention_book.attention import masked_softmax, tiled_attention
from attention_book.attention.efficient.online_softmax import PartialAttention

SIZES = [1, 2, 3, 4, 5, 6, 8, 12, 24]
PLACES = [(row, score) for row in ("desk", "long") for score in (-2, 0.5, 5, 8)]


def tensors(found) -> tuple[torch.Tensor, torch.Tensor]:
    scores = torch.tensor([found["scores"]], dtype=torch.float64)
    return scores, torch.tensor(found["values"], dtype=torch.float64)[:, None]


def numbers(part: PartialAttention) -> tuple[float, float, float]:
    return part.maximum.item(), part.total.item(), part.weighted.item()


@pytest.mark.parametrize("tile", SIZES)
@pytest.mark.parametrize(("row", "score"), PLACES)
def test_each_tile_is_merged_as_in_the_package(row, score, tile, compute) -> None:
    found = compute("online-softmax", row=row, score=score, tile=tile)
    scores, values = tensors(found)
    merged = None
    cuts = zip(found["tiles"], scores.split(tile, dim=1), values.split(tile), strict=True)
    for mine, *cut in cuts:
        part = PartialAttention.of(*cut)
        before, merged = merged, part if merged is None else merged.merge(part)
        for name, theirs in (("before", before), ("part", part), ("now", merged)):
            if theirs is not None:
                got = [mine[name][key] for key in "msu"]
                assert got == pytest.approx(numbers(theirs), rel=1e-13, abs=1e-12)
        assert mine["output"] == pytest.approx(merged.output.item(), rel=1e-13)
        past = 0 if before is None else mine["now"]["first"] * mine["before"]["s"]
        assert past + mine["now"]["second"] * mine["part"]["s"] == mine["now"]["s"]


@pytest.mark.parametrize("tile", SIZES)
@pytest.mark.parametrize(("row", "score"), PLACES)
def test_the_end_is_softmax_whatever_the_tiles(row, score, tile, compute) -> None:
    found = compute("online-softmax", row=row, score=score, tile=tile)
    scores, values = tensors(found)
    weights = masked_softmax(scores)
    torch.testing.assert_close(
        torch.tensor([found["weights"]], dtype=torch.float64), weights, rtol=0, atol=1e-14
    )
    query = torch.ones(1, 1, dtype=torch.float64)
    tiled = tiled_attention(query, scores.mT, values, query_tile=1, key_tile=tile, scale=1.0)
    for output in (weights @ values, tiled):
        assert found["tiles"][-1]["output"] == pytest.approx(output.item(), rel=1e-13)
        assert found["output"] == pytest.approx(output.item(), rel=1e-13)


def test_the_desk_in_two_glances_is_the_chapter_s_table(compute) -> None:
    first, second = compute("online-softmax", row="desk", tile=3)["tiles"]
    rows = [first["part"], second["part"], second["now"]]
    printed = [[each["m"], round(each["s"], 3), round(each["u"], 1)] for each in rows]
    assert printed == [[3, 1.591, 30.9], [5, 1.007, 300.0], [5, 1.222, 304.2]]
    assert round(second["output"], 1) == 248.9


def test_a_step_beyond_the_last_tile_is_the_last(compute) -> None:
    assert compute("online-softmax", row="desk", tile=3, step=24)["step"] == 2
    assert compute("online-softmax", row="long", tile=24, step=3)["step"] == 1


def test_only_a_tile_and_three_numbers_are_at_hand(compute) -> None:
    for tile in SIZES:
        assert compute("online-softmax", tile=tile)["memory"] == {"row": 24, "tiles": tile + 3}
    assert compute("online-softmax", row="desk", tile=24)["memory"] == {"row": 5, "tiles": 8}
