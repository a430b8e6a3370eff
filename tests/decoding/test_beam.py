"""Beam search against a list of everything, and against the same in plain Python."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book import set_seed
from attention_book.decoding import Hypothesis, beam_search, beam_trace, greedy_search
from attention_book.models import Seq2Seq, Seq2SeqConfig, Transformer, TransformerConfig
from attention_book.text import BOS, EOS

seeds = pytest.mark.parametrize("seed", range(4))


def assert_same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [(h.ids, h.finished) for h in found] == [(h.ids, h.finished) for h in expected]
    for hypothesis, wanted in zip(found, expected, strict=True):
        assert hypothesis.log_prob == pytest.approx(wanted.log_prob, abs=1e-6)
        assert hypothesis.score == pytest.approx(wanted.score, abs=1e-6)


@seeds
@pytest.mark.parametrize(("vocabulary", "max_tokens"), [(5, 6), (6, 4), (7, 4), (11, 2)])
@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0, 3.0])
def test_with_enough_beams_it_is_a_search_of_everything(
    table_model, sources, seed, vocabulary, max_tokens, length_penalty
) -> None:
    model = table_model(seed, vocabulary=vocabulary)
    source, mask = sources[0][:2], sources[1][:2]
    found = beam_search(
        model, source, mask,
        width=2000, num_best=5, length_penalty=length_penalty, max_tokens=max_tokens,
    )  # fmt: skip
    for row, hypotheses in enumerate(found):
        everything = model.searched(
            source[row][mask[row]],
            width=math.inf, max_tokens=max_tokens, length_penalty=length_penalty,
        )  # fmt: skip
        assert math.fsum(math.exp(h.log_prob) for h in everything) <= 1
        assert_same(hypotheses, everything[:5])


@pytest.mark.differential
@given(
    seed=st.integers(0, 999),
    width=st.integers(1, 6),
    max_tokens=st.integers(1, 8),
    length_penalty=st.sampled_from([0.0, 0.3, 1.0, 2.0]),
    data=st.data(),
)
def test_narrow_beams_are_pruned_as_by_hand(
    table_model, sources, seed, width, max_tokens, length_penalty, data
) -> None:
    model = table_model(seed)
    num_best = data.draw(st.integers(1, width))
    found = beam_search(
        model, *sources,
        width=width, num_best=num_best, length_penalty=length_penalty, max_tokens=max_tokens,
    )  # fmt: skip
    for source, mask, hypotheses in zip(*sources, found, strict=True):
        expected = model.searched(
            source[mask], width=width, max_tokens=max_tokens, length_penalty=length_penalty
        )
        assert_same(hypotheses, expected[:num_best])


@seeds
@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_one_beam_is_greedy_search(table_model, sources, seed, length_penalty) -> None:
    model = table_model(seed)
    beams = beam_search(model, *sources, width=1, length_penalty=length_penalty, max_tokens=9)
    greedy = greedy_search(model, *sources, max_tokens=9)
    for [beam], hypothesis in zip(beams, greedy, strict=True):
        assert (beam.ids, beam.finished) == (hypothesis.ids, hypothesis.finished)
        assert beam.log_prob == pytest.approx(hypothesis.log_prob)


@seeds
def test_a_sentence_does_not_depend_on_its_company(table_model, sources, seed) -> None:
    model = table_model(seed)
    limit = torch.tensor([3, 9, 1, 4, 12, 5, 6])
    options = {"width": 4, "num_best": 3, "length_penalty": 0.6}
    together = beam_search(model, *sources, max_tokens=limit, **options)
    for row, (source, mask) in enumerate(zip(*sources, strict=True)):
        [alone] = beam_search(
            model, source[mask][None], mask[mask][None], max_tokens=int(limit[row]), **options
        )
        assert alone == together[row]
        assert all(hypothesis.num_tokens <= limit[row] for hypothesis in alone)


def test_a_longer_list_begins_with_the_shorter_one(table_model, sources) -> None:
    """Stopping early must not change what is found."""
    for length_penalty in (0.0, 0.6, 2.0):
        lists = [
            beam_search(
                table_model(1), *sources,
                width=5, num_best=n, length_penalty=length_penalty, max_tokens=9,
            )
            for n in (1, 2, 5)
        ]  # fmt: skip
        for one, two, five in zip(*lists, strict=True):
            assert one == five[:1]
            assert two == five[:2]


def test_a_settled_sentence_leaves_the_batch(table_model, sources) -> None:
    model = table_model(0)
    beam_search(model, *sources, width=3, max_tokens=50)
    assert model.rows_stepped < 3 * 50 * len(sources[0]) / 4


def test_no_more_sentences_than_there_are(table_model, sources) -> None:
    for hypotheses in beam_search(table_model(0), *sources, width=99, num_best=99, max_tokens=1):
        assert len(hypotheses) == 5  # seven tokens without <pad> and <bos>
        assert math.fsum(math.exp(h.log_prob) for h in hypotheses) < 1
    nothing = torch.zeros(0, 3, dtype=torch.long)
    assert beam_search(table_model(0), nothing, nothing > 0, width=3, max_tokens=5) == []


@pytest.mark.parametrize("attention", ["none", "bahdanau", "luong-general"])
def test_a_real_model_gives_its_own_likelihood(sources, attention) -> None:
    set_seed(2)
    model = Seq2Seq(
        Seq2SeqConfig(source_vocabulary=11, target_vocabulary=7, attention=attention, dropout=0.5)
    )
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    found = beam_search(model, *sources, width=4, num_best=4, max_tokens=6)
    assert model.training  # as it was
    model.eval()
    for source, mask, hypotheses in zip(*sources, found, strict=True):
        memory = model.encode(source[mask][None], mask[mask][None])
        assert len(hypotheses) == 4
        for hypothesis in hypotheses:
            written = [*hypothesis.ids, EOS][: hypothesis.num_tokens]
            logits = model.decode(torch.tensor([[BOS, *written[:-1]]]), memory)[0]
            places = torch.arange(len(written))
            expected = logits.log_softmax(dim=-1)[places, written].sum().item()
            assert hypothesis.log_prob == pytest.approx(expected, abs=1e-4)


# --- the state of a real model ---------------------------------------------------------------


def real_model(kind: str) -> Seq2Seq | Transformer:
    set_seed(2)
    sizes = {"source_vocabulary": 11, "target_vocabulary": 13}
    if kind == "transformer":
        return Transformer(TransformerConfig(**sizes, d_model=8, num_heads=2)).eval()
    return Seq2Seq(Seq2SeqConfig(**sizes, attention=kind)).eval()


KINDS = pytest.mark.parametrize("kind", ["transformer", "bahdanau", "none"])


@KINDS
@torch.no_grad()
def test_to_reorder_is_to_select_within_a_source(sources, kind) -> None:
    model, twice = real_model(kind), torch.arange(7).repeat_interleave(2)
    state = model.start(model.encode(*sources)).select(twice)
    for token in (torch.full((14,), BOS), torch.arange(14) % 9 + 4):
        _, state = model.step(token, state)
    rows = torch.tensor([2 * s + b for s, pick in enumerate([1, 0, 2] * 2 + [1])
                         for b in ([0, 1] if pick == 2 else [pick, pick])])  # fmt: skip
    token = torch.arange(14) % 7 + 5
    selected, reordered = state.select(rows), state.reorder(rows)
    for name in ("encoded", "sources") if kind == "transformer" else ("memory",):
        assert getattr(reordered, name) is getattr(state, name)
    assert reordered.batch_size == 14
    assert torch.equal(model.step(token, selected)[0], model.step(token, reordered)[0])


@KINDS
def test_the_source_is_picked_only_when_a_sentence_leaves(sources, kind, monkeypatch) -> None:
    model, picks = real_model(kind), []
    memory_type = type(model.encode(*sources))
    select = memory_type.select

    def counted(memory, rows):
        picks.append(len(rows))
        return select(memory, rows)

    monkeypatch.setattr(memory_type, "select", counted)
    limit = torch.tensor([20, 20, 20, 12, 12, 12, 12])
    with torch.no_grad():  # nothing ends by itself, so all leave at their limits
        model_readout = model.readout if kind == "transformer" else model.decoder.readout
        model_readout.bias = torch.nn.Parameter(torch.zeros(13))
        model_readout.bias[EOS] = -1e4
    beam_search(model, *sources, width=3, max_tokens=limit)
    # One beam becomes three; four sentences leave; behind the last nobody asks any more.
    assert picks == [21, 9]


# --- the tree --------------------------------------------------------------------------------


@seeds
def test_the_trace_is_the_search(table_model, sources, seed) -> None:
    model = table_model(seed)
    for source, mask in zip(*sources, strict=True):
        one = source[mask][None], mask[mask][None]
        options = {"width": 3, "length_penalty": 0.6, "max_tokens": 7}
        steps = beam_trace(model, *one, num_dropped=4, **options)
        [[best]] = beam_search(model, *one, **options)
        assert steps[-1].kept[0] == best
        beginnings = {(): False}
        for step in steps:
            assert len(step.kept) == 3
            ranked = [h.score for h in step.kept + step.dropped]
            assert ranked == sorted(ranked, reverse=True)
            for hypothesis in step.kept + step.dropped:
                parent = hypothesis.ids[:-1]
                assert parent in beginnings or hypothesis.ids in beginnings
            beginnings = {h.ids: h.finished for h in step.kept}
        assert all(len(step.dropped) == (2 if i == 0 else 4) for i, step in enumerate(steps))


def test_the_trace_keeps_what_the_search_by_hand_keeps(table_model, sources) -> None:
    model, source = table_model(5), sources[0][1][sources[1][1]]
    steps = beam_trace(model, source[None], source[None] > 0, width=3, max_tokens=6)
    for number, step in enumerate(steps, start=1):
        assert_same(list(step.kept), model.searched(source, width=3, max_tokens=number))
        assert step.dropped == ()


def test_wrong_input_is_one_clear_error(table_model, sources) -> None:
    model, (source, mask) = table_model(0), sources
    good = {"width": 3, "max_tokens": 5}
    for bad, message in [
        ({"width": 0}, "width: expected 1 or more, got 0"),
        ({"num_best": 0}, "num_best: expected 1 or more, got 0"),
        ({"num_best": 4}, "num_best: expected at most width=3, got 4"),
        ({"length_penalty": -0.5}, "length_penalty: expected a number from 0 to 10, got -0.5"),
        ({"length_penalty": math.nan}, "length_penalty: expected a number from 0 to 10, got nan"),
        ({"length_penalty": 11.0}, "length_penalty: expected a number from 0 to 10, got 11.0"),
        ({"max_tokens": 0}, "max_tokens: expected 1 or more, got 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            beam_search(model, source, mask, **(good | bad))
    with pytest.raises(ValueError, match="source: expected one sentence, got 7"):
        beam_trace(model, source, mask, **good)
    with pytest.raises(ValueError, match="num_dropped: expected 0 or more, got -1"):
        beam_trace(model, source[:1], mask[:1], num_dropped=-1, **good)
