"""Every corpus is read line by line: what is no pair is named; parts share no source."""

import gzip
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attention_book.runs import DataSettings, read_lines
from attention_book.runs import corpus as files
from attention_book.runs import corpus as lines
from attention_book.runs.corpus import SPLITS, Skipped, columns, part_of, read_files, refuse
from attention_book.text import (
    CorpusError,
    grammar_corpus,
    grammar_tokens,
    load_corpus,
    phrasebook,
    tokenize,
)

pytestmark = pytest.mark.usefixtures("few_sentences")

SENTENCE = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\0\ufeff"), min_size=1
).filter(lambda text: text.strip())
PAIRS = st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=8)


def written(files_folder, name, content):
    content = content if isinstance(content, bytes) else content.encode()
    path = files_folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return str(path)


def tsv(pairs):
    return "".join(f"{source}\t{target}\n" for source, target in pairs)


@pytest.fixture(scope="module")
def files_folder(tmp_path_factory):
    """One folder for all examples of Hypothesis."""
    return tmp_path_factory.mktemp("files")


# --- what was written ------------------------------------------------------------------------


@given(pairs=PAIRS, packed=st.booleans(), end=st.sampled_from(["\n", "\r\n"]))
def test_lines_come_back_as_they_were_written(files_folder, pairs, packed, end):
    path = written(files_folder, "a.tsv.gz" if packed else "a.tsv", tsv(pairs).replace("\n", end))
    expected = [(source.strip(), target.strip()) for source, target in pairs]
    assert list(read_files((path,), refuse)) == expected


@given(pairs=PAIRS, packed=st.booleans())
def test_two_files_give_the_same_as_one(files_folder, pairs, packed):
    names = ("a.en.gz", "a.fr") if packed else ("a.en", "a.fr.gz")
    sides = zip(*pairs, strict=True)
    paths = [written(files_folder, n, "\n".join(s)) for n, s in zip(names, sides, strict=True)]
    one = written(files_folder, "a.tsv", tsv(pairs))
    assert list(read_files(tuple(paths), refuse)) == list(read_files((one,), refuse))


def test_a_tab_in_one_of_two_files_is_a_blank_and_a_byte_order_mark_no_letter(tmp_path):
    paths = written(tmp_path, "a.en", "A\tdog.\n"), written(tmp_path, "a.fr", "Un chien.\n")
    assert list(read_files(paths, refuse)) == [("A dog.", "Un chien.")]
    path = written(tmp_path, "a.tsv", b"\xef\xbb\xbfGo.\tVa !\n")
    assert list(read_files((path,), refuse)) == [("Go.", "Va !")]


# --- what is wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"no tab", "expected source TAB target, got no tab"),
        (b"a\tb\tc", "expected source TAB target, got 2 tabs"),
        (b"", "expected source TAB target, got no tab"),
        (b"\tb", "expected two sentences, got an empty source"),
        (b"a\t \xc2\xa0", "expected two sentences, got an empty target"),
        (b"a\tcaf\xe9", "expected UTF-8, got the byte 0xe9 at byte 6"),
        (b"a\tb\0", "expected UTF-8, got a null byte at byte 4"),
    ],
)
def test_a_bad_line_is_named_or_counted(tmp_path, line, reason):
    path = written(tmp_path, "a.tsv", b"Go.\tVa !\n" + line + b"\nHi.\tSalut !\n")
    lines = read_files((path,), refuse)
    assert next(lines) == ("Go.", "Va !")  # what stands before it has been read by then
    with pytest.raises(CorpusError) as error:
        next(lines)
    assert str(error.value) == f"{path}:2: {reason}"
    skipped = Skipped()
    assert [source for source, _ in read_files((path,), skipped.add)] == ["Go.", "Hi."]
    assert (skipped.count, skipped.reasons) == (1, [f"{path}:2: {reason}"])


@pytest.mark.parametrize("side", [0, 1])
def test_a_bad_line_of_two_files_is_left_out_on_both_sides(tmp_path, side):
    sides = [["a", "b", "c"], ["x", "y", "z"]]
    sides[side][1] = " "
    paths = tuple(written(tmp_path, f"a.{n}", "\n".join(s) + "\n") for n, s in enumerate(sides))
    skipped = Skipped()
    assert list(read_files(paths, skipped.add)) == [("a", "x"), ("c", "z")]
    assert skipped.reasons == [f"{paths[side]}:2: expected a sentence, got none"]


@pytest.mark.parametrize("shorter", [0, 1])
def test_two_files_must_be_of_one_length_even_where_bad_lines_are_left_out(tmp_path, shorter):
    texts = ["a\nb\nc\n", "x\ny\nz\n"]
    texts[shorter] = texts[shorter][:4]
    paths = tuple(written(tmp_path, f"a.{n}", text) for n, text in enumerate(texts))
    expected = f"{paths[shorter]}: expected as many lines as in {paths[1 - shorter]}, 3, got 2"
    with pytest.raises(CorpusError) as error:
        list(read_files(paths, Skipped().add))
    assert str(error.value) == expected


@pytest.mark.parametrize("size", [100, 101, 201, 250])
def test_a_line_that_is_far_too_long_is_left_out_and_never_held(tmp_path, monkeypatch, size):
    monkeypatch.setattr(files, "LONGEST", 100)
    long = b"x" * (size - 2) + b"\ty"
    path = written(tmp_path, "a.tsv.gz", b"Go.\tVa !\n" + long + b"\nHi.\tSalut !\n")
    skipped = Skipped()
    assert [source[:3] for source, _ in read_files((path,), skipped.add)] == (
        ["Go.", "Hi."]  # with its end the line has one byte more
    )
    assert skipped.reasons == [f"{path}:2: expected a line of at most 100 bytes, got more"]


def test_a_missing_file_a_folder_and_a_damaged_one_are_named(tmp_path):
    good = gzip.compress(tsv([("Go.", "Va !")] * 2000).encode())
    for name, content in {
        "cut.gz": good[:-20],
        "flipped.gz": good[:40] + bytes([good[40] ^ 255]) + good[41:],
        "no.gz": b"Go.\tVa !\n",
    }.items():
        (tmp_path / name).write_bytes(content)
    bad = ["cut.gz", "flipped.gz", "no.gz", "missing", "missing.gz", ".", "nu\0ll"]
    for name in bad:
        path = f"{tmp_path}/{name}"
        with pytest.raises(CorpusError) as error:
            list(read_files((path,), Skipped().add))
        assert str(error.value).startswith(f"{path}: cannot be read: ")


# --- hostile files ---------------------------------------------------------------------------


@given(content=st.binary(max_size=300), packed=st.booleans())
@example(content=b"\x1f\x8b\x08\0", packed=False)
def test_any_bytes_are_lines_or_problems(files_folder, content, packed):
    path = written(files_folder, "b.tsv.gz" if packed else "b.tsv", content)
    skipped = Skipped()
    found = list(read_files((path,), skipped.add))
    assert all(source.strip() and target.strip() for source, target in found)
    num_lines = content.removeprefix(b"\xef\xbb\xbf").count(b"\n") + (
        not content.removeprefix(b"\xef\xbb\xbf").endswith(b"\n")
        and content.removeprefix(b"\xef\xbb\xbf") != b""
    )
    assert len(found) + skipped.count == num_lines


def outcome(paths):
    try:
        return list(read_files(paths, Skipped().add)), ""
    except CorpusError as error:
        return [], str(error)


@given(content=st.binary(max_size=300), other=st.binary(max_size=300))
def test_any_bytes_in_two_files_are_lines_or_errors_that_say_where(files_folder, content, other):
    (files_folder / "c.gz").write_bytes(content)  # not packed at all
    paths = written(files_folder, "c", content), written(files_folder, "d", other)
    for some in (paths, (str(files_folder / "c.gz"),)):
        found, error = outcome(some)
        assert error.startswith(some if error else "")
        assert all(source and target for source, target in found)


@given(st.lists(st.binary(max_size=30), max_size=10))
def test_the_number_of_a_line_is_its_place_in_the_file(lines):
    lines = [line.replace(b"\n", b" ") for line in lines]
    skipped = Skipped()
    kept = list(columns([line + b"\n" for line in lines], "a", skipped.add))
    numbers = [int(reason.split(":")[1]) for reason in skipped.reasons]
    good = [line for number, line in enumerate(lines, start=1) if number not in numbers]
    assert [tuple(s.strip() for s in line.decode().split("\t")) for line in good] == kept


def test_each_part_gets_its_share():
    share, size = 0.05, 20_000
    counts = Counter(part_of(f"Sentence {number}", share) for number in range(size))
    deviation = (size * share * (1 - share)) ** 0.5
    for part in ("validation", "test"):
        assert abs(counts[part] - size * share) < 4 * deviation


def test_the_place_is_the_same_on_every_machine_and_in_every_version():
    sources = ["Go.", "Two cats sleep.", "Où est-elle ?", "北京", "नमस्ते", "?!"]
    found = [part_of(source, 0.25) for source in sources]
    assert found == ["validation", "validation", "test", "train", "validation", "train"]


@given(st.text(), st.floats(0, 0.5))
def test_every_text_has_a_place_even_half_a_character(source, share):
    assert part_of(source, share) in SPLITS
    assert part_of(source + "\ud800", share) in SPLITS


@given(st.text(st.characters(codec="ascii")))
def test_capitals_blanks_and_punctuation_do_not_make_another_sentence(source):
    letters = "x" + source  # something remains in any case
    assert part_of(letters, 0.25) == part_of(f" « {letters.upper()} » !", 0.25)


@given(st.text(), st.floats(0, 0.25))
def test_a_larger_share_keeps_what_validation_has(source, share):
    if part_of(source, share) == "validation":
        assert part_of(source, 2 * share) == "validation"


def test_sentences_of_marks_alone_are_told_apart():
    assert len({part_of("!" * number, 0.3) for number in range(1, 40)}) == 3


REAL = Path(os.environ.get("ATTENTION_BOOK_DATA", "no such folder"))
needs_real_files = pytest.mark.skipif(
    not (REAL / "tatoeba-eng-fra.tsv").exists(),
    reason="no real corpora: set ATTENTION_BOOK_DATA to a folder with tatoeba-eng-fra.tsv",
)


def read(split="train", skipped=None, **settings):
    return list(read_lines(DataSettings(**settings), split, skipped=skipped))


def numbered(size, start=0):
    return [(f"Sentence {number}.", f"Satz {number}.") for number in range(start, start + size)]


def write(path, pairs):
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return str(path)


# --- embedded corpora ------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "target"), [("en", "fr"), ("zh", "en")])
def test_the_grammar_s_lines_are_its_sentences(source, target):
    corpus = grammar_corpus(source, target, num_train=150, num_test=20)
    settings = {"corpus": "grammar", "source": source, "target": target, "num_train": 150}
    for split, pairs in (
        ("train", corpus.train),
        ("validation", corpus.validation),
        ("test", corpus.random),
    ):
        found = read(split, **settings)
        tokens = [(grammar_tokens(s, source), grammar_tokens(t, target)) for s, t in found]
        assert tokens == [(pair.source, pair.target) for pair in pairs]


@pytest.mark.parametrize("corpus", ["grammar", "phrasebook"])
def test_any_code_of_a_language_names_it(corpus):
    """The kind: codes compared as strings; two of one language are no pair."""
    size = {"corpus": corpus, "num_train": 20}
    expected = read(source="en", target="zh", **size)
    for source, target in (("eng", "cmn"), ("EN", "zh_CN.UTF-8"), ("en-GB", "zho_Hans")):
        assert read(source=source, target=target, **size) == expected
    for source, target in (("en", "eng"), ("zh", "chi"), ("en", "yue"), ("deu", "en")):
        with pytest.raises(ValueError, match="expected"):
            read(source=source, target=target, **size)


def test_the_grammar_has_as_many_lines_as_the_book_s(monkeypatch):
    asked = []
    corpus = grammar_corpus("en", "fr", num_train=150, num_test=20)
    monkeypatch.setattr(lines, "grammar_corpus", lambda *args, **size: asked.append(size) or corpus)
    read()
    read(num_train=7)
    assert asked == [{}, {"num_train": 7}]


@pytest.mark.parametrize(("source", "target"), [("en", "zh"), ("fr", "en")])
def test_the_phrasebook_s_parts_are_the_phrasebook(source, target):
    settings = {"corpus": "phrasebook", "source": source, "target": target, "held_out": 0.1}
    parts = {split: read(split, **settings) for split in SPLITS}
    tokens = {
        (tokenize(s, source), tokenize(t, target)) for part in parts.values() for s, t in part
    }
    assert tokens == {(pair.source, pair.target) for pair in phrasebook(source, target)}
    sources = [{tokenize(source_text, source) for source_text, _ in part}
               for part in parts.values()]  # fmt: skip
    for number, one in enumerate(sources):
        for other in sources[number + 1 :]:
            assert not one & other


# --- corpora that are downloaded -------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """One's own folder of files, named by the environment variable."""
    (tmp_path / "own" / "multi30k").mkdir(parents=True)
    monkeypatch.setenv("ATTENTION_BOOK_DATA", str(tmp_path / "own"))
    write(tmp_path / "own" / "tatoeba-eng-fra.tsv", numbered(300))
    for number, stem in enumerate(("train", "val", "test_2016_flickr")):
        for language, side in (("en", 0), ("de", 1)):
            text = "".join(f"{pair[side]}\n" for pair in numbered(20, 20 * number))
            path = tmp_path / "own" / "multi30k" / f"{stem}.{language}.gz"
            path.write_bytes(gzip.compress(text.encode()))
    return tmp_path / "own"


def test_tatoeba_is_divided_by_its_sources(folder):
    parts = [read(split, corpus="tatoeba-eng-fra", held_out=0.2) for split in SPLITS]
    assert sorted(line for part in parts for line in part) == sorted(numbered(300))
    assert [{part_of(source, 0.2) for source, _ in part} for part in parts] == [
        {split} for split in SPLITS
    ]


def test_multi30k_keeps_its_own_parts(folder):
    settings = {"corpus": "multi30k-en-de", "source": "en", "target": "de"}
    for number, split in enumerate(SPLITS):
        assert read(split, **settings) == numbered(20, 20 * number)


def test_a_corpus_can_be_read_the_other_way_round(folder):
    turned = read(corpus="multi30k-en-de", source="de", target="en")
    assert [(target, source) for source, target in turned] == numbered(20)
    parts = [read(split, corpus="tatoeba-eng-fra", source="fr", target="en", held_out=0.2)
             for split in SPLITS]  # fmt: skip
    assert len({source for part in parts for source, _ in part}) == 300
    assert part_of(parts[1][0][0], 0.2) == "validation"  # it is the source that decides


@needs_real_files
@pytest.mark.parametrize("split", SPLITS)
def test_the_real_multi30k_has_the_lines_that_load_corpus_has(split):
    found = read(split, corpus="multi30k-en-de", target="de")
    pairs = load_corpus("multi30k-en-de", split={"validation": "val"}.get(split, split))
    assert [(tokenize(s, "en"), tokenize(t, "de")) for s, t in found] == [
        (pair.source, pair.target) for pair in pairs
    ]


@needs_real_files
def test_the_real_tatoeba_loses_no_line():
    parts = [read(split, corpus="tatoeba-eng-fra") for split in SPLITS]
    assert sum(map(len, parts)) == 18_066
    assert all(0.01 < len(part) / 18_066 < 0.03 for part in parts[1:])


# --- one's own files -------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path):
    """Files of one's own: 300 lines to train on, and others."""
    names = {"train": 0, "validation": 1000, "test": 2000}
    sizes = {"train": 300, "validation": 5, "test": 6}
    return {
        name: (write(tmp_path / f"{name}.tsv", numbered(sizes[name], start)),)
        for name, start in names.items()
    }


def test_without_files_of_their_own_the_parts_are_held_out(own):
    parts = [read(split, corpus=None, train=own["train"], held_out=0.1) for split in SPLITS]
    assert sorted(line for part in parts for line in part) == sorted(numbered(300))
    for part, split in zip(parts, SPLITS, strict=True):
        assert part == [line for line in numbered(300) if part_of(line[0], 0.1) == split]


@pytest.mark.parametrize("given", [("validation",), ("test",), ("validation", "test")])
def test_a_part_with_a_file_of_its_own_takes_nothing_from_the_training(own, given):
    settings = {"corpus": None, "held_out": 0.1} | {name: own[name] for name in ("train", *given)}
    held_out = [name for name in SPLITS[1:] if name not in given]
    for name in given:
        assert len(read(name, **settings)) == {"validation": 5, "test": 6}[name]
    for name in held_out:
        assert {part_of(source, 0.1) for source, _ in read(name, **settings)} == {name}
    parts = [read(name, **settings) for name in ("train", *held_out)]
    assert sorted(line for part in parts for line in part) == sorted(numbered(300))


def test_the_training_is_cut_after_so_many_pairs_and_the_other_parts_are_not(own):
    settings = {"corpus": None, "train": own["train"], "held_out": 0.1}
    assert read(num_train=10, **settings) == read(**settings)[:10]
    assert read("test", num_train=1, **settings) == read("test", **settings)
    path = Path(own["train"][0])  # no more is read than is asked for
    path.write_text(path.read_text() + "no tab\n")
    assert len(read(num_train=2, **settings)) == 2


def test_a_bad_line_stops_or_is_counted(own):
    path = Path(own["train"][0])
    path.write_text("no tab\n" + path.read_text())
    settings = {"corpus": None, "train": own["train"]}
    with pytest.raises(CorpusError, match=r"train.tsv:1: expected source TAB target, got no tab"):
        read(**settings)
    skipped = Skipped()
    assert read(skipped=skipped, on_problem="skip", **settings) == [
        line for line in numbered(300) if part_of(line[0], 0.02) == "train"
    ]
    assert skipped.count == 1


def test_nothing_found_is_an_error_that_says_why(tmp_path):
    (tmp_path / "empty.tsv").write_text("")
    (tmp_path / "bad.tsv").write_text("no tab\n" * 3)
    with pytest.raises(CorpusError, match=r"empty.tsv: train: expected at least one pair"):
        read(corpus=None, train=(str(tmp_path / "empty.tsv"),))
    with pytest.raises(CorpusError, match=r"got none \(3 lines skipped; .*bad.tsv:1: .* no tab\)"):
        read(corpus=None, train=(str(tmp_path / "bad.tsv"),), on_problem="skip")
    few = write(tmp_path / "few.tsv", [("Two cats sleep.", "Zwei Katzen schlafen.")])
    with pytest.raises(CorpusError, match=r"few.tsv: validation: expected at least one pair"):
        read("validation", corpus=None, train=(few,))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: part_of("Go.", 1.5), "share: expected a probability"),
        (
            lambda: read_lines(DataSettings(), "valid"),
            "split: expected one of train, validation, test",
        ),
        (
            lambda: read(corpus="multi30k-en-de"),
            "source, target: expected en and de for multi30k-en-de, got 'en' and 'fr'",
        ),
        (lambda: read(target="de"), "en, fr, zh"),
        (lambda: read(corpus="tatoeba-eng-fra"), "ATTENTION_BOOK_DATA"),
    ],
)
def test_what_there_is_not_is_refused(folder, call, message):
    (folder / "tatoeba-eng-fra.tsv").unlink()
    with pytest.raises((ValueError, CorpusError), match=message):
        call()
