"""Checkpoints: one file from which a training resumes as if it had never stopped.

The file is in the safetensors format: the tensors of the model and of the optimizer
and the state of the random numbers, and in its metadata, as JSON, all the rest, with a
checksum. Nothing in it is ever executed, as a pickle would be.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.parallel import DataParallel, DistributedDataParallel

from attention_book.foundations.environment import from_extra
from attention_book.foundations.files import write_whole
from attention_book.foundations.stored_settings import completed
from attention_book.models import LoRA, TiedModel
from attention_book.text import ParallelData


@dataclass(frozen=True)
class Report:
    """What one step of :func:`descend` saw.

    Attributes:
        step: Counted from 1.
        loss: The loss *before* the parameters were changed.
        gradient_norm: The Euclidean norm of the whole gradient, also before.

    >>> Report(step=1, loss=0.5, gradient_norm=2.0).loss
    0.5
    """

    step: int
    loss: float
    gradient_norm: float


@dataclass(frozen=True, kw_only=True)
class EpochReport:
    """What one epoch of :func:`fit` saw.

    Attributes:
        epoch: Counted from 1.
        loss_per_token: The training loss, a mean over all real target tokens of the
            epoch, in nats: each batch's before the step that it led to, with dropout
            and label smoothing.
        num_tokens: How many real target tokens there were, ``<eos>`` included.
        gradient_norm: The largest norm that a batch's gradient had before clipping.
        seconds: How long the training took, validation and checkpoint not counted.
        validation_loss: The loss per token on the validation data after the epoch,
            without dropout or label smoothing; None where there is no such data.

    >>> report = EpochReport(
    ...     epoch=1, loss_per_token=2.5, num_tokens=3000, gradient_norm=4.0, seconds=1.5
    ... )
    >>> report.tokens_per_second
    2000.0
    """

    epoch: int
    loss_per_token: float
    num_tokens: int
    gradient_norm: float
    seconds: float
    validation_loss: float | None = None

    @property
    def tokens_per_second(self) -> float:
        """How fast the training was, in target tokens."""
        return self.num_tokens / self.seconds

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, for JSON."""
        return asdict(self)


Value = TypeVar("Value")
_FORMAT = "attention_book checkpoint 1"
_BAD_JSON = (KeyError, ValueError, RecursionError)


class CheckpointError(ValueError):
    """A file that is not a checkpoint, or is the checkpoint of something else.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.safetensors"
    ...     _ = path.write_text("what is this?")
    ...     try:
    ...         read_tensors(path)
    ...     except CheckpointError as error:
    ...         print(str(error).partition(": ")[2][:26])
    expected a checkpoint, got
    """


def write_tensors(
    path: str | Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]
) -> None:
    """Write tensors and plain values atomically: if interrupted, ``path`` is still the old file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two.safetensors"
    ...     write_tensors(path, {"x": torch.tensor([1, 2])}, {"name": "two"})
    ...     tensors, about = read_tensors(path)
    >>> tensors, about["name"]
    ({'x': tensor([1, 2])}, 'two')
    """
    with from_extra("training", "safetensors"):
        from safetensors.torch import save
    # Copies: tensors that share their memory, as tied embeddings do, are refused otherwise.
    copies = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    content = {"format": _FORMAT, **about, "digest": _digest(copies)}
    content["checksum"] = _checksum(content)
    write_whole(path, save(copies, metadata={"attention_book": json.dumps(content)}))


def read_tensors(
    path: str | Path, *, with_tensors: bool = True
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and the plain values of a file; or the values alone, which is fast."""
    with _opened(Path(path)) as file:
        about = json.loads((file.metadata() or {})["attention_book"])
        names = file.keys() if with_tensors else ()
        # Copies: the library's tensors are windows on the file, which may be replaced.
        tensors = {name: file.get_tensor(name).clone() for name in names}
    found = about.get("format") if isinstance(about, dict) else about
    if found != _FORMAT:
        raise CheckpointError(f"{path}: expected {_FORMAT!r}, got {found!r}")
    if "checksum" in about and about["checksum"] != _checksum(about):  # older files have none
        raise CheckpointError(f"{path}: expected the values that were written, got others")
    if with_tensors and about.get("digest") != _digest(tensors):
        raise CheckpointError(f"{path}: expected the tensors that were written, got others")
    return tensors, about


def read_shapes(path: str | Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all tensors of a file, and read none of them.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "one.safetensors"
    ...     write_tensors(path, {"x": torch.zeros(2, 3)}, {})
    ...     read_shapes(path)
    {'x': (2, 3)}
    """
    with _opened(Path(path)) as file:
        names = file.keys()
        return {name: tuple(file.get_slice(name).get_shape()) for name in names}


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a file for reading; whatever is wrong with it is one error."""
    with from_extra("training", "safetensors"):
        from safetensors import SafetensorError, safe_open
    _check_is_file(path)
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except FileNotFoundError:
        raise
    # What JSON can be and cannot be; types of numbers that torch has no name for.
    except (*_BAD_JSON, SafetensorError, TypeError, AttributeError, OSError) as error:
        raise CheckpointError(
            f"{path}: expected a checkpoint, got something else: {error}"
        ) from error


def _check_is_file(path: Path) -> None:
    """Refuse a folder, and what would have to be waited for, such as a pipe."""
    try:
        found = path.is_file() or not path.exists()
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: expected a checkpoint, got none: {error}") from error
    if not found:
        raise CheckpointError(f"{path}: expected a checkpoint, got no file")


def below(prefix: str, tensors: Mapping[str, Value]) -> dict[str, Value]:
    """Return the tensors, or what else, whose names begin with a prefix, named without it.

    >>> list(below("model.", {"model.x": torch.tensor(1), "optimizer.x": torch.tensor(2)}))
    ['x']
    """
    size = len(prefix)
    return {name[size:]: value for name, value in tensors.items() if name.startswith(prefix)}


def _digest(tensors: Mapping[str, Tensor]) -> str:
    """Return a number made of all bytes: a disk may damage a file without cutting it."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _checksum(about: Mapping[str, Any]) -> str:
    """Return a number made of all plain values but itself."""
    values = {name: value for name, value in about.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


# What no module of anybody's own is called.
_PRIVATE = frozenset({"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})
#: Parts of a name that say how a module was wrapped.
WRAPPERS = _PRIVATE | {"module"}


def unwrapped(model: nn.Module) -> nn.Module:
    """Return the model within ``torch.compile``, ``DataParallel`` and ``DistributedDataParallel``.

    >>> inner = nn.Linear(2, 2)
    >>> unwrapped(DataParallel(DataParallel(inner))) is inner
    True
    """
    while True:
        if isinstance(model, DataParallel | DistributedDataParallel):
            model = model.module
        elif isinstance(inner := getattr(model, "_orig_mod", None), nn.Module):
            model = inner
        else:
            return model


def plain_name(name: str, wrappers: Iterable[str] = _PRIVATE) -> str:
    """Return the name of a weight without what wrappers have added to it.

    >>> plain_name("_orig_mod.encoder._orig_mod.weight"), plain_name("module.weight", WRAPPERS)
    ('encoder.weight', 'weight')
    """
    return ".".join(part for part in name.split(".") if part not in wrappers)


def renamed(found: Mapping[str, object], own: Iterable[str]) -> dict[str, str]:
    """Return which name of a model's own each found name is: the same but for wrappers.

    What has no counterpart, or several, keeps its name.

    >>> renamed({"module.weight": 1, "bias": 2}, ["_orig_mod.weight", "_orig_mod.bias"])
    {'module.weight': '_orig_mod.weight', 'bias': '_orig_mod.bias'}
    """
    names = set(own)
    if names == found.keys():
        return {name: name for name in found}
    theirs, ours = ({plain_name(each, WRAPPERS): each for each in all_} for all_ in (found, names))
    if len(theirs) < len(found) or len(ours) < len(names):
        return {name: name for name in found}
    return {name: ours.get(plain, name) for plain, name in theirs.items()}


def wrapped_in(names: Iterable[str]) -> str:
    """Return what some of the names were wrapped in; an empty text: nothing.

    >>> wrapped_in(["bias", "module._orig_mod.weight"])
    '_orig_mod., module.'
    """
    parts = {part for name in names for part in name.split(".") if part in WRAPPERS}
    return ", ".join(f"{part}." for part in sorted(parts))


#: What is raised where a file says of an optimizer what cannot be.
NOT_A_STATE = (ValueError, KeyError, IndexError, TypeError, AttributeError, RuntimeError)


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the tensors, named by the parameter's number and their own name: "3.exp_avg"."""
    return {
        f"{number}.{name}": value
        for number, state in optimizer.state_dict()["state"].items()
        for name, value in state.items()
        if isinstance(value, Tensor)
    }


def optimizer_rest(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Return what is no tensor: the settings of each group, and numbers kept for a parameter."""
    content = optimizer.state_dict()
    return {
        "kind": type(optimizer).__name__,
        "groups": [
            {name: _plain(value) for name, value in group.items()}
            for group in content["param_groups"]
        ],
        "numbers": {
            f"{number}.{name}": value
            for number, state in content["state"].items()
            for name, value in state.items()
            if not isinstance(value, Tensor)
        },
    }


def restore(
    optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], rest: Mapping[str, Any]
) -> None:
    """Give the optimizer back what the two functions above took from it."""
    kind = type(optimizer).__name__
    if kind != rest["kind"]:
        raise ValueError(f"optimizer: expected {kind}, got {rest['kind']}")
    sizes = [len(group["params"]) for group in optimizer.param_groups]
    found = [len(group["params"]) for group in rest["groups"]]
    if sizes != found:
        raise ValueError(f"optimizer: expected groups of {sizes} parameters, got {found}")
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    state: dict[int, dict[str, Any]] = {}
    for place, value in [*tensors.items(), *rest["numbers"].items()]:
        number, _, name = place.partition(".")
        shape = parameters[int(number)].shape
        if isinstance(value, Tensor) and value.ndim and value.shape != shape:
            raise ValueError(
                f"optimizer: parameter {number}: {name}: expected the shape {tuple(shape)}, "
                f"got {tuple(value.shape)}"
            )
        state.setdefault(int(number), {})[name] = value
    groups = [{name: _tuples(value) for name, value in group.items()} for group in rest["groups"]]
    for own, given in zip(optimizer.param_groups, groups, strict=True):
        for name in (own.keys() & given.keys()) - {"params"}:
            if not _fits(_plain(own[name]), given[name]):
                raise ValueError(f"optimizer: {name}: expected {own[name]}, got {given[name]!r}")
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def _fits(own: Any, given: Any) -> bool:
    """Whether a setting is of the kind that the optimizer's own one is."""
    if isinstance(own, tuple | list):
        fits = isinstance(given, tuple) and len(given) == len(own)
        return fits and all(map(_fits, own, given))
    if own is None or isinstance(own, bool):
        return given is None or isinstance(given, bool)
    if isinstance(own, int | float):
        return isinstance(given, int | float) and not isinstance(given, bool)
    return True


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


def _tuples(value: Any) -> Any:
    """Undo JSON, which knows lists only; the pair of Adam's betas is a tuple."""
    return tuple(value) if isinstance(value, list) else value


_MODEL, _OPTIMIZER, _RANDOM = "model.", "optimizer.", "random."


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint says beside its tensors.

    Attributes:
        reports: One report for every epoch so far.
        extra: What else was given to :func:`save_checkpoint`.

    >>> Checkpoint(reports=(), extra={}).epoch
    0
    """

    reports: tuple[EpochReport, ...]
    extra: dict[str, Any]

    @property
    def epoch(self) -> int:
        """How many epochs were trained."""
        return len(self.reports)


def save_checkpoint(
    path: str | Path,
    *,
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    reports: Sequence[EpochReport] = (),
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Write a checkpoint atomically: if interrupted, ``path`` is still the old file.

    Args:
        path: The file. Its folder is created where needed.
        model: Its parameters and buffers are kept, and ``model.config`` where it has one.
        optimizer: Its state is kept too, and that of the random numbers, to go on training.
        reports: The history.
        extra: Anything else that JSON can hold.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.safetensors"
    ...     save_checkpoint(path, model=nn.Linear(2, 2), extra={"language": "fr"})
    ...     load_checkpoint(path, model=nn.Linear(2, 2)).extra
    {'language': 'fr'}
    """
    model = unwrapped(model)
    tensors = {_MODEL + plain_name(name): value for name, value in model.state_dict().items()}
    about: dict[str, Any] = {
        "config": _config(model),
        "reports": [report.to_dict() for report in reports],
        "extra": dict(extra or {}),
    }
    if optimizer is not None:
        found = optimizer_tensors(optimizer)
        tensors |= {_OPTIMIZER + name: value for name, value in found.items()}
        about["optimizer"] = optimizer_rest(optimizer)
        tensors |= _random_states()
    write_tensors(path, tensors, about)


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Return what a checkpoint says, without its tensors.

    Raises:
        CheckpointError: if the file is no checkpoint.
        FileNotFoundError: if there is no such file.
        ImportError: if safetensors is not installed.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.safetensors"
    ...     save_checkpoint(path, model=nn.Linear(2, 2))
    ...     read_checkpoint(path)
    Checkpoint(reports=(), extra={})
    """
    return _checkpoint(path, read_tensors(path, with_tensors=False)[1])


def load_checkpoint(
    path: str | Path, *, model: nn.Module, optimizer: torch.optim.Optimizer | None = None
) -> Checkpoint:
    """Put a model, and an optimizer, back to where they were when the file was written.

    With an optimizer the random numbers go on from there too, so that the training does
    exactly what it would have done. Without one they are left alone. A file that was written
    before the model's config gained a field loads where the model has that field's default. It does
    not matter whether one of the two models, or a part of it, was wrapped by ``torch.compile`` or
    ``DistributedDataParallel``: the names that wrappers give are those of the same weights.

    Raises:
        CheckpointError: if the file is no checkpoint, or that of another model or
            optimizer. Nothing was changed then.
        FileNotFoundError: if there is no such file.
        ImportError: if safetensors is not installed.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.safetensors"
    ...     save_checkpoint(path, model=nn.Linear(2, 2))
    ...     load_checkpoint(path, model=nn.Linear(2, 2)).epoch
    0
    """
    tensors, about = read_tensors(path)
    checkpoint = _checkpoint(path, about)
    model = unwrapped(model)
    found = below(_MODEL, tensors)
    weights, config = _as_named_in(model, found), about.get("config")
    if config is None and wrapped_in(found):  # a wrapper has no settings, its model had
        config = _config(model)
    _check_model(path, model, config, weights)
    if optimizer is not None:
        if "optimizer" not in about:
            raise CheckpointError(f"{path}: expected the state of an optimizer, got none")
        try:
            random = below(_RANDOM, tensors)
            torch.Generator().set_state(random["cpu"])  # refuses what is none
            restore(optimizer, below(_OPTIMIZER, tensors), about["optimizer"])
            _set_random_states(random)
        except NOT_A_STATE as error:
            raise CheckpointError(f"{path}: {error}") from error
    model.load_state_dict(weights)
    return checkpoint


def _checkpoint(path: str | Path, about: Mapping[str, Any]) -> Checkpoint:
    try:
        reports = tuple(EpochReport(**report) for report in about["reports"])
        extra = about["extra"]
        if not isinstance(extra, dict):
            raise TypeError(f"extra is {type(extra).__name__}")
        return Checkpoint(reports, extra)
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: expected reports and extra, got none: {error}") from error


def _config(model: nn.Module) -> dict[str, Any] | None:
    config: Any = getattr(model, "config", None)
    if not hasattr(config, "to_dict"):
        return None
    plain: dict[str, Any] = json.loads(json.dumps(config.to_dict()))
    return plain


def _check_model(
    path: str | Path, model: nn.Module, config: dict[str, Any] | None, weights: Mapping[str, Tensor]
) -> None:
    own = _config(model)
    if config is not None and own is not None and is_dataclass(model.config):
        try:
            config = completed(type(model.config), config)
        except (ValueError, TypeError, AttributeError) as error:
            raise CheckpointError(f"{path}: {error}") from error
    if own != config:
        expected, found = _differing(own, config)
        raise CheckpointError(f"{path}: expected a model with {expected}, got one with {found}")
    check_tensors(str(path), model.state_dict(), weights)
    for name, module in model.named_modules():
        # What says what the numbers mean: which matrices are one, which change has which alpha.
        if isinstance(module, (TiedModel, LoRA)):
            try:
                module.check_state(weights, f"{name}." if name else "")
            except ValueError as error:
                raise CheckpointError(f"{path}: {error}") from error


def _differing(*configs: dict[str, Any] | None) -> list[dict[str, Any] | str]:
    """Return of two models' settings those that differ, for the error."""
    one, other = (each or {} for each in configs)
    names = [name for name in {**one, **other} if one.get(name) != other.get(name)]
    return [
        {name: each[name] for name in names if name in each} if each else "no settings"
        for each in configs
    ]


def check_tensors(place: str, state: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> None:
    """Check that weights have the names, the shapes and the types of a model's own.

    Args:
        place: Where they are from, for the error.
        state: The model's own.
        weights: Those that were found.
    """
    for name in sorted(state.keys() | weights.keys()):
        expected, found = (kind_of(each.get(name)) for each in (state, weights))
        if expected != found:
            wrapped = wrapped_in(weights.keys() - state.keys())
            why = f"; it holds the weights of a wrapped model ({wrapped})" if wrapped else ""
            raise CheckpointError(f"{place}: {name}: expected {expected}, got {found}{why}")


def kind_of(tensor: Tensor | None) -> str:
    """Return a tensor's shape and type as an error says them.

    >>> kind_of(torch.zeros(2, 3)), kind_of(None)
    ('(2, 3), torch.float32', 'nothing')
    """
    return "nothing" if tensor is None else f"{tuple(tensor.shape)}, {tensor.dtype}"


def _as_named_in(model: nn.Module, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights under the names that the model has for them."""
    names = renamed(weights, model.state_dict())
    return {names[name]: value for name, value in weights.items()}


def _random_states() -> dict[str, Tensor]:
    states = {_RANDOM + "cpu": torch.get_rng_state()}
    if torch.cuda.is_initialized():
        for number, state in enumerate(torch.cuda.get_rng_state_all()):
            states[f"{_RANDOM}cuda.{number}"] = state
    return states


def _set_random_states(states: Mapping[str, Tensor]) -> None:
    torch.set_rng_state(states["cpu"])
    for name, state in states.items():
        if name.startswith("cuda."):
            torch.cuda.set_rng_state(state, int(name.removeprefix("cuda.")))


def describe_training(
    optimizer: torch.optim.Optimizer,
    data: ParallelData,
    validation: ParallelData | None,
    **options: Any,
) -> dict[str, Any]:
    """Return all that makes a training this one and no other, as JSON would return it.

    A schedule is a function, which can't be compared: it is only noted whether there is one.
    """
    started_with = optimizer_rest(optimizer)
    settings = {
        "data": _fingerprint(data),
        "validation": None if validation is None else _fingerprint(validation),
        "optimizer": {name: started_with[name] for name in ("kind", "groups")},
        **options,
    }
    plain: dict[str, Any] = json.loads(json.dumps(settings))
    return plain


def resume(
    path: str | Path,
    training: Mapping[str, Any],
    *,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    epochs: int,
) -> list[EpochReport]:
    """Load the checkpoint if there is one; return the reports of the epochs that are done.

    Raises:
        CheckpointError: if it is no checkpoint, or that of another training, or if more
            than ``epochs`` epochs are done. Nothing was changed then.
    """
    if not Path(path).exists():
        return []
    checkpoint = read_checkpoint(path)
    found = checkpoint.extra.get("training")
    if not isinstance(found, dict):
        raise CheckpointError(f"{path}: expected the checkpoint of a training, got another")
    for name in {**training, **found}:  # an option that one of them lacks is None there
        value = training.get(name)
        if found.get(name) != value:
            raise CheckpointError(f"{path}: {name}: expected {value}, got {found.get(name)}")
    if checkpoint.epoch > epochs:
        raise CheckpointError(f"{path}: expected at most {epochs} epochs, got {checkpoint.epoch}")
    load_checkpoint(path, model=model, optimizer=optimizer)
    if scaler.is_enabled():
        scaler.load_state_dict(checkpoint.extra["scaler"])
    return list(checkpoint.reports)


def _fingerprint(data: ParallelData) -> str:
    """Return a line made of all sentences, where they are cut, and both vocabularies."""
    lines = [f"{' '.join(pair.source)}\t{' '.join(pair.target)}" for pair in data.pairs]
    for vocabulary in (data.source_vocabulary, data.target_vocabulary):
        lines.append(" ".join(vocabulary.tokens))
    # Half a surrogate pair, which UTF-8 refuses, is a token like any other here.
    digest = hashlib.sha256("\n".join(lines).encode(errors="surrogatepass"))
    return (
        f"{len(data)} pairs, {data.num_tokens} target tokens, "
        f"max_tokens={data.max_tokens}, {digest.hexdigest()[:16]}"
    )
