"""The trainer against a loop written out by hand, and what it must never do."""

import itertools
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attention_book.training import evaluate_loss, fit
from attention_book.training.loop import _shuffle_seed


def weights(model: nn.Module) -> torch.Tensor:
    return nn.utils.parameters_to_vector(model.parameters()).detach().clone()


def history(reports) -> list[tuple]:
    """Everything in the reports but the clock."""
    return [
        (r.epoch, r.loss_per_token, r.num_tokens, r.gradient_norm, r.validation_loss)
        for r in reports
    ]


# --- the steps -------------------------------------------------------------------------------


@pytest.mark.parametrize("clip", [None, 1.0])
def test_a_long_gradient_is_followed_as_far_as_clip_allows(make_model, data, clip) -> None:
    model = make_model(dropout=0.0)
    with torch.no_grad():
        model.decoder.readout.weight.mul_(50)  # for a loss with steep walls
    before = nn.utils.parameters_to_vector(model.parameters()).detach().double()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    [report] = fit(model, data, optimizer, epochs=1, batch_size=len(data), clip=clip)
    step = nn.utils.parameters_to_vector(model.parameters()).detach().double() - before
    assert report.gradient_norm > 2
    assert step.norm().item() == pytest.approx(clip or report.gradient_norm, rel=1e-4)


@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_epochs_are_those_of_a_loop_by_hand(make_model, data, clip, smoothing) -> None:
    model = make_model().double()
    reports = fit(
        model, data, torch.optim.SGD(model.parameters(), lr=0.5),
        epochs=2, batch_size=5, seed=3, clip=clip, label_smoothing=smoothing,
    )  # fmt: skip
    found = list(reports)
    by_hand = make_model().double()
    for epoch, report in enumerate(found, start=1):
        total, norms = 0.0, []
        for batch in data.batches(5, seed=(3 << 20) + epoch):
            logits = by_hand(batch.source, batch.source_mask, batch.target_input)
            loss = F.cross_entropy(
                logits[batch.target_mask],
                batch.target_output[batch.target_mask],
                label_smoothing=smoothing,
            )
            gradients = torch.autograd.grad(loss, list(by_hand.parameters()))
            norms.append(math.sqrt(sum(g.square().sum().item() for g in gradients)))
            shorter = 1.0 if clip is None else min(1.0, clip / norms[-1])
            with torch.no_grad():
                for parameter, gradient in zip(by_hand.parameters(), gradients, strict=True):
                    parameter -= 0.5 * shorter * gradient
            total += loss.item() * batch.num_tokens
        assert report.epoch == epoch
        assert report.num_tokens == data.num_tokens
        assert report.loss_per_token == pytest.approx(total / data.num_tokens)
        assert report.gradient_norm == pytest.approx(max(norms))
        assert report.validation_loss is None
    torch.testing.assert_close(weights(model), weights(by_hand), rtol=1e-4, atol=1e-7)


def test_a_small_corpus_is_learned_by_heart(make_model, data, adam) -> None:
    model = make_model(d_hidden=32, d_embed=16, dropout=0.0)
    reports = list(fit(model, data, adam(model, lr=0.02), epochs=60, batch_size=8))
    assert reports[0].loss_per_token > 2
    assert reports[-1].loss_per_token < 0.1
    assert evaluate_loss(model, data) < 0.1


def test_padding_teaches_nothing(make_model, data, adam) -> None:
    """The embedding of <pad>, and the logit for it, get no gradient from the data."""
    model = make_model()
    before = model.decoder.embedding.weight[0].detach().clone()
    list(fit(model, data, adam(model), epochs=2, batch_size=7))
    assert torch.equal(model.decoder.embedding.weight[0], before)


def test_the_order_of_the_pairs_differs_between_epochs_and_seeds(make_model, data, adam) -> None:
    seen: list[tuple] = []

    def watch(_module, inputs, _output) -> None:
        seen.append(inputs[0].flatten().tolist())

    for seed in (3, 4):
        model = make_model()
        model.encoder.register_forward_hook(watch)
        list(fit(model, data, adam(model), epochs=3, batch_size=5, seed=seed))
    epochs = [seen[start : start + 5] for start in range(0, 30, 5)]
    assert all(a != b for a, b in itertools.combinations(epochs, 2))


def test_whatever_device_is_the_default_the_model_trains_where_it_is(
    make_model, data, adam
) -> None:
    """The kind: random numbers and tables made on the default device, which may be a GPU."""
    found = []
    for around in ("cpu", "meta"):
        model = make_model(dropout=0.1)
        optimizer = adam(model)
        torch.manual_seed(7)
        with torch.device(around):
            settings = {"epochs": 2, "batch_size": 5, "label_smoothing": 0.1, "clip": 1.0}
            reports = list(fit(model, data, optimizer, validation=data, **settings))
        found.append((history(reports), weights(model)))
    assert found[0][0] == found[1][0]
    assert torch.equal(found[0][1], found[1][1])


def test_seed_and_epoch_are_not_one_number() -> None:
    """The kind: two numbers mixed into one, of whose bits torch reads the lower 32.

    A sum takes (1, 2) for (2, 1), a shift takes seed 4097 for seed 1.
    """
    seeds = (*range(12), 42, 4095, 4096, 4097, 4138, 2**20, 2**20 + 1, 2**31, 2**32 - 1)
    epochs = (*range(1, 13), 100, 2**20 - 1, 2**20, 2**20 + 1)
    found = [_shuffle_seed(seed, epoch) for seed in seeds for epoch in epochs]
    assert len(set(found)) == len(found)
    assert 0 <= min(found) <= max(found) < 2**32


def test_an_epoch_of_one_seed_is_no_epoch_of_another(make_model, data, adam) -> None:
    seen: dict[tuple[int, int], list] = {}
    for seed in (1, 2, 3, 4097, 2**20 + 1):
        batches: list = []
        model = make_model()
        model.encoder.register_forward_hook(lambda *call: batches.append(call[1][0].tolist()))  # noqa: B023
        for report in fit(model, data, adam(model), epochs=2, batch_size=5, seed=seed):
            seen[seed, report.epoch], batches[:] = batches[:], []
    assert len({str(order) for order in seen.values()}) == len(seen)


# --- the generator ---------------------------------------------------------------------------


def test_nothing_happens_until_a_report_is_asked_for_and_a_break_stops_it(
    make_model, data, adam
) -> None:
    model = make_model()
    before = weights(model)
    reports = fit(model, data, adam(model), epochs=100, batch_size=5)
    assert torch.equal(weights(model), before)
    assert [report.epoch for report in itertools.islice(reports, 2)] == [1, 2]
    after = weights(model)
    reports.close()
    assert torch.equal(weights(model), after)
    assert not torch.equal(before, after)


def test_the_same_seeds_give_the_same_model_bit_by_bit(make_model, data, adam) -> None:
    runs = []
    for _ in range(2):
        model = make_model()
        reports = fit(model, data, adam(model), epochs=3, batch_size=5, validation=data)
        runs.append((history(reports), weights(model).tolist()))
    assert runs[0] == runs[1]


def test_the_model_trains_even_if_the_callers_loop_puts_it_to_rest(make_model, data, adam) -> None:
    model, other = make_model(), make_model()
    for _ in fit(model, data, adam(model), epochs=3, batch_size=5):
        assert model.training
        model.eval()
    other = make_model()
    list(fit(other, data, adam(other), epochs=3, batch_size=5))
    assert torch.equal(weights(model), weights(other))


def test_validation_changes_nothing_but_the_report(make_model, make_data, data, adam) -> None:
    model, other, held_out = make_model(), None, make_data(11, seed=8)
    losses = []
    for report in fit(model, data, adam(model), epochs=3, batch_size=5, validation=held_out):
        losses.append(report.validation_loss)
        assert report.validation_loss == pytest.approx(evaluate_loss(model, held_out))
    other = make_model()
    list(fit(other, data, adam(other), epochs=3, batch_size=5))
    assert torch.equal(weights(model), weights(other))
    assert len(set(losses)) == 3


# --- the schedule ----------------------------------------------------------------------------


def test_the_schedule_is_asked_for_every_step_and_scales_every_group(make_model, data) -> None:
    model = make_model(dropout=0.0)
    parts = [{"params": model.encoder.parameters(), "lr": 0.5},
             {"params": model.decoder.parameters(), "lr": 0.25}]  # fmt: skip
    optimizer, asked, rates = torch.optim.SGD(parts), [], []

    def schedule(step: int) -> float:
        asked.append(step)
        return 1 / step

    optimizer.register_step_pre_hook(
        lambda o, *_: rates.append([group["lr"] for group in o.param_groups])
    )
    for _ in fit(model, data, optimizer, epochs=2, batch_size=5, schedule=schedule):
        assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.25]
    assert asked == list(range(1, 11))
    assert rates == [[0.5 / step, 0.25 / step] for step in asked]


def test_the_callers_loop_may_change_the_learning_rate(make_model, data) -> None:
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in fit(model, data, optimizer, epochs=3, batch_size=5, schedule=lambda step: 2.0):
        before = weights(model)
        optimizer.param_groups[0]["lr"] = 0.0
    assert torch.equal(weights(model), before)
    assert optimizer.param_groups[0]["lr"] == 0.0


# --- what can go wrong -----------------------------------------------------------------------


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_before_it_spoils_anything(
    make_model, data, adam, monkeypatch, bad
) -> None:
    model = make_model()
    optimizer, decode, calls = adam(model), model.decode, []

    def decode_badly(target_input, memory):
        calls.append(weights(model))
        logits = decode(target_input, memory)
        return logits * bad if len(calls) == 8 else logits

    monkeypatch.setattr(model, "decode", decode_badly)
    reports = fit(model, data, optimizer, epochs=3, batch_size=5, schedule=lambda step: 0.5)
    with pytest.raises(
        ValueError, match=r"loss: expected a finite .* got nan in batch 3 of epoch 2"
    ):
        list(reports)
    assert torch.equal(weights(model), calls[-1])
    assert {state["step"].item() for state in optimizer.state.values()} == {7}
    assert optimizer.param_groups[0]["lr"] == 0.01


def test_a_gradient_that_is_not_finite_is_noticed_too(make_model, data, adam) -> None:
    model = make_model()
    before = weights(model)
    model.decoder.readout.weight.register_hook(lambda gradient: gradient * math.inf)
    with pytest.raises(ValueError, match=r"gradient: expected a finite number, got .* in batch 1"):
        list(fit(model, data, adam(model), epochs=1, batch_size=5))
    assert torch.equal(weights(model), before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": -1}, "epochs: expected 0 or more, got -1"),
        ({"batch_size": 0}, "batch_size: expected at least 1, got 0"),
        ({"clip": 0.0}, "clip: expected a positive number, got 0.0"),
        ({"clip": math.nan}, "clip: expected a positive number, got nan"),
        ({"label_smoothing": 2.0}, "label_smoothing: expected a probability"),
        ({"checkpoint_every": 0}, "checkpoint_every: expected at least 1, got 0"),
        ({"seed": -1}, r"seed: expected a number from 0 to 2\*\*32 - 1, got -1"),
    ],
)
def test_arguments_out_of_range_are_refused_and_nothing_changes(
    make_model, data, adam, options, message
) -> None:
    model = make_model()
    before = weights(model)
    with pytest.raises(ValueError, match=message):
        list(fit(model, data, adam(model), **{"epochs": 1, "batch_size": 5, **options}))
    assert torch.equal(weights(model), before)


def test_an_optimizer_of_another_model_is_refused(make_model, data, adam) -> None:
    with pytest.raises(ValueError, match="optimizer: expected parameters of the model, got none"):
        list(fit(make_model(), data, adam(make_model()), epochs=1, batch_size=5))


def test_no_epochs_are_no_reports(make_model, data, adam) -> None:
    model = make_model()
    assert list(fit(model, data, adam(model), epochs=0, batch_size=5)) == []
