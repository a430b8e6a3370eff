"""Training as a generator: the loop belongs to the caller."""

from attention_book.training.checkpoints.checkpoint import (
    Checkpoint,
    CheckpointError,
    load_checkpoint,
    read_checkpoint,
    save_checkpoint,
)
from attention_book.training.classifying import fit_classifier
from attention_book.training.descent import BatchLoss, descend
from attention_book.training.evaluation import batch_loss, evaluate_loss
from attention_book.training.forecasting import WarmForecaster, train_forecaster
from attention_book.training.initialise import xavier_
from attention_book.training.loss import (
    hidden_token_loss,
    loss_per_token,
    next_token_loss,
    perplexity,
    token_losses,
)
from attention_book.training.progress import progress
from attention_book.training.reports import EpochReport, Report
from attention_book.training.schedule import inverse_square_root_schedule, linear_schedule
from attention_book.training.stopping import EarlyStopping
from attention_book.training.trainer import fit

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
    "evaluate_loss",
    "fit",
    "fit_classifier",
    "hidden_token_loss",
    "inverse_square_root_schedule",
    "linear_schedule",
    "load_checkpoint",
    "loss_per_token",
    "next_token_loss",
    "perplexity",
    "progress",
    "read_checkpoint",
    "save_checkpoint",
    "token_losses",
    "train_forecaster",
    "xavier_",
]
