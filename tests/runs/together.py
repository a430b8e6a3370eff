"""Trains with several processes, each forked from this one, and says how each of them ended.

Run by test_ddp.py in a process of its own: torch is imported once, the workers are forks, and
this process never computes a gradient (torch cannot be forked afterwards).
"""

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import torch._dynamo  # the optimizer loads it, and each worker would anew
import torch.distributed.fsdp
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

import attention_book.plotting  # noqa: F401  (loaded before the workers are forked)
from attention_book.runs import (
    DataSettings,
    ModelSettings,
    RunSettings,
    TrainingSettings,
    resume,
    start,
)
from attention_book.runs.ddp import Replica
from attention_book.runs.log import draw_curves

WORDS = [chr(ord("a") + number) * 2 for number in range(20)]
Act = Callable[[int], None]


def corpus(path: Path, size: int = 60) -> Path:
    """Write sentence pairs of 1 to 9 words, the target backwards."""
    dice = torch.Generator().manual_seed(5)
    lines = []
    for _ in range(size):
        length = int(torch.randint(1, 10, (), generator=dice))
        drawn = torch.randint(len(WORDS), (length,), generator=dice).tolist()
        words = [WORDS[number] for number in drawn]
        lines.append(f"{' '.join(words)}\t{' '.join(reversed(words))}\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


def settings(file: Path, *, kind: str = "transformer", dropout: float = 0.0, **changes):
    """Return a training of a tiny model: batches of three, so one of four processes gets none."""
    sizes = {"d_model": 12, "num_heads": 2, "d_ff": 12, "num_layers": 2}
    if kind == "seq2seq":
        sizes = {"d_embed": 6, "d_hidden": 8, "num_layers": 1}
    training = {"epochs": None, "steps": 6, "batch_size": 3, "checkpoint_every": 2, "warmup": 2}
    return RunSettings(
        data=DataSettings(corpus=None, train=(str(file),), held_out=0.15),
        model=ModelSettings(kind=kind, config={**sizes, "dropout": dropout}),
        training=TrainingSettings(device="cpu", validate_every=3, **{**training, **changes}),
    )


def go(
    wanted: RunSettings | None, folder: Path, act: Act = lambda step: None, dtype: str = "float64"
) -> dict:
    """Train to the end; ``act`` is called after every step."""
    torch.set_default_dtype(getattr(torch, dtype))
    reports = []
    for report in resume(folder) if wanted is None else start(wanted, folder):
        reports.append([report.loss, report.num_tokens, report.gradient_norm])
        reports[-1].append(report.validation_loss)
        act(report.step)
    return {"reports": reports}


def together(world: int, work: Callable[[], dict], within: float = 120) -> dict:
    """Fork so many processes; return what each said, how it ended and after how many seconds."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    pipes, began, ends = {}, time.monotonic(), {}
    for rank in range(world):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world)}
            os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            said(writing, work)
        os.close(writing)
        pipes[child] = reading
    while len(ends) < world and time.monotonic() < began + within:
        child, how = os.waitpid(-1, os.WNOHANG)
        if child:
            ends[child] = (os.waitstatus_to_exitcode(how), round(time.monotonic() - began, 2))
        else:
            time.sleep(0.01)
    for child in pipes.keys() - ends.keys():  # it hangs
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        ends[child] = ("hangs", within)
    found = []
    for child, reading in pipes.items():
        with os.fdopen(reading) as pipe:
            content = pipe.read()
        found.append({**(json.loads(content) if content else {}), "ended": ends[child]})
    return {"ranks": found}


def said(writing: int, work: Callable[[], dict]) -> None:
    """Do the work of a fork, say what came out, and end it."""
    try:
        content = work()
    except BaseException as error:
        content = {"error": f"{type(error).__name__}: {error}"}
    with os.fdopen(writing, "w") as pipe:
        json.dump(content, pipe)
    sys.stderr.flush()
    os._exit(0)


@contextmanager
def rows_noted(file: Path) -> Iterator[None]:
    """Have every process write down the sentence pairs that it computes a loss of."""
    losses = Replica.losses

    def noted(self, batches, counts, whole):
        for batch in batches:
            pairs = zip(batch.source, batch.target_output, batch.target_mask, strict=True)
            with file.open("a") as notes:
                for source, target, real in pairs:
                    if real.any():
                        pair = [source[source > 0].tolist(), target[real].tolist()]
                        notes.write(json.dumps(pair) + "\n")
        yield from losses(self, batches, counts, whole)

    Replica.losses = noted
    yield
    Replica.losses = losses


def kill_at(step: int, rank: int) -> Act:
    """Return what kills a process after a step, the first time that it was started."""

    def act(now: int) -> None:
        first = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
        if now == step and os.environ["RANK"] == str(rank) and first:
            os.kill(os.getpid(), signal.SIGKILL)

    return act


def interrupt_at(step: int, rank: int) -> Act:
    """Return what sends one process a Ctrl-C after a step."""

    def act(now: int) -> None:
        if now == step and os.environ["RANK"] == str(rank):
            signal.raise_signal(signal.SIGINT)

    return act


def elastic(wanted: RunSettings, folder: Path, act: Act, restarts: int) -> dict:
    """Train as under torchrun: its agent, which starts all anew where a process dies."""
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=2,
        run_id=folder.name,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        start_method="fork",
        max_restarts=restarts,
        monitor_interval=0.05,
    )
    began = time.monotonic()
    try:
        ranks = elastic_launch(config, go)(wanted, folder, act)
        content = {"ranks": [ranks[rank] for rank in sorted(ranks)]}
    except BaseException as error:
        content = {"error": f"{type(error).__name__}: {error}"}
    return {**content, "seconds": round(time.monotonic() - began, 2)}


def scenarios(folder: Path) -> Iterator[tuple[str, dict]]:
    """Yield the name of each scenario and what came of it."""
    file = corpus(folder / "pairs.tsv")
    epoch = settings(file, steps=None, epochs=1)
    for name, world in (("epoch of 1", 1), ("epoch of 4", 4)):
        with rows_noted(folder / f"{name}.jsonl"):
            yield name, together(world, lambda name=name: go(epoch, folder / name))
    changes = {"accumulate": 3, "label_smoothing": 0.1, "batch_tokens": 30, "batch_size": None}
    several, shards = (settings(file, sharded=on, **changes) for on in (False, True))
    yield "several of 1", together(1, lambda: go(several, folder / "several of 1"))
    yield "several of 2", together(2, lambda: go(several, folder / "several of 2"))
    yield "shards of 2", together(2, lambda: go(shards, folder / "shards of 2"))
    low = settings(file, precision="bfloat16", steps=3, sharded=True)
    yield "bfloat16 of 1", together(1, lambda: go(low, folder / "low of 1", dtype="float32"))
    yield "bfloat16 of 4", together(4, lambda: go(low, folder / "low of 4", dtype="float32"))
    recurrent = settings(file, kind="seq2seq", steps=3)
    yield "recurrent of 1", together(1, lambda: go(recurrent, folder / "recurrent of 1"))
    yield "recurrent of 2", together(2, lambda: go(recurrent, folder / "recurrent of 2"))
    yield from of_endings(file, folder)


def of_endings(file: Path, folder: Path) -> Iterator[tuple[str, dict]]:
    """Yield what comes of processes that die, are interrupted, or find their folder taken."""
    wanted = settings(file, dropout=0.3)
    yield "refused", together(2, lambda: go(wanted, folder / "several of 1"))
    yield "killed", together(2, lambda: go(wanted, folder / "killed", kill_at(3, rank=1)))
    yield "undisturbed", together(2, lambda: go(wanted, folder / "undisturbed"))
    yield "interrupted", together(2, lambda: go(wanted, folder / "cut", interrupt_at(3, rank=1)))
    yield "resumed", together(2, lambda: go(None, folder / "cut"))
    yield "elastic", elastic(wanted, folder / "elastic", kill_at(5, rank=1), restarts=1)
    yield "given up", elastic(wanted, folder / "given-up", kill_at(5, rank=1), restarts=0)
    fewer = settings(file, sharded=True)
    yield "undivided", together(1, lambda: go(fewer, folder / "undivided"))
    yield "of two", together(2, lambda: go(fewer, folder / "fewer", interrupt_at(3, rank=0)))
    yield "of one", together(1, lambda: go(None, folder / "fewer"))


def warm_up(log: Path) -> Path:
    """Write a log: once drawn, the workers find matplotlib's fonts in memory."""
    line = {"step": 1, "loss": 1.0, "validation_loss": 1.0}
    log.write_text(json.dumps(line) + "\n", encoding="utf-8")
    return log


def main() -> None:
    """Write one line of JSON for each scenario."""
    torch.set_num_threads(1)
    os.environ["ATTENTION_BOOK_TIMEOUT"] = "30"
    draw_curves(warm_up(Path(sys.argv[1]) / "warm.jsonl"), Path(sys.argv[1]) / "warm.svg")
    began = time.monotonic()
    for name, content in scenarios(Path(sys.argv[1])):
        line = {"name": name, **content, "at": round(time.monotonic() - began, 1)}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
