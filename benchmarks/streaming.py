"""A million sentence pairs from the disk: how much memory they take, and what reading them costs.

The pairs are random words by Zipf's law. Each stage runs in a process of its own, whose largest
memory counts: learning subwords and writing the numbers; going through an epoch of batches; and
training a small Transformer with batches that a thread makes, beside the same batches held in
memory. The two take turns, a few steps each, and the ratio is taken within a turn: CPU time with
that of the thread, and time on the clock.

    python benchmarks/streaming.py FOLDER [--lines 1000000] [--steps 500]

Generated files stay in the folder; what is there is not made again.
"""

import argparse
import itertools
import json
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

from attention_book import set_seed
from attention_book.models import Transformer, TransformerConfig
from attention_book.runs import (
    BatchPlan,
    DataSettings,
    PreparedCorpus,
    TextCodec,
    TextSettings,
    learn_codec,
    prefetched,
    prepare_split,
)
from attention_book.text import Batch
from attention_book.training import batch_loss
from attention_book.training.loop import Stepper

PLAN = BatchPlan(batch_tokens=1024, seed=1)
STEPS_A_TURN = 25
NUM_WORDS = 50_000


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--lines", type=int, default=1_000_000)
    arguments.add_argument("--steps", type=int, default=500)
    arguments.add_argument("--stage", choices=STAGES, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    if options.stage:
        found = STAGES[options.stage](options)
        found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(json.dumps(found))
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    generate(pairs_file(options), options.lines)
    print("| stage | | GiB at most |\n| --- | --- | --- |", flush=True)
    for stage in STAGES:
        command = [sys.executable, __file__, *sys.argv[1:], "--stage", stage]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout)
        memory = found.pop("memory")
        told = "; ".join(f"{name}: {written(value)}" for name, value in found.items())
        print(f"| {stage} | {told} | {memory:.2f} |", flush=True)


def written(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def pairs_file(options: argparse.Namespace) -> Path:
    folder: Path = options.folder
    return folder / f"zipf-{options.lines}.tsv"


def generate(path: Path, num_lines: int) -> None:
    """Write lines of 4 to 24 words; a target has the words of its source, in another spelling."""
    if path.exists():
        return
    dice = random.Random(0)
    letters = "eeeeaaaiioooutnrslcdmphg"
    words = ["".join(dice.choices(letters, k=dice.randint(2, 9))) for _ in range(NUM_WORDS)]
    weights = list(itertools.accumulate(1 / rank for rank in range(1, NUM_WORDS + 1)))
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        for _ in range(num_lines):
            drawn = dice.choices(words, cum_weights=weights, k=dice.randint(4, 24))
            file.write(f"{' '.join(drawn)}.\t{' '.join(word[::-1] for word in drawn)}.\n")
    part.rename(path)


# --- stages, each in a process of its own ----------------------------------------------------


def prepare(options: argparse.Namespace) -> dict[str, Any]:
    """Learn subwords from all lines, and write the numbers of the training part."""
    data = DataSettings(corpus=None, train=(str(pairs_file(options)),), source="a", target="b")
    (folder := options.folder / f"prepared-{options.lines}").mkdir(exist_ok=True)
    start = time.process_time()
    codec = learn_codec(data, TextSettings(unit="subwords", num_pieces=8000))
    learned = time.process_time()
    corpus = prepare_split(folder / "train", data, "train", codec)
    done = time.process_time()
    (folder / "codec.json").write_text(codec.to_json(), encoding="utf-8")
    return {
        "pairs": len(corpus),
        "numbers": corpus.header.num_sources + corpus.header.num_targets,
        "CPU seconds to learn 8,000 subwords": learned - start,
        "CPU seconds to write the numbers": done - learned,
    }


def iterate(options: argparse.Namespace) -> dict[str, Any]:
    """Go through all batches of an epoch."""
    corpus = PreparedCorpus.open(options.folder / f"prepared-{options.lines}" / "train")
    start = time.process_time()
    number = corpus.num_batches(PLAN, epoch=1)
    planned = time.process_time()
    places = tokens = 0
    for batch in corpus.batches(PLAN, epoch=1):
        places += batch.source.numel() + batch.target_output.numel()
        tokens += int(batch.source_mask.sum()) + int(batch.target_mask.sum())
    done = time.process_time()
    return {
        "batches": number,
        "CPU seconds to plan an epoch": planned - start,
        "tokens a CPU second, both sides": tokens / (done - planned),
        "share of padding": 1 - tokens / places,
    }


def train(options: argparse.Namespace) -> dict[str, Any]:
    """Train with batches from the disk and with the same ones from memory, in turns."""
    folder = options.folder / f"prepared-{options.lines}"
    corpus = PreparedCorpus.open(folder / "train")
    codec = TextCodec.from_json((folder / "codec.json").read_text(encoding="utf-8"))
    take_steps = stepper(len(codec.source_vocabulary))
    take_steps(itertools.islice(corpus.batches(PLAN, 2), 5))  # the first steps allocate
    corpus.num_batches(PLAN, 1)
    seconds: dict[str, list[tuple[float, float]]] = {"disk": [], "memory": []}
    tokens = 0
    order = random.Random(0)
    for start in range(0, options.steps, STEPS_A_TURN):
        held = list(some_batches(corpus, start))
        tokens += sum(batch.num_tokens for batch in held)
        turns = {
            "disk": partial(prefetched, some_batches(corpus, start)),
            "memory": partial(iter, held),
        }
        for name in order.sample(sorted(turns), 2):
            seconds[name].append(timed(partial(take_steps, turns[name]())))
    ratios = [
        [disk[clock] / memory[clock] for disk, memory in zip(*seconds.values(), strict=True)]
        for clock in (0, 1)
    ]
    cpu = {name: sum(first for first, _ in found) for name, found in seconds.items()}
    return {
        "steps": options.steps,
        "target tokens a CPU second from the disk": tokens / cpu["disk"],
        "from memory": tokens / cpu["memory"],
        "CPU time, disk over memory (median)": statistics.median(ratios[0]),
        "time on the clock, likewise": statistics.median(ratios[1]),
    }


def some_batches(corpus: PreparedCorpus, start: int) -> Iterator[Batch]:
    return itertools.islice(corpus.batches(PLAN, 1, start=start), STEPS_A_TURN)


def stepper(size: int) -> Callable[[Iterable[Batch]], None]:
    set_seed(1)
    model = Transformer(
        TransformerConfig(
            source_vocabulary=size, target_vocabulary=size, d_model=64, num_heads=4, d_ff=128,
            num_layers=1, dropout=0.0,
        )
    )  # fmt: skip
    take_step = Stepper(torch.optim.Adam(model.parameters(), lr=1e-3), clip=1.0)

    def take_steps(batches: Iterable[Batch]) -> None:
        for batch in batches:
            take_step([partial(batch_loss, model, batch)], "in the benchmark")

    return take_steps


def timed(program: Callable[[], None]) -> tuple[float, float]:
    start = time.process_time(), time.perf_counter()
    program()
    return time.process_time() - start[0], time.perf_counter() - start[1]


STAGES = {"prepare": prepare, "iterate": iterate, "train": train}

if __name__ == "__main__":
    main()
