"""Part (d): Multi30k, English to German, by the command: three seeds side by side, BLEU of each.

The recipe is the book's own (``multi30k-en-de``: Transformer-Tiny, 100 epochs, the last ten
checkpoints averaged, beam 5); a step of it is so short that three processes share one card. A
training that time has cut off is gone on with by the next call.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from measuring import HERE, Results, out, run

SEEDS = (1, 2, 3)
RECIPE = "multi30k-en-de"
#: What a dry run has instead: some lines of the book's phrasebook, and a model of 16 numbers.
TINY = (
    "data.corpus=phrasebook",
    "data.target=fr",
    "data.num_train=64",
    "text.num_pieces=260",
    "text.moses=false",
    "model.config.d_model=16",
    "model.config.d_ff=16",
    "model.config.num_layers=1",
    "training.epochs=2",
    "training.average=2",
    "training.device=cpu",
    "training.batch_tokens=512",
)
LARGE = ("training.precision=bfloat16", "training.device=cuda")
RESERVE = 60.0  # seconds for the searches


def main(results: Results) -> None:
    """Train all seeds, then translate the test sentences with each."""
    results.measure("training", lambda: trained(results), needs=RESERVE + 30)
    for seed in _seeds(results):
        folder = _folder(results, seed)
        if not results.tiny and not list(folder.glob("**/average*")):
            results.data["no_time_for"].append(f"BLEU, seed {seed}")
            continue
        results.measure(f"BLEU, seed {seed}", lambda folder=folder: scored(results, folder))
    results.save()


def trained(results: Results) -> dict[str, Any]:
    """Begin or go on with every seed, and wait until they end or time does."""
    started, began = {}, time.monotonic()
    for seed in _seeds(results):
        folder = _folder(results, seed)
        if folder.exists():
            command = ["train", "--folder", str(folder), "--resume"]
        else:
            chosen = TINY if results.tiny else LARGE
            sets = [word for setting in chosen for word in ("--set", setting)]
            names = ["--recipe", RECIPE, "--folder", str(folder), "--seed", str(seed)]
            command = ["train", *names, *sets]
        log = (out() / f"translation-{seed}.txt").open("a", encoding="utf-8")
        started[seed] = _started(command, stdout=log, stderr=log)
    for process in started.values():
        left = 600.0 if results.tiny else max(1.0, results.seconds_left - RESERVE)
        try:
            process.wait(timeout=left)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)  # it writes a checkpoint, and ends
            process.wait(timeout=60)
    ends = {str(seed): process.returncode for seed, process in started.items()}
    if any(ends.values()):
        raise RuntimeError(f"not all seeds have ended well: {ends}; see translation-*.txt")
    return {"seconds": time.monotonic() - began, "seeds": len(ends)}


def scored(results: Results, folder: Path) -> dict[str, Any]:
    """Return sacrebleu's BLEU of the test sentences with its signature, as the command tells it."""
    limit = ["--limit", "3", "--resamples", "0"] if results.tiny else []
    command = ["evaluate", "--run", str(folder), "--beam", "5", "--length-penalty", "1.0"]
    process = _started([*command, "--json", *limit], stdout=subprocess.PIPE)
    told, _ = process.communicate(timeout=300)
    if process.returncode:
        raise RuntimeError(f"evaluate ended with {process.returncode}")
    found: dict[str, Any] = json.loads(told)
    return found


def _seeds(results: Results) -> tuple[int, ...]:
    return SEEDS[:1] if results.tiny else SEEDS


def _folder(results: Results, seed: int) -> Path:
    return out() / ("dry-runs" if results.tiny else "runs") / f"{RECIPE}-{seed}"


def _started(command: list[str], **how: Any) -> "subprocess.Popen[Any]":
    source = HERE.parents[1] / "src"
    paths = os.pathsep.join(filter(None, (str(source), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": paths, "ATTENTION_BOOK_LANG": "en"}
    if (data := HERE / "data").exists():
        environment.setdefault("ATTENTION_BOOK_DATA", str(data))
    whole = [sys.executable, "-m", "attention_book.cli.main", *command]
    return subprocess.Popen(whole, env=environment, **how)


if __name__ == "__main__":
    run("translation", main)
