"""Translation from text to text: batching, search, and turning numbers back into words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.decoding.beam import beam_search
from attention_book.decoding.greedy import greedy_search
from attention_book.decoding.hypothesis import Hypothesis
from attention_book.decoding.prediction import special_ids
from attention_book.foundations.shapes import StepIds, TokenIds, TokenMask, Weights
from attention_book.models.evaluating import evaluating, moved
from attention_book.models.protocols import Memory, State, Translator
from attention_book.text import Vocabulary, encode_source


@dataclass(frozen=True)
class Translation:
    """A source sentence and what a model made of it.

    Attributes:
        source: The source's tokens.
        tokens: The translation's tokens; ``<unk>`` where the model wrote an unknown word.
        log_prob: The log-probability of the translation, ``<eos>`` included if written.
        finished: Whether the model ended the sentence; False: it was cut off.
        unknown: The source words that the vocabulary doesn't have, in their order.

    >>> Translation(("go", "."), ("va", "!"), log_prob=-0.1, finished=True).unknown
    ()
    """

    source: tuple[str, ...]
    tokens: tuple[str, ...]
    log_prob: float
    finished: bool
    unknown: tuple[str, ...] = ()


def translate(
    model: Translator[Memory, State],
    sentences: Sequence[Sequence[str]],
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
    *,
    width: int = 1,
    length_penalty: float = 0.0,
    max_tokens: int | None = None,
    batch_size: int = 128,
) -> list[Translation]:
    """Translate sentences, and return the translations in the same order.

    Sentences of similar length are translated together; a translation doesn't
    depend on the company. A source word that the vocabulary doesn't have is read
    as ``<unk>`` and reported. A source may be longer than any the model has seen.

    Args:
        model: A translator.
        sentences: Source sentences as tokens, without ``<eos>``.
        source_vocabulary: Numbers the source tokens.
        target_vocabulary: Names the model's words.
        width: How many beams; 1 is greedy search.
        length_penalty: As in :func:`beam_search`.
        max_tokens: The most tokens of a translation, ``<eos>`` included. None: twice
            the source's and 10 more.
        batch_size: How many sentences at a time.

    Raises:
        ValueError: if a sentence is empty (the first is named), if a number is below 1, or if
            the model was built for other special tokens than the target vocabulary has.
        TypeError: if a sentence is a string rather than its tokens.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> english, french = Vocabulary.build([("go", ".")]), Vocabulary.build([("va", "!")])
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=6, target_vocabulary=6))
    >>> [translation] = translate(model, [("go", "home", ".")], english, french)
    >>> translation.unknown
    ('home',)
    """
    _check(sentences, width=width, batch_size=batch_size, max_tokens=max_tokens)
    if (built_for := special_ids(model)) != target_vocabulary.special_ids:
        raise ValueError(
            f"target_vocabulary: expected the model's {built_for}, "
            f"got {target_vocabulary.special_ids}"
        )
    order = sorted(range(len(sentences)), key=lambda index: len(sentences[index]))
    found: dict[int, Hypothesis] = {}
    for start in range(0, len(order), batch_size):
        chunk = order[start : start + batch_size]
        source, mask = encode_source([sentences[i] for i in chunk], source_vocabulary)
        # mask counts <eos> too
        limit = 2 * (mask.sum(dim=1) - 1) + 10 if max_tokens is None else max_tokens
        hypotheses = _search(
            model, source, mask, width=width, length_penalty=length_penalty, max_tokens=limit
        )
        found.update(zip(chunk, hypotheses, strict=True))
    return [
        _translation(sentence, found[index], source_vocabulary, target_vocabulary)
        for index, sentence in enumerate(sentences)
    ]


def _check(
    sentences: Sequence[Sequence[str]], *, width: int, batch_size: int, max_tokens: int | None
) -> None:
    """Refuse what is wrong before the first sentence is translated."""
    for name, number in (("width", width), ("batch_size", batch_size), ("max_tokens", max_tokens)):
        if number is not None and number < 1:
            raise ValueError(f"{name}: expected 1 or more, got {number}")
    for index, sentence in enumerate(sentences):
        if isinstance(sentence, str):
            raise TypeError(f"sentence {index}: expected its tokens, got the string {sentence!r}")
        if not sentence:
            raise ValueError(f"sentence {index}: expected at least one token, got none")


def _search(
    model: Translator[Memory, State],
    source: TokenIds,
    source_mask: TokenMask,
    *,
    width: int,
    length_penalty: float,
    max_tokens: int | StepIds,
) -> list[Hypothesis]:
    """Return the best hypothesis for each source."""
    source, source_mask = moved(source, model), moved(source_mask, model)
    if width == 1:
        return greedy_search(model, source, source_mask, max_tokens=max_tokens)
    found = beam_search(
        model,
        source,
        source_mask,
        width=width,
        length_penalty=length_penalty,
        max_tokens=max_tokens,
    )
    return [hypotheses[0] for hypotheses in found]


def _translation(
    sentence: Sequence[str],
    hypothesis: Hypothesis,
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
) -> Translation:
    return Translation(
        source=tuple(sentence),
        tokens=tuple(target_vocabulary.decode(hypothesis.ids)),
        log_prob=hypothesis.log_prob,
        finished=hypothesis.finished,
        unknown=tuple(token for token in sentence if token not in source_vocabulary),
    )


@runtime_checkable
class Attentive(Protocol):
    """A model that can report where it attended.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=6, target_vocabulary=6))
    >>> isinstance(model, Attentive)
    True
    """

    def weights(self, source: TokenIds, source_mask: TokenMask, target_input: TokenIds) -> Weights:
        """Return how much each target word looked at each source word."""
        ...


def attention_of(
    model: Attentive,
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
) -> Float[Tensor, "target source"]:
    """Return where a model looks while it writes a given translation of a sentence.

    Row t holds the weights with which word t of the target was predicted; the last
    row is that of ``<eos>``, and the last column the source's ``<eos>``. So the
    shape is (target tokens + 1, source tokens + 1), and every row sums to 1.

    Args:
        model: A model with attention.
        source_tokens: The source, without ``<eos>``.
        target_tokens: The translation, the model's own or another, without ``<eos>``.
        source_vocabulary: Numbers the source tokens.
        target_vocabulary: Numbers the target tokens.

    Raises:
        ValueError: if the source is empty, or the model has no attention.
        TypeError: if a sentence is a string rather than its tokens.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> english, french = Vocabulary.build([("go", ".")]), Vocabulary.build([("va", "!")])
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=6, target_vocabulary=6))
    >>> attention_of(model, ("go", "."), ("va", "vite", "!"), english, french).shape
    torch.Size([4, 3])
    """
    source, mask = encode_source([source_tokens], source_vocabulary)
    begun = [target_vocabulary.special_ids.bos, *target_vocabulary.encode(target_tokens)]
    target_input = torch.tensor([begun], device="cpu")
    with evaluating(model):
        return model.weights(*(moved(each, model) for each in (source, mask, target_input)))[0]
