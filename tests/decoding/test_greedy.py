"""Greedy search against the same in plain Python, and against the model's own likelihood."""

import pytest
import torch

from attention_book import set_seed
from attention_book.decoding import greedy_search
from attention_book.decoding.prediction import next_log_probs
from attention_book.models import Seq2Seq, Seq2SeqConfig
from attention_book.text import BOS, EOS, PAD, UNK, SpecialIds

seeds = pytest.mark.parametrize("seed", range(5))


@seeds
@pytest.mark.parametrize("max_tokens", [1, 2, 7, 20])
def test_it_is_what_one_would_do_by_hand(table_model, sources, seed, max_tokens) -> None:
    model = table_model(seed)
    found = greedy_search(model, *sources, max_tokens=max_tokens)
    assert len(found) == len(sources[0])
    for source, mask, hypothesis in zip(*sources, found, strict=True):
        [expected] = model.searched(source[mask], width=1, max_tokens=max_tokens)
        assert hypothesis.ids == expected.ids
        assert hypothesis.finished == expected.finished
        assert hypothesis.log_prob == pytest.approx(expected.log_prob)
        assert hypothesis.score == hypothesis.log_prob
    nothing = torch.zeros(0, 3, dtype=torch.long)
    assert greedy_search(model, nothing, nothing > 0, max_tokens=5) == []


def test_both_kinds_of_ending_are_among_the_cases(table_model, sources) -> None:
    found = [h for s in range(5) for h in greedy_search(table_model(s), *sources, max_tokens=7)]
    assert {h.finished for h in found} == {True, False}
    assert any(UNK in h.ids for h in found)
    assert all(h.num_tokens <= 7 and {PAD, BOS, EOS}.isdisjoint(h.ids) for h in found)
    assert all(h.num_tokens == 7 for h in found if not h.finished)


def test_padding_and_bos_are_never_written_however_probable(table_model, sources) -> None:
    model = table_model(0)
    model.table[..., [PAD, BOS]] += 50
    for hypothesis in greedy_search(model, *sources, max_tokens=7):
        assert {PAD, BOS}.isdisjoint(hypothesis.ids)
        assert hypothesis.log_prob < -40  # the truth: the model finds it improbable


@seeds
def test_a_sentence_does_not_depend_on_its_company(table_model, sources, seed) -> None:
    model = table_model(seed)
    limit = torch.tensor([3, 9, 1, 4, 12, 5, 6])
    together = greedy_search(model, *sources, max_tokens=limit)
    for row, (source, mask) in enumerate(zip(*sources, strict=True)):
        alone = greedy_search(
            model, source[mask][None], mask[mask][None], max_tokens=int(limit[row])
        )
        assert alone == [together[row]]
        assert together[row].num_tokens <= limit[row]


@seeds
def test_any_of_several_ends_ends_a_sentence(table_model, sources, seed) -> None:
    model = table_model(seed)
    model.eos = 99  # none: as long as they may get
    whole = greedy_search(model, *sources, max_tokens=9)
    model.ends = (6, EOS)
    for found, endless in zip(greedy_search(model, *sources, max_tokens=9), whole, strict=True):
        ended = [place for place, word in enumerate(endless.ids) if word in (6, EOS)]
        assert found.ids == endless.ids[: ended[0] if ended else None]
        assert found.finished == bool(ended)


def test_no_step_is_taken_for_a_finished_sentence(table_model, sources) -> None:
    model = table_model(0)
    found = greedy_search(model, *sources, max_tokens=20)
    assert model.rows_stepped == sum(hypothesis.num_tokens for hypothesis in found)


@pytest.mark.parametrize("attention", ["none", "bahdanau", "luong-general"])
def test_the_log_probability_is_the_one_of_training(sources, attention) -> None:
    set_seed(2)
    model = Seq2Seq(
        Seq2SeqConfig(source_vocabulary=11, target_vocabulary=7, attention=attention, dropout=0.5)
    )
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    found = greedy_search(model, *sources, max_tokens=torch.tensor([1, 9, 2, 9, 2, 9, 1]))
    assert model.training  # as it was
    model.eval()
    assert len({h.num_tokens for h in found}) > 1
    for source, mask, hypothesis in zip(*sources, found, strict=True):
        memory = model.encode(source[mask][None], mask[mask][None])
        written = [*hypothesis.ids, EOS][: hypothesis.num_tokens]
        target_input = torch.tensor([[BOS, *written[:-1]]])
        log_probs = model.decode(target_input, memory)[0].log_softmax(dim=-1)
        assert next_log_probs(log_probs, SpecialIds()).argmax(dim=-1).tolist() == written
        expected = log_probs[torch.arange(len(written)), written].sum().item()
        assert hypothesis.log_prob == pytest.approx(expected, abs=1e-4)


def test_wrong_input_is_one_clear_error(table_model, sources) -> None:
    model = table_model(0)
    with pytest.raises(ValueError, match="max_tokens: expected 1 or more, got 0"):
        greedy_search(model, *sources, max_tokens=0)
    model.table[:] = torch.nan
    with pytest.raises(ValueError, match="has the training diverged"):
        greedy_search(model, *sources, max_tokens=5)
