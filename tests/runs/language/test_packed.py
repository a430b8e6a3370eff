"""Laws of packed corpora: each token predicted once, ranks together are one, resuming skips."""

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.runs import BatchPlan
from attention_book.runs.language.codec import PieceCodec
from attention_book.runs.language.packed import PackedCorpus, write_documents
from attention_book.runs.language.settings import PieceSettings
from attention_book.text import BOS, EOS, CorpusError, PackedBatch

dice = torch.Generator().manual_seed(7)
TEXTS = [
    "".join(chr(97 + int(n)) for n in torch.randint(0, 26, (length,), generator=dice))
    for length in torch.randint(1, 40, (60,), generator=dice).tolist()
]
CODEC = PieceCodec.learn(TEXTS, PieceSettings(unit="characters", min_frequency=1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("packed") / "train"
    write_documents(path, TEXTS, CODEC, digest="these")
    return path


def stretches(batch: PackedBatch) -> list[tuple[list[int], list[int]]]:
    """What each text of a batch reads, and what it is to predict."""
    found = []
    for row in range(len(batch)):
        for number in batch.documents[row].unique().tolist():
            here = (batch.documents[row] == number) & batch.mask[row]
            if bool(here.any()):
                found.append((batch.tokens[row][here].tolist(), batch.targets[row][here].tolist()))
    return found


@given(context=st.integers(2, 50), epoch=st.integers(0, 5))
def test_each_token_is_predicted_once_from_the_one_before(
    folder: Path, context: int, epoch: int
) -> None:
    corpus = PackedCorpus(folder, context)
    batches = list(corpus.batches(BatchPlan(batch_size=7), epoch))
    found = [each for batch in batches for each in stretches(batch)]
    predicted = sorted(token for _, targets in found for token in targets)
    expected = sorted(token for text in CODEC.encode(TEXTS) for token in [*text, EOS])
    assert predicted == expected
    for tokens, targets in found:
        assert tokens[1:] == targets[:-1]
    assert sum(tokens[0] == BOS for tokens, _ in found) == len(TEXTS)
    assert all(batch.tokens.shape[1] == context for batch in batches)


def test_documents_that_fit_are_whole(folder: Path) -> None:
    corpus = PackedCorpus(folder, 48)
    batches = corpus.batches(BatchPlan(batch_tokens=480), 1)
    found = [targets for batch in batches for _, targets in stretches(batch)]
    whole = [[*text, EOS] for text in CODEC.encode(TEXTS)]
    assert sorted(found) == sorted(whole)


def test_epochs_differ_and_repeat(folder: Path) -> None:
    def tokens(epoch: int) -> torch.Tensor:
        return next(iter(PackedCorpus(folder, 32).batches(BatchPlan(batch_size=4), epoch))).tokens

    assert torch.equal(tokens(1), tokens(1))
    assert not torch.equal(tokens(1), tokens(2))


def test_ranks_together_are_one_process(folder: Path) -> None:
    corpus, plan = PackedCorpus(folder, 32), BatchPlan(batch_size=5)
    alone = list(corpus.batches(plan, 3))
    parts = [list(corpus.batches(plan, 3, rank=rank, world=3)) for rank in range(3)]
    assert [len(part) for part in parts] == [len(alone)] * 3
    for number, batch in enumerate(alone):
        together = [each for part in parts for each in stretches(part[number])]
        assert sorted(together) == sorted(stretches(batch))


def test_what_was_done_is_left_out(folder: Path) -> None:
    corpus, plan = PackedCorpus(folder, 32), BatchPlan(batch_size=5)
    whole = list(corpus.batches(plan, 2))
    rest = list(corpus.batches(plan, 2, start=2))
    assert len(rest) == len(whole) - 2 == corpus.num_batches(plan, 2) - 2
    assert all(
        torch.equal(one.tokens, other.tokens) for one, other in zip(whole[2:], rest, strict=True)
    )


def test_bytes_are_those_of_known_characters(tmp_path: Path) -> None:
    codec = PieceCodec.learn(["aab", "aa"], PieceSettings(unit="characters"))
    write_documents(tmp_path, ["ab", "é"], codec, digest="")
    header = PackedCorpus(tmp_path, 4).header
    assert (header.unknown, header.num_bytes) == (2, 3)


def test_a_damaged_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="cannot be read"):
        PackedCorpus(tmp_path, 4)
    (tmp_path / "header.json").write_text("{}")
    with pytest.raises(CorpusError, match="expected prepared documents"):
        PackedCorpus(tmp_path, 4)
