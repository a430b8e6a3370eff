"""The tensors of a pretrained model: windows on its safetensors files, nothing copied."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attention_book.foundations.environment import from_extra
from attention_book.models.pretrained.model_folder import ModelFolder, PretrainedError

#: The types that weights may have.
FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


class Weights:
    """The tensors of all files of a folder: their names and shapes first, then themselves.

    Args:
        folder: The folder.
        files: Its open files of safetensors, by their names.

    Raises:
        PretrainedError: if two files hold a tensor of one name, or one is not where the index
            says.

    >>> from tempfile import TemporaryDirectory
    >>> from safetensors.torch import save_file
    >>> with TemporaryDirectory() as name:
    ...     save_file({"x": torch.ones(2, 3)}, f"{name}/model.safetensors")
    ...     with opened(ModelFolder(name)) as weights:
    ...         weights.shapes, weights["x"].sum()
    ({'x': (2, 3)}, tensor(6.))
    """

    def __init__(self, folder: ModelFolder, files: Mapping[str, Any]) -> None:
        """Read the shapes."""
        self.folder, self._files = folder, files
        self._file_of: dict[str, str] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        for file, handle in files.items():
            for name in handle.keys():  # noqa: SIM118 - it is no dictionary
                if name in self.shapes:
                    raise PretrainedError(f"{folder.path}: {name}: expected one, got two")
                self._file_of[name] = file
                self.shapes[name] = tuple(handle.get_slice(name).get_shape())
        for name, file in folder.places().items():
            if self._file_of.get(name) != file:
                raise PretrainedError(f"{folder.path / file}: {name}: expected it there, got none")

    def __getitem__(self, name: str) -> Tensor:
        """Return a tensor: a window on the file, read when its numbers are used.

        Raises:
            PretrainedError: if it holds no numbers that attention is computed with.
        """
        tensor: Tensor = self._files[self._file_of[name]].get_tensor(name)
        if tensor.dtype not in FLOATS:
            raise PretrainedError(
                f"{self.folder.path / self._file_of[name]}: {name}: expected floating point "
                f"numbers of 16, 32 or 64 bits, got {tensor.dtype}"
            )
        return tensor


@contextmanager
def opened(folder: ModelFolder) -> Iterator[Weights]:
    """Open all files with weights; whatever is wrong with one is one error.

    Raises:
        PretrainedError: if a file is damaged, cut short or something else.
        ImportError: if safetensors is not installed.
    """
    with from_extra("training", "safetensors"):
        from safetensors import SafetensorError, safe_open
    current: Path | str = folder.path
    with ExitStack() as stack:
        try:
            files = {}
            for name, path in folder.shards().items():
                current = folder.path / name
                files[name] = stack.enter_context(safe_open(path, framework="pt"))
            current = folder.path
            yield Weights(folder, files)
        except PretrainedError:
            raise
        except (SafetensorError, OSError, ValueError, TypeError, AttributeError, KeyError) as error:
            raise PretrainedError(f"{current}: expected whole weights, got {error}") from error
