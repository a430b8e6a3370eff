"""Trained models by the name of their recipe, trained once and then kept."""

from attention_book.course.recipes.named import RECIPES
from attention_book.course.recipes.recipe import Recipe
from attention_book.course.recipes.trained import (
    Trained,
    held_out_bleu,
    held_out_translations,
    trained,
    trained_all,
)

__all__ = [
    "RECIPES",
    "Recipe",
    "Trained",
    "held_out_bleu",
    "held_out_translations",
    "trained",
    "trained_all",
]
