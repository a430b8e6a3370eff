"""Fair timing on a busy machine: the programs take turns, and only ratios are trusted.

Every round times each program once, one right after the other, in an order
drawn anew. A ratio is taken within a round, where the machine was about as
busy for both; the median over the rounds forgets the rounds that were not.
CPU time is what counts, so that waiting for a processor is not held against
a program; several threads, or a GPU, need another clock.
"""

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

SAMPLE_SECONDS = 0.003
#: Tells the seconds that a program is charged with.
Clock = Callable[[], float]


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
    seconds = take_turns(programs, rounds=rounds)
    return {name: summary(mine, seconds[baseline]) for name, mine in seconds.items()}


def take_turns(
    programs: Mapping[str, Callable[[], object]],
    *,
    rounds: int,
    clock: Clock = time.process_time,
) -> dict[str, list[float]]:
    """Return the seconds of each program in each round."""
    names = list(programs)
    calls = {name: _calls_per_sample(programs[name], clock) for name in names}
    seconds: dict[str, list[float]] = {name: [] for name in names}
    order = random.Random(42)
    for _ in range(rounds):
        for name in order.sample(names, len(names)):
            seconds[name].append(_seconds_per_call(programs[name], calls[name], clock))
    return seconds


def table(timings: Mapping[str, Timing], *, baseline: str) -> str:
    """Format the timings, one program a line."""
    lines = [f"  {'':32}{'median':>11}{'ratio':>9}  {'quartiles':16}{'fastest':>7}"]
    for name, timing in timings.items():
        quartiles = f"{timing.lower_quartile:.3f} to {timing.upper_quartile:.3f}"
        ratios = f"{timing.ratio:9.3f}  {quartiles:16}{timing.fastest:7.3f}"
        milliseconds = f"{timing.seconds * 1e3:8.3f} ms"
        lines.append(f"  {name:32}{milliseconds}{'  baseline' if name == baseline else ratios}")
    return "\n".join(lines)


def _seconds_per_call(program: Callable[[], object], calls: int, clock: Clock) -> float:
    start = clock()
    for _ in range(calls):
        program()
    return (clock() - start) / calls


def _calls_per_sample(program: Callable[[], object], clock: Clock) -> int:
    """Make a sample long enough for the caches to be warm, as they are in training."""
    if _seconds_per_call(program, 1, clock) > 10 * SAMPLE_SECONDS:
        return 1
    # The first call allocates, so it says little of a short program.
    return max(1, round(SAMPLE_SECONDS / _seconds_per_call(program, 3, clock)))


def summary(mine: Sequence[float], of_baseline: Sequence[float]) -> Timing:
    """Summarize a program's seconds, and its ratios to those of the baseline in the same round."""
    ratios = [a / b for a, b in zip(mine, of_baseline, strict=True)]
    lower, middle, upper = statistics.quantiles(ratios, n=4)
    return Timing(statistics.median(mine), min(mine) / min(of_baseline), middle, lower, upper)
