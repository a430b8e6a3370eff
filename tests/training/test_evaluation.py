"""The loss on data: over all tokens at once, in evaluation mode, leaving no trace."""

import pytest
import torch
from torch.nn import functional as F

from attention_book.training import batch_loss, evaluate_loss


def test_it_is_the_mean_over_all_tokens_whatever_the_batches(make_model, data) -> None:
    model = make_model().double().eval()
    batch = next(data.batches(len(data)))
    logits = model(batch.source, batch.source_mask, batch.target_input)
    expected = F.cross_entropy(logits.transpose(1, 2), batch.target_output, ignore_index=0).item()
    model.train()
    for batch_size in (1, 3, 23, 1000):
        assert evaluate_loss(model, data, batch_size=batch_size) == pytest.approx(expected)


def test_the_loss_of_a_batch_has_dropout_when_the_model_trains(make_model, data) -> None:
    model, batch = make_model(), next(data.batches(5))
    assert batch_loss(model, batch) != batch_loss(model, batch)
    model.eval()
    assert batch_loss(model, batch) == batch_loss(model, batch)
    assert batch_loss(model, batch, label_smoothing=0.3) != batch_loss(model, batch)


def test_it_leaves_modes_gradients_and_random_numbers_as_they_were(make_model, data) -> None:
    model = make_model().train()
    model.encoder.eval()  # a frozen part
    modes = {name: part.training for name, part in model.named_modules()}
    state = torch.get_rng_state()
    evaluate_loss(model, data)
    assert {name: part.training for name, part in model.named_modules()} == modes
    assert torch.equal(torch.get_rng_state(), state)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert torch.is_grad_enabled()


def test_no_graph_is_recorded(make_model, data) -> None:
    model, recorded = make_model(), []
    model.decoder.readout.register_forward_hook(
        lambda module, inputs, logits: recorded.append(logits.requires_grad)
    )
    evaluate_loss(model, data, batch_size=5)
    assert recorded == [False] * 5


def test_modes_come_back_after_an_error_too(make_model, data, monkeypatch) -> None:
    model = make_model().train()
    monkeypatch.setattr(model, "decode", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        evaluate_loss(model, data)
    assert all(part.training for part in model.modules())


def test_a_batch_of_nothing_is_refused(make_model, data) -> None:
    with pytest.raises(ValueError, match="batch_size: expected 1 or more, got 0"):
        evaluate_loss(make_model(), data, batch_size=0)
