"""The command: measures all, shows how far it is, and writes the page (see __init__.py)."""

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import torch

import peers
from attention_book.foundations import strict
from peers.agreement import check_training
from peers.learning import corpus, learned
from peers.machine import Machine, processor, versions
from peers.memory import can_measure, measured
from peers.programs import PLACES, Program, installed
from peers.report import Results
from peers.sizes import PLANS, TINY, Plan, create, training_batch
from peers.turns import Task, decoding, timed, training
from peers.waiting import waiting

TASKS = ("training", "decoding", "learning", "memory")
PAGE = Path(__file__).parents[1] / "peers"
STARTED = time.monotonic()


def say(text: str) -> None:
    """Print how far it is, and for how long it has been running."""
    print(f"[{time.monotonic() - STARTED:4.0f} s] {text}", flush=True)


def agree(kinds: Mapping[str, type[Program]], size: str, plan: Plan, results: Results) -> None:
    """Check that the programs compute the same, and keep their sizes."""
    config = replace(plan.size.config(), dropout=0.0)
    programs = create(kinds, config, max_tokens=plan.size.tokens, endless=True)
    results.parameters[size] = {name: each.num_parameters for name, each in programs.items()}
    results.agreement[size] = check_training(programs, training_batch(plan.size))


def time_tasks(
    tasks: Sequence[Task], kinds: Mapping[str, type[Program]], size: str, results: Results
) -> None:
    """Time some tasks, and show what came out."""
    for task in tasks:
        for row in timed(task, kinds, size, results.machine):
            results.rows.append(row)
            ratio = "" if row.ours is None else f"; our time over its time {row.ours:.3f}"
            say(f"  {task.name}, {row.program}: {row.seconds * 1e3:,.1f} ms{ratio}")


def measure(
    kinds: Mapping[str, type[Program]],
    plans: Mapping[str, Plan],
    tasks: Sequence[str],
    results: Results,
) -> None:
    """Do all tasks at all sizes."""
    machine = results.machine
    for size, plan in plans.items():
        say(f"{size}: {plan.size}")
        agree(kinds, size, plan, results)
        say("  all compute the same")
        if "training" in tasks:
            time_tasks([training(kinds, plan, machine)], kinds, size, results)
        if "decoding" in tasks:
            time_tasks(decoding(kinds, plan, machine), kinds, size, results)
        if "learning" in tasks and plan.loss is not None:
            data = corpus(50 if size in TINY else None)
            results.learned += learned(kinds, size, plan, machine, data)
            say("  learned the phrasebook")
        if "memory" in tasks and (machine.device == "cuda" or can_measure()):
            results.memory += measured(kinds, size, machine.device, machine.num_threads)
            say("  measured the memory")
    if machine.device == "cuda":
        results.waiting = waiting(kinds, next(iter(plans.values())))


def main(arguments: Sequence[str] | None = None) -> Results:
    parser = argparse.ArgumentParser(
        prog="peers",
        description=peers.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tiny", action="store_true", help="a try: the numbers mean nothing")
    parser.add_argument("--quick", action="store_true", help="three turns of each")
    parser.add_argument("--only", nargs="+", choices=PLACES, help="these programs")
    parser.add_argument("--sizes", nargs="+", choices=PLANS, default=list(PLANS))
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--out", type=Path, help="where to write: this with .md and .json")
    chosen = parser.parse_args(arguments)
    automatic = "cuda" if torch.cuda.is_available() else "cpu"
    device = automatic if chosen.device == "auto" else chosen.device
    kinds = installed(chosen.only)
    plans = TINY if chosen.tiny else {size: PLANS[size] for size in chosen.sizes}
    if chosen.quick:
        plans = {size: replace(plan, rounds=(3, 3, 3)) for size, plan in plans.items()}
    say(f"{', '.join(kinds)}; {device}, threads: {chosen.threads}")
    results = Results(
        date=str(date.today()),
        processor=processor(device),
        versions=versions(sorted({kind.package for kind in kinds.values()})),
        machine=Machine.measure(device, chosen.threads, turns=1 if chosen.tiny else 5),
        sizes={size: str(plan.size) for size, plan in plans.items()},
        missing=[name for name in chosen.only or PLACES if name not in kinds],
    )
    with strict(False):  # whatever the environment says: the others check nothing
        measure(kinds, plans, chosen.tasks, results)
    page = chosen.out or (None if chosen.tiny else PAGE)
    if page is not None:
        results.write(page)
        say(f"wrote {page}.md and {page}.json")
    return results


if __name__ == "__main__":
    main()
