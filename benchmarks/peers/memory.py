"""The most memory that a program needs: in a process of its own, as the system counts it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from transformer import training_step

from peers.programs import Program, load
from peers.sizes import PLANS, TINY, Plan, create, decoding_batch, training_batch

STATUS = Path("/proc/self/status")
FORGET = Path("/proc/self/clear_refs")
STEPS = 2


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What one program held at one size, in bytes; on a GPU, of the GPU's memory.

    Attributes:
        imported: Before a model was made: the interpreter, torch and the package.
        decoding: The most while reading the sources and writing greedily.
        training: The most while taking steps.
    """

    size: str
    program: str
    imported: int
    decoding: int
    training: int


def can_measure() -> bool:
    """Whether this system tells a process its peak, and forgets it when asked."""
    return STATUS.exists() and os.access(FORGET, os.W_OK)


def measured(names: Iterable[str], size: str, device: str, threads: int) -> list[Memory]:
    """Return the peaks of each program, two processes at a time: nothing is timed here."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

    def run(name: str) -> Memory:
        command = [sys.executable, "-m", "peers.memory", name, size, device, str(threads)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            raise RuntimeError(f"{name}, {size}: {done.stderr}")
        return Memory(**json.loads(done.stdout.splitlines()[-1]))

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(run, names))


def measure(name: str, size: str, device: str) -> Memory:
    """Measure this process: it decodes, and then it trains."""
    kind = load(name)
    assert kind is not None, f"{name} is not installed"
    plan = (PLANS | TINY)[size]
    imported = peak_during(lambda: None, device)
    return Memory(
        size=size,
        program=name,
        imported=imported,
        decoding=peak_during(lambda: _decode(name, kind, plan, device), device),
        training=peak_during(lambda: _train(name, kind, plan, device), device),
    )


def _decode(name: str, kind: type[Program], plan: Plan, device: str) -> None:
    longest = max(plan.size.tokens, plan.num_tokens + 1)
    program = _create(name, kind, plan, longest).to(device).eval()
    program.greedy(decoding_batch(plan).to(device), plan.num_tokens)


def _train(name: str, kind: type[Program], plan: Plan, device: str) -> None:
    program = _create(name, kind, plan, plan.size.tokens).to(device).train()
    step = training_step(program, training_batch(plan.size).to(device))
    for _ in range(STEPS):
        step()


def _create(name: str, kind: type[Program], plan: Plan, max_tokens: int) -> Program:
    return create({name: kind}, plan.size.config(), max_tokens=max_tokens, endless=True)[name]


def peak_during(program: Callable[[], object], device: str) -> int:
    """Return the most bytes held during a call, all that was there before included."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        program()
        return torch.cuda.max_memory_allocated()
    FORGET.write_text("5")
    program()
    # Not ru_maxrss: a child inherits the peak of the process that started it.
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) * 1024


def main() -> None:
    """Print one program's peaks, as JSON."""
    name, size, device, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    print(json.dumps(asdict(measure(name, size, device))))


if __name__ == "__main__":
    main()
