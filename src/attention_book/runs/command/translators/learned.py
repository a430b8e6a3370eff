"""What the commands translate with: the model of a run, or of one of the book's recipes."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from attention_book.course.recipes import RECIPES, Trained, trained
from attention_book.course.recipes.trained import TRAINED_FOLDER
from attention_book.decoding import translate
from attention_book.foundations.bilingual import Bilingual
from attention_book.models import Seq2Seq, Transformer
from attention_book.runs.codec import TextCodec
from attention_book.runs.codec.sides import WordRule, Words
from attention_book.runs.command.speech.failures import ExitCode, Failure
from attention_book.runs.command.speech.reasons import in_chinese
from attention_book.runs.command.speech.terminal import note, visible
from attention_book.runs.folder import MachineError, RunFolder
from attention_book.runs.loading import Which, load_run
from attention_book.runs.processes.ranks import device_named
from attention_book.runs.settings import TEXT_RECIPES, RunSettings

#: Where runs are kept unless a command says otherwise.
RUNS = Path("runs")
#: Where the book's models are kept, if ATTENTION_BOOK_TRAINED names no other folder.
RECIPE_MODELS = RUNS / "recipes"
SETTINGS = "settings.toml"
#: A longer line is no sentence, and would take memory with the square of its length.
MOST_TOKENS = 1000


@dataclass(frozen=True, kw_only=True)
class Learned:
    """A trained model with what it takes to use it.

    Attributes:
        name: The run's folder, or the recipe.
        model: In evaluation mode.
        codec: Text to tokens, and back.
        settings: What it was trained by.
        recipe: The book's model; None: a run.
    """

    name: str
    model: Seq2Seq | Transformer
    codec: TextCodec
    settings: RunSettings
    recipe: Trained | None = None

    def translations(
        self, texts: Sequence[str], *, beam: int, length_penalty: float
    ) -> list[str | Failure]:
        """Return a line for each line, and in the place of one that can't be read why it can't.

        One without a word in it gives an empty line.
        """
        cut = [self.codec.source_tokens(text) for text in texts]
        rows = [row for row, tokens in enumerate(cut) if 0 < len(tokens) <= MOST_TOKENS]
        search = {"width": beam, "length_penalty": length_penalty}
        found = dict(zip(rows, self._found([cut[row] for row in rows], search), strict=True))
        return [
            found[row] if row in found else _unreadable(tokens) if tokens else ""
            for row, tokens in enumerate(cut)
        ]

    def _found(
        self, sentences: Sequence[Sequence[str]], search: Mapping[str, Any]
    ) -> list[str | Failure]:
        """Return the translations; where one sentence stops them, those of the others."""
        if not sentences:
            return []
        model: Any = self.model
        codec = self.codec
        vocabularies = codec.source_vocabulary, codec.target_vocabulary
        try:
            made = translate(model, sentences, *vocabularies, **search)
        except ValueError as error:  # positions of which there are so many
            if len(sentences) == 1:
                return [_unreadable(sentences[0], str(error))]
            half = len(sentences) // 2
            return self._found(sentences[:half], search) + self._found(sentences[half:], search)
        return [codec.target_text(each.tokens) for each in made]


def _unreadable(tokens: Sequence[str], why: str | None = None) -> Failure:
    start, count = visible(" ".join(tokens[:5])[:60]), len(tokens)
    zh, en = (f"至多 {MOST_TOKENS} 个", f"at most {MOST_TOKENS}")
    if why is not None:
        zh, en = in_chinese(why), why
    return Failure(
        ExitCode.DATA,
        f"{start} …：模型读不了这样的句子，它有 {count} 个词元（{zh}）",
        f"{start} …: expected a sentence that the model can read, got {count} tokens ({en})",
    )


def learned(
    run: str | None,
    recipe: str | None,
    checkpoint: Which | None = None,
    device: str | None = None,
) -> Learned:
    """Return the model that a command line chooses, where it is to compute.

    Args:
        run: Its folder.
        recipe: Or one of the book's models.
        checkpoint: Which of a run's weights.
        device: As in :class:`TrainingSettings`; None: as the settings of the run say, as far as
            this machine has that.

    Raises:
        Failure: if both are chosen, the book has no such recipe, or there is no such run.
        CheckpointError: if the run's files cannot be used.
        MachineError: if there is no such device.
    """
    place = None if device is None else device_named(device)
    found = _learned(run, recipe, checkpoint)
    found.model.to(place or _where_it_was_trained(found.settings.training.device))
    return found


def _where_it_was_trained(device: str) -> torch.device:
    """Return the device that settings name, or the CPU where there is no such one."""
    try:
        return device_named(device)
    except MachineError:
        return torch.device("cpu")


def _learned(run: str | None, recipe: str | None, checkpoint: Which | None) -> Learned:
    if run is not None and recipe is not None:
        raise Failure(
            ExitCode.WRONG_LINE,
            "--run 和 --recipe 只能用一个。",
            "--run, --recipe: expected one of the two, got both",
        )
    if recipe is not None:
        return of_recipe(recipe)
    folder = Path(run) if run is not None else latest_run()
    found = load_run(folder, checkpoint)
    return Learned(name=str(folder), model=found.model, codec=found.codec, settings=found.settings)


def latest_run(root: Path = RUNS) -> Path:
    """Return the run that was begun or went on last.

    Raises:
        Failure: if there is none.
    """
    begun = [path.parent for path in root.glob(f"*/{SETTINGS}")]
    # One that failed before it had any weights hides no other.
    found = [path for path in begun if RunFolder(path).has_weights()] or begun
    if not found:
        raise Failure(
            ExitCode.RUN,
            f"{root}/ 里还没有训练好的模型。先运行：attention-book train",
            f"{root}/: expected a run, got none; train one first: attention-book train",
        )
    return max(found, key=last_change)


def last_change(folder: Path) -> float:
    """Return when a run was last written to."""
    return max((path.lstat().st_mtime for path in folder.iterdir()), default=0.0)


def of_recipe(name: str) -> Learned:
    """Return one of the book's models, trained now if it was not before.

    Raises:
        Failure: if the book has no recipe of that name.
    """
    check_recipe(name)
    with _kept_models():
        folder = Path(os.environ[TRAINED_FOLDER])
        if not any(folder.glob(f"{name}-*.safetensors")):
            note(
                Bilingual(
                    f"{name} 还没有训练过，现在训练，之后存在 {visible(str(folder))}/。",
                    f"{name} has not been trained yet: training it now, to be kept in "
                    f"{visible(str(folder))}/.",
                )
            )
        found = trained(name)
    return Learned(
        name=name,
        model=found.model,
        codec=codec_of(found),
        settings=RunSettings.from_recipe(found.recipe),
        recipe=found,
    )


def check_recipe(name: str, *, known: Sequence[str] = tuple(RECIPES)) -> None:
    """Check that there is a recipe of a name.

    Raises:
        Failure: if there is none, or it is one for real text where only the book's are known.
    """
    if name in known:
        return
    if name in TEXT_RECIPES:
        train = f"attention-book train --recipe {name}"
        raise Failure(
            ExitCode.WRONG_LINE,
            f"--recipe：{name} 要先训练：{train}，然后用 --run {RUNS / name}。",
            f"--recipe: {name} has to be trained first: {train}; then use --run {RUNS / name}",
        )
    names = ", ".join(known)
    raise Failure(
        ExitCode.WRONG_LINE,
        f"--recipe：没有叫 {visible(name)!r} 的；有的是：{names}",
        f"--recipe: expected one of {names}, got {visible(name)!r}",
    )


def codec_of(found: Trained) -> TextCodec:
    """Return the codec of one of the book's models, which reads words."""
    recipe, settings = found.recipe, RunSettings.from_recipe(found.recipe).text
    rule: WordRule = "grammar" if recipe.corpus == "grammar" else "plain"
    source = Words(recipe.source, rule, found.source_vocabulary)
    target = Words(recipe.target, rule, found.target_vocabulary)
    languages = (recipe.source, recipe.target)
    return TextCodec(settings, languages, (source, target), word_rule=rule)


@contextmanager
def _kept_models() -> Iterator[None]:
    """Keep the book's models in the folder of runs, unless another is named."""
    before = os.environ.get(TRAINED_FOLDER)
    os.environ[TRAINED_FOLDER] = before or str(RECIPE_MODELS)
    try:
        yield
    finally:
        if before is None:
            del os.environ[TRAINED_FOLDER]
        else:
            os.environ[TRAINED_FOLDER] = before


__all__ = ("RUNS", "Learned", "check_recipe", "codec_of", "latest_run", "learned", "of_recipe")
