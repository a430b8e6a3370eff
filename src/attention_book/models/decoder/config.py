"""The settings of a decoder-only model: what the families of today differ in."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

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
from attention_book.foundations.checks import check_positive, check_sizes
from attention_book.foundations.stored_settings import completed
from attention_book.text import BOS, EOS, PAD, SpecialIds

NormKind = Literal["rms", "layer"]
FeedForwardKind = Literal["swiglu", "geglu", "relu", "geglu-erf"]
PositionsKind = Literal["rotary", "sinusoidal", "alibi", "none"]
#: How rotary positions are stretched, by the name in stored settings.
SCALINGS: dict[str, type[RopeScaling]] = {
    "linear": LinearScaling,
    "ntk": NtkScaling,
    "dynamic-ntk": DynamicNtkScaling,
    "yarn": YarnScaling,
    "llama3": Llama3Scaling,
    "longrope": LongRopeScaling,
}
_KINDS = {
    "norm": get_args(NormKind),
    "feed_forward": get_args(FeedForwardKind),
    "positions": get_args(PositionsKind),
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
        return RotaryPositions(
            d_k=d_k,
            base=self.base,
            scaling=self.scaling,
            pairing=self.pairing,
        )

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
        given = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in scaling.items()
            if name != "kind"
        }
        return cls(**known | {"scaling": kind(**completed(kind, given))})


@dataclass(frozen=True, kw_only=True)
class DecoderConfig:
    """Settings of a :class:`~attention_book.models.DecoderLanguageModel` and of its blocks.

    The defaults are today's block: RMSNorm before each sublayer, rotary positions, SwiGLU, no
    biases. Each part can be switched by itself.

    Attributes:
        vocabulary: Number of different tokens.
        d_model: Size of a token's vector between the layers.
        num_layers: Number of blocks.
        num_heads: Number of heads of queries.
        num_kv_heads: Number of heads of keys and values (GQA, MQA); as many when None.
        d_k: Size of a head; ``d_model / num_heads`` when None.
        d_ff: Size of the feed-forward networks' hidden layer.
        norm: "rms" (RMSNorm) or "layer" (LayerNorm).
        eps: The small number of every norm.
        around_one: Whether RMSNorm keeps its weights minus 1 (Gemma).
        norms_after: One more norm after each sublayer, before the sum (Gemma 3).
        feed_forward: "swiglu", "geglu" (Gemma, GELU computed with a tanh), "geglu-erf" (GELU
            itself) or "relu" (2017, without a gate).
        qk_norm: Whether each head's queries and keys are normalized (Qwen3, Gemma 3).
        positions: "rotary", "sinusoidal" (added to the embeddings), "alibi" or "none".
        rotary: How rotary positions turn.
        windowed_rotary: The same in windowed layers; as ``rotary`` when None.
        windows: For each layer how many tokens it sees, its own included; None: all before it.
            No window anywhere when empty.
        embedding_scale: Factor of the embeddings; :math:`\\sqrt{d_\\text{model}}` when None.
        scale: Factor of the scores; :math:`1 / \\sqrt{d_k}` when None.
        tied: Whether the output layer is the embedding (Press and Wolf 2017).
        bias: Whether the projections of the attention have biases.
        output_bias: Whether that of the heads' outputs has one (Qwen2: it alone has none); as
            ``bias`` when None.
        feed_forward_bias: Whether a gated feed-forward network has biases.
        fused: Keep the projections of queries, keys and values in one matrix.
        bos: Number of the token that begins a text; outside the vocabulary: there is none.
        eos: Number of the token that ends one.
        ends: Numbers of all tokens that end one, where there are several, ``eos`` among them.
        pad: Number of the token that fills a batch up.

    Raises:
        ValueError: if a number is out of range, a kind unknown, or there is not one window for
            each layer.

    >>> config = DecoderConfig(vocabulary=100, num_kv_heads=2, windows=(16, None))
    >>> config.head_size, DecoderConfig.from_dict(config.to_dict()) == config
    (8, True)
    """

    vocabulary: int
    d_model: int = 32
    num_layers: int = 2
    num_heads: int = 4
    num_kv_heads: int | None = None
    d_k: int | None = None
    d_ff: int = 64
    norm: NormKind = "rms"
    eps: float = 1e-6
    around_one: bool = False
    norms_after: bool = False
    feed_forward: FeedForwardKind = "swiglu"
    qk_norm: bool = False
    positions: PositionsKind = "rotary"
    rotary: RotarySettings = field(default_factory=RotarySettings)
    windowed_rotary: RotarySettings | None = None
    windows: tuple[int | None, ...] = ()
    embedding_scale: float | None = None
    scale: float | None = None
    tied: bool = False
    bias: bool = False
    output_bias: bool | None = None
    feed_forward_bias: bool = False
    fused: bool = True
    bos: int = BOS
    eos: int = EOS
    ends: tuple[int, ...] = ()
    pad: int = PAD

    def __post_init__(self) -> None:
        """Refuse what no model can be built from."""
        sizes = ("vocabulary", "d_model", "num_layers", "num_heads", "d_ff")
        check_sizes(**{name: getattr(self, name) for name in sizes})
        checked_groups(self.num_heads, self.num_kv_heads)
        if self.d_k is None:
            check_divisible(self.d_model, self.num_heads)
        check_sizes(d_k=self.head_size)
        for name in ("eps", "embedding_scale", "scale"):
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
            for settings in {self.rotary, self.windowed_rotary or self.rotary}:
                settings.positions(self.head_size)  # refuses what cannot be built
        SpecialIds(pad=self.pad, bos=self.bos, eos=self.eos)  # refuses what is no set of numbers
        if self.ends and (self.eos not in self.ends or min(self.ends) < 0):
            raise ValueError(f"ends: expected numbers, eos={self.eos} among them, got {self.ends}")

    @property
    def head_size(self) -> int:
        """Size of one head's queries, keys and values."""
        return self.d_model // self.num_heads if self.d_k is None else self.d_k

    def window(self, layer: int) -> int | None:
        """Return how many tokens a layer sees, its own included; None: all before it."""
        return self.windows[layer] if self.windows else None

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, for JSON."""
        nearby = self.windowed_rotary and self.windowed_rotary.to_dict()
        return {**asdict(self), "rotary": self.rotary.to_dict(), "windowed_rotary": nearby}

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> "DecoderConfig":
        """Return the configuration that :meth:`to_dict` was called on; new fields get defaults.

        Raises:
            ValueError: if a setting is unknown, or one without a default is missing.
        """
        known = completed(cls, {"rotary": {}} | settings)
        for name in ("rotary", "windowed_rotary"):
            if known[name] is not None:
                known[name] = RotarySettings.from_dict(known[name])
        listed = {name: tuple(known[name]) for name in ("windows", "ends")}
        return cls(**known | listed)
