"""The settings of the Transformer."""

from dataclasses import dataclass

from attention_book.foundations.checks import check_sizes
from attention_book.models.transformer.layer_config import LayerConfig
from attention_book.text import BOS, EOS, PAD, SpecialIds


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(LayerConfig):
    """Settings of :class:`~attention_book.models.Transformer`.

    Attributes:
        source_vocabulary: Number of different source tokens.
        target_vocabulary: Number of different target tokens.
        tied: Whether the output layer is the target embedding (Press and Wolf 2017).
        shared: Whether one matrix is source embedding, target embedding and output layer
            (Vaswani et al. 2017, section 3.4): where both languages have one vocabulary.
        bos: Number of the target token that begins a sentence.
        eos: Number of the token that ends one.
        pad: Number of the token that fills a batch up.

    The others are those of every stack, :class:`~attention_book.models.LayerConfig`.

    Raises:
        ValueError: if a size is below 1, or if ``shared`` comes with vocabularies of two sizes;
            or what a ``LayerConfig`` refuses.

    >>> config = TransformerConfig(source_vocabulary=10, target_vocabulary=12, norm="pre")
    >>> config.source_vocabulary, config.d_model, config.norm
    (10, 32, 'pre')
    """

    source_vocabulary: int
    target_vocabulary: int
    tied: bool = False
    shared: bool = False
    bos: int = BOS
    eos: int = EOS
    pad: int = PAD

    def __post_init__(self) -> None:
        """Refuse what no model can be built from."""
        super().__post_init__()
        check_sizes(
            source_vocabulary=self.source_vocabulary, target_vocabulary=self.target_vocabulary
        )
        if self.shared and self.source_vocabulary != self.target_vocabulary:
            raise ValueError(
                "shared: expected vocabularies of one size, "
                f"got {self.source_vocabulary} and {self.target_vocabulary}"
            )
        SpecialIds(pad=self.pad, bos=self.bos, eos=self.eos)  # refuses what is no set of numbers
