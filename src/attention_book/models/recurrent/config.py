"""The settings of the recurrent encoder-decoder (seq2seq)."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from attention_book.foundations.checks import check_probability, check_sizes
from attention_book.foundations.stored_settings import completed
from attention_book.text import BOS, EOS, PAD, SpecialIds

#: How the decoder looks at the source.
AttentionKind = Literal[
    "none",
    "bahdanau",
    "luong-dot",
    "luong-general",
    "luong-concat",
    "input-dot",
    "location",
]
ATTENTION_KINDS: tuple[str, ...] = get_args(AttentionKind)


@dataclass(frozen=True, kw_only=True)
class Seq2SeqConfig:
    """Settings of :class:`~attention_book.models.Seq2Seq`.

    Attributes:
        source_vocabulary: Number of different source tokens.
        target_vocabulary: Number of different target tokens.
        d_embed: Size of a token's embedding.
        d_hidden: Size of the GRUs' states, of the score's hidden layer too.
        num_layers: Number of GRU layers in the encoder and in the decoder.
        dropout: Probability of dropping a feature between layers, and an attention weight.
        attention: "none" (one fixed context), "bahdanau" (look with the previous state, then
            step), "luong-dot", "luong-general", "luong-concat" (step, then look with the new
            state), or one of two wirings of many tutorials, which ask with the embedded input
            word: "input-dot" (scaled dot product with the encoder's outputs) and "location"
            (scores for numbered places, without seeing the source).
        bidirectional: Whether the encoder also reads from right to left.
        num_places: The longest source, with its ``<eos>``, that "location" can look at.
        bos: Number of the target token that begins a sentence.
        eos: Number of the token that ends one.
        pad: Number of the token that fills a batch up.

    Raises:
        ValueError: if a size is below 1, ``dropout`` is no probability, or the kind of
            attention is unknown.

    >>> config = Seq2SeqConfig(source_vocabulary=10, target_vocabulary=12, attention="bahdanau")
    >>> config.d_hidden
    32
    >>> Seq2SeqConfig.from_dict(config.to_dict()) == config
    True
    """

    source_vocabulary: int
    target_vocabulary: int
    d_embed: int = 32
    d_hidden: int = 32
    num_layers: int = 2
    dropout: float = 0.1
    attention: AttentionKind = "bahdanau"
    bidirectional: bool = False
    num_places: int = 10
    bos: int = BOS
    eos: int = EOS
    pad: int = PAD

    def __post_init__(self) -> None:
        """Refuse what no model can be built from."""
        check_sizes(
            source_vocabulary=self.source_vocabulary,
            target_vocabulary=self.target_vocabulary,
            d_embed=self.d_embed,
            d_hidden=self.d_hidden,
            num_layers=self.num_layers,
            num_places=self.num_places,
        )
        check_probability("dropout", self.dropout)
        SpecialIds(pad=self.pad, bos=self.bos, eos=self.eos)  # refuses what is no set of numbers
        if self.attention not in ATTENTION_KINDS:
            kinds = ", ".join(ATTENTION_KINDS)
            raise ValueError(f"attention: expected one of {kinds}, got {self.attention!r}")

    @property
    def d_source(self) -> int:
        """Size of what the encoder keeps for each source token."""
        return 2 * self.d_hidden if self.bidirectional else self.d_hidden

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> "Seq2SeqConfig":
        """Return the configuration that :meth:`to_dict` was called on; new fields get defaults.

        Raises:
            ValueError: if a setting is unknown, or one without a default is missing.
        """
        return cls(**completed(cls, settings))
