"""The recipes of the book's chapters, by name."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from attention_book.course.recipes.recipe import Recipe
from attention_book.text.corpora import PhrasebookLanguage

# One setting for all models of the grammar, so that they differ in their attention alone.
_SIZES = {"d_embed": 64, "d_hidden": 96, "num_layers": 1, "dropout": 0.0, "bidirectional": True}


def _grammar(
    name: str,
    attention: str,
    *,
    source: PhrasebookLanguage = "en",
    target: PhrasebookLanguage = "fr",
    seed: int = 1,
    **changes: object,
) -> Recipe:
    return Recipe(
        name=f"{name}-{source}-{target}-{seed}",
        source=source,
        target=target,
        config={**_SIZES, "attention": attention, **changes},
        epochs=5,
        batch_size=128,
        learning_rate=0.01,
        schedule="linear",
        seed=seed,
    )


# The classic demonstration, with its settings; one of its four test sentences is left out of the
# training, as it was there.
_PHRASEBOOK = Recipe(
    name="phrasebook-bahdanau",
    corpus="phrasebook",
    num_train=600,
    leave_out=("he's calm .",),
    max_tokens=10,
    config={"attention": "bahdanau", "d_embed": 32, "d_hidden": 32, "num_layers": 2,
            "dropout": 0.1},
    epochs=250,
    batch_size=64,
    learning_rate=0.005,
)  # fmt: skip

# The Transformer on the same data.
_TRANSFORMER_SIZES = {"d_model": 64, "num_heads": 4, "d_ff": 128, "num_layers": 2,
                      "dropout": 0.0, "norm": "pre"}  # fmt: skip


def _transformer(
    name: str = "transformer",
    *,
    source: PhrasebookLanguage = "en",
    target: PhrasebookLanguage = "fr",
    seed: int = 1,
    warmup: int = 60,
    label_smoothing: float = 0.0,
    **changes: object,
) -> Recipe:
    return Recipe(
        name=f"{name}-{source}-{target}-{seed}",
        source=source,
        target=target,
        model="transformer",
        config={**_TRANSFORMER_SIZES, **changes},
        epochs=3,
        batch_size=64,
        learning_rate=0.005,
        schedule="linear",
        warmup=warmup,
        label_smoothing=label_smoothing,
        seed=seed,
    )


# The classic demonstration's Transformer, on the same phrases as its recurrent model.
_PHRASEBOOK_TRANSFORMER = replace(
    _PHRASEBOOK,
    name="phrasebook-transformer",
    model="transformer",
    config={"d_model": 32, "num_heads": 4, "d_ff": 64, "num_layers": 2, "dropout": 0.1},
    epochs=200,
)

#: Name of each recipe that the chapters use, to the recipe.
RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        recipe.name: recipe
        for recipe in (
            *(_grammar("none", "none", seed=seed) for seed in (1, 2, 3)),
            *(_grammar("bahdanau", "bahdanau", seed=seed) for seed in (1, 2, 3)),
            *(_grammar("luong", "luong-general", seed=seed) for seed in (1, 2, 3)),
            _grammar("bahdanau", "bahdanau", source="en", target="zh"),
            _grammar("bahdanau", "bahdanau", source="zh", target="en"),
            _grammar("bahdanau-one-way", "bahdanau", bidirectional=False),
            _grammar("luong-one-way", "luong-general", bidirectional=False),
            _grammar("none-wide", "none", d_hidden=192),
            _PHRASEBOOK,
            *(_transformer(seed=seed) for seed in (1, 2, 3)),
            _transformer(source="en", target="zh"),
            _transformer(source="zh", target="en"),
            *(
                _transformer(f"transformer-{kind}", positions=kind)
                for kind in ("relative", "rotary", "none")
            ),
            _transformer("transformer-smoothed", label_smoothing=0.1),
            _transformer("transformer-post-no-warmup", norm="post", warmup=0),
            _PHRASEBOOK_TRANSFORMER,
        )
    }
)


def named(recipe: Recipe | str) -> Recipe:
    """Return the recipe of a name; a recipe itself is returned as it is."""
    if isinstance(recipe, Recipe):
        return recipe
    if recipe not in RECIPES:
        raise ValueError(f"recipe: expected one of {', '.join(RECIPES)}, got {recipe!r}")
    return RECIPES[recipe]
