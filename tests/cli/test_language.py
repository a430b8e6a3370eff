"""A language model by command: trained, told of, written with; wrong input is one error."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attention_book.cli import language
from attention_book.cli.errors import ExitCode
from attention_book.cli.language import LearnedLanguage, learned_language
from attention_book.cli.reasons import has_english
from attention_book.cli.write import Writing
from attention_book.live.language import ExportedLanguage, packed
from attention_book.models import LanguageModel
from attention_book.runs.building import build_decoder
from attention_book.runs.language.codec import PieceCodec
from attention_book.runs.language.settings import (
    DecoderSettings,
    LanguageSettings,
    PieceSettings,
)
from attention_book.runs.loading import load_language_model

SMALL = (
    "--steps 4 --set model.config.d_model=16 --set model.config.num_heads=2 "
    "--set model.config.d_ff=16 --set model.config.num_layers=1 --set model.context=24 "
    "--set training.batch_tokens=96 --device cpu"
)


@pytest.fixture(scope="module")
def poet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text, and with ``runs/text``, a model of it."""
    folder: Path = tmp_path_factory.mktemp("poet")
    lines = [f"the {['cat', 'dog', 'bird'][n % 3]} number {n} sleeps.\n" for n in range(120)]
    (folder / "text.txt").write_text("".join(lines))
    return folder


@pytest.fixture
def trained(poet: Path, say: Callable, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(poet)
    monkeypatch.setattr(language, "_WRITTEN", 6)
    if not (poet / "runs/text").exists():
        found = say(f"train --text text.txt {SMALL}")
        assert found.code == 0, found.err
        assert "nats a token" in found.out
        assert "-grams (Kneser–Ney)" in found.out
        assert "Copied: of 6 texts" in found.out
        assert "begin with: the " in found.out
    return poet


def test_it_writes_on_and_the_same_with_the_same_seed(trained: Path, say: Callable) -> None:
    one, other, third = (say(["write", "--seed", seed, "the cat"]) for seed in "112")
    assert one.code == 0, one.err
    assert one.out == other.out != third.out
    assert one.out.startswith("the cat")


def test_streamed_is_written_at_once(trained: Path, say: Callable) -> None:
    """Shown token by token or whole: no draw has a choice among the one most probable token."""
    beams = say(["write", "--beam", "1", "--max-tokens", "12", "the"])
    greedy = say(["write", "--top-k", "1", "--max-tokens", "12", "the"])
    assert greedy.out.endswith("\n")
    assert beams.out == greedy.out
    several = say(
        ["write", "--seed", "3", "--number", "4", "--top-k", "1", "--max-tokens", "12", "the"]
    )
    assert set(several.out.splitlines()) == {greedy.out.rstrip("\n")}


def test_the_last_unknown_character_is_shown_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Streamed, it was taken for the first bytes of one and left out."""
    codec = PieceCodec.learn(["春眠", "春风"], PieceSettings(unit="characters"))
    model = DecoderSettings(config={"d_model": 32, "num_layers": 1})
    found = LearnedLanguage(
        name="poet",
        model=build_decoder(model, codec),
        codec=codec,
        settings=LanguageSettings(model=model),
    )
    ids = codec.vocabulary.special_ids
    told = []
    for streams in (True, False):
        writing = Writing(found, "春", found.prompt("春"), (), streams=streams)
        for token in (*codec.numbers("春眠"), ids.eos):
            writing.hear(torch.tensor([token]))
        writing.finish()
        told.append(capsys.readouterr().out)
    assert told == ["春春\ufffd\n"] * 2


def test_a_stop_ends_a_text_where_it_first_stands(trained: Path, say: Callable) -> None:
    """The same draws: what is written with a stop is how the text without it begins."""
    shorter = 0
    for seed in map(str, range(1, 7)):
        line = ["write", "--seed", seed, "--max-tokens", "16", "the cat"]
        text = say(line).out
        signs = [sign for sign in text[len("the cat") :] if sign.isascii() and sign.isalnum()]
        if not signs:
            continue
        stop = signs[0]
        stopped = say([*line, "--stop", stop]).out.rstrip("\n")
        assert text.startswith(stopped)
        assert stop in stopped[len("the cat") :]
        shorter += len(stopped) < len(text.rstrip("\n"))
    assert shorter


def test_a_stop_ends_a_text(trained: Path, say: Callable) -> None:
    for seed in "12345":
        text = say(["write", "--stop", ".", "--seed", seed, "the cat"]).out.rstrip("\n")
        assert "." not in text[:-1]
    wrong = say(["write", "--stop", "语"])
    assert wrong.code == ExitCode.WRONG_LINE
    assert "--stop: expected what stands in a token" in wrong.err


def test_a_translator_is_not_written_with_nor_a_language_model_translated_with(
    trained: Path, say: Callable
) -> None:
    found = say("translate --run runs/text hello")
    assert (found.code, found.err.count("\n")) == (ExitCode.RUN, 1)
    assert "expected a translator, got a language model" in found.err
    found = say("translate hello")
    assert found.code == ExitCode.RUN
    assert "runs/: expected a run, got none" in found.err


def test_what_is_written_ends_where_learned_positions_do(trained: Path, say: Callable) -> None:
    """It ended as an unexpected error, for a position without a vector."""
    learned = [*SMALL.split(), "--set", 'model.config.positions="learned"', "--folder", "learned"]
    assert say(["train", "--text", "text.txt", *learned]).code == 0
    for how in ("--seed 1", "--seed 2 --number 3", "--beam 2"):
        found = say(["write", "--run", "learned", *how.split(), "--max-tokens", "99", "the cat"])
        assert found.code == 0, found.err
    long = say(["write", "--run", "learned", "the cat " * 30])
    assert long.code == ExitCode.DATA
    assert "BEGINNING: expected at most 24 tokens, got" in long.err


def test_the_settings_that_are_printed_are_those_that_are_read(
    trained: Path, say: Callable
) -> None:
    printed = say(f"train --text text.txt {SMALL} --print-settings").out
    (trained / "mine.toml").write_text(printed)
    assert say("train --settings mine.toml --print-settings").out == printed
    assert printed.startswith('task = "language"')
    wide = say("train --task language --set model.config.d_model=512 --print-settings").out
    assert "learning_rate = 0.00075" in wide


def test_the_corpus_is_that_of_the_language(alone: Path, say: Callable) -> None:
    assert 'corpus = "austen"' in say("train --task language --print-settings").out
    chinese = say("train --task language --print-settings --lang zh").out
    assert 'corpus = "tang-poems"' in chinese
    assert 'corpus = "austen"' in say("train --corpus austen --print-settings").out


WRONG = {
    "empty": ("--text empty.txt", "expected at least one document, got none"),
    "one line": ("--text one.txt", "expected 20 documents or more, got 1"),
    "no UTF-8": ("--text latin.txt", "latin.txt:1: expected UTF-8"),
    "a folder": ("--text folder", "folder: cannot be read"),
    "no file": ("--text nowhere", "nowhere: cannot be read"),
    "too many pieces": ("--text tiny.txt --bpe 50000", "num_pieces: expected at most"),
    "standard input": ("--text -", "--text: expected a file"),
    "a translator's option": ("--text tiny.txt --separate", "--separate: expected no option"),
    "a recipe": ("--task language --recipe x", "--recipe: expected no option"),
    "a translator's task": ("--text tiny.txt --task translation", "--text: expected a text"),
    "a corpus too": ("--text tiny.txt --corpus austen", "--text, --corpus: expected one"),
    "an odd width": ("--task language --set model.config.d_model=100", "num_heads: expected"),
    "no such language": (
        "--corpus multi30k-en-de --task language --source fr",
        "language: expected",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_is_one_error_in_the_readers_language(
    name: str, alone: Path, say: Callable
) -> None:
    (alone / "empty.txt").write_text("")
    (alone / "one.txt").write_text("only one line\n")
    (alone / "latin.txt").write_bytes(b"caf\xe9\n" * 30)
    (alone / "tiny.txt").write_text("".join(f"{n}\n" for n in range(40)))
    (alone / "folder").mkdir()
    line, reason = WRONG[name]
    english = say(f"train {line} --folder run")
    assert english.code not in (ExitCode.FINE, ExitCode.UNEXPECTED)
    assert english.err.splitlines()[-1].startswith("attention-book: ")
    assert reason in english.err
    chinese = say(f"train {line} --folder run --lang zh")
    assert chinese.code == english.code
    said = chinese.err.splitlines()[-1]
    assert not has_english(said), said
    assert "英文原文" not in said


def test_without_a_run_it_says_how_to_train_one(alone: Path, say: Callable) -> None:
    found = say("write hello")
    assert found.code == ExitCode.RUN
    assert "attention-book train --task language" in found.err


def test_it_is_looked_into_and_its_page_written(trained: Path, say: Callable) -> None:
    found = say(["inspect", "the cat sleeps."])
    assert found.code == 0, found.err
    assert "a loss of" in found.out
    assert "BROKEN" not in found.out
    assert "<bos> | the" in found.out
    assert (trained / "attention.html").stat().st_size > 10_000
    held_out = say("inspect --run runs/text --json --attention other.html")
    assert held_out.code == 0, held_out.err
    assert '"check_up"' in held_out.out


def test_it_is_exported_as_a_page_that_writes(trained: Path, say: Callable) -> None:
    found = say("export --run runs/text --folder pages")
    assert found.code == 0, found.err
    assert [path.name for path in (trained / "pages").iterdir()] == ["text.html"]
    assert "text.html" in found.out
    text = (trained / "pages/text.html").read_text(encoding="utf8")
    data = json.loads(text.partition('type="application/json">')[2].partition("</script>")[0])[
        "data"
    ]
    assert all(start.startswith("the ") for start in data["beginnings"])
    run = load_language_model(trained / "runs/text")
    binary = packed(
        ExportedLanguage(
            name="text",
            digest=run.settings.digest,
            model=run.model,
            vocabulary=run.codec.vocabulary,
            tokenizer=run.codec.tokenizer,
            context=run.settings.model.context,
            beginnings=data["beginnings"],
        )
    )
    assert base64.b64decode(data["weights"]) == binary


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_page_for_what_the_engine_lacks_is_refused(
    trained: Path, say: Callable, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = learned_language("runs/text")
    config = replace(found.model.config, qk_norm=True)
    other = replace(found, model=LanguageModel(config))
    monkeypatch.setattr("attention_book.cli.export.learned_language", lambda *_: other)
    said = say(f"export --run runs/text --folder none --lang {language}")
    assert said.code == ExitCode.RUN
    assert "qk_norm = True" in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert has_english(said.err.replace("qk_norm = True", "").replace("runs/text", "")) == (
        language == "en"
    )
    assert not (trained / "none").exists()
