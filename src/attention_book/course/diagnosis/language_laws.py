"""A check-up of a causal language model: laws that a healthy one obeys, trained or not."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

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


def check_up_language(
    model: ReadsTexts | Guesses, *, vocabulary: int | None = None
) -> dict[str, bool]:
    """Return the name of each law in :data:`LANGUAGE_LAWS`, to whether the model obeys it.

    It is asked about made-up texts, without dropout, and left as it was. What has to be the
    same may differ by rounding: as much as the type of the logits allows.

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
    asked = _Asked(model, size)
    laws = {name: law for name, law in LANGUAGE_LAWS.items() if own or law not in _WITH_STEPS}
    with evaluating(model):
        return {name: law(asked) for name, law in laws.items()}


class _Asked:
    """A model as the laws ask it: whatever it returns, they get its logits."""

    def __init__(self, model: Any, vocabulary: int) -> None:
        self.model, self.vocabulary = model, vocabulary

    def __call__(self, tokens: TokenIds) -> Tensor:
        found = self.model(tokens)
        logits = getattr(found, "logits", found)
        expected = (*tokens.shape, self.vocabulary)
        shape = tuple(getattr(logits, "shape", ()))
        fits = shape[:2] == tokens.shape and len(shape) == 3 and shape[2] >= self.vocabulary
        if not isinstance(logits, Tensor) or not logits.is_floating_point() or not fits:
            got = f"the shape {shape}" if isinstance(logits, Tensor) else type(logits).__name__
            raise ValueError(f"model: expected logits of the shape {expected}, got {got}")
        return logits

    def start(self, batch_size: int) -> Any:
        return self.model.start(batch_size)

    def step(self, token: StepIds, state: Any) -> Any:
        return self.model.step(token, state)


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


def future_is_hidden(model: _Asked) -> bool:
    """Another last token moves no earlier guess."""
    texts = _texts(model)
    return _same(model(texts)[:, :-1], model(_changed(model, texts, -1))[:, :-1])


def steps_agree(model: _Asked) -> bool:
    """Token by token, the guesses are those of the whole text."""
    texts = _texts(model)
    state, found = model.start(len(texts)), []
    for token in texts.unbind(dim=1):
        logits, state = model.step(token, state)
        found.append(logits)
    return _same(torch.stack(found, dim=1), model(texts))


def state_is_left_alone(model: _Asked) -> bool:
    """To go on in two ways from one state is to go on twice from the same."""
    texts = _texts(model)
    _, state = model.step(texts[:, 0], model.start(len(texts)))
    first, _ = model.step(texts[:, 1], state)
    model.step(texts[:, 2], state)
    again, _ = model.step(texts[:, 1], state)
    return bool(torch.equal(first, again))


def past_is_read(model: _Asked) -> bool:
    """Another token moves the guess after the next one."""
    texts = _texts(model)
    return not _same(model(texts)[:, -1], model(_changed(model, texts, -2))[:, -1])


#: Name of each law, to the function that asks the model.
LANGUAGE_LAWS: Mapping[str, Callable[[_Asked], bool]] = MappingProxyType(
    {
        law.__name__.replace("_", " "): law
        for law in (future_is_hidden, steps_agree, state_is_left_alone, past_is_read)
    }
)

#: Those that a model without steps cannot be asked for.
_WITH_STEPS = steps_agree, state_is_left_alone


def _texts(model: _Asked) -> Tensor:
    """Return two made-up texts, where the model is."""
    generator = torch.Generator().manual_seed(0)
    texts = torch.randint(model.vocabulary, (2, 7), generator=generator, device="cpu")
    whole = model.model
    parameters = whole.parameters() if isinstance(whole, torch.nn.Module) else iter(())
    weight = next(parameters, None)
    return texts if weight is None else texts.to(weight.device)


def _changed(model: _Asked, texts: Tensor, place: int) -> Tensor:
    """Return the texts with other tokens at one place."""
    other = texts.clone()
    other[:, place] = (texts[:, place] + 1) % model.vocabulary
    return other


def _same(a: Tensor, b: Tensor) -> bool:
    """Compare, relative to the largest logit; half precision is coarse."""
    rounding = 8 * torch.finfo(a.dtype).eps if a.element_size() == 2 else 1e-4
    return bool((a - b).abs().max() <= rounding * a.abs().max().clamp(min=1))


__all__ = ["LANGUAGE_LAWS", "check_up_language"]
