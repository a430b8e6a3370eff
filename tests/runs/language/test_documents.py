"""What a document is, what is held out, and what is refused."""

import gzip
from pathlib import Path

import pytest

from attention_book.runs.language.documents import check_enough, embedded_text, read_documents
from attention_book.runs.language.settings import EMBEDDED, DocumentSettings
from attention_book.text import CorpusError

PARTS = ("train", "validation", "test")


def own(path: Path, **changes: object) -> DocumentSettings:
    return DocumentSettings(corpus=None, train=(str(path),), **changes)


def everything(settings: DocumentSettings) -> list[str]:
    return [text for part in PARTS for text in read_documents(settings, part)]


def written(folder: Path, text: str | bytes, name: str = "a.txt") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


LINES = "".join(f"this is line {number}\n" for number in range(200))


def test_lines_are_documents_and_each_is_in_one_part(tmp_path: Path) -> None:
    settings = own(written(tmp_path, LINES))
    found = everything(settings)
    assert sorted(found) == sorted(LINES.splitlines())
    sizes = [len(list(read_documents(settings, part))) for part in PARTS]
    assert all(3 <= size <= 25 for size in sizes[1:])


def test_blank_lines_part_paragraphs(tmp_path: Path) -> None:
    text = "".join(f"first of {n}\nsecond of {n}\n\n" for n in range(100))
    path = written(tmp_path, text)
    found = everything(own(path))
    assert len(found) == 100
    assert set(found) == {f"first of {n}\nsecond of {n}" for n in range(100)}
    assert len(everything(own(path, documents="lines"))) == 200


def test_a_few_blank_lines_make_no_paragraphs(tmp_path: Path) -> None:
    assert len(everything(own(written(tmp_path, LINES[:3000] + "\n" + LINES[3000:])))) > 150


def test_packed_files_marks_and_windows_lines_are_read(tmp_path: Path) -> None:
    text = "\ufeff" + LINES.replace("\n", "\r\n")
    path = written(tmp_path, gzip.compress(text.encode()), "a.txt.gz")
    assert sorted(everything(own(path))) == sorted(LINES.splitlines())


def test_files_of_their_own_take_nothing_away(tmp_path: Path) -> None:
    train = written(tmp_path, LINES)
    other = written(tmp_path, "held out\n", "b.txt")
    settings = own(train, validation=(str(other),), test=(str(other),))
    assert len(list(read_documents(settings, "train"))) == 200
    assert list(read_documents(settings, "test")) == ["held out"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "expected at least one document, got none"),
        (b"caf\xe9\n", "a.txt:1: expected UTF-8, got the byte 0xe9 at byte 4"),
        ("a\0b\n", "got a null byte"),
        ("x" * (1 << 21), "a.txt:1: expected a line of at most 1048576 bytes, got more"),
    ],
    ids=["empty", "latin", "null", "huge"],
)
def test_what_is_no_text_is_one_error(tmp_path: Path, content: str | bytes, reason: str) -> None:
    with pytest.raises(CorpusError, match=reason):
        list(read_documents(own(written(tmp_path, content))))


def test_a_folder_and_a_missing_file_are_one_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(CorpusError, match="cannot be read"):
            list(read_documents(own(path)))


def test_too_few_documents_are_refused() -> None:
    check_enough(["a"] * 20, "x")
    with pytest.raises(CorpusError, match="expected 20 documents or more, got 19"):
        check_enough(["a"] * 19, "x")


@pytest.mark.parametrize("name", EMBEDDED)
def test_no_embedded_document_stands_twice_or_is_empty(name: str) -> None:
    found = embedded_text(name)
    assert len(set(found)) == len(found) > 5000
    assert all(text and text == text.strip() for text in found)


def test_poems_have_four_lines_of_five_or_of_seven_and_share_none() -> None:
    lines = [poem.replace("。", "，").split("，")[:-1] for poem in embedded_text("tang-poems")]
    assert {len(poem) for poem in lines} == {4}
    assert {tuple(map(len, poem)) for poem in lines} == {(5,) * 4, (7,) * 4}
    counts: dict[str, int] = {}
    for poem in lines:
        for line in set(poem):
            counts[line] = counts.get(line, 0) + 1
    assert max(counts.values()) == 1


def test_a_language_of_a_corpus_for_translation() -> None:
    found = list(read_documents(DocumentSettings(corpus="phrasebook", language="zh")))
    assert any("\u4e00" <= text[0] <= "\u9fff" for text in found)
    assert len(set(found)) == len(found)
