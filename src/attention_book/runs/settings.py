"""Settings of a training on text: data, text, model and training, as a TOML file says them."""

import difflib
import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, fields
from importlib.resources import files
from types import MappingProxyType, UnionType
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from attention_book.course.recipes.named import named
from attention_book.course.recipes.recipe import CONFIGS, Config, Recipe
from attention_book.foundations.checks import (
    check_positive,
    check_probability,
    check_sizes,
    check_whole,
)
from attention_book.foundations.environment import from_extra


def one_of(name: str, value: object, kinds: Iterable[str]) -> None:
    """Check that a setting is one of several."""
    known = tuple(kinds)
    if value not in known:
        raise ValueError(f"{name}: expected one of {', '.join(known)}, got {near(value, known)}")


def known_names(where: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Check that there is a setting of every name."""
    all_known = tuple(known)
    for name in names:
        if name not in all_known:
            raise ValueError(f"{where}: expected known settings, got {near(name, all_known)}")


def near(value: object, known: Iterable[str]) -> str:
    """Return the value in quotation marks, and what may have been meant.

    >>> near("learning_rat", ["warmup", "learning_rate"])
    "'learning_rat'; did you mean 'learning_rate'?"
    """
    close = difflib.get_close_matches(str(value), list(known), n=1)
    return f"{value!r}; did you mean {close[0]!r}?" if close else repr(value)


def check_type(name: str, value: object, annotation: Any) -> None:
    """Check what a file gives against the type that a setting has.

    >>> check_type("training.warmup", "many", int)
    Traceback (most recent call last):
    ValueError: training.warmup: expected int, got 'many'
    """
    if not _is(value, annotation):
        expected = getattr(annotation, "__name__", None) if not get_args(annotation) else None
        raise ValueError(f"{name}: expected {expected or _written(annotation)}, got {value!r}")


def _is(value: object, annotation: Any) -> bool:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return isinstance(value, str)  # whether it is one of them is asked elsewhere
    if origin in (Union, UnionType):
        return any(_is(value, each) for each in inner)
    if origin is tuple:
        kinds = inner[:1] * len(value) if isinstance(value, tuple) and inner[-1] is ... else inner
        return isinstance(value, tuple) and len(value) == len(kinds) and all(map(_is, value, kinds))
    if annotation in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, (int, float) if annotation is float else origin or annotation)


def _written(annotation: Any) -> str:
    """Return a type as an error names it: "int or None", "a list of str"."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return " or ".join("nothing" if each is type(None) else _written(each) for each in inner)
    if origin is tuple:
        return f"a list of {_written(inner[0])}"
    if origin is Literal:
        return "a word"
    return "a table" if origin is not None else str(annotation.__name__)


#: The corpora with a name, each of which knows its languages and splits.
CORPORA = ("grammar", "phrasebook", "tatoeba-eng-fra", "multi30k-en-de", "multi30k-en-fr")


def check_corpus(data: Any, names: Iterable[str]) -> None:
    """Check what any corpus says of itself: its name or files, and how much of it is read.

    Args:
        data: The settings, which have ``corpus``, ``train``, ``validation``, ``test``,
            ``num_train`` and ``held_out``.
        names: The corpora that have a name.
    """
    files = (data.train, data.validation, data.test)
    if (data.corpus is None) != bool(data.train) or (data.corpus and any(files)):
        raise ValueError(
            f"corpus, train: expected a corpus by name or files of your own, "
            f"got {data.corpus!r} and {data.train}"
        )
    if data.corpus is not None:
        one_of("corpus", data.corpus, names)
    if not 0 < data.held_out < 0.5:
        raise ValueError(f"held_out: expected a share below a half, got {data.held_out}")
    if data.num_train is not None:
        check_sizes(num_train=data.num_train)


OnProblem = Literal["raise", "skip"]


@dataclass(frozen=True, kw_only=True)
class DataSettings:
    """What is read: a corpus by its name, or files of one's own.

    A file has lines "source TAB target"; two parallel files have a sentence a line each. A
    name that ends in ``.gz`` is unpacked on the way.

    Attributes:
        corpus: One of :data:`CORPORA`; None: the files.
        train: One file, or two parallel ones.
        validation: Likewise; none: some of the training lines are held out.
        test: Likewise.
        source: The language to translate from: "en", or any other short name.
        target: The language to translate to.
        num_train: How many pairs to train on; None: all.
        held_out: The share of the sources that validation and test get each, where they have
            no files of their own. A source sentence is in one part only, whatever its
            translations, and in the same one each time.
        max_tokens: Pairs with a longer side are left out of the training, and counted.
        on_problem: What is done with a line that is no pair of sentences (no tab, a bad
            encoding, an empty side): "raise" stops and names it; "skip" leaves it out, and
            counts it.

    >>> DataSettings(corpus=None, train=("pairs.tsv",), source="en", target="it").target
    'it'
    """

    corpus: str | None = "grammar"
    train: tuple[str, ...] = ()
    validation: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    source: str = "en"
    target: str = "fr"
    num_train: int | None = None
    held_out: float = 0.02
    max_tokens: int = 256
    on_problem: OnProblem = "raise"

    def __post_init__(self) -> None:
        """Refuse now what would fail after minutes of training."""
        check_corpus(self, CORPORA)
        for name in ("train", "validation", "test"):
            if len(getattr(self, name)) > 2:
                raise ValueError(
                    f"{name}: expected one file or two, got {len(getattr(self, name))}"
                )
        one_of("on_problem", self.on_problem, get_args(OnProblem))
        check_sizes(max_tokens=self.max_tokens)


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


#: What the vocabularies say, and no settings.
FROM_THE_TEXT = {"source_vocabulary", "target_vocabulary", "bos", "eos", "pad"}
#: No size is larger; torch counts what it makes of several of them in 64 bits.
LARGEST = 1_000_000


def checked_config(
    config: Mapping[str, Any], kind: type[Any], not_settings: Set[str]
) -> Mapping[str, Any]:
    """Return what a file says of a model, checked against its fields, and no longer changed.

    Args:
        config: Names, and values.
        kind: The configuration that a model is built from.
        not_settings: Those of its fields that follow from the text.
    """
    kinds = get_type_hints(kind)
    known_names("config", config, kinds.keys() - not_settings)
    for name, value in config.items():
        check_type(name, value, kinds[name])
        if isinstance(value, int) and abs(value) > LARGEST:
            raise ValueError(f"{name}: expected at most {LARGEST}, got {value}")
    return MappingProxyType(dict(config))


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """Which model, with which sizes.

    Attributes:
        kind: "transformer" or "seq2seq".
        config: Settings of :class:`~attention_book.models.TransformerConfig` or
            :class:`~attention_book.models.Seq2SeqConfig`; the vocabularies' sizes follow from
            the text.
        xavier: Whether the weights start as :func:`~attention_book.training.xavier_` draws
            them, and not as torch does.

    >>> settings = ModelSettings(kind="seq2seq", config={"attention": "bahdanau"})
    >>> settings.model_config(source_vocabulary=10, target_vocabulary=12).attention
    'bahdanau'
    """

    kind: Literal["transformer", "seq2seq"] = "transformer"
    config: Mapping[str, Any] = field(default_factory=dict, hash=False)
    xavier: bool = True

    def __post_init__(self) -> None:
        """Build a model's settings once, so that what is wrong in them is seen now."""
        one_of("kind", self.kind, tuple(CONFIGS))
        found = checked_config(self.config, CONFIGS[self.kind], FROM_THE_TEXT)
        object.__setattr__(self, "config", found)
        self.model_config(source_vocabulary=9, target_vocabulary=9)

    def model_config(self, *, source_vocabulary: int, target_vocabulary: int) -> Config:
        """Return the settings that a model is built from."""
        return CONFIGS[self.kind](
            source_vocabulary=source_vocabulary, target_vocabulary=target_vocabulary, **self.config
        )


ScheduleKind = Literal["constant", "linear", "inverse-square-root"]
Precision = Literal["float32", "bfloat16", "float16"]
Device = Literal["auto", "cpu", "cuda", "mps"]


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How the model is trained, and how often it is looked at and kept.

    Attributes:
        epochs: How often to go through the data; or None, and then ``steps`` says how long.
        steps: How many steps; or None.
        batch_size: Sentence pairs to a batch; or None, and then ``batch_tokens`` counts.
        batch_tokens: Places to a batch, padding included, on the longer side; or None.
        learning_rate: Adam's, at its peak.
        betas: Adam's.
        weight_decay: Adam's, decoupled (AdamW), of matrices; gains and biases are left alone.
        schedule: "constant", or, after the rise during the warm-up, "linear" (falls to 0) or
            "inverse-square-root".
        warmup: How many steps the learning rate rises, whatever the schedule. A training that is
            shorter rises to its last step.
        clip: The longest gradient that a step may follow; 0: any.
        label_smoothing: How much probability is spread over the whole vocabulary.
        accumulate: How many batches make a step.
        precision: The type that the forward pass computes in wherever that is safe.
        compile: Whether ``torch.compile`` prepares the model first.
        sharded: Whether several processes share one copy of the weights (FSDP2), rather than
            hold a copy each (DDP).
        device: "cpu", "cuda", "mps" (Apple's GPU), or "auto": "cuda" if there is one, else the CPU.
        validate_every: Steps between two looks at the validation data; None: an epoch.
        checkpoint_every: Steps between two checkpoints; None: an epoch.
        keep: How many checkpoints are kept, the latest; one that an interruption left does not
            count.
        average: The mean of so many of the last checkpoints is the result; 0: none is made.
        seed: Draws the first weights, the order of the batches and dropout.

    >>> TrainingSettings(epochs=None, steps=1000, batch_size=None, batch_tokens=4096).steps
    1000
    """

    epochs: int | None = 3
    steps: int | None = None
    batch_size: int | None = 64
    batch_tokens: int | None = None
    learning_rate: float = 0.005
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0
    schedule: ScheduleKind = "linear"
    warmup: int = 60
    clip: float = 1.0
    label_smoothing: float = 0.0
    accumulate: int = 1
    precision: Precision = "float32"
    compile: bool = False
    sharded: bool = False
    device: Device = "auto"
    validate_every: int | None = None
    checkpoint_every: int | None = None
    keep: int = 5
    average: int = 0
    seed: int = 42

    def __post_init__(self) -> None:
        """Refuse now what would fail after minutes of training."""
        for one, other in (("epochs", "steps"), ("batch_size", "batch_tokens")):
            if (getattr(self, one) is None) == (getattr(self, other) is None):
                got = f"{getattr(self, one)} and {getattr(self, other)}"
                raise ValueError(f"{one}, {other}: expected one of the two, got {got}")
        for name, kinds in (
            ("schedule", ScheduleKind),
            ("precision", Precision),
            ("device", Device),
        ):
            one_of(name, getattr(self, name), get_args(kinds))
        self._check_numbers()

    def _check_numbers(self) -> None:
        names = ("epochs", "steps", "batch_size", "batch_tokens", "accumulate", "keep")
        sizes = {
            name: getattr(self, name) for name in (*names, "validate_every", "checkpoint_every")
        }
        check_sizes(**{name: size for name, size in sizes.items() if size is not None})
        check_whole(warmup=self.warmup, average=self.average, seed=self.seed)
        check_positive("learning_rate", self.learning_rate)
        check_probability("label_smoothing", self.label_smoothing)
        for name in ("warmup", "weight_decay", "average", "clip"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: expected 0 or more, got {getattr(self, name)}")
        if self.sharded and self.precision == "float16":
            raise ValueError("precision: expected float32 or bfloat16 if sharded, got 'float16'")
        if self.average > self.keep:
            raise ValueError(f"average: expected at most keep={self.keep}, got {self.average}")
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas: expected two numbers from 0 to below 1, got {self.betas}")
        if self.schedule == "inverse-square-root" and not self.warmup:
            raise ValueError("warmup: expected 1 or more with 'inverse-square-root', got 0")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed: expected a number from 0 to 2**32 - 1, got {self.seed}")


_FOLDER = files("attention_book.runs") / "named"
#: The names, in the order of the alphabet.
TEXT_RECIPES: tuple[str, ...] = tuple(
    sorted(
        file.name.removesuffix(".toml") for file in _FOLDER.iterdir() if file.name.endswith(".toml")
    )
)


def text_of(name: str) -> str:
    """Return the text of a recipe's file.

    >>> text_of("multi30k-en-de").splitlines()[2]
    '[data]'
    """
    return (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")


Stored = TypeVar("Stored", bound="StoredSettings")


class StoredSettings:
    """Settings in parts, between Python and the text of a TOML file, a table for each part."""

    #: The parts, by name.
    PARTS: ClassVar[Mapping[str, type[Any]]]
    #: The task that the file names, so that other settings are not taken for these, or None.
    TASK: ClassVar[str | None] = None

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as plain values, as JSON would return them."""
        parts = {name: dict(vars(getattr(self, name))) for name in self.PARTS}
        parts["model"]["config"] = dict(parts["model"]["config"])
        plain: dict[str, Any] = json.loads(json.dumps(parts))
        return plain

    @classmethod
    def from_dict(cls: type[Stored], settings: Mapping[str, Any]) -> Stored:
        """Return the settings that these plain values say; what they leave out has its default."""
        known_names("settings", settings, cls.PARTS)
        return cls(
            **{name: _part(name, kind, settings.get(name, {})) for name, kind in cls.PARTS.items()}
        )

    def to_toml(self) -> str:
        """Return the settings as the text of a TOML file; None, which TOML lacks, is left out."""
        with from_extra("command", "tomli-w"):
            import tomli_w
        parts = self.to_dict()
        # TOML has no null: of two settings that exclude each other, the other one is there.
        said: dict[str, Any] = {} if self.TASK is None else {"task": self.TASK}
        said |= {
            part: {name: value for name, value in values.items() if value is not None}
            for part, values in parts.items()
        }
        return tomli_w.dumps(said)

    @classmethod
    def from_toml(cls: type[Stored], text: str) -> Stored:
        """Read settings from the text of a TOML file."""
        content = parsed(text)
        if (task := content.pop("task", None)) != cls.TASK:
            raise ValueError(f"task: expected {cls.TASK or 'nothing'}, got {task!r}")
        return cls.from_dict(content)

    @property
    def digest(self) -> str:
        """A short number made of all settings; other settings give another one."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def parsed(text: str) -> dict[str, Any]:
    """Return what a TOML file says.

    >>> parsed("task = 'language'")
    {'task': 'language'}
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"settings: expected TOML, got something else: {error}") from error
    except RecursionError as error:
        raise ValueError("settings: expected TOML, got tables that are too deep") from error


@dataclass(frozen=True, kw_only=True)
class RunSettings(StoredSettings):
    """All settings of a run, in four parts, each with its own table in the TOML file.

    Attributes:
        data: What is read.
        text: How it is split.
        model: What is trained.
        training: And how.

    >>> settings = RunSettings(training=TrainingSettings(seed=7))
    >>> RunSettings.from_toml(settings.to_toml()) == settings
    True
    >>> RunSettings.from_toml("[training]\\nlearning_rat = 0.1")
    Traceback (most recent call last):
    ValueError: training: expected known settings, got 'learning_rat'; did you mean 'learning_rate'?
    """

    PARTS: ClassVar[Mapping[str, type[Any]]] = {
        "data": DataSettings,
        "text": TextSettings,
        "model": ModelSettings,
        "training": TrainingSettings,
    }
    data: DataSettings = field(default_factory=DataSettings)
    text: TextSettings = field(default_factory=TextSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)

    def __post_init__(self) -> None:
        """Refuse what does not go together, before anything is read or learned."""
        if self.model.config.get("shared") and not (
            self.text.unit == "subwords" and self.text.shared
        ):
            raise ValueError(
                "model.config.shared: expected with subwords that both languages share, "
                f"got it with text.unit={self.text.unit!r}, text.shared={self.text.shared}"
            )

    @classmethod
    def from_recipe(cls, recipe: Recipe | str) -> "RunSettings":
        """Return the settings of a recipe: of one for real text, or of one of the book's models.

        The numbers are the recipe's. Where it is a model of the book, batches are drawn
        otherwise, so this one is as good, but not the same.

        >>> RunSettings.from_recipe("transformer-en-fr-1").training.epochs
        3
        >>> RunSettings.from_recipe("multi30k-en-de").text.num_pieces
        10000
        """
        if isinstance(recipe, str) and recipe in TEXT_RECIPES:
            return cls.from_toml(text_of(recipe))
        recipe = named(recipe)
        return cls(
            data=DataSettings(
                corpus=recipe.corpus,
                source=recipe.source,
                target=recipe.target,
                num_train=recipe.num_train,
            ),
            text=TextSettings(min_frequency=recipe.min_frequency),
            model=ModelSettings(kind=recipe.model, config=recipe.config, xavier=recipe.xavier),
            training=TrainingSettings(
                epochs=recipe.epochs,
                batch_size=recipe.batch_size,
                learning_rate=recipe.learning_rate,
                schedule=recipe.schedule,
                warmup=recipe.warmup,
                clip=recipe.clip or 0.0,
                label_smoothing=recipe.label_smoothing,
                seed=recipe.seed,
            ),
        )


#: Of these pairs one is said; that the other is None goes without saying.
EITHER = (("epochs", "steps"), ("batch_size", "batch_tokens"))


def _part(name: str, kind: type[Any], values: object) -> Any:
    """Return one part of the settings from what a file says of it."""
    if not isinstance(values, Mapping):
        raise ValueError(f"{name}: expected a table of settings, got {values!r}")
    known = {each.name: each for each in fields(kind)}
    known_names(name, values, known)
    given = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
    for pair in EITHER:
        for one, other in (pair, pair[::-1]):
            if name == "training" and given.get(one) is not None:
                given.setdefault(other, None)
    if name == "data" and given.get("train"):
        given.setdefault("corpus", None)
    for key, value in given.items():
        check_type(f"{name}.{key}", value, get_type_hints(kind)[key])
    return kind(**given)
