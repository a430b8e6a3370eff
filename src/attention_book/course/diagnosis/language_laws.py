"""A check-up of a causal language model: laws that a healthy one obeys, trained or not."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from attention_book.conformance import DoesNotApply, Sequence, laws
from attention_book.foundations.shapes import Logits, StepIds, StepLogits, TokenIds
from attention_book.models.evaluating import evaluating


@runtime_checkable
class ReadsTexts(Protocol):
    """A language model that guesses after every token: all at once, or token by token.

    >>> from attention_book.models import LanguageConfig, LanguageModel
    >>> model: ReadsTexts = LanguageModel(LanguageConfig.today(vocabulary=10))
    """

    @property
    def config(self) -> Any:
        """Settings; ``vocabulary`` among them."""
        ...

    def __call__(self, tokens: TokenIds) -> Logits:
        """Return a guess after every token."""
        ...

    def start(self, batch_size: int) -> Any:
        """Return the state with nothing read."""
        ...

    def step(self, token: StepIds, state: Any) -> tuple[StepLogits, Any]:
        """Read one token of each text, and guess the next."""
        ...


#: Returns a guess after every token of each text: the logits, or an object with them.
Guesses = Callable[[TokenIds], Any]

#: Name of each law that :func:`check_up_language` asks for, to its name in
#: :func:`~attention_book.conformance.laws`, where it stands.
LANGUAGE_LAWS: Mapping[str, str] = MappingProxyType(
    {
        "future is hidden": "future-is-hidden",
        "steps agree": "steps",
        "state is left alone": "branches",
        "past is read": "past-is-read",
    }
)


def check_up_language(
    model: ReadsTexts | Guesses, *, vocabulary: int | None = None
) -> dict[str, bool]:
    """Return the name of each law in :data:`LANGUAGE_LAWS`, to whether the model obeys it.

    It is asked about made-up texts, without dropout, and left as it was. What has to be the
    same may differ by rounding: as much as the type of the logits allows. To all laws, and with
    what usually breaks them, :func:`~attention_book.conformance.examine` holds it.

    A model from elsewhere need only be called: with token numbers (batch, token), of which it
    returns logits (batch, token, vocabulary), or an object that has them as ``logits``, as those
    of the library ``transformers`` do. Without ``start`` and ``step`` it is asked for the laws
    that need neither.

    Args:
        model: One of this package, or whatever can be called.
        vocabulary: How many tokens it knows; as its ``config`` says when None, by the name
            ``vocabulary`` or ``vocab_size``.

    >>> from attention_book.models import LanguageConfig, LanguageModel
    >>> model = LanguageModel(LanguageConfig.today(vocabulary=10))
    >>> all(check_up_language(model).values())
    True
    >>> check_up_language(lambda ids: model(ids.flip(1)).flip(1), vocabulary=10)
    {'future is hidden': False, 'past is read': False}
    """
    size = _size(model, vocabulary)
    if size < 4:
        raise ValueError(f"vocabulary: expected at least 4, got {size}")
    if not callable(model):
        raise TypeError(
            "model: expected one that is called with token numbers (batch, token) and returns "
            f"logits (batch, token, vocabulary), got {type(model).__name__}"
        )
    own = [name for name in ("start", "step") if callable(getattr(model, name, None))]
    if len(own) == 1:
        raise TypeError(f"model: expected both start and step, or neither, got {own[0]} alone")
    with evaluating(model):
        return obeyed(_subject(model, size, steps=bool(own)), LANGUAGE_LAWS)


def obeyed(subject: Sequence, asked: Mapping[str, str]) -> dict[str, bool]:
    """Return for each name whether its law holds; left out where it does not apply.

    Args:
        subject: What is asked.
        asked: Names, to the names of :func:`~attention_book.conformance.laws`.
    """
    found, answers = {law.name: law for law in laws(subject)}, {}
    for name, law in asked.items():
        try:
            answers[name] = found[law].test() is None
        except DoesNotApply:
            continue
    return answers


def _subject(model: Any, vocabulary: int, *, steps: bool) -> Sequence:
    def guesses(tokens: Tensor, _: Tensor | None = None) -> Tensor:
        return _logits(model(tokens), tokens, vocabulary)

    def step(tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        logits, after = model.step(tokens[:, 0], state)
        return logits[:, None], after

    return Sequence(
        guesses,
        vocabulary=vocabulary,
        mask="none",
        causal=True,
        window=2,  # it need not look further back than to the token before
        module=model if isinstance(model, torch.nn.Module) else None,
        start=model.start if steps else None,
        step=step if steps else None,
        chunks=False,
    )


def _logits(found: Any, tokens: Tensor, vocabulary: int) -> Tensor:
    """Return the logits among what a model returned, or say what was expected."""
    logits = getattr(found, "logits", found)
    expected = (*tokens.shape, vocabulary)
    shape = tuple(getattr(logits, "shape", ()))
    fits = shape[:2] == tokens.shape and len(shape) == 3 and shape[2] >= vocabulary
    if not isinstance(logits, Tensor) or not logits.is_floating_point() or not fits:
        got = f"the shape {shape}" if isinstance(logits, Tensor) else type(logits).__name__
        raise ValueError(f"model: expected logits of the shape {expected}, got {got}")
    return logits


def _size(model: object, given: int | None) -> int:
    """Return how many tokens a model knows."""
    config = getattr(model, "config", None)
    named = (getattr(config, name, None) for name in ("vocabulary", "vocab_size"))
    found = next((each for each in (given, *named) if each is not None), None)
    if found is None:
        raise ValueError(
            "vocabulary: expected the number of tokens that the model knows, for it has no config "
            "that says it, got none"
        )
    return int(found)


__all__ = ["LANGUAGE_LAWS", "check_up_language"]
