"""Early stopping: end the training when the loss has not improved for several epochs."""

import math


class EarlyStopping:
    """Notice when a loss has stopped falling.

    Args:
        patience: Stop after this many updates in a row without an improvement.
        min_improvement: By how much a value must undercut the best to count as one.

    Attributes:
        best: The lowest value so far that counted; infinity before the first.
        best_epoch: Which update brought it, counted from 1; 0 before the first.
        epoch: How many updates there were.

    Raises:
        ValueError: if ``patience`` is below 1 or ``min_improvement`` negative.

    >>> stopping = EarlyStopping(patience=2)
    >>> [stopping.update(loss) for loss in (3.0, 2.0, 2.5, 1.0, 1.2, 1.1)]
    [False, False, False, False, False, True]
    >>> stopping.best, stopping.best_epoch
    (1.0, 4)
    """

    def __init__(self, *, patience: int, min_improvement: float = 0.0) -> None:
        """Start without any value."""
        if patience < 1:
            raise ValueError(f"patience: expected 1 or more, got {patience}")
        if not min_improvement >= 0:
            raise ValueError(f"min_improvement: expected 0 or more, got {min_improvement}")
        self.patience, self.min_improvement = patience, min_improvement
        self.best, self.best_epoch, self.epoch = math.inf, 0, 0

    def update(self, value: float) -> bool:
        """Take the loss of the next epoch, and return whether to stop.

        Raises:
            ValueError: if the value is not a finite number.
        """
        if not math.isfinite(value):
            raise ValueError(f"value: expected a finite number, got {value}")
        self.epoch += 1
        if value < self.best - self.min_improvement:
            self.best, self.best_epoch = value, self.epoch
        return self.epoch - self.best_epoch >= self.patience
