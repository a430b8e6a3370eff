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
function computed(figure, state) {
  const { begin, compute } = attentionBookLive.modules["figures/" + figure].default;
  return JSON.stringify(compute({ ...begin, ...JSON.parse(state) }), written);
}
function drawn(figure, state) {
  const { begin, still } = attentionBookLive.modules["figures/" + figure].default;
  return still({ ...begin, ...JSON.parse(state) }).outerHTML;
}
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
