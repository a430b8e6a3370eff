"""Rotary positions in texts longer than the trained ones: position interpolation, NTK, YaRN.

RoPE scaling: position interpolation (PI, Chen et al. 2023), NTK-aware scaling (bloc97 2023),
static and dynamic, YaRN (Peng et al. 2023), the scaling of Llama 3.1, and LongRoPE (Ding et al.
2024). Each is a set of frequencies, and YaRN and LongRoPE a factor of the scores besides; s = 1
changes nothing in any of them.
"""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.foundations.checks import check_positive, check_sizes

Frequencies = Float[Tensor, " pair"]


def rotary_frequencies(d_k: int, *, base: float = 10000.0) -> Frequencies:
    """Return by how many radians each pair of features turns from one position to the next.

    .. math:: \\theta_j = b^{-2j / d_k}, \\qquad j = 0, \\dots, d_k / 2 - 1

    Su et al. (2021), section 3.2.2. Pair 0 turns by 1 radian, the last by almost 1 / b.

    Args:
        d_k: Feature size of the queries and keys in each head, even.
        base: b in the formula.

    Raises:
        ValueError: if ``d_k`` is not positive and even, or the base not positive.

    >>> rotary_frequencies(8, base=10000.0)
    tensor([1.0000, 0.1000, 0.0100, 0.0010], dtype=torch.float64)
    """
    check_sizes(d_k=d_k)
    check_positive("base", base)
    if d_k % 2:
        raise ValueError(f"d_k: expected an even number, features turn in pairs, got {d_k}")
    frequencies: Frequencies = base ** (
        -torch.arange(0, d_k, 2, dtype=torch.float64, device="cpu") / d_k
    )
    return frequencies


@dataclass(frozen=True, kw_only=True)
class RopeScaling:
    """How rotary positions are stretched; this one leaves them as they are.

    Attributes:
        factor: s, how many times longer the texts may be than the trained ones.

    Raises:
        ValueError: if the factor is below 1.

    >>> RopeScaling().frequencies(4), RopeScaling().magnitude
    (tensor([1.0000, 0.0100], dtype=torch.float64), 1.0)
    """

    factor: float = 1.0

    def __post_init__(self) -> None:
        """Raise if the factor would shorten texts instead of lengthening them."""
        if not 1 <= self.factor < math.inf:
            raise ValueError(f"factor: expected a number of 1 or more, got {self.factor}")

    def frequencies(self, d_k: int, *, base: float = 10000.0) -> Frequencies:
        """Return how far each pair turns from one position to the next, in radians."""
        return rotary_frequencies(d_k, base=base)

    @property
    def magnitude(self) -> float:
        """What queries and keys are multiplied by as they turn; the scores get its square."""
        return 1.0

    def for_length(self, length: int) -> "RopeScaling":
        """Return the scaling of a text of this length: itself where the length does not matter."""
        return self


@dataclass(frozen=True, kw_only=True)
class LinearScaling(RopeScaling):
    """Position interpolation (PI): every pair turns s times as slowly.

    .. math:: \\theta'_j = \\theta_j / s

    Chen et al. (2023), section 3.2; "linear" in configuration files. The same as to divide
    all positions by s, so that they stay within those that were trained.

    >>> LinearScaling(factor=8.0).frequencies(4)
    tensor([0.1250, 0.0013], dtype=torch.float64)
    """

    def frequencies(self, d_k: int, *, base: float = 10000.0) -> Frequencies:
        """Return the frequencies, each divided by the factor."""
        return rotary_frequencies(d_k, base=base) / self.factor


@dataclass(frozen=True, kw_only=True)
class NtkScaling(RopeScaling):
    """NTK-aware scaling: a larger base, so that slow pairs are stretched and fast ones hardly.

    .. math::
        b' = b \\, s^{d_k / (d_k - 2)}, \\qquad
        \\theta'_j = \\theta_j \\, s^{-2j / (d_k - 2)}

    bloc97 (2023). Pair 0 stays as it is, and the last one turns s times as slowly.

    >>> NtkScaling(factor=8.0).frequencies(8)
    tensor([1.0000e+00, 5.0000e-02, 2.5000e-03, 1.2500e-04], dtype=torch.float64)
    """

    def frequencies(self, d_k: int, *, base: float = 10000.0) -> Frequencies:
        """Return the frequencies of the larger base.

        Raises:
            ValueError: if ``d_k`` is below 4: one pair cannot be both the first and the last.
        """
        if d_k < 4:
            raise ValueError(f"d_k: expected 4 or more, for two pairs, got {d_k}")
        stretched: float = self.base_factor ** (d_k / (d_k - 2))
        return rotary_frequencies(d_k, base=base * stretched)

    @property
    def base_factor(self) -> float:
        """How many times as slowly the last pair turns, s in the formula."""
        return self.factor


@dataclass(frozen=True, kw_only=True)
class DynamicNtkScaling(NtkScaling):
    """Dynamic NTK scaling: as much as the text at hand needs.

    .. math:: s' = \\frac{s L}{n} - (s - 1)

    emozilla (2023), with the factor s of configuration files; :math:`s = 1` gives
    :math:`L / n`. The length L is better fixed, once for a text: keys in a cache were turned
    for the length that the text had when they came, and to turn later ones otherwise
    makes the result depend on whether there was a cache. Without one, each call is turned for
    the length that it reaches, as in the library ``transformers``: then a text longer than n
    is read otherwise at once than step by step, and models refuse padding beyond n, which would
    count as text.

    Unlike elsewhere it is not the factor 1 that changes nothing, but a text of length n.

    Attributes:
        factor: s, how eagerly the base grows.
        trained_length: n, the longest text in training.
        length: L; a text shorter than n counts as one of n. None: that of each call.

    Raises:
        ValueError: if a length is below 1.

    >>> dynamic = DynamicNtkScaling(factor=2.0, trained_length=64, length=128)
    >>> static = NtkScaling(factor=3.0)
    >>> dynamic.base_factor, torch.equal(dynamic.frequencies(8), static.frequencies(8))
    (3.0, True)
    """

    trained_length: int
    length: int | None = None

    def __post_init__(self) -> None:
        """Refuse texts without a length."""
        super().__post_init__()
        check_sizes(trained_length=self.trained_length)
        if self.length is not None:
            check_sizes(length=self.length)

    @property
    def base_factor(self) -> float:
        """How many times as slowly the last pair turns, for this length."""
        longer = max(self.length or 1, self.trained_length) / self.trained_length
        return self.factor * longer - (self.factor - 1)

    def for_length(self, length: int) -> "RopeScaling":
        """Return the scaling of a text of this length, if none is fixed."""
        return self if self.length is not None else replace(self, length=max(length, 1))


@dataclass(frozen=True, kw_only=True)
class YarnScaling(RopeScaling):
    """YaRN: fast pairs stay, slow ones are interpolated, and the scores grow a little.

    .. math::
        \\theta'_j = (1 - r_j) \\, \\theta_j + r_j \\frac{\\theta_j}{s}, \\qquad
        r_j = \\operatorname{clip}\\Bigl(\\frac{j - j_\\beta}{j_\\alpha - j_\\beta}, 0, 1\\Bigr),
        \\qquad j_\\rho = \\frac{d_k \\ln(n / 2\\pi\\rho)}{2 \\ln b}

    Peng et al. (2023), section 3. Pair :math:`j_\\rho` makes :math:`\\rho` full turns within
    the trained length n: those that make more than :math:`\\beta` stay, those that make
    fewer than :math:`\\alpha` are interpolated. The ramp between runs over the pairs'
    numbers, as in the authors' code; the paper draws it over their turns. Queries and keys
    are multiplied by :math:`0.1 \\ln s + 1`.

    Attributes:
        factor: s, how many times longer the texts may be than the trained ones.
        trained_length: n, the longest text in training.
        beta_fast: :math:`\\beta`.
        beta_slow: :math:`\\alpha`.
        truncate: Round the ends of the ramp to whole pairs, outward.
        attention_factor: The magnitude itself, instead of the formula.
        mscale: Factor of 0.1, in DeepSeek's models; counts only with ``mscale_all_dim``.
        mscale_all_dim: Divides the magnitude by :math:`0.1 m \\ln s + 1` for this m, likewise.

    Raises:
        ValueError: if the length is below 1, or not :math:`\\beta \\ge \\alpha > 0`.

    >>> yarn = YarnScaling(factor=8.0, trained_length=4096)
    >>> yarn.frequencies(16) / rotary_frequencies(16)
    tensor([1.0000, 1.0000, 1.0000, 0.7812, 0.5625, 0.3438, 0.1250, 0.1250],
           dtype=torch.float64)
    >>> round(yarn.magnitude, 4)
    1.2079
    """

    trained_length: int
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    attention_factor: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None

    def __post_init__(self) -> None:
        """Refuse what gives no ramp."""
        super().__post_init__()
        check_sizes(trained_length=self.trained_length)
        if not self.beta_fast >= self.beta_slow > 0:
            raise ValueError(
                "beta_fast and beta_slow: expected beta_fast >= beta_slow > 0, "
                f"got {self.beta_fast} and {self.beta_slow}"
            )

    def frequencies(self, d_k: int, *, base: float = 10000.0) -> Frequencies:
        """Return the frequencies, those of slow pairs divided by the factor."""
        trained = rotary_frequencies(d_k, base=base)
        first, last = (self._pair(turns, d_k, base) for turns in (self.beta_fast, self.beta_slow))
        if self.truncate:
            first, last = math.floor(first), math.ceil(last)
        first, last = max(first, 0), min(last, d_k - 1)
        width = last - first or 0.001  # all at once
        ramp = ((torch.arange(d_k // 2, dtype=torch.float64, device="cpu") - first) / width).clamp(
            0, 1
        )
        return (1 - ramp) * trained + ramp * trained / self.factor

    @property
    def magnitude(self) -> float:
        """What queries and keys are multiplied by as they turn, 0.1 ln s + 1."""
        if self.attention_factor is not None:
            return self.attention_factor
        if self.mscale and self.mscale_all_dim:
            return self._grown(self.mscale) / self._grown(self.mscale_all_dim)
        return self._grown(1.0)

    def _grown(self, mscale: float) -> float:
        return 0.1 * mscale * math.log(self.factor) + 1

    def _pair(self, turns: float, d_k: int, base: float) -> float:
        """Return the number of the pair, seldom whole, that turns so often in trained texts."""
        return d_k * math.log(self.trained_length / (turns * 2 * math.pi)) / (2 * math.log(base))


@dataclass(frozen=True, kw_only=True)
class Llama3Scaling(RopeScaling):
    """The scaling of Llama 3.1: as in YaRN slow pairs are interpolated, by another ramp.

    .. math::
        \\theta'_j = r_j \\, \\theta_j + (1 - r_j) \\frac{\\theta_j}{s}, \\qquad
        r_j = \\operatorname{clip}\\Bigl(\\frac{t_j - l}{h - l}, 0, 1\\Bigr),
        \\qquad t_j = \\frac{n \\theta_j}{2 \\pi}

    The ramp runs over the turns :math:`t_j` that a pair makes within the trained length n.
    "llama3" in configuration files, from Meta's code of Llama 3.1.

    Attributes:
        factor: s; 8 in Llama 3.1.
        trained_length: n; 8192 in Llama 3.1.
        low_freq_factor: l: pairs that make fewer turns are interpolated.
        high_freq_factor: h: pairs that make more stay.

    Raises:
        ValueError: if the length is below 1, or not h > l > 0.

    >>> llama = Llama3Scaling(factor=8.0, trained_length=8192)
    >>> llama.frequencies(16, base=500000.0) / rotary_frequencies(16, base=500000.0)
    tensor([1.0000, 1.0000, 1.0000, 1.0000, 0.3711, 0.1250, 0.1250, 0.1250],
           dtype=torch.float64)
    """

    trained_length: int
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0

    def __post_init__(self) -> None:
        """Refuse what gives no ramp."""
        super().__post_init__()
        check_sizes(trained_length=self.trained_length)
        if not self.high_freq_factor > self.low_freq_factor > 0:
            raise ValueError(
                "high_freq_factor and low_freq_factor: expected high > low > 0, "
                f"got {self.high_freq_factor} and {self.low_freq_factor}"
            )

    def frequencies(self, d_k: int, *, base: float = 10000.0) -> Frequencies:
        """Return the frequencies, those of slow pairs divided by the factor."""
        trained = rotary_frequencies(d_k, base=base)
        turns = self.trained_length * trained / (2 * math.pi)
        low, high = self.low_freq_factor, self.high_freq_factor
        ramp = ((turns - low) / (high - low)).clamp(0, 1)
        return ramp * trained + (1 - ramp) * trained / self.factor


@dataclass(frozen=True, kw_only=True)
class LongRopeScaling(RopeScaling):
    """LongRoPE: a factor of its own for every pair, one set for short texts and one for long ones.

    .. math::
        \\theta'_j = \\frac{\\theta_j}{\\lambda_j}, \\qquad
        \\lambda = \\begin{cases} \\lambda^\\text{short} & L \\le n \\\\
        \\lambda^\\text{long} & L > n \\end{cases}

    Ding et al. (2024); "longrope" in configuration files. The factors were found by a search, and
    queries and keys are multiplied by :math:`\\sqrt{1 + \\ln s / \\ln n}`, whatever the length.
    For the length L see :class:`DynamicNtkScaling`: where none is fixed, it is that of each call,
    and a text that grows beyond n in a cache is read otherwise than at once.

    Attributes:
        factor: s, how many times longer the texts may be than the trained ones.
        trained_length: n, up to which a text is short.
        short_factors: :math:`\\lambda^\\text{short}`, one for each pair.
        long_factors: :math:`\\lambda^\\text{long}`.
        attention_factor: The magnitude itself, instead of the formula.
        length: L; None: that of each call.

    Raises:
        ValueError: if a length is below 1, or a factor is not above 0.

    >>> long = LongRopeScaling(trained_length=64, short_factors=(1.0, 1.0), long_factors=(1.0, 4.0))
    >>> long.for_length(64).frequencies(4).tolist(), long.for_length(65).frequencies(4).tolist()
    ([1.0, 0.01], [1.0, 0.0025])
    """

    trained_length: int
    short_factors: tuple[float, ...]
    long_factors: tuple[float, ...]
    attention_factor: float | None = None
    length: int | None = None

    def __post_init__(self) -> None:
        """Refuse what gives no frequencies."""
        super().__post_init__()
        check_sizes(trained_length=self.trained_length)
        if self.length is not None:
            check_sizes(length=self.length)
        if self.factor > 1 and self.trained_length == 1:
            raise ValueError("trained_length: expected 2 or more, for its logarithm, got 1")
        for name in ("short_factors", "long_factors"):
            factors = getattr(self, name)
            if not all(0 < each < math.inf for each in factors):
                raise ValueError(f"{name}: expected numbers above 0, got {factors}")

    def frequencies(self, d_k: int, *, base: float = 10000.0) -> Frequencies:
        """Return the frequencies, each divided by the factor of its pair.

        Raises:
            ValueError: if there is not one factor for each pair.
        """
        trained = rotary_frequencies(d_k, base=base)
        for name in ("short_factors", "long_factors"):
            if (count := len(getattr(self, name))) != len(trained):
                raise ValueError(
                    f"{name}: expected one for each of {len(trained)} pairs, got {count}"
                )
        is_long = self.length is not None and self.length > self.trained_length
        factors = self.long_factors if is_long else self.short_factors
        return trained / torch.tensor(factors, dtype=torch.float64, device="cpu")

    @property
    def magnitude(self) -> float:
        """What queries and keys are multiplied by as they turn."""
        if self.attention_factor is not None:
            return self.attention_factor
        if self.factor == 1:
            return 1.0
        return math.sqrt(1 + math.log(self.factor) / math.log(self.trained_length))

    def for_length(self, length: int) -> "RopeScaling":
        """Return the scaling of a text of this length, if none is fixed."""
        return self if self.length is not None else replace(self, length=max(length, 1))
