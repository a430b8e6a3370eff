"""Draws the start of a figure or a widget as HTML with its own code, in the engine mini-racer."""

from __future__ import annotations

import json
from collections.abc import Mapping
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
