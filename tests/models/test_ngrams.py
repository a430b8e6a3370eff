"""Counted words: the formula by hand, and probabilities that are probabilities."""

from fractions import Fraction

import pytest
import torch

from attention_book.models import NgramModel, Writer

SENTENCES = [[4, 5, 6], [4, 5, 5, 6], [7, 5], [4, 6, 6]]
BOS, EOS = 2, 3
VOCABULARY = 11


def by_hand(history: tuple[int, ...], word: int) -> Fraction:
    """The same formula, written anew from the text, in exact numbers."""
    shorter = by_hand(history[1:], word) if history else Fraction(1, VOCABULARY)
    follow = [
        padded[i + len(history)]
        for sentence in SENTENCES
        for padded in [[BOS, *sentence, EOS]]
        for i in range(len(padded) - len(history))
        if tuple(padded[i : i + len(history)]) == history and i + len(history) > 0
    ]
    if not follow:
        return shorter
    return (follow.count(word) + len(set(follow)) * shorter) / (len(follow) + len(set(follow)))


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_it_is_the_formula(order: int) -> None:
    model = NgramModel.count(SENTENCES, order=order, vocabulary=VOCABULARY)
    for history in [(BOS,), (BOS, 4), (BOS, 4, 5), (4, 5, 5), (9,), (6, 9), (BOS, 4, 5, 5, 6)]:
        last = history[-(order - 1) :] if order > 1 else ()
        expected = [float(by_hand(last, word)) for word in range(VOCABULARY)]
        torch.testing.assert_close(model.probabilities(history), torch.tensor(expected))


@pytest.mark.parametrize("order", [1, 2, 5])
def test_every_word_is_possible_and_they_sum_to_one(order: int) -> None:
    model = NgramModel.count(SENTENCES, order=order, vocabulary=VOCABULARY)
    probabilities = model(torch.randint(2, VOCABULARY, (7, 13))).exp()
    assert probabilities.min() > 0
    torch.testing.assert_close(probabilities.sum(dim=-1), torch.ones(7, 13))


@pytest.mark.parametrize("order", [1, 3])
def test_step_by_step_equals_at_once_and_the_state_stays(order: int) -> None:
    model = NgramModel.count(SENTENCES, order=order, vocabulary=VOCABULARY)
    tokens = torch.tensor([[BOS, 4, 5, 6, 6], [BOS, 7, 9, 5, 4]])
    state, steps = model.start(2), []
    for token in tokens.T:
        before = state
        logits, state = model.step(token, before)
        assert torch.equal(model.step(token, before)[0], logits)
        steps.append(logits)
    torch.testing.assert_close(torch.stack(steps, dim=1), model(tokens))
    swapped, _ = model.step(tokens[:, 1], state.select(torch.tensor([1, 0])))
    torch.testing.assert_close(swapped[0], model(torch.tensor([[*tokens[1], 4]]))[0, -1])
    assert isinstance(model, Writer)


def test_asking_changes_nothing() -> None:
    model = NgramModel.count(SENTENCES, order=3, vocabulary=VOCABULARY)
    first = model.probabilities((4, 5)).clone()
    model(torch.randint(2, VOCABULARY, (5, 7)))
    assert torch.equal(model.probabilities((4, 5)), first)


@pytest.mark.usefixtures("unchecked")
def test_wrong_inputs_get_a_clear_error() -> None:
    with pytest.raises(ValueError, match="order: expected at least 1, got 0"):
        NgramModel.count(SENTENCES, order=0, vocabulary=11)
    with pytest.raises(ValueError, match="sentences: expected at least one, got none"):
        NgramModel.count([], order=2, vocabulary=11)
    model = NgramModel.count(SENTENCES, order=2, vocabulary=11)
    with pytest.raises(ValueError, match="batch_size: expected at least 1, got 0"):
        model.start(0)
    with pytest.raises(ValueError, match=r"one for each of 2 texts, got the shape \(1,\)"):
        model.step(torch.tensor([2]), model.start(2))


@pytest.mark.parametrize("word", [-1, 7])
def test_a_word_outside_the_vocabulary_is_refused(word: int) -> None:
    with pytest.raises(ValueError, match=f"sentences: expected numbers from 0 to 6, got {word}"):
        NgramModel.count([[4, word]], order=2, vocabulary=7)


def test_a_distribution_that_was_handed_out_can_be_changed() -> None:
    model = NgramModel.count([[4, 5]], order=2, vocabulary=7)
    before = model.probabilities((4,)).clone()
    model.probabilities((4,)).zero_()
    assert torch.equal(model.probabilities((4,)), before)
