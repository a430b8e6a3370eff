"""Record how the loss of a small language model falls with its size and with what it reads.

    python scripts/record_scaling.py train.en val.en src/attention_book/course/data/scaling.json

Texts of one sentence a line (may be gzipped; the record was made from the English half of
Multi30k). Every size is trained on every budget of tokens, each with a schedule of its own, with
three seeds; what the file has already, of the same settings, is not trained again. About 40 minutes
on a free core.
"""

import gzip
import time
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import torch
from small_trainings import asked, record_missing
from torch import Tensor
from torch.nn import functional as F

from attention_book import set_seed
from attention_book.models import LanguageConfig, LanguageModel
from attention_book.text import BOS, SubwordTokenizer
from attention_book.training import descend, linear_schedule

WIDTHS = (32, 48, 64, 96, 128)
BUDGETS = (125_000, 250_000, 500_000, 1_000_000)
SEEDS = (1, 2, 3)
SETTINGS = {"num_pieces": 1000, "num_layers": 2, "context": 64, "batch": 8, "warmup": 30}
RATE = 3e-3


def main() -> None:
    """Train what is missing, and write the record after each training."""
    options = asked(__doc__, train="what is read", held="what the loss is measured on")
    training, held = _lines(options.train), _lines(options.held)
    pieces = SubwordTokenizer.train(training, num_tokens=SETTINGS["num_pieces"])
    record_missing(
        options.to,
        command="python scripts/record_scaling.py train.en val.en",
        settings={**SETTINGS, "learning_rate": RATE},
        names=("seed", "width", "budget"),
        grid=product(SEEDS, WIDTHS, BUDGETS),
        train=partial(_trained, _rows(pieces, training), _rows(pieces, held)),
    )


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


if __name__ == "__main__":
    main()
