"""The drawings of book/figures keep one vocabulary, speak both languages and tell the truth."""

import math
import os
import re
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from browser import MISSING, chromium
from lxml import etree
from offenders import no_offenders

from attention_book.attention import (
    additive_from_mask,
    causal_mask,
    ignore_from_mask,
    mask_from_lengths,
    masked_softmax,
    window_mask,
)
from attention_book.text import ParallelData, SentencePair, Vocabulary

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "book" / "figures"
STYLES = ROOT / "book" / "_ext" / "website" / "figures" / "static" / "diagrams.css"
LANGUAGE_STYLES = ROOT / "book" / "_ext" / "bilingual" / "static" / "language.css"
DRAWINGS = sorted(path.stem for path in FIGURES.glob("*.svg"))

SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = {"svg", "g", "path", "rect", "circle", "text", "tspan"}
ATTRIBUTES = {
    "class", "viewBox", "width", "height", "x", "y", "dy", "d", "cx", "cy", "r", "rx",
    "transform", "text-anchor", "lang", "data-stage",
}  # fmt: skip
LANGUAGE_CLASSES = {"bl", "bl-zh", "bl-en", "bl-sep"}
CJK = re.compile(r"[\u3400-\u9fff]")
#: Names of code and of mathematics, the same in both languages.
NAMES = {"softmax", "tanh", "Linear", "True", "False"}
NAMES |= {"attn_mask", "key_padding_mask", "SDPA", "MHA"}
NAMES |= {"source", "source_mask", "target_input", "target_output"}
NAMES |= {"ReLU", "RMSNorm", "SwiGLU", "RoPE", "QK-norm", "norm"}
NAMES |= {"batch", "position", "head", "query", "d_model", "Transformer"}


def everywhere(check):
    """Check each drawing in one test, which tells of all that do not pass."""

    def test():
        no_offenders(check, DRAWINGS)

    test.__name__ = check.__name__
    return test


def drawing(name: str) -> etree._Element:
    return etree.parse(str(FIGURES / f"{name}.svg")).getroot()


def elements(root: etree._Element) -> list[etree._Element]:
    return list(root.iter(f"{SVG}*"))


def tag(element: etree._Element) -> str:
    return etree.QName(element).localname


def classes(element: etree._Element) -> set[str]:
    return set((element.get("class") or "").split())


def having(root: etree._Element, css_class: str) -> list[etree._Element]:
    return [element for element in elements(root) if css_class in classes(element)]


def number(element: etree._Element, attribute: str) -> float:
    return float(element.get(attribute))


def words(element: etree._Element) -> str:
    return "".join(element.itertext())


# The vocabulary


@everywhere
def test_a_drawing_fits_a_phone_and_scales(name):
    root = drawing(name)
    left, top, width, height = map(float, root.get("viewBox").split())
    assert (left, top, width) == (0, 0, 360)
    assert 200 <= height <= 560
    assert root.get("width") == "432"  # its natural size; 14 units of text are 16.8 px there
    assert classes(root) == {"diagram-svg"}


@everywhere
def test_only_the_vocabulary_is_used(name):
    known = set(re.findall(r"\.([a-z][\w-]*)", STYLES.read_text("utf8"))) | LANGUAGE_CLASSES
    for element in elements(drawing(name)):
        assert tag(element) in ELEMENTS
        assert set(element.attrib) <= ATTRIBUTES, "no colors, sizes, ids or links of its own"
        assert element.get("width") is None or tag(element) in {"svg", "rect"}
        assert classes(element) <= known
        if tag(element) in {"path", "rect", "circle", "text"}:
            assert classes(element), "every mark has a role"


def test_no_style_is_left_over():
    used = {c for name in DRAWINGS for element in elements(drawing(name)) for c in classes(element)}
    defined = set(re.findall(r"\.([a-z][\w-]*)", STYLES.read_text("utf8")))
    assert defined - LANGUAGE_CLASSES <= used


def test_the_legend_shows_every_role():
    legend = drawing("notation-legend")
    roles = {"query", "key", "value", "score", "weight", "mask", "hatch", "output", "box", "back"}
    assert all(having(legend, f"dg-{role}") for role in roles)


@everywhere
def test_a_role_is_known_by_its_shape_too(name):
    root = drawing(name)
    holes = [(number(h, "cx"), number(h, "cy")) for h in having(root, "dg-hole")]
    keys = [key for key in having(root, "dg-key") if tag(key) == "path"]
    assert len(holes) == len(keys)
    for query in having(root, "dg-query"):
        if query.get("rx"):  # a single query; several stand in a table
            assert number(query, "rx") == pytest.approx(number(query, "height") / 2)
        else:
            assert_is_a_table(query)
    for role in ("key", "value"):
        for shape in having(root, f"dg-{role}"):
            following = shape.getnext()
            if classes(following) & {"dg-hole", "dg-rim"}:
                continue
            assert_is_a_table(shape)
    for score in having(root, "dg-score"):
        if tag(score) != "path":
            assert_is_a_table(score)
    rings = {(r.get("cx"), r.get("cy")) for r in having(root, "dg-ring")}
    assert {(w.get("cx"), w.get("cy")) for w in having(root, "dg-weight")} <= rings


def assert_is_a_table(shape: etree._Element) -> None:
    """A matrix of many queries, keys …: a rectangle followed by the lines between its cells."""
    assert tag(shape) == "rect"
    assert shape.getnext().get("d").count("M") >= 3


# The colors and sizes


def palettes() -> dict[str, dict[str, str]]:
    """Return the colors of each mode."""
    blocks = re.findall(r"^(\S.*?) \{(.*?)^\}", STYLES.read_text("utf8"), re.M | re.S)
    light, dark = (
        dict(re.findall(r"--dg-([\w-]+): (#[0-9a-f]{6});", body))
        for selector, body in blocks
        if selector.endswith(".diagram-svg")
    )
    assert light.keys() == dark.keys()
    return {"light": light, "dark": dark}


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2.2."""

    def luminance(color: str) -> float:
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_and_shapes_stand_out(mode):
    colors = palettes()[mode]
    surfaces = {color for name, color in colors.items() if name.endswith("-tint")}
    surfaces |= {colors["ground"], colors["panel"]}
    for surface in surfaces:
        assert contrast(colors["ink"], surface) >= 4.5
    for surface in (colors["ground"], colors["panel"]):
        assert contrast(colors["muted"], surface) >= 4.5
    for role in ("query", "key", "value", "score", "weight", "output", "salient", "muted", "frame"):
        for surface in (colors["ground"], colors["panel"]):
            assert contrast(colors[role], surface) >= 3, role


def test_text_is_at_least_14_units():
    sizes = re.findall(r"([^{}]*)\{[^}]*?font-size: ([\d.]+)px", STYLES.read_text("utf8"))
    assert len(sizes) == 5
    for selector, size in sizes:
        assert float(size) >= (12 if ".dg-sub" in selector else 14)
    for name in DRAWINGS:
        for text in having(drawing(name), "dg-sub"):
            assert re.fullmatch(r"[\w₀-₉]{1,2}|t−1", words(text)), "small print is for indices only"


# The languages


@everywhere
def test_every_text_speaks_both_languages_or_none(name):
    texts = [element for element in elements(drawing(name)) if tag(element) == "text"]
    partner = {}
    for zh, en in pairwise(texts):
        if {"dg-stack", "bl-zh"} <= classes(zh):
            assert {"dg-stack", "bl-en"} <= classes(en)
            assert classes(zh) - {"bl-zh"} == classes(en) - {"bl-en"}
            assert all(zh.get(a) == en.get(a) for a in ("x", "y", "text-anchor"))
            assert_languages(zh, en)
            partner[zh] = partner[en] = True
    for text in texts:
        spans = [span for span in text if "bl" in classes(span)]
        if text in partner:
            continue
        if spans:
            assert [span.get("class") for span in text] == ["bl bl-zh", "bl-sep", "bl bl-en"]
            assert_languages(*spans)
        elif "dg-token" in classes(text):  # a word of an example, the same in both languages
            assert text.get("lang") == ("zh-Hans" if CJK.search(words(text)) else "en")
        else:
            assert not CJK.search(words(text))
            assert text.get("lang") == "en", "lest a Chinese font sets its α and ·"
            assert set(re.findall(r"[A-Za-z_]{4,}", words(text))) <= NAMES


def assert_languages(zh: etree._Element, en: etree._Element) -> None:
    assert (zh.get("lang"), en.get("lang")) == ("zh-Hans", "en")
    assert CJK.search(words(zh))
    assert words(en).strip()
    assert not CJK.search(words(en))


# What the drawings say


@pytest.mark.parametrize(
    ("name", "queries"),
    [
        ("attention-output", 1),
        ("autoregressive-flow", 1),
        ("bahdanau-step", 1),
        ("desk-masked", 1),
        ("input-query-wirings", 2),
        ("location-attention", 1),
        ("query-key-value", 1),
        ("search-engine", 1),
        ("seq2seq-fixed-vs-attention", 3),
        ("soft-hard-local", 3),
        ("three-steps", 4),
    ],
)
def test_the_weights_of_a_query_sum_to_one(name, queries):
    assert sum(weights(drawing(name)).values()) == pytest.approx(queries, abs=0.02)


def weights(root: etree._Element) -> dict[tuple[float, float], float]:
    """Return the share of its ring that each circle fills, by the circle's center."""
    circles = {(c.get("cx"), c.get("cy")): number(c, "r") for c in having(root, "dg-weight")}
    return {
        (number(ring, "cx"), number(ring, "cy")): (
            circles.get((ring.get("cx"), ring.get("cy")), 0) / number(ring, "r")
        ) ** 2
        for ring in having(root, "dg-ring")
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "offset"),
    [
        ("search-engine", (0, 36)),
        ("seq2seq-fixed-vs-attention", (0, 30)),
        ("soft-hard-local", (0, 36)),
    ],
)
def test_a_circle_is_as_large_as_the_number_beside_it(name, offset):
    root = drawing(name)
    printed = {
        (number(t, "x"), number(t, "y")): words(t) for t in elements(root) if tag(t) == "text"
    }
    for (x, y), weight in weights(root).items():
        assert weight == pytest.approx(float(printed[x + offset[0], y + offset[1]]), abs=0.006)


def test_soft_hard_and_local_use_the_scores_above_them():
    root = drawing("soft-hard-local")
    printed = [
        words(text) for text in elements(root)
        if tag(text) == "text" and re.fullmatch(r"[\d.]+", words(text))
    ]  # fmt: skip
    scores = torch.tensor([float(s) for s in printed[:5]])
    soft, hard, local = (torch.tensor([float(s) for s in printed[i : i + 5]]) for i in (5, 11, 17))
    window = window_mask(5, radius=1)[1]
    assert torch.allclose(soft, scores.softmax(0), atol=0.005)
    assert hard.tolist() == torch.nn.functional.one_hot(scores.argmax(), 5).tolist()
    assert torch.allclose(local, scores.masked_fill(~window, -math.inf).softmax(0), atol=0.005)
    assert len(having(root, "dg-hatch")) == (~window).sum()
    pages = torch.tensor([1.0, 16.0, 40.0, 300.0, 0.0])
    outputs = (scores.softmax(0), hard, scores.masked_fill(~window, -math.inf).softmax(0))
    assert [int(output) for output in printed[10::6]] == [round(float(w @ pages)) for w in outputs]


def test_the_blame_on_the_desk_is_the_gradient():
    root = drawing("desk-blame")
    scores = torch.tensor([1.5, 3.0, 2.0, 5.0, 0.0], requires_grad=True)
    pages = torch.tensor([1.0, 16.0, 40.0, 300.0, 0.0])
    output = scores.softmax(0) @ pages
    output.backward()
    drawn = [area for (_, _), area in sorted(weights(root).items(), key=lambda item: item[0][1])]
    assert torch.allclose(torch.tensor(drawn), scores.detach().softmax(0), atol=0.005)
    (shown,), distances, derivatives = (
        [words(text).replace("−", "-") for text in elements(stage) if tag(text) == "text"]
        for stage in elements(root) if stage.get("data-stage") in {"2", "3", "4"}
    )  # fmt: skip
    assert shown == f"{output:.1f}"
    assert distances == [f"{page - output:+.1f}" for page in pages]
    assert derivatives == [f"{share:+.1f}" for share in scores.grad]


def test_two_looks_bring_back_the_word_that_followed():
    root = drawing("induction-hops")
    tokens = [words(text) for text in having(root, "dg-token")[:5]]
    printed = {
        stage.get("data-stage"): [words(text) for text in having(stage, "dg-text")]
        for stage in root.findall(f"{SVG}g")
    }
    assert printed["1"] == [*tokens, tokens[-1]]  # the keys, the query, and what one look finds
    assert printed["3"] == ["–", *tokens[:-1]]
    (asked,) = printed["4"]
    assert asked == tokens[-1]
    assert printed["5"] == [tokens[printed["3"].index(asked)]] * 2


def test_the_masks_are_those_of_the_package():
    root = drawing("mask-shapes")
    seen = torch.tensor([visible(row) for row in having(root, "dg-mask")]).reshape(4, 6, 6)
    # One panel after the other, row by row.
    padding = mask_from_lengths(torch.tensor([4]), 6)[0].expand(6, 6)
    causal, window = causal_mask(6), window_mask(6, radius=1)
    for drawn, mask in zip(seen, [padding, causal, window, padding & causal & window], strict=True):
        assert torch.equal(drawn, mask)
    assert not seen[3, 5].any(), "the arrow points at a query that may see nothing"


def visible(row: etree._Element) -> list[bool]:
    """Return for each cell of a row whether it is free of hatching."""
    cells = [float(x) for x in re.findall(r"M([\d.]+),", row.get("d"))]
    size = float(re.search(r" h([\d.]+) ", row.get("d"))[1])
    hatching = row.getnext()
    strokes: list[float] = []
    if hatching is not None and "dg-hatch" in classes(hatching):
        points = re.findall(r"M([\d.]+),[\d.]+ l(-?[\d.]+),", hatching.get("d"))
        strokes = [float(x) + float(dx) / 2 for x, dx in points]
    return [not any(left < x < left + size for x in strokes) for left in cells]


def test_the_desk_is_computed_as_the_package_does():
    root = drawing("desk-masked")
    scores, masked, exponentials, weights, (*pages, output) = (
        [
            float(words(text).replace("−∞", "-inf")) for text in elements(stage)
            if re.fullmatch(r"[\d.]+|−∞", words(text)) and tag(text) == "text"
        ]
        for stage in elements(root) if stage.get("data-stage")
    )  # fmt: skip
    mask = torch.tensor(masked) > -math.inf
    assert torch.tensor(scores).masked_fill(~mask, -math.inf).tolist() == masked
    power = torch.tensor(masked).exp()
    computed = masked_softmax(torch.tensor([scores]), mask[None])
    assert torch.allclose(power, torch.tensor(exponentials), atol=0.05)
    assert torch.allclose(computed[0], torch.tensor(weights), atol=0.0005)
    assert output == pytest.approx((computed @ torch.tensor(pages)).item(), abs=0.05)
    notes = "".join(words(text) for text in having(root, "dg-note"))
    assert notes.count(f"{power.sum():.1f}") == 2, "the sum, and what is divided by it"
    assert len(having(root, "dg-hatch")) == (~mask).sum()


def test_the_four_conventions_say_the_same():
    root = drawing("mask-conventions")
    drawn = [
        words(text).replace("−", "-") for text in elements(root)
        if tag(text) == "text" and re.fullmatch("True|False|0|1|−∞", words(text))
    ]  # fmt: skip
    mask = mask_from_lengths(torch.tensor([3]), 5)[0]
    ignored = ignore_from_mask(mask)[0].tolist()
    additive = additive_from_mask(mask)[0].tolist()
    assert drawn[:5] == [str(see) for see in mask[0].tolist()]
    assert drawn[5:10] == [str(ignore) for ignore in ignored]
    assert drawn[10:15] == [str(int(ignore)) for ignore in ignored]
    assert drawn[15:] == ["0" if bias == 0 else "-∞" for bias in additive]
    hatched = ["dg-halo" in classes(text) for text in elements(root) if words(text) in ("1", "−∞")]
    assert all(hatched), "what is ignored is hatched"


def printed_texts(root: etree._Element) -> dict[tuple[float, float], str]:
    """Return the texts that are the same in both languages, by their place."""
    return {
        (number(text, "x"), number(text, "y")): words(text).replace("−", "-")
        for text in elements(root)
        if tag(text) == "text" and "bl" not in classes(text)
    }


def row(root: etree._Element, y: float) -> list[str]:
    """Return the words in one line of a drawing, from left to right."""
    line = [(x, text) for (x, its), text in printed_texts(root).items() if its == y]
    return [text for _, text in sorted(line)]


def ends(path: etree._Element) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return where a straight line begins and ends."""
    x0, y0, x1, y1 = map(float, re.findall(r"-?[\d.]+", path.get("d")))
    return (x0, y0), (x1, y1)


def test_a_band_is_as_wide_as_the_number_it_stands_for():
    root = drawing("attentive-decoder")
    widths = []
    for band in having(root, "dg-band"):  # four corners; the ends are the first and the last two
        x, y = (list(map(float, re.findall(rf"[ML]{pattern}", band.get("d"))))
                for pattern in (r"([\d.]+),", r"[\d.]+,([\d.]+)"))  # fmt: skip
        assert math.dist((x[0], y[0]), (x[3], y[3])) == pytest.approx(
            math.dist((x[1], y[1]), (x[2], y[2])), abs=0.05
        )
        widths.append(math.dist((x[0], y[0]), (x[3], y[3])) / 22)
    shares = [float(text) for text in printed_texts(root).values() if text.startswith("0.")]
    assert shares == [0.9, 0.05, 0.05, 0.05, 0.9, 0.05, 0.05, 0.05, 0.9]
    assert widths == pytest.approx(shares, abs=0.005)


def test_the_distracted_and_the_attentive_decoder_share_one_layout():
    distracted, attentive = (
        {place: text for place, text in printed_texts(drawing(name)).items() if place[1] != 204}
        for name in ("distracted-decoder", "attentive-decoder")
    )
    assert distracted.keys() == {place for place in attentive if not 190 < place[1] < 220}
    for place, text in distracted.items():
        assert re.sub(r"C\d", "C", attentive[place]) == text


def test_the_beam_keeps_the_best_and_greedy_misses_it():
    root = drawing("beam-tree")
    texts = printed_texts(root)
    total = {(180.0, 42.0): 0.0}  # by the middle of a box's lower edge
    children: dict[tuple[float, float], list[tuple[float, float]]] = {}
    labels = {place: text for place, text in texts.items() if text.startswith("-")}
    edges = [
        (edge, ends(edge)) for edge in elements(root)
        if tag(edge) == "path" and classes(edge) & {"dg-flow", "dg-best", "dg-drop"}
        and "-" not in edge.get("data-stage", "")  # shown for some stages, then drawn otherwise
    ]  # fmt: skip
    edges = [(edge, (start, end)) for edge, (start, end) in edges if start[1] < end[1]]
    kept: dict[float, list[float]] = {}
    everyone: dict[float, list[float]] = {}
    assert len(edges) == 11
    for edge, (start, (x, y)) in edges:
        printed = float(labels.pop((x, y + 36)))
        middle = ((start[0] + x) / 2, (start[1] + y) / 2)
        beside = min(labels, key=lambda place: math.dist(place, (middle[0] + 6, middle[1] + 5)))
        assert total[start] + float(labels.pop(beside)) == pytest.approx(printed)
        total[x, y + 44] = printed
        children.setdefault(start, []).append((x, y + 44))
        everyone.setdefault(y, []).append(printed)
        if "dg-drop" not in classes(edge):
            kept.setdefault(y, []).append(printed)
    assert not labels
    for step, totals in everyone.items():
        assert sorted(kept[step]) == sorted(totals)[-2:]
    for parent, below in children.items():
        assert sum(math.exp(total[child] - total[parent]) for child in below) <= 1
    greedy, place = [], (180.0, 42.0)
    while place in children:
        place = max(children[place], key=total.__getitem__)
        greedy.append(place)
    dotted = [ends(path)[1] for path in having(root, "dg-greedy")][:3]
    assert [end[1] for end in dotted] == [y - 44 - 3 for _, y in greedy]
    assert all(abs(end[0] - x) < 16 for end, (x, _) in zip(dotted, greedy, strict=True))
    assert total[place] == -2.6
    assert max(everyone[312]) == -1.6
    bold = [ends(path)[1] for path in having(root, "dg-best")][:3]
    assert total[bold[-1][0], bold[-1][1] + 44] == -1.6


def test_training_is_fed_the_truth_and_decoding_its_own_words():
    root = drawing("teacher-forcing")
    truth, predicted, true_input, output, own_input = (
        row(root, y) for y in (62, 118, 220, 316, 418)
    )
    assert true_input == ["<bos>", *truth[:-1]]
    assert own_input == ["<bos>", *output[:-1]]
    assert predicted == output != truth
    signs = [words(text) for text in having(root, "dg-upright")]
    assert signs == ["=" if a == b else "≠" for a, b in zip(truth, predicted, strict=True)]


def test_the_batch_is_the_one_that_the_package_makes():
    root = drawing("padding-batch")
    source, target = ([row(root, top + 16 + 38 * line) for line in range(3)] for top in (26, 418))
    pairs = [
        SentencePair(*(tuple(line[: line.index("<eos>")]) for line in pair))
        for pair in zip(source, target, strict=True)
    ]
    vocabularies = [
        Vocabulary.build(getattr(pair, side) for pair in pairs) for side in ("source", "target")
    ]
    (batch,) = ParallelData(pairs, *vocabularies).batches(3)
    for ids, top, vocabulary in (
        (batch.source, 26, vocabularies[0]),
        (batch.target_input, 262, vocabularies[1]),
        (batch.target_output, 418, vocabularies[1]),
    ):
        for line in range(3):
            assert row(root, top + 16 + 38 * line) == list(vocabulary.decode(ids[line].tolist()))
            assert row(root, top + 33 + 38 * line) == [str(i) for i in ids[line].tolist()]
    drawn = [row(root, 184 + 22 * line) for line in range(3)]
    assert drawn == [[str(real) for real in line] for line in batch.source_mask.tolist()]
    assert f"{batch.num_tokens} " in words(having(root, "dg-note")[0])
    assert f"{batch.num_tokens} " in words(having(root, "dg-note")[1])
    hidden = 2 * ((~batch.source_mask).sum() + (~batch.target_mask).sum())
    assert len(having(root, "dg-hatch")) == hidden


def test_matrix_and_lines_show_the_same_alignment():
    root = drawing("alignment-grid")
    english, french = row(root, 320), row(root, 418)
    assert row(root, 24) == english
    margin = [text for text in having(root, "dg-token") if text.get("text-anchor") == "end"]
    assert [words(text) for text in margin] == french
    dots = {
        (english[int((number(dot, "cx") - 70) // 40)], french[int((number(dot, "cy") - 34) // 32)])
        for dot in having(root, "dg-link")
    }
    lines, crossing = set(), set()
    for path in having(root, "dg-flow") + having(root, "dg-best"):
        (above, _), (below, _) = ends(path)
        link = (english[int(above - 30) // 50], french[int(below - 30) // 50])
        lines.add(link)
        if "dg-best" in classes(path):
            crossing.add(link)
    pairs = "the-la girl-fille reads-lit a-un red-rouge book-livre .-."
    assert dots == lines == {tuple(pair.split("-")) for pair in pairs.split()}
    assert crossing == {("red", "rouge"), ("book", "livre")}


# What the reader sees

OVERLAPS = """() => {
  const troubles = [];
  const frame = document.querySelector('svg').getBoundingClientRect();
  const scale = frame.width / 360;
  const boxes = [...document.querySelectorAll('svg text')]
    .filter(text => getComputedStyle(text).display !== 'none')
    .map(text => [text.textContent, text.getBoundingClientRect()])
    .filter(([_, box]) => box.width > 0);
  boxes.forEach(([text, box], i) => {
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1
        || box.bottom > frame.bottom + 1) troubles.push(`${text} leaves the drawing`);
    for (const [other, its] of boxes.slice(0, i)) {
      const width = Math.min(box.right, its.right) - Math.max(box.left, its.left);
      const height = Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top);
      if (width > 1 && height > 4 * scale) troubles.push(`${text} lies over ${other}`);
    }
  });
  return troubles;
}"""


@pytest.fixture(scope="module")
def sheet(browser_type):
    """A blank page in the system's chromium, as wide as a phone."""
    found = chromium()
    if not found:
        missing = pytest.fail if os.environ.get("BOOK_REQUIRE_BROWSER") else pytest.skip
        missing(MISSING)
    browser = browser_type.launch(
        executable_path=found, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    )
    yield browser.new_page(viewport={"width": 360, "height": 640})
    browser.close()


@pytest.mark.browser
@pytest.mark.parametrize("language", ["zh", "en", "both", None])
def test_no_text_leaves_its_drawing_or_lies_over_another(sheet, language):
    styles = STYLES.read_text("utf8") + LANGUAGE_STYLES.read_text("utf8")
    attribute = f' data-language="{language}"' if language else ""

    def check(name):
        sheet.set_content(
            f"<!doctype html><html{attribute}><style>{styles} body {{ margin: 0 }} "
            "svg { display: block; width: 100%; height: auto }</style>"
            f"{etree.tostring(drawing(name), encoding='unicode')}"
        )
        assert sheet.evaluate(OVERLAPS) == []

    no_offenders(check, DRAWINGS)
