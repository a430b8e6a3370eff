"""Settings of a training on text: data, text, model and training, as a TOML file says them."""

from attention_book.runs.settings.data import CORPORA, DataSettings
from attention_book.runs.settings.model import ModelSettings
from attention_book.runs.settings.run import RunSettings
from attention_book.runs.settings.text import TextSettings
from attention_book.runs.settings.text_recipes import TEXT_RECIPES
from attention_book.runs.settings.training import TrainingSettings

__all__ = [
    "CORPORA",
    "TEXT_RECIPES",
    "DataSettings",
    "ModelSettings",
    "RunSettings",
    "TextSettings",
    "TrainingSettings",
]
