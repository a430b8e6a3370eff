"""From sentences to batches: numbers, padded, with masks of what is real; words hidden (BERT)."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional as F

from attention_book.foundations.checks import check_boolean, check_some_real
from attention_book.foundations.devices import sent
from attention_book.foundations.seed import check_seed
from attention_book.foundations.shapes import TokenIds, TokenMask
from attention_book.text.pairs import SentencePair
from attention_book.text.vocabulary import SPECIALS, Vocabulary

# Sentences of similar length are looked for among this many batches at a time: enough to
# find them, few enough that no epoch puts the same sentences together again.
_BATCHES_PER_POOL = 32


@dataclass(frozen=True, eq=False)
class Batch:
    """Some sentence pairs, each side padded to its longest sentence.

    The decoder reads ``target_input`` and at each place is to predict what
    ``target_output`` has there: the same sentence, one token ahead.

    Attributes:
        source: Source tokens and ``<eos>``, (batch, source).
        source_mask: True = a real token (``<eos>`` is one), False = padding.
        target_input: ``<bos>`` and the target tokens, (batch, target).
        target_output: The target tokens and ``<eos>``, (batch, target).
        target_mask: The mask of both.

    >>> pairs = [SentencePair(("go",), ("va",)), SentencePair(("go", "on"), ("va",))]
    >>> words = Vocabulary.build([("go", "on", "va")])
    >>> batch = next(ParallelData(pairs, words, words).batches(2))
    >>> batch.source
    tensor([[4, 3, 0],
            [4, 5, 3]])
    >>> batch.source_mask
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    >>> batch.target_input[0], batch.target_output[0]
    (tensor([2, 6]), tensor([6, 3]))
    >>> len(batch), batch.num_tokens
    (2, 4)
    """

    source: Int[Tensor, "batch source"]
    source_mask: Bool[Tensor, "batch source"]
    target_input: Int[Tensor, "batch target"]
    target_output: Int[Tensor, "batch target"]
    target_mask: Bool[Tensor, "batch target"]

    def __post_init__(self) -> None:
        """Check here, once, what every model and every loss would have to ask otherwise."""
        for name in ("source_mask", "target_mask"):
            check_boolean(name, getattr(self, name), "a real token")
            check_some_real(name, getattr(self, name))
        source, target = self.source.shape, self.target_output.shape
        _check_shape("source_mask", self.source_mask, source)
        _check_shape("target_output", self.target_output, (source[0], *target[1:]))
        _check_shape("target_input", self.target_input, target)
        _check_shape("target_mask", self.target_mask, target)

    def __len__(self) -> int:
        """Return the number of sentence pairs."""
        return len(self.source)

    @property
    def num_tokens(self) -> int:
        """How many real target tokens there are to predict, each ``<eos>`` included."""
        return int(self.target_mask.sum())

    def to(self, device: torch.device | str) -> "Batch":
        """Return the batch on another device, or itself if it is there; a GPU is not waited for."""
        place = torch.device(device)
        if self.source.device == place:
            return self
        pins = (
            place.type == "cuda" and self.source.device.type == "cpu"
        )  # fetched from there at once
        tensors = {n: value.pin_memory() if pins else value for n, value in vars(self).items()}
        return replace(self, **{name: sent(value, place) for name, value in tensors.items()})


class ParallelData:
    """A parallel corpus as numbers, encoded once, batched as often as wanted.

    Args:
        pairs: The sentence pairs.
        source_vocabulary: Numbers the source tokens.
        target_vocabulary: Numbers the target tokens.
        max_tokens: Cut each side to at most this length, ``<eos>`` included and kept as
            the last. ``truncated`` counts the sentences that were cut.

    >>> pairs = [SentencePair(("go", "."), ("va", "!"))] * 5
    >>> words = Vocabulary.build([("go", ".", "va", "!")])
    >>> data = ParallelData(pairs, words, words)
    >>> len(data), data.num_tokens, data.truncated
    (5, 15, 0)
    >>> [len(batch) for batch in data.batches(2, seed=42)]
    [2, 1, 2]
    """

    def __init__(
        self,
        pairs: Sequence[SentencePair],
        source_vocabulary: Vocabulary,
        target_vocabulary: Vocabulary,
        *,
        max_tokens: int | None = None,
    ) -> None:
        if not pairs:
            raise ValueError("pairs: expected at least one pair of sentences, got none")
        if max_tokens is not None and max_tokens < 2:
            raise ValueError(f"max_tokens: expected 2 or more, got {max_tokens}")
        self.pairs = tuple(pairs)
        self.source_vocabulary, self.target_vocabulary = source_vocabulary, target_vocabulary
        self.max_tokens, self.truncated = max_tokens, 0
        sources = _not_empty([pair.source for pair in pairs], "source of pair")
        targets = _not_empty([pair.target for pair in pairs], "target of pair")
        # Padded once: a batch is then some rows of these, cut to its longest sentence.
        self._source, self._source_mask = _padded(
            [self._encode(s, source_vocabulary, max_tokens) for s in sources],
            source_vocabulary.special_ids.pad,
        )
        self._target, self._target_mask = _padded(
            [self._encode(t, target_vocabulary, max_tokens) for t in targets],
            target_vocabulary.special_ids.pad,
        )
        lengths = (mask.sum(dim=1).tolist() for mask in (self._target_mask, self._source_mask))
        self._lengths = list(zip(*lengths, strict=True))

    def _encode(
        self, tokens: Sequence[str], vocabulary: Vocabulary, max_tokens: int | None
    ) -> list[int]:
        if max_tokens is not None and len(tokens) >= max_tokens:
            tokens = tokens[: max_tokens - 1]
            self.truncated += 1
        return [*vocabulary.encode(tokens), vocabulary.special_ids.eos]

    def __len__(self) -> int:
        """Return the number of sentence pairs."""
        return len(self.pairs)

    @property
    def num_tokens(self) -> int:
        """How many real target tokens there are to predict, each ``<eos>`` included."""
        return int(self._target_mask.sum())

    def batches(
        self, batch_size: int, *, seed: int | None = None, bucket: bool = True
    ) -> Iterator[Batch]:
        """Go through the corpus once, every pair in exactly one batch.

        Args:
            batch_size: How many pairs to a batch; a smaller one takes what is left.
            seed: Names the shuffling, from 0 to 2**32 - 1; the global random numbers are left
                alone. None: the order of the corpus.
            bucket: When shuffling, put sentences of similar length together, for
                less padding.
        """
        if batch_size < 1:
            raise ValueError(f"batch_size: expected 1 or more, got {batch_size}")
        if seed is not None:
            check_seed(seed)
        order = list(range(len(self)))
        if seed is None:
            return map(self._batch, _chunks(order, batch_size))
        generator = torch.Generator().manual_seed(seed)
        order = torch.randperm(len(self), generator=generator, device="cpu").tolist()
        if bucket:
            pools = _chunks(order, batch_size * _BATCHES_PER_POOL)
            order = [
                index for pool in pools for index in sorted(pool, key=self._lengths.__getitem__)
            ]
        chunks = _chunks(order, batch_size)
        shuffled = torch.randperm(len(chunks), generator=generator, device="cpu").tolist()
        return (self._batch(chunks[i]) for i in shuffled)

    def _batch(self, indices: list[int]) -> Batch:
        rows = torch.tensor(indices, device="cpu")
        num_target, num_source = map(max, zip(*(self._lengths[i] for i in indices), strict=True))
        source, source_mask = self._source[rows, :num_source], self._source_mask[rows, :num_source]
        target, target_mask = self._target[rows, :num_target], self._target_mask[rows, :num_target]
        # One place to the right, so that each word is predicted from those before it.
        ids = self.target_vocabulary.special_ids
        target_input = F.pad(target, (1, -1), value=ids.bos).masked_fill(~target_mask, ids.pad)
        return Batch(source, source_mask, target_input, target, target_mask)


def encode_source(
    sentences: Sequence[Sequence[str]], vocabulary: Vocabulary
) -> tuple[TokenIds, TokenMask]:
    """Return sentences as a model reads them: numbers ending with ``<eos>``, and their mask.

    >>> vocabulary = Vocabulary.build([("go", "on", ".")])
    >>> ids, mask = encode_source([("go", "."), ("go", "home", ".")], vocabulary)
    >>> ids
    tensor([[5, 4, 3, 0],
            [5, 1, 4, 3]])
    >>> mask.sum(dim=1)
    tensor([3, 4])
    """
    if not sentences:
        raise ValueError("sentences: expected at least one, got none")
    _not_empty(sentences, "sentence")
    ids = vocabulary.special_ids
    return _padded([[*vocabulary.encode(sentence), ids.eos] for sentence in sentences], ids.pad)


def _check_shape(name: str, tensor: Tensor, shape: Sequence[int]) -> None:
    if tensor.shape != tuple(shape):
        raise ValueError(f"{name}: expected the shape {tuple(shape)}, got {tuple(tensor.shape)}")


def _not_empty(sentences: Sequence[Sequence[str]], what: str) -> Sequence[Sequence[str]]:
    for index, sentence in enumerate(sentences):
        if not sentence:
            raise ValueError(f"{what} {index}: expected at least one token, got none")
    return sentences


def _chunks(order: list[int], size: int) -> list[list[int]]:
    return [order[start : start + size] for start in range(0, len(order), size)]


def _padded(rows: Sequence[list[int]], pad: int) -> tuple[TokenIds, TokenMask]:
    """Pad on the right; the mask comes from the lengths, not from the numbers."""
    lengths = torch.tensor([len(row) for row in rows])
    columns = itertools.zip_longest(*rows, fillvalue=pad)
    ids = torch.tensor(list(columns)).T.contiguous()
    return ids, torch.arange(ids.shape[1]) < lengths[:, None]


#: The token that stands for a hidden word; a vocabulary must be built with it.
MASK = "<mask>"


@dataclass(frozen=True, eq=False)
class MaskedTokens:
    """A text with some words hidden, and which they are.

    Attributes:
        tokens: What the model reads, (batch, token).
        chosen: True where it is asked what stood there, (batch, token).

    >>> hidden = MaskedTokens(torch.tensor([[2, 9, 3]]), torch.tensor([[False, True, False]]))
    >>> hidden.chosen.sum()
    tensor(1)
    """

    tokens: TokenIds
    chosen: TokenMask


def encode_text(
    sentences: Sequence[Sequence[str]], vocabulary: Vocabulary
) -> tuple[TokenIds, TokenMask]:
    """Return sentences as numbers between ``<bos>`` and ``<eos>``, and which are real.

    >>> vocabulary = Vocabulary.build([("go", "on", ".")])
    >>> encode_text([("go", "."), ("go", "on", ".")], vocabulary)[0]
    tensor([[2, 5, 4, 3, 0],
            [2, 5, 6, 4, 3]])
    """
    ids, real = encode_source(sentences, vocabulary)
    first = torch.full_like(ids[:, :1], vocabulary.special_ids.bos)
    return torch.cat((first, ids), dim=1), torch.cat((torch.ones_like(real[:, :1]), real), dim=1)


def mask_tokens(
    tokens: TokenIds,
    vocabulary: Vocabulary,
    *,
    share: float = 0.15,
    masked: float = 0.8,
    random: float = 0.1,
    generator: torch.Generator | None = None,
) -> MaskedTokens:
    """Choose words at random, and hide most of them.

    Of the chosen words ``masked`` become ``<mask>``, ``random`` become another word drawn
    from the vocabulary, and the others stay: so that a word that the model reads is no
    promise, and it has to think about every one. Devlin et al. (2019), section 3.1.
    Special tokens are never chosen, and never drawn.

    Args:
        tokens: Texts as numbers; left as they are.
        vocabulary: Numbers the words, ``<mask>`` among them.
        share: Probability that a word is chosen.
        masked: Probability that a chosen word becomes ``<mask>``.
        random: Probability that it becomes a word drawn at random.
        generator: Source of the random draws, on the CPU; by default torch's global one.

    >>> words = Vocabulary.build([("we", "go", "on", "."), (MASK,)])
    >>> text = torch.tensor([[2, *words.encode(("we", "go", "on", ".")), 3]])
    >>> hidden = mask_tokens(text, words, share=1.0, masked=1.0, random=0.0)
    >>> words.decode(hidden.tokens[0].tolist())
    ['<bos>', '<mask>', '<mask>', '<mask>', '<mask>', '<eos>']
    """
    _check(share=share, masked=masked, random=random, together=masked + random)
    mask, others = _numbers(vocabulary)
    chosen = _draw(tokens, generator) < share
    unchosen = torch.tensor([mask, *vocabulary.encode(SPECIALS)], device=tokens.device)
    chosen &= ~torch.isin(tokens, unchosen)
    what = _draw(tokens, generator)
    which = torch.randint(len(others), tokens.shape, generator=generator, device="cpu")
    drawn = others[which].to(tokens.device)
    hidden = tokens.masked_fill(chosen & (what < masked), mask)
    hidden = torch.where(chosen & (what >= masked) & (what < masked + random), drawn, hidden)
    return MaskedTokens(hidden, chosen)


def _draw(tokens: TokenIds, generator: torch.Generator | None) -> Tensor:
    """Draw on the CPU, so that a seed gives the same draws on every device."""
    return torch.rand(tokens.shape, generator=generator, device="cpu").to(tokens.device)


def _numbers(vocabulary: Vocabulary) -> tuple[int, Tensor]:
    """Return the number of <mask>, and those of all words."""
    if MASK not in vocabulary:
        raise ValueError(f"vocabulary: expected one with {MASK}, got {vocabulary!r} without")
    (mask,) = vocabulary.encode((MASK,))
    words = torch.tensor(vocabulary.words(), device="cpu")
    return mask, words[words != mask]


def _check(**probabilities: float) -> None:
    for name, value in probabilities.items():
        if not 0 <= value <= 1:
            name = "masked + random" if name == "together" else name
            raise ValueError(f"{name}: expected a probability between 0 and 1, got {value}")
