"""Draws the start of a figure or a widget as HTML with its own code, in the engine mini-racer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from live.bundler import bundler

#: Ids are numbered from 0 for each drawing: here they get the name of their place instead.
DRAW = """
function draw(figure, state, place) {
  const { modules } = attentionBookLive;
  const found = (modules["figures/" + figure] ?? modules["widgets/" + figure]).default;
  const unknown = Object.keys(state).filter((key) => !(key in found.begin));
  if (unknown.length) return JSON.stringify({ wrong: unknown[0], known: Object.keys(found.begin) });
  const html = found.still({ ...found.begin, ...state }).outerHTML;
  const names = new Map();
  const renamed = html.replace(/live-\\d+/g, (name) => {
    if (!names.has(name)) names.set(name, `${place}-${names.size}`);
    return names.get(name);
  });
  return JSON.stringify({ html: renamed });
}
"""


class WrongState(ValueError):
    """A value that the figure does not have."""


@cache
def engine(figure: str) -> Any:
    """Return a JavaScript engine that has the figure or the widget, and paper to draw on."""
    from py_mini_racer import MiniRacer

    found = MiniRacer()
    found.eval(bundler().script(["page/paper"]))
    found.eval('globalThis.document = attentionBookLive.modules["page/paper"].paper; void 0')
    found.eval(bundler().core())
    is_figure = figure in bundler().figures()
    found.eval(bundler().figure(figure) if is_figure else bundler().widget(figure))
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
