"""The training of a run: one step after the other, and all that it takes to go on elsewhere."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import islice
from math import ceil, inf

from attention_book.foundations.checks import is_strict, strict
from attention_book.models.evaluating import evaluating
from attention_book.runs.checkpoints import Place
from attention_book.runs.corpora import BatchPlan, PreparedCorpus, prefetched
from attention_book.runs.engine.building import (
    DTYPES,
    build_model,
    build_optimizer,
    build_schedule,
)
from attention_book.runs.engine.material import Material
from attention_book.runs.engine.random_numbers import RandomNumbers, drawn_from, seed_of
from attention_book.runs.engine.reports import StepReport
from attention_book.runs.processes.ranks import Ranks
from attention_book.runs.processes.replica import Replica
from attention_book.runs.settings import RunSettings, TrainingSettings
from attention_book.text import Batch
from attention_book.training.descent import Stepper
from attention_book.training.schedule import scheduled


class Training:
    """A model that is trained: alone, or as one of several processes.

    Args:
        settings: All of them.
        material: What it is trained on.
        ranks: Who trains.

    Attributes:
        model: The translator.
        place: Where the training stands.
        random: The random numbers of this process.
        replica: The model as this process holds it.
        stepper: Takes the steps.
    """

    def __init__(self, settings: RunSettings, material: Material, ranks: Ranks) -> None:
        """Draw the first weights: the same in all processes."""
        self.settings, self.ranks, self._material = settings.training, ranks, material
        with drawn_from(self.settings.seed):
            self.model = build_model(settings.model, material.codec).to(ranks.device)
        self.random = RandomNumbers(seed_of(self.settings.seed, ranks.rank), ranks.device)
        self.replica = Replica(
            self.model,
            ranks,
            sharded=self.settings.sharded,
            compiled=self.settings.compile,
            label_smoothing=self.settings.label_smoothing,
        )
        self.stepper = Stepper(
            build_optimizer(self.model, self.settings),
            # Only a clipped gradient is measured across the processes that share the weights.
            clip=self.settings.clip or (inf if self.settings.sharded else None),
            autocast=DTYPES[self.settings.precision],
        )
        self.plan = BatchPlan(
            batch_tokens=self.settings.batch_tokens,
            batch_size=self.settings.batch_size,
            seed=self.settings.seed,
        )
        self.place = Place(num_steps=count_steps(self.settings, self.plan, material.train))
        self._schedule = build_schedule(self.settings, self.place.num_steps)

    def leads_to(self, place: Place) -> bool:
        """Whether this training, and no other one, can stand there."""
        num_batches = self._material.train.num_batches(self.plan, place.epoch)
        in_epoch = place.batch < num_batches
        return in_epoch and place.step <= place.num_steps == self.place.num_steps

    def steps(self) -> Iterator[tuple[StepReport, bool]]:
        """Take the steps that are left; with each report comes whether it ends an epoch."""
        train, ranks = self._material.train, self.ranks
        while not self.place.at_end:
            epoch, start = self.place.epoch, self.place.batch
            num_batches = train.num_batches(self.plan, epoch)
            made = train.batches(self.plan, epoch, start=start, rank=ranks.rank, world=ranks.world)
            self.model.train()
            with closing(prefetched(made)) as batches:  # type: ignore[type-var]
                while self.place.epoch == epoch and not self.place.at_end:
                    yield self._step(batches, num_batches)

    def _step(self, batches: Iterator[Batch], num_batches: int) -> tuple[StepReport, bool]:
        began, place = time.perf_counter(), self.place
        taken = list(islice(batches, self.settings.accumulate))
        counts = [batch.num_tokens for batch in taken]
        whole = self.ranks.total([sum(counts)])[0]
        step, optimizer = place.step + 1, self.stepper.optimizer
        with self.random, scheduled(optimizer, self._schedule) as set_rates:
            set_rates(step)
            rate = optimizer.param_groups[0]["lr"]
            seen = self.stepper(self.replica.losses(taken, counts, whole), f"at step {step}")
        loss = self.ranks.total([seen.loss])[0] / self.ranks.world
        done = place.batch + len(taken)
        ended = done >= num_batches
        after = {"epoch": place.epoch + 1, "batch": 0} if ended else {"batch": done}
        self.place = place.after_step(**after)
        report = StepReport(
            step=step,
            num_steps=place.num_steps,
            epoch=place.epoch,
            loss=loss,
            num_tokens=int(whole),
            seconds=time.perf_counter() - began,
            learning_rate=rate,
            gradient_norm=seen.gradient_norm,
        )
        return report, ended

    def validate(self) -> float | None:
        """Return the loss per token on the validation data; None where there is none.

        The processes share the work. Nothing is dropped, smoothed or cast.
        """
        corpus = self._material.validation
        if corpus is None:
            return None
        plan = replace(self.plan, seed=0)
        made = corpus.batches(plan, 0, rank=self.ranks.rank, world=self.ranks.world)
        loss, count = 0.0, 0
        with evaluating(self.replica.plain), closing(prefetched(made)) as batches:  # type: ignore[type-var]
            for batch in batches:
                num_tokens = batch.num_tokens
                with strict(is_strict() and num_tokens > 0):
                    loss += self.replica.plain(batch).item() * num_tokens
                count += num_tokens
        whole = self.ranks.total([loss, count])
        return whole[0] / whole[1]


def count_steps(settings: TrainingSettings, plan: BatchPlan, train: PreparedCorpus) -> int:
    """Return how many steps a training takes; each epoch may have another number of batches."""
    if settings.steps is not None:
        return settings.steps
    epochs = range(1, (settings.epochs or 0) + 1)
    return sum(ceil(train.num_batches(plan, epoch) / settings.accumulate) for epoch in epochs)
