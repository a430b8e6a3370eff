"""Bigrams with back-copying: the rule after triggers, the chain elsewhere."""

import pytest
import torch

from attention_book.course.datasets import BackcopyChain


def chain(seed=0):
    return BackcopyChain.draw(generator=torch.Generator().manual_seed(seed))


def test_rows_are_probabilities_with_the_triggers_share():
    follows = chain().follows
    torch.testing.assert_close(follows.sum(1), torch.ones(32))
    torch.testing.assert_close(follows[:, :4].sum(1), torch.full((32,), 0.15))


def test_after_a_trigger_comes_the_word_before_it():
    texts = chain().texts(200, 40)
    after = texts[:, 1:-1] < 4
    assert torch.equal(texts[:, 2:][after], texts[:, :-2][after])


def test_elsewhere_words_follow_the_chain():
    drawn = chain().texts(4000, 30)
    before, after = drawn[:, 1:-1].flatten(), drawn[:, 2:].flatten()
    counts = torch.zeros(32, 32).index_put_((before, after), torch.ones(len(before)), True)
    shares = counts[4:] / counts[4:].sum(1, keepdim=True)
    assert (shares - chain().follows[4:]).abs().max() < 0.04


def test_the_chain_itself_has_no_excess():
    mine = chain()
    for begin in (True, False):
        texts = mine.texts(50, 40, begin=begin)
        assert (texts[:, 0] == mine.bos).all() == begin
        logits = mine.follows.log()[texts.clamp(max=31)]
        logits = torch.cat((logits, torch.full_like(logits[..., :1], -30.0)), dim=-1)
        assert abs(mine.excess(logits, texts)) < 1e-5
        assert mine.excess(torch.zeros_like(logits), texts) > 0.1


def test_where_nothing_is_to_be_done():
    inputs = torch.tensor([[32, 3, 4, 31]])
    assert chain().free(inputs).tolist() == [[False, False, True, True]]
    assert chain().free(inputs, after=3).tolist() == [[False, False, False, True]]


def test_refused():
    with pytest.raises(ValueError, match="num_triggers: expected less than 4, got 4"):
        BackcopyChain.draw(4)
    with pytest.raises(ValueError, match="logits: expected one guess for each place"):
        chain().excess(torch.zeros(1, 3, 32), chain().texts(1, 40))
