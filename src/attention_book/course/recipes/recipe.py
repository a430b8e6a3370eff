"""A recipe: everything that is needed to train a model, and to train the same one again."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, get_args

from attention_book.foundations.checks import (
    check_positive,
    check_probability,
    check_sizes,
    check_whole,
)
from attention_book.foundations.stored_settings import completed
from attention_book.models import Seq2SeqConfig, TransformerConfig
from attention_book.text import SentencePair, grammar_corpus
from attention_book.text.corpora import PhrasebookLanguage, check_languages, phrasebook

Corpus = Literal["grammar", "phrasebook"]
Splits = Mapping[str, tuple[SentencePair, ...]]

Config = Seq2SeqConfig | TransformerConfig

CONFIGS: Mapping[str, type[Config]] = MappingProxyType(
    {"seq2seq": Seq2SeqConfig, "transformer": TransformerConfig}
)
_SCHEDULES = ("constant", "linear", "inverse-square-root")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A corpus, a model and a training; the same recipe gives the same model.

    Attributes:
        name: Small letters, digits and hyphens; it names the file too.
        corpus: "grammar" (:func:`~attention_book.text.grammar_corpus`) or "phrasebook"
            (:func:`~attention_book.text.phrasebook`).
        source: The language to translate from: "en", "fr" or "zh".
        target: The language to translate to.
        num_train: How many pairs to train on; None: 8000 of the grammar, or the
            whole phrasebook. A part of the phrasebook is taken from its beginning.
        num_test: How many pairs in each of the grammar's four held-out splits.
        max_tokens: The longest sentence taken from the phrasebook; None: any.
        leave_out: Source sentences of the phrasebook, tokens joined by blanks, that are
            not trained on, whatever their translation; they make the split "left_out".
        corpus_seed: Draws the grammar's sentences.
        min_frequency: Words that are rarer in the training data are unknown.
        model: "seq2seq" (:class:`~attention_book.models.Seq2Seq`) or "transformer"
            (:class:`~attention_book.models.Transformer`).
        config: Settings of :class:`~attention_book.models.Seq2SeqConfig` or
            :class:`~attention_book.models.TransformerConfig`; the sizes of the
            vocabularies follow from the training data.
        xavier: Whether the weights start as :func:`~attention_book.training.xavier_`
            draws them, and not as torch does.
        epochs: How many epochs.
        batch_size: Sentence pairs to a step.
        learning_rate: Adam's.
        schedule: "constant", or, after the rise during the warm-up, "linear" (falls to 0)
            or "inverse-square-root".
        warmup: How many steps the learning rate rises.
        clip: The longest gradient that a step may follow; None: any.
        label_smoothing: How much probability is spread over the whole vocabulary.
        validate: Whether to report the loss on the grammar's validation split.
        seed: Draws the first weights, the order of the batches and dropout.

    >>> recipe = Recipe(name="luong", num_train=100, num_test=10, epochs=2,
    ...                 config={"attention": "luong-dot"})
    >>> {name: len(pairs) for name, pairs in recipe.splits().items()}
    {'train': 100, 'validation': 10, 'random': 10, 'compositional': 10, 'length': 10}
    >>> recipe.digest == Recipe(name="luong", epochs=3).digest
    False
    """

    name: str
    corpus: Corpus = "grammar"
    source: PhrasebookLanguage = "en"
    target: PhrasebookLanguage = "fr"
    num_train: int | None = None
    num_test: int = 500
    max_tokens: int | None = None
    leave_out: tuple[str, ...] = ()
    corpus_seed: int = 42
    min_frequency: int = 1
    model: Literal["seq2seq", "transformer"] = "seq2seq"
    config: Mapping[str, Any] = field(default_factory=dict, hash=False)
    xavier: bool = True
    epochs: int
    batch_size: int = 64
    learning_rate: float = 0.005
    schedule: Literal["constant", "linear", "inverse-square-root"] = "constant"
    warmup: int = 0
    clip: float | None = 1.0
    label_smoothing: float = 0.0
    validate: bool = False
    seed: int = 42

    def __post_init__(self) -> None:
        """Refuse now what would fail after minutes of training."""
        if not re.fullmatch(r"[a-z0-9-]+", self.name):
            raise ValueError(f"name: expected small letters, digits and hyphens, got {self.name!r}")
        if self.corpus not in get_args(Corpus):
            raise ValueError(f"corpus: expected 'grammar' or 'phrasebook', got {self.corpus!r}")
        if self.model not in CONFIGS:
            raise ValueError(f"model: expected one of {tuple(CONFIGS)}, got {self.model!r}")
        if self.schedule not in _SCHEDULES:
            raise ValueError(f"schedule: expected one of {_SCHEDULES}, got {self.schedule!r}")
        check_languages(self.source, self.target)
        self._check_numbers()
        self._check_what_goes_together()
        # A read-only copy: the digest must stay valid.
        object.__setattr__(self, "config", MappingProxyType(dict(self.config)))
        self.model_config(source_vocabulary=1, target_vocabulary=1)

    def _check_numbers(self) -> None:
        sizes = {
            name: getattr(self, name)
            for name in ("num_train", "max_tokens", "min_frequency", "epochs", "batch_size")
        }
        check_sizes(**{name: size for name, size in sizes.items() if size is not None})
        check_whole(num_test=self.num_test, warmup=self.warmup, seed=self.seed)
        check_whole(corpus_seed=self.corpus_seed)
        check_positive("learning_rate", self.learning_rate)
        if self.clip is not None:
            check_positive("clip", self.clip)
        check_probability("label_smoothing", self.label_smoothing)
        for name in ("num_test", "warmup"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: expected 0 or more, got {getattr(self, name)}")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed: expected a number from 0 to 2**32 - 1, got {self.seed}")

    def _check_what_goes_together(self) -> None:
        if self.corpus == "grammar" and (self.max_tokens is not None or self.leave_out):
            raise ValueError(
                "max_tokens, leave_out: expected with the phrasebook only, "
                f"got {self.max_tokens} and {self.leave_out} with the grammar"
            )
        if self.corpus == "phrasebook" and self.validate:
            raise ValueError("validate: expected False with the phrasebook, which has no such data")
        if self.schedule == "constant" and self.warmup:
            raise ValueError(f"warmup: expected 0 with a constant schedule, got {self.warmup}")
        if self.schedule == "inverse-square-root" and not self.warmup:
            raise ValueError("warmup: expected 1 or more with 'inverse-square-root', got 0")

    def model_config(self, *, source_vocabulary: int, target_vocabulary: int) -> Config:
        """Return the model's settings, once the vocabularies' sizes are known."""
        return CONFIGS[self.model](
            source_vocabulary=source_vocabulary, target_vocabulary=target_vocabulary, **self.config
        )

    def splits(self) -> Splits:
        """Return the corpus by split: "train" and "left_out", or the five of the grammar."""
        return _splits(
            self.corpus,
            self.source,
            self.target,
            num_train=self.num_train,
            num_test=self.num_test,
            max_tokens=self.max_tokens,
            leave_out=self.leave_out,
            seed=self.corpus_seed,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as plain values, as JSON would return them."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        plain: dict[str, Any] = json.loads(json.dumps({**values, "config": dict(self.config)}))
        return plain

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> "Recipe":
        """Return the recipe that :meth:`to_dict` was called on.

        Settings that a recipe did not have when it was written down have their defaults.
        """
        whole = completed(cls, settings)
        return cls(**{**whole, "leave_out": tuple(whole["leave_out"])})

    @property
    def digest(self) -> str:
        """A short number made of all settings; other settings give another one."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def _splits(
    corpus: Corpus,
    source: PhrasebookLanguage,
    target: PhrasebookLanguage,
    *,
    num_train: int | None,
    num_test: int,
    max_tokens: int | None,
    leave_out: tuple[str, ...],
    seed: int,
) -> Splits:
    if corpus == "phrasebook":
        pairs = phrasebook(source, target, max_tokens=max_tokens)
        return MappingProxyType(_left_out(pairs, leave_out, num_train))
    size = {} if num_train is None else {"num_train": num_train}
    drawn = grammar_corpus(source, target, num_test=num_test, seed=seed, **size)
    return MappingProxyType({each.name: getattr(drawn, each.name) for each in fields(drawn)})


def _left_out(
    pairs: tuple[SentencePair, ...], leave_out: tuple[str, ...], num_train: int | None
) -> dict[str, tuple[SentencePair, ...]]:
    sources = {" ".join(pair.source) for pair in pairs}
    for sentence in leave_out:
        if sentence not in sources:
            raise ValueError(f"leave_out: expected sentences of the corpus, got {sentence!r}")
    train = tuple(pair for pair in pairs if " ".join(pair.source) not in leave_out)
    left_out = tuple(pair for pair in pairs if " ".join(pair.source) in leave_out)
    return {"train": train[:num_train], "left_out": left_out}
