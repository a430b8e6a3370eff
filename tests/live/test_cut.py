"""Cut a look: the sentence that says what changed, the keys, the address, the color of a weight."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from py_mini_racer import MiniRacer

from attention_book.live import bundle
from attention_book.plotting.ramp import DARK, LIGHT, weight_color

Call = Callable[..., Any]
WORDS = st.lists(st.sampled_from("abc"), max_size=8)
FOUND = {
    "name": "tiny", "source": "zh", "target": "en", "capitals": {"anna": "Anna"}, "bytes": 1,
    "layers": 1, "heads": 1,
    "sentences": [{
        "source": ["安娜", "不", "跑", "。", "<eos>"],
        "target": ["anna", "does", "not", "run", ".", "<eos>"],
        "weights": [[0.9, 0.1, 0, 0, 0], [0, 0.6, 0.4, 0, 0], [0, 0.9, 0.1, 0, 0],
                    [0, 0, 0.95, 0.05, 0], [0, 0, 0, 0.9, 0.1], [0, 0, 0, 0.5, 0.5]],
        "cuts": [
            {"cut": "*-1", "target": ["anna", "runs", ".", "<eos>"],
             "weights": [[0.9, 0, 0.1, 0, 0]] * 4},
            {"cut": "3-2", "target": ["anna", "does", "not", "run", ".", "<eos>"],
             "weights": [[0.9, 0.1, 0, 0, 0]] * 6},
        ],
    }],
}  # fmt: skip


@pytest.fixture(scope="module")
def call() -> Iterator[Call]:
    """``call("cut/changes", "stretches", …)``: call a function of a module with plain values."""
    engine = MiniRacer()
    engine.eval(bundle.script(["page/paper"]))
    engine.eval('globalThis.document = attentionBookLive.modules["page/paper"].paper; void 0')
    engine.eval(bundle.core())
    engine.eval(bundle.widget("cut"))
    engine.eval(
        """const called = (module, name, given) => {
          const found = attentionBookLive.modules[module];
          return JSON.stringify((found[name] ?? found.default[name])(...JSON.parse(given)) ?? null);
        };"""
    )

    def answer(module: str, name: str, *given: Any) -> Any:
        return json.loads(engine.call("called", module, name, json.dumps(given)))

    yield answer
    engine.close()


@given(before=WORDS, after=WORDS)
def test_the_stretches_lead_from_one_translation_to_the_other(
    call: Call, before: list[str], after: list[str]
) -> None:
    """Put what came in the place of what is gone, and the other sentence stands there."""
    pairs = call("cut/changes", "common", before, after)
    assert all(before[i] == after[j] for i, j in pairs)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(pairs))
    found = call("cut/changes", "stretches", before, after)
    assert (found == []) == (before == after)
    assert sum(len(each["gone"]) for each in found) + len(pairs) == len(before)
    assert sum(len(each["come"]) for each in found) + len(pairs) == len(after)


def said(call: Call, cut: str, target: list[str] | None = None) -> list[str]:
    [sentence] = FOUND["sentences"]  # type: ignore[misc]
    given = {"sentence": sentence, **FOUND}
    found: list[str] = call(
        "widgets/cut", "said", given, cut, {"target": target or sentence["target"]}
    )
    return found


@pytest.mark.parametrize(
    ("cut", "target", "zh", "en"),
    [
        ("*-1", "anna runs . <eos>",
         "谁也看不见“不”了：“does not run”变成“runs”。",
         "Nothing may look at “不” (not): “does not run” became “runs”."),
        ("3-2", "",
         "剪掉“run”看“跑”的目光（权重 0.95）：译文一字未改。看得再多，也不等于缺了它不行。",
         "The look of “run” at “跑”, weight 0.95, is cut: nothing changed. "
         "A heavy look need not be a cause."),
        ("1-2", "", "剪掉“does”看“跑”的目光（权重 0.40）：译文一字未改。",
         "The look of “does” at “跑”, weight 0.40, is cut: nothing changed."),
        ("0-*", "does not run . <eos>", "“Anna”这一处看不见原文了：“Anna”没有了。",
         "With no look at the source for “Anna”: “Anna” is gone."),
        ("1-1.2-1", "anna does not not run . <eos>", "剪了 2 处：多出“not”。",
         "2 cuts: “not” appeared."),
        ("*-0", "not not",
         "谁也看不见“安娜”了：“Anna does”没有了，“run .”变成“not”。"
         "模型收不住句子，写到长度上限才停。",
         "Nothing may look at “安娜” (Anna): “Anna does” is gone, “run .” became “not”. "
         "The model found no end and stopped at the length limit."),
    ],
)  # fmt: skip
def test_what_changed_is_said(call: Call, cut: str, target: str, zh: str, en: str) -> None:
    assert said(call, cut, target.split()) == [zh, en]


def test_the_address_takes_lists_of_looks_alone(call: Call) -> None:
    read = lambda text: call("cut/looks", "fromAddress", text)  # noqa: E731
    assert [read(text) for text in ("", "*-1", "*-1.5-2", "*-1.*-1")] == [
        "",
        "*-1",
        "*-1.5-2",
        "*-1",
    ]
    assert [read(text) for text in ("1", "a-b", "1-2-3", "<b>-1", "123-1")] == [None] * 5
    assert read(".".join(f"{i}-1" for i in range(41))) is None
    assert call("cut/looks", "pairsOf", "*-1.5-*") == [[None, 1], [5, None]]
    assert call("cut/looks", "toggled", "*-1.5-2", "*-1") == "5-2"


def test_arrow_keys_reach_every_word_and_ribbon(call: Call) -> None:
    weights = FOUND["sentences"][0]["weights"]  # type: ignore[index]
    for narrow in (False, True):
        words = {side: [{"key": f"{side}{i}", "text": "w", "place": i} for i in range(count)]
                 for side, count in (("source", 4), ("target", 5))}  # fmt: skip
        scene = call(
            "cut/scene", "scene", {**words, "weights": weights, "ghosts": [], "narrow": narrow}
        )
        everything = {each["key"] for each in (*scene["words"], *scene["ribbons"])}
        reached, waiting = set(), ["source0"]
        while waiting:
            here = waiting.pop()
            if here in reached:
                continue
            reached.add(here)
            arrows = ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End")
            waiting += [key for a in arrows if (key := call("cut/walk", "step", scene, here, a))]
        assert reached == everything
        assert len(scene["ribbons"]) == sum(w >= 0.12 for row in weights[:5] for w in row[:4])


def test_a_ribbon_is_as_broad_as_its_weight(call: Call) -> None:
    words = {side: [{"key": f"{side}{i}", "text": "w", "place": i} for i in range(2)]
             for side in ("source", "target")}  # fmt: skip
    given = {**words, "weights": [[0.2, 0.8], [0.5, 0.5]], "ghosts": [], "narrow": False}
    scene = call("cut/scene", "scene", given)
    per_weight = {round(each["breadth"] / each["weight"], 6) for each in scene["ribbons"]}
    assert len(per_weight) == 1


def test_a_weight_has_one_color_in_the_page_and_on_paper(call: Call) -> None:
    styles = bundle.styles()
    for names, ramp in zip(re.findall(r"--weight-low: .*", styles), (LIGHT, DARK), strict=True):
        assert tuple(re.findall(r"#[0-9a-f]{6}", names)) == ramp
    mixed = "color-mix(in srgb, var(--weight-{}) {}%, var(--weight-{}))"
    assert call("page/ramp", "shade", 0.25) == mixed.format("mid", 50, "low")
    assert call("page/ramp", "shade", 1) == mixed.format("high", 100, "mid")
    half = [round((int(a, 16) + int(b, 16)) / 2) for a, b in zip(
        re.findall("..", LIGHT[0][1:]), re.findall("..", LIGHT[1][1:]), strict=True)]  # fmt: skip
    found = [int(each, 16) for each in re.findall("..", weight_color(0.25)[1:])]
    assert all(abs(a - b) <= 2 for a, b in zip(half, found, strict=True))


def test_the_engine_finds_all_that_it_needs(call: Call) -> None:
    """What the engine's own script leaves out, every widget that starts it brings along."""
    for widget in ("cut", "translator"):
        assert set(bundle.ENGINES_OWN) <= set(bundle.ordered([f"widgets/{widget}"]))
