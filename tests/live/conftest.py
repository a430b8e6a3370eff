"""The live figures in a JavaScript engine without a browser: their numbers, and their drawings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from py_mini_racer import MiniRacer

from attention_book.live import bundle

#: JSON has no infinities.
NUMBERS = """
const written = (key, value) =>
  typeof value === "number" && !Number.isFinite(value) ? { number: String(value) } : value;
function figureNamed(name) {
  const { modules } = attentionBookLive;
  const named = (each) => each.startsWith("figures/") && each.endsWith("/" + name);
  return modules[Object.keys(modules).find(named)].default;
}
function computed(figure, state) {
  const { begin, compute } = figureNamed(figure);
  return JSON.stringify(compute({ ...begin, ...JSON.parse(state) }), written);
}
function drawn(figure, state) {
  const { begin, still } = figureNamed(figure);
  return still({ ...begin, ...JSON.parse(state) }).outerHTML;
}
"""
#: Of the translator: what a browser has and this engine lacks, and what the tests ask.
HARNESS = """
globalThis.performance ??= { now: () => 0 };
globalThis.TextDecoder ??= class {
  decode(bytes) {
    let text = "";
    for (const byte of bytes) text += "%" + byte.toString(16).padStart(2, "0");
    return decodeURIComponent(text);
  }
};
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
function decoded(text) {
  const bytes = new Uint8Array(Math.floor(text.replace(/=+$/, "").length * 3 / 4));
  for (let i = 0, at = 0; i < text.length; i += 4) {
    const [a, b, c, d] = [0, 1, 2, 3].map((k) => LETTERS.indexOf(text[i + k]));
    bytes[at++] = (a << 2) | (b >> 4);
    if (c >= 0) bytes[at++] = (b << 4) | (c >> 2);
    if (d >= 0) bytes[at++] = (c << 6) | d;
  }
  return bytes;
}
const { readModel, finish } = attentionBookLive.modules["engine/weights"];
const { build } = attentionBookLive.modules["engine/model"];
const { prepared, translate } = attentionBookLive.modules["engine/serve"];
const { tokenize, detokenize, written } = attentionBookLive.modules["engine/tokens"];
const files = new Map();
function open(name, text) {
  try { files.set(name, prepared(finish(readModel(decoded(text))))); return "opened"; }
  catch (error) { return error.reason ?? String(error); }
}
const plain = (key, value) => (ArrayBuffer.isView(value) ? [...value] : value);
function decode(name, source, target, switches) {
  const model = build(files.get(name), switches), memory = model.encode(source), steps = [];
  let state = model.start(memory);
  for (const id of target) {
    const step = model.step(id, state);
    state = step.state;
    steps.push(step);
  }
  return JSON.stringify({ encoder: memory.attention, logits: steps.map(({ logits }) => logits),
    cross: steps.map(({ attention }) => attention.cross),
    self: steps.map(({ attention }) => attention.self),
    atOnce: model.decode?.(target, memory).logits }, plain);
}
// Every single look of a translation cut, each going on from the words before it.
function allCuts(name, source, limit) {
  const file = files.get(name), free = build(file), memory = free.encode(source);
  const states = [], ids = [];
  const writes = (model, state, id) => {
    const { logits, state: after } = model.step(id, state);
    logits[0] = logits[2] = -Infinity; // <pad> and <bos> are never written
    return { id: logits.indexOf(Math.max(...logits)), state: after };
  };
  let now = { id: 2, state: free.start(memory) };
  while (ids.length < limit && now.id !== 3) {
    states.push(now);
    now = writes(free, now.state, now.id);
    ids.push(now.id);
  }
  const found = ids.map((_, place) => source.map((_, j) => {
    const model = build(file, { cuts: [[place, j]] }), words = ids.slice(0, place);
    let next = states[place];
    while (words.length < limit && (words.length === place || next.id !== 3)) {
      next = writes(model, next.state, next.id);
      words.push(next.id);
    }
    return words;
  }));
  return JSON.stringify({ ids, found });
}
function translated(name, text, options) {
  try { return JSON.stringify(finish(translate(files.get(name), text, options)), plain); }
  catch (error) { return JSON.stringify({ refused: error.reason ?? String(error) }); }
}
const tokensOf = (text, language) => JSON.stringify(tokenize(text, language));
const textOf = (tokens, language) => detokenize(tokens, language);
"""
Engine = Callable[..., Any]


def finite(found: dict[str, Any]) -> Any:
    """Turn what stands for a number without a JSON back into it."""
    return float(found["number"].replace("Infinity", "inf")) if set(found) == {"number"} else found


@pytest.fixture(scope="session")
def engine() -> Iterator[MiniRacer]:
    """An engine with every figure and widget, and paper to draw on."""
    found = MiniRacer()
    found.eval(bundle.script(["page/paper"]))
    found.eval('globalThis.document = attentionBookLive.modules["page/paper"].paper; void 0')
    found.eval(bundle.core())
    for name in bundle.figures():
        found.eval(bundle.figure(name))
    for name in bundle.widgets():
        found.eval(bundle.widget(name))
    found.eval(NUMBERS)
    yield found
    found.close()


@pytest.fixture
def compute(engine: MiniRacer) -> Engine:
    """``compute("steps", hidden="00010")``: a figure's numbers; its begin holds for the rest."""

    def call(figure: str, **state: Any) -> Any:
        return json.loads(engine.call("computed", figure, json.dumps(state)), object_hook=finite)

    return call


@pytest.fixture
def draw(engine: MiniRacer) -> Engine:
    """``draw("steps", step=2)``: a figure's HTML without scripts."""

    def call(figure: str, **state: Any) -> str:
        return str(engine.call("drawn", figure, json.dumps(state)))

    return call


@pytest.fixture(scope="session")
def harness() -> str:
    """A script to run after the translator's engine: it opens models, and tells what they do."""
    return HARNESS
