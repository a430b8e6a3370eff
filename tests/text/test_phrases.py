"""The phrasebook is written as its three languages are written, line by line."""

import re
import unicodedata
from collections import defaultdict
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

import pytest

from attention_book.text import CorpusError, SentencePair, detokenize, tokenize
from attention_book.text import corpora as phrases
from attention_book.text.corpora import phrase_lines, phrasebook, topics

FOLDER = files("attention_book.text") / "data" / "phrasebook"
FILES = {file.name: file for folder in FOLDER.iterdir() for file in folder.iterdir()}


class Line(NamedTuple):
    where: str
    english: str
    french: str
    chinese: str


def read(topic):
    text = FILES[f"{topic}.tsv"].read_bytes().decode("utf-8")
    assert text.endswith("\n")
    return [
        Line(f"{topic}.tsv:{number}", *line.split("\t"))
        for number, line in enumerate(text[:-1].split("\n"), start=1)
    ]


LINES = [line for topic in topics() for line in read(topic)]


def offenders(is_wrong):
    return [line for line in LINES if is_wrong(line)]


def french_words(line):
    return list(tokenize(line.french, "fr"))


# The corpus as a whole


def test_every_file_is_a_topic():
    assert sorted(FILES) == sorted(f"{topic}.tsv" for topic in topics())


def test_eight_hundred_phrases_and_several_ways_to_say_some():
    french, chinese = defaultdict(set), defaultdict(set)
    for line in LINES:
        french[line.english].add(line.french)
        chinese[line.english].add(line.chinese)
    assert len(french) >= 800
    assert sum(len(ways) > 1 for ways in french.values()) >= 0.1 * len(french)
    assert sum(len(ways) > 1 for ways in chinese.values()) >= 0.02 * len(chinese)


def test_no_line_stands_twice_and_no_phrase_in_two_topics():
    sides = [line[1:] for line in LINES]
    assert len(sides) == len(set(sides))
    homes = defaultdict(set)
    for line in LINES:
        homes[line.english].add(line.where.split(":")[0])
    assert {phrase: home for phrase, home in homes.items() if len(home) > 1} == {}


def test_the_renderings_of_a_phrase_stand_together():
    starts = [b.english for a, b in pairwise(LINES) if a.english != b.english]
    assert len(starts) == len(set(starts))


@pytest.mark.parametrize(
    ("english", "french"),
    [
        ("Go.", "Va !"),
        ("I lost.", "J'ai perdu."),
        ("He's calm.", "Il est calme."),
        ("He's lazy.", "Il est paresseux."),
        ("I'm home.", "Je suis chez moi."),
        ("Welcome to Beijing.", "Bienvenue à Pékin."),
    ],
)
def test_the_sentences_that_the_book_translates(english, french):
    pairs = [(pair.source, pair.target) for pair in phrasebook()]
    assert (tokenize(english, "en"), tokenize(french, "fr")) in pairs


@pytest.mark.parametrize(
    ("english", "chinese"),
    [("welcome to beijing .", "欢迎 来 北京 。"), ("tom chases jerry .", "汤姆 追逐 杰瑞 。")],
)
def test_the_sentences_that_the_book_aligns(english, chinese):
    pair = SentencePair(tuple(english.split()), tuple(chinese.split()))
    assert pair in phrasebook("en", "zh")
    assert pair.reversed() in phrasebook("zh", "en")


def test_phrases_are_short():
    lengths = sorted(len(pair.source) for pair in phrasebook())
    assert lengths[len(lengths) // 2] <= 5
    for source, target in (("en", "fr"), ("en", "zh")):
        longest = max(phrasebook(source, target), key=lambda p: len(p.source + p.target))
        assert max(len(longest.source), len(longest.target)) <= 12, longest


def test_the_license_lies_beside_the_phrases():
    assert "CC BY 4.0" in (FOLDER.parent / "LICENSE").read_text(encoding="utf-8")


# Spelling and punctuation


def test_three_sides_composed_and_without_stray_blanks():
    for line in LINES:
        for side in line[1:]:
            assert side, line
            assert side == side.strip(), line
            assert "  " not in side, line
            assert unicodedata.is_normalized("NFC", side), line
            assert not set(side) & set('’‘`´“”"\u200b\ufeff'), line


def test_western_sides_begin_with_a_capital_and_end_with_a_mark():
    for line in LINES:
        for side in (line.english, line.french):
            assert side[0].isupper(), line
            assert side[-1] in ".!?", line


def test_no_blank_before_an_english_mark_and_no_odd_one_anywhere():
    assert offenders(lambda line: re.search(r"\s[,.!?;:]|[^\S ]", line.english)) == []
    assert offenders(lambda line: re.search(r"[^\S ]", line.chinese)) == []


def test_french_marks_keep_their_distance():
    assert offenders(lambda line: re.search("(?<!\u202f)[!?;]|\u202f(?![!?;])", line.french)) == []
    assert offenders(lambda line: re.search("(?<!\u00a0):|\u00a0(?!:)", line.french)) == []
    assert offenders(lambda line: re.search(r" [,.]|,(?! )", line.french)) == []


def test_the_tokens_can_be_written_as_the_text_was():
    for line in LINES:
        for text, language in ((line.english, "en"), (line.french, "fr")):
            assert detokenize(tokenize(text, language), language).lower() == text.lower()


def test_chinese_is_chinese_and_its_tokens_are_its_words():
    for line in LINES:
        words = line.chinese.split(" ")
        assert tokenize(line.chinese, "zh") == tuple(words), line
        assert words[-1] in ("。", "！", "？"), line
        assert all(re.fullmatch("[\u4e00-\u9fff]{1,4}|[。！？，、]", word) for word in words), line
        assert re.search("[\u4e00-\u9fff]", line.chinese), line


def test_chinese_words_are_cut_alike_everywhere():
    sentences = [line.chinese.split(" ") for line in LINES]
    words = {word for sentence in sentences for word in sentence}
    apart = {a + b for sentence in sentences for a, b in pairwise(sentence)}
    assert words & apart == {"你好", "您好"}  # a greeting; how are you: 你 好 吗
    glued = {word for word in words if len(word) > 3 and is_made_of(word, words - {word})}
    assert glued == {"不好意思", "公交车站"}


def is_made_of(text, words):
    return not text or any(
        text.startswith(word) and is_made_of(text.removeprefix(word), words) for word in words
    )


def test_all_three_ask_or_exclaim_or_state():
    def marks(line):
        return line.english[-1], line.french[-1], line.chinese[-1]

    alike = {("?", "?", "？"), ("!", "!", "！"), (".", ".", "。")}
    others = {line.english for line in offenders(lambda line: marks(line) not in alike)}
    assert others == {"Go."}  # Va !


def test_a_chinese_question_has_a_word_that_asks():
    asking = re.compile("吗|呢|什么|谁|哪|几|多少|多久|怎么|为什么|好 不 好|这么 快")
    assert offenders(lambda line: "？" in line.chinese and not asking.search(line.chinese)) == []


# French grammar

VOWEL = "[aeiouyàâéèêëîïôûùœh]"
APART = "(?!haut|huit|onze|oui|yaourt)"  # words that no vowel joins


@pytest.mark.parametrize(
    "wrong",
    [
        rf"(?<![\w-])(je|me|te|se|le|la|de|ne|que|ce|jusque) {APART}{VOWEL}",  # j', l', d'
        r"(?<!\w)si ils?\b",  # s'il
        r"(?<![\w-])(de|à) (le|les) ",  # du, des, au, aux
        rf"(?<!\w)(ma|ta|sa) {APART}{VOWEL}",  # mon amie
        rf"(?<!\w)(?<!de )(beau|nouveau|vieux) {APART}(?!et ){VOWEL}",  # bel, nouvel, vieil
        r"[\w](qu|l|d|j|n|m|t|s|c)' ",  # no blank after an elision
        r"\b(beaucoup|trop|plus|peu|kilo) (des|du) ",  # beaucoup de
    ],
)
def test_french_elides_and_contracts(wrong):
    assert offenders(lambda line: re.search(wrong, line.french.lower())) == []


def test_a_french_negation_has_two_halves():
    second = {"pas", "plus", "jamais", "personne", "rien", "que", "aucun", "aucune"}

    def half(line):
        words = french_words(line)
        starts = any(word == "ne" or word.startswith("n'") for word in words)
        ends = any(word in second or word.startswith("qu'") for word in words)
        return starts and not ends

    assert offenders(half) == []


# masculine, feminine, their plurals
ADJECTIVES = [
    tuple(forms.split())
    for forms in (
        "heureux heureuse heureux heureuses",
        "paresseux paresseuse paresseux paresseuses",
        "nerveux nerveuse nerveux nerveuses",
        "courageux courageuse courageux courageuses",
        "amoureux amoureuse amoureux amoureuses",
        "sérieux sérieuse sérieux sérieuses",
        "généreux généreuse généreux généreuses",
        "curieux curieuse curieux curieuses",
        "jaloux jalouse jaloux jalouses",
        "inquiet inquiète inquiets inquiètes",
        "discret discrète discrets discrètes",
        "fier fière fiers fières",
        "grand grande grands grandes",
        "petit petite petits petites",
        "fort forte forts fortes",
        "intelligent intelligente intelligents intelligentes",
        "patient patiente patients patientes",
        "prêt prête prêts prêtes",
        "seul seule seuls seules",
        "gentil gentille gentils gentilles",
        "poli polie polis polies",
        "fatigué fatiguée fatigués fatiguées",
        "occupé occupée occupés occupées",
        "perdu perdue perdus perdues",
        "parti partie partis parties",
        "allé allée allés allées",
        "déçu déçue déçus déçues",
        "surpris surprise surpris surprises",
        "blessé blessée blessés blessées",
        "marié mariée mariés mariées",
        "beau belle beaux belles",
        "vieux vieille vieux vieilles",
        "froid froide froids froides",
        "chaud chaude chauds chaudes",
        "propre propre propres propres",
        "calme calme calmes calmes",
        "triste triste tristes tristes",
        "jeune jeune jeunes jeunes",
        "malade malade malades malades",
    )
]
# Who is it? The place of the form that fits.
SUBJECTS = {
    "il est": {0},
    "elle est": {1},
    "ils sont": {2},
    "elles sont": {3},
    "je suis": {0, 1},
    "tu es": {0, 1},
    "nous sommes": {2, 3},
    "on est": {2, 3},
    "vous êtes": {0, 1, 2, 3},
}


def test_french_adjectives_agree_with_their_subject():
    checked = 0
    for line in LINES:
        words = french_words(line)
        subject, rest = " ".join(words[:2]), words[2:]
        for forms in ADJECTIVES:
            for word in rest[:2]:  # très, si, tout may come between
                if subject in SUBJECTS and word in forms:
                    assert word in {forms[place] for place in SUBJECTS[subject]}, line
                    checked += 1
    assert checked > 100


ENDINGS = {
    "je": r"\w*([esx]|ai)",
    "tu": r"\w+[sx]",
    "il": r"(?!\w*ont)\w*[edtasc]",
    "elle": r"(?!\w*ont)\w*[edtasc]",
    "nous": r"\w+ons|sommes",
    "vous": r"\w+ez|êtes|faites|dites",
    "ils": r"\w+nt",
    "elles": r"\w+nt",
}
BETWEEN = re.compile("ne|me|te|se|le|la|les|lui|y|en|nous|vous|leur")


def test_french_verbs_agree_with_the_pronoun_before_them():
    for line in LINES:
        whole = re.sub(r"\b([jnmtsl])'", r"\1e ", line.french.lower())  # j'ai: je ai
        pronoun, *rest = tokenize(whole, "fr")
        if pronoun not in ENDINGS:
            continue
        verb = next(word for word in rest if not BETWEEN.fullmatch(word))
        assert re.fullmatch(ENDINGS[pronoun], verb), line


def test_french_verbs_agree_with_the_pronoun_behind_them():
    endings = {"tu": r"\w+[sx]", "vous": r"\w+ez|êtes|faites|dites", "nous": r"\w+ons|sommes"}
    for line in LINES:
        for verb, pronoun in re.findall(r"([\w]+)-(tu|vous|nous)\b", line.french.lower()):
            imperative = not line.french.endswith("?")
            assert imperative or re.fullmatch(endings[pronoun], verb), line


def test_a_french_noun_has_one_gender():
    masculine, feminine = set(), set()
    for line in LINES:
        words = french_words(line)
        for article, noun in pairwise(words):
            if article in ("un", "ce", "cet", "du", "au", "le"):
                masculine.add(noun)
            if article in ("une", "cette", "ma", "ta", "sa", "la"):
                feminine.add(noun)
    either = {"voilà", "prends"}  # le voilà, je la prends
    assert (masculine & feminine) - either == set()


# One meaning in three languages


@pytest.mark.parametrize(
    ("subject", "chinese", "other"), [("he", "他", {"elle", "elles"}), ("she", "她", {"il", "ils"})]
)
def test_he_and_she_stay_he_and_she(subject, chinese, other):
    for line in LINES:
        words = set(tokenize(line.french.replace("il y a", ""), "fr"))
        if re.match(rf"{subject}\b", line.english.lower()):
            assert chinese in line.chinese, line
            assert not words & other, line


def test_they_are_men_or_women_in_both_translations():
    for line in LINES:
        first = french_words(line)[0]
        if first == "ils" and line.english.startswith("They"):
            assert "他们" in line.chinese, line
        if first == "elles":
            assert "她们" in line.chinese, line


def test_polite_french_is_polite_or_plural_chinese():
    """Where a phrase has lines for tu and vous whose Chinese differs, 您 and 你们 go with vous."""
    for line in LINES:
        familiar = set(french_words(line)) & {"tu", "toi", "ton", "ta", "tes"}
        familiar |= set(re.findall(r"-(tu|toi)\b", line.french))
        assert not (familiar and re.search("您|你们", line.chinese)), line


SUBJECT_FREE = {"I hope so.", "I'm sorry.", "You're welcome."}


@pytest.mark.parametrize(
    ("subject", "chinese"), [("i", "我"), ("we", "我们"), ("they", "他们|她们"), ("you", "你|您")]
)
def test_the_subject_is_the_same_in_chinese(subject, chinese):
    for line in LINES:
        first = tokenize(line.english, "en")[0]
        if re.fullmatch(rf"{subject}('\w+)?", first) and line.english not in SUBJECT_FREE:
            assert re.search(chinese, line.chinese), line


# What the functions do


def test_directions_are_the_same_pairs():
    forth = [pair.reversed() for pair in phrasebook("fr", "zh")]
    assert sorted(p.source for p in forth) == sorted(p.source for p in phrasebook("zh", "fr"))
    assert set(forth) == set(phrasebook("zh", "fr"))


@pytest.mark.parametrize("languages", [("en", "fr"), ("en", "zh"), ("zh", "fr")])
def test_pairs_are_the_lines_each_once_in_order(languages):
    columns = {"en": 1, "fr": 2, "zh": 3}
    sides = [tuple(tokenize(line[columns[side]], side) for side in languages) for line in LINES]
    pairs = phrasebook(*languages)
    assert [(pair.source, pair.target) for pair in pairs] == list(dict.fromkeys(sides))
    assert all(pair.alignment is None for pair in pairs)


@pytest.mark.parametrize("max_tokens", [2, 3, 5, 7])
def test_max_tokens_keeps_what_is_short_on_both_sides(max_tokens):
    kept = phrasebook(max_tokens=max_tokens)
    assert [p for p in phrasebook() if max(map(len, (p.source, p.target))) <= max_tokens] == [*kept]
    assert 0 < len(kept) < len(phrasebook())


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"expected two of .* got 'en' and 'en'"):
        phrasebook("en", "en")
    with pytest.raises(ValueError, match=r"max_tokens: expected room .* got 1"):
        phrasebook(max_tokens=1)


def test_a_damaged_line_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "data" / "phrasebook" / "at_home"
    folder.mkdir(parents=True)
    (folder / "home.tsv").write_text("Yes.\tOui.\t是 。\nNo.\tNon.\n", encoding="utf-8")
    monkeypatch.setattr(phrases, "files", lambda package: tmp_path)
    with pytest.raises(CorpusError, match=r"home\.tsv:2: expected English TAB .* got 2 columns"):
        phrases._lines_of("at_home", "home")


@pytest.mark.parametrize(("source", "target"), [("en", "fr"), ("zh", "en")])
def test_the_lines_as_they_are_written_have_the_tokens_of_the_phrases(source, target):
    lines = phrase_lines(source, target)
    assert len(set(lines)) == len(lines)
    tokens = dict.fromkeys((tokenize(a, source), tokenize(b, target)) for a, b in lines)
    assert list(tokens) == [(pair.source, pair.target) for pair in phrasebook(source, target)]
