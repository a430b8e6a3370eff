"""The Transformer beside torch's nn.Transformer and that of Dive into Deep Learning.

    pip install --no-deps d2l==1.0.3
    ATTENTION_BOOK_DATA=folder python benchmarks/transformer.py          # all
    ATTENTION_BOOK_DATA=folder python benchmarks/transformer.py --quick  # fewer turns, one seed
    python benchmarks/transformer.py --only torch memory                 # without d2l and data

All programs of a comparison take turns in one run, on one thread, and CPU time is what
counts. The results are kept in benchmarks/transformer.md, with machine and date.

1. torch: a training step beside nn.Transformer's, with the same embedding, positions, output
   layer, loss, clipping and optimizer. Both have the same parameters and give the same
   logits, which is checked.
2. d2l: training at the classic sizes, on the data and with the loops of
   benchmarks/translation.py, beside the model of d2l's chapter, wired of d2l's parts.
3. decoding: one token after the other, with keys and values kept; beside d2l's decoder, which
   keeps every layer's inputs and projects all of them again at every step; and beside a
   decoder that keeps nothing and reads the whole prefix again.
4. memory: the peak of a training step, and the size of what a decoder keeps for a token.
"""

import argparse
import math
import platform
import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from datetime import date

import torch
from paired import compare, table
from theirs import D2LTransformer, TorchTransformer
from torch import nn
from translation import (
    DROPOUT,
    LAYERS,
    UNITS,
    Ours,
    Theirs,
    corpus,
    import_d2l,
    throughput,
    time_to_loss,
)

from attention_book import set_seed
from attention_book.inspection import peak_bytes
from attention_book.models import Transformer, TransformerConfig
from attention_book.text import BOS, ParallelData
from attention_book.training import loss_per_token, xavier_

HEADS, D_FF = 4, 64
#: Tokens written, for the growth of decoding.
LENGTHS = (16, 32, 64, 128, 256)
PARTS = ("torch", "d2l", "decoding", "memory")


@dataclass(frozen=True, kw_only=True)
class Size:
    """One size of model and batch."""

    batch: int
    tokens: int
    d_model: int
    num_heads: int
    d_ff: int
    num_layers: int
    words: int

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in vars(self).items())

    def config(self, *, dropout: float = DROPOUT) -> TransformerConfig:
        """Return the settings of the model, with the biases that nn.Transformer has."""
        return TransformerConfig(
            source_vocabulary=self.words,
            target_vocabulary=self.words,
            d_model=self.d_model,
            num_heads=self.num_heads,
            d_ff=self.d_ff,
            num_layers=self.num_layers,
            dropout=dropout,
            inner_dropout=dropout,  # as nn.Transformer does
            bias=True,
        )


SMALL = Size(batch=64, tokens=10, d_model=32, num_heads=4, d_ff=64, num_layers=2, words=200)
MIDDLE = Size(batch=32, tokens=32, d_model=128, num_heads=4, d_ff=512, num_layers=2, words=1000)
LARGE = Size(batch=8, tokens=64, d_model=256, num_heads=8, d_ff=1024, num_layers=3, words=2000)
#: The sizes of the paper's base model, and one of its six layers.
BASE = Size(batch=64, tokens=64, d_model=512, num_heads=8, d_ff=2048, num_layers=1, words=1000)


class Batch:
    """Random sentences, between half as long as the batch and as long."""

    def __init__(self, size: Size) -> None:
        shape = (size.batch, size.tokens)
        lengths = torch.randint(size.tokens // 2, size.tokens + 1, (size.batch, 1))
        lengths[0] = size.tokens
        self.mask = torch.arange(size.tokens) < lengths
        self.source = torch.randint(4, size.words, shape) * self.mask
        self.target = torch.randint(4, size.words, shape) * self.mask
        self.target_input = torch.cat((torch.full((size.batch, 1), BOS), self.target[:, :-1]), 1)

    def to(self, device: torch.device | str) -> "Batch":
        """Return it on another device."""
        moved = copy(self)
        for name, tensor in vars(self).items():
            setattr(moved, name, tensor.to(device))
        return moved


def training_step(model: nn.Module, batch: Batch) -> Callable[[], object]:
    """Return a step as the package's trainer takes it."""
    parameters = list(model.parameters())
    optimizer = torch.optim.Adam(parameters, lr=1e-3, fused=True)

    def step() -> None:
        logits = model(batch.source, batch.mask, batch.target_input)
        loss = loss_per_token(logits, batch.target, batch.mask)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()

    return step


def beside_torch(rounds: int) -> None:
    """Compare training steps with nn.Transformer's."""
    print("A training step, and nn.Transformer's")
    for size in (SMALL, MIDDLE, LARGE):
        batch = Batch(size)
        check_same_numbers(size, batch)
        steps = {
            "nn.Transformer": training_step(TorchTransformer(size.config()), batch),
            "ours": training_step(Transformer(size.config()), batch),
        }
        print(f" {size}")
        print(
            table(
                compare(steps, baseline="nn.Transformer", rounds=rounds), baseline=next(iter(steps))
            )
        )


def check_same_numbers(size: Size, batch: Batch) -> None:
    """Check that both have the same parameters, and the same logits for the same values."""
    ours = Transformer(size.config(dropout=0.0))
    theirs = TorchTransformer(size.config(dropout=0.0)).copy_(ours)
    assert count(ours) == count(theirs)
    inputs = (batch.source, batch.mask, batch.target_input)
    torch.testing.assert_close(ours(*inputs), theirs(*inputs), rtol=1e-4, atol=1e-4)


def count(model: nn.Module) -> int:
    """Return the number of parameters."""
    return sum(parameter.numel() for parameter in model.parameters())


def classic_config(data: ParallelData) -> TransformerConfig:
    """Return the settings of d2l's comparison; both leave out the attention's biases."""
    return TransformerConfig(
        source_vocabulary=len(data.source_vocabulary),
        target_vocabulary=len(data.target_vocabulary),
        d_model=UNITS,
        num_heads=HEADS,
        d_ff=D_FF,
        num_layers=LAYERS,
        dropout=DROPOUT,
    )


def beside_d2l(rounds: int, seeds: int, rate: float, clip: float) -> None:
    """Compare the training with d2l's, at its sizes."""
    d2l, data = import_d2l(), corpus()
    config = classic_config(data)

    def theirs() -> Theirs:
        return Theirs(d2l, data, D2LTransformer(d2l, config))

    def ours(rate: float, clip: float, epochs: int | None) -> Ours:
        return Ours(data, xavier_(Transformer(config)), rate=rate, clip=clip, epochs=epochs)

    throughput(theirs(), ours(0.005, 1.0, None), data.num_tokens, rounds=rounds, epochs=5)
    time_to_loss(theirs, lambda: ours(rate, clip, 80), rounds=seeds)


class Decoding:
    """Ways to write so many tokens for each of a few sources of 64 tokens."""

    def __init__(self, size: Size, num_tokens: int) -> None:
        batch = Batch(size)
        self.source, self.mask, self.num_tokens = batch.source, batch.mask, num_tokens
        self.first = torch.full((size.batch,), BOS)
        self.model = Transformer(size.config()).eval()
        self.d2l = D2LTransformer(import_d2l(), size.config()).eval()

    @torch.no_grad()
    def ours(self) -> None:
        """Keep keys and values."""
        state = self.model.start(self.model.encode(self.source, self.mask))
        token = self.first
        for _ in range(self.num_tokens):
            logits, state = self.model.step(token, state)
            token = logits.argmax(-1)

    def theirs(self) -> None:
        """Keep the inputs of the layers, as d2l does."""
        self.d2l.greedy(self.source, self.mask.sum(1), self.first, self.num_tokens)

    @torch.no_grad()
    def nothing_kept(self) -> None:
        """Read the whole prefix again for every token."""
        memory = self.model.encode(self.source, self.mask)
        tokens = self.first[:, None]
        for _ in range(self.num_tokens):
            logits = self.model.decode(tokens, memory)[:, -1]
            tokens = torch.cat((tokens, logits.argmax(-1)[:, None]), dim=1)


def decoding(rounds: int) -> None:
    """Compare decoders, and see how the time grows with the length."""
    for size, lengths in ((LARGE, LENGTHS), (BASE, LENGTHS[:-1])):
        decode = Decoding(size, 64)
        print(f"Reading the source and writing 64 tokens; {size}")
        programs = {"d2l": decode.theirs, "ours": decode.ours}
        if size is LARGE:
            programs["nothing kept"] = decode.nothing_kept
        print(table(compare(programs, baseline="d2l", rounds=rounds), baseline="d2l"))
        growth(decode, lengths, rounds=3 if size is LARGE else 1)


def growth(decode: Decoding, lengths: tuple[int, ...], *, rounds: int) -> None:
    """Print how the time to write grows; reading the source takes the same for any length."""
    print("CPU seconds by tokens written, without reading; fastest runs; slope of log over log")
    written: dict[str, list[float]] = {"ours": [], "theirs": []}
    for name, seconds in written.items():
        for num_tokens in (0, *lengths):
            decode.num_tokens = num_tokens
            seconds.append(fastest(getattr(decode, name), rounds=rounds))
        seconds[:] = [s - seconds[0] for s in seconds[1:]]
        times = "  ".join(f"{n}: {s:.3f}" for n, s in zip(lengths, seconds, strict=True))
        print(f"  {name:7} {times}  slope {slope(lengths, seconds):.2f}")
    ratios = [t / o for o, t in zip(written["ours"], written["theirs"], strict=True)]
    print("  ratios  " + "  ".join(f"{n}: {r:.2f}" for n, r in zip(lengths, ratios, strict=True)))


def fastest(program: Callable[[], object], *, rounds: int) -> float:
    """Return the least CPU seconds of some calls."""
    best = math.inf
    for _ in range(rounds):
        start = time.process_time()
        program()
        best = min(best, time.process_time() - start)
    return best


def slope(x: tuple[int, ...], y: list[float]) -> float:
    """Return the exponent of the power law that fits best."""
    logs = torch.stack((torch.tensor(x), torch.tensor(y))).log()
    return (torch.cov(logs)[0, 1] / logs[0].var()).item()


def memory() -> None:
    """Print the peaks of training steps, and what decoders keep for a token."""
    print("Memory: the peak of a training step above what stood before, MiB")
    for size in (SMALL, MIDDLE, LARGE):
        batch = Batch(size)
        models = {"nn.Transformer": TorchTransformer(size.config())}
        peaks = {n: step_bytes(training_step(m, batch)) / 2**20 for n, m in models.items()}
        peaks["ours"] = step_bytes(training_step(Transformer(size.config()), batch)) / 2**20
        ratio = peaks["ours"] / peaks["nn.Transformer"]
        print(f"  {size}\n    {peaks['nn.Transformer']:.2f} and {peaks['ours']:.2f}: {ratio:.3f}")
    print(f"Kept for each written token, bytes; {LARGE}")
    model = Transformer(LARGE.config()).eval()
    batch = Batch(LARGE)
    with torch.no_grad():
        state = model.start(model.encode(batch.source, batch.mask))
        _, state = model.step(torch.full((LARGE.batch,), BOS), state)
    kept = [rows.nbytes for layer in state.past.layers for rows in layer.rows]
    ours = sum(kept) // LARGE.batch
    theirs = LARGE.num_layers * LARGE.d_model * 4
    print(f"  ours {ours:,} (keys and values), d2l {theirs:,} (inputs)")


def step_bytes(step: Callable[[], object]) -> int:
    """Return the most bytes that a step held at a time, beyond those held before."""
    step()  # the optimizer's state
    return peak_bytes(step)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer turns, one seed")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="these parts")
    arguments = parser.parse_args()
    quick = arguments.quick
    torch.set_num_threads(1)
    set_seed(42)
    print(f"{date.today()}, torch {torch.__version__}, {platform.machine()}, one thread")
    if "torch" in arguments.only:
        beside_torch(rounds=8 if quick else 40)
    if "d2l" in arguments.only:
        beside_d2l(rounds=4 if quick else 20, seeds=1 if quick else 3, rate=0.007, clip=0.5)
    if "decoding" in arguments.only:
        decoding(rounds=3 if quick else 8)
    if "memory" in arguments.only:
        memory()


if __name__ == "__main__":
    main()
