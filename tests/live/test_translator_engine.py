"""The engine that runs in the page against the package: the same weights, the same results.

Two models are trained for seconds. Where ``ATTENTION_BOOK_TRAINED`` names a folder with the book's
models, those are compared on all 500 held-out sentences; otherwise on 40.
"""

from __future__ import annotations

import base64
import copy
import functools
import itertools
import json
import os
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from py_mini_racer import MiniRacer

from attention_book.attention import MultiHeadAttention, NoPositions
from attention_book.course.recipes import Recipe, Trained, trained
from attention_book.decoding import translate
from attention_book.inspection.cutting import Pair, cut_looks
from attention_book.live import bundle
from attention_book.live.cuts import tables, translations, weights_of
from attention_book.live.examples import seen_by
from attention_book.live.export import capitals, export, rounded
from attention_book.text import BOS, detokenize, encode_source, tokenize

TINY = {
    "transformer": Recipe(
        name="tiny-transformer", model="transformer", num_train=3000, num_test=40, epochs=3,
        learning_rate=0.01, schedule="linear", warmup=20,
        config={"d_model": 32, "num_heads": 2, "d_ff": 48, "num_layers": 2, "norm": "pre"},
    ),
    "post": Recipe(
        name="tiny-post", model="transformer", source="zh", target="en", num_train=500,
        num_test=40, epochs=1, learning_rate=0.01,
        config={"d_model": 24, "num_heads": 3, "d_ff": 48, "num_layers": 1, "norm": "post"},
    ),
    "recurrent": Recipe(
        name="tiny-recurrent", num_train=3000, num_test=40, epochs=3, learning_rate=0.01,
        config={"attention": "bahdanau", "d_embed": 24, "d_hidden": 32, "num_layers": 1,
                "bidirectional": True},
    ),
}  # fmt: skip
BOOKS = ("transformer-en-fr-1", "transformer-zh-en-1", "bahdanau-en-fr-1")
WHOLE = bool(os.environ.get("ATTENTION_BOOK_TRAINED"))
RECIPES: dict[str, Recipe | str] = {**TINY, **({name: name for name in BOOKS} if WHOLE else {})}
NUM_SENTENCES = 500 if WHOLE else 40

Ask = Callable[..., Any]


@functools.cache
def model_of(kind: str) -> tuple[Trained, Any]:
    """A trained model, and a copy with the weights that the page has."""
    found = trained(RECIPES[kind])
    return found, rounded(found.model)


@pytest.fixture(scope="module")
def worker(harness: str) -> MiniRacer:
    found = MiniRacer()
    found.eval(bundle.script(["engine/serve"]))
    found.eval(harness)
    return found


@pytest.fixture(scope="module")
def ask(worker: MiniRacer, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """``ask("decode", kind, …)``: call a function of the harness with a model opened."""
    folder, opened = tmp_path_factory.mktemp("models"), set()

    def call(function: str, kind: str, *arguments: Any) -> Any:
        if kind not in opened:
            binary = export(model_of(kind)[0], folder).read_bytes()
            assert worker.call("open", kind, base64.b64encode(binary).decode()) == "opened"
            opened.add(kind)
        return json.loads(worker.call(function, kind, *arguments))

    return call


def cases(kind: str, count: int) -> list[tuple[Any, torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Held-out pairs as a model takes them."""
    found, _ = model_of(kind)
    pairs = found.recipe.splits()["random"][:count]
    target = found.target_vocabulary
    return [
        (
            pair,
            *encode_source([pair.source], found.source_vocabulary),
            torch.tensor([[BOS, *target.encode(pair.target)]]),
        )
        for pair in pairs
    ]


@pytest.mark.parametrize("kind", RECIPES)
def test_logits_and_attention_are_torchs(kind: str, ask: Ask) -> None:
    found, model = model_of(kind)
    for pair, source, mask, target in cases(kind, 4):
        ours = ask("decode", kind, source[0].tolist(), target[0].tolist(), {})
        with torch.no_grad():
            logits = model(source, mask, target)[0]
        assert torch.allclose(torch.tensor(ours["logits"]), logits, rtol=0, atol=1e-5)
        seen = seen_by(found, model, pair.source, list(pair.target))
        cross = torch.tensor(ours["cross"]).permute(1, 2, 0, 3)
        assert torch.allclose(cross, seen["cross"], rtol=0, atol=1e-5)
        if "self" not in seen:
            continue
        assert torch.allclose(torch.tensor(ours["atOnce"]), logits, rtol=0, atol=1e-5)
        assert torch.allclose(torch.tensor(ours["encoder"]), seen["encoder"], rtol=0, atol=1e-5)
        for place, step in enumerate(ours["self"]):
            theirs = seen["self"][:, :, place, : place + 1]
            ours_now = torch.tensor(step, dtype=theirs.dtype)
            assert torch.allclose(ours_now, theirs, rtol=0, atol=1e-5)


def test_half_precision_moves_no_logit_far() -> None:
    """The weights that the page has, against those that were trained."""
    for kind in ("transformer", "recurrent"):
        found, model = model_of(kind)
        for _, source, mask, target in cases(kind, 4):
            with torch.no_grad():
                exact, close = found.model(source, mask, target), model(source, mask, target)
            assert (exact.softmax(-1) - close.softmax(-1)).abs().max() < 5e-3


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("kind", RECIPES)
def test_translations_are_the_packages(kind: str, width: int, ask: Ask) -> None:
    found, model = model_of(kind)
    pairs = found.recipe.splits()["random"][:NUM_SENTENCES]
    theirs = translate(
        model,
        [pair.source for pair in pairs],
        found.source_vocabulary,
        found.target_vocabulary,
        width=width,
        length_penalty=1.0,
    )
    for pair, expected in zip(pairs, theirs, strict=True):
        # Chinese as a reader types it, without blanks: the page finds the words by itself.
        text = detokenize(pair.source, found.recipe.source)
        ours = ask("translated", kind, text, {"width": width, "lengthPenalty": 1})
        assert ours["source"] == [*expected.source, "<eos>"]
        assert ours["target"] == [*expected.tokens, *["<eos>"] * expected.finished]
        assert ours["alternatives"][0]["logProb"] == pytest.approx(expected.log_prob, abs=1e-4)
        assert len(ours["alternatives"]) <= width


def no_positions(model: Any) -> None:
    model.encoder.positions = model.decoder.positions = NoPositions()


def no_scaling(model: Any) -> None:
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.scale = 1.0


def head_off(model: Any) -> None:
    model.decoder.layers[1].cross_attention.W_o.weight.data[:, 16:32] = 0  # head 1 of 2


def no_mask(model: Any) -> None:
    for layer in model.decoder.layers:
        forward = layer.forward
        layer.forward = functools.partial(
            lambda forward, *args, is_causal, **how: forward(*args, is_causal=not is_causal, **how),
            forward,
        )


@pytest.mark.parametrize(
    ("switches", "change"),
    [
        ({"noPositions": True}, no_positions),
        ({"noScaling": True}, no_scaling),
        ({"noMask": True}, no_mask),
        ({"headOff": {"kind": "cross", "layer": 1, "head": 1}}, head_off),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_switch_does_what_it_says(switches: Any, change: Any, ask: Ask) -> None:
    _, model = model_of("transformer")
    changed = copy.deepcopy(model)
    change(changed)
    for _, source, mask, target in cases("transformer", 5):
        ids = source[0].tolist(), target[0].tolist()
        ours = torch.tensor(ask("decode", "transformer", *ids, switches)["atOnce"])
        with torch.no_grad():
            theirs, before = changed(source, mask, target)[0], model(source, mask, target)[0]
        assert torch.allclose(ours, theirs, rtol=0, atol=1e-5)
        assert (theirs - before).abs().max() > 1e-2, "nothing was taken out"


CUTS = ([(None, 1)], [(2, None)], [(1, 0), (3, 2), (None, 4)], [(None, None)])


@pytest.mark.parametrize("kind", RECIPES)
def test_a_cut_look_is_the_packages(kind: str, ask: Ask) -> None:
    """The same logits and weights as the package with these looks forced to zero."""
    _, model = model_of(kind)
    for _, source, mask, target in cases(kind, 4):
        for pairs in CUTS:
            table = tables([pairs], target.shape[1], source.shape[1])
            with torch.no_grad(), cut_looks(model, table):
                theirs = model(source, mask, target)[0]
            ids = source[0].tolist(), target[0].tolist()
            ours = ask("decode", kind, *ids, {"cuts": pairs})
            assert torch.allclose(torch.tensor(ours["logits"]), theirs, rtol=0, atol=1e-5)
            cross = torch.tensor(ours["cross"]).permute(1, 2, 0, 3)
            assert (cross[..., table[0]] == 0).all()
            with torch.no_grad():
                before = model(source, mask, target)[0]
            assert (theirs - before).abs().max() > 1e-4, "nothing was cut"


@pytest.mark.parametrize("kind", RECIPES)
def test_every_look_of_50_sentences_cut_translates_as_the_package(kind: str, ask: Ask) -> None:
    found, model = model_of(kind)
    for pair in found.recipe.splits()["random"][:50]:
        ids, _ = encode_source([pair.source], found.source_vocabulary)
        limit = 2 * len(pair.source) + 10
        ours = ask("allCuts", kind, ids[0].tolist(), limit)
        places = range(len(ours["ids"])), range(ids.shape[1])
        pairs = list(itertools.product(*places))
        theirs = translations(found, model, pair.source, [[], *([each] for each in pairs)])
        names = found.target_vocabulary.tokens
        written = [ours["ids"], *(ours["found"][target][place] for target, place in pairs)]
        assert [[names[i] for i in row] for row in written] == [words for words, _ in theirs]


@pytest.mark.parametrize("kind", RECIPES)
def test_a_translation_with_cuts_is_the_packages(kind: str, ask: Ask) -> None:
    found, model = model_of(kind)
    cuts: list[list[Pair]] = [[(None, 1)], [(0, None), (2, 1)], [(None, None)]]
    for pair in found.recipe.splits()["random"][:4]:
        text = detokenize(pair.source, found.recipe.source)
        theirs = translations(found, model, pair.source, cuts)
        for each, (words, _) in zip(cuts, theirs, strict=True):
            ours = ask("translated", kind, text, {"switches": {"cuts": each}})
            assert ours["target"] == words


@pytest.mark.parametrize("kind", RECIPES)
def test_the_build_draws_the_weights_that_the_page_computes(kind: str, ask: Ask) -> None:
    """The mean of the last layer's heads; nothing looks where it may not."""
    found, model = model_of(kind)
    cuts: list[Pair] = [(None, 1), (0, 0)]
    for pair in found.recipe.splits()["random"][:4]:
        [(words, _)] = translations(found, model, pair.source, [cuts])
        [drawn] = weights_of(found, model, pair.source, [cuts], [words])
        text = detokenize(pair.source, found.recipe.source)
        ours = ask("translated", kind, text, {"switches": {"cuts": cuts}})
        computed = torch.tensor(ours["attention"]["cross"][-1]).mean(dim=0)
        assert torch.allclose(drawn, computed, rtol=0, atol=1e-5)
        assert (drawn[:, 1] == 0).all()
        assert drawn[0, 0] == 0


def test_without_the_mask_early_words_depend_on_later_ones(ask: Ask) -> None:
    """The whole sentence at once: there, and hardly elsewhere, the mask matters."""
    found, _ = model_of("transformer")
    pair = found.recipe.splits()["random"][0]
    text = detokenize(pair.source, "en")
    ours = ask("translated", "transformer", text, {"switches": {"noMask": True}})["atOnce"]
    assert len(ours["masked"]) == len(ours["open"])
    assert max(abs(a - b) for a, b in zip(ours["masked"], ours["open"], strict=True)) > 1e-3
    assert ask("translated", "transformer", text, {})["atOnce"] is None


def test_damaged_weights_are_refused(worker: MiniRacer, tmp_path: Any) -> None:
    binary = export(model_of("recurrent")[0], tmp_path).read_bytes()
    for place, reason in ((0, "format"), (10, "checksum"), (60, "checksum"), (-1, "checksum")):
        broken = bytearray(binary)
        broken[place] ^= 1
        assert worker.call("open", "broken", base64.b64encode(broken).decode()) == reason
    assert worker.call("open", "broken", base64.b64encode(binary[:20]).decode()) == "format"


ALPHABET = (
    "aBé İßΣσ．.,:3５٣’'\"«»“”„。，：（》汉字々〇𠀀豈\u00ad\u200b\ufeff\u00a0\u3000\x1c\x85\n"
    "😀e\u0301()[]-…?!;カー한 "
)


def test_tokens_are_the_packages(worker: MiniRacer) -> None:
    draw = random.Random(42)
    texts = ["".join(draw.choices(ALPHABET, k=draw.randrange(1, 24))) for _ in range(200)]
    for text in texts:
        for language in ("en", "zh", "fr"):
            tokens = json.loads(worker.call("tokensOf", text, language))
            assert tuple(tokens) == tokenize(text, language), ascii(text)
            assert worker.call("textOf", tokens, language) == detokenize(tokens, language)


HOSTILE = {
    "": "empty", " \n\t": "empty", "word " * 2000: "characters", "a" * 10_000: "characters",
    "the cat " * 31: "tokens",
}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_too_long_or_empty_is_refused(text: str, ask: Ask) -> None:
    assert ask("translated", "transformer", text, {}) == {"refused": HOSTILE[text]}


@pytest.mark.parametrize(
    "text",
    [
        "<eos> <pad> the cat",
        "__proto__ constructor cat",
        "👩‍👩‍👧 loves 🥐",
        "مرحبا \u202e.olleh\u202c",
    ],
)
def test_what_is_strange_is_unknown(text: str, ask: Ask) -> None:
    found = ask("translated", "transformer", text, {})
    known = set(model_of("transformer")[0].source_vocabulary.tokens[4:])
    unknown = [i for i, token in enumerate(found["source"][:-1]) if token not in known]
    assert found["unknown"] == unknown != []


def test_a_nearby_sentence_that_works_is_proposed(ask: Ask, worker: MiniRacer) -> None:
    found, _ = model_of("transformer")
    text = "They run with the zebra in the garden."
    words = ask("translated", "transformer", text, {})["nearest"]
    assert words
    assert not [word for word in words if word not in found.source_vocabulary]
    assert ask("translated", "transformer", "They are happy.", {})["nearest"] is None
    # Of those that share most words the one whose length is closest; marks are no words.
    sentences = ["a . . .", "they run in the old red garden .", "they run in the garden .", "the"]
    worker.eval('const { nearest } = attentionBookLive.modules["engine/serve"]')
    worker.eval("const nearestOf = (tokens, all) => nearest(tokens, all).join(' ')")
    assert worker.call("nearestOf", text.lower()[:-1].split(), sentences) == sentences[1]
    assert worker.call("nearestOf", ["they", "run", "."], sentences) == sentences[2]


def test_names_keep_their_capitals(worker: MiniRacer) -> None:
    names = capitals(model_of("transformer")[0])
    assert names == {"anna": "Anna", "i": "I", "marie": "Marie", "paul": "Paul"}
    worker.eval("const shown = (tokens, language, names) => written(tokens, language, names)")
    tokens = ["donc", "l'", "ami", "de", "paul", "dort", "."]
    assert worker.call("shown", tokens, "fr", names) == "Donc l'ami de Paul dort."
    assert worker.call("shown", ["constructor", "i"], "en", names) == "Constructor I"
