"""What a codec keeps: any text by subwords, known characters by characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_book.runs.language.codec import PieceCodec
from attention_book.runs.language.settings import PieceSettings

ENGLISH = [f"the cat sat on mat number {number}" for number in range(50)]
CHINESE = ["春眠不觉晓，处处闻啼鸟。", "春风不度玉门关，处处闻啼鸟。"]


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_subwords_spell_any_text(text: str) -> None:
    codec = PieceCodec.learn(ENGLISH, PieceSettings(num_pieces=270))
    again = codec.text(codec.numbers(text))
    assert again == codec.text(codec.numbers(again))
    if text.isascii():
        assert again == text.strip()


def test_the_text_decides_what_a_token_is() -> None:
    assert PieceCodec.learn(ENGLISH, PieceSettings()).unit == "subwords"
    assert PieceCodec.learn(CHINESE, PieceSettings()).unit == "characters"
    assert PieceCodec.learn(CHINESE, PieceSettings(unit="subwords")).unit == "subwords"


def test_rare_characters_are_unknown_and_named() -> None:
    codec = PieceCodec.learn(CHINESE, PieceSettings())
    assert codec.unknown("春眠") == ("眠",)
    assert codec.text(codec.numbers("春眠")) == "春\ufffd"
    few = PieceCodec.learn(CHINESE, PieceSettings(num_pieces=3))
    assert len(few.vocabulary) == 7


@pytest.mark.parametrize("texts", [ENGLISH, CHINESE], ids=["subwords", "characters"])
def test_what_is_kept_codes_alike(texts: list[str]) -> None:
    codec = PieceCodec.learn(texts, PieceSettings())
    again = PieceCodec.from_json(codec.to_json())
    assert again.encode(texts) == codec.encode(texts) == [codec.numbers(text) for text in texts]
    assert again.digest == codec.digest


def test_more_pieces_than_a_text_has_are_refused_if_asked_for() -> None:
    with pytest.raises(ValueError, match=r"num_pieces: expected at most \d+, .* got 5000"):
        PieceCodec.learn(ENGLISH, PieceSettings(num_pieces=5000))
    assert len(PieceCodec.learn(ENGLISH, PieceSettings()).vocabulary) < 1000


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "attention_book codec 1"}'])
def test_something_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        PieceCodec.from_json(text)
