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

    >>> from attention_book.models import DecoderConfig, DecoderLanguageModel
    >>> model: ReadsTexts = DecoderLanguageModel(DecoderConfig(vocabulary=10))
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


def check_up_language(model: ReadsTexts) -> dict[str, bool]:
    """Return the name of each law in :data:`LANGUAGE_LAWS`, to whether the model obeys it.

    It is asked about made-up texts, without dropout, and left as it was. What has to be the
    same may differ by rounding: as much as the type of the logits allows.

    >>> from attention_book.models import DecoderConfig, DecoderLanguageModel
    >>> model = DecoderLanguageModel(DecoderConfig(vocabulary=10))
    >>> all(check_up_language(model).values())
    True

    Raises:
        ValueError: if the vocabulary has fewer than four words.
    """
    if (size := model.config.vocabulary) < 4:
        raise ValueError(f"vocabulary: expected at least 4, got {size}")
    with evaluating(model):
        return {name: law(model) for name, law in LANGUAGE_LAWS.items()}


def future_is_hidden(model: ReadsTexts) -> bool:
    """Another last token moves no earlier guess."""
    texts = _texts(model)
    return _same(model(texts)[:, :-1], model(_changed(model, texts, -1))[:, :-1])


def steps_agree(model: ReadsTexts) -> bool:
    """Token by token, the guesses are those of the whole text."""
    texts = _texts(model)
    state, found = model.start(len(texts)), []
    for token in texts.unbind(dim=1):
        logits, state = model.step(token, state)
        found.append(logits)
    return _same(torch.stack(found, dim=1), model(texts))


def state_is_left_alone(model: ReadsTexts) -> bool:
    """To go on in two ways from one state is to go on twice from the same."""
    texts = _texts(model)
    _, state = model.step(texts[:, 0], model.start(len(texts)))
    first, _ = model.step(texts[:, 1], state)
    model.step(texts[:, 2], state)
    again, _ = model.step(texts[:, 1], state)
    return bool(torch.equal(first, again))


def past_is_read(model: ReadsTexts) -> bool:
    """Another token moves the guess after the next one."""
    texts = _texts(model)
    return not _same(model(texts)[:, -1], model(_changed(model, texts, -2))[:, -1])


#: Name of each law, to the function that asks the model.
LANGUAGE_LAWS: Mapping[str, Callable[[ReadsTexts], bool]] = MappingProxyType(
    {
        law.__name__.replace("_", " "): law
        for law in (future_is_hidden, steps_agree, state_is_left_alone, past_is_read)
    }
)


def _texts(model: ReadsTexts) -> Tensor:
    """Return two made-up texts, where the model is."""
    generator = torch.Generator().manual_seed(0)
    texts = torch.randint(model.config.vocabulary, (2, 7), generator=generator)
    parameters = model.parameters() if isinstance(model, torch.nn.Module) else iter(())
    weight = next(parameters, None)
    return texts if weight is None else texts.to(weight.device)


def _changed(model: ReadsTexts, texts: Tensor, place: int) -> Tensor:
    """Return the texts with other tokens at one place."""
    other = texts.clone()
    other[:, place] = (texts[:, place] + 1) % model.config.vocabulary
    return other


def _same(a: Tensor, b: Tensor) -> bool:
    """Compare, relative to the largest logit; half precision is coarse."""
    rounding = 8 * torch.finfo(a.dtype).eps if a.element_size() == 2 else 1e-4
    return bool((a - b).abs().max() <= rounding * a.abs().max().clamp(min=1))


__all__ = ["LANGUAGE_LAWS", "check_up_language"]
