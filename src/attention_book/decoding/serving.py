"""Serving many readers with one model: batching, chunked prefill, shared prefixes, paged memory.

A simulator of a server's steps (event-driven; a scheduler of requests): who takes part in which
step, how long it takes, and when each word comes. No model runs. What a step costs is told by
:class:`StepTimes`, stated or measured.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch

from attention_book.foundations.checks import check_positive, check_sizes


@dataclass(frozen=True)
class Request:
    """What a reader asks for.

    Attributes:
        arrival: When it comes, in seconds.
        prompt: How many tokens it brings.
        words: How many words are written for it.
        shared: How many of its first tokens are those that every request begins with, such as a
            system prompt; fewer than ``prompt``, so that something is left to read.

    Raises:
        ValueError: if a number is out of range.

    >>> Request(0.0, prompt=300, words=20, shared=256).shared
    256
    """

    arrival: float
    prompt: int
    words: int
    shared: int = 0

    def __post_init__(self) -> None:
        """Refuse what no reader asks for."""
        check_sizes(prompt=self.prompt, words=self.words)
        if not (self.arrival >= 0 and math.isfinite(self.arrival)):
            raise ValueError(f"arrival: expected seconds from 0 on, got {self.arrival}")
        if not 0 <= self.shared < self.prompt:
            raise ValueError(
                f"shared: expected from 0 to {self.prompt - 1}, fewer than the prompt has, "
                f"got {self.shared}"
            )


@dataclass(frozen=True)
class StepTimes:
    """How long a step takes.

    .. math:: t = a + b\\,T + c\\,K

    a for reading the weights, b for each of T tokens that are computed, of prompts or last words,
    and c for each of K tokens whose keys and values are read from caches.

    Attributes:
        weights: a, seconds.
        token: b, seconds.
        cached: c, seconds.

    Raises:
        ValueError: if ``weights`` is not positive, or another is negative.

    >>> StepTimes(weights=5.0, token=0.5).seconds(tokens=4, cached=100)
    7.0
    """

    weights: float
    token: float = 0.0
    cached: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no machine does."""
        check_positive("weights", self.weights)
        for name, value in (("token", self.token), ("cached", self.cached)):
            if not value >= 0:
                raise ValueError(f"{name}: expected seconds from 0 on, got {value}")

    def seconds(self, tokens: int, cached: int) -> float:
        """Return the time of a step that computes and reads so many tokens."""
        return self.weights + self.token * tokens + self.cached * cached


@dataclass(frozen=True)
class CacheMemory:
    """How much memory there is for caches, in tokens, and how it is dealt out.

    Attributes:
        tokens: How many tokens' keys and values fit in.
        block: A reader takes whole blocks of this size as its text grows: a paged cache.
        reserve: Instead, each reader takes room for this many tokens when it comes in.

    Raises:
        ValueError: if a number is below 1.

    >>> paged = CacheMemory(1024)
    >>> paged.taken(100), CacheMemory(1024, reserve=512).taken(100)
    (112, 512)
    """

    tokens: int
    block: int = 16
    reserve: int | None = None

    def __post_init__(self) -> None:
        """Refuse sizes below 1."""
        check_sizes(tokens=self.tokens, block=self.block, reserve=self.reserve or 1)

    def taken(self, length: int) -> int:
        """Return the room that a text of so many tokens takes."""
        return self.reserve or self.block * math.ceil(length / self.block)


@dataclass(frozen=True)
class Drafts:
    """Guessed words, checked in the same step (speculative decoding); guessing itself is free.

    Attributes:
        guesses: How many words are guessed for each reader in a step.
        acceptance: The probability that a guess is accepted if those before it were.

    Raises:
        ValueError: if a number is out of range.

    >>> Drafts(guesses=4, acceptance=0.8).guesses
    4
    """

    guesses: int
    acceptance: float

    def __post_init__(self) -> None:
        """Refuse what is no number of guesses or no probability."""
        check_sizes(guesses=self.guesses)
        if not 0 <= self.acceptance <= 1:
            raise ValueError(f"acceptance: expected a probability, got {self.acceptance}")


@dataclass(frozen=True)
class Step:
    """One step of the server.

    Attributes:
        begin: When it begins, in seconds.
        seconds: How long it takes.
        tokens: How many tokens it computes.
        cached: How many tokens it reads from caches.
        batch: How many readers are served, including those whose prompts wait for their turn.
        taken: How much memory their caches take, in tokens; 0 where memory is not limited.

    >>> schedule = serve([Request(2.0, prompt=30, words=2)], StepTimes(1.0, token=0.5))
    >>> [(step.begin, step.seconds, step.tokens, step.cached) for step in schedule.steps]
    [(2.0, 16.0, 30, 0), (18.0, 1.5, 1, 30)]
    """

    begin: float
    seconds: float
    tokens: int
    cached: int
    batch: int
    taken: int


@dataclass(frozen=True)
class Served:
    """What became of a request.

    Attributes:
        request: What was asked for.
        begin: When its first token was computed.
        words: When each of its words came.

    >>> served = Served(Request(1.0, prompt=5, words=3), begin=2.0, words=(3.0, 4.0, 6.0))
    >>> served.first_word, served.stay, served.gaps
    (2.0, 5.0, (1.0, 2.0))
    """

    request: Request
    begin: float
    words: tuple[float, ...]

    @property
    def first_word(self) -> float:
        """Seconds from the arrival to the first word (time to first token, TTFT)."""
        return self.words[0] - self.request.arrival

    @property
    def stay(self) -> float:
        """Seconds from the arrival to the last word (latency)."""
        return self.words[-1] - self.request.arrival

    @property
    def gaps(self) -> tuple[float, ...]:
        """Seconds between one word and the next (inter-token latency)."""
        return tuple(b - a for a, b in zip(self.words, self.words[1:], strict=False))


@dataclass(frozen=True)
class Schedule:
    """All that happened: what :func:`serve` returns.

    Attributes:
        served: One for each request, in the order given.
        steps: The server's steps, in time.

    >>> schedule = serve([Request(2.0, 1, words=3), Request(4.0, 1, words=3)], StepTimes(1.0))
    >>> schedule.end, schedule.busy, schedule.mean_present
    (7.0, 5.0, 0.8571428571428571)
    """

    served: tuple[Served, ...]
    steps: tuple[Step, ...]

    @property
    def end(self) -> float:
        """When the last step ends."""
        return self.steps[-1].begin + self.steps[-1].seconds

    @property
    def busy(self) -> float:
        """Seconds in which the server was at work."""
        return math.fsum(step.seconds for step in self.steps)

    @property
    def words_per_second(self) -> float:
        """The throughput, from second 0 to the end."""
        return sum(each.request.words for each in self.served) / self.end

    @cached_property
    def first_words(self) -> list[float]:
        """Every reader's wait for the first word."""
        return [each.first_word for each in self.served]

    @cached_property
    def gaps(self) -> list[float]:
        """Every wait for a later word, of all readers."""
        return [gap for each in self.served for gap in each.gaps]

    @property
    def mean_present(self) -> float:
        """How many readers are waiting or served, averaged over time from second 0 to the end.

        It is the rate of arrivals times the mean stay: Little's law.
        """
        changes = [(each.request.arrival, 1) for each in self.served]
        changes += [(each.words[-1], -1) for each in self.served]
        area, present, before = 0.0, 0, 0.0
        for time, change in sorted(changes):
            area += present * (time - before)
            present, before = present + change, time
        return area / self.end


def random_requests(
    number: int,
    rate: float,
    *,
    prompt: tuple[int, int],
    words: tuple[int, int],
    shared: int = 0,
    generator: torch.Generator | None = None,
) -> list[Request]:
    """Draw requests that come one by one, whenever they like: a Poisson process.

    Args:
        number: How many.
        rate: How many come per second on average; ``math.inf``: all at second 0.
        prompt: The smallest and the largest prompt; all between are equally likely. The shared
            tokens come on top.
        words: The smallest and the largest number of words.
        shared: How many tokens every prompt begins with.
        generator: Draws; torch's own if None.

    Raises:
        ValueError: if a number is out of range.

    >>> draws = torch.Generator().manual_seed(1)
    >>> [request.prompt for request in random_requests(
    ...     3, rate=2.0, prompt=(5, 5), words=(1, 9), shared=10, generator=draws)]
    [15, 15, 15]
    """
    check_sizes(number=number)
    check_positive("rate", rate)
    for name, (least, most) in (("prompt", prompt), ("words", words)):
        if not 1 <= least <= most:
            raise ValueError(f"{name}: expected (least, most), from 1 on, got {(least, most)}")
    even = torch.rand(number, generator=generator, dtype=torch.float64)
    arrivals = (-torch.log1p(-even) / rate).cumsum(0).tolist()
    sizes = [
        torch.randint(least, most + 1, (number,), generator=generator).tolist()
        for least, most in (prompt, words)
    ]
    return [
        Request(arrival, shared + own, length, shared)
        for arrival, own, length in zip(arrivals, *sizes, strict=True)
    ]


@dataclass
class _Reader:
    """A request on its way: what it has written, and how much of its text is in the cache."""

    request: Request
    cached: int = 0
    begin: float = math.inf
    words: list[float] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Tokens of its text so far."""
        return self.request.prompt + len(self.words)

    @property
    def left(self) -> int:
        """Tokens to compute before its next word: the prompt, later its last word alone."""
        return self.length - self.cached

    @property
    def writes(self) -> bool:
        """Whether only its last word is to be computed."""
        return self.left == 1 and bool(self.words)

    def guessed(self, guesses: int) -> int:
        """How many words are guessed for it, none beyond the last that it wants."""
        return min(guesses, self.request.words - len(self.words) - 1)


def serve(
    requests: Sequence[Request],
    times: StepTimes,
    *,
    max_batch: int = 16,
    continuous: bool = True,
    chunk: int | None = None,
    prefix_cache: bool = False,
    memory: CacheMemory | None = None,
    drafts: Drafts | None = None,
    generator: torch.Generator | None = None,
) -> Schedule:
    """Serve requests first come, first served, step by step, until all have their words.

    A step computes what each reader in the batch needs for its next word: its prompt, which gives
    its first word, or its last word, which gives the next. Whoever has all words leaves at once.
    Orca (Yu et al., 2022) let others take the place between steps; Sarathi-Serve (Agrawal et al.,
    2024) cuts prompts into chunks; vLLM (Kwon et al., 2023) pages the memory.

    Args:
        requests: In any order.
        times: How long a step takes.
        max_batch: How many readers are served at the same time, at the most.
        continuous: Continuous batching: a reader comes in at any step with a free place. If
            False, static batching: readers come in only when nobody is being served.
        chunk: Chunked prefill: a step computes at most this many tokens of prompts, the earliest
            reader's first; None: whole prompts.
        prefix_cache: What all requests begin with is computed once and its cache kept.
        memory: The room for caches. If texts grow beyond it, the reader who came in last leaves
            its place and its cache, waits at the head of the queue, and has its text computed
            again (preemption by recomputation). Shared prefixes are counted for each reader.
            None: as much as it takes.
        drafts: Guessed words that a step checks.
        generator: Draws which guesses are accepted; torch's own if None.

    Returns:
        Who got which word when, and the steps.

    Raises:
        ValueError: if there is no request, a size is below 1, or a text does not fit in memory.

    >>> three = [Request(0.0, 1, words) for words in (6, 2, 3)]
    >>> len(serve(three, StepTimes(1.0), max_batch=2, continuous=False).steps)
    9
    >>> schedule = serve(three, StepTimes(1.0), max_batch=2)
    >>> len(schedule.steps), schedule.served[2].words
    (6, (3.0, 4.0, 5.0))
    """
    check_sizes(max_batch=max_batch, chunk=1 if chunk is None else chunk)
    _check_fits(requests, memory)
    readers = [_Reader(each) for each in requests]
    coming = deque(sorted(readers, key=lambda reader: reader.request.arrival))
    waiting: deque[_Reader] = deque()
    batch: list[_Reader] = []
    steps: list[Step] = []
    now, prefix = 0.0, 0
    guesses = drafts.guesses if drafts else 0

    def taken(those: Sequence[_Reader]) -> int:
        if memory is None:
            return 0
        return sum(memory.taken(each.length + each.guessed(guesses)) for each in those)

    while coming or waiting or batch:
        if not waiting and not batch:
            now = max(now, coming[0].request.arrival)
        while coming and coming[0].request.arrival <= now:
            waiting.append(coming.popleft())
        while memory and taken(batch) > memory.tokens:
            back = batch.pop()
            back.cached = 0
            waiting.appendleft(back)
        if continuous or not batch:
            while waiting and len(batch) < max_batch:
                if memory and taken([*batch, waiting[0]]) > memory.tokens:
                    break
                batch.append(waiting.popleft())
                if prefix_cache:
                    batch[-1].cached = min(prefix, batch[-1].request.shared)

        room = math.inf if chunk is None else chunk
        tokens = cached = 0
        ended: list[tuple[_Reader, int]] = []
        for reader in batch:
            written = 1
            if reader.writes:
                computed = 1 + reader.guessed(guesses)
                if drafts and computed > 1:
                    written += _accepted(computed - 1, drafts.acceptance, generator)
                kept = written
            else:
                computed = kept = int(min(room, reader.left))
                room -= computed
            if not computed:
                continue
            reader.begin = min(reader.begin, now)
            tokens += computed
            cached += reader.cached
            reader.cached += kept
            if reader.left <= 0:
                ended.append((reader, written))
        seconds = times.seconds(tokens, cached)
        steps.append(Step(now, seconds, tokens, cached, len(batch), taken(batch)))
        now += seconds
        for reader, written in ended:
            reader.words += [now] * written
        if prefix_cache:
            read = (min(each.cached, each.request.shared) for each in batch)
            prefix = max(prefix, *read)
        batch = [each for each in batch if len(each.words) < each.request.words]
    served = tuple(Served(each.request, each.begin, tuple(each.words)) for each in readers)
    return Schedule(served, tuple(steps))


def _accepted(guesses: int, acceptance: float, generator: torch.Generator | None) -> int:
    """How many guesses are accepted before the first that is not."""
    draws = torch.rand(guesses, generator=generator) < acceptance
    return int(draws.long().cumprod(0).sum())


def _check_fits(requests: Sequence[Request], memory: CacheMemory | None) -> None:
    if not requests:
        raise ValueError("requests: expected one or more, got none")
    longest = max(each.prompt + each.words for each in requests)
    if memory is None:
        return
    if longest > (memory.reserve or longest):
        raise ValueError(f"reserve: expected room for {longest} tokens, got {memory.reserve}")
    if memory.taken(longest) > memory.tokens:
        raise ValueError(
            f"memory: expected room for {memory.taken(longest)} tokens, as the longest text "
            f"takes, got {memory.tokens}"
        )


__all__ = [
    "CacheMemory",
    "Drafts",
    "Request",
    "Schedule",
    "Served",
    "Step",
    "StepTimes",
    "random_requests",
    "serve",
]
