"""Text becomes tokens and numbers, and text again; what is kept is read back the same.

Words are counted in bounded memory, a sample is drawn evenly; Moses is sacremoses'.
"""

import json
import unicodedata
from collections import Counter

import pytest
import sacremoses
from hypothesis import example, given
from hypothesis import strategies as st

from attention_book.runs import TextCodec, TextSettings
from attention_book.runs import codec as learning
from attention_book.runs import codec as text_codec
from attention_book.runs.codec import Moses, count_words, draw_sample
from attention_book.text import Vocabulary, detokenize, grammar_corpus, grammar_text, tokenize

LINES = [
    ("The old houses were older.", "Die alten Häuser waren älter."),
    ("Tom's dog isn't here, is it?", "Toms Hund ist nicht hier, oder?"),
    ("A price of 3.50 & more (cheap)!", "Ein Preis von 3,50 & mehr (billig)!"),
    ("<unk> & <pad> | ▁ [x]", "<unk> & <eos> | ▁ [x]"),
] * 4
LANGUAGES = ("en", "de")
SETTINGS = {
    "words": TextSettings(),
    "shared": TextSettings(unit="subwords", num_pieces=350),
    "separate": TextSettings(unit="subwords", num_pieces=300, shared=False),
    "lower": TextSettings(unit="subwords", num_pieces=300, lowercase=True),
    "moses": TextSettings(unit="subwords", num_pieces=300, moses=True, lowercase=True),
}
CODECS = {name: TextCodec.learn(LINES, settings, LANGUAGES) for name, settings in SETTINGS.items()}
TEXT = st.text(
    st.one_of(st.sampled_from("aB éÄ<>&'\"-.▁"), st.characters(exclude_categories=["Cs"]))
)
every_codec = pytest.mark.parametrize("name", CODECS)


def spoken(text):
    return unicodedata.normalize("NFC", text).strip()


# --- numbers ---------------------------------------------------------------------------------


@every_codec
@given(lines=st.lists(st.tuples(TEXT, TEXT), max_size=5))
@example(lines=LINES)
def test_many_lines_at_once_have_the_numbers_of_each_line(name, lines):
    codec = CODECS[name]
    one_by_one = [
        (
            codec.source_vocabulary.encode(codec.source_tokens(source)),
            codec.target_vocabulary.encode(codec.target_tokens(target)),
        )
        for source, target in lines
    ]
    assert list(codec.encode_pairs(lines)) == one_by_one


def test_the_size_of_a_chunk_does_not_matter(monkeypatch):
    for name, codec in CODECS.items():
        whole = list(codec.encode_pairs(LINES))
        for lines, characters in ((3, 1 << 20), (4096, 40), (1, 1)):
            monkeypatch.setattr(text_codec, "_LINES_AT_ONCE", lines)
            monkeypatch.setattr(text_codec, "_CHARACTERS_AT_ONCE", characters)
            assert list(codec.encode_pairs(LINES)) == whole, name


def test_lines_are_read_only_as_they_are_needed():
    read = []

    def lines():
        for number in range(100_000):
            read.append(number)
            yield ("Go.", "Geh.")

    pairs = CODECS["shared"].encode_pairs(lines())
    next(pairs)
    assert len(read) <= 4096


@every_codec
def test_what_was_learned_from_is_known(name):
    codec = CODECS[name]
    for source, target in codec.encode_pairs(LINES[:3]):
        assert codec.source_vocabulary.unk not in source
        assert codec.target_vocabulary.unk not in target


def test_a_word_that_is_spelled_as_a_special_token_is_unknown():
    codec = CODECS["words"]
    assert codec.source_tokens("<pad> the <EOS> .") == ("<unk>", "the", "<unk>", ".")
    assert list(codec.encode_pairs([("<eos>", "<bos> <pad>")])) == [([1], [1, 1])]


@given(text=TEXT)
def test_no_text_has_an_unknown_or_a_special_subword(text):
    for name in ("shared", "separate", "lower", "moses"):
        [(source, target)] = CODECS[name].encode_pairs([(text, text)])
        assert min([*source, *target], default=4) >= 4


# --- text ------------------------------------------------------------------------------------


@given(text=TEXT)
def test_subwords_bring_any_text_back(text):
    for name in ("shared", "separate"):
        codec = CODECS[name]
        assert codec.source_text(codec.source_tokens(text)) == spoken(text)
        assert codec.target_text(codec.target_tokens(text)) == spoken(text)
    codec = CODECS["lower"]
    assert codec.target_text(codec.target_tokens(text)) == spoken(text.lower())
    codec = CODECS["words"]
    assert codec.source_tokens(text) == tokenize(text, "en")
    assert codec.target_tokens(text) == tokenize(text, "de")
    assert codec.target_text(tokenize(text, "de")) == detokenize(tokenize(text, "de"), "de")


def test_chinese_is_read_the_same_with_blanks_between_words_and_without():
    lines = [("欢迎 来 北京 。", "Welcome to Peking ."), ("北京 欢迎 你 。", "Peking is glad.")] * 3
    for moses in (False, True):
        settings = TextSettings(unit="subwords", num_pieces=300, moses=moses)
        codec = TextCodec.learn(lines, settings, ("zh", "en"))
        assert codec.source_tokens("欢迎来北京。") == codec.source_tokens("欢迎 来  北京 。")
        assert codec.source_text(codec.source_tokens("欢迎 来 北京 。")) == "欢迎来北京。"
    codec = TextCodec.learn(lines, TextSettings(unit="subwords", num_pieces=300), ("zh", "en"))
    assert codec.target_text(codec.target_tokens("Welcome to 北京 !")) == "Welcome to 北京 !"


@every_codec
def test_half_a_character_is_shown_as_such_and_no_error(name):
    codec = CODECS[name]
    [(source, target)] = codec.encode_pairs([("a \ud800", "\udcff b")])
    assert source
    assert target
    if name != "words":
        assert "\ufffd" in codec.source_text(codec.source_tokens("a \ud800"))


def test_moses_splits_before_the_subwords_and_joins_after_them():
    codec, moses = CODECS["moses"], Moses("de")
    for _, target in LINES[:3]:
        tokens = codec.target_tokens(target)
        split = "".join(tokens).replace("▁", " ")
        assert split == moses.split(target.lower())
        assert codec.target_text(tokens) == target.lower()


@given(text=TEXT)
def test_moses_takes_any_text(text):
    codec = CODECS["moses"]
    assert isinstance(codec.source_text(codec.source_tokens(text)), str)


def test_the_grammar_s_words_are_the_grammar_s():
    pairs = grammar_corpus("fr", "zh", num_train=150, num_test=20).train
    lines = [(grammar_text(p.source, "fr"), grammar_text(p.target, "zh")) for p in pairs]
    codec = TextCodec.learn(lines, TextSettings(), ("fr", "zh"), word_rule="grammar")
    for pair, (source, target) in zip(pairs, lines, strict=True):
        assert codec.source_tokens(source) == pair.source
        assert codec.target_tokens(target) == pair.target
        assert codec.target_text(pair.target) == target
    assert codec.source_vocabulary == Vocabulary.build(pair.source for pair in pairs)


# --- vocabularies ----------------------------------------------------------------------------


def test_shared_subwords_are_one_vocabulary_and_separate_ones_two():
    shared, separate = CODECS["shared"], CODECS["separate"]
    assert shared.source_vocabulary is shared.target_vocabulary
    assert len(shared.source_vocabulary) == 350 + 4  # the specials come on top
    assert {"▁old", "▁ist"} <= set(shared.source_vocabulary.tokens)
    assert separate.source_vocabulary.tokens != separate.target_vocabulary.tokens
    assert "▁old" in separate.source_vocabulary
    assert "▁old" not in separate.target_vocabulary


def test_rare_words_are_unknown():
    lines = [("go on", "geh"), ("go", "geh weiter")]
    codec = TextCodec.learn(lines, TextSettings(min_frequency=2), LANGUAGES)
    assert codec.source_vocabulary.tokens[4:] == ("go",)
    assert list(codec.encode_pairs([("go on", "geh weiter")])) == [([4, 1], [4, 1])]


# --- learning --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "languages", "lines", "message"),
    [
        (TextSettings(), ("en", "it"), LINES, "language: expected one of"),
        (TextSettings(), LANGUAGES, [], "lines: expected words seen 1 times or more, got none"),
        (TextSettings(min_frequency=9), LANGUAGES, [("a", "b")], "expected words seen 9 times"),
        (SETTINGS["shared"], LANGUAGES, [], "texts: expected at least one that is not empty"),
        (SETTINGS["separate"], LANGUAGES, [("a", " ")], "texts: expected at least one"),
    ],
)
def test_nothing_to_learn_from_is_an_error(settings, languages, lines, message):
    with pytest.raises(ValueError, match=message):
        TextCodec.learn(lines, settings, languages)


def test_fewer_subwords_than_bytes_are_refused_before_the_corpus_is_read():
    with pytest.raises(ValueError, match="num_pieces: expected 256 or more, got 255"):
        TextSettings(unit="subwords", num_pieces=255)
    assert TextSettings(num_pieces=255).unit == "words"  # where it does not matter


def test_a_language_without_rules_is_refused_before_the_corpus_is_read():
    def never():
        raise AssertionError("the corpus was read")
        yield

    with pytest.raises(ValueError, match="language: expected one of"):
        TextCodec.learn(never(), TextSettings(), ("en", "it"))


def test_subwords_speak_any_pair_of_languages():
    lines = [("नमस्ते दुनिया", "გამარჯობა მსოფლიო")] * 3
    codec = TextCodec.learn(lines, TextSettings(unit="subwords", num_pieces=280), ("hi", "ka"))
    assert codec.target_text(codec.target_tokens(lines[0][1])) == lines[0][1]


@pytest.mark.parametrize(
    ("codes", "same"),
    [
        (("eng", "cmn"), ("en", "zh")),
        (("EN_us.UTF-8", "zh-Hant-TW"), ("en", "zh")),
        (("fre", "yue"), ("fr", "zh")),
        (("de-AT", "fra"), ("de", "fr")),
    ],
)
def test_any_code_of_a_language_has_its_rules(codes, same):
    """The kind: codes compared as strings; here Chinese kept the blanks between its words."""
    lines = [
        ("Go on.", "继续 吧 。"),
        ("Go on on.", "我 用 Go 写 。"),
        ("Go, 3.5!", "你好。 再见。"),
    ]
    for settings in (TextSettings(), TextSettings(unit="subwords", num_pieces=280, moses=True)):
        ours, theirs = (TextCodec.learn(lines, settings, pair) for pair in (codes, same))
        assert ours.languages == codes, "what was typed is kept"
        assert list(ours.encode_pairs(lines)) == list(theirs.encode_pairs(lines))
        again = TextCodec.from_json(ours.to_json())
        assert list(again.encode_pairs(lines)) == list(theirs.encode_pairs(lines))
        for source, target in lines:
            for one, other in ((ours, theirs), (again, theirs)):
                assert one.source_text(one.source_tokens(source)) == (
                    other.source_text(other.source_tokens(source))
                )
                assert one.target_text(one.target_tokens(target)) == (
                    other.target_text(other.target_tokens(target))
                )


# --- JSON ------------------------------------------------------------------------------------


@every_codec
def test_json_brings_it_back(name):
    codec = CODECS[name]
    again = TextCodec.from_json(codec.to_json())
    assert again.to_json() == codec.to_json()
    assert (again.settings, again.languages) == (codec.settings, codec.languages)
    assert list(again.encode_pairs(LINES)) == list(codec.encode_pairs(LINES))
    assert again.target_text(again.target_tokens("Häuser")) == (
        codec.target_text(codec.target_tokens("Häuser"))
    )
    same = again.source_vocabulary is again.target_vocabulary
    assert same == (codec.source_vocabulary is codec.target_vocabulary)


def test_the_digest_is_that_of_what_was_learned():
    digests = {codec.digest for codec in CODECS.values()}
    assert len(digests) == len(CODECS)
    assert TextCodec.learn(LINES, SETTINGS["moses"], LANGUAGES).digest == CODECS["moses"].digest


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(st.text() | JSON.map(json.dumps) | st.sampled_from(["[" * 100_000, "1e999", '"\\ud800"']))
def test_another_json_is_an_error(text):
    with pytest.raises(ValueError, match=r"expected a codec in JSON|format: expected"):
        TextCodec.from_json(text)
    with pytest.raises(ValueError, match="format: expected 'attention_book codec 1', got 'new'"):
        TextCodec.from_json('{"format": "new"}')


def places(content, path=()):
    """Every place in some JSON, but not each of many words or pieces."""
    yield path
    if isinstance(content, dict | list):
        items = content.items() if isinstance(content, dict) else enumerate(content)
        for key, value in list(items)[:6]:
            yield from places(value, (*path, key))


def changed(content, path, value):
    if not path:
        return value
    copy = dict(content) if isinstance(content, dict) else list(content)
    copy[path[0]] = changed(content[path[0]], path[1:], value)
    return copy


@given(data=st.data(), name=st.sampled_from(sorted(CODECS)))
def test_any_change_is_a_codec_or_an_error(data, name):
    content = json.loads(CODECS[name].to_json())
    path = data.draw(st.sampled_from(list(places(content))))
    value = data.draw(JSON | st.sampled_from([-1, 2**31, 2**64, "\ud800", "../x", "zh", "it"]))
    codec = outcome(json.dumps(changed(content, path, value)))
    if codec is not None:  # then it works
        for source, target in codec.encode_pairs(LINES):
            codec.source_text(codec.source_vocabulary.decode(source))
            codec.target_text(codec.target_vocabulary.decode(target))
        assert TextCodec.from_json(codec.to_json()).to_json() == codec.to_json()


def outcome(text):
    try:
        return TextCodec.from_json(text)
    except ValueError as error:
        assert "expected" in str(error)  # noqa: PT017
        return None


PROSE = {
    "en": "Tom's dog isn't here, is it? It cost $3.50 (cheap) & more.",
    "fr": "L'homme n'est pas là, il l'a dit.",
    "de": "Die alten Häuser kosten z. B. 3,50 €.",
    "cs": "Dům je starý, že ano?",
    "xx": "Some other language, with English rules.",
}


@pytest.mark.parametrize("language", PROSE)
def test_the_words_are_those_of_the_library(language):
    expected = sacremoses.MosesTokenizer(language).tokenize(PROSE[language], escape=False)
    moses = Moses(language)
    assert moses.split(PROSE[language]).split(" ") == expected
    assert moses.join(moses.split(PROSE[language])) == PROSE[language]


def test_nothing_is_escaped():
    assert Moses("en").split('a & b\'s "c" [d] |') == 'a & b \'s " c " [ d ] |'
    assert Moses("en").join("a &amp; b") == "a &amp; b"


def lines(size):
    return [(str(number), f"-{number}") for number in range(size)]


@given(st.integers(0, 60), st.integers(1, 60))
def test_a_sample_has_its_size_and_nothing_twice(length, size):
    found = draw_sample(lines(length), size)
    assert len(set(found)) == len(found) == min(length, size)
    assert set(found) <= set(lines(length))
    assert found == draw_sample(lines(length), size)


def test_each_part_of_a_corpus_has_its_share():
    found = [int(source) for source, _ in draw_sample(lines(50_000), 5000)]
    for part in range(10):
        share = sum(part * 5000 <= number < (part + 1) * 5000 for number in found)
        assert abs(share - 500) < 4 * (5000 * 0.1 * 0.9) ** 0.5


def test_of_an_endless_line_the_sample_keeps_the_beginning():
    [(source, target)] = draw_sample([("a" * 5000, "b")])
    assert (source, target) == ("a" * 1000, "b")


def test_words_are_counted_on_their_own_sides():
    found = count_words([("A dog.", "Ein Hund."), ("A cat", "Eine Katze")], ("en", "de"), "plain")
    assert found == (
        Counter({"a": 2, "dog": 1, ".": 1, "cat": 1}),
        Counter({"ein": 1, "hund": 1, ".": 1, "eine": 1, "katze": 1}),
    )


def test_frequent_words_outlast_any_number_of_rare_ones(monkeypatch):
    monkeypatch.setattr(learning, "_MOST_WORDS", 100)
    sizes = []

    def text():
        for number in range(5000):
            yield f"often rare{number}", f"x{number} usually"
            sizes.append(number)

    for count, word in zip(
        count_words(text(), ("en", "en"), "plain"), ("often", "usually"), strict=True
    ):
        assert count[word] == 5000
        assert len(count) <= 100


def test_the_rarest_are_forgotten_first():
    count = Counter({"a": 5, "b": 3, "c": 2, "d": 1, "e": 1})
    learning._forget_rarest(count)
    assert count == Counter({"a": 5, "b": 3})
