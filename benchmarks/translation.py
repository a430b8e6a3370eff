"""Train the Bahdanau model at the classic sizes: ours beside that of Dive into Deep Learning.

    pip install --no-deps d2l==1.0.3
    ATTENTION_BOOK_DATA=folder python benchmarks/translation.py

Both learn the first 600 lines of `tatoeba-eng-fra` (see `load_corpus`): 32 units, 2 layers,
dropout 0.1, 64 sentences to a step, the same vocabularies. Theirs is built of d2l's own encoder,
attention, loss, clipping and training loop, in the wiring of its chapter, on d2l's 10 steps. Only
real target tokens are counted, the end of the sentence included. The results are kept in
benchmarks/translation.md, with machine and date.

1. Tokens per second: the two take turns of a few epochs; the ratio is taken within a turn.
2. Time to the same training loss: theirs after 200 of its epochs; ours with a learning rate
   that suits it (0.03, falling to 0) and shorter gradients, until its loss is as low.
"""

import argparse
import contextlib
import io
import platform
import statistics
import sys
import time
import types
from collections.abc import Callable, Iterator
from datetime import date
from importlib.machinery import ModuleSpec

import torch
from torch import Tensor, nn

from attention_book import set_seed
from attention_book.models import Seq2Seq, Seq2SeqConfig, Transformer
from attention_book.text import BOS, ParallelData, SentencePair, Vocabulary, load_corpus
from attention_book.training import fit, linear_schedule, xavier_

NUM_PAIRS, NUM_STEPS, BATCH_SIZE, UNITS, LAYERS, DROPOUT = 600, 10, 64, 32, 2, 0.1
THEIR_EPOCHS, OUR_EPOCHS = 200, 100
#: d2l imports these for other chapters; without its dependencies they are empty stand-ins.
STAND_INS = ("gym", "pandas", "requests", "torchvision", "torchvision.transforms")


class StandIn(types.ModuleType):
    """A module that has everything, and none of it works."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def import_d2l() -> types.ModuleType:
    """Import d2l.torch, and give it the one function that its package forgot."""
    try:
        with stand_ins():
            from d2l import torch as d2l
    except ImportError:
        sys.exit("d2l is not installed: pip install --no-deps d2l==1.0.3")

    def sequence_mask(values: Tensor, lengths: Tensor) -> Tensor:
        steps = torch.arange(values.shape[1], device=values.device)
        return values * (steps[None, :] < lengths[:, None])

    d2l.sequence_mask = sequence_mask
    d2l.Animator = Curve
    return d2l


@contextlib.contextmanager
def stand_ins() -> Iterator[None]:
    """Put empty modules where there are none, and take them away again: others look for them."""

    missing = [name for name in STAND_INS if name not in sys.modules]
    for name in missing:
        sys.modules[name] = StandIn(name)
        sys.modules[name].__spec__ = ModuleSpec(name, None)
    try:
        yield
    finally:
        for name in missing:
            del sys.modules[name]


class Curve:
    """Stands in for d2l's animated plot, which would cost time: it keeps the losses."""

    losses: list[float]

    def __init__(self, **_: object) -> None:
        Curve.losses = []

    def add(self, _: int, values: tuple[float]) -> None:
        Curve.losses.append(values[0])


class Theirs:
    """A model of d2l's parts in d2l's training loop."""

    def __init__(self, d2l: types.ModuleType, data: ParallelData, model: nn.Module) -> None:
        self.d2l, self.model = d2l, model
        columns = padded_to_ten_steps(data)
        dataset = torch.utils.data.TensorDataset(*columns)
        self.batches = torch.utils.data.DataLoader(dataset, BATCH_SIZE, shuffle=True)
        self.model(columns[0][:2], columns[2][:2], columns[1][:2])  # lazy layers
        self.num_tokens = int(columns[3].sum())

    def train(self, epochs: int) -> list[float]:
        """Train with d2l's loop; return every tenth epoch's loss per real token."""
        with contextlib.redirect_stdout(io.StringIO()):
            self.d2l.train_seq2seq(
                self.model, self.batches, 0.005, epochs, {"<bos>": BOS}, torch.device("cpu")
            )
        # Its loss is the mean over the ten steps, divided by the real tokens once more.
        return [loss * NUM_STEPS for loss in Curve.losses]


class TheirModel(nn.Module):
    """The model of the D2L chapter, of the parts that the d2l package holds.

    d2l's training loop wants two outputs.
    """

    def __init__(self, d2l: types.ModuleType, data: ParallelData) -> None:
        super().__init__()
        vocabulary = len(data.target_vocabulary)
        self.encoder = d2l.Seq2SeqEncoder(
            len(data.source_vocabulary), UNITS, UNITS, LAYERS, DROPOUT
        )
        self.attention = d2l.AdditiveAttention(UNITS, DROPOUT)
        self.embedding = nn.Embedding(vocabulary, UNITS)
        self.rnn = nn.GRU(2 * UNITS, UNITS, LAYERS, dropout=DROPOUT)
        self.dense = nn.Linear(UNITS, vocabulary)

    def forward(self, source: Tensor, target_input: Tensor, lengths: Tensor) -> tuple[Tensor, None]:
        outputs, hidden = self.encoder(source, lengths)
        keys = outputs.permute(1, 0, 2)
        steps = []
        for embedded in self.embedding(target_input).permute(1, 0, 2):
            query = hidden[-1][:, None]
            context = self.attention(query, keys, keys, lengths)
            inputs = torch.cat((context, embedded[:, None]), dim=-1)
            output, hidden = self.rnn(inputs.permute(1, 0, 2), hidden)
            steps.append(output)
        return self.dense(torch.cat(steps)).permute(1, 0, 2), None


def our_model(data: ParallelData) -> Seq2Seq:
    """Return the package's model at the same sizes."""
    config = Seq2SeqConfig(
        source_vocabulary=len(data.source_vocabulary),
        target_vocabulary=len(data.target_vocabulary),
        d_embed=UNITS,
        d_hidden=UNITS,
        num_layers=LAYERS,
        dropout=DROPOUT,
    )
    return xavier_(Seq2Seq(config))


class Ours:
    """A model of the package in its trainer."""

    def __init__(
        self,
        data: ParallelData,
        model: Seq2Seq | Transformer,
        *,
        rate: float,
        clip: float,
        epochs: int | None,
    ) -> None:
        num_steps = -(-len(data) // BATCH_SIZE)
        self.reports = fit(
            model,
            data,
            torch.optim.Adam(model.parameters(), lr=rate, fused=True),
            epochs=epochs or 10_000,
            batch_size=BATCH_SIZE,
            clip=clip,
            schedule=linear_schedule(num_steps=epochs * num_steps) if epochs else None,
        )

    def train(self, epochs: int) -> list[float]:
        """Train some epochs more; return their losses per real token."""
        return [next(self.reports).loss_per_token for _ in range(epochs)]


def padded_to_ten_steps(data: ParallelData) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return sources, their lengths, targets, their lengths, as d2l's data set has them."""
    sources = torch.zeros(len(data), NUM_STEPS, dtype=torch.long)
    targets = torch.zeros(len(data), NUM_STEPS, dtype=torch.long)
    batch = next(data.batches(len(data)))
    sources[:, : batch.source.shape[1]] = batch.source
    targets[:, : batch.target_output.shape[1]] = batch.target_output
    return sources, batch.source_mask.sum(1), targets, batch.target_mask.sum(1)


def throughput(theirs: Theirs, ours: Ours, tokens: int, rounds: int, epochs: int) -> None:
    """Let both take turns, and print their tokens per second; an epoch has so many tokens."""
    assert theirs.num_tokens == tokens
    theirs.train(epochs), ours.train(epochs)  # warm
    speeds: dict[str, list[float]] = {"theirs": [], "ours": []}
    for _ in range(rounds):
        for name, program in (("theirs", theirs), ("ours", ours)):
            start = time.process_time()
            program.train(epochs)
            speeds[name].append(tokens * epochs / (time.process_time() - start))
    ratios = [a / b for a, b in zip(speeds["ours"], speeds["theirs"], strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"Real target tokens per second of CPU, {rounds} turns of {epochs} epochs")
    for name, values in speeds.items():
        print(f"  {name:8}{statistics.median(values):10,.0f}, fastest turn {max(values):10,.0f}")
    fastest = max(speeds["ours"]) / max(speeds["theirs"])
    print(f"  ratio {middle:.2f}, quartiles {low:.2f} to {high:.2f}; of the fastest {fastest:.2f}")


def time_to_loss(
    make_theirs: Callable[[], Theirs], make_ours: Callable[[], Ours], rounds: int
) -> None:
    """Print how long each takes to the loss that theirs has in the end."""
    print(f"CPU seconds to the training loss per real token of d2l's epoch {THEIR_EPOCHS}")
    ratios = []
    for seed in range(1, rounds + 1):
        set_seed(seed)
        theirs = make_theirs()
        start = time.process_time()
        target = theirs.train(THEIR_EPOCHS)[-1]
        their_seconds = time.process_time() - start
        set_seed(seed)
        ours = make_ours()
        start, epochs, loss = time.process_time(), 0, float("inf")
        while loss > target and epochs < OUR_EPOCHS:
            loss, epochs = ours.train(1)[0], epochs + 1
        our_seconds = time.process_time() - start
        ratios.append(our_seconds / their_seconds)
        reached = "reached" if loss <= target else f"NOT REACHED ({loss:.3f})"
        print(
            f"  seed {seed}: loss {target:.3f}; theirs {their_seconds:.1f} s, "
            f"ours {our_seconds:.1f} s, {epochs} epochs, {reached}: ratio {ratios[-1]:.3f}"
        )
    print(f"  median ratio {statistics.median(ratios):.3f}")


def corpus() -> ParallelData:
    """Return the 600 pairs as numbers; words that come once are unknown, as in D2L."""
    pairs: tuple[SentencePair, ...] = load_corpus("tatoeba-eng-fra", limit=NUM_PAIRS)
    source = Vocabulary.build((pair.source for pair in pairs), min_frequency=2)
    target = Vocabulary.build((pair.target for pair in pairs), min_frequency=2)
    return ParallelData(pairs, source, target, max_tokens=NUM_STEPS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer turns, one seed")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    d2l, data = import_d2l(), corpus()
    set_seed(42)
    print(f"{date.today()}, torch {torch.__version__}, {platform.machine()}, one thread")
    throughput(
        Theirs(d2l, data, TheirModel(d2l, data)),
        Ours(data, our_model(data), rate=0.005, clip=1.0, epochs=None),
        data.num_tokens,
        rounds=4 if arguments.quick else 20,
        epochs=5,
    )
    time_to_loss(
        lambda: Theirs(d2l, data, TheirModel(d2l, data)),
        lambda: Ours(data, our_model(data), rate=0.03, clip=0.1, epochs=OUR_EPOCHS),
        rounds=1 if arguments.quick else 3,
    )


if __name__ == "__main__":
    main()
