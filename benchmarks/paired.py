"""Fair timing on a busy machine: the programs take turns, and only ratios are trusted.

Every round times each program once, one right after the other, in an order
drawn anew. A ratio is taken within a round, where the machine was about as
busy for both; the median over the rounds forgets the rounds that were not.
CPU time is what counts, so that waiting for a processor is not held against
a program.
"""

import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

SAMPLE_SECONDS = 0.003


@dataclass(frozen=True)
class Timing:
    """What one program cost: its median time, and its time over the baseline's.

    The ratio of the two fastest samples is the estimate that interference
    touches least, for others can only make a program slower.
    """

    seconds: float
    fastest: float
    ratio: float
    lower_quartile: float
    upper_quartile: float


def compare(
    programs: Mapping[str, Callable[[], object]], *, baseline: str, rounds: int
) -> dict[str, Timing]:
    """Time the programs in turns and compare each with the baseline, round by round."""
    names = list(programs)
    calls = {name: _calls_per_sample(programs[name]) for name in names}
    seconds: dict[str, list[float]] = {name: [] for name in names}
    order = random.Random(42)
    for _ in range(rounds):
        for name in order.sample(names, len(names)):
            seconds[name].append(_seconds_per_call(programs[name], calls[name]))
    return {name: _summary(seconds[name], seconds[baseline]) for name in names}


def table(timings: Mapping[str, Timing], *, baseline: str) -> str:
    """Format the timings, one program a line."""
    lines = [f"  {'':32}{'median':>11}{'ratio':>9}  {'quartiles':16}{'fastest':>7}"]
    for name, timing in timings.items():
        quartiles = f"{timing.lower_quartile:.3f} to {timing.upper_quartile:.3f}"
        ratios = f"{timing.ratio:9.3f}  {quartiles:16}{timing.fastest:7.3f}"
        milliseconds = f"{timing.seconds * 1e3:8.3f} ms"
        lines.append(f"  {name:32}{milliseconds}{'  baseline' if name == baseline else ratios}")
    return "\n".join(lines)


def _seconds_per_call(program: Callable[[], object], calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        program()
    return (time.process_time() - start) / calls


def _calls_per_sample(program: Callable[[], object]) -> int:
    """Make a sample long enough for the caches to be warm, as they are in training."""
    program()  # the first call allocates
    return max(1, round(SAMPLE_SECONDS / _seconds_per_call(program, 3)))


def _summary(mine: list[float], of_baseline: list[float]) -> Timing:
    ratios = [a / b for a, b in zip(mine, of_baseline, strict=True)]
    lower, middle, upper = statistics.quantiles(ratios, n=4)
    return Timing(statistics.median(mine), min(mine) / min(of_baseline), middle, lower, upper)
