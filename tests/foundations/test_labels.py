"""What people see of tokens: for every spelling the labels, joined, are the text.

The kind: tokens are shown as their tokenizer spells them (``Ġ``, ``▁``, ``å ľ ¨``), or a blank that
tells two tokens apart is lost. The oracle is what the tokenizer itself decodes.
"""

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attention_book.foundations import token_labels, visible_label
from attention_book.foundations.labels import right_to_left
from attention_book.text import SubwordTokenizer

tokenizers = pytest.importorskip("tokenizers")

TEXTS = [
    "the cat sat on the mat, and the cat slept",
    "在西江千户苗寨 在西江",
    "привет мир, שלום עולם, مرحبا بالعالم",
    "こんにちは世界 안녕하세요 नमस्ते",
    "naïve façade — “Ġorġ” 🙂👩🏽‍🚀",
]
# Nothing that reads like a mark of ours, and no control character.
LETTERS = st.characters(
    codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="()<>▁▀▂▃▄▅▆▇█[]"
)
SENTENCES = st.text(LETTERS | st.sampled_from(" 在西é😀\nñ"), max_size=20)


def byte_level() -> Any:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=320, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def sentencepiece() -> Any:
    """As Llama 2 and Gemma: pieces with ▁, and bytes for what is in no piece."""
    pieces = ["▁the", "▁cat", "▁", "▁在", *dict.fromkeys("thecatsonmd,在西江千户é")]
    vocabulary = [("<unk>", 0.0), *((piece, -len(piece) % 7 - 1.0) for piece in pieces)]
    vocabulary += [(f"<0x{byte:02X}>", -20.0) for byte in range(256)]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.Unigram(vocabulary, unk_id=0, byte_fallback=True)
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.decoder = tokenizers.decoders.Sequence(
        [
            tokenizers.decoders.Replace("▁", " "),
            tokenizers.decoders.ByteFallback(),
            tokenizers.decoders.Fuse(),
        ]
    )
    return tokenizer


def joined(labels: Any) -> str:
    """The text of labels: of the parts of a character the first one counts."""
    return re.sub(
        r"(.)\((\d)/\d\)",
        lambda found: found[1] * (found[2] == "1"),
        "".join(labels),
        flags=re.DOTALL,
    )


BYTE_LEVEL, SENTENCEPIECE = byte_level(), sentencepiece()
OURS = SubwordTokenizer.train(TEXTS, num_tokens=280)


@pytest.mark.parametrize("tokenizer", [BYTE_LEVEL, SENTENCEPIECE], ids=["byte-level", "▁"])
@given(text=SENTENCES)
@example("在西江千户苗寨")
@example("é")
@example("the cat the")
def test_the_labels_of_a_tokenizer_joined_are_what_it_decodes(tokenizer: Any, text: str) -> None:
    found = tokenizer.encode(text, add_special_tokens=False)
    labels = token_labels(found.tokens, tokenizer=tokenizer)
    assert len(labels) == len(found.tokens)
    assert joined(labels) == tokenizer.decode(found.ids, skip_special_tokens=False)
    differ = {name: label for name, label in zip(found.tokens, labels, strict=True)}
    whole = {label: name for name, label in differ.items() if "(" not in label}
    assert len(whole) == sum("(" not in label for label in differ.values()), "two look the same"


@given(text=SENTENCES)
@example("在西江千户苗寨")
@example("a\n\tb  c")
def test_the_sequence_alone_tells_how_it_is_spelled(text: str) -> None:
    for tokenizer in (BYTE_LEVEL, SENTENCEPIECE):
        found = tokenizer.encode(f"the cat {text}").tokens
        assert token_labels(found) == token_labels(found, tokenizer=tokenizer)
    ours = OURS.tokenize(f"the cat {text}")
    assert joined(token_labels(ours)) == OURS.detokenize(ours)


@given(st.lists(st.text(st.characters(codec="ascii"), min_size=1, max_size=4), max_size=6))
def test_what_is_text_already_stays(words: list[str]) -> None:
    assert token_labels(words, spelling="text") == tuple(words)
    assert token_labels(token_labels(words)) == token_labels(words)


@pytest.mark.parametrize(
    ("tokens", "labels"),
    [
        (["the", "Ġcat", "Ġthe"], ["the", " cat", " the"]),
        (["å", "ľ", "¨", "è¥¿"], ["在(1/3)", "在(2/3)", "在(3/3)", "西"]),
        (["ä½", "łå", "¥½"], ["你(1/2)", "你(2/2)好(1/2)", "好(2/2)"]),
        (["ðŁĺ", "Ģ", "!"], ["😀(1/2)", "😀(2/2)", "!"]),
        (["Hello", "Ċ", "ĊĊ", "ĉ", "Ġ", "ĠĠ"], ["Hello", "\n", "\n\n", "\t", " ", "  "]),
        (["ĉreturn", "Ġ0", ";Ċ", "čĊ"], ["\treturn", " 0", ";\n", "\r\n"]),
        (["ľ¨", "åľ¨", "å"], ["<9C A8>", "在", "<E5>"]),  # cut out of a longer text
        (["<|im_start|>", "user", "Ċ", "åľ¨"], ["<|im_start|>", "user", "\n", "在"]),
        (["<｜begin▁of▁sentence｜>", "Ġa"], ["<｜begin▁of▁sentence｜>", " a"]),
        (["Ð¿ÑĢÐ¸", "Ð²ÐµÑĤ"], ["при", "вет"]),
        (["caf", "Ã©"], ["caf", "é"]),
        (["<s>", "▁Hel", "lo", "<0x0A>", "▁"], ["<s>", " Hel", "lo", "\n", " "]),
        (["<0xF0>", "<0x9F>", "<0x98>", "<0x80>"], ["😀(1/4)", "😀(2/4)", "😀(3/4)", "😀(4/4)"]),
        (["▁low", "<E4 BD>", "<8E>"], [" low", "低(1/2)", "低(2/2)"]),  # ours
        (["low</w>", "e", "r</w>"], ["low ", "e", "r "]),  # CLIP
        (["[CLS]", "play", "##ing", "[SEP]"], ["[CLS]", "play", "##ing", "[SEP]"]),
        ([b" the", b"\xe5\x9c", b"\xa8"], [" the", "在(1/2)", "在(2/2)"]),
        (["a\ud83d"], ["a\ufffd"]),
    ],
)
def test_each_spelling(tokens: list[Any], labels: list[str]) -> None:
    assert token_labels(tokens) == tuple(labels)


@pytest.mark.parametrize(
    "words",
    [
        ["Ġorġ", "jiekol"],  # Maltese
        ["ĠORĠ", "KIEL"],
        ["Ġ", "o", "r", "ġ"],
        ["«", "Ä", "»"],
        ["MENÜ", "«"],
        ["čas", "je", "zlato"],  # Czech: č would be a return
        ["č", "a", "s"],
        ["ĉu", "vi", "estas"],  # Esperanto: ĉ would be a tab
        ["Ċavetta", "u", "bieb"],
        ["đak", "čita"],
        ["łza", "Ół", "gęś"],
        ["Ľan", "úľ"],
        ["déjà", "vu", "à", "l'été"],
        ["Ąžuolas", "ŽĄSIS"],
        ["▁▂▃", "▅▇"],  # a drawing
        ["<AB>", "<b>", "</w>", "##"],
        ["å", "ä", "ö"],
        ["la", " fille", "lit"],  # decoded by the caller
        ["在", "西江"],
        [""],
        [],
    ],
)
def test_words_are_no_tokens_of_a_tokenizer(words: list[str]) -> None:
    assert token_labels(words) == tuple(words)


@pytest.mark.usefixtures("unchecked")
def test_who_knows_better_may_say_so() -> None:
    assert token_labels(["Ġanni", "mar"], spelling="text") == ("Ġanni", "mar")
    assert token_labels(["å", "ľ"], spelling="byte-level") == ("<E5>", "<9C>")
    with pytest.raises(ValueError, match=r"spelling: expected one of .*byte-level.* got 'bpe'"):
        token_labels(["a"], spelling="bpe")  # type: ignore[arg-type]


def test_tokens_that_were_added_are_text_among_bytes() -> None:
    tokenizer = byte_level()
    tokenizer.add_tokens(["苗寨", "Ġorġ"])
    found = tokenizer.encode("在苗寨Ġorġ a").tokens
    assert joined(token_labels(found, tokenizer=tokenizer)) == "在苗寨Ġorġ a"


def test_a_tokenizer_of_whole_words_is_text() -> None:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"Ġanni": 0, "mar": 1}, "mar"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    assert token_labels(["Ġanni", "mar"], tokenizer=tokenizer) == ("Ġanni", "mar")


@pytest.mark.parametrize(
    ("label", "drawn"),
    [
        (" the", "␣the"),
        ("the ", "the␣"),
        ("in the", "in the"),
        ("  ", "␣␣"),
        ("\n", "↵"),
        (" \t\r", "␣⇥␍"),
        ("\x1b[2J", "␛[2J"),
        ("\x7f\x85", "␡<U+0085>"),
        ("\u3000你", "<U+3000>你"),
        ("\u200b", "<U+200B>"),
        ("\u202eabc", "<U+202E>abc"),
        ("\u200d", "<U+200D>"),
        ("می\u200cخواهم", "می\u200cخواهم"),  # inside a word it shapes letters
        ("👩\u200d🚀", "👩\u200d🚀"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("\ufe0f", "<U+FE0F>"),
        ("\u0301", "◌\u0301"),
        ("ि", "◌ि"),
        ("\ud800", "\ufffd"),
        ("在(1/2)", "在(1/2)"),
    ],
)
def test_what_would_not_be_seen_is_drawn(label: str, drawn: str) -> None:
    assert visible_label(label) == drawn


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["<s>", "[CLS]", "1", "هذا"], True),
        (["שלום", "world"], True),
        (["GPT", "هو"], False),
        (["你", "好"], False),
        (["12", "!"], False),
        ([], False),
    ],
)
def test_the_first_letter_tells_the_direction(labels: list[str], expected: bool) -> None:
    assert right_to_left(labels) is expected
