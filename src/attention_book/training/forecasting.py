"""Training a forecaster on one series: every window of the past is an example."""

from collections.abc import Iterator
from copy import deepcopy

import torch
from torch.nn import functional as F

from attention_book.foundations.devices import sent
from attention_book.foundations.seed import mixed, shifted
from attention_book.foundations.shapes import GoOn, History
from attention_book.models import Forecaster, ForecasterConfig
from attention_book.training.checkpoint import Report
from attention_book.training.loop import descend
from attention_book.training.schedule import linear_schedule


def train_forecaster(
    model: Forecaster,
    past: History,
    *,
    steps: int,
    batch_size: int = 32,
    learning_rate: float = 3e-3,
    autocast: torch.dtype | None = None,
    accumulate: int = 1,
) -> Iterator[Report]:
    """Train on windows of the past, drawn anew for every step; at each value it learns the next.

    .. math:: L = \\operatorname{mean}_{t} \\; \\Bigl(\\frac{\\hat y_{t+1} - y_{t+1}}{s}\\Bigr)^2

    Adam, with a learning rate that rises for a tenth of the steps and then falls to 0. The
    windows are drawn from torch's global random numbers.

    Args:
        model: Goes on from where it is: the second call on a longer past is a warm start. It
            is left in evaluation mode, also where the caller stops early.
        past: All it may know. A window is ``context`` values long (or as long as the past
            allows), and one more to forecast.
        steps: How many.
        batch_size: Windows in each step.
        learning_rate: The highest.
        autocast: As in :func:`descend`.
        accumulate: How many batches of windows make one step, as in :func:`descend`.

    Yields:
        A :class:`~attention_book.training.Report` after every step; the loss is in units of
        the model's ``scale``.

    >>> from attention_book import set_seed
    >>> from attention_book.models import ForecasterConfig
    >>> set_seed(1)
    >>> wave = torch.arange(90.0).sin()
    >>> model = Forecaster.scaled_to(wave, ForecasterConfig(context=9))
    >>> reports = list(train_forecaster(model, wave, steps=50))
    >>> reports[0].loss > 2 * reports[-1].loss
    True
    """
    if len(past) < 2:
        raise ValueError(f"past: expected two values or more, got {len(past)}")
    windows = past.unfold(0, min(model.config.context + 1, len(past)), 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate, fused=True)
    schedule = linear_schedule(num_steps=max(steps, 1), warmup=steps // 10)

    def loss() -> torch.Tensor:
        drawn = torch.randint(len(windows), (batch_size,), device="cpu")
        batch = windows[sent(drawn, windows.device)]
        error = (model(batch[:, :-1]) - batch[:, 1:]) / model.scale
        return F.mse_loss(error, torch.zeros_like(error))

    model.train()
    try:
        yield from descend(
            loss,
            optimizer,
            steps=steps,
            schedule=schedule,
            autocast=autocast,
            accumulate=accumulate,
        )
    finally:
        model.eval()


class WarmForecaster:
    """A method for backtests: trained on the first past, a little more on each longer one.

    Training from scratch at every origin would be cleaner and costs several times as much.
    A longer past holds the shorter one, so nothing from after the origin comes in by it; a
    *shorter* past is refused, since the model has seen what lies behind it.

    Args:
        config: The settings.
        steps: Steps of the first training.
        more_steps: Steps of each later one, at a third of the learning rate. The mean and the scale
            stay those of the first past.
        seed: Seeds the parameters and the windows; torch's global random numbers are not touched.

    Attributes:
        model: As last trained; None before.

    >>> from attention_book.models import ForecasterConfig
    >>> wave = torch.arange(90.0).sin()
    >>> method = WarmForecaster(ForecasterConfig(context=9), steps=20, more_steps=5, seed=1)
    >>> go_on = method(wave[:60])
    >>> go_on = method(wave[:70])
    >>> go_on(wave[:75], 3).shape
    torch.Size([3])
    """

    def __init__(self, config: ForecasterConfig, *, steps: int, more_steps: int, seed: int) -> None:
        self.config, self.steps, self.more_steps, self.seed = config, steps, more_steps, seed
        self.model: Forecaster | None = None
        self._seen: History | None = None

    def __call__(self, past: History) -> GoOn:
        """Train on a past, and return the function that forecasts from it."""
        self._check(past)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(mixed(shifted(self.seed), len(past)))
            # A copy: what an earlier call has returned stays as it was.
            model = deepcopy(self.model) or Forecaster.scaled_to(past, self.config)
            steps, rate = (self.more_steps, 1e-3) if self.model else (self.steps, 3e-3)
            for _ in train_forecaster(model, past, steps=steps, batch_size=16, learning_rate=rate):
                pass
        self.model, self._seen = model, past.clone()
        return model.forecast

    def _check(self, past: History) -> None:
        if self._seen is None:
            return
        seen = len(self._seen)
        if len(past) < seen:
            raise ValueError(
                f"past: expected {seen} values or more, as in the last call, got {len(past)}"
            )
        if not torch.equal(past[:seen], self._seen):
            raise ValueError("past: expected the past of the last call, grown; got another series")


__all__ = ["WarmForecaster", "train_forecaster"]
