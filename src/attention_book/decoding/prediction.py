"""The prediction that every search needs from a model: what may come next."""

import torch
from jaxtyping import Bool, Float, Int, Integer
from torch import Tensor

from attention_book.foundations.checks import check_boolean, whole_numbers
from attention_book.foundations.shapes import StepIds, StepLogits, TokenIds, TokenMask
from attention_book.text import SpecialIds

#: What is said where there is nothing to choose from.
NOTHING_FINITE = (
    "model: expected a finite logit for some word, got none; has the training diverged?"
)


def special_ids(model: object) -> SpecialIds:
    """Return the special tokens that a model was built for: its settings', or its own.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> special_ids(Seq2Seq(Seq2SeqConfig(source_vocabulary=9, target_vocabulary=9, bos=5)))
    SpecialIds(pad=0, bos=5, eos=3)
    """
    settings = getattr(model, "config", model)
    usual = vars(SpecialIds())
    return SpecialIds(**{name: getattr(settings, name, usual[name]) for name in usual})


def end_ids(model: object) -> tuple[int, ...]:
    """Return all tokens that end a text: one or several as the settings say, or ``<eos>`` alone.

    >>> from attention_book.models import LanguageConfig, LanguageModel
    >>> end_ids(LanguageModel(LanguageConfig.today(vocabulary=9, eos=3, ends=(3, 7))))
    (3, 7)
    """
    settings = getattr(model, "config", model)
    return tuple(getattr(settings, "ends", ())) or (special_ids(model).eos,)


def is_end(tokens: Integer[Tensor, "*place"], ends: tuple[int, ...]) -> Tensor:
    """Return for each token whether it is one of the ends.

    >>> is_end(torch.tensor([5, 3, 7]), (3, 7))
    tensor([False,  True,  True])
    """
    found = tokens == ends[0]
    for end in ends[1:]:
        found = found | (tokens == end)
    return found


def check_translator(model: object) -> None:
    """Check that a model translates, before a search asks it to.

    Raises:
        TypeError: if it has none of a translator's calls, as a language model or a function.
    """
    missing = [name for name in ("encode", "start", "step") if not hasattr(model, name)]
    if missing:
        got = model.__name__ if isinstance(model, type) else type(model).__name__
        raise TypeError(
            "model: expected a translator, with encode(source, source_mask), start(memory) and "
            f"step(token, state), got {got} without {', '.join(missing)}; "
            "a language model writes by sample"
        )


def next_log_probs(logits: StepLogits, ids: SpecialIds, ends: tuple[int, ...] = ()) -> StepLogits:
    """Return each word's log-probability, and minus infinity for ``<pad>`` and ``<bos>``.

    The two are excluded *after* the softmax: what is left keeps the probability that
    the model gave it, so a sentence's log-probability is the same here and in training.
    ``<unk>`` is a word like any other, and so is one of the two that is among the ``ends``
    (Qwen's models begin, fill up and end with one token).

    Nothing here looks at the numbers: :func:`num_ended` says if there is none to choose.
    """
    precise = torch.promote_types(logits.dtype, torch.float32)
    log_probs = torch.log_softmax(logits.to(precise), dim=-1)
    size = log_probs.shape[-1]  # a special token outside of the vocabulary: there is none
    never = [each for each in (ids.pad, ids.bos) if each < size and each not in ends]
    for each in never:  # one by one, as parts: a list would be an index, copied to the device
        log_probs[:, each].fill_(-torch.inf)
    return log_probs


def num_ended(
    ended: Bool[Tensor, " text"], log_probs: Float[Tensor, "text *beam vocabulary"]
) -> int:
    """Return how many texts have ended, with the one look at the device that a step takes.

    Args:
        ended: Which have.
        log_probs: What each might have gone on with.

    Raises:
        ValueError: if one had no word with a finite log-probability.

    >>> num_ended(torch.tensor([True, False]), torch.zeros(2, 5))
    1
    """
    sound = log_probs.amax(dim=-1).isfinite().all()
    count, is_sound = torch.stack((ended.sum(), sound.long())).tolist()
    if not is_sound:
        raise ValueError(NOTHING_FINITE)
    return int(count)


def going_first(ended: Bool[Tensor, " text"]) -> StepIds:
    """Return the numbers of the texts that go on, then of those that have ended, in order.

    With their count it tells which is which without another look at the device.

    >>> going_first(torch.tensor([True, False, True, False]))
    tensor([1, 3, 0, 2])
    """
    return ended.long().argsort(stable=True)


def draw(
    probabilities: Float[Tensor, "*text vocabulary"], generator: torch.Generator | None
) -> Int[Tensor, "*text"]:
    """Draw one word for each text, without a look at the device.

    It is the draw of ``torch.multinomial``, number for number, without its check, for which a GPU
    would be waited for: of numbers that are no probabilities any word may come.

    >>> shares = torch.tensor([[0.2, 0.8], [0.5, 0.5]])
    >>> theirs = torch.multinomial(shares, 1, generator=torch.Generator().manual_seed(1))
    >>> torch.equal(draw(shares, torch.Generator().manual_seed(1)), theirs[:, 0])
    True
    """
    lots = torch.empty_like(probabilities).exponential_(generator=generator)
    return (probabilities / lots).argmax(dim=-1)


def drawn_by(
    probabilities: Float[Tensor, "*text vocabulary"], uniform: Float[Tensor, "*text"]
) -> Int[Tensor, "*text"]:
    """Return the word at which the summed probabilities exceed a number from 0 to 1, for each text.

    The sum runs in the vocabulary's order, in double precision, over all words: it is the inverse
    of the cumulative distribution, and draws each word with its probability.

    Args:
        probabilities: Those of each text; they need not sum to 1 exactly.
        uniform: A number for each text, from 0 to 1, 1 excluded.

    >>> shares = torch.tensor([[0.25, 0.0, 0.75]] * 3)
    >>> drawn_by(shares, torch.tensor([0.0, 0.2, 0.25]))
    tensor([0, 0, 2])
    """
    double = torch.float32 if probabilities.device.type == "mps" else torch.float64
    sums = probabilities.to(double).cumsum(dim=-1)
    total = sums[..., -1:]
    passed = (sums <= uniform.to(double)[..., None] * total).sum(dim=-1)
    last = (sums < total).sum(dim=-1)  # by rounding, a product may reach the whole
    return torch.minimum(passed, last)


def limits(max_tokens: int | StepIds, source: TokenIds, source_mask: TokenMask) -> Tensor:
    """Return how many tokens each sentence may get, (batch,).

    Raises:
        TypeError: if sources are not integers, or the mask is not boolean.
        ValueError: if a limit is below 1, if there is not one for each sentence, or if
            sources and mask differ in shape.
    """
    whole_numbers("source", source)
    check_boolean("source_mask", source_mask, "a real token")
    if source.shape != source_mask.shape:
        raise ValueError(
            "source_mask: expected the shape of source, "
            f"{tuple(source.shape)}, got {tuple(source_mask.shape)}"
        )
    limit = torch.as_tensor(max_tokens, device=source.device)
    if limit.ndim and limit.shape != source.shape[:1]:
        raise ValueError(
            f"max_tokens: expected one number, or one for each of {len(source)} sentences, "
            f"got the shape {tuple(limit.shape)}"
        )
    read = isinstance(max_tokens, Tensor) and limit.numel() > 0
    least = limit.min().item() if read else max_tokens
    if not isinstance(least, Tensor) and least < 1:
        raise ValueError(f"max_tokens: expected 1 or more, got {least}")
    return limit.expand(len(source))
