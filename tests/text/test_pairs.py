"""A file is read to its last line, and whatever is wrong with it has a line and a reason."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.text import CorpusError, Problem, SentencePair, leaks, read_pairs, split_pairs

GOOD = "Go.\tVa\u202f!\n".encode()
PROBLEMS = {
    "no tab": (b"Go. Va !\n", "expected source TAB target, got no tab"),
    "two tabs": (b"Go.\tVa.\tCC-BY\n", "expected source TAB target, got 2 tabs"),
    "blank line": (b"\n", "expected source TAB target, got no tab"),
    "latin 1": ("Go.\tÉté.\n".encode("latin-1"), "expected UTF-8, got the byte 0xc9 at byte 5"),
    "null byte": (b"Go.\tVa\0 !\n", "expected UTF-8, got a null byte at byte 7"),
    "empty source": (b" \tVa !\n", "expected two sentences, got an empty source"),
    "empty target": (
        "Go.\t\u202f\n".encode(), "expected two sentences, got an empty target",
    ),
    "over-long source": (
        b"a b c d e f\tVa !\n", "expected at most 5 tokens, got 6 in the source",
    ),
    "over-long target": (
        b"Go.\tun deux trois, quatre.\n", "expected at most 5 tokens, got 6 in the target",
    ),
}  # fmt: skip
each_problem = pytest.mark.parametrize(("line", "reason"), PROBLEMS.values(), ids=PROBLEMS.keys())


@pytest.fixture
def read(tmp_path):
    def write_and_read(content, **options):
        path = tmp_path / "pairs.tsv"
        path.write_bytes(content)
        return read_pairs(path, source_language="en", target_language="fr", **options)

    return write_and_read


def test_pairs_come_in_the_order_of_the_file(read):
    reading = read("Go.\tVa\u202f!\nHi.\tSalut !\nGo.\tMarche.\n".encode())
    assert [pair.target for pair in reading.pairs] == [("va", "!"), ("salut", "!"), ("marche", ".")]
    assert reading.problems == ()


@pytest.mark.parametrize(
    "content",
    [GOOD, GOOD.rstrip(b"\n"), b"\xef\xbb\xbf" + GOOD, GOOD.replace(b"\n", b"\r\n")],
    ids=["plain", "no last line end", "byte order mark", "of Windows"],
)
def test_how_the_file_was_saved_does_not_matter(read, content):
    assert read(content).pairs == (SentencePair(("go", "."), ("va", "!")),)


@each_problem
def test_a_problem_names_file_and_line(read, tmp_path, line, reason):
    with pytest.raises(CorpusError) as caught:
        read(GOOD + GOOD + line + GOOD, max_tokens=5)
    assert str(caught.value) == f"{tmp_path / 'pairs.tsv'}:3: {reason}"


@each_problem
def test_a_skipped_problem_is_listed_and_nothing_else_is_lost(read, line, reason):
    reading = read(GOOD + line + GOOD + line, max_tokens=5, on_problem="skip")
    assert len(reading.pairs) == 2
    assert reading.problems == (Problem(2, reason), Problem(4, reason))


def test_a_sentence_as_long_as_allowed_is_kept(read):
    assert len(read(b"a b c d e\tun deux trois quatre.\n", max_tokens=5).pairs) == 1


@pytest.mark.parametrize("on_problem", ["raise", "skip"])
def test_an_empty_corpus_is_an_error_in_any_case(read, on_problem):
    with pytest.raises(CorpusError, match=r"pairs\.tsv: expected at least one pair.*got none$"):
        read(b"", on_problem=on_problem)
    with pytest.raises(CorpusError, match=r"got none \(2 lines skipped; line 1: .*no tab\)"):
        read(b"a\nb\n", on_problem="skip")
    with pytest.raises(CorpusError, match=r"nowhere\.tsv: cannot be read: No such file"):
        read_pairs("nowhere.tsv", source_language="en", target_language="zh")


@given(
    st.lists(st.text("ab", min_size=1), min_size=1).map(tuple),
    st.lists(st.text("cd", min_size=1), min_size=1).map(tuple),
    st.data(),
)
def test_a_pair_turned_twice_is_itself(source, target, data):
    link = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
    pair = SentencePair(source, target, data.draw(st.none() | st.frozensets(link)))
    turned = pair.reversed()
    assert (turned.source, turned.target) == (target, source)
    assert turned.reversed() == pair
    if pair.alignment is not None:
        assert {(source[i], target[j]) for i, j in pair.alignment} == {
            (turned.target[j], turned.source[i]) for i, j in turned.alignment
        }


@pytest.mark.parametrize("link", [(2, 0), (0, 3), (-1, 0), (0, -1)])
def test_a_link_to_no_word_is_an_error(link):
    with pytest.raises(ValueError, match="alignment: expected links between 2 source and 3"):
        SentencePair(("a", "b"), ("c", "d", "e"), frozenset({(1, 2), link}))


def corpus(sources):
    return [SentencePair((str(s),), (f"{s}/{n}",)) for n, s in enumerate(sources)]


# Sources that occur once, twice or three times, not side by side.
SOURCES = st.lists(st.integers(1, 3), min_size=40, max_size=60).map(
    lambda counts: [s for turn in range(3) for s, count in enumerate(counts) if count > turn]
)
FRACTIONS = st.sampled_from([(0.8, 0.2), (0.5, 0.3, 0.2), (1.0,)])


@given(SOURCES, FRACTIONS, st.integers(0, 9))
def test_every_pair_is_in_exactly_one_part_in_the_corpus_s_order(sources, fractions, seed):
    pairs = corpus(sources)
    parts = split_pairs(pairs, fractions=fractions, seed=seed)
    assert len(parts) == len(fractions)
    place = {pair: number for number, pair in enumerate(pairs)}
    assert sorted(place[pair] for part in parts for pair in part) == list(range(len(pairs)))
    assert all([place[p] for p in part] == sorted(place[p] for p in part) for part in parts)
    largest = max(map(sources.count, sources))
    for number, (part, share) in enumerate(zip(parts, fractions, strict=True)):
        assert abs(len(part) - share * len(pairs)) <= largest
        for other in parts[number + 1 :]:
            assert leaks(part, other) == ()  # no source stands in two parts


def test_without_repeated_sources_the_shares_are_exact():
    parts = split_pairs(corpus(range(1000)), fractions=(0.7, 0.2, 0.1), seed=1)
    assert [len(part) for part in parts] == [700, 200, 100]


def test_the_seed_names_the_split_and_the_global_numbers_are_left_alone():
    pairs = corpus(range(100))
    state = torch.get_rng_state()
    first = split_pairs(pairs, fractions=(0.5, 0.5), seed=1)
    assert split_pairs(pairs, fractions=(0.5, 0.5), seed=1) == first
    assert split_pairs(pairs, fractions=(0.5, 0.5), seed=2) != first
    assert torch.equal(torch.get_rng_state(), state)


def test_a_leak_is_found_by_source_and_by_pair():
    a, b, c = ("a",), ("b",), ("c",)
    train = [SentencePair(a, b), SentencePair(b, c)]
    test = [SentencePair(a, b), SentencePair(a, c), SentencePair(c, b)]
    assert leaks(train, test) == tuple(test[:2])
    assert leaks(train, test, by="pair") == tuple(test[:1])
    aligned = SentencePair(a, b, frozenset({(0, 0)}))
    assert leaks(train, [aligned], by="pair") == (aligned,)


@pytest.mark.parametrize("fractions", [(0.5, 0.4), (0.8, 0.3), (1.2, -0.2), (1.0, 0.0), ()])
def test_shares_that_make_no_whole_are_an_error(fractions):
    with pytest.raises(ValueError, match="fractions: expected positive shares of sum 1"):
        split_pairs(corpus(range(10)), fractions=fractions, seed=0)


@pytest.mark.parametrize("sources", [[], [1], [1, 1, 1, 1]])
def test_too_few_sources_are_an_error(sources):
    with pytest.raises(ValueError, match="pairs: expected enough sources for 2 parts"):
        split_pairs(corpus(sources), fractions=(0.5, 0.5), seed=0)
