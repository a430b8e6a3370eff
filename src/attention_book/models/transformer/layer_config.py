"""The settings that every stack of attention layers needs."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeVar, get_args

from attention_book.attention.multi_head import check_divisible
from attention_book.foundations.checks import check_positive, check_probability, check_sizes
from attention_book.foundations.stored_settings import completed
from attention_book.models.transformer.add_norm import NormOrder
from attention_book.models.transformer.feed_forward import Activation

Config = TypeVar("Config", bound="LayerConfig")
#: How positions enter.
PositionKind = Literal["sinusoidal", "learned", "relative", "buckets", "rotary", "alibi", "none"]
POSITION_KINDS: tuple[str, ...] = get_args(PositionKind)
_KINDS = {
    "norm": get_args(NormOrder),
    "positions": POSITION_KINDS,
    "activation": get_args(Activation),
}


@dataclass(frozen=True, kw_only=True)
class LayerConfig:
    """Settings of a :class:`~attention_book.models.LayerStack`; each model adds its own.

    Attributes:
        d_model: Size of a token's vector between the layers.
        num_heads: Number of heads of every attention; must divide ``d_model``.
        d_ff: Size of the feed-forward networks' hidden layer.
        num_layers: Number of layers in a stack.
        dropout: Probability of dropping a feature of a sublayer's output, and of the
            embeddings with their positions (Vaswani et al. 2017, section 5.4).
        inner_dropout: Probability of dropping an attention weight, or a hidden feature of
            the feed-forward network. Torch's layers do both; that section names neither,
            and on the CPU torch has no fused kernel that drops weights.
        norm: "post", the norm after the residual sum (Vaswani et al. 2017), or "pre", before
            the sublayer, with one more norm at the end of each stack (Xiong et al. 2020).
        positions: "sinusoidal" or "learned" (added to the embeddings), "relative" (Shaw et
            al. 2018), "buckets" (T5), "rotary", "alibi", or "none".
        max_positions: Length of the table of "learned".
        max_distance: Farthest distance that "relative" tells apart.
        bias: Whether the projections of the attention have biases.
        activation: Of the feed-forward networks: "relu" (Vaswani et al. 2017), or "gelu".
        feed_forward_bias: Whether the feed-forward networks and the norms have biases.
        eps: What the norms add to the variance.
        final_norm: Whether a norm ends each stack; None: with pre-norm alone.

    Raises:
        ValueError: if a size is below 1, the heads don't divide ``d_model``, a dropout is
            no probability, a kind is unknown, or "rotary" has features without a pair.

    >>> config = LayerConfig(d_model=64, positions="rotary")
    >>> config.d_k
    16
    >>> LayerConfig.from_dict(config.to_dict()) == config
    True
    """

    d_model: int = 32
    num_heads: int = 4
    d_ff: int = 64
    num_layers: int = 2
    dropout: float = 0.1
    inner_dropout: float = 0.0
    norm: NormOrder = "post"
    positions: PositionKind = "sinusoidal"
    max_positions: int = 128
    max_distance: int = 16
    bias: bool = False
    activation: Activation = "relu"
    feed_forward_bias: bool = True
    eps: float = 1e-5
    final_norm: bool | None = None

    def __post_init__(self) -> None:
        """Refuse what no model can be built from."""
        sizes = ("d_model", "num_heads", "d_ff", "num_layers", "max_positions", "max_distance")
        check_sizes(**{name: getattr(self, name) for name in sizes})
        check_probability("dropout", self.dropout)
        check_probability("inner_dropout", self.inner_dropout)
        check_positive("eps", self.eps)
        check_divisible(self.d_model, self.num_heads)
        for name, kinds in _KINDS.items():
            if getattr(self, name) not in kinds:
                expected = ", ".join(kinds)
                raise ValueError(f"{name}: expected one of {expected}, got {getattr(self, name)!r}")
        if self.positions == "rotary" and self.d_k % 2:
            raise ValueError(
                f"d_k: expected an even number with rotary positions, got {self.d_k} "
                f"= d_model / num_heads = {self.d_model} / {self.num_heads}"
            )

    @property
    def ends_in_norm(self) -> bool:
        """Whether a norm ends each stack; with pre-norm nothing else has normalized its output."""
        return self.norm == "pre" if self.final_norm is None else self.final_norm

    @property
    def d_k(self) -> int:
        """Size of one head's queries, keys and values."""
        return self.d_model // self.num_heads

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls: type[Config], settings: dict[str, Any]) -> Config:
        """Return the configuration that :meth:`to_dict` was called on; new fields get defaults.

        Raises:
            ValueError: if a setting is unknown, or one without a default is missing.
        """
        return cls(**completed(cls, settings))
