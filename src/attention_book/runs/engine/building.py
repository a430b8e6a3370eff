"""From settings to what is trained: the model, its optimizer, and how the learning rate runs."""

from typing import Any

import torch
from torch import nn

from attention_book.models import Seq2Seq, Seq2SeqConfig, Transformer
from attention_book.runs.codec import TextCodec
from attention_book.runs.settings import ModelSettings, TrainingSettings
from attention_book.training import inverse_square_root_schedule, linear_schedule, xavier_
from attention_book.training.schedule import Schedule

#: What the forward pass is computed in, where that is safe; None: in the weights' own type.
DTYPES: dict[str, torch.dtype | None] = {
    "float32": None,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


def build_model(settings: ModelSettings, codec: TextCodec) -> Transformer | Seq2Seq:
    """Return a new model for the vocabularies of a codec, drawn from torch's random numbers.

    >>> from attention_book.runs.settings import TextSettings
    >>> codec = TextCodec.learn([("Go.", "Va !")], TextSettings(), ("en", "fr"))
    >>> build_model(ModelSettings(), codec).config.target_vocabulary
    6
    """
    config = settings.model_config(
        source_vocabulary=len(codec.source_vocabulary),
        target_vocabulary=len(codec.target_vocabulary),
    )
    model = Seq2Seq(config) if isinstance(config, Seq2SeqConfig) else Transformer(config)
    return xavier_(model) if settings.xavier else model


def build_optimizer(model: nn.Module, settings: TrainingSettings) -> torch.optim.Optimizer:
    """Return AdamW (Loshchilov and Hutter 2019); without decay it is Adam.

    >>> build_optimizer(nn.Linear(2, 2), TrainingSettings(betas=(0.9, 0.98))).defaults["betas"]
    (0.9, 0.98)
    """
    options: dict[str, Any] = {"betas": settings.betas, "weight_decay": settings.weight_decay}
    return torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, fused=True, **options)


def build_schedule(settings: TrainingSettings, num_steps: int) -> Schedule:
    """Return what to multiply the learning rate by in a step: 1 at its peak.

    A training that is shorter than its warm-up rises to the last step.

    >>> settings = TrainingSettings(schedule="constant", warmup=4)
    >>> [build_schedule(settings, 9)(step) for step in (1, 2, 4, 9)]
    [0.25, 0.5, 1.0, 1.0]
    """
    warmup = min(settings.warmup, num_steps)
    if settings.schedule == "linear":
        return linear_schedule(num_steps=num_steps, warmup=warmup)
    if settings.schedule == "inverse-square-root":
        return inverse_square_root_schedule(warmup=warmup)
    return lambda step: min(1.0, step / warmup) if warmup else 1.0
