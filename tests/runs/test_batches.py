"""A prepared corpus gives the batches that lists in memory give, to any number of processes."""

import random
import threading
import time
from collections import Counter

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from attention_book.foundations import strict
from attention_book.foundations.checks import is_strict
from attention_book.runs import BatchPlan, PreparedCorpus, prefetched
from attention_book.text import (
    SPECIALS,
    Batch,
    CorpusError,
    ParallelData,
    SentencePair,
    Vocabulary,
)
from attention_book.training import loss_per_token

pytestmark = pytest.mark.usefixtures("few_sentences")

LENGTHS = st.lists(st.tuples(st.integers(2, 40), st.integers(2, 40)), min_size=1, max_size=200)
PLANS = st.builds(
    lambda by, size, seed, pool: BatchPlan(**{by: size}, seed=seed, pool=pool),
    st.sampled_from(["batch_tokens", "batch_size"]),
    st.integers(1, 120),
    st.integers(0, 2**32 - 1),
    st.integers(1, 100),
)


def batches(plan, lengths, epoch=1):
    sources, targets = torch.tensor(lengths).T
    order = plan.order(sources, targets, epoch=epoch)
    return [order.rows(number).tolist() for number in range(len(order))]


@given(PLANS, LENGTHS, st.integers(0, 5))
def test_every_row_is_in_exactly_one_batch_and_no_batch_is_empty(plan, lengths, epoch):
    found = batches(plan, lengths, epoch)
    assert all(found)
    assert sorted(row for rows in found for row in rows) == list(range(len(lengths)))


@given(PLANS, LENGTHS)
def test_no_batch_is_larger_than_it_may_be_but_for_a_single_pair(plan, lengths):
    for rows in batches(plan, lengths):
        longest = max(max(lengths[row]) for row in rows)
        if plan.batch_size:
            assert len(rows) <= plan.batch_size
        else:
            assert len(rows) == 1 or len(rows) * longest <= plan.batch_tokens


@given(LENGTHS, st.integers(1, 120))
@example([(2, 3)] * 3, 6)
@example([(2, 3)] * 5 + [(4, 2)], 7)
def test_in_one_pool_a_batch_is_as_full_as_it_can_be(lengths, size):
    """The next shorter row would not have fitted: what greedy means."""
    plan = BatchPlan(batch_tokens=size, pool=1000)
    found = [
        tuple(sorted((max(lengths[row]) for row in rows), reverse=True))
        for rows in batches(plan, lengths)
    ]
    rest = sorted((max(pair) for pair in lengths), reverse=True)
    expected = []
    while rest:
        count = max(1, size // rest[0])
        expected.append(tuple(rest[:count]))
        rest = rest[count:]
    # Batches whose longest rows are equal come in any order: as many of each kind, that is all.
    assert Counter(found) == Counter(expected)


def test_seed_and_epoch_are_not_one_number():
    """The kind: two numbers mixed into one, so that neighbors coincide (1 and 2, 2 and 1)."""
    lengths = [(2 + number % 13, 2 + number % 7) for number in range(150)]
    seeds, epochs = (0, 1, 2, 3, 11, 12, 255, 256, 4096, 2**32 - 1), (0, 1, 2, 3, 11, 12, 4096)
    found = {
        (seed, epoch): str(batches(BatchPlan(batch_tokens=99, seed=seed), lengths, epoch))
        for seed in seeds
        for epoch in epochs
    }
    assert len(set(found.values())) == len(seeds) * len(epochs)


def test_seed_and_epoch_decide_and_nothing_else():
    lengths = [(2 + number % 13, 2 + number % 7) for number in range(300)]
    plan = BatchPlan(batch_tokens=100, seed=3)
    state = torch.get_rng_state()
    first = batches(plan, lengths, epoch=1)
    torch.manual_seed(99)
    assert batches(plan, lengths, epoch=1) == first
    torch.set_rng_state(state)
    batches(plan, lengths, epoch=1)
    assert torch.equal(torch.get_rng_state(), state)
    assert batches(plan, lengths, epoch=2) != first
    assert batches(BatchPlan(batch_tokens=100, seed=4), lengths, epoch=1) != first
    # A seed beyond 32 bits of which torch would read the lower half only.
    assert batches(BatchPlan(batch_tokens=100, seed=3 + 2**32), lengths, epoch=1) != first


def test_long_batches_do_not_all_come_first():
    lengths = [(length, length) for length in range(2, 402)]
    longest = [max(lengths[row][0] for row in rows) for rows in
               batches(BatchPlan(batch_size=10), lengths)]  # fmt: skip
    assert longest != sorted(longest, reverse=True)
    assert longest != sorted(longest)


def padding(plan, lengths):
    places = words = 0
    for rows in batches(plan, lengths):
        for side in (0, 1):
            sizes = [lengths[row][side] for row in rows]
            places += len(rows) * max(sizes)
            words += sum(sizes)
    return 1 - words / places


def test_a_pool_saves_padding():
    dice = torch.Generator().manual_seed(0)
    sources = torch.randint(2, 60, (2000,), generator=dice).tolist()
    lengths = [(source, max(2, source + source % 5 - 2)) for source in sources]
    with_pool = padding(BatchPlan(batch_size=32), lengths)
    without = padding(BatchPlan(batch_size=32, pool=1), lengths)
    assert with_pool < 0.1 < 0.3 < without


def test_all_batches_but_one_of_a_pool_have_the_size():
    sizes = sorted(map(len, batches(BatchPlan(batch_size=7, pool=20), [(3, 3)] * 30)))
    assert sizes == [2, 7, 7, 7, 7]  # a pool holds whole batches: 14 of the 20


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) == before


class Source:
    """Counts what was made of it, and knows whether it was closed."""

    def __init__(self, size, error=None):
        self.made, self.closed = 0, False
        self.size, self.error = size, error

    def __iter__(self):
        try:
            for number in range(self.size):
                self.made += 1
                yield number
            if self.error:
                raise self.error
        finally:
            self.closed = True


@given(st.lists(st.integers()), st.integers(1, 5))
def test_the_items_are_the_same_in_the_same_order(items, depth):
    assert list(prefetched(items, depth)) == items


def test_no_more_is_made_ahead_than_was_said():
    source = Source(100)
    items = prefetched(source, 3)
    assert source.made == 0
    assert next(items) == 0
    deadline = time.monotonic() + 10
    while source.made < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    assert source.made == 5  # one is with us, three wait, and one waits to wait
    items.close()


@pytest.mark.parametrize("taken", [0, 1, 7])
def test_breaking_off_ends_the_thread_and_closes_the_source(taken):
    source = Source(1000)
    items = prefetched(source, 2)
    for _, _number in zip(range(taken), items, strict=False):
        pass
    items.close()
    assert source.closed == (taken > 0)
    assert source.made <= taken + 4


def test_an_error_in_the_caller_s_loop_ends_the_thread():
    source = Source(1000)

    def loop():
        for number in prefetched(source, 2):
            if number == 5:
                raise RuntimeError("in the loop")

    with pytest.raises(RuntimeError, match="in the loop"):
        loop()
    deadline = time.monotonic() + 10  # the generator is closed when the traceback is let go
    while not source.closed and time.monotonic() < deadline:
        time.sleep(0.01)
    assert source.closed


@pytest.mark.parametrize("error", [ValueError("in the source"), KeyboardInterrupt()])
def test_an_error_in_the_source_comes_in_its_place(error):
    source = Source(4, error)
    items = prefetched(source, 2)
    assert [next(items) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(type(error)) as caught:
        next(items)
    assert caught.value is error
    assert source.closed


def test_an_error_before_the_first_item_is_no_hang():
    class Broken:
        def __iter__(self):
            raise RuntimeError("cannot begin")

    with pytest.raises(RuntimeError, match="cannot begin"):
        next(prefetched(Broken()))


def test_the_thread_is_as_strict_as_the_caller():
    for wanted in (True, False):
        with strict(wanted):
            assert list(prefetched(is_strict() for _ in range(2))) == [wanted] * 2


WORDS = [f"w{number}" for number in range(30)]
SOURCE = Vocabulary(SPECIALS + tuple(WORDS), (0,) * 34)
# The specials may stand anywhere, and have other numbers then.
TARGET = Vocabulary((*WORDS[:7], "<eos>", "<pad>", "<bos>", "<unk>", *WORDS[7:]), (0,) * 34)


def draw_pairs(size, seed=0, longest=9):
    dice = random.Random(seed)
    return [
        SentencePair(*(tuple(dice.choices(WORDS, k=dice.randint(1, longest))) for _ in range(2)))
        for _ in range(size)
    ]


def numbers(pairs, source=SOURCE, target=TARGET):
    return [(source.encode(pair.source), target.encode(pair.target)) for pair in pairs]


def prepare(folder, pairs, **options):
    return PreparedCorpus.prepare(
        folder, numbers(pairs), vocabularies=(SOURCE, TARGET), digest="pairs", **options
    )


@pytest.fixture(scope="module")
def pairs():
    return draw_pairs(101)


@pytest.fixture(scope="module")
def corpus(pairs, tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("prepared") / "train", pairs)


def assert_equal(one, other):
    for name, value in vars(one).items():
        assert torch.equal(value, getattr(other, name)), name


# --- an oracle: the same pairs in memory -----------------------------------------------------


@given(st.lists(st.integers(0, 100), min_size=1, max_size=20))
def test_any_rows_make_the_batch_that_they_make_in_memory(corpus, pairs, rows):
    data = ParallelData(pairs, SOURCE, TARGET)
    assert_equal(corpus.batch(torch.tensor(rows)), data._batch(rows))
    assert (len(corpus), corpus.num_tokens) == (len(data), data.num_tokens)


@pytest.mark.parametrize("size", [65_536, 65_537, 200_000])
def test_a_large_vocabulary_keeps_its_largest_numbers(tmp_path, size):
    words = Vocabulary(SPECIALS + tuple(map(str, range(size - 4))), (0,) * size)
    found = [([size - 1, 4], [size - 2]), ([32_768], [40_000, 65_535])]
    corpus = PreparedCorpus.prepare(
        tmp_path / "train", found, vocabularies=(words, words), digest="large"
    )
    batch = corpus.batch(torch.tensor([0, 1]))
    assert batch.source.tolist() == [[size - 1, 4, 3], [32_768, 3, 0]]
    assert batch.target_output.tolist() == [[size - 2, 3, 0], [40_000, 65_535, 3]]
    width = (tmp_path / "train" / "source.numbers").stat().st_size // corpus.header.num_sources
    assert width == (2 if size <= 65_536 else 4)


# --- batches ---------------------------------------------------------------------------------


def all_rows(batch):
    """The pairs of a batch as text, without padding: what was in the corpus."""
    found = []
    for number in range(len(batch)):
        mask = batch.target_mask[number]
        if mask.any():
            source = batch.source[number][batch.source_mask[number]].tolist()
            target = batch.target_output[number][mask].tolist()
            found.append((*SOURCE.decode(source), "|", *TARGET.decode(target)))
    return found


PREPARED_PLANS = st.builds(
    lambda by, size, seed: BatchPlan(**{by: size}, seed=seed, pool=40),
    st.sampled_from(["batch_tokens", "batch_size"]),
    st.integers(1, 100),
    st.integers(0, 5),
)


@given(plan=PREPARED_PLANS, epoch=st.integers(0, 3), world=st.integers(1, 5))
@settings(max_examples=15)
def test_the_ranks_together_have_the_batches_of_one_process(corpus, pairs, plan, epoch, world):
    alone = list(corpus.batches(plan, epoch))
    ranks = [list(corpus.batches(plan, epoch, rank=rank, world=world)) for rank in range(world)]
    assert {len(batches) for batches in ranks} == {len(alone)} == {corpus.num_batches(plan, epoch)}
    for whole, *shares in zip(alone, *ranks, strict=True):
        assert sorted(all_rows(whole)) == sorted(row for share in shares for row in all_rows(share))
        assert sum(share.num_tokens for share in shares) == whole.num_tokens
    seen = sorted(row for batch in alone for row in all_rows(batch))
    expected = ((*pair.source, "<eos>", "|", *pair.target, "<eos>") for pair in pairs)
    assert seen == sorted(expected)


@given(plan=PREPARED_PLANS, start=st.integers(0, 120))
@settings(max_examples=20)
def test_a_start_leaves_out_what_stands_before_it(corpus, plan, start):
    whole = list(corpus.batches(plan, 2))
    rest = list(corpus.batches(plan, 2, start=start))
    assert len(rest) == max(0, len(whole) - start)
    for one, other in zip(whole[start:], rest, strict=True):
        assert_equal(one, other)


def test_a_rank_without_a_row_has_a_batch_that_counts_nothing(corpus):
    plan = BatchPlan(batch_size=1)
    batch = next(corpus.batches(plan, 1, rank=2, world=3))
    assert (len(batch), batch.num_tokens) == (1, 0)
    assert batch.source_mask.any()  # the model has something to read
    logits = torch.randn(*batch.target_output.shape, 34, requires_grad=True)
    with strict(False):
        loss = loss_per_token(logits, batch.target_output, batch.target_mask)
    loss.backward()
    assert loss == 0
    assert not logits.grad.any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "batch_tokens, batch_size: expected one of the two, got None and None"),
        ({"batch_tokens": 1, "batch_size": 1}, "expected one of the two, got 1 and 1"),
        ({"batch_tokens": 0}, "batch_tokens: expected at least 1"),
        ({"batch_size": 5, "pool": 0}, "pool: expected at least 1"),
    ],
)
def test_wrong_numbers_are_named(corpus, options, message):
    with pytest.raises(ValueError, match=message):
        BatchPlan(**options)
    plan = BatchPlan(batch_size=1)
    for wrong in ({"rank": 1}, {"rank": -1}, {"start": -1}, {"rank": 2, "world": 2}):
        with pytest.raises(ValueError, match="start, rank, world: expected"):
            corpus.batches(plan, 1, **wrong)
    for rows in ([], [-1], [101]):
        with pytest.raises(ValueError, match="rows: expected some from 0 to 100"):
            corpus.batch(torch.tensor(rows, dtype=torch.int64))
    with pytest.raises(ValueError, match="depth: expected at least 1, got 0"):
        prefetched([], 0)


# --- damaged folders -------------------------------------------------------------------------

FILES = ["header.json", "source.numbers", "source.places", "target.numbers", "target.places"]


def read_all(folder):
    corpus = PreparedCorpus.open(folder)
    for batch in corpus.batches(BatchPlan(batch_size=3), 1):
        assert isinstance(batch, Batch)
        assert int(batch.source.max()) < 34
        assert int(batch.target_input.max()) < 34


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "longer", "folder"])
def test_a_damaged_folder_is_named(tmp_path, name, damage):
    folder = prepare(tmp_path / "train", draw_pairs(10)).folder
    path = folder / name
    content = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage != "missing":
        path.write_bytes({"empty": b"", "cut": content[:-2], "longer": content + b"\1\0"}[damage])
    with pytest.raises(CorpusError) as error:
        read_all(folder)
    assert str(error.value).startswith(f"{path}: ")


@given(name=st.sampled_from(FILES), data=st.data())
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_a_corpus_or_a_corpus_error(tmp_path, name, data):
    folder = tmp_path / "hostile"
    if not folder.exists():
        prepare(folder, draw_pairs(10))
    path = folder / name
    whole = path.read_bytes()
    size = len(whole)
    content = bytearray(whole)
    for place in data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=4)):
        content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(data.draw(st.sampled_from([bytes(content), data.draw(st.binary())])))
    error = outcome(folder)
    path.write_bytes(whole)
    assert error.startswith(str(folder) if error else "")


def outcome(folder):
    try:
        read_all(folder)
    except CorpusError as error:
        return str(error)
    return ""


def test_another_digest_is_another_corpus(corpus):
    with pytest.raises(CorpusError, match="expected a corpus prepared as 'other', got 'pairs'"):
        PreparedCorpus.open(corpus.folder, digest="other")


@pytest.mark.parametrize("side", ["source", "target"])
def test_places_that_run_around_the_numbers_are_refused(tmp_path, side):
    folder = prepare(tmp_path / "train", draw_pairs(10)).folder
    path = folder / f"{side}.places"
    places = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.int64).clone()
    huge = 2**63 - 1
    places[1:3] = torch.tensor([huge, -2])  # the differences are two or more, in 64 bits
    places[3:-1] = torch.arange(len(places) - 4) * 2
    assert int(places[:4].diff().min()) >= 2
    path.write_bytes(places.numpy().tobytes())
    assert outcome(folder).startswith(f"{path}: expected 10 places")


def test_a_header_of_any_size_is_read_no_further_than_it_can_be(tmp_path):
    folder = prepare(tmp_path / "train", draw_pairs(3)).folder
    (folder / "header.json").unlink()
    (folder / "header.json").symlink_to("/dev/zero")
    assert "expected a header in JSON" in outcome(folder)


def test_a_link_among_the_left_overs_is_removed_and_nothing_behind_it(tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "header.json").write_text("mine")
    (tmp_path / ".train.1.part").symlink_to(precious)
    prepare(tmp_path / "train", draw_pairs(3))
    assert (precious / "header.json").read_text() == "mine"
    assert not (tmp_path / ".train.1.part").is_symlink()
