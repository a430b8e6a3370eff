"""The engine that writes in the page against the package: the same weights, the same texts.

The models are drawn, not trained: no law here is about what they have learned. Their matrices are
widened so that attention and next words are far from even.
"""

from __future__ import annotations

import base64
import functools
import json
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from py_mini_racer import MiniRacer

from attention_book.attention import LinearScaling
from attention_book.decoding import next_distribution, sample
from attention_book.decoding.prediction import drawn_by
from attention_book.live import bundle
from attention_book.live.export import stored
from attention_book.live.language import ExportedLanguage, as_in_a_page, export, lacking, packed
from attention_book.models import LanguageConfig, LanguageModel, RotarySettings
from attention_book.runs.language.codec import PieceCodec
from attention_book.runs.language.documents import embedded_text
from attention_book.runs.language.settings import DecoderSettings, PieceSettings
from attention_book.text import BOS

TODAY: dict[str, Any] = {"d_model": 32, "num_heads": 4, "d_ff": 40, "num_layers": 2}
LLAMA = LanguageConfig.today
#: How the models are built, and what their tokens are.
MODELS: dict[str, tuple[Callable[..., LanguageConfig], dict[str, Any], str]] = {
    "usual": (LLAMA, {"d_model": 64, "num_heads": 2, "d_ff": 80, "tied": True,
                      "embedding_scale": 1.0}, "characters"),
    "grouped": (LLAMA, {**TODAY, "num_kv_heads": 2, "tied": True}, "subwords"),
    "one-key": (LLAMA, {**TODAY, "num_kv_heads": 1, "num_layers": 3, "d_k": 6}, "characters"),
    "gpt": (LanguageConfig, {**TODAY, "norm": "pre", "positions": "learned", "bias": True,
                             "max_positions": 60, "eps": 1e-3}, "subwords"),
    "2017": (LanguageConfig, {**TODAY, "tied": True, "num_kv_heads": 2}, "characters"),
    "bare": (LanguageConfig, {**TODAY, "norm": "pre", "final_norm": False, "norm_bias": False,
                              "positions": "none", "scale": 0.5, "feed_forward": "swiglu"},
             "subwords"),
}  # fmt: skip
HARNESS = """
const { guess, write } = attentionBookLive.modules["engine/writing"];
const { distribution, drawn } = attentionBookLive.modules["engine/sampling"];
function inPieces(name, pieces) {
  const { decoder } = files.get(name);
  let state = decoder.start();
  return JSON.stringify(pieces.map((piece) => {
    const before = JSON.stringify(state, plain), read = decoder.read(piece, state);
    if (JSON.stringify(state, plain) !== before) throw new Error("the state given was changed");
    state = read.state;
    return read.logits;
  }), plain);
}
const tensorsOf = (name) => JSON.stringify(Object.fromEntries(files.get(name).tensors), plain);
function all(generator) {
  const steps = [];
  try {
    for (;;) {
      const { value, done } = generator.next();
      if (done) return JSON.stringify({ steps, ...value }, plain);
      if (value) steps.push(value);
    }
  } catch (error) {
    return JSON.stringify({ refused: error.reason ?? String(error), ...error.details });
  }
}
const writes = (name, text, options) => all(write(files.get(name), text, options));
const guesses = (name, text, options) => all(guess(files.get(name), text, options));
const cuts = (name, texts) => JSON.stringify(texts.map(files.get(name).cut));
const joins = (name, rows) => JSON.stringify(rows.map(files.get(name).textOf));
const kept = (rows, options) =>
  JSON.stringify(rows.map((row) => distribution(Float64Array.from(row), options)), plain);
const draws = (rows, numbers) =>
  JSON.stringify(rows.map((row, i) => drawn(Float64Array.from(row), numbers[i])));
"""
Ask = Callable[..., Any]


@functools.cache
def codec_of(unit: str) -> PieceCodec:
    """Characters of poems, or subwords of prose."""
    if unit == "characters":
        return PieceCodec.learn(embedded_text("tang-poems")[:300], PieceSettings())
    return PieceCodec.learn(embedded_text("austen")[:200], PieceSettings(num_pieces=400))


@functools.cache
def exported(kind: str) -> ExportedLanguage:
    """A drawn model as it is exported."""
    make, settings, unit = MODELS[kind]
    codec = codec_of(unit)
    generator = torch.Generator().manual_seed(7)
    model = LanguageModel(make(**{**settings, "vocabulary": len(codec.vocabulary)})).eval()
    with torch.no_grad():
        for _, weight, same in stored(model):
            if same is None:
                noise = torch.randn(weight.shape, generator=generator)
                weight.copy_(weight + 0.2 * noise if weight.ndim == 1 else 0.25 * noise)
    return ExportedLanguage(
        name=kind, digest="", model=model, vocabulary=codec.vocabulary, tokenizer=codec.tokenizer,
        context=30,
    )  # fmt: skip


@functools.cache
def in_page(kind: str) -> LanguageModel:
    """A model with the weights that the page has."""
    return as_in_a_page(exported(kind).model)


@pytest.fixture(scope="module")
def worker(harness: str) -> MiniRacer:
    found = MiniRacer()
    found.eval(bundle.script(["engine/serve"]))
    found.eval(harness)
    found.eval(HARNESS)
    return found


@pytest.fixture(scope="module")
def ask(worker: MiniRacer, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """``ask("writes", kind, …)``: call a function of the harness with a model opened."""
    folder, opened = tmp_path_factory.mktemp("models"), set()

    def call(function: str, kind: str, *arguments: Any) -> Any:
        if kind not in opened:
            binary = export(exported(kind), folder).read_bytes()
            assert worker.call("open", kind, base64.b64encode(binary).decode()) == "opened"
            opened.add(kind)
        return json.loads(worker.call(function, kind, *arguments))

    return call


def numbers(kind: str, count: int, seed: int = 1) -> list[int]:
    """A text of drawn tokens, as a model reads it."""
    draw = random.Random(seed)
    return [BOS, *draw.choices(range(4, len(exported(kind).vocabulary)), k=count - 1)]


def prompts(kind: str) -> list[str]:
    """Beginnings of documents, as somebody would type them."""
    if MODELS[kind][2] == "characters":
        return ["春", " 白日依山", "一山一"]
    return ["It was", "  The young lady's ", "“Emma—é 次"]


@pytest.mark.parametrize("kind", MODELS)
def test_weights_are_the_packages_in_8_bits(kind: str, ask: Ask) -> None:
    ours = ask("tensorsOf", kind)
    theirs = in_page(kind).state_dict()
    assert set(ours) == set(theirs)
    for name, weight in theirs.items():
        assert torch.equal(torch.tensor(ours[name]), weight.flatten()), name
        trained = exported(kind).model.state_dict()[name]
        if weight.ndim == 2:  # to the nearest of 255 numbers of its own row
            step = trained.abs().amax(dim=1, keepdim=True) / 127
            assert ((weight - trained).abs() <= 0.501 * step).all()


@pytest.mark.parametrize("kind", MODELS)
def test_logits_are_torchs(kind: str, ask: Ask) -> None:
    """A prompt read at once, then token by token, then some at once again."""
    ids = numbers(kind, 50)
    pieces = [ids[:20], *([each] for each in ids[20:35]), ids[35:]]
    ours = torch.tensor(ask("inPieces", kind, pieces))
    places = [19, *range(20, 35), 49]
    with torch.no_grad():
        theirs = in_page(kind)(torch.tensor([ids]))[0, places]
    assert theirs.std() > 0.5, "even guesses show nothing"
    assert torch.allclose(ours, theirs, rtol=0, atol=2e-5)


@pytest.mark.parametrize("kind", MODELS)
def test_a_text_in_any_pieces_is_the_text_at_once(kind: str, ask: Ask) -> None:
    """Keys and values that are kept are those that would be computed again, to the last bit."""
    ids = numbers(kind, 24, seed=2)
    at_once = [ask("inPieces", kind, [ids[: count + 1]])[0] for count in range(24)]
    assert ask("inPieces", kind, [[each] for each in ids]) == at_once
    assert ask("inPieces", kind, [ids[:7], ids[7:16], ids[16:]]) == [
        at_once[i] for i in (6, 15, 23)
    ]


SETTINGS: tuple[dict[str, Any], ...] = (
    {"top_k": 1}, {}, {"temperature": 0.6, "top_p": 0.9}, {"temperature": 1.5, "top_k": 7},
    {"min_p": 0.1}, {"temperature": 0.8, "top_k": 20, "top_p": 0.95, "min_p": 0.02},
)  # fmt: skip
IN_A_PAGE = {"temperature": "temperature", "top_k": "topK", "top_p": "topP", "min_p": "minP"}


def in_the_page(settings: dict[str, Any]) -> dict[str, Any]:
    return {IN_A_PAGE[name]: value for name, value in settings.items()}


@pytest.mark.parametrize("kind", MODELS)
def test_texts_are_the_packages_with_the_same_numbers(kind: str, ask: Ask) -> None:
    codec, most = codec_of(MODELS[kind][2]), 24
    for number, settings in enumerate(SETTINGS):
        for text in prompts(kind)[number % 3 :: 2]:
            prompt = torch.tensor([[BOS, *codec.numbers(text)]])
            uniform = torch.rand(1, most, generator=torch.Generator().manual_seed(number)).double()
            [theirs] = sample(in_page(kind), prompt, max_tokens=most, uniform=uniform, **settings)
            options = {**in_the_page(settings), "most": most, "draws": uniform[0].tolist()}
            ours = ask("writes", kind, text, options)
            assert ours["ids"] == list(theirs.ids)
            assert ours["ended"] == theirs.finished
            before = codec.numbers(text)
            whole = codec.text([*before, *theirs.ids])
            assert ours["added"] == whole[len(codec.text(before)) :]
            total = sum(torch.tensor(step["probability"]).log() for step in ours["steps"])
            assert total == pytest.approx(theirs.log_prob, abs=1e-3)


@pytest.mark.parametrize("kind", MODELS)
def test_written_on_and_on_is_written_at_once(kind: str, ask: Ask) -> None:
    """Token by token, each asked for by itself, with another text in between."""
    [text, other, _] = prompts(kind)
    draw = random.Random(3)
    draws = [draw.random() for _ in range(12)]
    whole = ask("writes", kind, text, {"draws": draws, "most": 12, "temperature": 0.9})
    after: list[int] = []
    for place, step in enumerate(whole["steps"]):
        if place % 5 == 2:
            ask("guesses", kind, other, {})
        guess = ask("guesses", kind, text, {"after": after, "temperature": 0.9})
        [one] = ask("writes", kind, text, {
            "after": after, "draws": draws[place : place + 1], "most": 1, "temperature": 0.9,
        })["steps"]  # fmt: skip
        assert one == step
        if place:
            assert guess["choices"] == whole["steps"][place - 1]["guess"]["choices"]
        after = whole["ids"][: place + 1]


@pytest.mark.parametrize("kind", MODELS)
def test_what_may_follow_is_the_packages(kind: str, ask: Ask) -> None:
    codec, text = codec_of(MODELS[kind][2]), prompts(kind)[0]
    how = {"temperature": 0.7, "top_p": 0.8}
    ours = ask("guesses", kind, text, {**in_the_page(how), "count": 12})
    with torch.no_grad():
        logits = in_page(kind)(torch.tensor([[BOS, *codec.numbers(text)]]))[:, -1]
    own = logits.softmax(dim=-1)
    own[:, [0, BOS]] = 0  # never written
    shares = next_distribution(own.log(), **how)[0]
    top, order = own[0].topk(12)
    assert [each["id"] for each in ours["choices"]] == order.tolist()
    found = torch.tensor([[each["probability"], each["share"]] for each in ours["choices"]])
    assert torch.allclose(found, torch.stack((top, shares[order]), dim=1), rtol=0, atol=2e-5)
    assert ours["kept"] == (shares > 0).sum()
    finite = own[own > 0]
    assert ours["entropy"] == pytest.approx(-(finite * finite.log()).sum().item(), abs=1e-3)


def test_a_piece_goes_on_with_the_word_before_it(ask: Ask) -> None:
    vocabulary = exported("grouped").vocabulary
    size = len(vocabulary)
    found = ask("guesses", "grouped", "It wa", {"count": size})["choices"]
    by = {vocabulary.decode([each["id"]])[0]: each for each in found}
    assert (by["s"]["start"], by["s"]["text"]) == ("wa", "s")
    assert (by["▁the"]["start"], by["▁the"]["text"]) == ("", " the")
    assert (by[","]["start"], by[","]["text"]) == ("", ",")
    assert by["<eos>"]["end"]
    assert by["<eos>"]["text"] == ""


def test_distributions_are_the_packages(worker: MiniRacer) -> None:
    generator = torch.Generator().manual_seed(4)
    for place, settings in enumerate(SETTINGS * 2):
        logits = 2 * torch.randn(20, 50, generator=generator)
        if place >= len(SETTINGS):
            logits = logits.round()  # ties
        own = logits.log_softmax(dim=-1)
        own[:, [0, 2]] = -torch.inf
        rows = [[-1e30 if value == -torch.inf else value for value in row] for row in own.tolist()]
        ours = torch.tensor(json.loads(worker.call("kept", rows, in_the_page(settings)))).float()
        theirs = next_distribution(own, **settings)
        assert torch.equal(ours > 0, theirs > 0)
        assert torch.allclose(ours, theirs, rtol=1e-5, atol=1e-7)


def test_draws_are_the_packages(worker: MiniRacer) -> None:
    generator = torch.Generator().manual_seed(5)
    shares = torch.rand(400, 9, generator=generator).double()
    shares = shares * (torch.rand(400, 9, generator=generator) < 0.4)
    shares[:, 4] += 0.1
    uniform = torch.rand(400, generator=generator).double()
    uniform[:40], uniform[40:80] = 0.0, 1 - 2**-53
    ours = json.loads(worker.call("draws", shares.tolist(), uniform.tolist()))
    assert ours == drawn_by(shares, uniform).tolist()
    assert all(share[place] > 0 for share, place in zip(shares.tolist(), ours, strict=True))


LETTERS = "春 白日e\u0301\ud83dİßΣ\x1c\x85\u00a0\ufeff😀aBt'sthe 3½\n«é"


def test_tokens_are_the_packages(ask: Ask) -> None:
    draw = random.Random(6)
    texts = ["".join(draw.choices(LETTERS, k=draw.randrange(20))) for _ in range(300)]
    for kind in ("usual", "grouped"):
        codec = codec_of(MODELS[kind][2])
        assert ask("cuts", kind, texts) == [codec.numbers(text) for text in texts]
        rows = [draw.choices(range(len(codec.vocabulary)), k=9) for _ in range(200)]
        assert ask("joins", kind, rows) == [codec.text(row) for row in rows]


def test_what_cannot_be_read_is_refused(ask: Ask) -> None:
    assert ask("writes", "usual", " \n", {}) == {"refused": "empty"}
    assert ask("guesses", "usual", "", {}) == {"refused": "empty"}
    unknown = ask("writes", "usual", "春x春€x", {})
    assert unknown == {"refused": "unknown", "characters": ["x", "€"]}
    long = ask("writes", "usual", "春" * 5001, {})
    assert long == {"refused": "characters", "found": 5001, "most": 5000}
    many = ask("writes", "usual", "春" * 1000, {})
    assert many == {"refused": "tokens", "found": 1001, "most": 1000}


def test_learned_positions_come_to_an_end(ask: Ask) -> None:
    """The last token is not read: as many may be written as the command writes."""
    codec = codec_of("subwords")
    text = "the " * 55
    room = 60 - 1 - len(codec.numbers(text)) + 1
    found = ask("writes", "gpt", text, {"most": 500, "draws": [0.5] * 99, "topK": 1})
    assert len(found["ids"]) + found["ended"] <= room
    if not found["ended"]:
        assert len(found["ids"]) == room
    assert ask("guesses", "gpt", "the " * 80, {})["refused"] == "tokens"


def test_damaged_weights_are_refused(worker: MiniRacer) -> None:
    binary = packed(exported("usual"))
    for place, reason in ((0, "format"), (10, "checksum"), (-1, "checksum")):
        broken = bytearray(binary)
        broken[place] ^= 1
        assert worker.call("open", "broken", base64.b64encode(broken).decode()) == reason


@pytest.mark.parametrize(
    "setting",
    [
        {"norm": "both"}, {"feed_forward": "gelu"}, {"positions": "alibi"}, {"qk_norm": True},
        {"windows": (4, None)}, {"sinks": True}, {"around_one": True}, {"causal": False},
        {"rotary": RotarySettings(scaling=LinearScaling(factor=2.0))},
        {"rotary": RotarySettings(pairing="halves")},
    ],
    ids=str,
)  # fmt: skip
def test_what_the_engine_lacks_is_named(setting: dict[str, Any]) -> None:
    config = LLAMA(**{**TODAY, "vocabulary": 9, **setting})
    [missing] = lacking(config)
    name = next(iter(setting))
    assert name in missing.en
    assert name in missing.zh
    found = ExportedLanguage(
        name="x",
        digest="",
        model=LanguageModel(config),
        vocabulary=codec_of("characters").vocabulary,
    )
    with pytest.raises(ValueError, match=r"the page's engine lacks the setting"):
        packed(found)


def test_the_usual_settings_lack_nothing() -> None:
    assert lacking(DecoderSettings().model_config(vocabulary=9)) == []
