"""Training as a generator: the loop belongs to the caller."""

from attention_book.training.checkpoint import (
    Checkpoint,
    CheckpointError,
    EpochReport,
    Report,
    load_checkpoint,
    read_checkpoint,
    save_checkpoint,
)
from attention_book.training.forecasting import WarmForecaster, train_forecaster
from attention_book.training.loop import (
    BatchLoss,
    EarlyStopping,
    descend,
    fit,
    fit_classifier,
    progress,
    xavier_,
)
from attention_book.training.loss import (
    batch_loss,
    evaluate_loss,
    hidden_token_loss,
    loss_per_token,
    next_token_loss,
    packed_loss,
    perplexity,
    token_losses,
)
from attention_book.training.masked_diffusion import diffusion_loss, hide_words
from attention_book.training.schedule import inverse_square_root_schedule, linear_schedule

__all__ = [
    "BatchLoss",
    "Checkpoint",
    "CheckpointError",
    "EarlyStopping",
    "EpochReport",
    "Report",
    "WarmForecaster",
    "batch_loss",
    "descend",
    "diffusion_loss",
    "evaluate_loss",
    "fit",
    "fit_classifier",
    "hidden_token_loss",
    "hide_words",
    "inverse_square_root_schedule",
    "linear_schedule",
    "load_checkpoint",
    "loss_per_token",
    "next_token_loss",
    "packed_loss",
    "perplexity",
    "progress",
    "read_checkpoint",
    "save_checkpoint",
    "token_losses",
    "train_forecaster",
    "xavier_",
]
