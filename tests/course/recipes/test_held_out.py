"""Held-out translations: those of the present model, made once."""

import pytest

from attention_book.course.recipes import (
    Recipe,
    held_out,
    held_out_bleu,
    held_out_translations,
    trained,
)
from attention_book.course.recipes.trained import TRAINED_FOLDER
from attention_book.decoding import translate
from attention_book.metrics import corpus_bleu

RECIPE = Recipe(name="few", num_train=300, num_test=7, epochs=2, config={"d_hidden": 16})


@pytest.fixture(params=["memory", "folder"])
def place(request, monkeypatch, tmp_path):
    held_out._in_memory.cache_clear()
    if request.param == "folder":
        monkeypatch.setenv(TRAINED_FOLDER, str(tmp_path))
    else:
        monkeypatch.delenv(TRAINED_FOLDER, raising=False)
    return request.param


def by_hand(recipe, split):
    learned, pairs = trained(recipe), recipe.splits()[split]
    vocabularies = learned.source_vocabulary, learned.target_vocabulary
    found = translate(learned.model, [pair.source for pair in pairs], *vocabularies)
    return tuple(each.tokens for each in found), [pair.target for pair in pairs]


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("split", ["random", "length"])
def test_they_are_those_of_the_trained_model(split):
    found, references = by_hand(RECIPE, split)
    assert held_out_translations(RECIPE, split) == found
    assert held_out_bleu(RECIPE, split) == corpus_bleu(found, references)


def test_they_are_made_once(place, monkeypatch):
    first = held_out_translations(RECIPE, "random")
    monkeypatch.setattr(held_out, "translate", None)
    assert held_out_translations(RECIPE, "random") == first


def test_a_file_of_other_weights_or_half_a_file_is_not_believed(monkeypatch, tmp_path):
    monkeypatch.setenv(TRAINED_FOLDER, str(tmp_path))
    found = held_out_translations(RECIPE, "random")
    (path,) = tmp_path.glob("*.json")
    text = path.read_text(encoding="utf8")
    wrong = text.replace('"weights": "', '"weights": "0').replace('[["', '[["wrong", "')
    assert wrong != text
    for kept in (wrong, text[: len(text) // 2], "[]"):
        path.write_text(kept, encoding="utf8")
        assert held_out_translations(RECIPE, "random") == found
    assert not list(tmp_path.glob("*.part"))


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"split: expected one of train, .*, got 'test'"):
        held_out_translations(RECIPE, "test")
    with pytest.raises(ValueError, match="recipe: expected one of"):
        held_out_bleu("bahdanau", "random")
