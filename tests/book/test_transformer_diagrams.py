"""The drawings of heads, layers, positions and the Transformer tell the truth."""

import math
import re
from collections import Counter

import pytest
import torch
from lxml import etree
from test_diagrams import classes, drawing, elements, ends, having, number, row, tag, words

from attention_book.attention import RotaryPositions, merge_heads, split_heads

Place = tuple[float, float]


def points(path: etree._Element) -> list[Place]:
    """Return the corners of a line."""
    numbers = [float(x) for x in re.findall(r"-?[\d.]+", path.get("d"))]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def panels(root: etree._Element) -> list[tuple[float, float]]:
    """Return top and bottom of each panel, from the top."""
    found = [
        (number(p, "y"), number(p, "y") + number(p, "height")) for p in having(root, "dg-panel")
    ]
    return sorted(found)


def outline(path: etree._Element) -> list[Place]:
    """Return the corners of a shape that are written in full."""
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+),([\d.]+)", path.get("d"))]


def saying(root: etree._Element, english: str) -> list[etree._Element]:
    """Return the texts that read so."""
    return [text for text in elements(root) if tag(text) == "text" and words(text) == english]


def test_the_shapes_are_those_of_the_package():
    root = drawing("head-shapes")
    shapes = [words(text) for text in having(root, "dg-code")]
    x, memory = torch.zeros(2, 4, 100), torch.zeros(2, 6, 100)
    queries, keys = split_heads(x, 5), split_heads(memory, 5)
    scores = queries @ keys.mT
    outputs = scores.softmax(-1) @ keys
    stages = [x, queries.transpose(1, 2), queries, scores, outputs, merge_heads(outputs)]
    assert shapes == [str(tuple(stage.shape)) for stage in stages]
    cells = [
        Counter(re.findall("[HV]", shape.getnext().get("d")))
        for role in ("dg-query", "dg-score", "dg-output")
        for shape in having(root, role)
    ]
    whole, row_of_heads, column = {"H": 3}, {"V": 4}, {"H": 3}
    assert cells == (
        [whole]
        + [row_of_heads] * 4
        + [column] * 5
        + [{"H": 3, "V": 5}] * 5
        + [column] * 5
        + [whole]
    )


def test_the_thick_path_is_the_shortest_and_as_long_as_it_says():
    root = drawing("layer-paths")
    lines = [points(line) for line in having(root, "dg-line") + having(root, "dg-best")]
    for (top, bottom), label in zip(panels(root), ("4 layers", "4 steps", "1 step"), strict=True):
        nodes = [
            (number(c, "cx"), number(c, "cy"))
            for c in elements(root)
            if tag(c) == "circle" and top < number(c, "cy") < bottom
        ]

        def node(place: Place, nodes: list[Place] = nodes) -> Place:
            return min(nodes, key=lambda other: math.dist(place, other))

        edges = {(node(line[0]), node(line[-1])) for line in lines if top < line[0][1] < bottom}
        heights, widths = ({place[axis] for place in nodes} for axis in (1, 0))
        start, goal = (min(widths), min(heights)), (max(widths), max(heights))
        reached, steps = {start}, 0
        while goal not in reached:
            reached |= {after for before, after in edges if before in reached}
            steps += 1
        thick = [path for path in having(root, "dg-best") if top < points(path)[0][1] < bottom]
        assert len(thick) == steps
        into_the_network = len({y for _, y in nodes}) == 2 and label == "4 steps"
        assert int(label[0]) == steps - into_the_network
        assert saying(root, f"path: {label}")


def test_one_order_interrupts_the_residual_path():
    root = drawing("pre-post-norm")
    boxes = [
        tuple(number(box, side) for side in ("x", "y", "width", "height"))
        for box in having(root, "dg-box")
        if tag(box) == "rect"
    ]
    sums = [
        (number(c, "cx"), number(c, "cy")) for c in having(root, "dg-box") if tag(c) == "circle"
    ]
    interruptions = {}
    for x in {x for x, _ in sums}:
        last = max(y for its, y in sums if its == x)
        on_it = [y for left, y, width, _ in boxes if left < x < left + width]
        interruptions[x] = (sum(y < last for y in on_it), sum(y > last for y in on_it))
    assert [interruptions[x] for x in sorted(interruptions)] == [(1, 1), (0, 1)]


def test_an_encoder_layer_has_two_sublayers_and_a_decoder_layer_three():
    root = drawing("transformer")
    sides = Counter(number(text, "x") < 180 for text in saying(root, "add, norm"))
    assert sides == {True: 2, False: 3}
    for sublayer, count in {"self-attention": 2, "cross-attention": 1, "feed-forward": 2}.items():
        assert len(saying(root, sublayer)) == count


def test_what_is_colored_is_what_is_computed():
    root = drawing("cache-over-time")
    totals = [
        int(words(span)[0]) for span in elements(root)
        if re.fullmatch(r"\d rows in all", words(span)) and tag(span) == "tspan"
    ]  # fmt: skip
    for (top, bottom), total in zip(panels(root), totals, strict=True):
        assert sum(top < outline(key)[0][1] < bottom for key in having(root, "dg-key")) == total
        assert sum(top < number(v, "y") < bottom for v in having(root, "dg-value")) == total
    assert totals == [1 + 2 + 3, 3, 3]


def test_the_state_grows_by_one_row_a_step():
    root = drawing("y-state-trace")
    for top, bottom in panels(root)[:2]:
        tags = [
            path for path in having(root, "dg-key") + having(root, "dg-box")
            if tag(path) == "path" and top < outline(path)[0][1] < bottom
        ]  # fmt: skip
        columns = Counter(round(outline(path)[0][0]) for path in tags)
        assert [columns[x] for x in sorted(columns)] == [1, 2, 3]
        fresh = Counter(round(outline(path)[0][0]) for path in tags if "dg-key" in classes(path))
        assert fresh == dict.fromkeys(columns, 1)
    assert row(root, 470) == ["1", "2", "3"]


def angle(path: etree._Element) -> float:
    """Return where an arrow points, in degrees from the right, against the clock."""
    (x0, y0), (x, y) = ends(path)
    return math.degrees(math.atan2(y0 - y, x - x0)) % 360


def test_query_and_key_turn_as_far_as_their_positions_say():
    root = drawing("rotary-turn")
    before, after = ([angle(p) for p in having(root, role)] for role in ("dg-drop", "dg-best"))
    places = [tuple(map(int, re.findall(r"\d", words(t)))) for t in having(root, "dg-symbol")
              if words(t).startswith("i =")]  # fmt: skip
    printed = [int(re.findall(r"(\d+)°", words(t))[0]) for t in having(root, "bl-en")]
    step = 25
    for panel, (m, n) in enumerate(places):
        query, key = before[2 * panel : 2 * panel + 2]
        turned_query, turned_key = after[2 * panel : 2 * panel + 2]
        for start, end, position in ((query, turned_query, m), (key, turned_key, n)):
            assert (end - start) % 360 == pytest.approx(step * position, abs=0.5)
        between = (turned_query - turned_key) % 360
        assert between == pytest.approx(50 + step * (m - n), abs=0.5)
        assert printed[3 * panel : 3 * panel + 3] == [step * m, step * n, 50 + step * (m - n)]


def test_only_the_distance_counts_in_the_package_too():
    turn = RotaryPositions(d_k=2).rotate
    query, key = torch.tensor([[0.3, 0.9]]), torch.tensor([[0.9, 0.3]])
    near, far = (turn(query, offset=m) @ turn(key, offset=n).mT for m, n in ((3, 1), (7, 5)))
    assert torch.allclose(near, far)


def test_corresponding_parts_stand_at_the_same_height():
    root = drawing("seq2seq-beside-transformer")
    boxes = [box for box in having(root, "dg-box") if tag(box) == "rect"]
    left, right = (
        {number(b, "y") for b in boxes if (number(b, "x") < 180) is side} for side in (True, False)
    )
    assert left < right
    assert len(right - left) == 1, "the feed-forward network of the encoder has no counterpart"
    signs = {number(text, "y"): words(text) for text in having(root, "dg-upright")}
    same = [sign for _, sign in sorted(signs.items())]
    assert same == ["≠", "≠", "≠", "=", "≠", "=", "≠", "=", "="]
