"""The settings of the model: its kind and its sizes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_type_hints

from attention_book.course.recipes.recipe import CONFIGS, Config
from attention_book.runs.settings.checking import check_type, known_names, one_of

#: What the vocabularies say, and no settings.
FROM_THE_TEXT = {"source_vocabulary", "target_vocabulary", "bos", "eos", "pad"}
# No size is larger; torch counts what it makes of several of them in 64 bits.
_LARGEST = 1_000_000


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

    Raises:
        ValueError: if the model knows no such setting, or it is of another type or out of its
            range; or it is one that follows from the text.

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
        kinds = get_type_hints(CONFIGS[self.kind])
        known_names("config", self.config, kinds.keys() - FROM_THE_TEXT)
        for name, value in self.config.items():
            check_type(name, value, kinds[name])
            if isinstance(value, int) and abs(value) > _LARGEST:
                raise ValueError(f"{name}: expected at most {_LARGEST}, got {value}")
        object.__setattr__(self, "config", MappingProxyType(dict(self.config)))
        self.model_config(source_vocabulary=9, target_vocabulary=9)

    def model_config(self, *, source_vocabulary: int, target_vocabulary: int) -> Config:
        """Return the settings that a model is built from."""
        return CONFIGS[self.kind](
            source_vocabulary=source_vocabulary, target_vocabulary=target_vocabulary, **self.config
        )
