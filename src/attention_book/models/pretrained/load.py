"""A pretrained model from a folder in the Hugging Face layout: Llama, Mistral, Qwen, Gemma 3."""

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attention_book.foundations.environment import from_extra
from attention_book.foundations.labels import token_labels
from attention_book.foundations.shapes import TokenIds
from attention_book.models.language import LanguageConfig, LanguageModel
from attention_book.models.pretrained.families import decoder_config, part_for_text
from attention_book.models.pretrained.model_folder import ModelFolder, PretrainedError
from attention_book.models.pretrained.names import is_left_out, name_in_files, prefix_of
from attention_book.models.pretrained.stored_config import StoredConfig
from attention_book.models.pretrained.weights import FLOATS, Weights, opened


class SpecialTokensTwice(UserWarning):
    """A text brings the special tokens that the tokenizer puts before every text."""


@dataclass(frozen=True, eq=False)
class Pretrained:
    """A model that others have trained, and its tokenizer.

    A tokenizer is used as it reads a text by itself: truncation and padding are settings of a
    call, which a file may remember, and count for nothing here. One that was handed over is not
    changed.

    Attributes:
        model: In evaluation mode, on the CPU; its weights are windows on the files.
        family: What ``config.json`` calls its kind: "llama", "mistral", "qwen2", "qwen3",
            "gemma3_text", or "gemma3" for the part for text of a model that sees pictures.
        path: The folder.
        ends: The numbers of all tokens that end a text, as ``config.json``,
            ``generation_config.json`` and the tokenizer's own settings name them; searches stop
            at any of them. ``model.config.eos`` is the first.
        tokenizer: A ``tokenizers.Tokenizer``, or a fast one of the library ``transformers``; None
            where the folder has no ``tokenizer.json``.
        named: The tokens that the files beside ``tokenizer.json`` name. The library adds those
            that are missing in it; a text with one of them is refused here.

    >>> from attention_book.models import LanguageConfig
    >>> model = LanguageModel(LanguageConfig.today(vocabulary=10))
    >>> Pretrained(model, family="llama", path=Path("folder")).encode("Hello")
    Traceback (most recent call last):
        ...
    attention_book.models.pretrained.model_folder.PretrainedError: \
folder: expected a tokenizer.json, got none
    """

    model: LanguageModel
    family: str
    path: Path
    ends: tuple[int, ...] = ()
    tokenizer: Any = field(default=None, repr=False)
    named: tuple[str, ...] = field(default=(), repr=False)

    def encode(self, text: str, *, add_special_tokens: bool = True) -> TokenIds:
        """Return a text as numbers, (1, token), with the special tokens that the model expects.

        Args:
            text: One text, of any length.
            add_special_tokens: Whether the tokenizer puts special tokens before and behind it,
                ``<bos>`` say. A text that was made with a chat template has them already, and
                would get them twice, of which a warning tells: say False.

        Raises:
            PretrainedError: if there is no tokenizer, the text is none or has a token that the
                tokenizer should know, or the tokenizer knows more tokens than the model.
        """
        tokenizer = _plain(self._known_tokenizer(), self.path)
        if not isinstance(text, str):
            raise PretrainedError(
                f"text: expected one text, got {type(text).__name__}; encode several one by one: "
                "they differ in length"
            )
        for token in self.named:
            if token in text and tokenizer.token_to_id(token) is None:
                raise PretrainedError(
                    f"{self.path}: expected {token!r} in tokenizer.json, got it in another file "
                    "alone; AutoTokenizer of the library transformers reads both, and its "
                    "save_pretrained writes one"
                )
        try:
            found = tokenizer.encode(text, add_special_tokens=add_special_tokens)
        except TypeError as error:  # half a character of UTF-16
            raise PretrainedError(
                f"text: expected characters that UTF-8 can write, got {text!r:.80}"
            ) from error
        if max(found.ids, default=0) >= self.model.config.vocabulary:
            raise PretrainedError(
                f"{self.path}: expected a tokenizer of {self.model.config.vocabulary} tokens, as "
                f"many as the model's, got the token {max(found.ids)}; one of the two is of "
                "another model"
            )
        if twice := _given_twice(found):
            warnings.warn(
                f"the text has {' '.join(twice)} already and got it once more; "
                "encode(text, add_special_tokens=False) adds none",
                SpecialTokensTwice,
                stacklevel=2,
            )
        return torch.tensor([found.ids], dtype=torch.long)

    def decode(self, ids: int | Iterable[Any]) -> str:
        """Return the text that token numbers stand for, without the special ones.

        Args:
            ids: The numbers of one text: a list, a tuple, a tensor or an array, with or without
                an axis for the batch.

        Raises:
            PretrainedError: if there is no tokenizer, or they are not the numbers of one text.
        """
        text: str = self._known_tokenizer().decode(_of_one_text(ids))
        return text

    def tokens(self, ids: int | Iterable[Any]) -> list[str]:
        """Return how each token reads: :func:`~attention_book.foundations.token_labels`.

        Args:
            ids: As in :meth:`decode`.

        Raises:
            PretrainedError: as :meth:`decode`.
        """
        tokenizer = self._known_tokenizer()
        names = [tokenizer.id_to_token(number) or f"<{number}>" for number in _of_one_text(ids)]
        return list(token_labels(names, tokenizer=tokenizer))

    def _known_tokenizer(self) -> Any:
        if self.tokenizer is None:
            raise PretrainedError(f"{self.path}: expected a tokenizer.json, got none")
        fast = getattr(self.tokenizer, "backend_tokenizer", self.tokenizer)
        if not hasattr(fast, "id_to_token"):
            raise PretrainedError(
                "tokenizer: expected a Tokenizer of the library tokenizers, got "
                f"{type(self.tokenizer).__name__}"
            )
        return fast


def load_pretrained(folder: str | Path) -> Pretrained:
    """Load a model in the Hugging Face layout into our readable decoder.

    Read are ``config.json`` (the spelling of today and that of before 2025),
    ``model.safetensors`` or its parts with their index, ``tokenizer.json``, and what
    ``generation_config.json`` says of the tokens that end a text. Families: Llama, Mistral,
    Qwen2, Qwen3, Gemma 3. The weights stay in the type of the file and are not copied: they are
    windows on it, read when they are first used. Change or remove the file, and the model
    is no longer what it was; ``.float()`` makes a copy. Where a file holds several types (norms
    in single precision, say), all become the one that ``config.json`` names.

    A model that ``config.json`` calls tied is tied if its files hold one of the two matrices, or
    two equal ones; if they hold two that differ, it gets both, and ``model.config.tied`` is
    False.

    No pickle is opened, no code is run, no link is followed out of the folder. Names and shapes
    are compared before anything is loaded.

    Args:
        folder: Where the files are, for example a snapshot in the cache of ``huggingface_hub``;
            ``~`` is the home folder.

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
    found.check_whole()
    stored = StoredConfig(found.read_json("config.json"), place=str(found.path / "config.json"))
    tokenizer = _tokenizer(found) if found.has("tokenizer.json") else None
    config = decoder_config(stored, ends=_ends(found, tokenizer))
    with opened(found) as weights:
        model = _built(config, weights, part_for_text(stored))
    family: str = stored.values["model_type"]
    named = () if tokenizer is None else _named(found)
    return Pretrained(model, family, found.path, config.ends, tokenizer, named)


#: The two places of a matrix that may be one.
_TIED = ("stack.embedding.weight", "readout.weight")


def _built(config: LanguageConfig, weights: Weights, stored: StoredConfig) -> LanguageModel:
    """Return a model around the tensors of the files, if they are all of them and fit."""
    where = weights.folder.path
    if config.num_layers > len(weights.shapes):  # before a module is made for each
        raise PretrainedError(
            f"{where}: expected the weights of {config.num_layers} layers, got fewer"
        )
    with torch.device("meta"):
        model = LanguageModel(config)
    prefix = prefix_of(weights.shapes)
    theirs = {name: name_in_files(name, config, prefix=prefix) for name in model.state_dict()}
    shapes = {theirs[name]: tuple(value.shape) for name, value in model.state_dict().items()}
    # Of a tied matrix one name may be missing, whichever; the two are compared below.
    both = {theirs[name] for name in _TIED}
    optional = both - weights.shapes.keys() if config.tied and both & weights.shapes.keys() else {}
    _check_same(
        {name: shape for name, shape in shapes.items() if name not in optional},
        weights,
        head=theirs["readout.weight"],
        num_layers=config.num_layers,
    )
    tensors = {name: weights[theirs[name]] for name in theirs if theirs[name] not in optional}
    tensors = _of_one_type(tensors, stored, order=[*weights.shapes], theirs=theirs)
    if config.tied:
        pair = [tensors[name] for name in _TIED if name in tensors]
        if _same(pair[0], pair[-1]):
            tensors |= dict.fromkeys(_TIED, pair[0])
        else:
            model.config = replace(config, tied=False)
            with torch.device("meta"):
                model = LanguageModel(model.config)
    model.load_state_dict(tensors, assign=True)  # ties what is tied
    return model.eval()


def _of_one_type(
    tensors: dict[str, Tensor], stored: StoredConfig, *, order: list[str], theirs: dict[str, str]
) -> dict[str, Tensor]:
    """Return all tensors in one type: the settings' where they differ, or else the first's."""
    if len({tensor.dtype for tensor in tensors.values()}) == 1:
        return tensors
    name = "torch_dtype" if stored.values.get("dtype") is None else "dtype"
    first = min(tensors, key=lambda each: order.index(theirs[each]))
    named = str(tensors[first].dtype).removeprefix("torch.")
    kind = stored.one_of(name, _TYPES, named)
    return {name: tensor.to(kind) for name, tensor in tensors.items()}


_TYPES = {str(kind).removeprefix("torch."): kind for kind in FLOATS}


def _same(first: Tensor, second: Tensor) -> bool:
    """Whether two matrices have the same numbers, where NaN is NaN."""
    if first is second or first.shape != second.shape:
        return first is second
    return bool(((first == second) | (first.isnan() & second.isnan())).all())


def _check_same(
    expected: dict[str, tuple[int, ...]], weights: Weights, *, head: str, num_layers: int
) -> None:
    """See that the files hold the tensors that the model has, in their shapes, and no others."""
    found = {
        name: shape
        for name, shape in weights.shapes.items()
        if name in expected or not is_left_out(name)
    }
    for name in (*sorted(found.keys() - expected.keys()), *sorted(expected)):
        if expected.get(name) != found.get(name):
            want = f"the shape {expected[name]}" if name in expected else "no such tensor"
            got = f"the shape {found[name]}" if name in found else "none"
            cure = _cure(name, missing=name not in found, is_head=name == head)
            numbers = [int(at[1]) for at in map(_LAYER.search, found) if at]
            held = max(numbers, default=-1) + 1
            if not cure and _LAYER.search(name) and held != num_layers:
                cure = f"; config.json says {num_layers} layers, the files hold {held}"
            raise PretrainedError(
                f"{weights.folder.path}: {name}: expected {want}, got {got}{cure}"
            )


_LAYER = re.compile(r"\blayers\.(\d+)\.")


def _cure(name: str, *, missing: bool, is_head: bool) -> str:
    """Return what to do about a tensor that is missing or one too many, where it is known."""
    if is_head and missing:
        return (
            "; if the output layer of this model is its embedding, config.json should say "
            '"tie_word_embeddings": true'
        )
    if "lora_" in name or ".base_layer." in name:
        return "; merge the adapter into the model (merge_and_unload) and save that"
    if name.startswith(("module.", "_orig_mod.")):
        return "; save the model itself, without what it was wrapped in"
    return ""


def _ends(folder: ModelFolder, tokenizer: Any) -> tuple[int, ...]:
    """Return the tokens that end a text, as the files beside ``config.json`` name them."""
    found: list[int] = []
    if folder.has("generation_config.json"):
        place = str(folder.path / "generation_config.json")
        said = StoredConfig(folder.read_json("generation_config.json"), place=place)
        found += said.ids("eos_token_id")
    if tokenizer is not None and folder.has("tokenizer_config.json"):
        said_of_it = folder.read_json("tokenizer_config.json").get("eos_token")
        content = said_of_it.get("content") if isinstance(said_of_it, Mapping) else said_of_it
        number = tokenizer.token_to_id(content) if isinstance(content, str) else None
        found += [] if number is None else [number]
    return tuple(dict.fromkeys(found))


def _named(folder: ModelFolder) -> tuple[str, ...]:
    """Return the tokens that the files beside ``tokenizer.json`` name, however they do."""
    found: list[Any] = []
    if folder.has("added_tokens.json"):
        found += folder.read_json("added_tokens.json")
    for file in ("tokenizer_config.json", "special_tokens_map.json"):
        said = folder.read_json(file) if folder.has(file) else {}
        for name, value in said.items():
            if name in _SEVERAL:
                found += value.values() if isinstance(value, Mapping) else value or []
            elif name in _SINGLE:
                found.append(value)
    contents = (each.get("content") if isinstance(each, Mapping) else each for each in found)
    return tuple(dict.fromkeys(each for each in contents if isinstance(each, str) and each))


_SEVERAL = ("added_tokens_decoder", "additional_special_tokens", "extra_special_tokens")
_SINGLE = tuple(f"{kind}_token" for kind in ("bos", "eos", "unk", "sep", "pad", "cls", "mask"))


def _plain(tokenizer: Any, path: Path) -> Any:
    """Return a tokenizer that neither cuts nor pads: itself, or a copy of what somebody else has.

    Raises:
        PretrainedError: if it would have to be copied, and can't be.
    """
    if tokenizer.truncation is None and tokenizer.padding is None:
        return tokenizer
    try:
        copy = type(tokenizer).from_str(tokenizer.to_str())
    except Exception as error:  # a part that was written in Python
        raise PretrainedError(
            f"{path}: expected a tokenizer that neither cuts nor pads, got one that does; "
            "call its no_truncation() and no_padding()"
        ) from error
    copy.no_truncation()
    copy.no_padding()
    return copy


def _given_twice(encoding: Any) -> list[str]:
    """Return the tokens that the tokenizer put before or behind a text which has them there."""
    special, tokens = encoding.special_tokens_mask, encoding.tokens
    for mask, names in ((special, tokens), (special[::-1], tokens[::-1])):
        added = next((i for i, is_special in enumerate(mask) if not is_special), len(mask))
        if added and names[:added] == names[added : 2 * added]:
            return list(names[:added] if mask is special else names[:added][::-1])
    return []


def _of_one_text(ids: int | Iterable[Any]) -> list[int]:
    """Return the numbers of one text as a list.

    Raises:
        PretrainedError: if they are something else.
    """
    try:
        is_listed = isinstance(ids, Iterable) and not hasattr(ids, "__array__")
        numbers_of: Any = ids
        found = torch.as_tensor([*numbers_of] if is_listed else numbers_of)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise PretrainedError(f"ids: expected numbers of tokens, got {ids!r:.80}") from error
    if found.numel() > 0 and (found.is_floating_point() or found.is_complex()):
        raise PretrainedError(f"ids: expected numbers of tokens, got {found.dtype}")
    if found.numel() > 0 and found.dtype == torch.bool:
        raise PretrainedError("ids: expected numbers of tokens, got a mask")
    if found.ndim > 1 and found.numel() != found.shape[-1]:
        raise PretrainedError(
            f"ids: expected those of one text, got the shape {tuple(found.shape)}; take the rows "
            "one by one"
        )
    numbers: list[int] = found.reshape(-1).tolist()
    if not all(0 <= number < 2**32 for number in numbers):
        raise PretrainedError(f"ids: expected numbers from 0 on, got {min(numbers)}")
    return numbers


def _tokenizer(folder: ModelFolder) -> Any:
    """Return the tokenizer of a folder."""
    with from_extra("text", "tokenizers"):
        from tokenizers import Tokenizer
    path = folder.file("tokenizer.json")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more precise
        raise PretrainedError(
            f"{folder.path / 'tokenizer.json'}: expected a tokenizer, got {error}"
        ) from error
    tokenizer.no_truncation()  # of a call that the file remembers
    tokenizer.no_padding()
    return tokenizer
