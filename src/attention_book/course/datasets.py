"""Data sets: synthetic tasks, images, and time series."""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from attention_book.foundations.checks import check_sizes
from attention_book.foundations.environment import from_extra
from attention_book.foundations.seed import check_seed

# --- a curve -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class RegressionData:
    """Noisy points of a curve, and the curve itself where we will predict.

    Attributes:
        x_train: Where the points lie, sorted, (n_train,).
        y_train: Their noisy values, (n_train,).
        x_test: Where to predict, (n_test,).
        y_true: The curve without noise at ``x_test``.

    >>> sine_data(n_train=7).n_test
    50
    """

    x_train: Float[Tensor, " n_train"]
    y_train: Float[Tensor, " n_train"]
    x_test: Float[Tensor, " n_test"]
    y_true: Float[Tensor, " n_test"]

    @property
    def n_test(self) -> int:
        """How many places to predict at."""
        return len(self.x_test)


def sine_data(*, n_train: int = 50, noise: float = 0.5) -> RegressionData:
    """Draw points around a curve on [0, 5).

    .. math:: y = 2 \\sin x + x^{0.8} + \\varepsilon,
        \\qquad \\varepsilon \\sim N(0, \\text{noise}^2)

    Draws ``torch.rand(n_train)`` and then ``torch.normal(0, noise, (n_train,))``
    from the global generator, in this order.

    >>> from attention_book import set_seed
    >>> set_seed(42)
    >>> data = sine_data()
    >>> data.x_train[:3]
    tensor([0.0308, 0.3763, 0.5266])
    >>> data.x_test[:3]
    tensor([0.0000, 0.1000, 0.2000])
    """
    check_sizes(n_train=n_train)
    if noise < 0:
        raise ValueError(f"noise: expected a standard deviation, 0 or more, got {noise}")
    x_train = (5 * torch.rand(n_train)).sort().values
    y_train = _curve(x_train) + torch.normal(0.0, noise, (n_train,))
    x_test = torch.arange(0, 5, 0.1)
    return RegressionData(x_train, y_train, x_test, _curve(x_test))


def _curve(x: Tensor) -> Tensor:
    return 2 * torch.sin(x) + x**0.8


# --- look back: only the order matters ---------------------------------------------------------


@dataclass(frozen=True)
class LookBackBatch:
    """A batch of :func:`look_back_task`: random words, of which each place asks for an earlier one.

    Attributes:
        words: Word numbers, (batch, position).
        distance: Position i asks for the word at i - distance; the first ``distance``
            positions have nothing to ask for and do not count.

    >>> LookBackBatch(torch.tensor([[7, 3, 9, 5]]), distance=2).answer
    tensor([[7, 3]])
    """

    words: Int[Tensor, "batch position"]
    distance: int

    @property
    def answer(self) -> Int[Tensor, "batch asking"]:
        """The word asked for at the positions ``distance``, ``distance + 1``, …"""
        return self.words[:, : -self.distance]

    def loss(self, logits: Float[Tensor, "batch position num_words"]) -> Float[Tensor, ""]:
        """Return the mean cross-entropy over the positions that ask, in nats."""
        return F.cross_entropy(self._asking(logits).flatten(0, 1), self.answer.flatten())

    def accuracy(self, logits: Float[Tensor, "batch position num_words"]) -> float:
        """Return the fraction of asking positions whose largest logit is the right word."""
        return (self._asking(logits).argmax(dim=-1) == self.answer).float().mean().item()

    def _asking(self, logits: Tensor) -> Tensor:
        if logits.shape[:-1] != self.words.shape:
            raise ValueError(
                f"logits: expected one prediction for each word, {(*self.words.shape, 'num_words')}"
                f", got the shape {tuple(logits.shape)}"
            )
        return logits[:, self.distance :]


def look_back_task(
    batch: int,
    length: int,
    distance: int,
    *,
    num_words: int = 20,
    generator: torch.Generator | None = None,
) -> LookBackBatch:
    """Draw sequences of random words; every position asks for the word ``distance`` back.

    The words are independent and all equally likely. So no word tells anything about
    another, and an attention that is to answer must look at the right *place*.

    Args:
        batch: How many sequences.
        length: Words in each.
        distance: How many places back the answer stands.
        num_words: How many different words there are.
        generator: The source of randomness; by default torch's global one.

    >>> task = look_back_task(1, 6, 2, generator=torch.Generator().manual_seed(0))
    >>> task.words, task.answer
    (tensor([[ 4, 19, 13,  0,  3, 19]]), tensor([[ 4, 19, 13,  0]]))
    """
    check_sizes(batch=batch, length=length, distance=distance, num_words=num_words)
    if distance >= length:
        raise ValueError(f"distance: expected less than length={length}, got {distance}")
    words = torch.randint(num_words, (batch, length), generator=generator, device="cpu")
    return LookBackBatch(words, distance)


# --- a table to look things up in --------------------------------------------------------------


# The seed of the map between queries and keys: the same in every batch, so that
# a score can learn it, and independent of the caller's random numbers.
_MAP_SEED = 2017


@dataclass(frozen=True)
class LookupBatch:
    """A batch of :func:`lookup_task`: tables, queries, and the answers.

    Attributes:
        queries: One question per position of the table, (batch, num_keys, d_key).
        keys: The entries of the table, (batch, num_keys, d_key).
        values: What stands beside each entry, a one-hot label,
            (batch, num_keys, num_labels).
        answer_index: The key each query asks for, (batch, num_keys).
        answer: The value of that key: the output of a perfect attention,
            (batch, num_keys, num_labels).

    >>> task = lookup_task(3, 5, 4)
    >>> task.error(task.answer).max()
    tensor(0.)
    """

    queries: Float[Tensor, "batch num_keys d_key"]
    keys: Float[Tensor, "batch num_keys d_key"]
    values: Float[Tensor, "batch num_keys num_labels"]
    answer_index: Int[Tensor, "batch num_keys"]
    answer: Float[Tensor, "batch num_keys num_labels"]

    def error(self, output: Float[Tensor, "batch num_keys num_labels"]) -> Tensor:
        """Return how much of each output lies on wrong labels, (batch, num_keys).

        .. math:: \\text{error}_i = 1 - \\text{output}_i \\cdot \\text{answer}_i

        It is linear in the output. So the error of soft attention *is* the
        expected error of an attention that draws one key with the same weights,
        and the two can be trained, and compared, by one number.
        """
        self._check(output)
        return 1 - (output * self.answer).sum(dim=-1)

    def accuracy(self, output: Float[Tensor, "batch num_keys num_labels"]) -> float:
        """Return the fraction of queries whose largest label is the right one."""
        self._check(output)
        return (output.argmax(dim=-1) == self.answer.argmax(dim=-1)).float().mean().item()

    def _check(self, output: Tensor) -> None:
        if output.shape != self.answer.shape:
            raise ValueError(
                f"output: expected the shape of the answers, {tuple(self.answer.shape)}, "
                f"got the shape {tuple(output.shape)}"
            )


def lookup_map(d_key: int) -> Float[Tensor, "d_key d_key"]:
    """Return the fixed rotation R that turns a key into the query that asks for it.

    It depends on ``d_key`` alone. A bilinear score :math:`q^\\top W k` finds the
    right key when W is a multiple of R, the surer the larger the multiple.

    >>> R = lookup_map(3)
    >>> torch.allclose(R @ R.T, torch.eye(3), atol=1e-6)
    True
    """
    generator = torch.Generator().manual_seed(_MAP_SEED)
    rotation: Tensor = torch.linalg.qr(
        torch.randn(d_key, d_key, generator=generator, device="cpu")
    ).Q
    return rotation


def lookup_task(
    batch: int,
    num_keys: int,
    d_key: int,
    *,
    noise: float = 0.1,
    num_labels: int = 8,
    reach: int | None = None,
    rotated: bool = True,
    generator: torch.Generator | None = None,
) -> LookupBatch:
    """Draw tables of keys and labels, and queries that each ask for one key.

    .. math:: q_i = R \\, k_{r(i)} + \\varepsilon_i,
        \\qquad \\varepsilon_i \\sim N(0, \\text{noise}^2 I)

    The keys point in random directions and are all of length
    :math:`\\sqrt{d_{key}}`: among keys of one length, the largest dot product is
    the nearest key. The rotation R is ``lookup_map(d_key)``, the same in every
    batch, so that a score can and must learn it. Each key carries one of
    ``num_labels`` random labels; a guess is right once in ``num_labels`` times.

    There are as many queries as keys, and query i stands at position i, so that
    local attention has a place to look around.

    Args:
        batch: How many tables.
        num_keys: Keys, and queries, per table.
        d_key: Features of a key and of a query.
        noise: Standard deviation of :math:`\\varepsilon`.
        num_labels: How many labels there are.
        reach: The answer r(i) lies at most this far from position i; None: anywhere.
        rotated: False leaves R out: then a score that compares is right untrained.
        generator: The source of randomness; by default torch's global one.

    >>> task = lookup_task(2, 5, 4, reach=1, generator=torch.Generator().manual_seed(0))
    >>> task.answer_index[0]
    tensor([1, 1, 3, 4, 3])
    >>> task.values.shape
    torch.Size([2, 5, 8])
    """
    check_sizes(batch=batch, num_keys=num_keys, d_key=d_key, num_labels=num_labels)
    _check_task(noise, reach)
    directions = torch.randn(batch, num_keys, d_key, generator=generator, device="cpu")
    keys = math.sqrt(d_key) * torch.nn.functional.normalize(directions, dim=-1)
    labels = torch.randint(num_labels, (batch, num_keys), generator=generator, device="cpu")
    answer_index = _draw_positions(batch, num_keys, reach, generator)
    error = noise * torch.randn(batch, num_keys, d_key, generator=generator, device="cpu")

    values = torch.nn.functional.one_hot(labels, num_labels).to(keys.dtype)
    asked_for = keys.take_along_dim(answer_index.unsqueeze(-1), dim=1)
    queries = (asked_for @ lookup_map(d_key).T if rotated else asked_for) + error
    answer = values.take_along_dim(answer_index.unsqueeze(-1), dim=1)
    return LookupBatch(queries, keys, values, answer_index, answer)


def _draw_positions(
    batch: int, num_keys: int, reach: int | None, generator: torch.Generator | None
) -> Int[Tensor, "batch num_keys"]:
    """Draw one position per query, uniform over those within reach that exist."""
    own = torch.arange(num_keys, device="cpu")
    distance = num_keys if reach is None else reach
    first = (own - distance).clamp(min=0)
    last = (own + distance).clamp(max=num_keys - 1)
    share = torch.rand(batch, num_keys, generator=generator, device="cpu")
    return first + (share * (last - first + 1)).long()


def _check_task(noise: float, reach: int | None) -> None:
    if noise < 0:
        raise ValueError(f"noise: expected a standard deviation, 0 or more, got {noise}")
    if reach is not None and reach < 0:
        raise ValueError(f"reach: expected a distance, 0 or more, or None, got {reach}")


# --- associative recall (MQAR) -----------------------------------------------------------------


@dataclass(frozen=True)
class RecallBatch:
    """A batch of :func:`recall_task`: pairs to remember, and then keys that ask for their values.

    Attributes:
        keys: The keys that are written, one after another, (batch, written).
        values: The value that stands beside each, (batch, written).
        questions: The keys that are asked for in the end, (batch, question).
        answer: The last value that was written under each, (batch, question).

    >>> keys, values = torch.tensor([[3, 1, 3]]), torch.tensor([[7, 5, 9]])
    >>> RecallBatch(keys, values, torch.tensor([[3]]), torch.tensor([[9]])).answer.item()
    9
    """

    keys: Int[Tensor, "batch written"]
    values: Int[Tensor, "batch written"]
    questions: Int[Tensor, "batch question"]
    answer: Int[Tensor, "batch question"]


def recall_task(
    batch: int,
    num_pairs: int,
    *,
    times: int = 1,
    num_keys: int = 64,
    num_values: int = 64,
    generator: torch.Generator | None = None,
) -> RecallBatch:
    """Draw sequences that write values under keys, and then ask for the last value of each.

    All keys of a sequence are written ``times`` times, each time with a value of its own, in
    random order; then each is asked for once, in another random order. With ``times`` above 1
    a value has to be overwritten. After the synthetic tasks of Arora et al. (2024), "Zoology".

    Args:
        batch: How many sequences.
        num_pairs: Different keys in each sequence.
        times: How often each key is written.
        num_keys: How many different keys there are in all.
        num_values: How many different values there are; a guess is right once in so many.
        generator: The source of randomness; by default torch's global one.

    >>> task = recall_task(1, 2, times=2, generator=torch.Generator().manual_seed(0))
    >>> task.keys, task.values
    (tensor([[35, 12, 35, 12]]), tensor([[ 0, 36, 53,  5]]))
    >>> task.questions, task.answer
    (tensor([[12, 35]]), tensor([[ 5, 53]]))
    """
    check_sizes(
        batch=batch, num_pairs=num_pairs, times=times, num_keys=num_keys, num_values=num_values
    )
    if num_keys < num_pairs:
        raise ValueError(f"num_keys: expected at least num_pairs={num_pairs}, got {num_keys}")
    drawn = _orders(batch, num_keys, generator)[:, :num_pairs]
    order = _orders(batch, num_pairs * times, generator) % num_pairs
    values = torch.randint(num_values, order.shape, generator=generator, device="cpu")
    questions = _orders(batch, num_pairs, generator)
    # The last place at which a key was written: the largest place with its number.
    place = torch.arange(num_pairs * times, device="cpu").expand_as(order)
    last = torch.zeros_like(questions).scatter_reduce(1, order, place, "amax")
    answer = values.gather(1, last).gather(1, questions)
    return RecallBatch(drawn.gather(1, order), values, drawn.gather(1, questions), answer)


def _orders(batch: int, size: int, generator: torch.Generator | None) -> Tensor:
    """Return one random permutation of 0 to size - 1 for each example."""
    return torch.rand(batch, size, generator=generator, device="cpu").argsort(dim=1)


# --- words that come again ---------------------------------------------------------------------


Guesses = Float[Tensor, "batch target num_words"]


@dataclass(frozen=True)
class RepeatedBatch:
    """A batch of texts in which random words come again.

    Attributes:
        words: Word numbers, (batch, position).
        known: True where a word can be known, (batch, position): the word before it has
            stood in the text already, and was followed by the same word.

    >>> words = torch.tensor([[7, 3, 9, 7, 3]])
    >>> batch = RepeatedBatch(words, torch.tensor([[False, False, False, False, True]]))
    >>> batch.inputs, batch.targets
    (tensor([[7, 3, 9, 7]]), tensor([[3, 9, 7, 3]]))
    """

    words: Int[Tensor, "batch position"]
    known: Bool[Tensor, "batch position"]

    @property
    def inputs(self) -> Int[Tensor, "batch target"]:
        """All words but the last, which is what a language model reads."""
        return self.words[:, :-1]

    @property
    def targets(self) -> Int[Tensor, "batch target"]:
        """All words but the first, which is what it has to guess."""
        return self.words[:, 1:]

    def loss(self, logits: Guesses) -> Float[Tensor, ""]:
        """Return the mean cross-entropy of all targets, known or not, in nats."""
        return self.losses(logits).mean()

    def losses(self, logits: Guesses) -> Float[Tensor, "batch target"]:
        """Return the cross-entropy of each target, in nats."""
        self._check(logits)
        losses = F.cross_entropy(logits.flatten(0, 1), self.targets.flatten(), reduction="none")
        return losses.view(self.targets.shape)

    def accuracy(self, logits: Guesses) -> float:
        """Return the fraction of the known targets that got the largest logit."""
        self._check(logits)
        right = logits.argmax(dim=-1) == self.targets
        return right[self.known[:, 1:]].float().mean().item()

    def _check(self, logits: Tensor) -> None:
        if logits.shape[:-1] != self.targets.shape:
            raise ValueError(
                "logits: expected one prediction for each target, "
                f"{(*self.targets.shape, 'num_words')}, got the shape {tuple(logits.shape)}"
            )


def periodic_words(
    batch: int,
    length: int = 48,
    *,
    shortest: int = 8,
    longest: int = 20,
    num_words: int = 32,
    generator: torch.Generator | None = None,
) -> RepeatedBatch:
    """Draw texts that say the same few words over and over, in an order drawn for each text.

    Each text draws its period p, evenly from ``shortest`` to ``longest``, and p different
    words; then it repeats them up to ``length``. Nothing about a text is known beforehand,
    and from place p + 1 on (counted from 0) all is known: the word after the one just read
    has followed it before.

    Args:
        batch: How many texts.
        length: Words in each.
        shortest: The shortest period.
        longest: The longest; with ``shortest == longest`` all texts have the same.
        num_words: How many different words there are.
        generator: The source of randomness; by default torch's global one.

    >>> words = periodic_words(2, 8, shortest=3, longest=3, num_words=9).words
    >>> torch.equal(words[:, 3:], words[:, :-3])
    True
    """
    check_sizes(batch=batch, length=length, shortest=shortest)
    if not shortest <= longest <= num_words:
        raise ValueError(
            f"longest: expected a number from shortest={shortest} to num_words={num_words}, "
            f"got {longest}"
        )
    period = torch.randint(shortest, longest + 1, (batch, 1), generator=generator, device="cpu")
    place = torch.arange(length, device="cpu")
    words = _shuffled(batch, num_words, generator).gather(1, place % period)
    return RepeatedBatch(words, place > period)


def embedded_repeat(
    batch: int,
    length: int = 48,
    *,
    segment: int = 12,
    num_words: int = 32,
    generator: torch.Generator | None = None,
) -> RepeatedBatch:
    """Draw texts of random words in which one segment comes twice, and nothing else does.

    The segment has different words of its own, in an order drawn for each text. Before the
    first and between the two stand other words at random; how many stand before, and so the
    distance of the two, is drawn for each text. So no habit of counting places helps, nor of
    choosing the word not seen for longest.

    Args:
        batch: How many texts.
        length: Words in each; the second segment ends it.
        segment: Words in the segment.
        num_words: How many different words there are.
        generator: The source of randomness; by default torch's global one.

    >>> text = embedded_repeat(1, 9, segment=3, num_words=8)
    >>> text.words.shape, text.known.sum()
    (torch.Size([1, 9]), tensor(2))
    """
    check_sizes(batch=batch, length=length, segment=segment)
    if segment >= num_words:
        raise ValueError(f"segment: expected less than num_words={num_words}, got {segment}")
    if 2 * segment > length:
        raise ValueError(f"segment: expected at most half of length={length}, got {segment}")
    order = _shuffled(batch, num_words, generator)
    chosen, others = order[:, :segment], order[:, segment:]
    which = torch.randint(others.shape[1], (batch, length), generator=generator, device="cpu")
    first = torch.randint(length - 2 * segment + 1, (batch, 1), generator=generator, device="cpu")
    words = others.gather(1, which).scatter(1, first + torch.arange(segment, device="cpu"), chosen)
    words[:, -segment:] = chosen
    known = torch.arange(length, device="cpu") > length - segment
    return RepeatedBatch(words, known.expand(batch, -1))


def _shuffled(batch: int, num_words: int, generator: torch.Generator | None) -> Tensor:
    """Return all words in an order of its own for each text."""
    return torch.rand(batch, num_words, generator=generator, device="cpu").argsort(dim=-1)


# --- copying over gaps -------------------------------------------------------------------------


#: How many words can come again, and how many fill the gaps; their numbers follow.
NUM_CONTENT, NUM_FILLERS = 32, 16


def copy_with_gaps(
    batch: int, length: int = 64, *, generator: torch.Generator | None = None
) -> RepeatedBatch:
    """Draw texts: 8 to 16 different words, 0 to 24 fillers, the same words again, and so on.

    Each text has one list of words, in one order, and gaps of one size, filled anew each time.
    A word can be known from the second time on, but for the first of the list, whose place
    the gap hides.

    Args:
        batch: How many texts.
        length: Words in each.
        generator: The source of randomness; by default torch's global one.

    >>> texts = copy_with_gaps(2, 64, generator=torch.Generator().manual_seed(0))
    >>> texts.words.shape, texts.words.max() < 48
    (torch.Size([2, 64]), tensor(True))
    """
    check_sizes(batch=batch, length=length)
    size = torch.randint(8, 17, (batch, 1), generator=generator, device="cpu")
    gap = torch.randint(25, (batch, 1), generator=generator, device="cpu")
    content = torch.rand(batch, NUM_CONTENT, generator=generator, device="cpu").argsort(dim=1)
    place = torch.arange(length, device="cpu")
    phase = place % (size + gap)
    shown = phase < size
    words = torch.where(
        shown,
        content.gather(1, phase.clamp(max=NUM_CONTENT - 1)),
        _fillers((batch, length), generator),
    )
    return RepeatedBatch(words, shown & (phase > 0) & (place >= size + gap))


def _fillers(shape: tuple[int, int], generator: torch.Generator | None) -> Tensor:
    return torch.randint(
        NUM_CONTENT, NUM_CONTENT + NUM_FILLERS, shape, generator=generator, device="cpu"
    )


# --- bigrams with back-copying -----------------------------------------------------------------


Words = Int[Tensor, "batch position"]


@dataclass(frozen=True)
class BackcopyChain:
    """Which word follows which; after a trigger, always the word that stood before it.

    The task of Guo et al. (2024): a Markov chain of words, some of them triggers. After any
    other word the next one depends on that word alone, and to look at others cannot help.
    After a trigger, to look one place back settles it.

    Attributes:
        follows: How probable each word is after each, (word, next).
        num_triggers: The first words are the triggers.

    >>> chain = BackcopyChain.draw(generator=torch.Generator().manual_seed(0))
    >>> texts = chain.texts(3, 20, generator=torch.Generator().manual_seed(1))
    >>> after = texts[:, 1:-1] < chain.num_triggers
    >>> torch.equal(texts[:, 2:][after], texts[:, :-2][after])
    True
    """

    follows: Float[Tensor, "word next"]
    num_triggers: int

    @classmethod
    def draw(
        cls,
        num_words: int = 32,
        *,
        num_triggers: int = 4,
        share: float = 0.15,
        generator: torch.Generator | None = None,
    ) -> "BackcopyChain":
        """Draw a chain; triggers come ``share`` of the time."""
        check_sizes(num_triggers=num_triggers)
        if num_triggers >= num_words:
            raise ValueError(f"num_triggers: expected less than {num_words}, got {num_triggers}")
        logits = torch.randn(num_words, num_words, generator=generator, device="cpu")
        triggers, others = logits.split((num_triggers, num_words - num_triggers), dim=1)
        follows = torch.cat(
            (share * triggers.softmax(dim=1), (1 - share) * others.softmax(dim=1)), dim=1
        )
        return cls(follows, num_triggers)

    @property
    def bos(self) -> int:
        """Number of the token that may stand before a text."""
        return len(self.follows)

    def texts(
        self,
        batch: int,
        length: int,
        *,
        begin: bool = False,
        generator: torch.Generator | None = None,
    ) -> Words:
        """Draw texts of so many words, and put :attr:`bos` before each if ``begin``."""
        check_sizes(batch=batch, length=length)
        first = torch.randint(
            self.num_triggers, len(self.follows), (batch,), generator=generator, device="cpu"
        )
        words = [first]
        for place in range(1, length):
            last = words[-1]
            drawn = torch.multinomial(self.follows[last], 1, generator=generator)[:, 0]
            copied = (last < self.num_triggers) & (place > 1)
            words.append(torch.where(copied, words[-2], drawn) if place > 1 else drawn)
        if begin:
            words.insert(0, torch.full((batch,), self.bos, device="cpu"))
        return torch.stack(words, dim=1)

    def excess(
        self, logits: Float[Tensor, "batch guess num_words"], texts: Words, *, after: int = 20
    ) -> float:
        """Return by how much guesses after words that are no triggers lose to the chain itself.

        The mean loss less that of the true probabilities, in nats: 0 is the best there is.

        Args:
            logits: The guesses after each place of the texts.
            texts: What was read, with or without :attr:`bos`.
            after: Places before this one do not count.
        """
        if logits.shape[:2] != texts.shape:
            raise ValueError(
                f"logits: expected one guess for each place of {tuple(texts.shape)}, "
                f"got the shape {tuple(logits.shape)}"
            )
        inputs, targets = texts[:, :-1], texts[:, 1:]
        losses = F.cross_entropy(logits[:, :-1].mT, targets, reduction="none")
        best = -self.follows.log()[inputs.clamp(max=self.bos - 1), targets.clamp(max=self.bos - 1)]
        return (losses - best)[self.free(inputs, after=after)].mean().item()

    def free(self, inputs: Words, *, after: int = 0) -> Bool[Tensor, "batch position"]:
        """Return where a head has nothing to do: at words that are no triggers."""
        words = (inputs >= self.num_triggers) & (inputs < self.bos)
        return words & (torch.arange(inputs.shape[1], device=inputs.device) >= after)


# --- digits ------------------------------------------------------------------------------------


#: Values of a pixel in the files: from 0, paper, to 16, ink.
_INK = 16.0


@dataclass(frozen=True)
class Digits:
    """Images of digits, and which digit each one shows.

    Attributes:
        images: How much ink there is in each pixel, from 0 (paper) to 1.
        labels: The digits, 0 to 9.

    >>> digits = Digits(torch.rand(5, 8, 8), torch.tensor([3, 1, 4, 1, 5]))
    >>> len(digits), digits.first(2).labels
    (5, tensor([3, 1]))
    """

    images: Float[Tensor, "image height width"]
    labels: Int[Tensor, " image"]

    def __post_init__(self) -> None:
        """Refuse images without a label, and labels without an image."""
        if len(self.images) != len(self.labels):
            raise ValueError(
                f"labels: expected one for each of {len(self.images)} images, "
                f"got {len(self.labels)}"
            )

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.labels)

    def first(self, count: int) -> "Digits":
        """Return the first ``count`` images."""
        if not 1 <= count <= len(self):
            raise ValueError(f"count: expected a number from 1 to {len(self)}, got {count}")
        return Digits(self.images[:count], self.labels[:count])

    def accuracy(self, logits: Float[Tensor, "image num_classes"]) -> float:
        """Return the fraction of images whose largest logit is the right digit."""
        if len(logits) != len(self):
            raise ValueError(
                f"logits: expected one row for each of {len(self)} images, got {len(logits)}"
            )
        return (logits.argmax(dim=-1) == self.labels).float().mean().item()


@dataclass(frozen=True)
class DigitSplits:
    """Images to learn from, to choose settings by, and to judge by once.

    Attributes:
        train: What the models learn from; its first images are a sample of every digit too.
        validation: What settings are chosen by.
        test: What is looked at once, at the end.

    >>> few = Digits(torch.rand(3, 8, 8), torch.tensor([0, 1, 2]))
    >>> len(DigitSplits(train=few, validation=few, test=few).train)
    3
    """

    train: Digits
    validation: Digits
    test: Digits


def digit_images(
    *, num_validation: int = 240, num_test: int = 360, seed: int = 0, in_order: bool = False
) -> DigitSplits:
    """Split the 1,797 digits of scikit-learn, with every digit in its share everywhere.

    They are the test set of Alpaydin and Kaynak (1998): 13 people's digits, scanned and
    reduced to 8 by 8 pixels. Nothing is downloaded, they come with scikit-learn.

    Args:
        num_validation: Number of images in ``validation``.
        num_test: Number of images in ``test``; all others are in ``train``.
        seed: Which images go where. Torch's global random numbers are left alone.
        in_order: Leave the images in the order of the file, in which each person's digits
            appear to stand together; the test set then comes last, by people of its own.

    >>> digits = digit_images()
    >>> len(digits.train), len(digits.validation), len(digits.test)
    (1197, 240, 360)
    >>> digits.test.labels.bincount()
    tensor([36, 37, 35, 37, 36, 36, 36, 36, 35, 36])
    """
    images, labels = _load()
    num_train = len(labels) - num_validation - num_test
    if min(num_train, num_validation, num_test) < 1:
        raise ValueError(
            f"num_validation and num_test: expected at least 1 each, and fewer than "
            f"{len(labels)} together, got {num_validation} and {num_test}"
        )
    order = torch.arange(len(labels), device="cpu") if in_order else evenly_mixed(labels, seed=seed)
    sizes = [num_train, num_validation, num_test]
    return DigitSplits(*(Digits(images[part], labels[part]) for part in order.split(sizes)))


def evenly_mixed(labels: Int[Tensor, " image"], *, seed: int) -> Int[Tensor, " image"]:
    """Return a random order in which every stretch has its share of every label.

    The images of one label are shuffled and spread evenly over the whole; so any cut
    gives stratified parts.

    Args:
        labels: One for each image.
        seed: Seeds the shuffling, from 0 to 2**32 - 1.

    >>> labels = torch.tensor([0, 0, 0, 0, 0, 0, 1, 1, 1])
    >>> labels[evenly_mixed(labels, seed=1)].view(3, 3).sum(dim=1)
    tensor([1, 1, 1])
    """
    check_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    place = torch.rand(len(labels), generator=generator, device="cpu")
    for label in labels.unique():
        own = labels == label
        rank = place[own].argsort().argsort()
        place[own] = (rank + torch.rand(1, generator=generator, device="cpu")) / own.sum()
    return place.argsort()


def shifted(
    images: Float[Tensor, "image height width"], *, generator: torch.Generator | None = None
) -> Float[Tensor, "image height width"]:
    """Move each image by at most one pixel, up or down and left or right, at random.

    What moves out is lost, what moves in is paper. To the eye the digit stays the same;
    does it to a model? In training, this makes nine images of one.

    Args:
        images: How much ink there is in each pixel.
        generator: The source of randomness, on the CPU; by default torch's global one.

    >>> image = torch.zeros(1, 4, 4)
    >>> image[0, 1, 1] = 1.0
    >>> shifted(image, generator=torch.Generator().manual_seed(3)).nonzero()
    tensor([[0, 1, 0]])
    """
    count, height, width = images.shape
    down, right = torch.randint(3, (2, count, 1), generator=generator, device="cpu")
    rows, columns = (
        down + torch.arange(height, device="cpu"),
        right + torch.arange(width, device="cpu"),
    )
    image = torch.arange(count, device="cpu")[:, None, None]
    return F.pad(images, (1, 1, 1, 1))[image, rows[:, :, None], columns[:, None, :]]


def _load() -> tuple[Tensor, Tensor]:
    with from_extra("data", "scikit-learn"):
        from sklearn.datasets import load_digits
    data = load_digits()
    return torch.from_numpy(data.images).float() / _INK, torch.from_numpy(data.target).long()


# --- time series -------------------------------------------------------------------------------


SeriesName = Literal["sunspots", "co2"]


@dataclass(frozen=True, kw_only=True)
class TimeSeries:
    """Values at equal steps of time.

    Attributes:
        name: What is measured, in short.
        values: In double precision, oldest first, (time,).
        times: When, in years; a month is named by its middle, 1958.2083 is March 1958.
        period: After how many steps it about repeats.
        units: Units of the values.
        source: Who measured, and where the numbers come from.
        filled: True where nothing was measured and the value is an interpolation.

    >>> series = load_series("sunspots")
    >>> len(series), series.period, series.values[:3].tolist()
    (309, 11, [5.0, 11.0, 16.0])
    """

    name: str
    values: Float[Tensor, " time"]
    times: Float[Tensor, " time"]
    period: int
    units: str
    source: str
    filled: Bool[Tensor, " time"]

    def __post_init__(self) -> None:
        """Refuse parts that don't fit together."""
        for part in ("times", "filled"):
            if (got := len(getattr(self, part))) != len(self):
                raise ValueError(f"{part}: expected one for each of {len(self)} values, got {got}")
        if not self.values.isfinite().all():
            raise ValueError("values: expected finite numbers, got a gap")

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.values)

    def count_before(self, time: int | float) -> int:
        """Return how many values are older than ``time``: the origin of a forecast from then on.

        >>> load_series("sunspots").count_before(1900)
        200
        """
        return int((self.times < time).sum())


def load_series(name: SeriesName) -> TimeSeries:
    """Load a real series that ships with statsmodels.

    "sunspots": the mean number of sunspots of each year from 1700 to 2008, with a cycle of
    about 11 years. "co2": the share of CO₂ in the air over Mauna Loa from March 1958 to
    December 2001. It was measured by the week, with gaps. Here are the means of the months; a
    month without any measurement lies on the straight line between its neighbors, and
    ``filled`` says so. (The later neighbor is in that month's future. A backtest must
    therefore begin after the last filled month.)

    Args:
        name: "sunspots" or "co2".

    >>> co2 = load_series("co2")
    >>> len(co2), co2.period, co2.units, int(co2.filled.sum())
    (526, 12, 'ppm', 5)
    """
    if name not in get_args(SeriesName):
        expected = ", ".join(get_args(SeriesName))
        raise ValueError(f"name: expected one of {expected}, got {name!r}")
    with from_extra("data", "statsmodels"):
        from statsmodels import datasets
    return _sunspots(datasets) if name == "sunspots" else _co2(datasets)


def _sunspots(datasets: Any) -> TimeSeries:
    yearly = datasets.sunspots.load_pandas().data
    values = torch.tensor(yearly["SUNACTIVITY"].tolist(), dtype=torch.float64)
    return TimeSeries(
        name="sunspots",
        values=values,
        times=torch.tensor(yearly["YEAR"].tolist(), dtype=torch.float64),
        period=11,
        units="sunspots",
        source="National Geophysical Data Center, by statsmodels.datasets.sunspots",
        filled=torch.zeros(len(values), dtype=torch.bool),
    )


def _co2(datasets: Any) -> TimeSeries:
    weekly = datasets.co2.load_pandas().data["co2"]
    monthly = weekly.resample("MS").mean()
    times = [month.year + (month.month - 0.5) / 12 for month in monthly.index]
    return TimeSeries(
        name="co2",
        values=torch.tensor(monthly.interpolate().tolist(), dtype=torch.float64),
        times=torch.tensor(times, dtype=torch.float64),
        period=12,
        units="ppm",
        source="Keeling and Whorf (2004), Mauna Loa, by statsmodels.datasets.co2",
        filled=torch.tensor(monthly.isna().tolist()),
    )


__all__ = [
    "BackcopyChain",
    "DigitSplits",
    "Digits",
    "LookBackBatch",
    "LookupBatch",
    "RecallBatch",
    "RegressionData",
    "RepeatedBatch",
    "TimeSeries",
    "copy_with_gaps",
    "digit_images",
    "embedded_repeat",
    "load_series",
    "look_back_task",
    "lookup_task",
    "periodic_words",
    "recall_task",
    "shifted",
    "sine_data",
]
