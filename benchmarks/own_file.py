"""Whether the reader's own file trains as well as the package, and writes faster with its cache.

    python benchmarks/own_file.py            # three seeds, five minutes; writes own_file.md

Both Transformers read the same batches of the grammar, English to French, by the same recipe; the
first weights are torch's in the file, Xavier's in the package. The decoder alone is compared with
the package's causal language model, both trained by the file's own `train`.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from attention_book.course.own_file import Grammar, file_at
from attention_book.course.own_file.loading import load
from attention_book.course.recipes import RECIPES, held_out_bleu, trained
from attention_book.models import LanguageConfig, LanguageModel
from attention_book.training import perplexity, xavier_

SPLITS = ("random", "compositional", "length")
HEAD = f"""# The reader's own file beside the package

Made by `python benchmarks/own_file.py` on one core of a shared machine, torch {torch.__version__}.
Times are the processor's.

| seed | | seconds | loss, last 125 steps | BLEU random | compositional | length |
|---|---|---|---|---|---|---|
"""
WRITERS = """
## The decoder alone

The French side of the same data. Perplexity is that of 500 sentences not seen; 200 sentences of 60
words are sampled with top_p = 0.95, by the file of step 16 with the cache and of step 15 without.

| seed | perplexity, the file's | the package's | seconds with the cache | without | texts alike |
|---|---|---|---|---|---|
"""
MY: Any = load(file_at(16))
BEFORE: Any = load(file_at(15))


def translators(seed: int) -> list[str]:
    """Train both Transformers with one seed, and return the rows of the table."""
    grammar, name = Grammar(seed=seed), f"transformer-en-fr-{seed}"
    torch.manual_seed(seed)
    mine = MY.Transformer(*grammar.sizes)
    began = time.process_time()
    losses = MY.train_model(mine, grammar.batches())
    seconds, last = time.process_time() - began, sum(losses[-125:]) / 125
    own = [grammar.bleu(MY.greedy_decode, mine, split) for split in SPLITS]
    began = time.process_time()
    history = trained(RECIPES[name]).reports
    theirs = [held_out_bleu(name, split) for split in SPLITS]
    return [
        row(seed, "own", f"{seconds:.0f}", f"{last:.3f}", *(f"{each:.1f}" for each in own)),
        row("", "package", "", f"{history[-1].loss_per_token:.3f}", *(f"{b:.1f}" for b in theirs)),
        row("", "difference", "", "", *(f"{a - b:+.1f}" for a, b in zip(own, theirs, strict=True))),
    ]


def writers(seed: int) -> str:
    """Train both language models with one seed, let the file's write, and return a row."""
    grammar = Grammar(seed=seed)
    batches = [(target,) for _, target in grammar.batches()]
    held_out = grammar.targets("random")
    torch.manual_seed(seed)
    words = grammar.sizes[1]
    config = LanguageConfig(
        vocabulary=words, d_model=64, num_heads=4, d_ff=128, num_layers=2, dropout=0.0, norm="pre"
    )
    mine, theirs = MY.Writer(words), xavier_(LanguageModel(config))
    found = []
    for model in (mine, theirs):
        MY.train_model(model, batches)
        found.append(f"{perplexity(model.eval(), held_out, held_out != MY.PAD):.3f}")
    slow = BEFORE.Writer(words)
    slow.load_state_dict(mine.state_dict())
    (fast_texts, fast), (slow_texts, slowly) = written(MY, mine), written(BEFORE, slow)
    alike = int((fast_texts == slow_texts).all(1).sum())
    return row(seed, *found, f"{fast:.1f}", f"{slowly:.1f}", f"{alike} of {len(fast_texts)}")


def written(my: Any, model: nn.Module) -> tuple[Tensor, float]:
    """Return texts that a model wrote, and the seconds it took."""
    torch.manual_seed(7)
    began = time.process_time()
    texts = my.continue_text(model, torch.full((200, 1), MY.BOS), 60, 1.0, 0.95)
    return texts, time.process_time() - began


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    seeds = parser.parse_args().seeds
    torch.set_num_threads(1)
    rows = []
    for seed in seeds:
        rows += translators(seed)
        print("\n".join(rows[-3:]), flush=True)
    language = []
    for seed in seeds:
        language.append(writers(seed))
        print(language[-1], flush=True)
    text = HEAD + "\n".join(rows) + "\n" + WRITERS + "\n".join(language) + "\n"
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf8")


if __name__ == "__main__":
    main()
