"""Draws the start of a figure or a widget as HTML with its own code, in the engine mini-racer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from live.bundler import bundler

#: Ids are numbered from 0 for each drawing: here they get the name of their place instead.
DRAW = """
function numbered(html, place) {
  const names = new Map();
  return html.replace(/live-\\d+/g, (name) => {
    if (!names.has(name)) names.set(name, `${place}-${names.size}`);
    return names.get(name);
  });
}
function draw(figure, state, place) {
  const { modules } = attentionBookLive;
  const drawable = (name) => /^(figures|widgets)\\//.test(name) && name.endsWith("/" + figure);
  const found = modules[Object.keys(modules).find(drawable)].default;
  const unknown = Object.keys(state).filter((key) => !(key in found.begin));
  if (unknown.length) return JSON.stringify({ wrong: unknown[0], known: Object.keys(found.begin) });
  const html = found.still({ ...found.begin, ...state }).outerHTML;
  return JSON.stringify({ html: numbered(html, place) });
}
function drawWidget(widget, examples, place) {
  const found = attentionBookLive.modules["widgets/" + widget].default;
  const given = JSON.parse(examples), html = found.still(given[0]).outerHTML;
  return JSON.stringify({ begin: found.start(given), html: numbered(html, place) });
}
"""
#: A walk goes through a model: its file is opened here as it is in a page.
WALK = """
globalThis.TextDecoder ??= class {
  decode(bytes) {
    let text = "";
    for (const byte of bytes) text += "%" + byte.toString(16).padStart(2, "0");
    return decodeURIComponent(text);
  }
};
function drawWalk(bytes, examples, begin, place) {
  const { modules } = attentionBookLive, found = modules["widgets/walk"].default;
  const { finish, readModel } = modules["engine/weights"];
  const { prepared, traced } = modules["engine/serve"];
  const file = prepared(finish(readModel(Uint8Array.from(bytes)))), example = JSON.parse(examples);
  const walk = modules["walk/stories"].stories(file, example);
  const pass = finish(traced(file, walk[0].text));
  const given = { example: { ...example, walk }, found: pass, begin };
  const html = found.still(given).outerHTML;
  return JSON.stringify({ begin: found.start(given), html: numbered(html, place) });
}
"""
#: A language model writes a little here: the places of its draws are spread evenly, and not chosen.
NEXT_WORD = """
globalThis.performance ??= { now: () => 0 };
function drawNextWord(all, place) {
  const { modules } = attentionBookLive, found = modules["widgets/next-word"].default;
  const { finish, readModel } = modules["engine/weights"], { prepared } = modules["engine/serve"];
  const { write } = modules["engine/writing"], { sizes } = modules["next-word/cost"];
  const models = all.map(({ bytes, begin }) => {
    const file = prepared(finish(readModel(Uint8Array.from(bytes)))), { written, ...way } = begin;
    const draws = Array.from({ length: written }, (_, i) => (0.618034 * (i + 1)) % 1), steps = [];
    const how = { temperature: way.t, topP: way.p, count: 8, most: written, draws };
    const writing = write(file, way.prompt, how);
    for (let step = writing.next(); !step.done; step = writing.next()) {
      if (step.value) steps.push(step.value);
    }
    const { guess } = steps.at(-1), { ids } = guess, read = file.cut(way.prompt).length;
    return {
      name: file.name, bytes: bytes.length, size: file.vocabulary.length, sizes: sizes(file),
      subwords: Boolean(file.subwords), prompts: file.beginnings, prompt: way.prompt,
      wrote: ids.slice(read).join("."),
      face: { tokens: ids.map((id) => file.vocabulary[id]), read, guess },
    };
  });
  const given = { models }, html = found.still(given).outerHTML;
  return JSON.stringify({ begin: found.start(given), html: numbered(html, place) });
}
"""


class WrongState(ValueError):
    """A value that the figure does not have."""


@cache
def engine(name: str) -> Any:
    """Return a JavaScript engine that has a figure or a widget, and paper to draw on."""
    from py_mini_racer import MiniRacer

    found = MiniRacer()
    found.eval(bundler().script(["page/paper"]))
    found.eval('globalThis.document = attentionBookLive.modules["page/paper"].paper; void 0')
    found.eval(bundler().core())
    found.eval(bundler().widget(name) if name in bundler().widgets() else bundler().figure(name))
    found.eval(DRAW)
    return found


def still(figure: str, state: Mapping[str, Any], place: str) -> str:
    """Return the HTML of a figure's start.

    Raises:
        WrongState: if the figure has no value of such a name.
    """
    answer = json.loads(engine(figure).call("draw", figure, dict(state), place))
    if "wrong" in answer:
        raise WrongState(f"no {answer['wrong']!r}; there are {', '.join(answer['known'])}")
    return str(answer["html"])


def still_widget(widget: str, examples: str, place: str) -> tuple[dict[str, Any], str]:
    """Return the state and the HTML with which a widget begins, of examples in JSON."""
    answer = json.loads(engine(widget).call("drawWidget", widget, examples, place))
    return answer["begin"], str(answer["html"])


def still_walk(
    model: bytes, example: str, begin: Mapping[str, Any], place: str
) -> tuple[dict[str, Any], str]:
    """Return the state and the HTML of a walk through a model, its sentence chosen here."""
    found = engine("walk")
    found.eval(bundler().script(["walk/stories"]))
    found.eval(WALK)
    answer = json.loads(found.call("drawWalk", list(model), example, dict(begin), place))
    return answer["begin"], str(answer["html"])


def still_next_word(
    models: Sequence[tuple[bytes, Mapping[str, Any]]], place: str
) -> tuple[dict[str, Any], str]:
    """Return the state and the HTML with which language models begin to write.

    Args:
        models: The file of each, and how it begins: ``prompt``, temperature ``t``, top-p ``p``, and
            how many tokens are ``written``.
        place: The id of the figure.
    """
    found = engine("next-word")
    found.eval(bundler().script(["engine/serve"]))
    found.eval(WALK)
    found.eval(NEXT_WORD)
    given = [{"bytes": list(model), "begin": dict(begin)} for model, begin in models]
    answer = json.loads(found.call("drawNextWord", given, place))
    return answer["begin"], str(answer["html"])
