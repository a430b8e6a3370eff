"""Record what a mixture of experts does to the loss and the load of a small language model.

    python scripts/record_experts.py src/attention_book/course/data/grammar-en-experts.json

The model and the text of the chapter *The decoder block of today*, with the feed-forward network
as it is, four times as wide, or cut into eight experts of which a token uses two. Eight seeds; what
the file has already, of the same settings, is not trained again. About six minutes on a free core.
"""

import time
from functools import partial
from itertools import product
from typing import Any

import torch
from small_trainings import asked, record_missing
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from attention_book import set_seed
from attention_book.models import LanguageConfig, LanguageModel, MixtureOfExperts, Routing
from attention_book.text import generate
from attention_book.training import descend, linear_schedule

SEEDS = range(1, 9)
#: The feed-forward networks that are compared: hidden features, experts, and how they are balanced.
KINDS: dict[str, dict[str, Any]] = {
    "dense": {"d_ff": 128},
    "wide": {"d_ff": 512},
    "experts": {"d_ff": 64, "balance": None},
    "experts, bias": {"d_ff": 64, "balance": "bias"},
    "experts, loss": {"d_ff": 64, "balance": "loss"},
}
SETTINGS: dict[str, Any] = {
    "sentences": 4000, "held": 500, "context": 48, "batch": 8, "steps": 400, "warmup": 40,
    "learning_rate": 0.01, "num_experts": 8, "num_chosen": 2, "speed": 0.003, "weight": 0.01,
}  # fmt: skip


def main() -> None:
    """Train what is missing, and write the record after each training."""
    record_missing(
        asked(__doc__).to,
        command="python scripts/record_experts.py",
        settings=SETTINGS,
        names=("seed", "kind"),
        grid=product(SEEDS, KINDS),
        train=partial(_trained, *_text()),
    )


def _text() -> tuple[int, Tensor, Tensor]:
    set_seed(42)
    sentences = [each.text("en") for each in generate(SETTINGS["sentences"])]
    at = len(sentences) - SETTINGS["held"]
    first, last = ("\n".join(part) for part in (sentences[:at], sentences[at:]))
    letters = sorted({*first, *last})
    number = {letter: i for i, letter in enumerate(letters)}
    text, held = (torch.tensor([number[each] for each in part]) for part in (first, last))
    return len(letters), text, held


def _cut(text: Tensor, starts: Tensor) -> Tensor:
    return text[starts[:, None] + torch.arange(SETTINGS["context"] + 1)]


def _loss(model: nn.Module, pieces: Tensor) -> Tensor:
    return cross_entropy(model(pieces[:, :-1]).flatten(0, 1), pieces[:, 1:].flatten())


def _trained(letters: int, text: Tensor, held: Tensor, kind: str, seed: int) -> dict[str, Any]:
    """Train one model from scratch and return what became of it."""
    how = KINDS[kind]
    set_seed(seed)
    config = LanguageConfig.today(
        vocabulary=letters, d_model=48, d_ff=how["d_ff"], num_kv_heads=2, qk_norm=True
    )
    model = LanguageModel(config)
    mixtures: list[MixtureOfExperts] = []
    routed: dict[nn.Module, Routing] = {}
    if "balance" in how:
        sizes = {name: SETTINGS[name] for name in ("num_experts", "num_chosen")}
        for layer in model.stack.layers:
            mixture = MixtureOfExperts(d_model=48, d_ff=how["d_ff"], **sizes)
            mixture.register_forward_hook(
                lambda module, inputs, _: routed.update({module: module.route(*inputs)})
            )
            layer.feed_forward = mixture
            mixtures.append(mixture)
    steps = SETTINGS["steps"]
    adam = torch.optim.Adam(
        model.parameters(), lr=SETTINGS["learning_rate"], betas=(0.9, 0.98), fused=True
    )
    schedule = linear_schedule(num_steps=steps + 1, warmup=SETTINGS["warmup"])
    set_seed(seed)  # all kinds read the same pieces

    def loss() -> Tensor:
        starts = torch.randint(len(text) - SETTINGS["context"] - 1, (SETTINGS["batch"],))
        found = _loss(model, _cut(text, starts))
        if how.get("balance") == "loss":
            found = found + SETTINGS["weight"] * sum(routed[m].balance_loss() for m in mixtures)
        if how.get("balance") == "bias":
            for each in mixtures:
                each.rebalance(routed[each].load(), speed=SETTINGS["speed"])
        return found

    start = time.process_time()
    for _ in descend(loss, adam, steps=steps, schedule=schedule, clip=1.0):
        pass
    seconds = time.process_time() - start
    model.eval()
    starts = torch.linspace(0, len(held) - SETTINGS["context"] - 1, 256).long()
    with torch.no_grad():
        held_loss = _loss(model, _cut(held, starts)).item()
    loads = [routed[each].load() * SETTINGS["num_experts"] for each in mixtures]
    return {
        "kind": kind,
        "seed": seed,
        "parameters": sum(each.numel() for each in model.parameters()),
        "loss": round(held_loss, 4),
        "most": [round(each.max().item(), 3) for each in loads],
        "least": [round(each.min().item(), 3) for each in loads],
        "seconds": round(seconds, 1),
    }


if __name__ == "__main__":
    main()
