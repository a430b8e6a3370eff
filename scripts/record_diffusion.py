"""Record what a masked-diffusion model writes, in how many rounds and in which order.

    python scripts/record_diffusion.py src/attention_book/course/data/grammar-en-diffusion.json

The text and the sizes of the chapter *Language models*: causal models, and models that see both
sides and learn from words hidden at every rate, all hidden words alike ("plain") or divided by
their rate ("weighted"). Five seeds; what the file has already, of the same settings, is not trained
again. About eight minutes on a free core.
"""

import time
from functools import partial
from itertools import product
from typing import Any, get_args

import torch
from small_trainings import asked, record_missing
from torch import Tensor

from attention_book import set_seed
from attention_book.decoding import sample, unmask
from attention_book.decoding.unmasking import UnmaskingOrder
from attention_book.models import LanguageConfig, LanguageModel
from attention_book.text import (
    BOS,
    MASK,
    GrammarCorpus,
    Vocabulary,
    encode_text,
    grammar_corpus,
    is_grammatical,
)
from attention_book.training import (
    descend,
    diffusion_loss,
    hidden_token_loss,
    hide_words,
    linear_schedule,
    next_token_loss,
    xavier_,
)

SEEDS = range(1, 6)
#: What is trained, and for how many steps.
KINDS = ("causal, 1200", "plain, 1200", "weighted, 1200", "causal, 3600", "plain, 3600")
#: No sentence has more than 14 words, so that no round of 14 keeps more than one.
ROUNDS = (1, 4, 14)
SETTINGS = {"batch": 32, "learning_rate": 0.005, "written": 300, "lowest_rate": 0.02}


def main() -> None:
    """Train what is missing, and write the record after each training."""
    record_missing(
        asked(__doc__).to,
        command="python scripts/record_diffusion.py",
        settings=SETTINGS,
        names=("kind", "seed"),
        grid=product(KINDS, SEEDS),
        train=partial(_trained, grammar_corpus("en", "fr")),
    )


def _trained(corpus: GrammarCorpus, kind: str, seed: int) -> dict[str, Any]:
    """Train one model, let it write, and return how much of that the grammar could have written."""
    text = [pair.source for pair in corpus.train]
    words = Vocabulary.build([*text, (MASK,)])
    tokens, real = encode_text(text, words)
    (hole,) = words.encode((MASK,))
    what, steps = kind.split(", ")
    config = LanguageConfig(
        vocabulary=len(words), d_model=64, num_heads=4, d_ff=128, num_layers=2, dropout=0.0,
        causal=what == "causal",
    )  # fmt: skip
    set_seed(seed)
    model = xavier_(LanguageModel(config))
    set_seed(seed)

    def loss() -> Tensor:
        rows = torch.randint(len(tokens), (int(SETTINGS["batch"]),))
        some, there = tokens[rows], real[rows]
        if config.causal:
            return next_token_loss(model, some, there)
        rates = torch.rand(len(rows)).clamp_min(SETTINGS["lowest_rate"])
        hidden = hide_words(some, some > 3, rates, mask=hole)
        if what == "plain":
            return hidden_token_loss(model, hidden, some, there)
        return diffusion_loss(model, hidden, some, there, words=some > 3, rates=rates)

    start = time.process_time()
    adam = torch.optim.Adam(model.parameters(), lr=SETTINGS["learning_rate"], fused=True)
    schedule = linear_schedule(num_steps=int(steps) + 1, warmup=int(steps) // 5)
    for _ in descend(loss, adam, steps=int(steps), schedule=schedule, clip=1.0):
        pass
    seconds = time.process_time() - start
    model.eval()
    number = int(SETTINGS["written"])
    written: dict[str, list[tuple[str, ...]]] = {}
    set_seed(seed)
    if config.causal:
        found = sample(model, torch.full((number, 1), BOS), max_tokens=30)
        written["causal"] = [tuple(words.decode(each.ids)) for each in found]
    else:
        held, there = encode_text([pair.source for pair in corpus.random[:number]], words)
        empty = held.masked_fill(held > 3, hole)
        for order, rounds in product(get_args(UnmaskingOrder), ROUNDS):
            filled = unmask(
                model, empty, there, mask=hole, rounds=rounds, order=order, never=(0, 1, 2, 3)
            )
            written[f"{order}, {rounds}"] = [
                tuple(words.decode([each for each in row if each > 3])) for row in filled.tolist()
            ]
    return {
        "kind": kind,
        "seed": seed,
        "correct": {
            way: round(sum(map(is_grammatical, rows)) / number, 3) for way, rows in written.items()
        },
        "different": {way: round(len(set(rows)) / number, 3) for way, rows in written.items()},
        "seconds": round(seconds, 1),
    }


if __name__ == "__main__":
    main()
