"""Steps go down, whatever makes one; a loop reports, shows and stops; Xavier's first weights."""

import io
import json
import math
import sys
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.models import Transformer, TransformerConfig
from attention_book.training import (
    BatchLoss,
    CheckpointError,
    EarlyStopping,
    EpochReport,
    Report,
    descend,
    fit,
    fit_classifier,
    progress,
    read_checkpoint,
    xavier_,
)


def test_the_reports_are_those_of_gradient_descent_by_hand() -> None:
    x, by_hand = nn.Parameter(torch.tensor([3.0, -4.0])), torch.tensor([3.0, -4.0])
    optimizer = torch.optim.SGD([x], lr=0.1)
    for step, report in enumerate(descend(lambda: (x**2).sum(), optimizer, steps=5), start=1):
        gradient = 2 * by_hand
        assert report.step == step
        assert report.loss == pytest.approx(by_hand.square().sum().item())
        assert report.gradient_norm == pytest.approx(gradient.norm().item())
        by_hand = by_hand - 0.1 * gradient
        torch.testing.assert_close(x.data, by_hand)
    assert step == 5


def test_the_norm_is_over_all_parameters_of_all_groups_that_have_a_gradient() -> None:
    a, b, unused = (nn.Parameter(torch.ones(())) for _ in range(3))
    optimizer = torch.optim.SGD([{"params": [a, unused]}, {"params": [b]}], lr=0.0)
    (report,) = descend(lambda: 3 * a + 4 * b, optimizer, steps=1)
    assert report == Report(step=1, loss=7.0, gradient_norm=5.0)


def test_gradients_do_not_pile_up() -> None:
    x = nn.Parameter(torch.ones(()))
    optimizer = torch.optim.SGD([x], lr=0.0)
    norms = [report.gradient_norm for report in descend(lambda: 2 * x, optimizer, steps=3)]
    assert norms == [2.0, 2.0, 2.0]


def test_nothing_happens_until_a_report_is_asked_for_and_a_break_stops_it() -> None:
    x = nn.Parameter(torch.tensor(8.0))
    reports = descend(lambda: x**2, torch.optim.SGD([x], lr=0.25), steps=100)
    assert x.item() == 8.0
    for report in reports:
        if report.loss < 20:
            break
    assert (report.step, x.item()) == (2, 2.0)


def test_the_loss_is_computed_anew_at_every_step() -> None:
    x, batches = nn.Parameter(torch.zeros(())), iter([1.0, 2.0, 3.0])

    def loss() -> Tensor:
        return (x - next(batches)) ** 2

    losses = [report.loss for report in descend(loss, torch.optim.SGD([x], lr=0.5), steps=3)]
    assert losses == [1.0, 1.0, 1.0]  # one step of this size lands on the target


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_stops_before_it_spoils_the_parameters(bad: float) -> None:
    x = nn.Parameter(torch.tensor(1.0))
    factors = iter([1.0, 1.0, bad])
    reports = descend(lambda: x * next(factors), torch.optim.SGD([x], lr=0.1), steps=5)
    with pytest.raises(ValueError, match=f"loss: expected a finite number, got {bad} at step 3"):
        list(reports)
    assert x.item() == pytest.approx(0.8)


@pytest.mark.usefixtures("unchecked")
def test_a_loss_with_several_numbers_is_named() -> None:
    x = nn.Parameter(torch.ones(3))
    reports = descend(lambda: x**2, torch.optim.SGD([x], lr=0.1), steps=1)
    with pytest.raises(ValueError, match=r"loss: .* got the shape \(3,\) at step 1"):
        next(reports)


@pytest.mark.usefixtures("unchecked")
def test_one_number_may_stand_in_brackets() -> None:
    x = nn.Parameter(torch.full((1,), 3.0))
    (report,) = descend(lambda: x**2, torch.optim.SGD([x], lr=0.1), steps=1)
    assert (report.loss, report.gradient_norm) == (9.0, 6.0)


def test_a_loss_that_reaches_no_parameter_is_named() -> None:
    x, y = nn.Parameter(torch.ones(())), nn.Parameter(torch.ones(()))
    optimizer = torch.optim.SGD([x], lr=0.1)
    with pytest.raises(ValueError, match=r"loss: .* got a constant at step 1"):
        next(descend(lambda: x.detach() ** 2, optimizer, steps=1))
    with pytest.raises(ValueError, match=r"loss: .* reaches none of them at step 1"):
        next(descend(lambda: y**2, optimizer, steps=1))
    assert x.item() == 1


@pytest.mark.parametrize("stop", [3, 2])
def test_a_schedule_sets_the_rate_of_each_step_and_puts_it_back(stop: int) -> None:
    x, by_hand = nn.Parameter(torch.tensor([3.0])), 3.0
    optimizer = torch.optim.SGD([x], lr=0.1)
    for report in descend(lambda: (x**2).sum(), optimizer, steps=3, schedule=lambda step: step / 4):
        by_hand -= 0.1 * report.step / 4 * 2 * by_hand
        torch.testing.assert_close(x.detach(), torch.tensor([by_hand]))
        if report.step == stop:
            break
    assert optimizer.param_groups[0]["lr"] == 0.1


def test_a_negative_number_of_steps_is_named() -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(()))], lr=0.1)
    assert list(descend(lambda: torch.ones(()), optimizer, steps=0)) == []
    with pytest.raises(ValueError, match="steps: expected 0 or more, got -1"):
        next(descend(lambda: torch.ones(()), optimizer, steps=-1))


def test_without_a_schedule_the_rates_are_the_callers():
    parameter = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    for _ in descend(lambda: parameter.square().sum(), optimizer, steps=3):
        optimizer.param_groups[0]["lr"] /= 2
    assert optimizer.param_groups[0]["lr"] == 0.5 / 2**3


class TinyTranslator(nn.Module):
    """Guesses each word from the one before and from the sum of the source; reads nothing back."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(16, 6)
        self.readout = nn.Linear(6, 16)

    def encode(self, source, source_mask):
        return (self.embedding(source) * source_mask[..., None]).sum(dim=1)

    def decode(self, target_input, memory):
        return self.readout(self.embedding(target_input) + memory[:, None])

    def start(self, memory):
        raise NotImplementedError

    step = start


def transformer() -> Transformer:
    torch.manual_seed(3)
    return Transformer(TransformerConfig(source_vocabulary=16, target_vocabulary=16, dropout=0.0))


def tiny_translator() -> TinyTranslator:
    torch.manual_seed(3)
    return TinyTranslator()


def vector(model: nn.Module) -> torch.Tensor:
    return nn.utils.parameters_to_vector(model.parameters()).detach()


# --- accumulation ----------------------------------------------------------------------------


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["seq2seq", "transformer", "tiny"])
def test_small_batches_in_one_step_are_one_large_batch(make_model, data, kind, smoothing) -> None:
    """Sentences have 2 to 8 words, so a mean of the batches' means would be another step."""
    create = {
        "seq2seq": lambda: make_model(dropout=0.0),
        "transformer": transformer,
        "tiny": tiny_translator,
    }[kind]
    found = {}
    for batch_size, accumulate in ((3, 8), (23, 1)):  # 8 batches, the last of 2 pairs
        model = create().double()
        reports = fit(
            model, data, torch.optim.SGD(model.parameters(), lr=0.3),
            epochs=3, batch_size=batch_size, accumulate=accumulate, label_smoothing=smoothing,
        )  # fmt: skip
        history = [(r.loss_per_token, r.gradient_norm, float(r.num_tokens)) for r in reports]
        found[accumulate] = vector(model), torch.tensor(history, dtype=torch.float64)
    for one, many in zip(found[1], found[8], strict=True):
        torch.testing.assert_close(many, one, rtol=0, atol=1e-10)


def test_the_last_step_of_an_epoch_takes_what_is_left(data) -> None:
    model, asked = tiny_translator(), []

    def schedule(step: int) -> float:
        asked.append(step)
        return 1.0

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    reports = list(
        fit(model, data, optimizer, epochs=2, batch_size=5, accumulate=2, schedule=schedule)
    )
    assert asked == [1, 2, 3, 4, 5, 6]  # 5 batches: two, two, and one
    assert [report.num_tokens for report in reports] == [data.num_tokens] * 2


def test_where_a_loss_is_not_finite_all_batches_of_the_step_are_named(data, monkeypatch) -> None:
    model, calls = tiny_translator(), []
    decode = model.decode

    def decode_badly(target_input, memory):
        calls.append(vector(model).clone())
        return decode(target_input, memory) * (torch.nan if len(calls) == 4 else 1.0)

    monkeypatch.setattr(model, "decode", decode_badly)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(ValueError, match=r"loss: .* got nan in batches 3 to 4 of epoch 1"):
        list(fit(model, data, optimizer, epochs=1, batch_size=5, accumulate=2))
    assert torch.equal(vector(model), calls[-1])


def test_a_loss_counts_as_it_says_or_once() -> None:
    x = nn.Parameter(torch.tensor(2.0, dtype=torch.float64))
    targets = iter([1.0, 5.0, 1.0, 5.0])
    optimizer = torch.optim.SGD([x], lr=0.0)

    def loss():
        return (x - next(targets)) ** 2

    def counted():
        target = next(targets)
        return BatchLoss((x - target) ** 2, count=3 if target == 1.0 else 1)

    (plain,) = descend(loss, optimizer, steps=1, accumulate=2)
    (weighed,) = descend(counted, optimizer, steps=1, accumulate=2)
    assert (plain.loss, plain.gradient_norm) == (5.0, 2.0)  # (1 + 9) / 2 and |2 - 6| / 2
    assert (weighed.loss, weighed.gradient_norm) == (3.0, 0.0)  # (3 * 1 + 9) / 4, (3 * 2 - 6) / 4


@pytest.mark.parametrize("order", [(0, 4), (4, 0), (0, 0)])
def test_a_batch_of_nothing_counts_for_nothing(order) -> None:
    x = nn.Parameter(torch.tensor(3.0))
    counts = iter(order)

    def loss():
        count = next(counts)
        return BatchLoss(x**2 if count else 0 * x, torch.tensor(count))

    (report,) = descend(loss, torch.optim.SGD([x], lr=0.0), steps=1, accumulate=2)
    assert (report.loss, report.gradient_norm) == ((9.0, 6.0) if any(order) else (0.0, 0.0))


def test_only_one_batch_is_in_memory_at_a_time() -> None:
    x, alive = nn.Parameter(torch.ones(())), []

    def loss():
        assert all(hidden() is None for hidden in alive)
        hidden = x * 2
        alive.append(weakref.ref(hidden))
        return hidden**2  # keeps it for the backward pass

    list(descend(loss, torch.optim.SGD([x], lr=0.1), steps=2, accumulate=3))
    assert len(alive) == 6


@pytest.mark.parametrize("number", [0, -1])
def test_no_batch_makes_no_step(data, number) -> None:
    model = tiny_translator()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    message = f"accumulate: expected at least 1, got {number}"
    with pytest.raises(ValueError, match=message):
        next(fit(model, data, optimizer, epochs=1, batch_size=5, accumulate=number))
    with pytest.raises(ValueError, match=message):
        next(descend(lambda: vector(model).sum(), optimizer, steps=1, accumulate=number))


# --- reads from the device -------------------------------------------------------------------


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("clip", [None, 1.0])
def test_a_step_reads_from_the_device_once(clip, accumulate, reads_of) -> None:
    layer, x = nn.Linear(5, 3), torch.rand(7, 5)
    optimizer = torch.optim.AdamW(layer.parameters(), fused=True)
    steps = descend(
        lambda: BatchLoss(layer(x).square().mean(), torch.ones(())),
        optimizer, steps=4, clip=clip, accumulate=accumulate,
    )  # fmt: skip
    assert reads_of(lambda: list(steps)) == 4


def test_the_counter_counts(reads_of) -> None:
    x = torch.ones(2)
    assert reads_of(lambda: bool(x[0]) and x.sum().item() and torch.equal(x, x)) == 3
    assert reads_of(x.tolist) == 1
    assert reads_of(lambda: x.sum() * 2) == 0


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("kind", ["tiny", "transformer", "seq2seq"])
def test_an_epoch_reads_from_the_device_once_a_step(
    make_model, data, monkeypatch, kind, accumulate, reads_of
) -> None:
    """Of loop, loss and model. To make batches, lists are shuffled: that is done before."""
    model = {"tiny": tiny_translator, "transformer": transformer, "seq2seq": make_model}[kind]()
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    options = {"batch_size": 5, "accumulate": accumulate, "label_smoothing": 0.1}
    batches = list(data.batches(5, seed=1))
    monkeypatch.setattr(data, "batches", lambda *_, **__: iter(batches))
    steps = fit(model, data, optimizer, epochs=1, **options)
    assert reads_of(lambda: list(steps)) == (5 if accumulate == 1 else 3)


# --- mixed precision -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["tiny", "transformer", "seq2seq"])
def test_in_half_the_precision_the_loss_falls_about_as_far(make_model, data, kind) -> None:
    create = {
        "tiny": tiny_translator,
        "transformer": transformer,
        "seq2seq": lambda: make_model(dropout=0.0),
    }[kind]
    curves = {}
    for dtype in (None, torch.bfloat16):
        model = create()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        reports = list(fit(model, data, optimizer, epochs=6, batch_size=5, autocast=dtype))
        curves[dtype] = torch.tensor([report.loss_per_token for report in reports])
        assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
        moments = {v.dtype for state in optimizer.state.values() for v in state.values()}
        assert moments == {torch.float32}
    assert curves[torch.bfloat16][-1] < 0.9 * curves[torch.bfloat16][0]
    assert not torch.equal(curves[torch.bfloat16], curves[None])
    # bfloat16 has 8 bits: a relative error of 2^-8 in each number, and sums average it.
    torch.testing.assert_close(curves[torch.bfloat16], curves[None], rtol=0.02, atol=0)


def test_float16_has_its_losses_scaled_and_leaves_out_a_step_that_overflows() -> None:
    x = nn.Parameter(torch.ones(4))
    optimizer = torch.optim.SGD([x], lr=0.1)
    factors = iter([1e35, 1.0, 1.0])  # times 2^16, the scaler's first, it is beyond float32
    steps = descend(lambda: (x * next(factors)).sum(), optimizer, steps=3, autocast=torch.float16)
    assert next(steps).gradient_norm == torch.inf
    assert torch.equal(x.detach(), torch.ones(4))
    assert [report.gradient_norm for report in steps] == [2.0, 2.0]
    torch.testing.assert_close(x.detach(), torch.full((4,), 0.8))


def test_a_float16_training_that_was_cut_off_goes_on_with_its_scale(data, tmp_path) -> None:
    def run(epochs: int, checkpoint=None) -> torch.Tensor:
        model = tiny_translator()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        list(
            fit(model, data, optimizer, epochs=epochs, batch_size=5, autocast=torch.float16,
                checkpoint=checkpoint)
        )  # fmt: skip
        return vector(model)

    path = tmp_path / "cut.safetensors"
    run(2, path)
    assert read_checkpoint(path).extra["scaler"]["_growth_tracker"] > 0
    whole = tmp_path / "whole.safetensors"
    assert torch.equal(run(4, path), run(4, whole))
    # The scale grows after 2,000 good steps: those before the cut count, too.
    cut_off, in_one_go = (read_checkpoint(each).extra["scaler"] for each in (path, whole))
    assert cut_off == in_one_go


def test_only_half_types_are_cast_to() -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(()))], lr=0.1)
    with pytest.raises(ValueError, match=r"autocast: expected torch.bfloat16, .* got torch.int8"):
        next(descend(lambda: torch.ones(()), optimizer, steps=1, autocast=torch.int8))


@pytest.mark.parametrize("options", [{"autocast": torch.bfloat16}, {"accumulate": 2}])
def test_a_training_goes_on_with_its_own_options_only(data, tmp_path, options) -> None:
    def start(epochs: int, **options):
        model = tiny_translator()
        optimizer = torch.optim.Adam(model.parameters())
        return fit(model, data, optimizer, epochs=epochs, batch_size=5,
                   checkpoint=tmp_path / "cut.safetensors", **options)  # fmt: skip

    list(start(1, **options))
    [name] = options
    with pytest.raises(CheckpointError, match=f"{name}: expected"):
        list(start(2))
    assert len(list(start(2, **options))) == 2


losses = st.lists(st.integers(0, 9).map(float), min_size=1, max_size=20)


@given(losses, st.integers(1, 5))
def test_it_stops_when_the_first_best_is_patience_epochs_ago(values, patience) -> None:
    stopping = EarlyStopping(patience=patience)
    for epoch, value in enumerate(values, start=1):
        stop = stopping.update(value)
        best = min(values[:epoch])
        first = values.index(best) + 1
        assert (stopping.best, stopping.best_epoch, stopping.epoch) == (best, first, epoch)
        assert stop == (epoch - first >= patience)


def test_small_steps_count_once_they_add_up() -> None:
    stopping = EarlyStopping(patience=3, min_improvement=0.25)
    assert [stopping.update(loss) for loss in (1.0, 0.875, 0.75, 0.625)] == [False] * 4
    assert (stopping.best, stopping.best_epoch) == (0.625, 4)
    assert [stopping.update(loss) for loss in (0.5, 0.5, 0.5)] == [False, False, True]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_value_that_is_no_number_is_refused_and_not_counted(bad) -> None:
    stopping = EarlyStopping(patience=1)
    with pytest.raises(ValueError, match=f"value: expected a finite number, got {bad}"):
        stopping.update(bad)
    assert stopping.epoch == 0
    assert not stopping.update(1.0)


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="patience: expected 1 or more, got 0"):
        EarlyStopping(patience=0)
    for bad in (-0.1, math.nan):
        with pytest.raises(ValueError, match="min_improvement: expected 0 or more, got"):
            EarlyStopping(patience=1, min_improvement=bad)


def reports() -> Iterator[EpochReport]:
    for epoch in (1, 2, 3):
        yield EpochReport(
            epoch=epoch, loss_per_token=4.5 / epoch, num_tokens=8, gradient_norm=1.0, seconds=1.0
        )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    """A function that opens a terminal; pytest puts its own back between fixture and test."""
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    monkeypatch.delenv("ATTENTION_BOOK_BUILD", raising=False)

    def open_terminal() -> Terminal:
        opened = Terminal()
        monkeypatch.setattr(sys, "stderr", opened)
        return opened

    return open_terminal


def test_a_terminal_gets_a_bar_with_the_loss(terminal) -> None:
    stderr = terminal()
    assert list(progress(reports(), total=3, description="bahdanau")) == list(reports())
    assert "bahdanau: 100%" in stderr.getvalue()
    assert "loss=1.500" in stderr.getvalue()


@pytest.mark.parametrize("of_the_book", [True, False])
def test_neither_the_books_build_nor_a_file_gets_one(terminal, monkeypatch, of_the_book) -> None:
    stderr = terminal()
    if of_the_book:
        monkeypatch.setenv("ATTENTION_BOOK_BUILD", "1")
    else:
        monkeypatch.setattr(stderr, "isatty", lambda: False)
    assert list(progress(reports(), total=3)) == list(reports())
    assert stderr.getvalue() == ""


def test_a_notebook_gets_a_bar_among_its_outputs(terminal, monkeypatch, capsys) -> None:
    stderr = terminal()
    shell = SimpleNamespace(kernel="a kernel")
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert list(progress(reports(), total=3)) == list(reports())
    assert "loss=1.500" in capsys.readouterr().out
    assert stderr.getvalue() == ""


def test_nothing_is_asked_for_in_advance() -> None:
    asked = []

    def ask() -> Iterator[EpochReport]:
        for report in reports():
            asked.append(report.epoch)
            yield report

    bar = progress(ask(), total=3)
    assert asked == []
    next(bar)
    assert asked == [1]
    bar.close()


def test_a_report_comes_back_from_json_bit_by_bit() -> None:
    report = EpochReport(
        epoch=3, loss_per_token=0.1 + 0.2, num_tokens=77, gradient_norm=1 / 3, seconds=0.7,
        validation_loss=2 / 3,
    )  # fmt: skip
    assert EpochReport(**json.loads(json.dumps(report.to_dict()))) == report
    assert report.tokens_per_second == 77 / 0.7


class Everything(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(13, 31)
        self.gru = nn.GRU(31, 29, num_layers=2, bidirectional=True)
        self.inner = nn.Sequential(nn.GRUCell(58, 23), nn.Linear(23, 37), nn.LayerNorm(37))


def test_matrices_fill_their_range_and_the_rest_is_left_alone() -> None:
    model = Everything()
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    xavier_(model)
    drawn = 0
    for name, value in model.named_parameters():
        if value.ndim < 2 or name.startswith("embedding"):
            assert torch.equal(value, before[name]), name
            continue
        drawn += 1
        bound = math.sqrt(6 / sum(value.shape))
        assert value.abs().max() <= bound, name
        assert value.abs().max() > 0.97 * bound, name
        assert value.var().item() == pytest.approx(bound**2 / 3, rel=0.15), name
        assert value.requires_grad
    assert drawn == 8 + 2 + 1


def test_the_model_itself_comes_back_and_the_seed_decides() -> None:
    model = nn.Linear(3, 5)
    torch.manual_seed(3)
    assert xavier_(model) is model
    first = model.weight.detach().clone()
    torch.manual_seed(3)
    assert torch.equal(xavier_(model).weight, first)
    assert not torch.equal(xavier_(model).weight, first)


@pytest.fixture
def examples():
    torch.manual_seed(3)
    labels = torch.arange(60) % 3
    return torch.eye(3)[labels] + 0.1 * torch.randn(60, 3), labels


def test_it_learns(examples):
    torch.manual_seed(0)
    model = nn.Linear(3, 3)
    losses = [
        report.loss for report in fit_classifier(model, *examples, steps=200, learning_rate=0.05)
    ]
    assert (model(examples[0]).argmax(dim=-1) == examples[1]).all()
    assert losses[-1] < losses[0]


def test_the_loss_is_the_smoothed_cross_entropy_of_a_batch_drawn_with_replacement(examples):
    torch.manual_seed(0)
    model, (inputs, labels) = nn.Linear(3, 3), examples
    torch.manual_seed(5)
    rows = torch.randint(60, (7,))
    expected = F.cross_entropy(model(inputs[rows]), labels[rows], label_smoothing=0.3).item()
    torch.manual_seed(5)
    steps = fit_classifier(model, inputs, labels, steps=1, batch_size=7, label_smoothing=0.3)
    assert next(steps).loss == pytest.approx(expected)


def test_noise_is_added_to_the_inputs_of_every_step_and_to_nothing_else(examples):
    model, (inputs, labels), seen = nn.Linear(3, 3), examples, []
    kept = inputs.clone()
    model.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    for _ in fit_classifier(model, inputs, labels, steps=2, batch_size=500, noise=0.3):
        pass
    assert torch.equal(inputs, kept)
    for batch in seen:
        # The inputs are 0.1 from a corner of the unit cube: with the noise about 0.32.
        assert (batch - batch.round().clamp(0, 1)).std().item() == pytest.approx(0.28, abs=0.06)
    assert not torch.equal(seen[0], seen[1])


def test_every_step_goes_at_the_rate_of_the_schedule(examples, monkeypatch):
    rates = []

    class Watched(torch.optim.AdamW):
        def step(self, closure=None):
            rates.append(self.param_groups[0]["lr"])
            return super().step(closure)

    monkeypatch.setattr(torch.optim, "AdamW", Watched)
    for _ in fit_classifier(nn.Linear(3, 3), *examples, steps=5, warmup=2, learning_rate=1.0):
        pass
    assert rates == pytest.approx([1 / 2, 1, 3 / 4, 1 / 2, 1 / 4])


def test_nothing_happens_until_it_is_iterated_and_then_the_model_trains(examples):
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout()).eval()
    steps = fit_classifier(model, *examples, steps=2)
    assert not model.training
    next(steps)
    assert model.training


@pytest.mark.usefixtures("unchecked")
def test_labels_that_do_not_fit_are_named(examples):
    with pytest.raises(ValueError, match="labels: expected one for each of 60 inputs, got 59"):
        next(fit_classifier(nn.Linear(3, 3), examples[0], examples[1][1:], steps=1))
