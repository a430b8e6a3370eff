"""The model as one process of several holds it: a copy (DDP), or a share of it (FSDP2)."""

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from inspect import signature
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from attention_book.foundations.checks import is_strict, strict
from attention_book.models import DecoderLayer, SelfAttentionLayer
from attention_book.runs.processes.ranks import Ranks
from attention_book.text import Batch
from attention_book.training import BatchLoss, batch_loss
from attention_book.training.descent import LossFn


class TeacherForced(nn.Module):
    """A translator as a function from a batch to its loss, the one call that several wrap.

    Args:
        model: The translator.

    >>> import torch
    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=8, target_vocabulary=8))
    >>> words, real = torch.tensor([[2, 5]]), torch.ones(1, 2, dtype=torch.bool)
    >>> TeacherForced(model)(Batch(words, real, words, words, real)).shape
    torch.Size([])
    """

    def __init__(self, model: nn.Module) -> None:
        """Keep the model."""
        super().__init__()
        self.model = model

    def forward(self, batch: Batch, label_smoothing: float = 0.0) -> Float[Tensor, ""]:
        """Return the mean loss of the real target tokens; 0 where there is none."""
        model: Any = self.model
        return batch_loss(model, batch, label_smoothing=label_smoothing)


class Replica:
    """A model that one or several processes train: each computes the loss of its own batches.

    Args:
        model: The translator, on the device of this process; ``sharded`` changes it in place.
        ranks: Who trains.
        sharded: Whether the processes share one copy of the weights.
        compiled: Whether ``torch.compile`` prepares it.
        label_smoothing: As in :func:`~attention_book.training.loss_per_token`.

    Attributes:
        plain: The model with its loss, for validation, without any synchronizing of gradients.
    """

    def __init__(
        self,
        model: nn.Module,
        ranks: Ranks,
        *,
        sharded: bool = False,
        compiled: bool = False,
        label_smoothing: float = 0.0,
    ) -> None:
        """Wrap the model."""
        self._ranks, self._label_smoothing = ranks, label_smoothing
        self.plain = TeacherForced(model)
        self._module: Any = self.plain
        if ranks.world > 1:
            wrap = _sharded if sharded else _copied
            self._module = wrap(self.plain, ranks)
        self._call: Any = self._module
        if compiled:
            self._call = torch.compile(self._module, dynamic=True)

    def losses(
        self, batches: Sequence[Batch], counts: Sequence[int], whole: int | float
    ) -> Iterator[LossFn]:
        """Yield the losses of this process's share of a step.

        Each batch weighs what its real tokens are of the ``whole`` number, in all batches of all
        processes. So the mean of the losses over batches and processes is the mean over all
        tokens, and the mean of their gradients is its gradient. The processes synchronize their
        gradients with the last batch, and not before.
        """
        copies = len(batches) * self._ranks.world
        for place, (batch, count) in enumerate(zip(batches, counts, strict=True), start=1):
            share = count * copies / whole
            with self._alone() if place < len(batches) else nullcontext():
                self._synchronize(place == len(batches))
                yield partial(self._loss, batch, share)

    def _loss(self, batch: Batch, share: float) -> BatchLoss:
        with strict(is_strict() and share > 0):  # a batch without tokens is no mistake here
            mean = self._call(batch, self._label_smoothing)
        return BatchLoss(mean * share, 1)

    def _alone(self) -> AbstractContextManager[Any]:
        if isinstance(self._module, DistributedDataParallel):
            alone: AbstractContextManager[Any] = self._module.no_sync()
            return alone
        return nullcontext()

    def _synchronize(self, wanted: bool) -> None:
        if hasattr(self._module, "set_requires_gradient_sync"):  # FSDP2
            self._module.set_requires_gradient_sync(wanted)


def _copied(module: nn.Module, ranks: Ranks) -> nn.Module:
    # Buffers are tables that grow with the longest sentence that a process has seen: its own.
    newer = "forward_sync_buffers" in signature(DistributedDataParallel).parameters
    name = "forward_sync_buffers" if newer else "broadcast_buffers"
    options: dict[str, Any] = {name: False}
    return DistributedDataParallel(module, **options)


def _sharded(module: nn.Module, ranks: Ranks) -> nn.Module:
    # Here, for they take long to import, and most runs need none of them.
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    # It warns of additions in place to what a part returns. Ours are never in place.
    warnings.filterwarnings("ignore", message="FSDP2-wrapped module", category=UserWarning)
    mesh = init_device_mesh(ranks.device.type, (ranks.world,))
    for part in parts_to_shard(module):
        fully_shard(part, mesh=mesh)
    fully_shard(module, mesh=mesh)
    return module


def parts_to_shard(module: nn.Module) -> list[nn.Module]:
    """Return the parts whose weights are gathered when their turn comes, and not before.

    They are called as functions, and share no weights with others (as positions may be). What is
    left over is gathered for the whole step: embeddings, and the attention to the source, which
    the decoder asks for keys and values before its turn.

    >>> from attention_book.models import Transformer, TransformerConfig
    >>> model = Transformer(TransformerConfig(source_vocabulary=9, target_vocabulary=9))
    >>> [type(part).__name__ for part in parts_to_shard(model)][::2]
    ['SelfAttentionLayer', 'MultiHeadAttention', 'MultiHeadAttention']
    """
    parts: list[nn.Module] = []
    for layer in module.modules():
        if isinstance(layer, SelfAttentionLayer):
            parts.append(layer)
        elif isinstance(layer, DecoderLayer):
            parts += [layer.self_attention, layer.feed_forward]
    owners = Counter(id(p) for part in parts for p in part.parameters())
    return [part for part in parts if all(owners[id(p)] == 1 for p in part.parameters())]
