"""Files come back line by line as they were written; what is no pair of sentences is named."""

import gzip

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attention_book.runs.corpora import Skipped, files
from attention_book.runs.corpora.files import columns, read_files, refuse
from attention_book.text import CorpusError

SENTENCE = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\0\ufeff"), min_size=1
).filter(lambda text: text.strip())
PAIRS = st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=8)


def write(folder, name, content):
    content = content if isinstance(content, bytes) else content.encode()
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return str(path)


def tsv(pairs):
    return "".join(f"{source}\t{target}\n" for source, target in pairs)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all examples of Hypothesis."""
    return tmp_path_factory.mktemp("files")


# --- what was written ------------------------------------------------------------------------


@given(pairs=PAIRS, packed=st.booleans(), end=st.sampled_from(["\n", "\r\n"]))
def test_lines_come_back_as_they_were_written(folder, pairs, packed, end):
    path = write(folder, "a.tsv.gz" if packed else "a.tsv", tsv(pairs).replace("\n", end))
    expected = [(source.strip(), target.strip()) for source, target in pairs]
    assert list(read_files((path,), refuse)) == expected


@given(pairs=PAIRS, packed=st.booleans())
def test_two_files_give_the_same_as_one(folder, pairs, packed):
    names = ("a.en.gz", "a.fr") if packed else ("a.en", "a.fr.gz")
    sides = zip(*pairs, strict=True)
    paths = [write(folder, n, "\n".join(s)) for n, s in zip(names, sides, strict=True)]
    one = write(folder, "a.tsv", tsv(pairs))
    assert list(read_files(tuple(paths), refuse)) == list(read_files((one,), refuse))


def test_a_byte_order_mark_is_no_letter(tmp_path):
    path = write(tmp_path, "a.tsv", b"\xef\xbb\xbfGo.\tVa !\n")
    assert list(read_files((path,), refuse)) == [("Go.", "Va !")]


def test_a_tab_in_one_of_two_files_is_a_blank(tmp_path):
    paths = write(tmp_path, "a.en", "A\tdog.\n"), write(tmp_path, "a.fr", "Un chien.\n")
    assert list(read_files(paths, refuse)) == [("A dog.", "Un chien.")]


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
    path = write(tmp_path, "a.tsv", b"Go.\tVa !\n" + line + b"\nHi.\tSalut !\n")
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
    paths = tuple(write(tmp_path, f"a.{n}", "\n".join(s) + "\n") for n, s in enumerate(sides))
    skipped = Skipped()
    assert list(read_files(paths, skipped.add)) == [("a", "x"), ("c", "z")]
    assert skipped.reasons == [f"{paths[side]}:2: expected a sentence, got none"]


@pytest.mark.parametrize("shorter", [0, 1])
def test_two_files_must_be_of_one_length_even_where_bad_lines_are_left_out(tmp_path, shorter):
    texts = ["a\nb\nc\n", "x\ny\nz\n"]
    texts[shorter] = texts[shorter][:4]
    paths = tuple(write(tmp_path, f"a.{n}", text) for n, text in enumerate(texts))
    expected = f"{paths[shorter]}: expected as many lines as in {paths[1 - shorter]}, 3, got 2"
    with pytest.raises(CorpusError) as error:
        list(read_files(paths, Skipped().add))
    assert str(error.value) == expected


@pytest.mark.parametrize("size", [100, 101, 201, 250])
def test_a_line_that_is_far_too_long_is_left_out_and_never_held(tmp_path, monkeypatch, size):
    monkeypatch.setattr(files, "_LONGEST", 100)
    long = b"x" * (size - 2) + b"\ty"
    path = write(tmp_path, "a.tsv.gz", b"Go.\tVa !\n" + long + b"\nHi.\tSalut !\n")
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
def test_any_bytes_are_lines_or_problems(folder, content, packed):
    path = write(folder, "b.tsv.gz" if packed else "b.tsv", content)
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
def test_any_bytes_in_two_files_are_lines_or_errors_that_say_where(folder, content, other):
    (folder / "c.gz").write_bytes(content)  # not packed at all
    paths = write(folder, "c", content), write(folder, "d", other)
    for some in (paths, (str(folder / "c.gz"),)):
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
