"""Subwords spell every text and bring it back, letter by letter."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_book.text import SPECIALS, SubwordTokenizer

TEXTS = [
    "The old houses were older than the oldest house.",
    "Où êtes-vous\u202f? Êtes-vous sûrs\u00a0: «\u00a0où\u00a0»\u202f!",
    "Die großen Häuser waren größer als das größte Haus.",
    "欢迎来北京。北京欢迎你。",
    "<unk> <unk> <pad> ▁▁ ▁▁",
] * 5
TOKENIZER = SubwordTokenizer.train(TEXTS, num_tokens=340)


@pytest.mark.parametrize(
    "text",
    [
        *TEXTS[:5],
        "J'ai\u202ffaim\u00a0!",
        "漢字と仮名",
        "🎉 👩‍👩‍👧 e\u0301 \u200b",
        "  two  blanks  ",
        "\ttab\nline\r\n",
        "<E6> <20 41> <pad>▁<eos>",
        "",
    ],
)
def test_any_text_comes_back_unchanged(text):
    assert TOKENIZER.detokenize(TOKENIZER.tokenize(text)) == text


@given(st.text(st.sampled_from("<>/abdeknopsu▁ "), max_size=30))
def test_no_piece_is_taken_for_a_special_token(text):
    assert not set(TOKENIZER.tokenize(text)) & set(SPECIALS)


def test_no_special_token_is_among_the_pieces_and_each_piece_is_one_of_a_kind():
    pieces = TOKENIZER.tokens
    assert len(pieces) == len(set(pieces)) == 340
    assert not set(pieces) & set(SPECIALS)
    assert set(TOKENIZER.tokenize("any 任何 text\u202f!")) <= set(pieces)


def test_frequent_words_are_one_piece_and_rare_ones_are_spelled():
    assert TOKENIZER.tokenize("The old") == ("The", "▁old")
    assert TOKENIZER.tokenize("欢迎")[0][0] == "欢"
    assert len(TOKENIZER.tokenize("xylophone")) > 4


def test_the_same_texts_give_the_same_pieces():
    others = [SubwordTokenizer.train(TEXTS, num_tokens=340).to_json() for _ in range(5)]
    assert set(others) == {TOKENIZER.to_json()}


def test_json_brings_it_back():
    again = SubwordTokenizer.from_json(TOKENIZER.to_json())
    assert again.tokens == TOKENIZER.tokens
    assert [again.tokenize(t) for t in TEXTS] == [TOKENIZER.tokenize(t) for t in TEXTS]
    assert again.to_json() == TOKENIZER.to_json()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5))
def test_many_texts_at_once_have_the_pieces_of_each(texts):
    found = TOKENIZER.encode_batch(texts)
    pieces = TOKENIZER.tokens
    assert [tuple(pieces[number] for number in text) for text in found] == [
        TOKENIZER.tokenize(text) for text in texts
    ]


MODEL = json.loads(TOKENIZER.to_json())["tokenizer"]["model"]


@pytest.mark.parametrize(
    "change",
    [
        {"vocab": {}},
        {"vocab": MODEL["vocab"] | {"more": 999}},
        {"vocab": MODEL["vocab"] | {"Ā": 1}},
        {"vocab": {"中" if piece == "A" else piece: n for piece, n in MODEL["vocab"].items()}},
        {"vocab": MODEL["vocab"] | {"中": 340}},
        {"vocab": MODEL["vocab"] | {"A": "1"}},
        {"merges": [["A", "中"]]},
        {"merges": [["A", "A"]]},
        {"merges": [["A"]]},
        {"merges": "AB"},
        {"merges": None},
    ],
)
def test_pieces_that_cannot_be_are_refused(change):
    content = json.loads(TOKENIZER.to_json()) | {"tokenizer": {"model": MODEL | change}}
    text = json.dumps(content)
    with pytest.raises(ValueError, match="text: expected subwords in JSON"):
        SubwordTokenizer.from_json(text)


def test_a_file_can_ask_the_library_for_nothing_but_pieces():
    content = json.loads(TOKENIZER.to_json())
    content["tokenizer"] |= {
        "truncation": {"max_length": 1, "strategy": "LongestFirst", "direction": "Right"},
        "normalizer": {"type": "Lowercase"},
        "added_tokens": [{"id": 0, "content": "old", "special": True}],
    }
    again = SubwordTokenizer.from_json(json.dumps(content))
    assert again.tokenize(TEXTS[0]) == TOKENIZER.tokenize(TEXTS[0])


def test_merges_of_older_versions_are_read():
    content = json.loads(TOKENIZER.to_json())
    model = content["tokenizer"]["model"]
    model["merges"] = [" ".join(pair) for pair in model["merges"]]
    assert SubwordTokenizer.from_json(json.dumps(content)).to_json() == TOKENIZER.to_json()


def test_half_a_character_is_shown_as_such():
    first, *_ = TOKENIZER.tokenize("🎉")
    assert first == "<F0>"
    assert TOKENIZER.detokenize(["a", first, "b"]) == "a\ufffdb"


@pytest.mark.parametrize("text", ["", "[]", '{"format": "x"}', '{"format": 1, "tokenizer": {}}'])
def test_another_json_is_an_error(text):
    with pytest.raises(ValueError, match="text: expected subwords in JSON"):
        SubwordTokenizer.from_json(text)
    newer = TOKENIZER.to_json().replace("subwords 1", "subwords 99")
    with pytest.raises(ValueError, match="format: expected 'attention_book subwords 1'"):
        SubwordTokenizer.from_json(newer)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="num_tokens: expected 256 or more, got 255"):
        SubwordTokenizer.train(TEXTS, num_tokens=255)
    with pytest.raises(ValueError, match="texts: expected at least one"):
        SubwordTokenizer.train(["", ""], num_tokens=300)
    with pytest.raises(TypeError, match="texts: expected several strings"):
        SubwordTokenizer.train("one text", num_tokens=300)


@pytest.mark.parametrize("text", ["a\ud800b", "\udfff", "\ud83d\ude00"])
def test_half_a_character_is_read_as_one_that_is_unknown(text):
    whole = "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in text)
    assert TOKENIZER.tokenize(text) == TOKENIZER.tokenize(whole)
    assert TOKENIZER.encode_batch([text]) == TOKENIZER.encode_batch([whole])
    assert TOKENIZER.detokenize(TOKENIZER.tokenize(text)) == whole
    assert SubwordTokenizer.train([text] * 3, num_tokens=260).tokens[256:] != ()


LETTERS = st.sampled_from("<>▁ EF6un k") | st.characters(exclude_categories=["Cs"])
OTHERS = st.characters(categories=["Lo", "Nd", "Mn", "Zs"]) | st.sampled_from("אבגدهو\u200f\u202e ")


@given(st.text(LETTERS) | st.text(OTHERS))
def test_truly_any_text_comes_back_from_right_to_left_too(text):
    assert TOKENIZER.detokenize(TOKENIZER.tokenize(text)) == text
