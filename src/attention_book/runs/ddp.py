"""Several processes that train one model together: copies (DDP), or shares of it (FSDP2)."""

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from inspect import signature
from threading import Event, Thread
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from attention_book.foundations.checks import is_strict, strict
from attention_book.models import Layer
from attention_book.runs.folder import MachineError, RunError
from attention_book.text import Batch, PackedBatch
from attention_book.training import BatchLoss, batch_loss, packed_loss
from attention_book.training.loop import LossFn

Result = TypeVar("Result")

#: How many seconds a process waits for the others within a step; then all end.
TIMEOUT_VARIABLE = "ATTENTION_BOOK_TIMEOUT"
_TIMEOUT = 600
#: What torchrun counts: how often it has started the processes anew.
RESTARTS_VARIABLE = "TORCHELASTIC_RESTART_COUNT"
# While the first process prepares a corpus, the others wait much longer.
_PATIENCE = timedelta(days=7)


@dataclass(frozen=True)
class Ranks:
    """One of the processes that train together; by default one alone.

    Attributes:
        rank: Which one this is, from 0. The first one alone writes files.
        world: How many there are.
        device: What this one computes on.
        patient: Its group for what may take long; None: it is alone.

    >>> Ranks().first(lambda: "written"), Ranks().total([1.5, 2])
    ('written', [1.5, 2.0])
    """

    rank: int = 0
    world: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    patient: Any = None

    def first(self, act: Callable[[], Result]) -> Result | None:
        """Let the first process act while the others wait; they get None.

        Raises:
            RunError: in the others, if it failed in the first, where its own error is raised.
        """
        if self.world == 1:
            return act()
        result: Result | None = None
        failed: list[str | None] = [None]
        error: BaseException | None = None
        if self.rank == 0:
            try:
                result = act()
            except Exception as caught:
                error, failed = caught, [str(caught)]
        dist.broadcast_object_list(failed, src=0, group=self.patient)
        if error is not None:
            raise error
        if failed[0] is not None:
            raise RunError(failed[0])
        return result

    def total(self, numbers: Sequence[int | float]) -> list[float]:
        """Return the sums of the numbers over all processes, the same in each."""
        sums = torch.tensor(numbers, dtype=torch.float64)
        if self.world > 1:
            dist.all_reduce(sums)
        found: list[float] = sums.tolist()
        return found

    def gathered(self, thing: Result) -> list[Result]:
        """Return what all processes have, by rank."""
        if self.world == 1:
            return [thing]
        found: list[Any] = [None] * self.world
        dist.all_gather_object(found, thing, group=self.patient)
        return found

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Turn what torch says where another process has died into one clear error.

        Raises:
            MachineError: if another process no longer answers.
        """
        try:
            yield
        except RuntimeError as error:
            if self.world == 1 or not _is_of_the_others(error):
                raise
            reason = str(error).strip().partition("\n")[0].partition(". ")[0]
            raise MachineError(
                f"processes: expected all {self.world} to answer, got none from one of them, "
                f"which has died or hangs ({reason})"
            ) from error


@contextmanager
def joined(device: str) -> Iterator[Ranks]:
    """Join the processes that were started together, as torchrun's environment says; or be alone.

    Args:
        device: As in :func:`device_named`.

    >>> with joined("cpu") as ranks:
    ...     ranks.rank, ranks.world, ranks.device
    (0, 1, device(type='cpu'))
    """
    world = int(os.environ.get("WORLD_SIZE", 1))
    rank = int(os.environ.get("RANK", 0))
    if world == 1:
        yield Ranks(device=device_named(device))
        return
    own = device_named(device, int(os.environ.get("LOCAL_RANK", rank)))
    timeout = timedelta(seconds=float(os.environ.get(TIMEOUT_VARIABLE, _TIMEOUT)))
    begun = not dist.is_initialized()
    if begun:
        backend = "cpu:gloo,cuda:nccl" if own.type == "cuda" else "gloo"
        store = _store(world, timeout)
        known = {} if store is None else {"store": store, "rank": rank, "world_size": world}
        dist.init_process_group(backend, timeout=timeout, **known)
    groups = [dist.group.WORLD, dist.new_group(backend="gloo", timeout=_PATIENCE)]
    try:
        yield Ranks(rank, world, own, groups[1])
    except MachineError:
        _leave_open(groups)
        raise
    except BaseException:
        _close(begun)
        raise
    _close(begun)


def _store(world: int, timeout: timedelta) -> dist.Store | None:
    """Return where the processes find each other; None: where torch says.

    When torchrun starts them anew, in its store still stand the addresses of those that are gone,
    and torch 2.13 takes them for the new ones. So every start gets names of its own.
    """
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return None
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    kinds: Any = dist
    store = kinds.TCPStore(host, port, world, is_master=False, timeout=timeout)
    own: dist.Store = kinds.PrefixStore(f"start {os.environ.get(RESTARTS_VARIABLE, 0)}", store)
    return own


def _close(begun: bool) -> None:
    if begun:
        dist.destroy_process_group()


def _leave_open(groups: Sequence[object]) -> None:
    """Keep groups for as long as this process lives, and while it ends.

    To take down a group of which a process has died, gloo sometimes waits for it forever; so
    Python must never get to it: a thread that sleeps to the end holds them. The operating system
    closes the connections.
    """
    Thread(target=lambda held: Event().wait(), args=(groups,), daemon=True).start()


def device_named(name: str, local_rank: int = 0) -> torch.device:
    """Return the device that a name means in this process.

    Args:
        name: "cpu", "cuda", "mps" (Apple's GPU), or "auto": "cuda" if there is one, else the CPU.
        local_rank: Which of this machine's processes it is.

    >>> device_named("cpu", 3)
    device(type='cpu')
    """
    if name == "mps":
        if not torch.backends.mps.is_available():
            raise MachineError('device: expected Apple\'s GPU for "mps", got none')
        return torch.device("mps")
    if name == "cpu" or (name == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise MachineError('device: expected a GPU for "cuda", got none that torch can use')
    if local_rank >= torch.cuda.device_count():
        raise MachineError(
            f"device: expected a GPU for each process, got {torch.cuda.device_count()}"
        )
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)


def _is_of_the_others(error: RuntimeError) -> bool:
    """Whether torch complains of another process; gloo has no error of its own."""
    named = ("gloo", "NCCL", "Connection closed by peer", "Connection reset by peer")
    return isinstance(error, dist.DistError) or any(name in str(error) for name in named)


def whole(tensor: Tensor) -> Tensor:
    """Return a tensor whole. All processes must ask, for each has a part of it.

    >>> whole(torch.tensor([1, 2]))
    tensor([1, 2])
    """
    put_together: Any = getattr(tensor, "full_tensor", None)
    found: Tensor = put_together() if put_together else tensor
    return found


def like(tensor: Tensor, pattern: Tensor) -> Tensor:
    """Return of a whole tensor what this process has of the pattern, on its device.

    >>> like(torch.tensor([1, 2]), torch.zeros(2))
    tensor([1, 2])
    """
    mesh: Any = getattr(pattern, "device_mesh", None)
    if mesh is None or tensor.ndim != pattern.ndim:  # a count of steps is everybody's
        return tensor.to(pattern.device)
    from torch.distributed.tensor import distribute_tensor

    placements: Any = getattr(pattern, "placements", None)
    part: Tensor = distribute_tensor(
        tensor.to(pattern.device), mesh, placements, src_data_rank=None
    )
    return part


def whole_state(model: nn.Module) -> dict[str, Tensor]:
    """Return parameters and buffers, whole, on the CPU.

    >>> [name for name in whole_state(nn.Linear(2, 2))]
    ['weight', 'bias']
    """
    return {name: whole(value.detach()).cpu() for name, value in model.state_dict().items()}


def fill(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give a model the weights of :func:`whole_state`; both must have the same names and shapes.

    >>> one, other = nn.Linear(2, 2), nn.Linear(2, 2)
    >>> fill(one, whole_state(other))
    >>> torch.equal(one.weight, other.weight)
    True
    """
    with torch.no_grad():
        for name, value in model.state_dict().items():
            value.copy_(like(weights[name], value))


class TeacherForced(nn.Module):
    """A model as a function from a batch to its loss, the one call that several wrap.

    Args:
        model: A translator, or a language model.

    >>> import torch
    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=8, target_vocabulary=8))
    >>> words, real = torch.tensor([[2, 5]]), torch.ones(1, 2, dtype=torch.bool)
    >>> TeacherForced(model)(Batch(words, real, words, words, real)).shape
    torch.Size([])
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, batch: Batch | PackedBatch, label_smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """Return the mean loss of the real target tokens; 0 where there is none."""
        model: Any = self.model
        if isinstance(batch, PackedBatch):
            return packed_loss(model, batch, label_smoothing=label_smoothing)
        return batch_loss(model, batch, label_smoothing=label_smoothing)


class Replica:
    """A model that one or several processes train: each computes the loss of its own batches.

    Args:
        model: The model, on the device of this process; ``sharded`` changes it in place.
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
        self, batches: Sequence[Batch | PackedBatch], counts: Sequence[int], whole: int | float
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

    def _loss(self, batch: Batch | PackedBatch, share: float) -> BatchLoss:
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
    ['Layer', 'MultiHeadAttention', 'MultiHeadAttention']
    """
    parts: list[nn.Module] = []
    for layer in module.modules():
        if isinstance(layer, Layer) and hasattr(layer, "cross_attention"):
            parts += [layer.self_attention, layer.feed_forward]
        elif isinstance(layer, Layer):
            parts.append(layer)
    owners = Counter(id(p) for part in parts for p in part.parameters())
    return [part for part in parts if all(owners[id(p)] == 1 for p in part.parameters())]
