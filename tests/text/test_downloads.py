"""A download is whole or continued, whatever the server does."""

import random

import pytest

from attention_book.text.downloads import download

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
