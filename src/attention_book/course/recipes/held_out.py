"""Translations of held-out sentences by trained models, computed once and then kept."""

import hashlib
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from attention_book.course.recipes.named import named
from attention_book.course.recipes.recipe import Recipe
from attention_book.course.recipes.trained import TRAINED_FOLDER, model_file, trained
from attention_book.decoding import translate
from attention_book.metrics import corpus_bleu
from attention_book.models import Translator

Sentences = tuple[tuple[str, ...], ...]


def held_out_translations(recipe: Recipe | str, split: str) -> Sentences:
    """Return the greedy translations of a split of the recipe's corpus, tokens by sentence.

    They always come from the model that :func:`trained` returns; if you have changed a model,
    call :func:`~attention_book.decoding.translate` instead. Like the models, they are kept in
    the folder that ``ATTENTION_BOOK_TRAINED`` names, or in memory.

    Args:
        recipe: A recipe, or the name of one of the book's :data:`RECIPES`.
        split: One of ``recipe.splits()``, such as "random".

    Raises:
        ValueError: if the book has no recipe of that name, or the corpus no such split.

    >>> recipe = Recipe(name="tiny", num_train=64, num_test=3, epochs=1)
    >>> len(held_out_translations(recipe, "random"))
    3
    """
    recipe = named(recipe)
    if split not in recipe.splits():
        raise ValueError(f"split: expected one of {', '.join(recipe.splits())}, got {split!r}")
    folder = os.environ.get(TRAINED_FOLDER)
    return _in_folder(Path(folder), recipe, split) if folder else _in_memory(recipe, split)


def held_out_bleu(recipe: Recipe | str, split: str) -> float:
    """Return the corpus BLEU of :func:`held_out_translations`, 0 to 100.

    Raises:
        ValueError: as there.

    >>> recipe = Recipe(name="tiny", num_train=64, num_test=3, epochs=1)
    >>> 0 <= held_out_bleu(recipe, "random") <= 100
    True
    """
    recipe = named(recipe)
    found = held_out_translations(recipe, split)
    return corpus_bleu(found, [pair.target for pair in recipe.splits()[split]])


@cache
def _in_memory(recipe: Recipe, split: str) -> Sentences:
    learned = trained(recipe)
    sources = [pair.source for pair in recipe.splits()[split]]
    translator: Translator[Any, Any] = learned.model
    found = translate(
        translator, sources, learned.source_vocabulary, learned.target_vocabulary, batch_size=500
    )
    return tuple(each.tokens for each in found)


def _in_folder(folder: Path, recipe: Recipe, split: str) -> Sentences:
    """Read the translations of this very model, or make and write them."""
    trained(recipe)  # now the model's file is there
    weights = hashlib.sha256(model_file(folder, recipe).read_bytes()).hexdigest()
    path = model_file(folder, recipe).with_suffix(f".{split}.json")
    try:
        kept = json.loads(path.read_text(encoding="utf8"))
        if kept["weights"] == weights:
            return tuple(tuple(sentence) for sentence in kept["sentences"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        pass  # none yet, or cut off while it was written
    sentences = _in_memory.__wrapped__(recipe, split)
    unfinished = path.with_suffix(f".{os.getpid()}.part")
    text = json.dumps({"weights": weights, "sentences": sentences}, ensure_ascii=False)
    unfinished.write_text(text, encoding="utf8")
    unfinished.replace(path)
    return sentences


__all__ = ["held_out_bleu", "held_out_translations"]
