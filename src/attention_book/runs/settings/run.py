"""All settings of a run, read from TOML and written to it."""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, get_type_hints

from attention_book.course.recipes.named import named
from attention_book.course.recipes.recipe import Recipe
from attention_book.foundations.environment import from_extra
from attention_book.runs.settings.checking import check_type, known_names
from attention_book.runs.settings.data import DataSettings
from attention_book.runs.settings.model import ModelSettings
from attention_book.runs.settings.text import TextSettings
from attention_book.runs.settings.text_recipes import TEXT_RECIPES, text_of
from attention_book.runs.settings.training import TrainingSettings


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """All settings of a run, in four parts, each with its own table in the TOML file.

    Attributes:
        data: What is read.
        text: How it is split.
        model: What is trained.
        training: And how.

    Raises:
        ValueError: if one matrix is to be shared by two vocabularies.

    >>> settings = RunSettings(training=TrainingSettings(seed=7))
    >>> RunSettings.from_toml(settings.to_toml()) == settings
    True
    >>> RunSettings.from_toml("[training]\\nlearning_rat = 0.1")
    Traceback (most recent call last):
    ValueError: training: expected known settings, got 'learning_rat'; did you mean 'learning_rate'?
    """

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

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as plain values, as JSON would return them."""
        parts = {name: dict(vars(part)) for name, part in vars(self).items()}
        parts["model"]["config"] = dict(self.model.config)
        plain: dict[str, Any] = json.loads(json.dumps(parts))
        return plain

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> "RunSettings":
        """Return the settings that these plain values say; what they leave out has its default.

        Raises:
            ValueError: if a setting is unknown, of another type, or out of its range.
        """
        known_names("settings", settings, PARTS)
        return cls(**{name: _part(name, settings.get(name, {})) for name in PARTS})

    def to_toml(self) -> str:
        """Return the settings as the text of a TOML file; None, which TOML lacks, is left out.

        Raises:
            ImportError: if tomli-w is not installed.
        """
        with from_extra("command", "tomli-w"):
            import tomli_w
        parts = self.to_dict()
        # TOML has no null: of two settings that exclude each other, the other one is there.
        said = {
            part: {name: value for name, value in values.items() if value is not None}
            for part, values in parts.items()
        }
        return tomli_w.dumps(said)

    @classmethod
    def from_toml(cls, text: str) -> "RunSettings":
        """Read settings from the text of a TOML file.

        Raises:
            ValueError: if it is no TOML, or as in :meth:`from_dict`.
        """
        try:
            content = tomllib.loads(text)
            return cls.from_dict(content)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"settings: expected TOML, got something else: {error}") from error
        except RecursionError as error:
            raise ValueError("settings: expected TOML, got tables that are too deep") from error

    @classmethod
    def from_recipe(cls, recipe: Recipe | str) -> "RunSettings":
        """Return the settings of a recipe: of one for real text, or of one of the book's models.

        The numbers are the recipe's. Where it is a model of the book, batches are drawn
        otherwise, so this one is as good, but not the same.

        Raises:
            ValueError: if there is no recipe of that name.

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

    @property
    def digest(self) -> str:
        """A short number made of all settings; other settings give another one."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


PARTS: Mapping[str, type[Any]] = {
    "data": DataSettings,
    "text": TextSettings,
    "model": ModelSettings,
    "training": TrainingSettings,
}
#: Of these pairs one is said; that the other is None goes without saying.
EITHER = (("epochs", "steps"), ("batch_size", "batch_tokens"))


def _part(name: str, values: object) -> Any:
    """Return one part of the settings from what a file says of it."""
    if not isinstance(values, Mapping):
        raise ValueError(f"{name}: expected a table of settings, got {values!r}")
    known = {each.name: each for each in fields(PARTS[name])}
    known_names(name, values, known)
    given = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
    for pair in EITHER:
        for one, other in (pair, pair[::-1]):
            if name == "training" and given.get(one) is not None:
                given.setdefault(other, None)
    if name == "data" and given.get("train"):
        given.setdefault("corpus", None)
    for key, value in given.items():
        check_type(f"{name}.{key}", value, get_type_hints(PARTS[name])[key])
    return PARTS[name](**given)
