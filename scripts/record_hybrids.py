"""Record what stacks of delta-rule layers, of softmax layers, and of both recall.

    python scripts/record_hybrids.py src/attention_book/course/data/recall-hybrids.json

Every stack is trained with the same seeds, on the same pairs, for each number of steps with a
schedule of its own; what the file has already, of the same settings, is not trained again.
About 20 minutes on a free core.
"""

import time
from itertools import cycle, product
from typing import Any

import torch
from small_trainings import asked, record_missing
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book import attention as ab
from attention_book import set_seed
from attention_book.course.datasets import RecallBatch, recall_task
from attention_book.training import descend, linear_schedule

#: d is a gated delta rule, s is causal softmax; with the steps that each is trained for.
STACKS = {"dddd": (400, 1600, 6400), "ddds": (400, 1600), "ssss": (400, 1600), "s": (400, 1600)}
SEEDS = (1, 2, 3, 4, 5, 6)
PAIRS = (4, 8, 16, 32, 64)
SETTINGS: dict[str, Any] = {
    "keys": 64,
    "values": 16,
    "d_model": 32,
    "d_k": 8,
    "batch": 16,
    "pairs": [8, 16, 32],
}
RATE = 5e-3


class Layer(nn.Module):
    """One head without positions, a gated delta rule or causal softmax: the same parameters."""

    def __init__(self, kind: str, *, d_model: int, d_k: int) -> None:
        """Draw the maps; both gates begin nearly open."""
        super().__init__()
        self.kind, self.sizes = kind, [d_k, d_k, d_k, 2]
        self.norm = nn.LayerNorm(d_model)
        self.W = nn.Linear(d_model, 3 * d_k + 2, bias=False)
        self.gates = nn.Parameter(torch.tensor([4.0, 2.0]))
        self.W_o = nn.Linear(d_k, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Add what the layer has found, at every place."""
        q, k, v, gates = self.W(self.norm(x)).split(self.sizes, dim=-1)
        if self.kind == "s":
            found = ab.dot_product_attention(q, k, v, is_causal=True)
        else:
            log_decay, log_strength = F.logsigmoid(gates + self.gates).unbind(-1)
            q, k = ab.unit_length(q), ab.unit_length(k)
            found, _ = ab.fixed_state_attention(
                q, k, v, log_decay=log_decay, strength=log_strength.exp(), chunk=128
            )
        return x + self.W_o(found)


class Stack(nn.Module):
    """Pairs of a key and a value, then questions: one word each, read by layers of both kinds."""

    def __init__(self, kinds: str) -> None:
        """Draw the embeddings and the layers, one for each letter."""
        super().__init__()
        d_model, d_k = SETTINGS["d_model"], SETTINGS["d_k"]
        self.keys = nn.Embedding(SETTINGS["keys"], d_model)
        self.values = nn.Embedding(SETTINGS["values"], d_model)
        self.asking = nn.Parameter(torch.randn(d_model))
        self.layers = nn.ModuleList(Layer(kind, d_model=d_model, d_k=d_k) for kind in kinds)
        self.norm = nn.LayerNorm(d_model)
        self.readout = nn.Linear(d_model, SETTINGS["values"])

    def forward(self, task: RecallBatch) -> Tensor:
        """Return the logits of the questions."""
        written = self.keys(task.keys) + self.values(task.values)
        x = torch.cat([written, self.keys(task.questions) + self.asking], dim=1)
        for layer in self.layers:
            x = layer(x)
        logits: Tensor = self.readout(self.norm(x))[:, task.keys.shape[1] :]
        return logits


def main() -> None:
    """Train what is missing, and write the record after each training."""
    record_missing(
        asked(__doc__).to,
        command="python scripts/record_hybrids.py",
        settings={**SETTINGS, "learning_rate": RATE},
        names=("seed", "stack", "steps"),
        grid=[
            (seed, stack, steps)
            for seed, stack in product(SEEDS, STACKS)
            for steps in STACKS[stack]
        ],
        train=_trained,
    )


def _trained(*, stack: str, steps: int, seed: int) -> dict[str, Any]:
    """Train one stack from scratch, every second round on keys that are written twice."""
    set_seed(seed)
    model = Stack(stack)
    rounds = cycle([(pairs, times) for times in (1, 2) for pairs in SETTINGS["pairs"]])
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), fused=True)

    def loss() -> Tensor:
        task = _task(SETTINGS["batch"], *next(rounds))
        return F.cross_entropy(model(task).flatten(0, 1), task.answer.flatten())

    start = time.process_time()
    schedule = linear_schedule(num_steps=steps, warmup=20)
    for _ in descend(loss, optimizer, steps=steps, schedule=schedule, clip=1.0):
        pass
    seconds = time.process_time() - start
    model.eval()
    return {
        "stack": stack,
        "steps": steps,
        "seed": seed,
        "parameters": sum(each.numel() for each in model.parameters()),
        **{name: _right(model, times) for name, times in (("once", 1), ("twice", 2))},
        "seconds": round(seconds, 1),
    }


@torch.no_grad()
def _right(model: Stack, times: int) -> dict[int, float]:
    """Return the share of right answers for each number of pairs, on the same test for all."""
    drawn = torch.Generator().manual_seed(7)
    tests = {pairs: _task(64, pairs, times, drawn) for pairs in PAIRS}
    return {
        pairs: round((model(test).argmax(-1) == test.answer).float().mean().item(), 4)
        for pairs, test in tests.items()
    }


def _task(
    batch: int, pairs: int, times: int, generator: torch.Generator | None = None
) -> RecallBatch:
    return recall_task(
        batch,
        pairs,
        times=times,
        num_keys=SETTINGS["keys"],
        num_values=SETTINGS["values"],
        generator=generator,
    )


if __name__ == "__main__":
    main()
