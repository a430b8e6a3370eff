"""The recorded model with an open vocabulary: what the page computes is what the package computes.

The package's side is built from the recorded file alone, with torch and the library of subwords.
200 sentences of the corpus' test split are compared, which are recorded beside the file; all 602
where ``ATTENTION_BOOK_DATA`` names a folder with the corpus and ``ATTENTION_BOOK_WHOLE`` is set.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import random
import re
import struct
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from py_mini_racer import MiniRacer

from attention_book.decoding import Translation, translate
from attention_book.inspection import capture_attention
from attention_book.live import bundle
from attention_book.live.examples import KINDS
from attention_book.models import Transformer, TransformerConfig
from attention_book.runs.corpus import read_lines
from attention_book.runs.settings import DataSettings
from attention_book.text import BOS, SPECIALS, SubwordTokenizer, Vocabulary, encode_source

NAME = "tatoeba-eng-fra"
RECORDED = Path(__file__).parents[2] / "book" / "data" / "runs"
Ask = Callable[..., Any]


@functools.cache
def recorded() -> tuple[dict[str, Any], bytes]:
    """The header of the recorded file, and the weights."""
    binary = (RECORDED / f"{NAME}.bin").read_bytes()
    size = struct.unpack("<I", binary[4:8])[0]
    assert hashlib.sha256(binary[40:]).digest() == binary[8:40]
    return json.loads(binary[40 : 40 + size]), binary[40 + size :]


@functools.cache
def tokenizer() -> SubwordTokenizer:
    """The library's tokenizer, from the pieces and the rules of the header."""
    pieces = [spelled(token) for token in recorded()[0]["source_vocabulary"][4:]]
    flat = [number - len(SPECIALS) for number in recorded()[0]["subwords"]["merges"]]
    joined = [(pieces[a], pieces[b]) for a, b in zip(flat[::2], flat[1::2], strict=True)]
    model = {"vocab": {piece: i for i, piece in enumerate(pieces)}, "merges": joined}
    content = {"format": "attention_book subwords 1", "tokenizer": {"model": model}}
    return SubwordTokenizer.from_json(json.dumps(content))


def spelled(token: str) -> str:
    """A piece as the library writes it: each byte one printable letter (Radford et al. 2019)."""
    found = re.fullmatch("<([0-9A-F]{2}(?: [0-9A-F]{2})*)>", token)
    raw = bytes.fromhex(found[1]) if found else token.replace("▁", " ").encode()
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return "".join(chr(b) if b in printable else chr(256 + others.index(b)) for b in raw)


@functools.cache
def model() -> Transformer:
    """The model with the recorded weights, which stand in the file once each."""
    header, raw = recorded()
    found, at = Transformer(TransformerConfig.from_dict(header["config"])).eval(), 0
    state = found.state_dict()
    for name, shape, *same in header["tensors"]:
        if same:
            assert state[name].data_ptr() == state[same[0]].data_ptr()
            continue
        count = torch.Size(shape).numel()
        values = torch.frombuffer(bytearray(raw[at : at + 2 * count]), dtype=torch.float16)
        state[name].copy_(values.float().reshape(shape))
        at += 2 * count
    assert at == len(raw), "a weight is left over"
    return found


def cut(text: str) -> tuple[str, ...]:
    """The package's subwords of a text."""
    text = re.sub("[\ud800-\udfff]", "\ufffd", text)
    return tokenizer().tokenize(unicodedata.normalize("NFC", text).strip())


def sentences() -> list[str]:
    """The sentences to translate."""
    if os.environ.get("ATTENTION_BOOK_WHOLE"):
        return [
            source for source, _ in read_lines(DataSettings(corpus=NAME, held_out=0.03), "test")
        ]
    lines = (RECORDED / f"{NAME}.test.tsv").read_text(encoding="utf8").splitlines()
    return [line.split("\t")[0] for line in lines]


@pytest.fixture(scope="module")
def ask(harness: str) -> Ask:
    """``ask(function, …)``: call a function of the harness with the recorded model opened."""
    engine = MiniRacer()
    engine.eval(bundle.script(["engine/serve"]))
    engine.eval(harness)
    engine.eval(
        'const { joined } = attentionBookLive.modules["engine/subwords"];'
        "const cutAll = (name, texts) => JSON.stringify(texts.map(files.get(name).cut));"
        "const joinAll = (name, all) => JSON.stringify(all.map(joined));"
    )
    encoded = base64.b64encode((RECORDED / f"{NAME}.bin").read_bytes()).decode()
    assert engine.call("open", NAME, encoded) == "opened"
    return lambda function, *arguments: json.loads(engine.call(function, NAME, *arguments))


def test_the_file_says_what_it_is_and_is_light() -> None:
    header, raw = recorded()
    origin = header["origin"]
    assert (origin["name"], origin["license"]) == ("Tatoeba", "CC BY 2.0 FR")
    assert origin["address"].startswith("https://tatoeba.org")
    binary, example = (RECORDED / f"{NAME}{end}" for end in (".bin", ".example.js"))
    in_base64 = 4 * -(-binary.stat().st_size // 3)
    assert in_base64 + example.stat().st_size + 100 <= 3_000_000, "from a folder it is heaviest"
    parameters = sum(weight.numel() for weight in model().parameters())
    assert len(raw) == 2 * parameters, "the shared matrix stands in the file once"


HOSTILE = [
    "", " ", "\t\n", "a\tb", "  two  blanks ", "I'm Tom's dog's, we'll, they've, DON'T", "l’été",
    "👩\u200d👩\u200d👧 loves 🥐", "我爱你。 Tom 爱 北京", "مرحبا بالعالم \u202e.olleh\u202c",
    "▁ <E6 AC> <unk> <eos>", "\u00a0\u202fx\u2009y\u3000", "\x1c\x85\x00\x07", "\ufeffBOM\ufeff",
    "e\u0301 ﬁ İ ß", "\ud83d half", "3.50 ٣½² 1,000", "__proto__ constructor toString",
    "word " * 300,
]  # fmt: skip
LETTERS = (
    "aBé 'sstdremI've\t\n\u00a0\u202f\x1c\x85\ufeff😀汉字مح٣½e\u0301İßσς.!?-’«»▁<E6>\U000e0041"
)


def test_subwords_are_the_packages(ask: Ask) -> None:
    draw = random.Random(1)
    strange = ["".join(draw.choices(LETTERS, k=draw.randrange(40))) for _ in range(500)]
    points = [chr(code) for code in range(0, 0x3_2000, 67)]
    alone = [f"a{letter}1{letter}{letter} {letter}" for letter in points if letter.isprintable()]
    texts = [*sentences(), *HOSTILE, *strange, *alone]
    numbers = Vocabulary(tuple(recorded()[0]["source_vocabulary"]), (0,) * 3004)
    for text, ids in zip(texts, ask("cutAll", texts), strict=True):
        assert ids == numbers.encode(cut(text)), ascii(text)


def test_joined_subwords_are_the_packages(ask: Ask) -> None:
    pieces = recorded()[0]["target_vocabulary"][4:]
    halves = [piece for piece in pieces if piece.startswith("<") and len(piece) > 1]
    draw = random.Random(2)
    drawn = [[draw.choice(draw.choice((pieces, halves))) for _ in range(12)] for _ in range(500)]
    assert ask("joinAll", drawn) == [tokenizer().detokenize(each) for each in drawn]


@functools.cache
def theirs(width: int) -> list[Translation]:
    """The package's translations of all sentences."""
    tokens = tuple(recorded()[0]["source_vocabulary"])
    words = Vocabulary(tokens, (0,) * len(tokens))
    sources = [cut(text) for text in sentences()]
    return translate(model(), sources, words, words, width=width, length_penalty=1.0)


@pytest.mark.parametrize("width", [1, 4])
def test_translations_are_the_packages(width: int, ask: Ask) -> None:
    for text, expected in zip(sentences(), theirs(width), strict=True):
        ours = ask("translated", text, {"width": width, "lengthPenalty": 1})
        assert ours["source"] == [*cut(text), "<eos>"]
        assert ours["target"] == [*expected.tokens, *["<eos>"] * expected.finished], text
        assert ours["alternatives"][0]["logProb"] == pytest.approx(expected.log_prob, abs=1e-4)
        assert ours["unknown"] == []


def test_attention_is_the_packages(ask: Ask) -> None:
    tokens = tuple(recorded()[0]["source_vocabulary"])
    words = Vocabulary(tokens, (0,) * len(tokens))
    for text in sentences()[:20]:
        ours = ask("translated", text, {})
        ids, mask = encode_source([cut(text)], words)
        target = torch.tensor([[BOS, *words.encode(ours["target"][:-1])]])
        with torch.no_grad(), capture_attention(model()) as seen:
            model()(ids, mask, target)
        for kind, layers in ours["attention"].items():
            for layer, heads in enumerate(layers):
                expected = seen[KINDS[kind].format(layer)][0][0]
                for head, rows in enumerate(heads):
                    for place, row in enumerate(rows):
                        found = expected[head, place, : len(row)]
                        assert torch.allclose(torch.tensor(row).float(), found, rtol=0, atol=1e-5)


def test_damage_is_refused(harness: str) -> None:
    engine = MiniRacer()
    engine.eval(bundle.script(["engine/serve"]))
    engine.eval(harness)
    binary = bytearray((RECORDED / f"{NAME}.bin").read_bytes())
    binary[1_000_000] ^= 1
    assert engine.call("open", NAME, base64.b64encode(binary).decode()) == "checksum"


def test_what_is_shown_are_parts_of_words() -> None:
    engine = MiniRacer()
    engine.eval(bundle.script(["translator/pieces"]))
    engine.eval(
        'const { alone, inLine } = attentionBookLive.modules["translator/pieces"];'
        "const named = (tokens) => JSON.stringify(alone(tokens, true));"
        "const lined = (tokens) => JSON.stringify(inLine(tokens, true));"
    )
    tokens = ["I", "'m", "▁un", "t", "alent", "ed", "\u202f!", "▁", "<E4>", "<eos>"]
    shown = ["I", "'m", "un-", "-t-", "-alent-", "-ed", "!", "␣", "<E4>", "<eos>"]
    assert json.loads(engine.call("named", tokens)) == shown
    line = json.loads(engine.call("lined", tokens))
    assert [each["text"] for each in line] == [each.strip("-") for each in shown]
    clinging = [each["text"] for each in line if each["clings"]]
    assert clinging == ["'m", "t", "alent", "ed"]


def test_a_cut_character_is_shown_and_a_blank_that_tells_two_pieces_apart() -> None:
    """The same rules as `foundations.token_labels`, but for hyphens where a word is cut."""
    engine = MiniRacer()
    engine.eval(bundle.script(["translator/pieces"]))
    engine.eval(
        'const { alone } = attentionBookLive.modules["translator/pieces"];'
        "const named = (tokens) => JSON.stringify(alone(tokens, true));"
    )
    for tokens, shown in (
        (["<E4>", "<BD>", "<8E>"], ["低(1/3)", "低(2/3)", "低(3/3)"]),
        (["<E4 BD>", "<8E F0>", "<9F 98 80>"], ["低(1/2)", "低(2/2)😀(1/2)", "😀(2/2)"]),
        (["<E4>", ",", "<BD>"], ["<E4>", ",", "<BD>"]),  # what a model may say
        (["<EF BF>", "<BD>", "<BD>"], ["\ufffd(1/2)", "\ufffd(2/2)", "<BD>"]),
        (["the", "▁cat", "▁the"], ["the", "cat", "␣the"]),
        (["▁the", "▁cat", "▁the"], ["the", "cat", "the"]),
    ):
        assert json.loads(engine.call("named", tokens)) == shown
