"""The figure of an induction circuit computes what the package computes, on any words."""

import base64
import json

import pytest
import torch
from torch import nn

from attention_book.attention import NoPositions, RotaryPositions
from attention_book.course.models import AttentionOnly
from attention_book.foundations.seed import set_seed
from attention_book.inspection import (
    after_earlier,
    capture_attention,
    changed_attention,
    places_back,
    without_pairs,
)
from attention_book.live import InductionViewer

MODULE = 'attentionBookLive.modules["widgets/induction/model"]'
WIDGET = 'attentionBookLive.modules["widgets/induction"].default'


def whole(data):
    """The weights that the page has, as torch reads them from the same plain values."""
    codes = torch.frombuffer(bytearray(base64.b64decode(data["codes"])), dtype=torch.int8)
    found, row, at = {}, 0, 0
    for name, rows, columns in data["names"]:
        scales = torch.tensor(data["scales"][row : row + rows], dtype=torch.float64)
        size = rows * columns
        found[name] = codes[at : at + size].reshape(rows, columns) * scales[:, None]
        row, at = row + rows, at + size
    assert (row, at) == (len(data["scales"]), len(codes))
    return found


@pytest.fixture(scope="module")
def model():
    set_seed(3)
    found = AttentionOnly(vocabulary=11, d_model=12).eval()
    for weight in found.parameters():
        nn.init.normal_(weight, std=0.7)  # sharp enough that an error shows
    return found


@pytest.fixture(scope="module")
def state(model):
    return InductionViewer(model, "ko ba li ko", longest=20).state


@pytest.fixture
def compute(engine, state):
    def call(text, **changes):
        asked = json.dumps(state | {"text": text} | changes)
        return json.loads(engine.eval(f"JSON.stringify({MODULE}.compute({asked}))"))

    return call


@pytest.fixture
def say(engine, state):
    def call(text, **changes):
        asked = json.dumps(state | {"text": text} | changes)
        script = f"((state) => {WIDGET}.explain({{ state, numbers: {WIDGET}.compute(state) }}))"
        return json.loads(engine.eval(f"JSON.stringify({script}({asked}))"))

    return call


def test_a_weight_is_half_a_step_of_its_row_away_at_most(model, state):
    found = whole(state["data"])
    assert found.keys() == model.state_dict().keys()
    for name, weight in model.state_dict().items():
        rows = weight.double().reshape(-1, weight.shape[-1])
        steps = rows.abs().amax(dim=1, keepdim=True) / 127
        assert ((found[name] - rows).abs() <= 0.51 * steps).all(), name


@pytest.mark.parametrize("cut", ["0", "1"])
@pytest.mark.parametrize("text", ["a", "a a", "a b c d a b", "b a n a n a a n a b", "x y " * 10])
def test_weights_and_guesses_are_those_of_the_package(model, state, compute, text, cut):
    words = text.split()
    numbers = {word: number for number, word in enumerate(dict.fromkeys(words))}
    tokens = torch.tensor([[numbers[word] for word in words]])
    same = AttentionOnly(vocabulary=11, d_model=12).double().eval()
    same.load_state_dict(
        {
            name: weight.reshape(same.state_dict()[name].shape)
            for name, weight in whole(state["data"]).items()
        }
    )
    hides = places_back(len(words), 1)[0] & (cut == "1")
    cutting, first = without_pairs(hides), same.layers[0].attention
    with torch.no_grad(), capture_attention(same) as seen, changed_attention(first, cutting):
        chances = same(tokens)[0].softmax(dim=-1)
    layers = [seen[f"layers.{n}.attention"][0][0, 0] for n in (0, 1)]
    layers[0] = cutting(layers[0], torch.ones_like(hides).tril())  # captured as it was before
    after = after_earlier(tokens)[0]
    for asks in range(len(words)):
        found = compute(text, at=asks + 1, cut=cut)
        assert (found["words"], found["asks"]) == (words, asks)
        for theirs, ours in zip(found["layers"], layers, strict=True):
            for query, row in enumerate(theirs):
                expected = ours[query, : query + 1].tolist()
                assert row == pytest.approx(expected, rel=1e-4, abs=1e-6)
        expected = {word: chances[asks, number].item() for word, number in numbers.items()}
        assert {each["word"]: each["chance"] for each in found["guesses"]} == pytest.approx(
            expected, rel=1e-4, abs=1e-6
        )
        sure = [each["chance"] for each in found["guesses"]]
        assert sure == sorted(sure, reverse=True)
        assert found["after"] == after[asks].nonzero().flatten().tolist()
        assert found["share"] == pytest.approx(layers[1][asks, after[asks]].sum().item(), rel=1e-4)


def test_characters_of_chinese_are_words(compute):
    assert compute("明月光，明")["words"] == ["明", "月", "光", "，", "明"]
    assert compute("Ada met ada")["after"] == [1]  # small and capital letters are the same


def test_what_cannot_be_read_is_left_out_and_told(compute, say):
    long, many = "a b " * 11, " ".join("abcdefghijkl")
    assert (len(compute(long)["words"]), len(compute(many)["words"])) == (20, 11)
    for text, zh, en in (
        (" ", "写几个词", "Write a few words"),
        (long, "最多读 20 个词", "20 words at most"),
        (many, "11 个不同的词", "11 different words"),
    ):
        told = say(text)
        assert zh in told[0]
        assert en in told[1]


def test_the_sentence_says_what_happened(say):
    for text, cut, zh, en in (
        ("a b a", "0", "记下了它", "layer 1 noted it"),
        ("a b a", "1", "不许看前一个词", "may not see the word before"),
        ("a b c", "0", "没有出现过", "has not stood here before"),
    ):
        told = say(text, cut=cut)
        assert zh in told[0]
        assert en in told[1]


def test_the_word_that_is_guessed_can_be_written(engine, state):
    script = f"""(text) => {WIDGET}.controls({{ text: "" }})
        .find(({{ title }}) => title?.[1] === "Write the guess")
        .change({{ ...{json.dumps(state)}, text }})"""
    found = json.loads(engine.eval(f'JSON.stringify(({script})("a b a"))'))
    assert found["at"] == 0
    assert found["text"].split()[:3] == ["a", "b", "a"]
    assert len(found["text"].split()) == 4
    chinese = json.loads(engine.eval(f'JSON.stringify(({script})("明月明"))'))
    assert len(chinese["text"]) == 4
    full = json.loads(engine.eval(f'JSON.stringify(({script})("{"a b " * 10}"))'))
    assert full == {}


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (nn.Linear(2, 2), "expected an AttentionOnly, got Linear"),
        (AttentionOnly(vocabulary=5, d_model=8, num_layers=1), r"got heads \[1\]"),
        (AttentionOnly(vocabulary=5, d_model=8, num_heads=2), r"got heads \[2, 2\]"),
        (AttentionOnly(vocabulary=5, d_model=8, positions=NoPositions()), "expected rotary"),
        (
            AttentionOnly(vocabulary=5, d_model=8, positions=RotaryPositions(d_k=8, base=500.0)),
            "expected rotary",
        ),
    ],
)
def test_a_model_that_the_page_cannot_run_is_refused(model, told):
    with pytest.raises(ValueError, match=told):
        InductionViewer(model, "a b a", longest=48)


def test_no_text_and_no_length_are_refused(model):
    with pytest.raises(ValueError, match="text: expected a few words"):
        InductionViewer(model, " ", longest=48)
    with pytest.raises(ValueError, match="longest: expected at least 1"):
        InductionViewer(model, "a", longest=0)
