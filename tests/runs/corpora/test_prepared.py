"""A prepared corpus gives the batches that lists in memory give, to any number of processes."""

import random

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attention_book.foundations import strict
from attention_book.runs import BatchPlan, PreparedCorpus
from attention_book.text import (
    SPECIALS,
    Batch,
    CorpusError,
    ParallelData,
    SentencePair,
    Vocabulary,
)
from attention_book.training import loss_per_token

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


def test_the_numbers_of_pairs_and_tokens_are_those_in_memory(corpus, pairs):
    data = ParallelData(pairs, SOURCE, TARGET)
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


PLANS = st.builds(
    lambda by, size, seed: BatchPlan(**{by: size}, seed=seed, pool=40),
    st.sampled_from(["batch_tokens", "batch_size"]),
    st.integers(1, 100),
    st.integers(0, 5),
)


@given(plan=PLANS, epoch=st.integers(0, 3), world=st.integers(1, 5))
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


@given(plan=PLANS, start=st.integers(0, 120))
@settings(max_examples=20)
def test_a_start_leaves_out_what_stands_before_it(corpus, plan, start):
    whole = list(corpus.batches(plan, 2))
    rest = list(corpus.batches(plan, 2, start=start))
    assert len(rest) == max(0, len(whole) - start)
    for one, other in zip(whole[start:], rest, strict=True):
        assert_equal(one, other)


def test_what_is_left_out_is_not_made(corpus, monkeypatch):
    made = []
    batch = corpus.batch
    monkeypatch.setattr(corpus, "batch", lambda rows: made.append(len(rows)) or batch(rows))
    plan = BatchPlan(batch_size=10)
    next(corpus.batches(plan, 1, start=corpus.num_batches(plan, 1) - 1))
    assert len(made) == 1


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


def test_other_epochs_have_other_batches(corpus):
    plan = BatchPlan(batch_size=10)
    first, second, again = (next(corpus.batches(plan, epoch)) for epoch in (1, 2, 1))
    assert_equal(first, again)
    assert first.source.tolist() != second.source.tolist()


def test_wrong_arguments_are_named(corpus):
    plan = BatchPlan(batch_size=1)
    for options in ({"rank": 1}, {"rank": -1}, {"start": -1}, {"rank": 2, "world": 2}):
        with pytest.raises(ValueError, match="start, rank, world: expected"):
            corpus.batches(plan, 1, **options)
    for rows in ([], [-1], [101]):
        with pytest.raises(ValueError, match="rows: expected some from 0 to 100"):
            corpus.batch(torch.tensor(rows, dtype=torch.int64))


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
