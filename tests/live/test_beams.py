"""Beam search as a viewer: for every width and penalty the browser finds what the package finds."""

import json
from typing import Any

import pytest
import torch
from py_mini_racer import MiniRacer

from attention_book.decoding import beam_search, beam_trace, greedy_search
from attention_book.live import BeamViewer
from attention_book.live.viewer.beams import NUM_FOLLOWING, PENALTIES, WIDTHS
from attention_book.models import Seq2Seq, Seq2SeqConfig, Transformer, TransformerConfig
from attention_book.text import Vocabulary, encode_source

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
