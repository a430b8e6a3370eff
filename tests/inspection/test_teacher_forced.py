"""Reading along known translations: the same as one sentence at a time, and as the loss."""

import pytest
import torch

from attention_book.decoding import attention_of
from attention_book.inspection.teacher_forced import (
    gold_weights,
    target_log_probs,
    teacher_forced_weights,
)
from attention_book.metrics import hard_alignment, weight_on_gold
from attention_book.models import Seq2Seq, Seq2SeqConfig
from attention_book.text import ParallelData, SentencePair, Vocabulary, grammar_corpus
from attention_book.training import token_losses

PAIRS = grammar_corpus("en", "fr", num_train=23, num_test=0).train
ENGLISH = Vocabulary.build(pair.source for pair in PAIRS)
FRENCH = Vocabulary.build(pair.target for pair in PAIRS)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    config = Seq2SeqConfig(source_vocabulary=len(ENGLISH), target_vocabulary=len(FRENCH))
    return Seq2Seq(config).eval()


@pytest.fixture(scope="module")
def batch():
    return next(ParallelData(PAIRS, ENGLISH, FRENCH).batches(len(PAIRS)))


def test_many_at_a_time_are_one_at_a_time(model):
    many = teacher_forced_weights(model, PAIRS, ENGLISH, FRENCH, batch_size=5)
    assert len(many) == len(PAIRS)
    for pair, weights in zip(PAIRS, many, strict=True):
        alone = attention_of(model, pair.source, pair.target, ENGLISH, FRENCH)
        torch.testing.assert_close(weights, alone, atol=1e-5, rtol=0)


def test_weights_carry_no_gradient(model):
    weights = teacher_forced_weights(model, PAIRS[:2], ENGLISH, FRENCH)
    assert not weights[0].requires_grad


def test_gold_weights_lie_on_gold(batch):
    weights = gold_weights(batch, PAIRS)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:2]))
    for row, pair in enumerate(PAIRS):
        own = weights[row, : len(pair.target) + 1, : len(pair.source) + 1]
        assert weight_on_gold(own, pair.alignment) == pytest.approx(1)
        assert hard_alignment(own, threshold=1e-6, ends_with_eos=True) == pair.alignment
        assert own[-1, -1] == 1
        links = (own[:-1] > 0).sum(dim=-1)
        assert torch.equal(own[:-1].max(dim=-1).values, 1 / links)


def test_a_word_without_a_link_looks_at_every_real_token():
    pairs = [
        SentencePair(("a",), ("x", "y"), frozenset({(0, 0)})),
        SentencePair(("a", "b", "c"), ("x",), frozenset({(2, 0)})),
    ]
    words = Vocabulary.build(side for pair in pairs for side in (pair.source, pair.target))
    batch = next(ParallelData(pairs, words, words).batches(2))
    assert gold_weights(batch, pairs)[0, 1].tolist() == [0.5, 0.5, 0, 0]


def test_a_pair_without_alignment_is_refused(batch):
    bare = [SentencePair(pair.source, pair.target) for pair in PAIRS]
    with pytest.raises(ValueError, match="expected gold alignments, got none for pair 0"):
        gold_weights(batch, bare)


def test_another_number_of_pairs_is_refused(batch):
    with pytest.raises(ValueError, match="pairs: expected the batch's 23, got 22"):
        gold_weights(batch, PAIRS[1:])


def test_log_probs_are_the_losses_with_the_other_sign(model, batch):
    logits = model(batch.source, batch.source_mask, batch.target_input)
    losses = token_losses(logits, batch.target_output, batch.target_mask)
    log_probs = target_log_probs(model, batch)
    torch.testing.assert_close(log_probs, -losses)
    assert (log_probs[~batch.target_mask] == 0).all()
    assert (log_probs[batch.target_mask] < 0).all()
