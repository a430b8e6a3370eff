"""A corpus is read from one's own folder or downloaded once; whatever fails says what to do."""

import gzip
import hashlib
import io
import os
import random
import sys
import zipfile
from pathlib import Path

import pooch
import pytest

from attention_book.foundations.environment import bar_options
from attention_book.text import CorpusError, corpora, load_corpus
from attention_book.text.corpora import download

LINES = ["Go.\tVa\u202f!", "Hi.\tSalut\u00a0!", "I'm home.\tJe suis chez moi."]
FIRST = (("go", "."), ("va", "!"))
REAL = Path(os.environ.get("ATTENTION_BOOK_DATA", "no such folder"))
needs_real_files = pytest.mark.skipif(
    not (REAL / "tatoeba-eng-fra.tsv").exists(),
    reason="no real corpora: set ATTENTION_BOOK_DATA to a folder with tatoeba-eng-fra.tsv",
)


def zipped(lines, member="fra-eng/fra.txt"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(member, "\n".join(lines) + "\n")
    return buffer.getvalue()


def sides(pairs):
    return [(pair.source, pair.target) for pair in pairs]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """One's own folder of files, named by the environment variable."""
    (tmp_path / "own" / "multi30k").mkdir(parents=True)
    monkeypatch.setenv("ATTENTION_BOOK_DATA", str(tmp_path / "own"))
    return tmp_path / "own"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and no folder of one's own."""
    monkeypatch.delenv("ATTENTION_BOOK_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    return tmp_path / "cache" / "attention_book"


def serve(server, monkeypatch, files):
    """Let the registry point to the server on this machine."""
    for name, content in files.items():
        server.files[name] = content
        entry = (f"{server.url}/{name}", f"sha256:{hashlib.sha256(content).hexdigest()}")
        monkeypatch.setitem(corpora._FILES, name, entry)


def write_multi30k(folder, stem, **texts):
    for language, lines in texts.items():
        path = folder / "multi30k" / f"{stem}.{language}.gz"
        path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))


# --- the real files --------------------------------------------------------------------------


@needs_real_files
def test_the_real_tatoeba_has_its_lines():
    pairs = load_corpus("tatoeba-eng-fra")
    assert len(pairs) == 18_066
    assert sides(pairs[:1]) == [FIRST]
    words = {word for pair in pairs for side in (pair.source, pair.target) for word in side}
    assert not [word for word in words if any(c.isspace() for c in word)]
    assert not [word for word in words if len(word) > 1 and word[-1] in ",.!?"]


@needs_real_files
@pytest.mark.parametrize("language", ["de", "fr"])
@pytest.mark.parametrize(("split", "size"), [("train", 29_000), ("val", 1014), ("test", 1000)])
def test_the_real_multi30k_has_its_lines(language, split, size):
    assert len(load_corpus(f"multi30k-en-{language}", split=split)) == size


@needs_real_files
def test_the_real_files_have_the_registry_s_checksums():
    for name, (_, checksum) in corpora._FILES.items():
        if (REAL / name).exists():
            kind, digest = checksum.split(":")
            assert hashlib.new(kind, (REAL / name).read_bytes()).hexdigest() == digest, name


# --- a folder of one's own -------------------------------------------------------------------


def test_the_lines_are_read_where_they_lie(folder):
    (folder / "tatoeba-eng-fra.tsv").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    pairs = load_corpus("tatoeba-eng-fra")
    assert sides(pairs[:1]) == [FIRST]
    assert len(pairs) == 3
    assert load_corpus("tatoeba-eng-fra", limit=2) == pairs[:2]


def test_the_zip_serves_as_well(folder):
    (folder / "fra-eng.zip").write_bytes(zipped(LINES))
    assert sides(load_corpus("tatoeba-eng-fra", limit=1)) == [FIRST]


def test_what_the_zip_has_too_much_of_is_counted_aloud(folder):
    (folder / "fra-eng.zip").write_bytes(zipped([*LINES, "no tab"]))
    with pytest.warns(UserWarning, match=r"fra.txt: 1 lines left out; line 4: .*no tab"):
        assert len(load_corpus("tatoeba-eng-fra")) == 3


def test_two_files_are_read_side_by_side(folder):
    write_multi30k(folder, "val", en=["A dog.", "A\tcat."], de=["Ein Hund.", "Eine Katze."])
    pairs = load_corpus("multi30k-en-de", split="val")
    assert sides(pairs) == [
        (("a", "dog", "."), ("ein", "hund", ".")),
        (("a", "cat", "."), ("eine", "katze", ".")),  # a tab inside a sentence is a blank
    ]


def test_the_test_split_is_the_one_of_2016(folder):
    write_multi30k(folder, "test_2016_flickr", en=["A dog."], fr=["Un chien."])
    assert len(load_corpus("multi30k-en-fr", split="test")) == 1


def test_files_of_unequal_length_are_an_error(folder):
    write_multi30k(folder, "val", en=["A dog.", "A cat."], de=["Ein Hund."])
    with pytest.raises(CorpusError, match=r"val\.de\.gz:2: expected as many lines"):
        load_corpus("multi30k-en-de", split="val")


def test_a_missing_file_says_where_to_get_it_and_where_to_put_it(folder):
    with pytest.raises(CorpusError, match=r"^fra-eng\.zip: expected in") as caught:
        load_corpus("tatoeba-eng-fra")
    assert corpora._FILES["fra-eng.zip"][0] in str(caught.value)
    assert str(folder) in str(caught.value)
    assert "ATTENTION_BOOK_DATA" in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [b"no zip", zipped(LINES)[:60], zipped(LINES, member="other.txt"), b""],
    ids=["no zip", "cut off", "without the text", "empty"],
)
def test_a_damaged_zip_is_named(folder, content):
    (folder / "fra-eng.zip").write_bytes(content)
    with pytest.raises(CorpusError, match=r"fra-eng\.zip: cannot be read"):
        load_corpus("tatoeba-eng-fra")


@pytest.mark.parametrize("damage", [lambda b: b[:-12], lambda b: b"x" + b[1:]])
def test_a_damaged_gz_is_named(folder, damage):
    write_multi30k(folder, "val", en=["A dog."] * 50, de=["Ein Hund."] * 50)
    path = folder / "multi30k" / "val.de.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(CorpusError, match=r"val\.de\.gz: cannot be read"):
        load_corpus("multi30k-en-de", split="val")


# --- downloading -----------------------------------------------------------------------------


def test_a_corpus_is_downloaded_once_and_the_cache_is_shown(server, cache, monkeypatch, caplog):
    serve(server, monkeypatch, {"fra-eng.zip": zipped(LINES)})
    pooch.get_logger().addHandler(caplog.handler)
    first = load_corpus("tatoeba-eng-fra")
    pooch.get_logger().removeHandler(caplog.handler)
    assert str(cache) in caplog.text
    assert load_corpus("tatoeba-eng-fra") == first
    assert len(server.asked) == 1
    assert [path.name for path in cache.iterdir()] == ["fra-eng.zip"]


def test_an_interrupted_download_leaves_no_file_and_is_continued(server, cache, monkeypatch):
    content = zipped(LINES)
    serve(server, monkeypatch, {"fra-eng.zip": content})
    server.drops, server.drop_after = 3, 50  # as often as it is tried
    with pytest.raises(CorpusError, match="cannot be downloaded"):
        load_corpus("tatoeba-eng-fra")
    assert [path.name for path in cache.iterdir()] == ["fra-eng.zip.part"]
    assert len(load_corpus("tatoeba-eng-fra")) == 3
    assert server.asked[-1] == "bytes=150-"
    assert server.sent == len(content)
    assert [path.name for path in cache.iterdir()] == ["fra-eng.zip"]


def test_a_wrong_checksum_keeps_nothing(server, cache, monkeypatch):
    serve(server, monkeypatch, {"fra-eng.zip": zipped(LINES)})
    server.files["fra-eng.zip"] = zipped(LINES[:1])
    with pytest.raises(CorpusError, match=r"fra-eng\.zip: expected the checksum sha256:"):
        load_corpus("tatoeba-eng-fra")
    assert list(cache.iterdir()) == []


def test_leftovers_of_another_file_do_not_spoil_the_next_try(server, cache, monkeypatch):
    serve(server, monkeypatch, {"fra-eng.zip": zipped(LINES)})
    cache.mkdir(parents=True)
    (cache / "fra-eng.zip.part").write_bytes(b"something else")
    with pytest.raises(CorpusError, match="try again"):
        load_corpus("tatoeba-eng-fra")
    assert len(load_corpus("tatoeba-eng-fra")) == 3


def test_both_files_of_a_pair_are_downloaded(server, cache, monkeypatch):
    files = {"en": b"A dog.\n", "fr": b"Un chien.\n"}
    serve(
        server,
        monkeypatch,
        {f"multi30k/val.{side}.gz": gzip.compress(text) for side, text in files.items()},
    )
    assert len(load_corpus("multi30k-en-fr", split="val")) == 1
    assert sorted(p.name for p in (cache / "multi30k").iterdir()) == ["val.en.gz", "val.fr.gz"]


def test_without_network_the_error_says_how_to_get_the_file(cache, monkeypatch):
    url = "http://127.0.0.1:9/fra-eng.zip"
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setitem(corpora._FILES, "fra-eng.zip", (url, "sha1:0"))
    with pytest.raises(CorpusError) as caught:
        load_corpus("tatoeba-eng-fra")
    for told in ("fra-eng.zip", url, str(cache / "fra-eng.zip"), "ATTENTION_BOOK_DATA=FOLDER"):
        assert told in str(caught.value)


def test_the_bar_is_drawn_when_asked_for_and_not_in_the_book(server, cache, monkeypatch, capsys):
    serve(server, monkeypatch, {"fra-eng.zip": zipped(LINES)})
    load_corpus("tatoeba-eng-fra", progress=True)
    assert "100%" in capsys.readouterr().err
    (cache / "fra-eng.zip").unlink()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert not bar_options()["disable"]
    monkeypatch.setenv("ATTENTION_BOOK_BUILD", "1")
    load_corpus("tatoeba-eng-fra")
    assert "%" not in capsys.readouterr().err


# --- wrong arguments -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("wmt14", {}, "name: expected one of tatoeba-eng-fra, .*got 'wmt14'"),
        ("tatoeba-eng-fra", {"split": "test"}, "split: expected one of train .*got 'test'"),
        ("multi30k-en-de", {"split": "dev"}, "split: expected one of train, val, test"),
        ("tatoeba-eng-fra", {"limit": 0}, "limit: expected 1 or more, got 0"),
    ],
)
def test_wrong_arguments_are_named(folder, name, options, message):
    with pytest.raises(ValueError, match=message):
        load_corpus(name, **options)


CONTENT = random.Random(7).randbytes(300_007)


@pytest.fixture(autouse=True)
def content(server):
    server.files["file"] = CONTENT


@pytest.fixture
def part(tmp_path):
    return tmp_path / "file.part"


def fetch(server, part, **options):
    download(f"{server.url}/file", part, wait=0.0, **options)


def test_all_bytes_arrive_and_are_reported(server, part):
    reports = []
    fetch(server, part, report=lambda *numbers: reports.append(numbers))
    assert part.read_bytes() == CONTENT
    assert reports[-1] == (len(CONTENT), len(CONTENT))
    assert [here for here, _ in reports] == sorted({here for here, _ in reports})


def test_a_broken_connection_is_continued_not_repeated(server, part):
    server.drops, server.drop_after = 2, 100_003
    fetch(server, part)
    assert part.read_bytes() == CONTENT
    assert server.asked == [None, "bytes=100003-", "bytes=200006-"]
    assert server.sent == len(CONTENT)  # no byte came twice


def test_a_later_call_continues_what_an_earlier_one_had_to_leave(server, part):
    server.drops, server.drop_after = 1, 100_003
    with pytest.raises(OSError, match="broke after 100003 of 300007 bytes"):
        fetch(server, part, attempts=1)
    assert part.read_bytes() == CONTENT[:100_003]
    fetch(server, part, attempts=1)
    assert part.read_bytes() == CONTENT
    assert server.asked[-1] == "bytes=100003-"


def test_a_server_that_knows_no_ranges_begins_again(server, part):
    server.ranges_known = False
    server.drops, server.drop_after = 1, 100_003
    fetch(server, part)
    assert part.read_bytes() == CONTENT


def test_leftovers_longer_than_the_file_are_thrown_away(server, part):
    part.write_bytes(b"x" * (len(CONTENT) + 1))
    fetch(server, part)
    assert part.read_bytes() == CONTENT


def test_a_server_in_trouble_is_asked_again(server, part):
    server.failures = 2
    fetch(server, part, attempts=3)
    assert part.read_bytes() == CONTENT


def test_a_file_that_is_not_there_is_asked_for_once(server, part):
    del server.files["file"]
    with pytest.raises(OSError, match="404"):
        fetch(server, part)
    assert len(server.asked) == 1


def test_nobody_there_is_an_error_after_all_attempts(part):
    with pytest.raises(OSError, match=r"refused.*3 attempts"):
        download("http://127.0.0.1:9/file", part, wait=0.0)
    assert not part.exists()
