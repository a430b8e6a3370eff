"""One file of named tensors and plain values, in the safetensors format, with a checksum.

Nothing in it is ever executed, as a pickle would be.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from attention_book.foundations.environment import from_extra
from attention_book.foundations.files import write_whole

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

    Raises:
        ImportError: if safetensors is not installed.

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
    """Return the tensors and the plain values of a file; or the values alone, which is fast.

    Raises:
        CheckpointError: if the file is something else, was damaged, or cannot be read.
        FileNotFoundError: if there is no such file.
        ImportError: if safetensors is not installed.
    """
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

    Raises:
        CheckpointError: if the file is something else, or cannot be read.
        FileNotFoundError: if there is no such file.
        ImportError: if safetensors is not installed.

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
    """Refuse a folder, and what would have to be waited for, such as a pipe.

    Raises:
        CheckpointError: if there is something that is no file.
    """
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
