"""A training small enough to be begun in every test; a grammar that says little."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from attention_book.runs import DataSettings, ModelSettings, RunSettings, TrainingSettings, corpus
from attention_book.text import grammar_corpus

Make = Callable[..., RunSettings]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """A file of sixty sentence pairs, the target backwards."""
    words = [chr(ord("a") + number) * 2 for number in range(20)]
    dice = torch.Generator().manual_seed(5)
    lines = []
    for _ in range(60):
        length = int(torch.randint(1, 10, (), generator=dice))
        drawn = [words[n] for n in torch.randint(20, (length,), generator=dice).tolist()]
        lines.append(f"{' '.join(drawn)}\t{' '.join(reversed(drawn))}\n")
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def make(pairs: Path) -> Make:
    """A function that returns settings: six steps, a checkpoint after every second, dropout."""
    sizes = {"d_model": 12, "num_heads": 2, "d_ff": 12, "num_layers": 1, "dropout": 0.3}
    base = RunSettings(
        data=DataSettings(corpus=None, train=(str(pairs),), held_out=0.15),
        model=ModelSettings(config=sizes),
        training=TrainingSettings(
            epochs=None,
            steps=6,
            batch_size=5,
            checkpoint_every=2,
            validate_every=2,
            warmup=2,
            device="cpu",
        ),
    )

    def changed(**changes: object) -> RunSettings:
        return replace(base, training=replace(base.training, **changes))

    return changed


@pytest.fixture
def few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw few sentences of the grammar, for they take their time."""
    monkeypatch.setattr(corpus, "grammar_corpus", partial(grammar_corpus, num_test=20))
