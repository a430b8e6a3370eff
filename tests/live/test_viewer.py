"""The viewer of heads: what it takes, what it refuses, and that it shows what it was given."""

import json
import re
import sys
from html import unescape
from types import SimpleNamespace
from typing import Any

import nbclient
import nbformat
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from py_mini_racer import MiniRacer

from attention_book.foundations import visible_label
from attention_book.inspection import capture_attention
from attention_book.live import HeadViewer
from attention_book.models import Seq2Seq, Seq2SeqConfig, Transformer, TransformerConfig
from attention_book.text import BOS

LAYERS, HEADS, QUERIES, KEYS = 2, 3, 5, 7
SOURCE = [f"word{j}" for j in range(KEYS)]
TARGET = [f"mot{i}" for i in range(QUERIES)]
OWN_NAMESPACE = "http://www.w3.org/2000/svg"  # a name; nobody asks it for anything


def random_weights(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(5)).softmax(dim=-1)


@pytest.fixture
def weights() -> torch.Tensor:
    """(layer, head, query, key): a different prime for each axis."""
    return random_weights(LAYERS, HEADS, QUERIES, KEYS)


@pytest.fixture
def output() -> SimpleNamespace:
    """What an encoder–decoder of Hugging Face returns: a tensor for each layer, two sentences."""
    return SimpleNamespace(
        encoder_attentions=tuple(random_weights(LAYERS, 2, HEADS, KEYS, KEYS)),
        decoder_attentions=tuple(random_weights(LAYERS, 2, HEADS, QUERIES, QUERIES)),
        cross_attentions=tuple(random_weights(LAYERS, 2, HEADS, QUERIES, KEYS)),
    )


def viewed(viewer: HeadViewer, key: str) -> torch.Tensor:
    return viewer.kinds[key].weights.float()


# --- layouts ---------------------------------------------------------------------------------


def test_plain_tensors_lists_and_layers_are_the_same(weights: torch.Tensor) -> None:
    for each in (weights, weights.tolist(), list(weights), weights.numpy(), weights[:, None]):
        layers = tuple(each) if each is not weights else each
        viewer = HeadViewer(layers, source=SOURCE, target=TARGET)
        torch.testing.assert_close(viewed(viewer, "attention"), weights)
    half = HeadViewer(weights.bfloat16(), source=SOURCE, target=TARGET)
    torch.testing.assert_close(viewed(half, "attention"), weights.bfloat16().float())


def test_the_layout_of_hugging_face(output: SimpleNamespace) -> None:
    viewer = HeadViewer(**vars(output), source=SOURCE, target=TARGET, batch=1)
    assert list(viewer.kinds) == ["encoder", "decoder", "cross"]
    for kind, name in (("encoder", "encoder"), ("decoder", "decoder"), ("cross", "cross")):
        expected = torch.stack([layer[1] for layer in vars(output)[f"{name}_attentions"]])
        torch.testing.assert_close(viewed(viewer, kind), expected)
    cross = viewer.kinds["cross"]
    assert (cross.queries, cross.keys) == (tuple(TARGET), tuple(SOURCE))


def test_the_steps_of_generate_are_put_together_row_by_row(weights: torch.Tensor) -> None:
    causal = random_weights(LAYERS, HEADS, QUERIES, QUERIES).tril()
    steps = tuple(
        tuple(layer[None, :, t : t + 1, : t + 1] for layer in causal) for t in range(QUERIES)
    )
    viewer = HeadViewer(decoder_attentions=steps, target=TARGET)
    torch.testing.assert_close(viewed(viewer, "decoder"), causal)


def test_what_was_captured_of_a_transformer() -> None:
    config = TransformerConfig(source_vocabulary=11, target_vocabulary=11)
    model = Transformer(config).eval()
    source, target = torch.arange(KEYS)[None] + 4, torch.tensor([[BOS, 4, 5, 6, 7]])
    with torch.no_grad(), capture_attention(model) as seen:
        model(source, torch.ones(1, KEYS, dtype=torch.bool), target)
    viewer = HeadViewer(seen, source=SOURCE, target=TARGET)
    assert list(viewer.kinds) == ["encoder", "decoder", "cross"], "the model's own map is no kind"
    for layer in range(config.num_layers):
        expected = seen[f"decoder.layers.{layer}.cross_attention"][0][0]
        torch.testing.assert_close(viewed(viewer, "cross")[layer], expected)
    first_calls = {name: calls[0] for name, calls in seen.items()}
    again = HeadViewer(first_calls, source=SOURCE, target=TARGET)
    torch.testing.assert_close(viewed(again, "cross"), viewed(viewer, "cross"))


def test_what_was_captured_of_a_recurrent_decoder() -> None:
    model = Seq2Seq(Seq2SeqConfig(source_vocabulary=11, target_vocabulary=11)).eval()
    source, target = torch.arange(KEYS)[None] + 4, torch.tensor([[BOS, 4, 5, 6, 7]])
    mask = torch.ones(1, KEYS, dtype=torch.bool)
    with torch.no_grad(), capture_attention(model) as seen:
        model(source, mask, target)
    (kind,) = HeadViewer(seen, source=SOURCE, target=TARGET).kinds.values()
    assert kind.key == "cross"
    torch.testing.assert_close(
        kind.weights[0, 0].float(), model.weights(source, mask, target)[0].detach()
    )


# --- errors ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "expected weights: attention, .*got none"),
        ({"attention": torch.ones(3, 3)}, r"expected \(layer, head, query, key\).*got \(3, 3\)"),
        ({"attention": "weights"}, r"attention: expected tensors or numbers"),
        ({"attention": {}}, "captured weights, got none: has the model run"),
        ({"cross_attentions": (None, None)}, 'got None; .*attn_implementation="eager"'),
        ({"attention": [torch.ones(2, 1, 1), torch.ones(3, 1, 1)]}, r"\(2, 1, 1\) and \(3, 1, 1\)"),
        ({"attention": torch.full((1, 1, 1, 2), -4.0)}, "from -4 to -4; scores become weights"),
        ({"attention": torch.full((1, 1, 1, 2), torch.nan)}, "from nan to nan"),
        ({"attention": torch.ones(1, 0, 1, 1)}, r"expected a head, .*got \(1, 0, 1, 1\)"),
        ({"attentions": (torch.ones(2, 1, 1, 1),), "batch": 2}, "batch below 2, got 2"),
        ({"attention": {"a": [torch.ones(1, 2, 1)] * 2}}, r"got 2 calls with \[2, 2\] queries"),
        ({"attention": torch.ones(1, 1, 1, 2)}, r"expected tokens=.* got none|expected .*got none"),
        ({"attention": torch.ones(1, 1, 2, 2), "tokens": ["a"]}, "each query, 2, got 1: a"),
        ({"attention": torch.ones(1, 1, 1, 1), "tokens": "a"}, r"got one string; try .split\(\)"),
        ({"attention": torch.ones(1, 1, 1, 1), "tokens": [5]}, "got 5; .*convert_ids_to_tokens"),
        ({"cross_attentions": torch.ones(1, 1, 1, 1), "target": ["a"]}, r"cross: expected source="),
    ],
)
def test_one_clear_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HeadViewer(**arguments)


def test_there_is_no_such_place(weights: torch.Tensor) -> None:
    viewer = HeadViewer(weights, source=SOURCE, target=TARGET)
    with pytest.raises(ValueError, match="kind: expected one of attention, got 'cross'"):
        viewer.at("cross")
    with pytest.raises(ValueError, match="layer: expected from 1 to 2, got 3"):
        viewer.at(layer=3)
    with pytest.raises(ValueError, match="color: expected layer, head"):
        viewer.at(color=1)


# --- numbers ---------------------------------------------------------------------------------


def shown(engine: MiniRacer, viewer: HeadViewer, key: str, layer: int, head: int) -> torch.Tensor:
    """What the browser reads out of the page."""
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', viewer.html())
    numbers = f"""(() => {{
        const {{ kindOf, weightsOf }} = attentionBookLive.modules["widgets/heads/weights"];
        const data = JSON.parse({json.dumps(data)}).data;
        return JSON.stringify([...weightsOf(kindOf(data, "{key}"), {layer}, {head})]);
    }})()"""
    return torch.tensor(json.loads(engine.eval(numbers)))


def test_the_numbers_that_go_in_come_out(engine: MiniRacer, output: SimpleNamespace) -> None:
    viewer = HeadViewer(**vars(output), source=SOURCE, target=TARGET)
    for key, kind in viewer.kinds.items():
        for layer in range(LAYERS):
            for head in range(HEADS):
                found = shown(engine, viewer, key, layer + 1, head + 1)
                expected = kind.weights[layer, head].flatten().float()
                torch.testing.assert_close(found, expected, rtol=0, atol=0.0005001)
            mean = kind.weights[layer].mean(dim=0).flatten().float()
            found = shown(engine, viewer, key, layer + 1, 0)
            torch.testing.assert_close(found, mean, rtol=0, atol=0.0005001)


def test_it_opens_at_the_sharpest_head(weights: torch.Tensor) -> None:
    even = torch.full((QUERIES, KEYS), 0.1 / KEYS)
    weights[1, 2] = even + 0.9 * torch.eye(KEYS)[4]
    weights[1, 2, 3] = even[3] / 2 + 0.95 * torch.eye(KEYS)[4]
    weights[1, 2, 0] = torch.eye(KEYS)[0]  # had no choice, as the first row under a causal mask
    state = HeadViewer(weights, source=SOURCE, target=TARGET).state
    assert [state[key] for key in ("layer", "head", "query")] == [2, 3, 4]


def test_the_still_drawing_reads_its_row(engine: MiniRacer, weights: torch.Tensor) -> None:
    weights[0, 1, 2] = torch.eye(KEYS)[5]
    viewer = HeadViewer(weights, source=SOURCE, target=TARGET).at(layer=1, head=2, query=3)
    html = engine.eval(
        f"""attentionBookLive.modules["widgets/heads"].default
        .still({json.dumps(viewer.state)}).outerHTML"""
    )
    assert "Layer 1, head 2. “mot2” looks most at “word5” 1.00." in html
    assert "第 1 层，头 2。“mot2”看得最多的是“word5” 1.00。" in html
    assert html.count("<svg") == 1


def test_faint_weights_are_not_drawn(engine: MiniRacer) -> None:
    cells = """(threshold) => attentionBookLive.modules["widgets/heads/ink"].ink({
        weights: Float32Array.of(0.004, 0.006, 0.3, 0.7), columns: 2, threshold, cell: 12 })
        .map((path) => path.outerHTML.split("M").length - 1).reduce((a, b) => a + b, 0)"""
    assert [engine.eval(f"({cells})({threshold})") for threshold in (0, 0.1, 0.5)] == [3, 2, 1]


LETTER = st.characters(codec="utf-8", max_codepoint=0x2FFF)
ODD = "\u200b\u200c\u200d\u202e\ufeff\ufe0f\u0301 \u3000\xa0\n\t\r"
ODD += "\x1b\x1f\x7f\x85\u2028\U000e0067\U0001f600"


@settings(max_examples=settings().max_examples // 2)
@given(label=st.text(LETTER | st.sampled_from(ODD), max_size=8))
@example("\x1c a")
@example("\ud800a")
@example("می\u200cخواهم")
def test_the_browser_draws_a_label_as_the_package_does(engine: MiniRacer, label: str) -> None:
    halves = json.dumps(label)
    drawn = engine.eval(f'attentionBookLive.modules["page/words"].visible({halves}, 1000)')
    assert drawn == visible_label(label)


def heads_of(html: str) -> dict[str, float]:
    """Where each name above the map begins or ends, from the left."""
    found = re.findall(r'<text transform="translate\(([\d.]+) [^>]*>([^<]+)<', html)
    return {unescape(name): float(x) for x, name in found}


@pytest.mark.parametrize(
    ("keys", "direction", "turned"),
    [
        (["هذا", "كتاب", "جميل"], None, True),
        (["<s>", "שלום", "world"], None, True),
        (["12", "a", "שלום"], None, False),
        (["你", "好", "吗"], None, False),
        (["a", "b", "c"], "rtl", True),
        (["هذا", "كتاب", "جميل"], "ltr", False),
    ],
)
def test_a_sentence_runs_as_its_letters_do(
    engine: MiniRacer, keys: list[str], direction: Any, turned: bool
) -> None:
    """Whole sentences, not only words: the first column is the rightmost, its ink below it."""
    weights = torch.eye(3)[None, None]
    viewer = HeadViewer(weights, tokens=keys, direction=direction, language="en").at(query=1)
    (kind,) = viewer.state["data"]["kinds"]
    assert kind["directions"] == ["rtl" if turned else "ltr"] * 2
    html = engine.eval(
        f'attentionBookLive.modules["widgets/heads"].default.still({json.dumps(viewer.state)})'
        ".outerHTML"
    )
    places = heads_of(html)
    assert [*places] == keys
    assert sorted(places.values(), reverse=turned) == [*places.values()]
    assert ("scale(-1 1)" in html) is turned
    # In the sentence each such word is kept apart, so that weights stay beside their words.
    assert ("\u2068" in html) is (ord(keys[0][0]) in range(0x590, 0x700))


def test_a_row_that_lacks_weight_says_so(engine: MiniRacer) -> None:
    viewer = HeadViewer(torch.tensor([[[[0.5, 0.2], [0.4, 0.6]]]]), tokens=["a", "b"])
    still = 'attentionBookLive.modules["widgets/heads"].default.still'
    first, second = (
        engine.eval(f"{still}({json.dumps(viewer.at(query=query).state)}).outerHTML")
        for query in (1, 2)
    )
    assert "Its row sums to 0.70." in first
    assert "sums to" not in second


def test_parts_of_characters_are_explained(engine: MiniRacer) -> None:
    still = 'attentionBookLive.modules["widgets/heads"].default.still'
    for tokens, is_cut in ((["å", "ľ¨", "Ġa"], True), (["f(1/2", "b", "c"], False)):
        viewer = HeadViewer(torch.eye(3)[None, None], tokens=tokens)
        html = engine.eval(f"{still}({json.dumps(viewer.state)}).outerHTML")
        assert ("has 2 parts" in html) is is_cut


# --- the file --------------------------------------------------------------------------------


def test_the_file_is_small_and_asks_nobody(weights: torch.Tensor, tmp_path: Any) -> None:
    viewer = HeadViewer(weights, source=SOURCE, target=TARGET)
    path = viewer.save(tmp_path / "heads.html")
    html = path.read_text(encoding="utf8")
    data = json.dumps(viewer.state, ensure_ascii=False, separators=(",", ":"))
    assert len(html.encode()) - len(data.encode()) <= 60_000
    assert not re.search(r"https?://", html.replace(OWN_NAMESPACE, ""))
    assert not re.search(r"<link|<img|\bimport\(|\bfetch\(|src=", html)
    assert "default-src 'none'" in html


HOSTILE = ["</script><script>alert(1)</script>", "<!--", '"&quot;', "\u202eabc", "{{7*7}}", "😀"]


def test_tokens_are_text_wherever_they_stand(engine: MiniRacer) -> None:
    viewer = HeadViewer(torch.eye(6).expand(1, 1, 6, 6), tokens=HOSTILE, language="en")
    html = viewer.html(title="<b>&")
    assert html.count("<script") == 2
    assert "<!--" not in html
    assert "<title>&lt;b&gt;&amp;</title>" in html
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', html)
    assert json.loads(data)["data"]["kinds"][0]["keys"] == HOSTILE
    drawing = engine.eval(
        f'attentionBookLive.modules["widgets/heads"].default.still(JSON.parse({json.dumps(data)}))'
        ".outerHTML"
    )
    assert "<script" not in drawing
    assert "\u202e" not in drawing


# --- notebooks -------------------------------------------------------------------------------


def test_a_viewer_is_opened_in_the_language_that_any_code_names(weights: torch.Tensor) -> None:
    for code, name in (("zh_TW.UTF-8", "zh"), ("eng", "en"), (None, "")):
        viewer = HeadViewer(weights, source=SOURCE, target=TARGET, language=code)
        assert viewer.state["language"] == name


def test_without_anywidget_a_notebook_gets_a_frame(
    weights: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "attention_book.live.viewer.widget", raising=False)
    viewer = HeadViewer(weights, source=SOURCE, target=TARGET)
    assert "<iframe" in viewer._repr_mimebundle_()["text/html"]
    with pytest.raises(ImportError, match=r'pip install "attention-book\[viewer\] @ git'):
        viewer.widget()


def test_in_the_book_its_page_brings_it_to_life(
    weights: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTENTION_BOOK_BUILD", "1")
    viewer = HeadViewer(weights, source=SOURCE, target=TARGET)
    markup = viewer._repr_mimebundle_()["text/html"]
    assert markup.startswith('<div data-live="heads"><script type="application/json">')
    assert "<iframe" not in markup


def test_the_widget_has_the_state_as_its_traits(weights: torch.Tensor) -> None:
    pytest.importorskip("anywidget")
    viewer = HeadViewer(weights, source=SOURCE, target=TARGET, language="zh").at(layer=2, head=0)
    widget = viewer.widget()
    assert (widget.layer, widget.head, widget.language) == (2, 0, "zh")
    assert widget.data == viewer.state["data"]
    assert "export default" in widget._esm
    assert "application/vnd.jupyter.widget-view+json" in viewer._repr_mimebundle_()[0]


CELL = """
import torch
from attention_book.live import HeadViewer
HeadViewer(torch.eye(3).expand(2, 4, 3, 3), tokens=["a", "red", "book"])
"""


def test_a_notebook_shows_the_widget() -> None:
    pytest.importorskip("anywidget")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    nbclient.NotebookClient(notebook, timeout=300).execute()
    shown = notebook.cells[0].outputs[-1]["data"]
    models = notebook.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    view = shown["application/vnd.jupyter.widget-view+json"]["model_id"]
    assert models[view]["state"]["data"]["kinds"][0]["queries"] == ["a", "red", "book"]
