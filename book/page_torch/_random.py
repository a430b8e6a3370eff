"""Random numbers: the Mersenne twister of PyTorch's CPU, so that a seed draws the same here.

Checked against PyTorch: `rand`, `randn`, `randint`, `randperm` give the same numbers (`randn` to
the rounding of its logarithms). `multinomial`, `bernoulli` and dropout draw others.
"""

import math
import random as _python
from contextlib import contextmanager

from ._dtypes import float64

_seeded: dict[int, tuple[object, ...]] = {}  # the first 624 words of a seed take a while


def _words(seed):
    if seed not in _seeded:
        words = [seed & 0xFFFFFFFF]
        for i in range(1, 624):
            words.append((1812433253 * (words[-1] ^ (words[-1] >> 30)) + i) & 0xFFFFFFFF)
        if len(_seeded) > 50:
            _seeded.clear()
        _seeded[seed] = (3, (*words, 624), None)
    return _seeded[seed]


class Generator:
    """A stream of random numbers of its own."""

    def __init__(self, device="cpu"):
        self.device = device
        self._twister, self._seed, self._spare = _python.Random(), 67280421310721, None
        self.manual_seed(self._seed)

    def manual_seed(self, seed):
        self._seed, self._spare = seed, None
        self._twister.setstate(_words(seed))
        return self

    def seed(self):
        return self.manual_seed(_python.getrandbits(32)).initial_seed()

    def initial_seed(self):
        return self._seed

    def get_state(self):
        return self._twister.getstate(), self._spare, self._seed

    def set_state(self, state):
        twister, self._spare, self._seed = state
        self._twister.setstate(twister)
        return self

    def clone_state(self):
        return Generator().set_state(self.get_state())

    def _double(self):
        high = self._twister.getrandbits(32)
        return (((high << 32) | self._twister.getrandbits(32)) & ((1 << 53) - 1)) / (1 << 53)

    def uniform(self, count, dtype):
        if dtype is float64:
            return [self._double() for _ in range(count)]
        bits = self._twister.getrandbits
        digits = {"float16": 11, "bfloat16": 8}.get(dtype.name, 24)
        mask, scale = (1 << digits) - 1, 2.0**-digits
        return [(bits(32) & mask) * scale for _ in range(count)]

    def normal(self, count, dtype):
        if count < 16:
            return [self._one_normal() for _ in range(count)]
        numbers = self.uniform(count, dtype)
        for start in range(0, count - 15, 16):
            _turn(numbers, start)
        if count % 16:
            numbers[count - 16 :] = self.uniform(16, dtype)
            _turn(numbers, count - 16)
        return numbers

    def _one_normal(self):
        if self._spare is not None:
            spare, self._spare = self._spare, None
            return spare
        u1, u2 = self._double(), self._double()
        radius, angle = math.sqrt(-2.0 * math.log1p(-u2)), 2.0 * math.pi * u1
        self._spare = radius * math.sin(angle)
        return radius * math.cos(angle)

    def integers(self, low, high, count):
        span, bits = high - low, self._twister.getrandbits
        if span >= 1 << 32:
            return [low + ((bits(32) << 32) | bits(32)) % span for _ in range(count)]
        return [low + bits(32) % span for _ in range(count)]

    def permutation(self, n):
        order, bits = list(range(n)), self._twister.getrandbits
        for i in range(n - 1):
            j = i + bits(32) % (n - i)
            order[i], order[j] = order[j], order[i]
        return order


def _turn(numbers, start):
    """Turn 16 uniform numbers into normal ones."""
    for j in range(start, start + 8):
        radius = math.sqrt(-2.0 * math.log(1.0 - numbers[j]))
        angle = 2.0 * math.pi * numbers[j + 8]
        numbers[j], numbers[j + 8] = radius * math.cos(angle), radius * math.sin(angle)


default_generator = Generator()


def generator_of(generator):
    return default_generator if generator is None else generator


def manual_seed(seed):
    return default_generator.manual_seed(int(seed))


def seed():
    return default_generator.seed()


def initial_seed():
    return default_generator.initial_seed()


def get_rng_state():
    return default_generator.get_state()


def set_rng_state(state):
    default_generator.set_state(state)


@contextmanager
def fork_rng(devices=None, enabled=True, **ignored):
    state = default_generator.get_state()
    try:
        yield
    finally:
        default_generator.set_state(state)
