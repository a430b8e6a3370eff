"""The settings of stacks of attention layers: what the Transformers of 2017 to today differ in."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeVar, get_args

from attention_book.attention import (
    DynamicNtkScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    NtkScaling,
    RopeScaling,
    YarnScaling,
)
from attention_book.attention.multi_head import check_divisible, checked_groups
from attention_book.attention.positions.rotary import Pairing, RotaryPositions
from attention_book.foundations.checks import check_positive, check_probability, check_sizes
from attention_book.foundations.shapes import TokenIds, TokenMask
from attention_book.foundations.stored_settings import completed
from attention_book.models.parts import FeedForwardKind, NormKind, NormOrder

Config = TypeVar("Config", bound="LayerConfig")
#: How positions enter.
PositionKind = Literal["sinusoidal", "learned", "relative", "buckets", "rotary", "alibi", "none"]
POSITION_KINDS: tuple[str, ...] = get_args(PositionKind)
_KINDS = {
    "norm": get_args(NormOrder),
    "norm_kind": get_args(NormKind),
    "feed_forward": get_args(FeedForwardKind),
    "positions": POSITION_KINDS,
}
#: How rotary positions are stretched, by the name in stored settings.
SCALINGS: dict[str, type[RopeScaling]] = {
    "linear": LinearScaling,
    "ntk": NtkScaling,
    "dynamic-ntk": DynamicNtkScaling,
    "yarn": YarnScaling,
    "llama3": Llama3Scaling,
    "longrope": LongRopeScaling,
}


@dataclass(frozen=True, kw_only=True)
class RotarySettings:
    """How rotary positions turn; plain values, those of ``RotaryPositions`` but the size.

    Attributes:
        base: The base of the frequencies.
        scaling: How they are stretched for texts longer than the trained ones; None: not.
        pairing: Which features turn together, "neighbors" or "halves".

    >>> RotarySettings(base=500_000.0, pairing="halves").positions(d_k=8)
    RotaryPositions(d_k=8, base=500000, pairing=halves)
    """

    base: float = 10000.0
    scaling: RopeScaling | None = None
    pairing: Pairing = "neighbors"

    def positions(self, d_k: int) -> RotaryPositions:
        """Return positions for heads of this size.

        Raises:
            ValueError: if they cannot be built.
        """
        return RotaryPositions(d_k=d_k, **vars(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, for JSON; the scaling with its name."""
        if self.scaling is None:
            return asdict(self)
        name = next(name for name, kind in SCALINGS.items() if type(self.scaling) is kind)
        return {**asdict(self), "scaling": {"kind": name, **asdict(self.scaling)}}

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> "RotarySettings":
        """Return the settings that :meth:`to_dict` was called on.

        Raises:
            ValueError: if a setting is unknown.
        """
        known = completed(cls, settings)
        if (scaling := known["scaling"]) is None:
            return cls(**known)
        kind = SCALINGS.get(scaling.get("kind"))
        if kind is None:
            expected = ", ".join(SCALINGS)
            raise ValueError(f"kind: expected one of {expected}, got {scaling.get('kind')!r}")
        given = {name: value for name, value in scaling.items() if name != "kind"}
        return cls(**known | {"scaling": kind(**_tuples(completed(kind, given)))})


@dataclass(frozen=True, kw_only=True)
class LayerConfig:
    """Settings of a :class:`~attention_book.models.LayerStack`; each model adds its own.

    The defaults are the layers of 2017; for today's, see
    :meth:`~attention_book.models.LanguageConfig.today`.

    Attributes:
        d_model: Size of a token's vector between the layers.
        num_layers: Number of layers in a stack.
        num_heads: Number of heads of queries of every attention.
        num_kv_heads: Number of heads of keys and values (GQA, MQA); as many when None.
        d_k: Size of a head; ``d_model / num_heads``, which must be whole, when None.
        d_ff: Size of the feed-forward networks' hidden layer.
        feed_forward: "relu" (Vaswani et al. 2017), "gelu" (BERT, GPT-2), or with a gate "swiglu"
            (Llama), "geglu" (Gemma, GELU computed with a tanh), "geglu-erf" (GELU itself).
        feed_forward_bias: Whether the feed-forward networks have biases.
        norm: "post", the norm after the residual sum (Vaswani et al. 2017); "pre", before the
            sublayer, with one more norm at the end of each stack (Xiong et al. 2020); "both",
            before the sublayer and before the sum (Gemma 3).
        norm_kind: "layer" (LayerNorm) or "rms" (RMSNorm).
        norm_bias: Whether layer norms have biases.
        eps: The small number of every norm.
        around_one: Whether RMSNorm keeps its weights minus 1 (Gemma).
        final_norm: Whether a norm ends each stack; None: unless each layer ends in one.
        qk_norm: Whether each head's queries and keys are normalized (Qwen3, Gemma 3).
        positions: "sinusoidal" or "learned" (added to the embeddings), "relative" (Shaw et
            al. 2018), "buckets" (T5), "rotary", "alibi", or "none".
        max_positions: Length of the table of "learned".
        max_distance: Farthest distance that "relative" tells apart.
        rotary: How "rotary" turns.
        windowed_rotary: The same in layers with a window; as ``rotary`` when None.
        windows: For each layer how many tokens it sees to a side, its own included; None: all.
            No window anywhere when empty.
        sinks: Whether each head learns a score that no key has (gpt-oss).
        scale: Factor of the scores; :math:`1 / \\sqrt{d_k}` when None.
        bias: Whether the projections of the attention have biases.
        output_bias: Whether that of the heads' outputs has one (Qwen2: it alone has none); as
            ``bias`` when None.
        dropout: Probability of dropping a feature of a sublayer's output, and of the
            embeddings with their positions (Vaswani et al. 2017, section 5.4).
        inner_dropout: Probability of dropping an attention weight, or a hidden feature of
            the feed-forward network. Torch's layers do both; that section names neither,
            and on the CPU torch has no fused kernel that drops weights.

    Raises:
        ValueError: if a number is out of range, the heads don't fit, a kind is unknown, there is
            not one window for each layer, or "rotary" has features without a pair.

    >>> config = LayerConfig(d_model=64, positions="rotary", num_kv_heads=2, windows=(16, None))
    >>> config.head_size
    16
    >>> LayerConfig.from_dict(config.to_dict()) == config
    True
    """

    d_model: int = 32
    num_layers: int = 2
    num_heads: int = 4
    num_kv_heads: int | None = None
    d_k: int | None = None
    d_ff: int = 64
    feed_forward: FeedForwardKind = "relu"
    feed_forward_bias: bool = True
    norm: NormOrder = "post"
    norm_kind: NormKind = "layer"
    norm_bias: bool = True
    eps: float = 1e-5
    around_one: bool = False
    final_norm: bool | None = None
    qk_norm: bool = False
    positions: PositionKind = "sinusoidal"
    max_positions: int = 128
    max_distance: int = 16
    rotary: RotarySettings = field(default_factory=RotarySettings)
    windowed_rotary: RotarySettings | None = None
    windows: tuple[int | None, ...] = ()
    sinks: bool = False
    scale: float | None = None
    bias: bool = False
    output_bias: bool | None = None
    dropout: float = 0.1
    inner_dropout: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no model can be built from."""
        sizes = ("d_model", "num_heads", "d_ff", "num_layers", "max_positions", "max_distance")
        check_sizes(**{name: getattr(self, name) for name in sizes})
        checked_groups(self.num_heads, self.num_kv_heads)
        if self.d_k is None:
            check_divisible(self.d_model, self.num_heads)
        check_sizes(d_k=self.head_size)
        for name in ("dropout", "inner_dropout"):
            check_probability(name, getattr(self, name))
        for name in ("eps", "scale"):
            if (value := getattr(self, name)) is not None:
                check_positive(name, value)
        for name, kinds in _KINDS.items():
            if getattr(self, name) not in kinds:
                expected = ", ".join(kinds)
                raise ValueError(f"{name}: expected one of {expected}, got {getattr(self, name)!r}")
        if self.windows and len(self.windows) != self.num_layers:
            raise ValueError(
                f"windows: expected one for each of {self.num_layers} layers, "
                f"got {len(self.windows)}"
            )
        for window in self.windows:
            if window is not None:
                check_sizes(windows=window)
        if self.positions == "rotary":
            if self.d_k is None and self.head_size % 2:
                raise ValueError(
                    f"d_k: expected an even number with rotary positions, got {self.head_size} "
                    f"= d_model / num_heads = {self.d_model} / {self.num_heads}"
                )
            for settings in {self.rotary, self.windowed_rotary or self.rotary}:
                settings.positions(self.head_size)  # refuses what cannot be built

    @property
    def head_size(self) -> int:
        """Size of one head's queries, keys and values."""
        return self.d_model // self.num_heads if self.d_k is None else self.d_k

    @property
    def ends_in_norm(self) -> bool:
        """Whether a norm ends each stack; before a sum nothing has normalized its output."""
        return self.norm != "post" if self.final_norm is None else self.final_norm

    def window(self, layer: int) -> int | None:
        """Return how many tokens a layer sees to a side, its own included; None: all."""
        return self.windows[layer] if self.windows else None

    def check_padding(self, real: TokenMask) -> None:
        """Check that padding does not count as text, by whose length positions turn.

        Up to the length that was trained they turn as ever, and padding is nothing.

        Args:
            real: False where a token is padding, of all that was read, (batch, token).

        Raises:
            ValueError: if it would count.

        >>> import torch
        >>> dynamic = DynamicNtkScaling(factor=2.0, trained_length=2)
        >>> config = LayerConfig(positions="rotary", rotary=RotarySettings(scaling=dynamic))
        >>> config.check_padding(torch.tensor([[True, False]]))
        """
        trained = self._outgrown(real.shape[1])
        if trained is not None and not bool(real.all()):
            row = int((~real).any(dim=1).nonzero()[0])
            raise ValueError(
                f"real: expected no padding beyond {trained} tokens, for it would count as text, "
                f"by whose length positions turn, got some in row {row}; read texts of one length "
                "together, or give the scaling a length"
            )

    def check_packed(self, documents: TokenIds) -> None:
        """Check that positions do not turn by the length of a row in which several texts stand.

        Args:
            documents: Which text each token belongs to, (batch, token).

        Raises:
            ValueError: if they would, as where padding counts (:meth:`check_padding`).

        >>> import torch
        >>> dynamic = DynamicNtkScaling(factor=2.0, trained_length=2)
        >>> config = LayerConfig(positions="rotary", rotary=RotarySettings(scaling=dynamic))
        >>> config.check_packed(torch.tensor([[1, 2]]))
        """
        trained = self._outgrown(documents.shape[1])
        several = documents != documents[:, :1]
        if trained is not None and bool(several.any()):
            row = int(several.any(dim=1).nonzero()[0])
            raise ValueError(
                f"documents: expected one text in a row beyond {trained} tokens, by whose length "
                f"positions turn, got several in row {row}; pack shorter rows, or give the "
                "scaling a length"
            )

    def _outgrown(self, length: int) -> int | None:
        """Return the trained length that such a row exceeds, where positions turn by the row's."""
        if self.positions != "rotary":
            return None
        for settings in (self.rotary, self.windowed_rotary or self.rotary):
            scaling = settings.scaling
            if not isinstance(scaling, DynamicNtkScaling | LongRopeScaling):
                continue
            if scaling.length is None and length > scaling.trained_length:
                return scaling.trained_length
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, for JSON."""
        nearby = self.windowed_rotary and self.windowed_rotary.to_dict()
        plain = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }
        return plain | {"rotary": self.rotary.to_dict(), "windowed_rotary": nearby}

    @classmethod
    def from_dict(cls: type[Config], settings: dict[str, Any]) -> Config:
        """Return the configuration that :meth:`to_dict` was called on; new fields get defaults.

        Raises:
            ValueError: if a setting is unknown, or one without a default is missing.
        """
        known = _tuples(completed(cls, {"rotary": {}} | settings))
        for name in ("rotary", "windowed_rotary"):
            if known[name] is not None:
                known[name] = RotarySettings.from_dict(known[name])
        return cls(**known)


def _tuples(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with the tuples that JSON has written as lists."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()
    }
