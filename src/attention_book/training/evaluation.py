"""Evaluation: a translator's loss on some data, without training on it."""

from jaxtyping import Float
from torch import Tensor, nn

from attention_book.models.evaluating import evaluating
from attention_book.models.protocols import Memory, State, Translator
from attention_book.text import Batch, ParallelData
from attention_book.training.loss import loss_per_token


def batch_loss(
    model: Translator[Memory, State], batch: Batch, *, label_smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Return the loss per real token of one batch, with teacher forcing.

    The decoder reads the true words, whatever it would have said itself, and is
    asked for the next one at every place.

    Args:
        model: A translator; the batch is moved to where it lies.
        batch: Some sentence pairs.
        label_smoothing: As in :func:`loss_per_token`.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> from attention_book.text import SentencePair, Vocabulary
    >>> words = Vocabulary.build([("go", ".", "va", "!")])
    >>> data = ParallelData([SentencePair(("go", "."), ("va", "!"))], words, words)
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=8, target_vocabulary=8))
    >>> batch_loss(model, next(data.batches(1))).shape
    torch.Size([])
    """
    if isinstance(model, nn.Module):
        device = next(model.parameters()).device
        batch = batch if batch.source.device == device else batch.to(device)
    memory = model.encode(batch.source, batch.source_mask)
    logits = model.decode(batch.target_input, memory)
    return loss_per_token(
        logits, batch.target_output, batch.target_mask, label_smoothing=label_smoothing
    )


def evaluate_loss(
    model: Translator[Memory, State], data: ParallelData, *, batch_size: int = 128
) -> float:
    """Return the loss per real target token, without dropout, in nats.

    The model is in evaluation mode during the call, without gradients, and as before
    afterwards. Torch's global random numbers are left alone.

    Raises:
        ValueError: if ``batch_size`` is below 1.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> from attention_book.text import SentencePair, Vocabulary
    >>> words = Vocabulary.build([("go", ".", "va", "!")])
    >>> data = ParallelData([SentencePair(("go", "."), ("va", "!"))], words, words)
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=8, target_vocabulary=8))
    >>> evaluate_loss(model, data) > 0
    True
    """
    total = 0.0
    with evaluating(model):
        # "Shuffled", by a fixed seed, so that sentences of similar length go together.
        for batch in data.batches(batch_size, seed=0):
            total += batch_loss(model, batch).item() * batch.num_tokens
    return total / data.num_tokens
