"""Models trained once and then kept, and their translations of held-out sentences."""

import copy
import hashlib
import json
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from attention_book.course.recipes.named import named
from attention_book.course.recipes.recipe import Recipe
from attention_book.decoding import translate
from attention_book.foundations.environment import from_extra
from attention_book.foundations.seed import shifted
from attention_book.metrics import corpus_bleu
from attention_book.models import Seq2Seq, Seq2SeqConfig, Transformer, Translator
from attention_book.text import ParallelData, Vocabulary
from attention_book.training import (
    CheckpointError,
    EpochReport,
    fit,
    inverse_square_root_schedule,
    linear_schedule,
    load_checkpoint,
    progress,
    read_checkpoint,
    save_checkpoint,
    xavier_,
)
from attention_book.training.schedule import Schedule

# --- models ------------------------------------------------------------------------------------


with from_extra("course", "filelock"):
    from filelock import FileLock, Timeout

#: Names a folder in which trained models are kept and looked for.
TRAINED_FOLDER = "ATTENTION_BOOK_TRAINED"

# Where there is no such folder, models live as long as the process.
_in_memory: dict[str, "Trained"] = {}


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model with what it takes to use it.

    Attributes:
        model: In evaluation mode.
        source_vocabulary: Made of the training data alone.
        target_vocabulary: Likewise.
        reports: The history of the training.
        recipe: What the model was made by.

    >>> tiny = trained(Recipe(name="tiny", corpus="phrasebook", num_train=64, epochs=1))
    >>> tiny.model.training, len(tiny.reports)
    (False, 1)
    """

    model: Seq2Seq | Transformer
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    reports: tuple[EpochReport, ...]
    recipe: Recipe


def trained(recipe: Recipe | str) -> Trained:
    """Return the model of a recipe, training it only if that was not done before.

    Where the environment variable ``ATTENTION_BOOK_TRAINED`` names a folder, the
    model is kept there, for other processes and other days; a training that was cut
    off goes on, and a file that can't be used is made anew. If another process is just
    training the model, its result is waited for. Without the variable the model is
    kept in memory. Torch's global random numbers are left alone.

    Args:
        recipe: A recipe, or the name of one of the book's :data:`RECIPES`.

    >>> recipe = Recipe(name="tiny", corpus="phrasebook", num_train=64, epochs=1)
    >>> first, again = trained(recipe), trained(recipe)
    >>> torch.equal(first.model.decoder.readout.weight, again.model.decoder.readout.weight)
    True
    """
    recipe = named(recipe)
    folder = os.environ.get(TRAINED_FOLDER)
    if folder:
        return _trained_in(Path(folder), recipe, wait=True)
    if recipe.digest not in _in_memory:
        _in_memory[recipe.digest] = _train(recipe, checkpoint=None)
    found = _in_memory[recipe.digest]
    return replace(found, model=copy.deepcopy(found.model))  # a copy: the caller may change it


def trained_all(recipes: Sequence[Recipe | str]) -> tuple[Trained, ...]:
    """Return the models of several recipes, in their order.

    Processes that share a folder share the work: a recipe that another process is
    training is left for later, and its result is waited for only when nothing else is
    left to do.

    >>> recipes = [
    ...     Recipe(name="tiny", corpus="phrasebook", num_train=64, epochs=1, config={"d_hidden": d})
    ...     for d in (4, 8)
    ... ]
    >>> [each.model.config.d_hidden for each in trained_all(recipes)]
    [4, 8]
    """
    wanted = [named(recipe) for recipe in recipes]
    folder = os.environ.get(TRAINED_FOLDER)
    if not folder:
        return tuple(trained(recipe) for recipe in wanted)
    found: dict[str, Trained] = {}
    missing = list({recipe.digest: recipe for recipe in wanted}.values())
    while missing:
        busy = []
        for recipe in missing:
            try:
                found[recipe.digest] = _trained_in(Path(folder), recipe, wait=False)
            except Timeout:
                busy.append(recipe)
        if len(busy) == len(missing):
            first = busy.pop(0)
            found[first.digest] = _trained_in(Path(folder), first, wait=True)
        missing = busy
    return tuple(found[recipe.digest] for recipe in wanted)


def model_file(folder: Path, recipe: Recipe) -> Path:
    """Return where a folder keeps the model of a recipe, trained with this process's seeds."""
    offset = shifted(0)
    draws = f"+{offset}" if offset else ""
    return folder / f"{recipe.name}-{recipe.digest}{draws}.safetensors"


def _trained_in(folder: Path, recipe: Recipe, *, wait: bool) -> Trained:
    """Load the model or train it; ``wait``: even if another process holds the lock."""
    path = model_file(folder, recipe)
    found = _load(path, recipe)
    if found is not None:
        return found
    folder.mkdir(parents=True, exist_ok=True)
    # The operating system unlocks the file when its holder dies, however it dies.
    with FileLock(path.with_suffix(".lock"), timeout=-1 if wait else 0):
        found = _load(path, recipe)  # it may have come while we waited
        if found is None:
            unfinished = path.with_suffix(".unfinished")
            found = _train(recipe, checkpoint=unfinished)
            _save(path, found)
            unfinished.unlink(missing_ok=True)
    return found


def _save(path: Path, trained: Trained) -> None:
    extra = {
        "recipe": trained.recipe.to_dict(),
        "source_vocabulary": trained.source_vocabulary.to_json(),
        "target_vocabulary": trained.target_vocabulary.to_json(),
    }
    save_checkpoint(path, model=trained.model, reports=trained.reports, extra=extra)


def _load(path: Path, recipe: Recipe) -> Trained | None:
    """Return what the file holds; None if there is no file, or it is not what it should be."""
    try:
        extra = read_checkpoint(path).extra
        if Recipe.from_dict(extra["recipe"]).to_dict() != recipe.to_dict():
            return None
        source = Vocabulary.from_json(extra["source_vocabulary"])
        target = Vocabulary.from_json(extra["target_vocabulary"])
        with _own_surroundings(recipe.seed):  # drawn for the first weights
            model = _model(recipe, source, target)
        reports = load_checkpoint(path, model=model).reports
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return Trained(model.eval(), source, target, reports, recipe)


def _train(recipe: Recipe, *, checkpoint: Path | None) -> Trained:
    try:
        return _fit(recipe, checkpoint)
    except CheckpointError:  # an unfinished training, but not of this recipe: begin anew
        if checkpoint is None:
            raise
        checkpoint.unlink()
        return _fit(recipe, checkpoint)


def _fit(recipe: Recipe, checkpoint: Path | None) -> Trained:
    splits = recipe.splits()
    source = Vocabulary.build(
        (pair.source for pair in splits["train"]), min_frequency=recipe.min_frequency
    )
    target = Vocabulary.build(
        (pair.target for pair in splits["train"]), min_frequency=recipe.min_frequency
    )
    data = ParallelData(splits["train"], source, target)
    with _own_surroundings(recipe.seed):
        model = _model(recipe, source, target)
        translator: Translator[Any, Any] = model
        reports = fit(
            translator,
            data,
            torch.optim.Adam(model.parameters(), lr=recipe.learning_rate, fused=True),
            epochs=recipe.epochs,
            batch_size=recipe.batch_size,
            seed=shifted(recipe.seed),
            clip=recipe.clip,
            label_smoothing=recipe.label_smoothing,
            schedule=_schedule(recipe, data),
            validation=_validation(recipe, source, target),
            checkpoint=checkpoint,
            checkpoint_every=max(1, recipe.epochs // 10),
        )
        history = tuple(progress(reports, total=recipe.epochs, description=recipe.name))
    return Trained(model.eval(), source, target, history, recipe)


@contextmanager
def _own_surroundings(seed: int) -> Iterator[None]:
    """Draw from the seed within, and go on outside as if nothing had been drawn.

    Gradients are on within: whoever asks for a trained model may have them switched off.
    """
    drawn_apart = torch.random.fork_rng(devices=range(torch.cuda.device_count()))
    with drawn_apart, torch.inference_mode(False), torch.enable_grad():
        torch.manual_seed(shifted(seed))
        yield


def _model(recipe: Recipe, source: Vocabulary, target: Vocabulary) -> Seq2Seq | Transformer:
    config = recipe.model_config(source_vocabulary=len(source), target_vocabulary=len(target))
    model = Seq2Seq(config) if isinstance(config, Seq2SeqConfig) else Transformer(config)
    return xavier_(model) if recipe.xavier else model


def _schedule(recipe: Recipe, data: ParallelData) -> Schedule | None:
    if recipe.schedule == "constant":
        return None
    if recipe.schedule == "inverse-square-root":
        return inverse_square_root_schedule(warmup=recipe.warmup)
    num_steps = recipe.epochs * math.ceil(len(data) / recipe.batch_size)
    return linear_schedule(num_steps=num_steps, warmup=recipe.warmup)


def _validation(recipe: Recipe, source: Vocabulary, target: Vocabulary) -> ParallelData | None:
    return ParallelData(recipe.splits()["validation"], source, target) if recipe.validate else None


# --- translations of held-out sentences --------------------------------------------------------


Sentences = tuple[tuple[str, ...], ...]


def held_out_translations(recipe: Recipe | str, split: str) -> Sentences:
    """Return the greedy translations of a split of the recipe's corpus, tokens by sentence.

    They always come from the model that :func:`trained` returns; if you have changed a model,
    call :func:`~attention_book.decoding.translate` instead. Like the models, they are kept in
    the folder that ``ATTENTION_BOOK_TRAINED`` names, or in memory.

    Args:
        recipe: A recipe, or the name of one of the book's :data:`RECIPES`.
        split: One of ``recipe.splits()``, such as "random".

    >>> recipe = Recipe(name="tiny", num_train=64, num_test=3, epochs=1)
    >>> len(held_out_translations(recipe, "random"))
    3
    """
    recipe = named(recipe)
    if split not in recipe.splits():
        raise ValueError(f"split: expected one of {', '.join(recipe.splits())}, got {split!r}")
    folder = os.environ.get(TRAINED_FOLDER)
    return _kept_translations(Path(folder), recipe, split) if folder else _translated(recipe, split)


def held_out_bleu(recipe: Recipe | str, split: str) -> float:
    """Return the corpus BLEU of :func:`held_out_translations`, 0 to 100.

    >>> recipe = Recipe(name="tiny", num_train=64, num_test=3, epochs=1)
    >>> 0 <= held_out_bleu(recipe, "random") <= 100
    True
    """
    recipe = named(recipe)
    found = held_out_translations(recipe, split)
    return corpus_bleu(found, [pair.target for pair in recipe.splits()[split]])


@cache
def _translated(recipe: Recipe, split: str) -> Sentences:
    learned = trained(recipe)
    sources = [pair.source for pair in recipe.splits()[split]]
    translator: Translator[Any, Any] = learned.model
    found = translate(
        translator, sources, learned.source_vocabulary, learned.target_vocabulary, batch_size=500
    )
    return tuple(each.tokens for each in found)


def _kept_translations(folder: Path, recipe: Recipe, split: str) -> Sentences:
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
    sentences = _translated.__wrapped__(recipe, split)
    unfinished = path.with_suffix(f".{os.getpid()}.part")
    text = json.dumps({"weights": weights, "sentences": sentences}, ensure_ascii=False)
    unfinished.write_text(text, encoding="utf8")
    unfinished.replace(path)
    return sentences
