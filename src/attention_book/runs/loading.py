"""A run as something to use: a model with the weights of a checkpoint, codec and settings."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import torch

from attention_book.models import LanguageModel, Seq2Seq, Transformer
from attention_book.runs.building import Codec, Model, build_model, drawn_from, read_codec
from attention_book.runs.checkpoints import Checkpoints
from attention_book.runs.codec import TextCodec
from attention_book.runs.folder import RunError, RunFolder
from attention_book.runs.language.codec import PieceCodec
from attention_book.runs.language.settings import AnySettings, LanguageSettings
from attention_book.runs.settings import RunSettings, one_of
from attention_book.training import CheckpointError, load_checkpoint
from attention_book.training.checkpoint import below, read_shapes

#: Which weights of a run: with the lowest validation loss, the latest, the mean of the last.
Which = Literal["best", "last", "average"]


@dataclass(frozen=True, eq=False)
class LoadedRun:
    """A trained run with what it takes to use it.

    Attributes:
        model: In evaluation mode, on the CPU.
        codec: Between text and its numbers.
        settings: What it was made by.
        which: Which of the run's weights these are.
        path: The file they are from.
        extra: What the file says of them.

    >>> from tempfile import TemporaryDirectory
    >>> from attention_book.runs import DataSettings, TrainingSettings, start
    >>> settings = RunSettings(
    ...     data=DataSettings(num_train=64),
    ...     training=TrainingSettings(epochs=None, steps=1, device="cpu"),
    ... )
    >>> with TemporaryDirectory() as name:
    ...     reports = list(start(settings, name))
    ...     run = load_run(name)
    >>> run.which, run.model.training
    ('best', False)
    """

    model: Transformer | Seq2Seq
    codec: TextCodec
    settings: RunSettings
    which: Which
    path: Path
    extra: dict[str, Any]


def load_run(folder: str | Path, which: Which | None = None) -> LoadedRun:
    """Load a run, finished or not. Torch's random numbers are left alone.

    Args:
        folder: Where the run lives.
        which: Which weights: "best", "last" or "average"; None: the average if there is one,
            else the best, else the last.

    Raises:
        RunError: if there is no run, or it has no such weights (yet).
        CheckpointError: if the file is damaged.
        ValueError: if ``which`` is none of these.

    >>> from tempfile import TemporaryDirectory
    >>> from attention_book.runs import DataSettings, TrainingSettings, start
    >>> settings = RunSettings(
    ...     data=DataSettings(num_train=64),
    ...     training=TrainingSettings(epochs=None, steps=2, device="cpu"),
    ... )
    >>> with TemporaryDirectory() as name:
    ...     reports = list(start(settings, name))
    ...     run = load_run(name, "last")
    >>> run.codec.source_tokens("The girl reads."), run.extra["place"]["step"]
    (('the', 'girl', 'reads', '.'), 2)
    """
    found = _load(folder, which)
    if not (isinstance(found.settings, RunSettings) and isinstance(found.codec, TextCodec)):
        raise RunError(f"{folder}: expected a translator, got a language model")
    assert not isinstance(found.model, LanguageModel)  # its settings say which model it is
    return LoadedRun(found.model, found.codec, found.settings, found.which, found.path, found.extra)


@dataclass(frozen=True, eq=False)
class LoadedLanguageModel:
    """A language model of a run with what it takes to use it; all as of :class:`LoadedRun`.

    Attributes:
        model: In evaluation mode, on the CPU.
        codec: Between text and its numbers.
        settings: What it was made by.
        which: Which of the run's weights these are.
        path: The file they are from.
        extra: What the file says of them.

    >>> from tempfile import TemporaryDirectory
    >>> from attention_book.runs import DocumentSettings, LanguageSettings, start
    >>> from attention_book.runs.language.settings import DecoderSettings, usual_training
    >>> settings = LanguageSettings(
    ...     data=DocumentSettings(corpus="phrasebook"),
    ...     model=DecoderSettings(config={"d_model": 32, "num_layers": 1}),
    ...     training=usual_training(steps=1, device="cpu"),
    ... )
    >>> with TemporaryDirectory() as name:
    ...     reports = list(start(settings, name))
    ...     found = load_language_model(name)
    >>> found.codec.unit, found.which
    ('subwords', 'best')
    """

    model: LanguageModel
    codec: PieceCodec
    settings: LanguageSettings
    which: Which
    path: Path
    extra: dict[str, Any]


def load_language_model(folder: str | Path, which: Which | None = None) -> LoadedLanguageModel:
    """Load a language model's run; arguments and errors as of :func:`load_run`.

    >>> try:
    ...     load_language_model("nowhere")
    ... except RunError as error:
    ...     print(error)
    nowhere: expected the folder of a run, got no folder
    """
    found = _load(folder, which)
    if not (isinstance(found.settings, LanguageSettings) and isinstance(found.codec, PieceCodec)):
        raise RunError(f"{folder}: expected a language model, got a translator")
    assert isinstance(found.model, LanguageModel)  # its settings say which model it is
    return LoadedLanguageModel(
        found.model, found.codec, found.settings, found.which, found.path, found.extra
    )


@dataclass(frozen=True, eq=False)
class _Loaded:
    model: Model
    codec: Codec
    settings: AnySettings
    which: Which
    path: Path
    extra: dict[str, Any]


def _load(folder: str | Path, which: Which | None) -> _Loaded:
    run = RunFolder(folder)
    settings = run.settings()
    found, path = _choose(run, which)
    codec = read_codec(run, settings)
    try:
        _check_fits(path, settings, codec)
        with drawn_from(settings.training.seed):
            model = build_model(settings.model, codec)
        extra = load_checkpoint(path, model=model).extra
    except FileNotFoundError as error:
        raise RunError(f"{path}: expected the weights of a run, got none") from error
    return _Loaded(model.eval(), codec, settings, found, path, extra)


def _check_fits(path: Path, settings: AnySettings, codec: Codec) -> None:
    """See that a file has the weights of a model before there is any memory for them."""
    found = below("model.", read_shapes(path))
    if settings.model.config.get("num_layers", 1) > len(found):
        raise CheckpointError(f"{path}: expected the weights of every layer, got fewer")
    try:
        with torch.device("meta"):
            model = build_model(settings.model, codec)
    except ValueError as error:
        raise RunError(f"{path.parent}: {error}") from error
    expected = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            want, got = (each.get(name, "nothing") for each in (expected, found))
            raise CheckpointError(f"{path}: {name}: expected {want}, got {got}")


def _choose(run: RunFolder, which: Which | None) -> tuple[Which, Path]:
    """Return which weights, and their file."""
    if which is not None:
        one_of("which", which, get_args(Which))
    files: dict[Which, Path] = {"average": run.average, "best": run.best}
    for name, path in files.items():
        if which == name or (which is None and path.is_file()):
            return name, path
    checkpoints = Checkpoints(run.checkpoints)
    for step in reversed(checkpoints.steps()):
        try:
            checkpoints.read(step)
        except CheckpointError:
            continue
        return "last", checkpoints.path(step)
    raise RunError(f"{run.path}: expected the weights of a run, got none yet")
