"""``attention-book export``: what is written is what the page reads, or what it lacks is named."""

import hashlib
import json
import re
from dataclasses import replace

import pytest

from attention_book.cli.errors import ExitCode
from attention_book.cli.export import as_trained, missing_for_a_page, safe_name
from attention_book.cli.translators import Learned
from attention_book.models import Transformer, TransformerConfig
from attention_book.runs import TextCodec, TextSettings, load_run
from attention_book.runs.corpus import read_lines
from attention_book.runs.settings import DataSettings


def test_a_run_with_words_is_written_as_the_page_reads_it(say, beside, tmp_path):
    found = say(f"export --folder {tmp_path}")
    assert found.code == 0, found.err
    binary = (tmp_path / "tiny.bin").read_bytes()
    size = int.from_bytes(binary[4:8], "little")
    assert binary[:4] == b"ATTN"
    assert hashlib.sha256(binary[40:]).digest() == binary[8:40]
    header = json.loads(binary[40 : 40 + size])
    run = load_run("runs/tiny")
    assert header["source_vocabulary"] == list(run.codec.source_vocabulary.tokens)
    assert header["config"] == run.model.config.to_dict()
    weights = sum(weight.numel() for weight in run.model.state_dict().values())
    assert len(binary) == 40 + size + 2 * weights
    assert {path.name for path in tmp_path.iterdir()} == {"tiny.bin", "tiny.js", "tiny.example.js"}


def spelled(piece):
    """The bytes of a subword, which may be a part of a character."""
    inside = piece.strip("<>").replace(" ", "")
    is_bytes = piece.startswith("<") and re.fullmatch("([0-9A-F]{2})+", inside)
    return bytes.fromhex(inside) if is_bytes else piece.encode()


def test_a_run_with_subwords_is_written_with_what_joins_them(say, beside, tmp_path, monkeypatch):
    run = load_run("runs/tiny")
    lines = list(read_lines(run.settings.data, "train"))[:200]
    text = TextSettings(unit="subwords", num_pieces=300, shared=True)
    codec = TextCodec.learn(lines, text, ("en", "fr"))
    words = len(codec.source_vocabulary)
    config = TransformerConfig(
        source_vocabulary=words, target_vocabulary=words, shared=True,
        d_model=8, d_ff=8, num_heads=2, num_layers=1,
    )  # fmt: skip
    found = Learned(name="x", model=Transformer(config).eval(), codec=codec, settings=run.settings)
    monkeypatch.setattr("attention_book.cli.export.learned", lambda *_: found)
    said = say(f"export --folder {tmp_path}")
    assert said.code == 0, said.err
    binary = (tmp_path / "x.bin").read_bytes()
    size = int.from_bytes(binary[4:8], "little")
    header = json.loads(binary[40 : 40 + size])
    tokens, merges = header["source_vocabulary"], header["subwords"]["merges"]
    pairs = zip(merges[::2], merges[1::2], strict=True)
    joined = [spelled(tokens[a]) + spelled(tokens[b]) for a, b in pairs]
    assert joined == [spelled(each) for each in tokens[4 + 256 :]] != []
    assert header["origin"] is None, "the book's own grammar"
    parameters = sum(weight.numel() for weight in found.model.parameters())
    assert len(binary) == 40 + size + 2 * parameters, "the shared matrix stands there once"
    example = (tmp_path / "x.example.js").read_text(encoding="utf8")
    assert '"subwords":true' in example


def test_what_the_page_lacks_is_named(say, beside, monkeypatch):
    run = load_run("runs/tiny")
    text = TextSettings(unit="subwords", num_pieces=260, moses=True)
    pieces = TextCodec.learn([("a b", "c d")] * 9, text, ("en", "fr"))
    rotary = Transformer(
        TransformerConfig(source_vocabulary=9, target_vocabulary=9, positions="rotary")
    )
    found = Learned(name="x", model=rotary, codec=pieces, settings=run.settings)
    assert [each.en for each in missing_for_a_page(found)] == [
        "splitting by the rules of Moses",
        "the positions rotary",
    ]
    monkeypatch.setattr("attention_book.cli.export.learned", lambda *_: found)
    said = say("export --lang zh")
    assert said.code == ExitCode.RUN
    assert "Moses 的切分；位置编码 rotary" in said.err


@pytest.mark.parametrize("name", ['a"b);alert(1', "../../etc", "", "..", "大"])
def test_no_name_leaves_the_folder_or_ends_a_string(name):
    assert safe_name(name).replace("-", "a").isalnum()
    assert safe_name(name).isascii()


def test_a_page_knows_languages_by_their_short_codes(beside, monkeypatch):
    """The kind: a code met as a string, here by the page, which compares it with zh and fr."""
    monkeypatch.setattr("attention_book.cli.export._parts", lambda _: {})
    run = load_run("runs/tiny")

    def found(source, target):
        data = DataSettings(corpus="phrasebook", source=source, target=target)
        settings = replace(run.settings, data=data)
        return Learned(name="x", model=run.model, codec=run.codec, settings=settings)

    for (source, target), short in {
        ("eng", "cmn"): ("en", "zh"),
        ("yue-Hant", "FR_ca"): ("zh", "fr"),
        ("it", "en"): ("it", "en"),
    }.items():
        recipe = as_trained(found(source, target)).recipe
        assert (recipe.source, recipe.target) == short
    lines, text = [("L'eau.", "Go.")], TextSettings()
    grammar = TextCodec.learn(lines, text, ("fra", "eng"), word_rule="grammar")
    [lacks] = missing_for_a_page(replace(found("fra", "eng"), codec=grammar))
    assert "French elisions" in lacks.en
