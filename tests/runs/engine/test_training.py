"""Steps: how many there are, how large, and that batches make them as whole ones do."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from attention_book.runs import BatchPlan, RunFolder, start
from attention_book.runs.engine.material import open_material, prepare_material
from attention_book.runs.engine.training import Training, count_steps
from attention_book.runs.processes import Ranks
from attention_book.training import inverse_square_root_schedule


@pytest.fixture
def material(tmp_path, make):
    folder = RunFolder(tmp_path / "run")
    prepare_material(folder, make(), print)
    return open_material(folder)


def test_epochs_and_steps_are_counted(tmp_path, make, material) -> None:
    settings = make(steps=None, epochs=3, accumulate=2)
    plan = BatchPlan(batch_size=5)
    batches = [material.train.num_batches(plan, epoch) for epoch in (1, 2, 3)]
    expected = sum(-(-number // 2) for number in batches)
    assert count_steps(settings.training, plan, material.train) == expected
    reports = list(start(settings, tmp_path / "epochs"))
    assert [report.step for report in reports] == list(range(1, expected + 1))
    assert {report.num_steps for report in reports} == {expected}
    assert sum(report.num_tokens for report in reports) == 3 * material.train.num_tokens
    ends = [a.epoch for a, b in pairwise(reports) if a.epoch != b.epoch]
    assert ends == [1, 2]
    # Without a word of the settings there are checkpoint and validation at the end of an epoch.
    settings = replace(
        settings, training=replace(settings.training, validate_every=None, checkpoint_every=None)
    )
    looked = [r.step for r in start(settings, tmp_path / "ends") if r.validation_loss is not None]
    steps = [-(-number // 2) for number in batches]
    assert looked == [steps[0], steps[0] + steps[1], expected]


def test_batches_that_make_a_step_are_one_batch(make, material) -> None:
    """Accumulated batches of some sizes: the gradient of the mean over all their tokens."""
    with torch.random.fork_rng():
        training = Training(make(accumulate=3, clip=0.0, batch_size=4), material, Ranks())
        training.model.double().eval()
        batches = list(material.train.batches(BatchPlan(batch_size=4), 1))[:3]
        counts = [batch.num_tokens for batch in batches]
        assert len(set(counts)) > 1
        losses = training.replica.losses(batches, counts, sum(counts))
        mean = sum(loss().mean for loss in losses) / 3
        total = sum(
            training.replica.plain(batch) * count
            for batch, count in zip(batches, counts, strict=True)
        )
    torch.testing.assert_close(mean, total / sum(counts))


@pytest.mark.parametrize("schedule", ["linear", "inverse-square-root", "constant"])
def test_the_learning_rate_peaks_at_what_is_set(tmp_path, make, schedule: str) -> None:
    settings = make(schedule=schedule, learning_rate=0.03, warmup=3)
    rates = [report.learning_rate for report in start(settings, tmp_path / schedule)]
    assert max(rates) == rates[2] == 0.03
    assert rates[:2] == pytest.approx([0.01, 0.02])
    if schedule == "constant":
        assert rates[3:] == [0.03] * 3
    elif schedule == "linear":
        assert rates[3:] == pytest.approx([0.0225, 0.015, 0.0075])
    else:
        factor = inverse_square_root_schedule(warmup=3)
        assert rates[3:] == pytest.approx([0.03 * factor(step) for step in (4, 5, 6)])


def test_betas_and_decay_reach_the_optimizer(make, material) -> None:
    training = Training(make(betas=(0.8, 0.9), weight_decay=0.2), material, Ranks())
    optimizer = training.stepper.optimizer
    assert type(optimizer) is torch.optim.AdamW
    assert optimizer.defaults["betas"] == (0.8, 0.9)
    assert optimizer.defaults["weight_decay"] == 0.2


def test_the_validation_loss_is_that_of_all_its_tokens(make, material) -> None:
    training = Training(make(label_smoothing=0.3), material, Ranks())
    training.model.double()
    whole = material.validation.batch(torch.arange(len(material.validation)))
    training.model.eval()
    expected = training.replica.plain(whole).item()
    training.model.train()
    assert training.validate() == pytest.approx(expected)
    assert training.model.training
