"""One pass through the Transformer: what the figure shows against the package, and in itself.

A model is trained for seconds. The trace is compared with the engine bit by bit, and with torch's
own numbers of the same weights; what a drawing prints is read back from it and added up.
"""

from __future__ import annotations

import base64
import functools
import itertools
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from py_mini_racer import MiniRacer
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parents[2] / "book" / "_ext"))  # as Jupyter Book does

from live.drawing import still_walk

from attention_book.course.recipes import Recipe, Trained, trained
from attention_book.inspection import capture_attention
from attention_book.live import bundle
from attention_book.live.examples import example
from attention_book.live.export import export, rounded
from attention_book.text import BOS, encode_source

CONFIG = {"d_model": 32, "num_heads": 2, "d_ff": 48, "num_layers": 2}
RECIPES = {
    norm: Recipe(
        name=f"tiny-walk-{norm}", model="transformer", source="zh", target="en", num_train=3000,
        num_test=40, epochs=3, learning_rate=0.01, schedule="linear", warmup=20,
        config={**CONFIG, "norm": norm},
    )
    for norm in ("pre", "post")
}  # fmt: skip
KINDS = {"enc": ("self", "ff"), "dec": ("self", "cross", "ff")}
PAPER = """
const paper = attentionBookLive.modules["page/paper"].paper;
globalThis.document = { ...paper, documentElement: { dataset: { language: "en" } } };
const modules = attentionBookLive.modules;
const { traced } = modules["engine/serve"], { stories } = modules["walk/stories"];
const { named } = modules["walk/names"], { drawing, face } = modules["walk/drawing"];
const passing = modules["walk/passing"], states = modules["walk/state"];
const story = modules["walk/story"], passes = new Map();
const pass = (name, text) => {
  const key = `${name} ${text}`;
  if (!passes.has(key)) passes.set(key, finish(traced(files.get(name), text)));
  return passes.get(key);
};
const trace = (name, text) => JSON.stringify(pass(name, text), plain);
const told = (name, example) => JSON.stringify(stories(files.get(name), JSON.parse(example)));
const act = new Proxy({}, { get: () => () => {} });
function shown(name, text, state, width, alive) {
  const found = named(pass(name, text), { target: "en" });
  const view = states.viewOf({ ...states.begin, text, ...JSON.parse(state) }, found, width);
  const svg = drawing(view, alive ? act : null).outerHTML;
  return JSON.stringify({ svg, face: face(view), here: view.here, pick: view.pick }, plain);
}
function levels(name, text) {
  const found = pass(name, text), all = [];
  for (const side of ["enc", "dec"])
    for (const { kind, n } of passing.stations(found, side))
      story.LEVELS[kind].forEach((shows, level) => all.push([`${side}.${n}`, level, shows]));
  return JSON.stringify(all);
}
function terms(name, text) {
  const found = pass(name, text), gaps = {};
  const note = (what, one, other) => {
    gaps[what] = Math.max(gaps[what] ?? 0, Math.abs(one - other));
  };
  for (const side of ["enc", "dec"]) passing.own(found, side).forEach((_, i) => {
    for (const station of passing.stations(found, side)) {
      const { added, before, after } = passing.passing(found, station, i);
      if (added) after.forEach((x, c) => note("stream", x, (before?.[c] ?? 0) + added[c]));
      if (station.kind === "ff") {
        const think = passing.sublayer(found, station);
        think.units[i].forEach((x, u) => note("unit", x, passing.unitSum(think, i, u).result));
      }
      if (!passing.isLook(station.kind)) continue;
      const look = passing.sublayer(found, station), whole = new Float64Array(found.size);
      for (let h = 0; h < found.heads; h++) {
        const { shares } = passing.quotient(look.scores[h][i]);
        look.weights[h][i].forEach((weight, j) => {
          note("share", weight, shares[j]);
          note("score", look.scores[h][i][j], passing.dotProduct(found, look, h, i, j).result);
        });
        for (let c = 0; c < found.headSize; c++) note("mean",
          look.joined[i][h * found.headSize + c], passing.mixture(found, look, h, i, c).result);
        look.alone[h][i].forEach((x, c) => { whole[c] += x; });
      }
      whole.forEach((x, c) => note("heads", x, look.added[i][c]));
    }
    const { mean, deviation, gain, shift } = passing.normOf(found, side, i);
    found[side].end.before[i].forEach((x, c) => note("norm",
      ((x - mean) / deviation) * gain[c] + shift[c], found[side].end.after[i][c]));
    for (const layer of found[side].layers.keys()) for (let c = 0; c < found.size; c++) {
      const { first, parts, last } = passing.streamSum(found, { side, layer }, i, c);
      note("layer", last, parts.reduce((sum, [, x]) => sum + x, first));
    }
    if (side === "dec") passing.likely(found, i).forEach(({ logit }, n) =>
      note("logit", logit, passing.wordSum(found, i, n).result));
  });
  return JSON.stringify(gaps);
}
function walked(name, text) {
  const found = named(pass(name, text), { target: "en" }), way = [];
  let state = { ...states.begin, text, word: 1 };
  for (let n = 0; n < 200; n++) {
    const view = states.viewOf(state, found, 780), on = states.along(view, 1);
    way.push(`${view.word} ${state.at}`);
    if (!on) break;
    state = { ...state, ...on };
    const back = states.along(states.viewOf(state, found, 780), -1);
    if (state.at !== "dec.0" && { ...state, ...back }.at !== way.at(-1).split(" ")[1])
      throw new Error(`${way.at(-1)} → ${state.at}, and back ${back?.at}`);
  }
  return JSON.stringify(way);
}
"""
Ask = Callable[..., Any]


@functools.cache
def model_of(norm: str) -> tuple[Trained, Any]:
    """A trained model, and a copy with the weights that the page has."""
    found = trained(RECIPES[norm])
    return found, rounded(found.model)


@pytest.fixture(scope="module")
def ask(harness: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """``ask("trace", norm, text)``: call a function of the harness with a model opened."""
    engine, opened = MiniRacer(), set()
    engine.eval(bundle.script(["page/paper", "engine/serve", "walk/stories", "walk/drawing"]))
    engine.eval(bundle.script(["walk/names"]))
    engine.eval(harness)
    engine.eval(PAPER)
    folder = tmp_path_factory.mktemp("walk")

    def call(function: str, norm: str, *arguments: Any) -> Any:
        if norm not in opened:
            binary = export(model_of(norm)[0], folder).read_bytes()
            assert engine.call("open", norm, base64.b64encode(binary).decode()) == "opened"
            opened.add(norm)
        return json.loads(engine.call(function, norm, *arguments))

    yield call
    engine.close()


@functools.cache
def texts(norm: str, count: int) -> tuple[str, ...]:
    """Held-out sentences as a reader types them."""
    pairs = model_of(norm)[0].recipe.splits()["random"][:count]
    return tuple("".join(pair.source) for pair in pairs)


# --- the trace ---------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", RECIPES)
def test_the_trace_is_what_the_engine_computes_bit_by_bit(norm: str, ask: Ask) -> None:
    """All words at once, as traced, and word by word, as written: the very same numbers."""
    found, _ = model_of(norm)
    for text in texts(norm, 4):
        ours, theirs = ask("trace", norm, text), ask("translated", norm, text, {})
        for key in ("source", "input", "target", "finished", "unknown"):
            assert ours[key] == theirs[key]
        for layer in range(2):
            dec, enc = ours["dec"]["layers"][layer], ours["enc"]["layers"][layer]
            mine = {"self": dec["self"], "cross": dec["cross"], "encoder": enc["self"]}
            for kind, look in mine.items():
                assert look["weights"] == theirs["attention"][kind][layer]
        target = [BOS, *ours["targetIds"][:-1]]
        source = [*found.source_vocabulary.encode(ours["source"][:-1]), 3]
        steps = ask("decode", norm, source, target, {})
        logits = [one["logits"] for one in ours["out"]]
        assert logits == steps["logits"] == steps["atOnce"]


def torchs(norm: str, source: list[str], target: list[int]) -> dict[str, Tensor]:
    """What every module of the package's model returns, and what is looked at, by name."""
    found, model = model_of(norm)
    ids, mask = encode_source([source], found.source_vocabulary)
    seen: dict[str, Tensor] = {}

    def note(name: str) -> Callable[..., None]:
        def keep(_: Any, given: tuple[Any, ...], gave: Any) -> None:
            seen[name] = (gave if isinstance(gave, Tensor) else gave[0])[0]

        return keep

    hooks = [module.register_forward_hook(note(name)) for name, module in model.named_modules()]
    with torch.no_grad(), capture_attention(model) as looks:
        seen["logits"] = model(ids, mask, torch.tensor([target]))[0]
    for hook in hooks:
        hook.remove()
    return seen | {f"{name} weights": looks[name][0][0] for name in looks}


@pytest.mark.parametrize("norm", RECIPES)
def test_every_station_has_the_packages_numbers(norm: str, ask: Ask) -> None:
    def close(ours: Any, theirs: Tensor, what: str) -> None:
        assert torch.allclose(torch.tensor(ours).float(), theirs, rtol=0, atol=2e-5), what

    found, model = model_of(norm)
    for text in texts(norm, 3):
        ours = ask("trace", norm, text)
        source, target = ours["source"][:-1], [BOS, *ours["targetIds"][:-1]]
        theirs = torchs(norm, source, target)
        ids = {"enc": [*found.source_vocabulary.encode(source), 3], "dec": target}
        for side, name in (("enc", "encoder"), ("dec", "decoder")):
            stack = getattr(model, name)
            tokens = torch.tensor([list(ids[side])])
            with torch.no_grad():
                close(
                    ours[side]["start"]["embedded"], stack.embedding.scaled(tokens)[0], "embedding"
                )
                close(ours[side]["start"]["after"], stack.embed(tokens)[0], "position")
            for layer, kind in itertools.product(range(2), KINDS[side]):
                mine, part = ours[side]["layers"][layer][kind], f"{name}.layers.{layer}"
                whole = "feed_forward" if kind == "ff" else f"{kind}_attention"
                close(mine["added"], theirs[f"{part}.{whole}"], f"{part}.{whole}")
                close(mine["after"], theirs[f"{part}.{whole}_norm"], f"{part}.{whole}_norm")
                if kind == "ff":
                    units = theirs[f"{part}.feed_forward.W_1"].clamp(min=0)
                    close(mine["units"], units, f"{part}: units")
                    continue
                for head, rows in enumerate(mine["weights"]):
                    for place, row in enumerate(rows):
                        full = theirs[f"{part}.{whole} weights"][head, place]
                        close(row, full[: len(row)], f"{part}.{whole}: weights")
                        assert not full[len(row) :].any(), "what the mask hides"
            if norm == "pre":
                close(ours[side]["end"]["after"], theirs[f"{name}.norm"], "last norm")
        close([one["logits"] for one in ours["out"]], theirs["logits"], "logits")
        # What an early vector would say: the package's last norm and output layer, applied to it.
        with torch.no_grad():
            early = theirs["decoder.layers.0.self_attention_norm"]
            said = model.readout(model.decoder.norm(early)).softmax(-1).max(-1)
        readings = ours["readings"][2]
        assert [each[0]["word"] for each in readings] == [
            found.target_vocabulary.tokens[i] for i in said.indices.tolist()
        ]
        close([each[0]["probability"] for each in readings], said.values, "reading")


def test_single_numbers_written_out_are_those_of_the_pass(ask: Ask) -> None:
    """Dot products, quotients, means, units, scores and sums: their terms give the number."""
    for text in texts("pre", 2):
        gaps = ask("terms", "pre", text)
        assert set(gaps) == {
            "stream", "unit", "share", "score", "mean", "heads", "norm", "layer", "logit",
        }  # fmt: skip
        assert max(gaps.values()) < 2e-5, gaps


# --- the story ---------------------------------------------------------------------------------


def test_the_story_is_one_and_the_same_every_time(ask: Ask) -> None:
    found, _ = model_of("pre")
    shown = example(found, rounded(found.model))
    stories = ask("told", "pre", json.dumps(shown))
    assert stories == ask("told", "pre", json.dumps(shown))
    assert 1 <= len(stories) <= 4
    assert len({each["text"] for each in stories}) == len(stories)
    distances = [each["distance"] for each in stories]
    assert distances == sorted(distances, reverse=True)
    for each in stories:
        ours = ask("trace", "pre", each["text"])
        first, last = ours["readings"][0][each["word"]], ours["readings"][-1][each["word"]]
        assert (first[0]["word"], last[0]["word"]) == (each["from"], each["to"])
        assert each["to"] == ours["target"][each["word"]]


# --- the drawings ------------------------------------------------------------------------------


def texts_in(svg: str) -> list[str]:
    return [
        found.replace("&lt;", "<").replace("&amp;", "&")
        for found in re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    ]


WRONG = re.compile(r"NaN|undefined|\[object|Infinity")


@pytest.fixture(scope="module")
def screens(ask: Ask) -> list[tuple[str, dict[str, Any], list[str]]]:
    """Every level of every station, at two widths and two words: what it shows, its texts."""
    found = []
    for text in texts("pre", 2):
        count = len(ask("trace", "pre", text)["input"])
        places = [*ask("levels", "pre", text), ["", 0, "all"]]
        for (at, level, shows), word, width in itertools.product(
            places, (2, count - 1), (344, 780)
        ):
            for part in ("score", "weight", "value") if shows == "number" else ("weight",):
                state = {"at": at, "level": level, "word": word, "part": part, "head": 1}
                alive = width == 780
                screen = ask("shown", "pre", text, json.dumps(state), width, alive)
                found.append((shows, {**screen, "text": text, **state}, texts_in(screen["svg"])))
    return found


def test_every_level_is_drawn_and_says_a_sentence_in_both_languages(screens: Any) -> None:
    assert {shows for shows, *_ in screens} == {
        "all", "model", "layer", "head", "number", "units", "words", "strips",
    }  # fmt: skip
    for shows, screen, words in screens:
        assert words, shows
        zh, en = screen["face"]["sentence"]
        assert re.search(r"[\u4e00-\u9fff]", zh)
        assert re.search(r"[A-Za-z]{3}", en)
        assert not WRONG.search(json.dumps(screen)), (shows, screen["at"])
        still = 'role="button"' not in screen["svg"]
        assert still == ("tabindex" not in screen["svg"])


EQUATION = re.compile(r"(?:Number \d+|number \d+): (.*) = (−?[\d.]+)$")


def value(text: str) -> float:
    """What an equation's left side gives, computed as a reader would."""
    plain = text.replace("−", "-").replace("÷", "/").replace("×", "*").replace("√", "")
    assert re.fullmatch(r"[-+*/(). \d]+", plain), plain
    return float(eval(plain))  # digits and signs only


def test_where_a_printed_sum_says_equals_it_comes_out(screens: Any) -> None:
    checked = {"layer": 0, "strips": 0}
    for shows, _screen, words in screens:
        for text in words:
            found = EQUATION.match(text)
            if not found or "sin" in text or "cos" in text:
                continue
            digits = len(found[2].partition(".")[2])
            right = value(found[2])
            assert abs(value(found[1]) - right) < 0.5001 * 10.0**-digits, text
            if shows == "layer":
                assert value(found[1]) == pytest.approx(right, abs=1e-9), text
            checked[shows] += 1
    assert all(checked.values()), checked


def test_a_head_prints_its_weights_and_its_matrix_is_shaded_by_them(screens: Any, ask: Ask) -> None:
    for shows, screen, words in screens:
        if shows != "head":
            continue
        side, n = screen["at"].split(".")
        kinds = [None, None, *(kind for _ in range(2) for kind in KINDS[side])]
        kind, layer = kinds[int(n)], (int(n) - 2) // len(KINDS[side])
        weights = ask("trace", "pre", screen["text"])[side]["layers"][layer][kind]["weights"][1]
        for weight in weights[screen["here"]]:
            assert f"{weight:.2f}" in words or abs(weight * 100 % 1 - 0.5) < 1e-4
        rows = weights[: screen["word"] + 1] if side == "dec" else weights
        shades = re.findall(r'data-weight="([\d.]+)"', screen["svg"])
        flat = [weight for row in rows for weight in row]
        drawn = [float(each) for each in shades[-len(flat) :]]
        assert drawn == pytest.approx(flat, abs=6e-4)


# --- the state ---------------------------------------------------------------------------------


def test_the_walk_goes_through_every_station_and_on_to_the_next_word(ask: Ask) -> None:
    """→ from the overview: the encoder, the decoder, then the next word; ← the same way back."""
    text = texts("pre", 1)[0]
    way = ask("walked", "pre", text)
    stations = [f"enc.{n}" for n in range(7)] + [f"dec.{n}" for n in range(10)]
    assert [each.split(" ")[1] for each in way[1:18]] == stations
    count = len(ask("trace", "pre", text)["input"])
    assert len(way) == 1 + 17 + 10 * (count - 2)
    assert way[-1] == f"{count - 1} dec.9"


def test_the_overview_says_where_the_decoder_looks_whichever_word_is_followed(ask: Ask) -> None:
    text = texts("pre", 1)[0]
    count = len(ask("trace", "pre", text)["source"])
    said = {
        tuple(ask("shown", "pre", text, json.dumps({"src": i}), 700, False)["face"]["sentence"])
        for i in range(-1, count)
    }
    assert len(said) == 1


def test_nonsense_in_the_address_is_nothing(ask: Ask) -> None:
    text = texts("pre", 1)[0]
    for state in (
        {"at": "dec.99", "level": 3},
        {"at": "enc.-1"},
        {"at": "enc.3", "level": 7, "head": 99, "src": 999, "pick": 9999, "c": 999, "v": 999},
        {"at": "dec.4", "level": 3, "word": 140, "tgt": 77, "part": "constructor"},
    ):
        screen = ask("shown", "pre", text, json.dumps(state), 344, False)
        assert not WRONG.search(screen["svg"])


def test_the_build_draws_a_start_of_a_model(tmp_path: Path) -> None:
    """With the book's own code: the chosen story, two drawings, nothing to be pressed."""
    found, model = model_of("pre")
    binary = export(found, tmp_path).read_bytes()
    begin, html = still_walk(binary, json.dumps(example(found, model) | {"bytes": 1}), {}, "here")
    assert html.count("<svg") == 2
    assert "<button" not in html
    assert 'role="button"' not in html
    assert begin["text"] == begin["example"]["stories"][0]["text"]
    assert begin["word"] == begin["example"]["stories"][0]["word"]
    assert not WRONG.search(html)
