"""Each recipe is trained once: in this process, by several at a time, after any accident."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from filelock import FileLock

from attention_book import set_seed
from attention_book.course.recipes import Recipe, Trained, trained, trained_all
from attention_book.course.recipes import trained as the_function
from attention_book.models import Seq2Seq
from attention_book.text import ParallelData, Vocabulary
from attention_book.training import evaluate_loss, fit, linear_schedule, save_checkpoint, xavier_

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


def test_without_xavier_the_weights_begin_as_torch_draws_them() -> None:
    first_losses = {xavier: trained(replace(TINY, xavier=xavier)).reports[0].loss_per_token
                    for xavier in (True, False)}  # fmt: skip
    assert first_losses[True] != first_losses[False]


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
    first = trained(TINY)
    again = trained(TINY)
    assert trainings == ["tiny"]
    assert same(first, again)
    assert again.model.training is False
    names = sorted(path.suffix for path in folder.iterdir())
    assert ".safetensors" in names
    assert ".unfinished" not in names
    trained(OTHER)
    assert trainings == ["tiny", "other"]


def test_training_and_reading_leave_the_random_numbers_alone(folder) -> None:
    torch.manual_seed(3)
    expected = torch.rand(7)
    for _ in range(2):
        torch.manual_seed(3)
        trained(TINY)
        assert torch.equal(torch.rand(7), expected)


@pytest.mark.usefixtures("no_folder")
def test_the_folder_and_the_callers_random_numbers_change_nothing(tmp_path, monkeypatch) -> None:
    torch.manual_seed(3)
    first = trained(TINY)
    torch.manual_seed(4)
    monkeypatch.setenv("ATTENTION_BOOK_TRAINED", str(tmp_path))
    assert same(first, trained(TINY), clock=False)


def test_all_are_in_their_order_even_if_one_is_asked_for_twice(folder, trainings) -> None:
    found = trained_all([OTHER, TINY, OTHER])
    assert [each.recipe for each in found] == [OTHER, TINY, OTHER]
    assert trainings == ["other", "tiny"]
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


def test_an_unfinished_file_that_is_of_no_use_is_begun_anew(folder) -> None:
    expected = trained(TINY)
    [path] = folder.glob("*.safetensors")
    path.unlink()
    path.with_suffix(".unfinished").write_text("half a")
    assert same(trained(TINY), expected, clock=False)


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
