"""A causal Transformer over real numbers: after each value, what will the next one be?"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.foundations.checks import check_positive, check_sizes
from attention_book.foundations.shapes import Forecast, History
from attention_book.models.config import LayerConfig, PositionKind
from attention_book.models.evaluating import evaluating
from attention_book.models.layers import LayerStack
from attention_book.models.parts import NormOrder
from attention_book.models.resetting import ResettableModel

Windows = Float[Tensor, "batch time"]


@dataclass(frozen=True, kw_only=True)
class ForecasterConfig(LayerConfig):
    """Settings of :class:`~attention_book.models.Forecaster`.

    Attributes:
        context: How many values back it may look, the present one included.

    The others are those of every stack, :class:`~attention_book.models.LayerConfig`; these
    defaults suit a few hundred values.

    Raises:
        ValueError: if ``context`` is below 1 or longer than a learned table, or what a
            ``LayerConfig`` refuses.

    >>> config = ForecasterConfig(context=24)
    >>> config.num_layers, config.positions
    (1, 'rotary')
    """

    d_model: int = 16
    num_heads: int = 2
    d_ff: int = 32
    num_layers: int = 1
    norm: NormOrder = "pre"
    positions: PositionKind = "rotary"
    context: int = 36

    def __post_init__(self) -> None:
        """Refuse what no model can be built from."""
        super().__post_init__()
        check_sizes(context=self.context)
        if self.positions == "learned" and self.context > self.max_positions:
            raise ValueError(
                f"context: expected at most max_positions={self.max_positions} "
                f"with learned positions, got {self.context}"
            )


class Forecaster(ResettableModel):
    """Numbers in place of words: embedded by a line, read out by a line, a stack in between.

    .. math:: \\hat y_{t+1} = y_t + s \\, f\\Bigl(\\frac{y_1 - m}{s}, \\dots,
        \\frac{y_t - m}{s}\\Bigr)

    The stack f says by how much the last value will change. It starts at 0: untrained, the
    model is :func:`~attention_book.models.persistence`. Weights learned in these units are worth
    nothing in others: m and s stand in the ``state_dict`` too, and are loaded with it.

    Args:
        config: The settings.
        mean: m, of the values it is trained on, and of these alone.
        scale: s, their standard deviation.

    Raises:
        ValueError: if ``scale`` is not positive.

    >>> model = Forecaster(ForecasterConfig(), mean=50.0, scale=40.0).eval()
    >>> model(torch.tensor([[5.0, 11.0, 16.0]])).tolist()       # untrained: persistence
    [[5.0, 11.0, 16.0]]
    """

    def __init__(self, config: ForecasterConfig, *, mean: float, scale: float) -> None:
        """Create the layers; the read-out begins at 0."""
        super().__init__()
        check_positive("scale", scale)
        self.config, self.mean, self.scale = config, mean, scale
        self.embed = nn.Linear(1, config.d_model)
        self.stack = LayerStack(config, looks_ahead=False)
        self.read_out = nn.Linear(config.d_model, 1)
        nn.init.zeros_(self.read_out.weight)
        nn.init.zeros_(self.read_out.bias)

    def fresh(self) -> "Forecaster":
        """Return a new model of the same settings, mean and scale."""
        return Forecaster(self.config, mean=self.mean, scale=self.scale)

    @classmethod
    def scaled_to(cls, past: History, config: ForecasterConfig) -> "Forecaster":
        """Create a model with the mean and the standard deviation of a past.

        Raises:
            ValueError: if all values of the past are equal.

        >>> Forecaster.scaled_to(torch.tensor([2.0, 4.0, 6.0]), ForecasterConfig()).mean
        4.0
        """
        return cls(config, mean=past.mean().item(), scale=past.std().item())

    def get_extra_state(self) -> Tensor:
        """Return the mean and the scale as the ``state_dict`` keeps them: no cast rounds them."""
        return torch.tensor([self.mean, self.scale], dtype=torch.float64)

    def set_extra_state(self, state: Tensor) -> None:
        """Take the mean and the scale from a ``state_dict``."""
        self.mean, self.scale = state.tolist()

    def forward(self, values: Windows) -> Windows:
        """Return, for each value, the forecast of the next one.

        Raises:
            ValueError: if there are more values than the context is long.
        """
        length, most = values.shape[-1], self.config.context
        if length > most:
            raise ValueError(f"values: expected at most context={most}, got {length}")
        scaled = ((values - self.mean) / self.scale).to(self.embed.weight.dtype)
        vectors = self.embed(scaled.unsqueeze(-1))
        change: Windows = self.read_out(self.stack(vectors, is_causal=True)).squeeze(-1)
        return values + self.scale * change.to(values.dtype)

    def forecast(self, past: History, horizon: int) -> Forecast:
        """Go on from a past: forecast one value, take it for true, forecast the next.

        Dropout is off. Only the last ``context`` values are read.

        >>> model = Forecaster(ForecasterConfig(), mean=0.0, scale=1.0)
        >>> model.forecast(torch.tensor([3.0, 4.0]), 3)
        tensor([4., 4., 4.])
        """
        known = past
        with evaluating(self):
            for _ in range(horizon):
                following = self(known[-self.config.context :].unsqueeze(0))[0, -1:]
                known = torch.cat([known, following])
        return known[len(past) :]


__all__ = ["Forecaster", "ForecasterConfig"]
