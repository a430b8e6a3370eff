"""Several batches in one step are one batch of all their sentences, and cost one wait."""

import weakref

import pytest
import torch
from torch import nn

from attention_book.models import Transformer, TransformerConfig
from attention_book.training import BatchLoss, CheckpointError, descend, fit, read_checkpoint


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
