"""A recipe says all about a model, and nothing that it can't keep."""

import json
import re
from dataclasses import fields, replace

import pytest

from attention_book.course.recipes import Recipe
from attention_book.text import grammar_corpus
from attention_book.text.phrases import phrasebook

GRAMMAR = Recipe(name="words", num_train=30, num_test=3, epochs=2)
PHRASES = Recipe(name="phrases", corpus="phrasebook", epochs=2)

# Another value for every field.
CHANGES = {
    "name": "other", "corpus": "phrasebook", "source": "zh", "target": "zh", "num_train": 31,
    "num_test": 4, "max_tokens": 9, "leave_out": ("go .",), "corpus_seed": 43, "min_frequency": 2,
    "config": {"d_hidden": 33}, "xavier": False, "epochs": 3, "batch_size": 65,
    "learning_rate": 0.006, "schedule": "linear", "warmup": 1, "clip": None,
    "label_smoothing": 0.1, "validate": True, "seed": 43, "model": "transformer",
}  # fmt: skip
# What a field's other value needs to be allowed.
NEEDS = {
    "max_tokens": PHRASES,
    "leave_out": PHRASES,
    "warmup": replace(GRAMMAR, schedule="linear"),
}


def test_every_field_has_its_share_in_the_digest() -> None:
    assert set(CHANGES) == {each.name for each in fields(Recipe)}
    digests = set()
    for name, value in CHANGES.items():
        recipe = NEEDS.get(name, GRAMMAR)
        changed = replace(recipe, **{name: value})
        assert changed.digest != recipe.digest, name
        digests.add(changed.digest)
    assert len(digests) == len(CHANGES)


def test_the_order_of_the_settings_does_not_matter() -> None:
    one = replace(GRAMMAR, config={"d_embed": 5, "d_hidden": 7})
    other = replace(GRAMMAR, config={"d_hidden": 7, "d_embed": 5})
    assert one == other
    assert one.digest == other.digest
    assert re.fullmatch("[0-9a-f]{16}", one.digest)


def test_a_recipe_is_a_value() -> None:
    assert Recipe(name="words", num_train=30, num_test=3, epochs=2) == GRAMMAR
    assert len({GRAMMAR, replace(GRAMMAR), replace(GRAMMAR, seed=1)}) == 2
    recipe = replace(PHRASES, leave_out=("go .",), config={"d_hidden": 8})
    assert json.loads(json.dumps(recipe.to_dict())) == recipe.to_dict()
    assert Recipe.from_dict(recipe.to_dict()) == recipe
    older = {name: value for name, value in recipe.to_dict().items() if name != "validate"}
    assert Recipe.from_dict(older) == recipe
    with pytest.raises(ValueError, match="Recipe: expected the setting epochs, got none"):
        Recipe.from_dict({"name": "old"})


def test_nobody_can_change_the_settings_afterwards() -> None:
    config = {"d_hidden": 8}
    recipe = replace(GRAMMAR, config=config)
    config["d_hidden"] = 9
    assert recipe.model_config(source_vocabulary=5, target_vocabulary=5).d_hidden == 8
    with pytest.raises(TypeError):
        recipe.config["d_hidden"] = 9


def test_the_grammars_splits_are_those_of_the_corpus() -> None:
    recipe = replace(GRAMMAR, source="zh", target="en", corpus_seed=3, seed=8)
    corpus = grammar_corpus("zh", "en", num_train=30, num_test=3, seed=3)
    assert recipe.splits() == {
        "train": corpus.train, "validation": corpus.validation, "random": corpus.random,
        "compositional": corpus.compositional, "length": corpus.length,
    }  # fmt: skip


def test_the_phrasebook_leaves_out_before_it_counts() -> None:
    pairs = phrasebook("en", "fr", max_tokens=6)
    left_out = pairs[5].source
    recipe = replace(PHRASES, max_tokens=6, num_train=40, leave_out=(" ".join(left_out),))
    splits = recipe.splits()
    assert splits["left_out"] == tuple(pair for pair in pairs if pair.source == left_out)
    assert splits["train"] == tuple(pair for pair in pairs if pair.source != left_out)[:40]
    assert PHRASES.splits() == {"train": phrasebook("en", "fr"), "left_out": ()}


def test_a_sentence_that_is_not_there_cannot_be_left_out() -> None:
    with pytest.raises(ValueError, match="leave_out: expected sentences of the corpus, got 'zut'"):
        replace(PHRASES, leave_out=("zut",)).splits()


@pytest.mark.parametrize(
    ("recipe", "changes", "message"),
    [
        (GRAMMAR, {"name": "../words"}, "name: expected small letters, digits and hyphens, got"),
        (GRAMMAR, {"name": ""}, "name: expected small letters"),
        (GRAMMAR, {"corpus": "bible"}, "corpus: expected 'grammar' or 'phrasebook', got 'bible'"),
        (GRAMMAR, {"schedule": "cosine"}, "schedule: expected one of .* got 'cosine'"),
        (GRAMMAR, {"epochs": 0}, "epochs: expected at least 1, got 0"),
        (GRAMMAR, {"batch_size": 0}, "batch_size: expected at least 1, got 0"),
        (GRAMMAR, {"num_train": 0}, "num_train: expected at least 1, got 0"),
        (GRAMMAR, {"min_frequency": 0}, "min_frequency: expected at least 1, got 0"),
        (PHRASES, {"max_tokens": 0}, "max_tokens: expected at least 1, got 0"),
        (GRAMMAR, {"num_test": -1}, "num_test: expected 0 or more, got -1"),
        (replace(GRAMMAR, schedule="linear"), {"warmup": -1}, "warmup: expected 0 or more, got -1"),
        (GRAMMAR, {"clip": 0.0}, "clip: expected a positive number, got 0.0"),
        (GRAMMAR, {"label_smoothing": 1.5}, "label_smoothing: expected a probability"),
        (GRAMMAR, {"seed": -1}, "seed: expected a number from 0 to"),
        (GRAMMAR, {"source": "de"}, "source, target: expected two of .* got 'de' and 'fr'"),
        (GRAMMAR, {"source": "fr"}, "source, target: expected two of .* got 'fr' and 'fr'"),
        (GRAMMAR, {"learning_rate": 0.0}, "learning_rate: expected a positive number, got 0.0"),
        (GRAMMAR, {"max_tokens": 5}, "max_tokens, leave_out: expected with the phrasebook only"),
        (GRAMMAR, {"leave_out": ("go .",)}, "max_tokens, leave_out: expected with the phrasebook"),
        (GRAMMAR, {"warmup": 3}, "warmup: expected 0 with a constant schedule, got 3"),
        (PHRASES, {"validate": True}, "validate: expected False with the phrasebook"),
        (GRAMMAR, {"config": {"attention": "dot"}}, "attention: expected one of none, bahdanau"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("unchecked")
def test_a_recipe_that_cannot_work_is_refused_before_the_training(recipe, changes, message) -> None:
    with pytest.raises(ValueError, match=message):
        replace(recipe, **changes)


def test_a_setting_that_the_model_does_not_know_is_refused() -> None:
    for config in ({"d_hiden": 8}, {"source_vocabulary": 8}):
        with pytest.raises(TypeError, match=next(iter(config))):
            replace(GRAMMAR, config=config)
