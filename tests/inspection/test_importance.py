"""How much a word matters: each measure against the same thing done by hand."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from attention_book.inspection.importance import (
    gradient_times_input,
    hiding_effects,
    influence,
    rank_correlation,
    replacement_effects,
)
from attention_book.inspection.teacher_forced import target_log_probs
from attention_book.models import Seq2Seq, Seq2SeqConfig
from attention_book.text import Batch

SOURCE = torch.tensor([[4, 5, 6, 7, 3], [8, 9, 3, 0, 0]])
TARGET = torch.tensor([[5, 6, 7, 3], [8, 3, 0, 0]])
INPUT = torch.tensor([[2, 5, 6, 7], [2, 8, 0, 0]])


@pytest.fixture(params=["bahdanau", "luong-general"])
def model(request):
    torch.manual_seed(0)
    config = Seq2SeqConfig(
        source_vocabulary=11, target_vocabulary=13, attention=request.param, bidirectional=True
    )
    return Seq2Seq(config).double().eval()


@pytest.fixture
def batch():
    return Batch(SOURCE, SOURCE > 0, INPUT, TARGET, TARGET > 0)


def alone(batch, row):
    """One sentence without padding."""
    n, m = int(batch.source_mask[row].sum()), int(batch.target_mask[row].sum())
    return Batch(
        *(value[[row], : n if name.startswith("source") else m]
          for name, value in vars(batch).items())
    )  # fmt: skip


def replacing(batch, word):
    return torch.full((1, batch.source.numel()), word)


MEASURES = [
    hiding_effects,
    lambda model, batch: replacement_effects(model, batch, replacing(batch, 10)),
    gradient_times_input,
    influence,
]


def test_hiding_is_masking_one_key_at_one_step(model, batch):
    effects = hiding_effects(model, batch)
    for row in range(2):
        one = alone(batch, row)
        for t in range(one.target_input.shape[1]):
            for j in range(one.source.shape[1]):
                memory = model.encode(one.source, one.source_mask)
                state = model.start(memory)
                for token in one.target_input[:, :t].T:
                    _, state = model.step(token, state)
                mask = memory.mask.clone()
                mask[..., j] = False
                token, word = one.target_input[:, t], int(one.target_output[0, t])
                seen, _ = model.step(token, state)
                hidden, _ = model.step(token, replace(state, memory=replace(memory, mask=mask)))
                loss = seen.log_softmax(-1)[0, word] - hidden.log_softmax(-1)[0, word]
                torch.testing.assert_close(effects[row, t, j], loss)
    assert effects.abs().max() > 1e-4


def test_replacing_is_reading_another_sentence(model, batch):
    words = torch.stack([torch.arange(10) % 7 + 4, torch.arange(10) % 5 + 4])
    effects = replacement_effects(model, batch, words)
    before = target_log_probs(model, batch)
    for row, places in enumerate((5, 3)):
        for j in range(places):
            after = []
            for word in words[:, row * 5 + j]:
                source = batch.source.clone()
                source[row, j] = word
                after.append(target_log_probs(model, replace(batch, source=source))[row])
            expected = before[row] - torch.stack(after).mean(dim=0)
            torch.testing.assert_close(effects[row, :, j], expected)


def test_gradient_times_input_is_the_slope_of_shrinking_the_embedding(model, batch):
    effects, step = gradient_times_input(model, batch), 1e-6
    for row, j in ((0, 0), (0, 3), (1, 1)):
        shrunk = []
        for factor in (1 + step, 1 - step):

            def scale(module, arguments, output, factor=factor, row=row, j=j):
                scaled = output.clone()
                scaled[row, j] *= factor
                return scaled

            handle = model.encoder.embedding.register_forward_hook(scale)
            shrunk.append(target_log_probs(model, batch))
            handle.remove()
        slope = (shrunk[0] - shrunk[1])[row] / (2 * step)
        torch.testing.assert_close(effects[row, :, j], slope.detach(), atol=1e-7, rtol=1e-5)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_sentence_is_measured_alike_alone_and_in_company(model, batch, measure):
    together = measure(model, batch)
    for row in range(2):
        one = alone(batch, row)
        effects = measure(model, one)
        _, m, n = effects.shape
        torch.testing.assert_close(together[[row], :m, :n], effects)
    # Padding matters to nobody.
    assert together.shape == (2, 4, 5)
    assert (together[1, 2:] == 0).all()
    assert (together[1, :, 3:] == 0).all()
    assert not together.requires_grad


def test_nothing_stays_behind(model, batch):
    gradient_times_input(model, batch)
    assert not model.encoder.embedding._forward_hooks
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_gradient_is_taken_even_where_gradients_are_off(model, batch):
    expected = gradient_times_input(model, batch)
    with torch.no_grad():
        torch.testing.assert_close(gradient_times_input(model, batch), expected)


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-1, 1, width=32)), min_size=2, max_size=9))
def test_rank_correlation_is_spearmans(pairs):
    first, second = (torch.tensor(side, dtype=torch.float64) for side in zip(*pairs, strict=True))
    if first.unique().numel() == 1 or second.unique().numel() == 1:
        assert rank_correlation(first, second) != rank_correlation(first, second)  # NaN
    else:
        expected = spearmanr(first.numpy(), second.numpy()).statistic
        assert rank_correlation(first, second) == pytest.approx(expected)


def test_lists_of_different_length_are_refused():
    with pytest.raises(ValueError, match="second: expected a list as long as first"):
        rank_correlation(torch.zeros(2), torch.zeros(3))


@pytest.mark.parametrize("measure", [*MEASURES, target_log_probs])
def test_dropout_adds_no_noise_and_the_mode_is_left_alone(model, batch, measure):
    expected = measure(model, batch)
    model.train()
    torch.testing.assert_close(measure(model, batch), expected)
    assert all(module.training for module in model.modules())


def test_influence_is_the_share_of_the_gradients_norm(model, batch):
    """Every source word stands once, so the gradients can be read off the table of embeddings."""
    shares, table = influence(model, batch), model.encoder.embedding.weight
    for row in range(len(SOURCE)):
        sentence = alone(batch, row)
        for t, word in enumerate(sentence.target_output[0]):
            logits = model(sentence.source, sentence.source_mask, sentence.target_input)
            (slope,) = torch.autograd.grad(logits[0, t].log_softmax(dim=-1)[word], table)
            norms = slope[sentence.source[0]].norm(dim=-1)
            torch.testing.assert_close(shares[row, t, : len(norms)], norms / norms.sum())
