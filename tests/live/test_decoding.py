"""Live figures of the cache, drafts, the roofline and beams compute what the package computes."""

import json
import re
from typing import Any

import pytest
import torch
from py_mini_racer import MiniRacer

from attention_book.attention import KVCache, MultiHeadAttention, NoPositions
from attention_book.decoding import (
    acceptance_rate,
    beam_search,
    beam_trace,
    greedy_search,
    residual_distribution,
)
from attention_book.inspection import CachedToken, Roofline, decoding_step, operations
from attention_book.live import BeamViewer
from attention_book.live.viewer.beams import NUM_FOLLOWING, PENALTIES, WIDTHS
from attention_book.models import (
    Layer,
    LayerConfig,
    Seq2Seq,
    Seq2SeqConfig,
    Transformer,
    TransformerConfig,
)
from attention_book.text import Vocabulary, encode_source

# --- the KV cache ------------------------------------------------------------------------------


DTYPES = {4: torch.float32, 2: torch.bfloat16, 1: torch.int8}
STATES = [
    {},
    {"shared": "2"},
    {"shared": "all", "layers": 3},
    {"heads": 8, "shared": "4", "d_model": 256, "bytes": 2},
    {"heads": 32, "shared": "all", "bytes": 1, "words": 12},
    {"heads": 32, "shared": "4", "d_model": 256, "layers": 32, "bytes": 2, "words": 1},
]
BEGIN = {"layers": 2, "d_model": 64, "heads": 4, "shared": "1", "bytes": 4, "words": 7}


def attention_of(state) -> MultiHeadAttention:
    heads = state["heads"]
    kv_heads = 1 if state["shared"] == "all" else heads // int(state["shared"])
    return MultiHeadAttention(d_model=state["d_model"], num_heads=heads, num_kv_heads=kv_heads)


def layer_of(state) -> Layer:
    """A decoder layer as in the chapter, whose heads share keys and values as the state says."""
    width = state["d_model"]
    config = LayerConfig(d_model=width, num_heads=state["heads"], d_ff=2 * width, dropout=0.0)
    layer = Layer(config, NoPositions(), reads_source=True).eval()
    layer.self_attention = attention_of(state).eval()
    return layer


@pytest.mark.parametrize("state", STATES, ids=str)
def test_bytes_of_the_cache(state, compute) -> None:
    found, state = compute("kv-cache", **state), BEGIN | state
    attention = attention_of(state)
    for t in (1, 7, 12):
        cache = attention.project(torch.zeros(1, t, state["d_model"]))
        numbers = [each.to(DTYPES[state["bytes"]]) for each in (cache.keys, cache.values)]
        assert cache.keys.shape[1] == found["kv_heads"]
        taken = state["layers"] * sum(each.nbytes for each in numbers)
        assert found["bytes"][t - 1] == taken == t * found["bytesEach"]
        assert taken == state["layers"] * attention.cache_bytes(t) * state["bytes"] // 4
    assert found["context"] == 2**17 * found["bytesEach"]
    alone = compute("kv-cache", **(state | {"shared": "1"}))
    assert found["unshared"] == alone["bytes"]


@pytest.mark.parametrize("state", STATES, ids=str)
def test_operations_of_a_step(state, compute) -> None:
    found, state = compute("kv-cache", **state), BEGIN | state
    layer, width = layer_of(state), state["d_model"]
    x, project = torch.zeros(1, 12, width), layer.self_attention.project
    source = layer.cross_attention.project(torch.zeros(1, 10, width))

    def anew(t: int) -> int:
        return operations(lambda: layer(x[:, :t], is_causal=True, source=source))

    def kept(t: int, past) -> int:
        def step() -> None:
            cache = KVCache()
            cache.extend(*past())
            layer(x[:, t - 1 : t], cache=cache, source=source)

        return operations(step)

    for t in (1, 2, 7, 12):
        already = project(x[:, : t - 1])
        counted = {
            "kept": kept(t, lambda past=already: past),
            "inputs": kept(t, lambda end=t - 1: project(x[:, :end])),
            "anew": anew(t),
        }
        expected = {kind: state["layers"] * each for kind, each in counted.items()}
        assert found["steps"][t - 1] == expected
        assert expected["anew"] == t * expected["kept"]


def test_operations_follow_the_chapter_s_formula(compute) -> None:
    d, f, n = 64, 128, 10
    for t, step in enumerate(compute("kv-cache")["steps"], start=1):
        kept = 12 * d * d + 4 * d * f + 4 * d * (t + n)
        inputs = kept + 4 * d * d * (t - 1)
        assert step == {"kept": 2 * kept, "inputs": 2 * inputs, "anew": 2 * t * kept}


def test_totals_are_sums_up_to_this_word(compute) -> None:
    found = compute("kv-cache", words=5)
    for kind, total in found["totals"].items():
        assert total == sum(step[kind] for step in found["steps"][:5])


def test_llama_takes_what_the_chapter_says(compute) -> None:
    llama = {"layers": 32, "d_model": 4096, "heads": 32, "bytes": 2}
    assert compute("kv-cache", shared="4", **llama)["context"] == 16 * 2**30
    assert compute("kv-cache", shared="1", **llama)["context"] == 64 * 2**30


def squares(drawing: str, kind: str) -> int:
    return len(re.findall(rf'<rect class="{kind}"', drawing))


@pytest.mark.parametrize("words", range(1, 13))
def test_filled_is_what_the_step_computes(words: int, draw) -> None:
    drawing = draw("kv-cache", words=words)
    row, triangle = words, words * (words + 1) // 2
    assert squares(drawing, "live-fill") == row + triangle + 2  # and the two bars
    assert squares(drawing, "live-axis") == triangle - row  # computed by earlier steps
    assert squares(drawing, "live-keep") == words - 1  # in the cache already


# --- speculative sampling ----------------------------------------------------------------------


DRAFTS = ("other", "near", "same", "far")


@pytest.mark.parametrize("draft", DRAFTS)
def test_the_numbers_are_the_packages(draft, compute) -> None:
    found = compute("speculative", draft=draft)
    p, q = (torch.tensor(found[name], dtype=torch.float64) for name in "pq")
    alpha = acceptance_rate(p, q).item()
    assert found["alpha"] == pytest.approx(alpha)
    assert found["rest"] == pytest.approx(residual_distribution(p, q).tolist(), abs=1e-6)
    assert found["written"] == pytest.approx(found["p"])


@pytest.mark.parametrize("draft", DRAFTS)
def test_drawn_from_the_target_it_is_another_distribution(draft, compute) -> None:
    found = compute("speculative", draft=draft, again="target")
    wrong = [
        min(a, b) + (1 - found["alpha"]) * a for a, b in zip(*map(found.get, "pq"), strict=True)
    ]
    assert found["written"] == pytest.approx(wrong)
    assert (found["written"] == pytest.approx(found["p"])) == (draft == "same")


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("again", ["rest", "target"])
def test_what_is_rejected_flows_to_what_is_drawn(draft, again, compute, draw) -> None:
    found = compute("speculative", draft=draft, again=again)
    flows = torch.tensor(found["flows"], dtype=torch.float64)
    assert flows.sum(1).tolist() == pytest.approx(found["rejected"])
    assert flows.sum(0).tolist() == pytest.approx(found["drawn"])
    kept = [a + b for a, b in zip(found["accepted"], found["rejected"], strict=True)]
    assert kept == pytest.approx(found["q"])
    # A band for each flow that is not 0, and "= p" where the word ends at p.
    drawing = draw("speculative", draft=draft, again=again)
    assert drawing.count('class="live-flow-warm"') == (flows > 1e-9).sum()
    met = sum(abs(a - b) < 1e-9 for a, b in zip(found["written"], found["p"], strict=True))
    assert drawing.count("= p</text>") == met == (3 if again == "rest" or draft == "same" else 0)


def test_the_chapters_numbers(compute) -> None:
    found = compute("speculative", again="target")
    assert found["written"] == pytest.approx([0.35, 0.39, 0.26])


# --- the roofline ------------------------------------------------------------------------------


KEPT = {
    "own": CachedToken.heads(num_heads=32, d_k=128),
    "shared": CachedToken.heads(num_heads=32, d_k=128, num_kv_heads=8),
    "latent": CachedToken.latent(num_heads=32, kv_rank=512, d_rope=64),
}
WEIGHTS = 32 * (2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336) + 4096 * 128256
ROOFLINE_STATES = [
    {},
    {"batch": 6},
    {"batch": 10, "tokens": 8192},
    {"batch": 3, "tokens": 131072, "kept": "own", "ridge": 5},
    {"batch": 8, "tokens": 1024, "kept": "latent", "ridge": 50},
]
ROOFLINE_BEGIN = {"batch": 0, "tokens": 0, "kept": "shared", "ridge": 300}


@pytest.mark.parametrize("state", ROOFLINE_STATES, ids=str)
def test_every_step_is_the_packages(state, compute) -> None:
    found, state = compute("roofline", **state), ROOFLINE_BEGIN | state
    machine = Roofline(bandwidth=1.0, peak=float(state["ridge"]))
    assert found["weights"] == 2 * WEIGHTS
    for power, step in enumerate(found["steps"]):
        cost = decoding_step(
            num_weights=WEIGHTS,
            cached=KEPT[state["kept"]],
            num_layers=32,
            num_tokens=state["tokens"],
            batch_size=2**power,
            bytes_per_number=2,
        )
        assert (step["bytes"], step["operations"]) == (cost.bytes_read, cost.operations)
        share = machine.attainable(cost.intensity) / machine.peak
        assert step["share"] == pytest.approx(share, rel=1e-12)
    assert found["now"] == found["steps"][state["batch"]]


def test_the_caption_is_true(compute) -> None:
    assert compute("roofline")["now"]["share"] < 0.004
    empty, long = (compute("roofline", batch=6, tokens=n)["now"]["share"] for n in (0, 8192))
    assert empty > 0.2
    assert long < empty / 4
    assert compute("roofline", batch=10)["now"]["share"] == 1
    assert compute("roofline", batch=10, tokens=8192)["now"]["share"] < 0.1


# --- beams -------------------------------------------------------------------------------------


SENTENCE, LIMIT = ("go", "on", "."), 7
ENGLISH = Vocabulary.build([SENTENCE])
FRENCH = Vocabulary.build([("va", "marche", "!", "ici", "là", "loin", "vite", "bien")])
SEEDS = {"recurrent": 7, "transformer": 1}
CLOSE = 1e-5

FOUND = """(state) => {
  const { begin, compute } = attentionBookLive.modules["widgets/beams"].default;
  const { steps, best, greedy, now } = compute({ ...begin, ...state });
  const plain = ({ words, sum, score, finished, from }) => ({ words, sum, score, finished, from });
  return JSON.stringify({ now, best: plain(best), greedy: plain(greedy),
    steps: steps.map(({ kept, dropped }) =>
      ({ kept: kept.map(plain), dropped: dropped.map(plain) })) });
}"""


def model(kind: str) -> Any:
    """An untrained model whose predictions are far from even, so that searches differ."""
    torch.manual_seed(SEEDS[kind])
    sizes = {"source_vocabulary": len(ENGLISH), "target_vocabulary": len(FRENCH)}
    if kind == "recurrent":
        found: Any = Seq2Seq(Seq2SeqConfig(**sizes))
    else:
        found = Transformer(TransformerConfig(**sizes))
    with torch.no_grad():
        for weights in found.parameters():
            weights *= 2
    return found.double()


@pytest.fixture(scope="module", params=SEEDS)
def translator(request: pytest.FixtureRequest) -> Any:
    return model(request.param)


@pytest.fixture(scope="module")
def viewer(translator: Any) -> BeamViewer:
    return BeamViewer(translator, SENTENCE, ENGLISH, FRENCH, max_tokens=LIMIT)


def found(engine: MiniRacer, viewer: BeamViewer, **state: Any) -> Any:
    given = json.dumps(viewer.at(**state).state)
    return json.loads(engine.eval(f"({FOUND})({given})"))


def words_of(hypothesis: Any) -> list[str]:
    return FRENCH.decode(hypothesis.ids) + ["<eos>"] * hypothesis.finished


def test_every_width_and_penalty_has_the_winner_of_beam_search(
    engine: MiniRacer, translator: Any, viewer: BeamViewer
) -> None:
    source, mask = encode_source([SENTENCE], ENGLISH)
    winners = set()
    for width in WIDTHS:
        for penalty in PENALTIES[::4]:
            [[best]] = beam_search(
                translator, source, mask, width=width, length_penalty=penalty, max_tokens=LIMIT
            )
            shown = found(engine, viewer, width=width, penalty=penalty)["best"]
            assert shown["words"] == words_of(best)
            assert shown["sum"] == pytest.approx(best.log_prob, abs=CLOSE)
            assert shown["score"] == pytest.approx(best.score, abs=CLOSE)
            assert shown["finished"] == best.finished
            winners.add(best.ids)
    assert len(winners) > 2, "a model for which nothing depends on width and penalty proves little"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("penalty", [0.0, 0.7, 2.0])
def test_every_step_keeps_and_drops_the_same(
    width: int, penalty: float, engine: MiniRacer, translator: Any, viewer: BeamViewer
) -> None:
    source, mask = encode_source([SENTENCE], ENGLISH)
    trace = beam_trace(
        translator,
        source,
        mask,
        width=width,
        num_dropped=NUM_FOLLOWING - width,
        length_penalty=penalty,
        max_tokens=LIMIT,
    )
    shown = found(engine, viewer, width=width, penalty=penalty)["steps"]
    assert len(shown) == len(trace)
    for theirs, ours in zip(shown, trace, strict=True):
        dropped = theirs["dropped"][: NUM_FOLLOWING - width]
        for each, expected in zip(
            [*theirs["kept"], *dropped], [*ours.kept, *ours.dropped], strict=False
        ):
            assert each["words"] == words_of(expected)
            assert each["score"] == pytest.approx(expected.score, abs=CLOSE)
        assert len(theirs["kept"]) == len(ours.kept)
        assert len(dropped) == len(ours.dropped)


def test_width_1_is_greedy_search(engine: MiniRacer, translator: Any, viewer: BeamViewer) -> None:
    source, mask = encode_source([SENTENCE], ENGLISH)
    [greedy] = greedy_search(translator, source, mask, max_tokens=LIMIT)
    shown = found(engine, viewer, width=1, penalty=1.3)
    assert shown["greedy"]["words"] == shown["best"]["words"] == words_of(greedy)


def test_a_candidate_continues_the_one_that_it_names(engine: MiniRacer, viewer: BeamViewer) -> None:
    before, *after = found(engine, viewer, width=4)["steps"]
    for step in after:
        for each in step["kept"]:
            parent = before["kept"][each["from"]]["words"]
            assert each["words"][: len(parent)] == parent
            assert len(each["words"]) - len(parent) == (parent[-1] != "<eos>")
        before = step


# --- what is drawn and said ---------------------------------------------------------------------


def still(engine: MiniRacer, viewer: BeamViewer) -> str:
    widget = 'attentionBookLive.modules["widgets/beams"].default'
    return str(engine.eval(f"{widget}.still({json.dumps(viewer.state)}).outerHTML"))


@pytest.mark.parametrize("width", WIDTHS)
def test_it_is_drawn_in_both_languages(width: int, engine: MiniRacer, viewer: BeamViewer) -> None:
    for step in range(viewer.state["data"]["longest"] + 1):
        html = still(engine, viewer.at(width=width, step=step))
        assert html.count("<svg") == 1
        assert f"Width {width}, α = 0.0" in html or f"width {width}: “" in html
        assert "束宽" in html
        for wrong in ("NaN", "undefined", "[object", "Infinity"):
            assert wrong not in html


def test_more_steps_show_more(engine: MiniRacer, viewer: BeamViewer) -> None:
    boxes = [still(engine, viewer.at(step=step)).count("<rect") for step in (1, 2, 3)]
    assert boxes == sorted(set(boxes))


def test_an_address_names_a_search_that_is_there(engine: MiniRacer, viewer: BeamViewer) -> None:
    parse = """(key, text, longest) => attentionBookLive.modules["widgets/beams"].default
        .address[key](text, { get: () => ({ longest }) }) ?? null"""
    longest = viewer.state["data"]["longest"]
    for key, text, value in (
        ("width", "5", 5), ("width", "6", None), ("width", "0", None),
        ("penalty", "0.3", 0.3), ("penalty", "0.35", None), ("penalty", "-1", None),
        ("step", str(longest), longest), ("step", str(longest + 1), None), ("step", "<b>", None),
    ):  # fmt: skip
        assert engine.eval(f"({parse})({key!r}, {text!r}, {longest})") == value


def test_words_are_text_wherever_they_stand(engine: MiniRacer) -> None:
    hostile = Vocabulary.build([("<b>x</b>", '"&', "\u202eabc", "</script>")])
    torch.manual_seed(2)
    sizes = {"source_vocabulary": len(ENGLISH), "target_vocabulary": len(hostile)}
    viewer = BeamViewer(Seq2Seq(Seq2SeqConfig(**sizes)), SENTENCE, ENGLISH, hostile, max_tokens=3)
    assert viewer.html().count("<script") == 2
    drawing = still(engine, viewer.at(width=5))
    assert "<b>" not in drawing
    assert "</script>" not in drawing
    assert "\u202e" not in drawing


# --- the viewer ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 6}, "width: expected one from 1 to 5, got 6"),
        ({"penalty": 0.25}, "penalty: expected one from 0.0 to 2.0, got 0.25"),
        ({"step": 99}, "step: expected one from 0 to [0-9]+, got 99"),
    ],
)
def test_there_is_no_such_place(options: dict[str, Any], message: str, viewer: BeamViewer) -> None:
    with pytest.raises(ValueError, match=message):
        viewer.at(**options)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("sentence", ["", (), "go on"])
def test_a_sentence_is_a_list_of_tokens(sentence: Any) -> None:
    with pytest.raises(ValueError, match="sentence: expected one or more tokens"):
        BeamViewer(model("recurrent"), sentence, ENGLISH, FRENCH)


def test_it_shows_itself_as_the_viewer_of_heads_does(
    viewer: BeamViewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "default-src 'none'" in viewer.html()
    monkeypatch.setenv("ATTENTION_BOOK_BUILD", "1")
    markup = viewer._repr_mimebundle_()["text/html"]
    assert markup.startswith('<div data-live="beams"><script type="application/json">')


def test_the_widget_has_the_state_as_its_traits(viewer: BeamViewer) -> None:
    pytest.importorskip("anywidget")
    widget = viewer.at(width=4, penalty=1.5, step=2).widget()
    assert (widget.width, widget.penalty, widget.step) == (4, 1.5, 2)
    assert widget.data == viewer.state["data"]


def test_pieces_are_shown_as_people_read_them() -> None:
    """The kind: ▁ stands in the tree; a piece and the same one after a blank must differ."""
    pieces = Vocabulary.build([("va", "▁va", "▁", "<E4 BD>", "ici\ud800")])
    sizes = {"source_vocabulary": len(ENGLISH), "target_vocabulary": len(pieces)}
    torch.manual_seed(1)
    viewer = BeamViewer(Seq2Seq(Seq2SeqConfig(**sizes)), SENTENCE, ENGLISH, pieces, max_tokens=2)
    names = {*viewer.state["data"]["words"]}
    assert {"va", " va", " ", "<E4 BD>"} & names
    assert not any("▁" in name for name in names)
    assert len(names) == len(viewer.state["data"]["words"])
    viewer.html().encode()
