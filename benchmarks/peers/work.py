"""How much there is to do: operations, and bytes that must be moved at least."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformer import Batch

from attention_book.foundations import strict
from attention_book.models import Transformer
from attention_book.models.transformer import TransformerState
from attention_book.training import loss_per_token
from peers.sizes import Plan, settings

BYTES = 4  # a number in single precision


@dataclass(frozen=True)
class Work:
    """What a task cannot do without.

    Attributes:
        operations: Multiplications and additions of its matrix products.
        num_bytes: Read and written at least, if nothing stayed in the caches but what a single
            operation reads twice.
    """

    operations: int
    num_bytes: int


def training_work(plan: Plan) -> Work:
    """Return the work of a training step.

    Weights are read by the forward and by the backward pass, gradients written once; Adam
    reads weight, gradient and two means, and writes weight and means.
    """
    with torch.device("meta"):
        batch, model = Batch(plan.size), _model(plan)

        def step() -> None:
            logits = model(batch.source, batch.mask, batch.target_input)
            loss_per_token(logits, batch.target, batch.mask).backward()

        operations = _counted(step)
    num_weights = sum(each.numel() for each in model.parameters())
    return Work(operations, (2 + 1 + 7) * num_weights * BYTES)


def decoding_work(plan: Plan, *, width: int = 1) -> Work:
    """Return the work of reading the sources and writing tokens, keys and values kept.

    At every step the decoder's weights are read, those excepted that only the source's keys
    and values need, and so are all keys and values; the new ones are written.
    """
    size, rows = plan.size, plan.num_sources * width
    with torch.device("meta"):
        source = torch.zeros(plan.num_sources, size.tokens, dtype=torch.long)
        model = _model(plan).eval()
        token = torch.zeros(rows, dtype=torch.long)
        repeated = torch.zeros(rows, dtype=torch.long)

        @torch.no_grad()
        def write() -> None:
            state: TransformerState = model.start(model.encode(source, source >= 0))
            state = state.select(repeated)
            for _ in range(plan.num_tokens):
                _, state = model.step(token, state)

        operations = _counted(write)
    decoder = [*model.decoder.layers.parameters(), model.readout.weight]
    unread = size.num_layers * 2 * size.d_model**2
    weights = sum(each.numel() for each in decoder) - unread
    written = plan.num_tokens * (plan.num_tokens + 1) // 2
    keys_and_values = 2 * size.num_layers * size.d_model * rows
    kept = keys_and_values * (written + plan.num_tokens * size.tokens)
    encoder = sum(each.numel() for each in model.encoder.layers.parameters())
    return Work(operations, (plan.num_tokens * weights + kept + encoder) * BYTES)


def _model(plan: Plan) -> Transformer:
    return Transformer(settings(plan.size.config(), biases=True, endless=True))


def _counted(program: Callable[[], object]) -> int:
    """Count a program's operations; attention is written out, for the counter to see it."""
    counter = FlopCounterMode(display=False)
    with strict(False), sdpa_kernel(SDPBackend.MATH), counter:  # no data, so none to be checked
        program()
    return counter.get_total_flops()
