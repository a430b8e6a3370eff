"""Resuming an interrupted training, after checking that it is the same one."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from attention_book.text import ParallelData
from attention_book.training.checkpoints.checkpoint import (
    CheckpointError,
    load_checkpoint,
    read_checkpoint,
)
from attention_book.training.checkpoints.optimizer_state import optimizer_rest
from attention_book.training.reports import EpochReport


def describe_training(
    optimizer: torch.optim.Optimizer,
    data: ParallelData,
    validation: ParallelData | None,
    **options: Any,
) -> dict[str, Any]:
    """Return all that makes a training this one and no other, as JSON would return it.

    A schedule is a function, which can't be compared: it is only noted whether there is one.
    """
    started_with = optimizer_rest(optimizer)
    settings = {
        "data": _fingerprint(data),
        "validation": None if validation is None else _fingerprint(validation),
        "optimizer": {name: started_with[name] for name in ("kind", "groups")},
        **options,
    }
    plain: dict[str, Any] = json.loads(json.dumps(settings))
    return plain


def resume(
    path: str | Path,
    training: Mapping[str, Any],
    *,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    epochs: int,
) -> list[EpochReport]:
    """Load the checkpoint if there is one; return the reports of the epochs that are done.

    Raises:
        CheckpointError: if it is no checkpoint, or that of another training, or if more
            than ``epochs`` epochs are done. Nothing was changed then.
    """
    if not Path(path).exists():
        return []
    checkpoint = read_checkpoint(path)
    found = checkpoint.extra.get("training")
    if not isinstance(found, dict):
        raise CheckpointError(f"{path}: expected the checkpoint of a training, got another")
    for name in {**training, **found}:  # an option that one of them lacks is None there
        value = training.get(name)
        if found.get(name) != value:
            raise CheckpointError(f"{path}: {name}: expected {value}, got {found.get(name)}")
    if checkpoint.epoch > epochs:
        raise CheckpointError(f"{path}: expected at most {epochs} epochs, got {checkpoint.epoch}")
    load_checkpoint(path, model=model, optimizer=optimizer)
    if scaler.is_enabled():
        scaler.load_state_dict(checkpoint.extra["scaler"])
    return list(checkpoint.reports)


def _fingerprint(data: ParallelData) -> str:
    """Return a line made of all sentences, where they are cut, and both vocabularies."""
    lines = [f"{' '.join(pair.source)}\t{' '.join(pair.target)}" for pair in data.pairs]
    for vocabulary in (data.source_vocabulary, data.target_vocabulary):
        lines.append(" ".join(vocabulary.tokens))
    # Half a surrogate pair, which UTF-8 refuses, is a token like any other here.
    digest = hashlib.sha256("\n".join(lines).encode(errors="surrogatepass"))
    return (
        f"{len(data)} pairs, {data.num_tokens} target tokens, "
        f"max_tokens={data.max_tokens}, {digest.hexdigest()[:16]}"
    )
