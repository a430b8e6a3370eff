"""What a step of decoding costs: bytes read and operations, and the roofline of a machine.

A processor reads so many bytes and computes so many operations a second, and a step cannot be
faster than either. Williams et al. (2009), "Roofline".
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from attention_book.foundations.checks import check_positive, check_sizes


@dataclass(frozen=True)
class CachedToken:
    """What a token in the cache costs every later word, in one layer.

    Attributes:
        numbers: How many numbers are kept, and read for each new word.
        operations: How many operations a new word does with them.

    >>> CachedToken.heads(num_heads=8, d_k=64)
    CachedToken(numbers=1024, operations=2048)
    """

    numbers: int
    operations: int

    @property
    def intensity(self) -> float:
        """Operations for each number read; the batch does not change it."""
        return self.operations / self.numbers

    @classmethod
    def heads(cls, *, num_heads: int, d_k: int, num_kv_heads: int | None = None) -> "CachedToken":
        """Return the cost with keys and values: :math:`2 h_{kv} d_k` numbers, :math:`4 h d_k`.

        Multi-head attention (MHA), grouped-query attention (GQA) and, with one head of keys and
        values, multi-query attention (MQA).

        Raises:
            ValueError: if a size is below 1.

        >>> [CachedToken.heads(num_heads=8, d_k=64, num_kv_heads=n).intensity for n in (8, 2, 1)]
        [2.0, 8.0, 16.0]
        """
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_sizes(num_heads=num_heads, d_k=d_k, num_kv_heads=num_kv_heads)
        return cls(2 * num_kv_heads * d_k, 4 * num_heads * d_k)

    @classmethod
    def latent(cls, *, num_heads: int, kv_rank: int, d_rope: int) -> "CachedToken":
        """Return the cost with latent vectors (MLA, absorbed): r + d numbers, 2h(2r + d).

        Raises:
            ValueError: if a size is below 1.

        >>> CachedToken.latent(num_heads=128, kv_rank=512, d_rope=64)
        CachedToken(numbers=576, operations=278528)
        """
        check_sizes(num_heads=num_heads, kv_rank=kv_rank, d_rope=d_rope)
        return cls(kv_rank + d_rope, 2 * num_heads * (2 * kv_rank + d_rope))


@dataclass(frozen=True)
class StepCost:
    """The least that a step must read, and what it computes.

    Attributes:
        bytes_read: The weights once, and the cache of every text.
        operations: Additions and multiplications.

    >>> StepCost(bytes_read=400, operations=100).intensity
    0.25
    """

    bytes_read: int
    operations: int

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.operations / self.bytes_read


def decoding_step(
    *,
    num_weights: int,
    cached: CachedToken,
    num_layers: int = 1,
    num_tokens: int = 0,
    batch_size: int = 1,
    bytes_per_number: int = 4,
) -> StepCost:
    """Return what a step costs that adds one word to each text of a batch.

    .. math::
        \\text{bytes} = b\\,(W + B L n c), \\qquad \\text{operations} = B\\,(2 W + L n o)

    The W weights are read once for all B texts, and each word takes a multiplication and an
    addition with every one of them. The cache, c numbers and o operations for each of n tokens
    in each of L layers, is each text's own.

    Args:
        num_weights: Numbers in the matrices that every word is multiplied by.
        cached: What a token in the cache costs in one layer.
        num_layers: How many layers there are.
        num_tokens: How many tokens each text has.
        batch_size: How many texts there are.
        bytes_per_number: 4 in single precision, 2 in half.

    Raises:
        ValueError: if a number is out of range.

    >>> cached = CachedToken.heads(num_heads=8, d_k=64)
    >>> decoding_step(num_weights=1000, cached=cached, batch_size=1).intensity
    0.5
    >>> decoding_step(num_weights=1000, cached=cached, batch_size=64).intensity
    32.0
    """
    check_sizes(num_weights=num_weights, num_layers=num_layers, batch_size=batch_size)
    check_sizes(bytes_per_number=bytes_per_number)
    if num_tokens < 0:
        raise ValueError(f"num_tokens: expected 0 or more, got {num_tokens}")
    kept = batch_size * num_layers * num_tokens
    return StepCost(
        bytes_read=bytes_per_number * (num_weights + kept * cached.numbers),
        operations=2 * batch_size * num_weights + kept * cached.operations,
    )


@dataclass(frozen=True)
class Roofline:
    """What a machine can do at best.

    .. math:: \\text{operations a second} \\le \\min(\\text{peak}, I \\times \\text{bandwidth})

    where I, the intensity, is the number of operations for each byte read. Williams et al.
    (2009).

    Attributes:
        bandwidth: Bytes read a second.
        peak: Operations a second.

    Raises:
        ValueError: if one is not positive.

    >>> machine = Roofline(bandwidth=10e9, peak=100e9)
    >>> machine.ridge, machine.attainable(0.5) / 1e9, machine.attainable(32.0) / 1e9
    (10.0, 5.0, 100.0)
    """

    bandwidth: float
    peak: float

    def __post_init__(self) -> None:
        """Refuse what no machine does."""
        check_positive("bandwidth", self.bandwidth)
        check_positive("peak", self.peak)

    @property
    def ridge(self) -> float:
        """The intensity from which computing is the limit, and below which reading is."""
        return self.peak / self.bandwidth

    def attainable(self, intensity: float) -> float:
        """Return the most operations a second at this intensity."""
        return min(self.peak, intensity * self.bandwidth)

    def seconds(self, cost: StepCost) -> float:
        """Return the least time that a step takes: to read, or to compute.

        >>> Roofline(bandwidth=100.0, peak=1000.0).seconds(StepCost(200, 500))
        2.0
        """
        return max(cost.bytes_read / self.bandwidth, cost.operations / self.peak)


def fastest_seconds(function: Callable[..., object], *inputs: Tensor, repeats: int = 5) -> float:
    """Return the shortest time of several calls: the one that was disturbed least.

    Args:
        function: What to call, once before the clock runs.
        inputs: What to call it with.
        repeats: How often the clock runs.

    Raises:
        ValueError: if ``repeats`` is below 1.

    >>> fastest_seconds(torch.sin, torch.zeros(10)) > 0
    True
    """
    check_sizes(repeats=repeats)
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        function(*inputs)
        if inputs and inputs[0].is_cuda:
            torch.cuda.synchronize(inputs[0].device)
        times.append(time.perf_counter() - start)
    return min(times[1:])


def measured_roofline(
    *, megabytes: int = 256, size: int = 1024, repeats: int = 5, device: torch.device | str = "cpu"
) -> Roofline:
    """Measure this machine, in single precision: a memory is summed, two matrices multiplied.

    Args:
        megabytes: Size of the memory; it must be larger than the processor's caches.
        size: Rows and columns of the matrices.
        repeats: See :func:`fastest_seconds`.
        device: What is measured.

    Raises:
        ValueError: if a size is below 1.

    >>> machine = measured_roofline(megabytes=1, size=64, repeats=1)
    >>> machine.ridge > 0
    True
    """
    check_sizes(megabytes=megabytes, size=size)
    memory = torch.ones(megabytes * 2**18, device=device)
    matrix = torch.ones(size, size, device=device)
    reading = fastest_seconds(torch.sum, memory, repeats=repeats)
    computing = fastest_seconds(torch.mm, matrix, matrix, repeats=repeats)
    return Roofline(bandwidth=memory.nbytes / reading, peak=2 * size**3 / computing)


__all__ = [
    "CachedToken",
    "Roofline",
    "StepCost",
    "decoding_step",
    "fastest_seconds",
    "measured_roofline",
]
