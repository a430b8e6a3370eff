"""Settings of a language model's training: documents, tokens, model and training."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from attention_book.foundations.checks import check_sizes
from attention_book.models import LanguageConfig
from attention_book.runs.settings import (
    CORPORA,
    EITHER,
    NUM_BYTES,
    RunSettings,
    StoredSettings,
    TrainingSettings,
    check_corpus,
    checked_config,
    one_of,
    parsed,
)

#: Texts that come with the package, a document a line.
EMBEDDED = ("tang-poems", "austen")
#: The corpora with a name: embedded ones, and one language of those for translation.
TEXTS = (*EMBEDDED, *CORPORA)

Documents = Literal["auto", "lines", "paragraphs"]


@dataclass(frozen=True, kw_only=True)
class DocumentSettings:
    """What is read: a corpus by its name, or files of one's own, in UTF-8 (``.gz`` too).

    Attributes:
        corpus: One of :data:`TEXTS`; None: the files.
        train: The files, one after the other.
        validation: Likewise; none: some of the training documents are held out.
        test: Likewise.
        language: Which language of a corpus for translation.
        documents: What a document is: "lines", each one, or "paragraphs", what stands between
            blank lines; "auto": paragraphs where a file has blank lines within.
        num_train: How many documents to train on; None: all.
        held_out: The share of the documents that validation and test get each, where they have
            no files of their own.

    >>> DocumentSettings(corpus=None, train=("novel.txt",)).documents
    'auto'
    """

    corpus: str | None = "austen"
    train: tuple[str, ...] = ()
    validation: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    language: str = "en"
    documents: Documents = "auto"
    num_train: int | None = None
    held_out: float = 0.05

    def __post_init__(self) -> None:
        """Refuse now what would fail after minutes of training."""
        check_corpus(self, TEXTS)
        one_of("documents", self.documents, get_args(Documents))


Unit = Literal["auto", "characters", "subwords"]


@dataclass(frozen=True, kw_only=True)
class PieceSettings:
    """How a document is split into tokens.

    Attributes:
        unit: "characters", "subwords" (:class:`~attention_book.text.SubwordTokenizer`), or "auto":
            characters where the text has no blanks between its words, as Chinese.
        num_pieces: How many subwords, the 256 bytes among them, or how many characters at most,
            the most frequent; None: 1,000 subwords, or as many as the text has, and all
            characters.
        min_frequency: Rarer characters are unknown.
        lowercase: Whether text is read in lower case.

    >>> PieceSettings(unit="characters").min_frequency
    2
    """

    unit: Unit = "auto"
    num_pieces: int | None = None
    min_frequency: int = 2
    lowercase: bool = False

    def __post_init__(self) -> None:
        """Refuse now what would fail after minutes of training."""
        one_of("unit", self.unit, get_args(Unit))
        check_sizes(min_frequency=self.min_frequency)
        if self.num_pieces is not None:
            check_sizes(num_pieces=self.num_pieces)
            if self.unit == "subwords" and self.num_pieces < NUM_BYTES:
                raise ValueError(f"num_pieces: expected {NUM_BYTES} or more, got {self.num_pieces}")


_FROM_THE_TEXT = {"vocabulary", "bos", "eos", "pad", "ends", "causal"}
#: How large a head is where nothing is said of it.
_HEAD = 32


@dataclass(frozen=True, kw_only=True)
class DecoderSettings:
    """Which model, with which sizes: Llama's layers unless the settings say otherwise.

    Attributes:
        config: Settings of :class:`~attention_book.models.LanguageConfig`. Without them the model
            has four layers of 128, heads of 32, a feed-forward network of 8/3 as many units, and
            one matrix for embedding and output.
        context: How many tokens a row of the training has; a longer document is cut.

    >>> DecoderSettings(config={"d_model": 192}).model_config(vocabulary=100).num_heads
    6
    """

    config: Mapping[str, Any] = field(default_factory=dict, hash=False)
    context: int = 128

    def __post_init__(self) -> None:
        """Build a model's settings once, so that what is wrong in them is seen now."""
        found = checked_config(self.config, LanguageConfig, _FROM_THE_TEXT)
        check_sizes(context=self.context)
        if self.context < 2:
            raise ValueError(f"context: expected 2 or more, got {self.context}")
        object.__setattr__(self, "config", found)
        self.model_config(vocabulary=9)

    def model_config(self, *, vocabulary: int) -> LanguageConfig:
        """Return the settings that a model is built from."""
        d_model = self.config.get("d_model", 128)
        usual: dict[str, Any] = {
            "d_model": d_model,
            "num_heads": max(1, d_model // _HEAD),
            "num_layers": 4,
            "d_ff": 8 * max(1, round(d_model / 3)),
            "tied": True,
            "embedding_scale": 1.0,
            "max_positions": self.context,
        }
        return LanguageConfig.today(vocabulary=vocabulary, **usual | dict(self.config))


def usual_training(**changes: Any) -> TrainingSettings:
    """Return what works for models of 64 to 512: some minutes of one core at 128.

    >>> usual_training(steps=10).batch_tokens
    2048
    """
    plain: dict[str, Any] = {
        "epochs": None,
        "steps": 800,
        "batch_size": None,
        "batch_tokens": 2048,
        "learning_rate": 0.003,
        "betas": (0.9, 0.95),
        "weight_decay": 0.1,
        "warmup": 50,
        "validate_every": 100,
        "checkpoint_every": 100,
        "keep": 2,
    }
    return TrainingSettings(**plain | changes)


@dataclass(frozen=True, kw_only=True)
class LanguageSettings(StoredSettings):
    """All settings of a language model's run, in four parts; the file begins with its task.

    Attributes:
        data: What is read.
        text: How it is split.
        model: What is trained.
        training: And how.

    >>> settings = LanguageSettings(data=DocumentSettings(corpus="tang-poems"))
    >>> settings.to_toml().splitlines()[0]
    'task = "language"'
    >>> settings_from_toml(settings.to_toml()) == settings
    True
    """

    PARTS: ClassVar[Mapping[str, type[Any]]] = {
        "data": DocumentSettings,
        "text": PieceSettings,
        "model": DecoderSettings,
        "training": TrainingSettings,
    }
    TASK: ClassVar[str | None] = "language"
    data: DocumentSettings = field(default_factory=DocumentSettings)
    text: PieceSettings = field(default_factory=PieceSettings)
    model: DecoderSettings = field(default_factory=DecoderSettings)
    training: TrainingSettings = field(default_factory=usual_training)

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> "LanguageSettings":
        """Return the settings that these plain values say; of the rest what is usual here."""
        given = settings.get("training", {})
        if not isinstance(given, Mapping):
            return super().from_dict(settings)  # which says what is wrong
        said = {pair for pair in EITHER if any(given.get(name) is not None for name in pair)}
        usual = {
            name: value
            for name, value in vars(usual_training()).items()
            if not any(name in pair for pair in said)
        }
        return super().from_dict({**settings, "training": usual | dict(given)})


#: Settings of a run of either kind.
AnySettings = RunSettings | LanguageSettings


def settings_from_toml(text: str) -> AnySettings:
    """Read the settings of a translator's or a language model's run.

    >>> type(settings_from_toml("task = 'language'")).__name__
    'LanguageSettings'
    """
    if parsed(text).get("task") == LanguageSettings.TASK:
        return LanguageSettings.from_toml(text)
    return RunSettings.from_toml(text)
