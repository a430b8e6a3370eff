"""Record how the loss of a small language model falls with its size and with what it reads.

    python scripts/record_scaling.py train.en val.en src/attention_book/course/data/scaling.json

Texts of one sentence a line (may be gzipped; the record was made from the English half of
Multi30k). Every size is trained on every budget of tokens, each with a schedule of its own, with
three seeds; what the file has already, of the same settings, is not trained again. About 15 minutes
on a free core.
"""

import argparse
import gzip
import json
import subprocess
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book import set_seed
from attention_book.models import LanguageConfig, LanguageModel
from attention_book.text import BOS, SubwordTokenizer
from attention_book.training import descend, linear_schedule

WIDTHS = (32, 48, 64, 128)
BUDGETS = (125_000, 250_000, 500_000)
SEEDS = (1, 2, 3)
SETTINGS = {"num_pieces": 1000, "num_layers": 2, "context": 64, "batch": 8, "warmup": 30}
RATE = 3e-3


def main() -> None:
    """Train what is missing, and write the record after each training."""
    options = _options()
    torch.set_num_threads(1)
    training, held = _lines(options.train), _lines(options.held)
    pieces = SubwordTokenizer.train(training, num_tokens=SETTINGS["num_pieces"])
    rows, held_rows = _rows(pieces, training), _rows(pieces, held)
    record: dict[str, Any] = {
        "name": options.to.stem,
        "command": f"python scripts/record_scaling.py train.en val.en {options.to.name}",
        "made": made(),
        "settings": {**SETTINGS, "learning_rate": RATE},
        "runs": [],
    }
    if options.to.exists():
        before = json.loads(options.to.read_text(encoding="utf-8"))
        if before["settings"] != record["settings"]:
            raise SystemExit(f"{options.to} was made with other settings: name another file")
        record["runs"] = before["runs"]
    done = {(run["width"], run["budget"], run["seed"]) for run in record["runs"]}
    for seed, width, budget in product(SEEDS, WIDTHS, BUDGETS):
        if (width, budget, seed) in done:
            continue
        record["runs"].append(_trained(rows, held_rows, width, budget, seed))
        options.to.write_text(as_text(record), encoding="utf-8")
        print(record["runs"][-1], flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("train", type=Path, help="what is read")
    parser.add_argument("held", type=Path, help="what the loss is measured on")
    parser.add_argument("to", type=Path, help="the file of the record")
    return parser.parse_args()


def _lines(path: Path) -> list[str]:
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return text.decode("utf-8").splitlines()


def _rows(pieces: SubwordTokenizer, lines: Sequence[str]) -> Tensor:
    """Return the text as one stream, each line behind a ``<bos>``, cut into rows."""
    first = BOS + 2  # the specials come before the pieces
    stream = [i for ids in pieces.encode_batch(lines) for i in (BOS, *(n + first for n in ids))]
    width = SETTINGS["context"] + 1
    return torch.tensor(stream[: len(stream) // width * width]).view(-1, width)


def _trained(rows: Tensor, held: Tensor, width: int, budget: int, seed: int) -> dict[str, Any]:
    """Train one model from scratch and return what it became."""
    set_seed(seed)
    config = LanguageConfig.today(
        vocabulary=SETTINGS["num_pieces"] + BOS + 2,
        d_model=width,
        d_ff=8 * round(width / 3),
        num_heads=max(2, width // 32),
        num_layers=SETTINGS["num_layers"],
        tied=True,
        embedding_scale=1.0,
    )
    model = LanguageModel(config)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.02)
    batch = SETTINGS["batch"]
    steps = round(budget / (batch * SETTINGS["context"]))
    order = torch.cat([torch.randperm(len(rows)) for _ in range(-(-steps * batch // len(rows)))])
    batches = iter(order[: steps * batch].split(batch))
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.1, fused=True
    )
    schedule = linear_schedule(num_steps=steps + 1, warmup=SETTINGS["warmup"])
    start = time.process_time()
    for _ in descend(
        lambda: _loss(model, rows[next(batches)]), optimizer, steps=steps, schedule=schedule, clip=1
    ):
        pass
    seconds = time.process_time() - start
    model.eval()
    with torch.no_grad():
        losses = [_loss(model, part) * len(part) for part in held.split(64)]
    return {
        "width": width,
        "budget": budget,
        "seed": seed,
        "parameters": sum(each.numel() for each in model.parameters()),
        "tokens": steps * batch * SETTINGS["context"],
        "loss": round(sum(each.item() for each in losses) / len(held), 4),
        "seconds": round(seconds, 1),
    }


def _loss(model: LanguageModel, rows: Tensor) -> Tensor:
    return F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())


def as_text(record: dict[str, Any]) -> str:
    """Return the record as JSON, one training a line."""
    head = json.dumps({name: value for name, value in record.items() if name != "runs"})
    runs = ",\n".join(json.dumps(run) for run in record["runs"])
    return f'{head[:-1]}, "runs": [\n{runs}\n]}}\n'


def made() -> list[dict[str, Any]]:
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return [
        {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": commit,
            "torch": torch.__version__,
            "processor": _processor(),
            "kernels": torch.backends.cpu.get_cpu_capability(),
            "threads": torch.get_num_threads(),
        }
    ]


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown"


if __name__ == "__main__":
    main()
