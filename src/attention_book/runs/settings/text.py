"""The settings of the text: words or subwords."""

from dataclasses import dataclass
from typing import Literal, get_args

from attention_book.foundations.checks import check_sizes
from attention_book.runs.settings.checking import one_of

Unit = Literal["words", "subwords"]

NUM_BYTES = 256  # every one of them is a subword


@dataclass(frozen=True, kw_only=True)
class TextSettings:
    """How text is split into tokens.

    Attributes:
        unit: "words" (:func:`~attention_book.text.tokenize`: English, French, German and
            Chinese), or "subwords" (:class:`~attention_book.text.SubwordTokenizer`: any
            language), learned from the training data.
        num_pieces: How many subwords at most, a vocabulary; the 256 bytes are among them.
        shared: Whether both languages share their subwords.
        lowercase: Whether text is read in lower case. Words always are.
        moses: Whether text is split by the rules of Moses first, as the papers of translation
            do that report tokenized BLEU. Only with subwords.
        min_frequency: Words that are rarer in the training data are unknown.

    Raises:
        ValueError: if a setting is out of its range, or ``moses`` comes with words.

    >>> TextSettings(unit="subwords", num_pieces=4000).shared
    True
    """

    unit: Unit = "words"
    num_pieces: int = 8000
    shared: bool = True
    lowercase: bool = False
    moses: bool = False
    min_frequency: int = 1

    def __post_init__(self) -> None:
        """Refuse now what would fail after minutes of training."""
        one_of("unit", self.unit, get_args(Unit))
        check_sizes(num_pieces=self.num_pieces, min_frequency=self.min_frequency)
        if self.unit == "subwords" and self.num_pieces < NUM_BYTES:
            raise ValueError(f"num_pieces: expected {NUM_BYTES} or more, got {self.num_pieces}")
        if self.moses and self.unit == "words":
            raise ValueError("moses: expected with subwords only, got it with words")
