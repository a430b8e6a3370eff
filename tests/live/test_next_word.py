"""The figure of the next word: what it shows, writes and counts is what the package computes."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from py_mini_racer import MiniRacer

from attention_book.course.recorded import recorded_run
from attention_book.decoding import next_distribution, sample
from attention_book.inspection import operations
from attention_book.live import bundle
from attention_book.models import LanguageConfig, LanguageModel
from attention_book.text import BOS

MODELS = ("tang-poems", "austen")
RECORDED = Path(__file__).parents[2] / "book" / "data" / "runs"
WAYS = ({"temperature": 1.0}, {"temperature": 0.8, "topP": 0.95}, {"topK": 1}, {"temperature": 2.0})
Ask = Callable[..., Any]


@functools.cache
def recorded(name: str) -> tuple[dict[str, Any], LanguageModel]:
    """The header of a recorded file, and the package's model with its weights."""
    binary = (RECORDED / f"{name}.bin").read_bytes()
    size = struct.unpack("<I", binary[4:8])[0]
    assert hashlib.sha256(binary[40:]).digest() == binary[8:40]
    header, raw, at = json.loads(binary[40 : 40 + size]), binary[40 + size :], 0
    model = LanguageModel(LanguageConfig.from_dict(header["config"])).eval()
    state = model.state_dict()
    for weight, shape, *same in header["tensors"]:
        if same:
            assert state[weight].data_ptr() == state[same[0]].data_ptr()
            continue
        count = torch.Size(shape).numel()
        if len(shape) == 2:
            scales = torch.frombuffer(bytearray(raw[at : at + 4 * shape[0]]), dtype=torch.float32)
            at += 4 * shape[0]
            whole = torch.frombuffer(bytearray(raw[at : at + count]), dtype=torch.int8)
            values, at = whole.reshape(shape) * scales[:, None], at + count
        else:
            halves = torch.frombuffer(bytearray(raw[at : at + 2 * count]), dtype=torch.float16)
            values, at = halves.float(), at + 2 * count
        state[weight].copy_(values)
    assert at == len(raw), "a weight is left over"
    return header, model


@pytest.fixture(scope="module")
def ask(harness: str) -> Ask:
    """``ask(function, …)``: call what the page calls, with the recorded models opened."""
    engine = MiniRacer()
    engine.eval(bundle.script(["engine/serve", "next-word/cost"]))
    engine.eval(harness)
    engine.eval("""
      const { guess, write } = attentionBookLive.modules["engine/writing"];
      const { pass, sizes } = attentionBookLive.modules["next-word/cost"];
      const done = (work, name, text, how) =>
        JSON.stringify(finish(work(files.get(name), text, how)));
      const guessed = (name, text, how) => done(guess, name, text, how);
      const wrote = (name, text, how) => done(write, name, text, how);
      const costs = (name, how) => JSON.stringify(pass(sizes(files.get(name)), how));
    """)
    for name in MODELS:
        encoded = base64.b64encode((RECORDED / f"{name}.bin").read_bytes()).decode()
        assert engine.call("open", name, encoded) == "opened"
    return lambda function, *arguments: json.loads(engine.call(function, *arguments))


def packages(how: dict[str, Any]) -> dict[str, Any]:
    """The page's names of settings as the package's."""
    names = {"temperature": "temperature", "topK": "top_k", "topP": "top_p"}
    return {names[key]: value for key, value in how.items()}


def numbers(ask: Ask, name: str, text: str) -> list[int]:
    return [int(each) for each in ask("guessed", name, text, {})["ids"]]


@pytest.mark.parametrize("how", WAYS, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_the_bars_are_the_packages(name: str, how: dict[str, Any], ask: Ask) -> None:
    header, model = recorded(name)
    for text in header["beginnings"]:
        found = ask("guessed", name, text, {**how, "count": 8})
        with torch.no_grad():
            logits = model(torch.tensor([[BOS, *found["ids"]]]))[:, -1]
        own, shares = logits.softmax(-1)[0], next_distribution(logits, **packages(how))[0]
        order = own.argsort(descending=True, stable=True).tolist()
        listed = [each["id"] for each in found["choices"]]
        assert listed == [each for each in order if each not in (0, BOS)][:8]
        for each in found["choices"]:
            assert each["probability"] == pytest.approx(own[each["id"]].item(), abs=1e-4)
            assert each["share"] == pytest.approx(shares[each["id"]].item(), abs=1e-3)


@pytest.mark.parametrize("name", MODELS)
def test_greedy_texts_are_the_packages_and_the_recorded_ones(name: str, ask: Ask) -> None:
    header, model = recorded(name)
    record = recorded_run(name)["greedy"]
    assert list(record) == header["beginnings"]
    for text, expected in record.items():
        ids = numbers(ask, name, text)
        [theirs] = sample(model, torch.tensor([[BOS, *ids]]), max_tokens=100, top_k=1)
        found = ask("wrote", name, text, {"topK": 1, "most": 100})
        assert found["ids"] == [each for each in theirs.ids if each != 3]
        assert text + found["added"] == expected


@pytest.mark.parametrize("name", MODELS)
def test_drawn_texts_are_the_packages(name: str, ask: Ask) -> None:
    header, model = recorded(name)
    draws = torch.rand(1, 30, generator=torch.Generator().manual_seed(5))
    for text in header["beginnings"]:
        ids, how = numbers(ask, name, text), {"temperature": 0.8, "topP": 0.95}
        prompt = torch.tensor([[BOS, *ids]])
        [theirs] = sample(model, prompt, max_tokens=30, uniform=draws, **packages(how))
        found = ask("wrote", name, text, {**how, "most": 30, "draws": draws[0].tolist()})
        assert found["ids"] == [each for each in theirs.ids if each != 3]


@pytest.mark.parametrize("name", MODELS)
def test_what_a_pass_costs_is_what_the_package_counts(name: str, ask: Ask) -> None:
    _, model = recorded(name)
    state, counted = model.start(1), []
    for token in range(4, 10):
        taken: list[Any] = []

        def step(ids: torch.Tensor, state: Any = state, taken: list[Any] = taken) -> None:
            taken.append(model.step(ids, state))

        counted.append(operations(step, torch.tensor([token])) // 2)  # an addition to each
        state = taken[0][1]
    steps = [ask("costs", name, {"tokens": 1, "cached": cached}) for cached in range(6)]
    assert [each["multiplications"] for each in steps] == counted
    weights = sum(weight.numel() for weight in model.parameters() if weight.ndim == 2)
    assert {each["weights"] for each in steps} == {weights}
    # At once: the same products, but that the output layer is asked only after the last.
    at_once = ask("costs", name, {"tokens": 6, "cached": 0})
    readout = model.readout.weight.numel()
    assert at_once["multiplications"] == sum(counted) - 5 * readout
    assert (at_once["weights"], at_once["cache"]) == (weights, 0)
    kept = 2 * model.config.num_layers * model.config.d_model
    assert [each["cache"] for each in steps] == [cached * kept for cached in range(6)]


@pytest.mark.parametrize("name", MODELS)
def test_the_files_are_light_and_the_record_is_theirs(name: str) -> None:
    header, model = recorded(name)
    record = recorded_run(name)
    size = (RECORDED / f"{name}.bin").stat().st_size
    assert size == record["bytes"] <= 1_500_000
    assert record["parameters"] == sum(weight.numel() for weight in model.parameters())
    assert record["tokens"] == len(header["vocabulary"])
    assert record["quality"]["bits"] < record["quality"]["ngram_bits"], "counting does better"
