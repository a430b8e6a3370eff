"""Training a classifier, such as one that reads handwritten digits."""

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.training.descent import descend
from attention_book.training.reports import Report
from attention_book.training.schedule import linear_schedule


def fit_classifier(
    model: nn.Module,
    inputs: Float[Tensor, "example ..."],
    labels: Int[Tensor, " example"],
    *,
    steps: int,
    batch_size: int = 32,
    learning_rate: float = 4e-3,
    weight_decay: float = 0.3,
    label_smoothing: float = 0.1,
    noise: float = 0.0,
    warmup: int = 30,
    autocast: torch.dtype | None = None,
    accumulate: int = 1,
) -> Iterator[Report]:
    """Train a classifier on batches drawn at random, with a report after every step.

    AdamW (Loshchilov and Hutter 2019), and a learning rate that rises and then falls to 0
    in straight lines. A generator, as :func:`descend` is; the batches are drawn from
    torch's global random numbers, with replacement.

    Args:
        model: Maps inputs to logits, one for each class. Put into training mode at the
            start, and left in it.
        inputs: One for each example.
        labels: The right classes.
        steps: How many steps at most.
        batch_size: Examples in a batch.
        learning_rate: The highest.
        weight_decay: How fast AdamW shrinks the parameters.
        label_smoothing: The share of the target that goes to all classes alike (Szegedy
            et al. 2016).
        noise: Standard deviation of the normal noise that is added to the inputs, fresh
            in every step (Bishop 1995).
        warmup: Steps on the way up to the highest learning rate.
        autocast: As in :func:`descend`.
        accumulate: How many batches make one step, as in :func:`descend`.

    Raises:
        ValueError: if there is not one label for each input.

    >>> model = nn.Linear(2, 3)
    >>> inputs, labels = torch.rand(5, 2), torch.tensor([0, 1, 2, 1, 0])
    >>> [report.step for report in fit_classifier(model, inputs, labels, steps=2, warmup=1)]
    [1, 2]
    """
    if len(inputs) != len(labels):
        raise ValueError(
            f"labels: expected one for each of {len(inputs)} inputs, got {len(labels)}"
        )
    model.train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=learning_rate, weight_decay=weight_decay, fused=True
    )
    schedule = linear_schedule(num_steps=max(steps, 1), warmup=min(warmup, steps))

    def loss() -> Float[Tensor, ""]:
        rows = torch.randint(len(labels), (batch_size,))
        seen = inputs[rows]
        logits = model(seen + noise * torch.randn_like(seen) if noise else seen)
        return F.cross_entropy(logits, labels[rows].long(), label_smoothing=label_smoothing)

    yield from descend(
        loss,
        optimizer,
        steps=steps,
        schedule=schedule,
        autocast=autocast,
        accumulate=accumulate,
    )
