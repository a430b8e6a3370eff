"""The machine: what it is, the most that it can do, and the clock that charges a program."""

import importlib.metadata
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

COPIED_BYTES = 2**28
PRODUCTS = (512, 1024, 2048)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where the programs run.

    Attributes:
        device: "cpu" or "cuda".
        num_threads: How many threads torch may use.
        operations: Multiplications and additions in a second, of the fastest matrix product.
        bandwidth: Bytes in a second that the fastest copy reads and writes.
    """

    device: str
    num_threads: int
    operations: float
    bandwidth: float

    @classmethod
    def measure(cls, device: str, num_threads: int, *, turns: int = 5) -> "Machine":
        """Measure a machine's peaks."""
        torch.set_num_threads(num_threads)
        clock = clock_for(device, num_threads)
        return cls(
            device=device,
            num_threads=num_threads,
            operations=max(_operations(n, device, clock, turns) for n in PRODUCTS),
            bandwidth=_bandwidth(device, clock, turns),
        )


def clock_for(device: str, num_threads: int) -> Callable[[], float]:
    """Return the clock: CPU time of one thread; else the time that passes."""
    if device == "cpu":
        return time.process_time if num_threads == 1 else time.perf_counter

    def after_all() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    return after_all


def clock_name(machine: Machine) -> str:
    """Return what the clock measures, in words."""
    if machine.device == "cpu" and machine.num_threads == 1:
        return "CPU time"
    return "time that passes"


def _operations(size: int, device: str, clock: Callable[[], float], turns: int) -> float:
    a, b = torch.rand(2, size, size, device=device)
    out = a @ b
    repeats = max(1, 2**31 // size**3)
    seconds = _fastest(lambda: [torch.mm(a, b, out=out) for _ in range(repeats)], clock, turns)
    return 2 * size**3 * repeats / seconds


def _bandwidth(device: str, clock: Callable[[], float], turns: int) -> float:
    source = torch.ones(COPIED_BYTES // 4, device=device)
    target = torch.zeros_like(source)
    return 2 * COPIED_BYTES / _fastest(lambda: target.copy_(source), clock, turns)


def _fastest(program: Callable[[], object], clock: Callable[[], float], turns: int) -> float:
    program()
    seconds = []
    for _ in range(turns):
        start = clock()
        program()
        seconds.append(clock() - start)
    return min(seconds)


def processor(device: str) -> str:
    """Return the processor's name."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    name = names[0] if names else platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores, {torch.backends.cpu.get_cpu_capability()}"


def versions(packages: list[str]) -> dict[str, str]:
    """Return the versions of Python and of these packages."""
    found = {"Python": platform.python_version()}
    return found | {name: importlib.metadata.version(name) for name in packages}
