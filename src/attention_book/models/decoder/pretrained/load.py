"""A pretrained model from a folder in the Hugging Face layout: Llama, Mistral, Qwen3, Gemma 3."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from attention_book.foundations.environment import from_extra
from attention_book.foundations.labels import token_labels
from attention_book.foundations.shapes import TokenIds
from attention_book.models.decoder.config import DecoderConfig
from attention_book.models.decoder.model import DecoderLanguageModel
from attention_book.models.decoder.pretrained.families import decoder_config
from attention_book.models.decoder.pretrained.model_folder import ModelFolder, PretrainedError
from attention_book.models.decoder.pretrained.names import is_left_out, name_in_files, prefix_of
from attention_book.models.decoder.pretrained.stored_config import StoredConfig
from attention_book.models.decoder.pretrained.weights import Weights, opened


@dataclass(frozen=True, eq=False)
class Pretrained:
    """A model that others have trained, and its tokenizer.

    Attributes:
        model: In evaluation mode, on the CPU; its weights are windows on the files.
        family: What ``config.json`` calls its kind: "llama", "mistral", "qwen3", "gemma3_text",
            or "gemma3" for the part for text of a model that sees pictures.
        path: The folder.
        ends: The numbers of all tokens that end a text; ``model.config.eos`` is the first.
        tokenizer: A ``tokenizers.Tokenizer``; None where the folder has no ``tokenizer.json``.

    >>> from attention_book.models import DecoderConfig
    >>> model = DecoderLanguageModel(DecoderConfig(vocabulary=10))
    >>> Pretrained(model, family="llama", path=Path("folder")).encode("Hello")
    Traceback (most recent call last):
        ...
    attention_book.models.decoder.pretrained.model_folder.PretrainedError: \
folder: expected a tokenizer.json, got none
    """

    model: DecoderLanguageModel
    family: str
    path: Path
    ends: tuple[int, ...] = ()
    tokenizer: Any = field(default=None, repr=False)

    def encode(self, text: str) -> TokenIds:
        """Return a text as numbers, (1, token), with the special tokens that the model expects.

        Raises:
            PretrainedError: if there is no tokenizer.
        """
        return torch.tensor([self._known_tokenizer().encode(text).ids], dtype=torch.long)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text that token numbers stand for, without the special ones.

        Raises:
            PretrainedError: if there is no tokenizer.
        """
        text: str = self._known_tokenizer().decode(list(ids))
        return text

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Return how each token reads: :func:`~attention_book.foundations.token_labels`.

        Raises:
            PretrainedError: if there is no tokenizer.
        """
        tokenizer = self._known_tokenizer()
        names = [tokenizer.id_to_token(number) or f"<{number}>" for number in ids]
        return list(token_labels(names, tokenizer=tokenizer))

    def _known_tokenizer(self) -> Any:
        if self.tokenizer is None:
            raise PretrainedError(f"{self.path}: expected a tokenizer.json, got none")
        return self.tokenizer


def load_pretrained(folder: str | Path) -> Pretrained:
    """Load a model in the Hugging Face layout into our readable decoder.

    Read are ``config.json`` (the spelling of today and that of before 2025),
    ``model.safetensors`` or its parts with their index, and ``tokenizer.json``. Families: Llama,
    Mistral, Qwen3, Gemma 3. The weights stay in the type of the file and are not copied: they are
    windows on it, read when they are first used. Change or remove the file, and the model
    is no longer what it was; ``.float()`` makes a copy.

    No pickle is opened, no code is run, no link is followed out of the folder. Names and shapes
    are compared before anything is loaded.

    Args:
        folder: Where the files are, for example a snapshot in the cache of ``huggingface_hub``.

    Raises:
        PretrainedError: if a file is missing, damaged, or outside the folder; if a tensor is
            missing, is not one of the model's or has another shape; or if the model is none of
            these families or does something that ours does not.
        ImportError: if safetensors, or for a ``tokenizer.json`` tokenizers, is not installed.

    >>> pretrained = load_pretrained("Qwen3-0.6B")               # doctest: +SKIP
    >>> prompt = pretrained.encode("The capital of France is")   # doctest: +SKIP
    >>> pretrained.model(prompt).shape                           # doctest: +SKIP
    torch.Size([1, 5, 151936])
    """
    found = ModelFolder(folder)
    stored = StoredConfig(found.read_json("config.json"), place=str(found.path / "config.json"))
    config = decoder_config(stored)
    with opened(found) as weights:
        model = _built(config, weights)
    tokenizer = _tokenizer(found) if found.has("tokenizer.json") else None
    family: str = stored.values["model_type"]
    return Pretrained(model, family, found.path, stored.ids("eos_token_id"), tokenizer)


def _built(config: DecoderConfig, weights: Weights) -> DecoderLanguageModel:
    """Return a model around the tensors of the files, if they are all of them and fit."""
    where = weights.folder.path
    if config.num_layers > len(weights.shapes):  # before a module is made for each
        raise PretrainedError(
            f"{where}: expected the weights of {config.num_layers} layers, got fewer"
        )
    with torch.device("meta"):
        model = DecoderLanguageModel(config)
    prefix = prefix_of(weights.shapes)
    expected = {
        name: (name_in_files(name, config, prefix=prefix), tuple(value.shape))
        for name, value in model.state_dict().items()
        if not (config.tied and name == "readout.weight")
    }
    _check_same(dict(expected.values()), weights, tied=config.tied)
    tensors = {name: weights[theirs] for name, (theirs, _) in expected.items()}
    if len(kinds := {tensor.dtype for tensor in tensors.values()}) > 1:
        got = " and ".join(sorted(map(str, kinds)))
        raise PretrainedError(f"{where}: expected tensors of one type, got {got}")
    if config.tied:
        tensors["readout.weight"] = tensors["embedding.weight"]
    model.load_state_dict(tensors, assign=True)
    if config.tied:
        model.readout.weight = model.embedding.weight
    return model.eval()


def _check_same(expected: dict[str, tuple[int, ...]], weights: Weights, *, tied: bool) -> None:
    """See that the files hold the tensors that the model has, in their shapes, and no others."""
    found = {
        name: shape
        for name, shape in weights.shapes.items()
        if name in expected or not is_left_out(name, tied=tied)
    }
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            want = f"the shape {expected[name]}" if name in expected else "no such tensor"
            got = f"the shape {found[name]}" if name in found else "none"
            raise PretrainedError(f"{weights.folder.path}: {name}: expected {want}, got {got}")


def _tokenizer(folder: ModelFolder) -> Any:
    """Return the tokenizer of a folder."""
    with from_extra("text", "tokenizers"):
        from tokenizers import Tokenizer
    path = folder.file("tokenizer.json")
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more precise
        raise PretrainedError(
            f"{folder.path / 'tokenizer.json'}: expected a tokenizer, got {error}"
        ) from error
