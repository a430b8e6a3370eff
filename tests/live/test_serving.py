"""The live figure of serving computes what the package's simulator computes."""

import json
import statistics

import pytest

from attention_book.decoding import Request, Schedule, StepTimes, serve

#: Milliseconds of a step, as the figure says: an accelerator that reads 15 GB of weights in 5 ms,
#: computes 60 tokens in a millisecond and reads 131,072 bytes for each cached token.
TIMES = StepTimes(weights=5.0, token=1 / 60, cached=131072 / 3e9)
READERS = """(() => JSON.stringify(Object.values(attentionBookLive.modules)
    .find((module) => module.READERS?.[0].length === 3).READERS))()"""
BEGIN = {"load": 0.7, "batching": "continuous", "places": 4, "chunk": 0}
STATES = [
    {},
    {"load": 1.2},
    {"load": 0.2, "places": 1},
    {"batching": "static"},
    {"batching": "static", "load": 1.1, "places": 16},
    {"chunk": 128, "load": 0.9},
    {"chunk": 512, "places": 16},
    {"chunk": 128, "batching": "static", "places": 1},
]


@pytest.fixture(scope="module")
def readers(engine):
    return json.loads(engine.eval(READERS))


def schedule(readers, apart: float, **state) -> Schedule:
    arrival, requests = 0.0, []
    for gap, prompt, words in readers:
        arrival += apart * gap
        requests.append(Request(arrival, prompt, words))
    return serve(
        requests,
        TIMES,
        max_batch=state["places"],
        continuous=state["batching"] == "continuous",
        chunk=state["chunk"] or None,
    )


@pytest.mark.parametrize("state", STATES, ids=str)
def test_every_step_and_every_word_is_the_packages(state, compute, readers) -> None:
    found, state = compute("serving", **state), BEGIN | state
    full = schedule(readers, 0.0, **BEGIN)
    assert found["apart"] == pytest.approx(full.end / len(readers) / state["load"])
    ours = schedule(readers, found["apart"], **state)
    for theirs, each in zip(found["readers"], ours.served, strict=True):
        assert theirs["arrival"] == pytest.approx(each.request.arrival)
        assert theirs["begin"] == pytest.approx(each.begin)
        assert theirs["words"] == pytest.approx(list(each.words))
    for theirs, step in zip(found["steps"], ours.steps, strict=True):
        same = ("tokens", "cached", "batch")
        assert [theirs[key] for key in same] == [getattr(step, key) for key in same]
        assert theirs["time"] == pytest.approx(step.seconds)
    assert found["first"] == pytest.approx(statistics.median(ours.first_words))
    assert found["lastFirst"] == pytest.approx(max(ours.first_words))
    assert found["gap"] == pytest.approx(max(ours.gaps))
    assert found["words"] == pytest.approx(1000 * ours.words_per_second)


def test_the_readers_come_a_mean_apart(readers) -> None:
    assert statistics.mean(gap for gap, _, _ in readers) == pytest.approx(1.0)


def test_the_caption_is_true(compute) -> None:
    continuous, static = (compute("serving", batching=each) for each in ("continuous", "static"))
    assert static["first"] > 4 * continuous["first"]
    assert static["gap"] < continuous["gap"] / 4
    chunked = compute("serving", chunk=128)
    assert chunked["gap"] < continuous["gap"] / 2
    assert chunked["first"] > continuous["first"]
    crowded = compute("serving", load=1.2)
    assert crowded["first"] > continuous["first"]
    assert crowded["lastFirst"] > continuous["lastFirst"]
    alone = [compute("serving", batching=each, places=1) for each in ("continuous", "static")]
    assert alone[0]["readers"] == alone[1]["readers"]


@pytest.mark.parametrize("state", STATES, ids=str)
def test_it_is_drawn_in_both_languages(state, draw) -> None:
    html = draw("serving", **state)
    assert html.count("<svg") == 1
    assert "负载" in html
    assert "at load" in html
    for wrong in ("NaN", "undefined", "Infinity"):
        assert wrong not in html
