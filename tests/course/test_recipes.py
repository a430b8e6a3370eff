"""Recipes: the same one gives the same model, once, and the same translations."""

import json
import os
import re
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch
from filelock import FileLock

from attention_book import set_seed
from attention_book.course.recipes import (
    Recipe,
    Trained,
    held_out_bleu,
    held_out_translations,
    trained,
    trained_all,
)
from attention_book.course.recipes import trained as the_function
from attention_book.course.recipes.trained import TRAINED_FOLDER
from attention_book.decoding import translate
from attention_book.metrics import corpus_bleu
from attention_book.models import Seq2Seq
from attention_book.text import ParallelData, Vocabulary, grammar_corpus
from attention_book.text.corpora import phrasebook
from attention_book.training import evaluate_loss, fit, linear_schedule, save_checkpoint, xavier_

# --- recipes -----------------------------------------------------------------------------------


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
        (GRAMMAR, {"config": {"d_hiden": 8}}, "d_hiden"),
        (GRAMMAR, {"config": {"source_vocabulary": 8}}, "source_vocabulary"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("unchecked")
def test_a_recipe_that_cannot_work_is_refused_before_the_training(recipe, changes, message) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        replace(recipe, **changes)


def test_what_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="leave_out: expected sentences of the corpus, got 'zut'"):
        replace(PHRASES, leave_out=("zut",)).splits()
    with pytest.raises(ValueError, match=r"split: expected one of train, .*, got 'test'"):
        held_out_translations(RECIPE, "test")
    with pytest.raises(ValueError, match="recipe: expected one of"):
        held_out_bleu("bahdanau", "random")


# --- trained models ----------------------------------------------------------------------------


module = sys.modules[the_function.__module__]

TINY = Recipe(
    name="tiny", corpus="phrasebook", num_train=60, epochs=3, batch_size=20,
    config={"d_embed": 6, "d_hidden": 6, "dropout": 0.3},
)  # fmt: skip
OTHER = replace(TINY, name="other", seed=5)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "trained" / "models"
    monkeypatch.setenv("ATTENTION_BOOK_TRAINED", str(path))
    return path


@pytest.fixture
def no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATTENTION_BOOK_TRAINED", raising=False)
    monkeypatch.setattr(module, "_in_memory", {})


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the recipes that were trained, as it happens."""
    names: list[str] = []
    train = module._train

    def note(recipe: Recipe, **options: object) -> Trained:
        names.append(recipe.name)
        return train(recipe, **options)

    monkeypatch.setattr(module, "_train", note)
    return names


def same(a: Trained, b: Trained, *, clock: bool = True) -> bool:
    def reports(each: Trained) -> list:
        return [r if clock else replace(r, seconds=1.0) for r in each.reports]

    ours, theirs = a.model.state_dict(), b.model.state_dict()
    return (
        ours.keys() == theirs.keys()
        and all(torch.equal(ours[name], theirs[name]) for name in ours)
        and reports(a) == reports(b)
        and (a.source_vocabulary, a.target_vocabulary) == (b.source_vocabulary, b.target_vocabulary)
        and a.recipe == b.recipe
    )


# --- the model -------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_folder")
def test_it_is_what_the_recipe_says_by_hand() -> None:
    recipe = replace(
        TINY, schedule="linear", warmup=4, label_smoothing=0.1, clip=0.5, min_frequency=2, seed=3
    )
    found = trained(recipe)
    pairs = recipe.splits()["train"]
    source = Vocabulary.build((pair.source for pair in pairs), min_frequency=2)
    target = Vocabulary.build((pair.target for pair in pairs), min_frequency=2)
    set_seed(3)
    model = xavier_(
        Seq2Seq(recipe.model_config(source_vocabulary=len(source), target_vocabulary=len(target)))
    )
    reports = fit(
        model, ParallelData(pairs, source, target),
        torch.optim.Adam(model.parameters(), lr=0.005, fused=True),
        epochs=3, batch_size=20, seed=3, clip=0.5, label_smoothing=0.1,
        schedule=linear_schedule(num_steps=9, warmup=4),
    )  # fmt: skip
    by_hand = Trained(model, source, target, tuple(reports), recipe)
    assert same(found, by_hand, clock=False)
    assert not any(part.training for part in found.model.modules())


@pytest.mark.usefixtures("no_folder")
@pytest.mark.parametrize("switched_off", [torch.no_grad, torch.inference_mode])
def test_it_is_trained_where_gradients_are_switched_off(switched_off, monkeypatch) -> None:
    """The kind: what surrounds the call reaches into the training, if nothing is kept of it yet."""
    expected = trained(TINY)
    monkeypatch.setattr(module, "_in_memory", {})
    with switched_off():
        found = trained(TINY)
        assert not torch.is_grad_enabled()
    assert same(found, expected, clock=False)


def test_the_vocabularies_know_the_training_data_and_nothing_else(folder) -> None:
    recipe = Recipe(
        name="tiny", num_train=20, num_test=5, epochs=1, batch_size=20, validate=True,
        source="fr", target="zh", config={"d_embed": 6, "d_hidden": 6},
    )  # fmt: skip
    splits = recipe.splits()
    for found in (trained(recipe), trained(recipe)):  # trained, and read back
        words = {token for pair in splits["train"] for token in pair.source}
        assert set(found.source_vocabulary.tokens[4:]) == words
        words = {token for pair in splits["train"] for token in pair.target}
        assert set(found.target_vocabulary.tokens[4:]) == words
        held_out = ParallelData(
            splits["validation"], found.source_vocabulary, found.target_vocabulary
        )
        expected = evaluate_loss(found.model, held_out)
        assert found.reports[-1].validation_loss == pytest.approx(expected)


# --- once ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_folder")
def test_without_a_folder_a_model_lives_as_long_as_the_process(trainings) -> None:
    first = trained(TINY)
    with torch.no_grad():
        first.model.decoder.readout.weight.zero_()  # whoever spoils a model spoils a copy
    again, other, third = *trained_all([TINY, OTHER]), trained(TINY)
    assert trainings == ["tiny", "other"]
    assert same(again, third)
    assert again.model is not third.model
    assert again.model.decoder.readout.weight.abs().max() > 0
    assert other.recipe == OTHER


def test_with_a_folder_it_is_read_back(folder, trainings) -> None:
    torch.manual_seed(3)
    expected = torch.rand(7)
    torch.manual_seed(3)
    first = trained(TINY)
    again = trained(TINY)
    assert torch.equal(torch.rand(7), expected)  # neither moves the caller's random numbers
    assert trainings == ["tiny"]
    assert same(first, again)
    assert again.model.training is False
    names = sorted(path.suffix for path in folder.iterdir())
    assert ".safetensors" in names
    assert ".unfinished" not in names
    found = trained_all([OTHER, TINY, OTHER])
    assert [each.recipe for each in found] == [OTHER, TINY, OTHER]
    assert trainings == ["tiny", "other"]
    assert trained_all([]) == ()


# --- accidents -------------------------------------------------------------------------------


def spoil(kind: str, path: Path, first: Trained) -> None:
    extra = {
        "recipe": first.recipe.to_dict(),
        "source_vocabulary": first.source_vocabulary.to_json(),
        "target_vocabulary": first.target_vocabulary.to_json(),
    }
    if kind == "cut":
        path.write_bytes(path.read_bytes()[:-9])
    elif kind == "a changed byte":
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "foreign":
        path.write_text("not a model")
    else:
        change = {
            "no recipe": {"recipe": None},
            "another recipe": {"recipe": OTHER.to_dict()},
            "no vocabulary": {"source_vocabulary": "{}"},
        }[kind]
        with torch.no_grad():
            first.model.decoder.readout.weight.add_(1)
        save_checkpoint(path, model=first.model, reports=first.reports, extra={**extra, **change})


@pytest.mark.parametrize(
    "kind",
    ["cut", "a changed byte", "empty", "foreign", "no recipe", "another recipe", "no vocabulary"],
)
def test_a_file_that_is_not_what_it_should_be_is_trained_again(folder, trainings, kind) -> None:
    first = trained(TINY)
    [path] = folder.glob("*.safetensors")
    spoil(kind, path, trained(TINY))
    assert same(trained(TINY), first, clock=False)
    assert trainings == ["tiny", "tiny"]
    trained(TINY)
    assert trainings == ["tiny", "tiny"]
    path.rename(path.with_suffix(".unfinished"))  # half of it: of no use, and begun anew
    path.with_suffix(".unfinished").write_text("half a")
    assert same(trained(TINY), first, clock=False)


def test_a_training_that_was_cut_off_goes_on(folder, monkeypatch) -> None:
    expected = trained(TINY)
    [path] = folder.glob("*.safetensors")
    path.unlink()
    progress = module.progress

    def cut_off(reports, **_: object):
        for report in reports:
            yield report
            if report.epoch == 2:
                raise KeyboardInterrupt

    monkeypatch.setattr(module, "progress", cut_off)
    with pytest.raises(KeyboardInterrupt):
        trained(TINY)
    [unfinished] = folder.glob("*.unfinished")
    steps, step = [], torch.optim.Adam.step
    monkeypatch.setattr(torch.optim.Adam, "step", lambda *a: (steps.append(1), step(*a)))
    monkeypatch.setattr(module, "progress", progress)
    assert same(trained(TINY), expected, clock=False)
    assert len(steps) == 3  # of 9: one epoch of three
    assert not unfinished.exists()


# --- several processes -----------------------------------------------------------------------


def test_what_another_is_training_is_left_for_later(folder, monkeypatch) -> None:
    third = replace(TINY, name="third", seed=6)
    order, train = [], module._train
    folder.mkdir(parents=True)
    another = FileLock(folder / f"{TINY.name}-{TINY.digest}.lock")
    another.acquire()

    def note(recipe: Recipe, **options: object) -> Trained:
        order.append(recipe.name)
        if recipe.name == "third":
            another.release()  # that process has died, without a result
        return train(recipe, **options)

    monkeypatch.setattr(module, "_train", note)
    found = trained_all([TINY, OTHER, third])
    assert order == ["other", "third", "tiny"]
    assert [each.recipe.name for each in found] == ["tiny", "other", "third"]


SHARED = """
import json, os, signal, sys, time
from dataclasses import replace
from pathlib import Path

import torch

torch.set_num_threads(1)
from attention_book.course.recipes import Recipe, trained_all

module = sys.modules[trained_all.__module__]
TINY = Recipe.from_dict(json.loads(sys.argv[1]))
recipes = [replace(TINY, name=f"tiny-{seed}", seed=seed) for seed in (1, 2, 3)]
out = Path(sys.argv[2])
TINY.splits()
torch.optim.Adam([torch.nn.Parameter(torch.ones(2))]).step()  # imported late, so once for all

def work(number):
    names, train = [], module._train
    def note(recipe, **options):
        names.append(recipe.name)
        if number == 0:  # dies, with the lock in its hand, in its first training
            progress = module.progress
            def die(reports, **_):
                next(reports)
                (out / "holds").touch()
                time.sleep(0.5)
                os.kill(os.getpid(), signal.SIGKILL)
            module.progress = die
        return train(recipe, **options)
    module._train = note
    while number and not (out / "holds").exists():
        time.sleep(0.01)
    found = trained_all(recipes)
    weights = [torch.nn.utils.parameters_to_vector(f.model.parameters()).tolist() for f in found]
    (out / f"{number}.json").write_text(json.dumps([names, weights]))

children = []
for number in range(3):
    child = os.fork()
    if child == 0:
        work(number)
        os._exit(0)
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_processes_share_the_work_and_survive_each_others_death(folder, tmp_path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", SHARED, json.dumps(TINY.to_dict()), str(tmp_path)],
        capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert run.stdout.strip() == "[-9, 0, 0]", run.stdout + run.stderr
    done, found = zip(
        *(json.loads((tmp_path / f"{number}.json").read_text()) for number in (1, 2)), strict=True
    )
    # The first's unfinished work included, each recipe was brought to its end exactly once.
    assert sorted(done[0] + done[1]) == ["tiny-1", "tiny-2", "tiny-3"]
    assert found[0] == found[1]
    here = trained(replace(TINY, name="tiny-1", seed=1))
    assert torch.nn.utils.parameters_to_vector(here.model.parameters()).tolist() == found[0][0]


# --- translations of held-out sentences --------------------------------------------------------


RECIPE = Recipe(name="few", num_train=300, num_test=7, epochs=2, config={"d_hidden": 16})


@pytest.fixture(params=["memory", "folder"])
def place(request, monkeypatch, tmp_path):
    module._translated.cache_clear()
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


@pytest.mark.parametrize("split", ["random", "length"])
def test_they_are_those_of_the_trained_model_and_made_once(place, split, monkeypatch):
    found, references = by_hand(RECIPE, split)
    assert held_out_translations(RECIPE, split) == found
    monkeypatch.setattr(module, "translate", None)
    assert held_out_translations(RECIPE, split) == found
    assert held_out_bleu(RECIPE, split) == corpus_bleu(found, references)


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
