"""A folder of a pretrained model: which of its files may be read, and how."""

import json
import re
from os import PathLike
from pathlib import Path
from typing import Any

#: Names that lead to a model which is there, but in another form.
_OTHER_FORMS = {
    "*.gguf": "GGUF, for other programs; get the safetensors that it was made from",
    "consolidated*": "weights as their authors named them; get those in the layout of Hugging Face",
    "*.h5": "weights for TensorFlow; get the safetensors",
    "*.msgpack": "weights for Flax; get the safetensors",
    "*.onnx": "a compiled model; get the safetensors that it was made from",
}
_MERGE = "merge the adapter into its model (merge_and_unload) and save that"
#: What holds pickled objects: to read one is to run what it says.
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
#: How models are called on a hub.
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


class PretrainedError(ValueError):
    """A folder that cannot be loaded: something is missing, damaged, unknown or not allowed.

    >>> from attention_book.models import load_pretrained
    >>> try:
    ...     load_pretrained("no/such/folder")
    ... except PretrainedError as error:
    ...     print(error)
    no/such/folder: expected a folder with a model, got none
    """


class ModelFolder:
    """The files of a folder, none of them outside of it.

    A symbolic link may stay in the folder, or lead to the ``blobs`` of a download cache that the
    folder is a snapshot of (``blobs/…`` beside ``snapshots/…/``), and nowhere else.

    Args:
        path: The folder.

    Raises:
        PretrainedError: if there is no such folder.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as name:
    ...     _ = (Path(name) / "config.json").write_text('{"model_type": "llama"}')
    ...     ModelFolder(name).read_json("config.json")
    {'model_type': 'llama'}
    """

    def __init__(self, path: str | Path) -> None:
        """Look whether there is one."""
        if not isinstance(path, str | PathLike) or not str(path):
            raise PretrainedError(f"folder: expected its path, got {path!r:.80}")
        try:
            self.path = Path(path).expanduser()
            found = self.path.is_dir()
        except (OSError, ValueError, RuntimeError):  # no such home
            self.path, found = Path(path), False
        if not found:
            raise PretrainedError(f"{path}: expected a folder with a model, got {self._instead()}")
        self._allowed = [self.path.resolve()]
        if self._allowed[0].parent.name == "snapshots":
            self._allowed.append(self._allowed[0].parents[1] / "blobs")

    def _instead(self) -> str:
        """Return what is where a folder was expected, and what to do about it."""
        try:
            is_file = self.path.is_file()
        except (OSError, ValueError):
            is_file = False
        if is_file and self.path.suffix == ".safetensors":
            return "one of its files; name the folder"
        if is_file:
            kinds = (what for kind, what in _OTHER_FORMS.items() if self.path.match(kind))
            return f"a file ({next(kinds, 'name the folder that it is in')})"
        if _HUB_NAME.fullmatch(str(self.path)) and not self.path.parent.exists():
            return (
                "none; nothing is downloaded here: if it is a name on a hub, "
                f'huggingface_hub.snapshot_download("{self.path}") returns its folder'
            )
        return "none"

    def check_whole(self) -> None:
        """See that what is there is a model in the layout of Hugging Face, and all of it.

        Raises:
            PretrainedError: if it is something else, which is named with what to do about it.
        """
        if self.has("adapter_config.json"):
            beside = " beside a model" if self.has("config.json") else ""
            raise PretrainedError(
                f"{self.path}: expected a whole model, got an adapter{beside}; {_MERGE}"
            )
        if not self.has("config.json"):
            within = sorted(self.path.glob("*/config.json")) or sorted(
                self.path.glob("snapshots/*/config.json")
            )
            other = self._other_form()
            if within and not self._weights():
                raise PretrainedError(
                    f"{self.path / 'config.json'}: expected a file, got none; "
                    f"there is one in {within[-1].parent}"
                )
            if other:
                raise PretrainedError(
                    f"{self.path / 'config.json'}: expected a file, got none, and {other}"
                )

    def _weights(self) -> list[str]:
        return sorted(each.name for each in self.path.glob("*.safetensors"))

    def _other_form(self) -> str:
        """Return what else there is that could be a model, and what to do about it."""
        for kind, what in _OTHER_FORMS.items():
            for path in sorted(self.path.glob(kind)):
                return f"{path.name}, {what}"
        return ""

    def has(self, name: str) -> bool:
        """Whether there is something of this name, whatever it is."""
        return (self.path / name).exists() or (self.path / name).is_symlink()

    def file(self, name: str) -> Path:
        """Return where a file really is.

        Raises:
            PretrainedError: if it is none, or is not in the folder.
        """
        path = self.path / name
        if name in ("", ".", "..") or "/" in name or "\\" in name or "\0" in name:
            raise PretrainedError(f"{self.path}: expected names of files in it, got {name!r}")
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError) as error:  # nothing there, or links in a circle
            raise PretrainedError(f"{path}: expected a file, got none") from error
        if not any(real.is_relative_to(allowed) for allowed in self._allowed):
            raise PretrainedError(
                f"{path}: expected a file in its folder, got a link to one outside"
            )
        if not real.is_file():
            raise PretrainedError(f"{path}: expected a file, got something else")
        return real

    def read_json(self, name: str) -> dict[str, Any]:
        """Return the values of a JSON file.

        Raises:
            PretrainedError: if it is none, or holds no object.
        """
        path = self.file(name)
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise PretrainedError(f"{self.path / name}: expected JSON, got {error}") from error
        if not isinstance(found, dict):
            raise PretrainedError(
                f"{self.path / name}: expected an object, got {type(found).__name__}"
            )
        return found

    def shards(self) -> dict[str, Path]:
        """Return the files with the weights, by their names.

        Raises:
            PretrainedError: if there are none; where there is a pickle, it says so.
        """
        if self.has("model.safetensors"):  # as the library does, where there is an index besides
            return {"model.safetensors": self.file("model.safetensors")}
        if self.has("model.safetensors.index.json"):
            return {name: self.file(name) for name in sorted(set(self.places().values()))}
        pickled = sorted(each.name for kind in _PICKLED for each in self.path.glob(kind))
        got = self._other_form() or "none"
        if pickled and not got.startswith("consolidated.safetensors"):
            got = (
                f"{pickled[0]}, a pickle, which could run code; where you trust it, the library "
                "transformers reads it, and its save_pretrained writes safetensors"
            )
        elif got == "none" and (others := self._weights()):
            got = f"{', '.join(others)[:80]} without an index (model.safetensors.index.json)"
        raise PretrainedError(f"{self.path}: expected weights in model.safetensors, got {got}")

    def places(self) -> dict[str, str]:
        """Return the file of each tensor as the index says; nothing where there is no index.

        Raises:
            PretrainedError: if the index holds anything else.
        """
        if self.has("model.safetensors") or not self.has("model.safetensors.index.json"):
            return {}
        found = self.read_json("model.safetensors.index.json").get("weight_map")
        if not isinstance(found, dict) or not found:
            raise PretrainedError(
                f"{self.path / 'model.safetensors.index.json'}: expected a weight_map, got none"
            )
        for name in found.values():
            if not isinstance(name, str) or not name.endswith(".safetensors"):
                raise PretrainedError(
                    f"{self.path / 'model.safetensors.index.json'}: expected files of "
                    f"safetensors, got {name!r}"
                )
        return found
