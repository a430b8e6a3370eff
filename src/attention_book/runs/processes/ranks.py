"""Who trains: one process alone, or several that were started together (by torchrun)."""

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from attention_book.runs.folder import MachineError, RunError

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

    Raises:
        MachineError: if there is no GPU to compute on.

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
    Python must never get to it. The operating system closes the connections.
    """
    for group in groups:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(group))


def device_named(name: str, local_rank: int = 0) -> torch.device:
    """Return the device that a name means in this process.

    Args:
        name: "cpu", "cuda", "mps" (Apple's GPU), or "auto": "cuda" if there is one, else the CPU.
        local_rank: Which of this machine's processes it is.

    Raises:
        MachineError: if there is no such device here.

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


__all__ = ["RESTARTS_VARIABLE", "TIMEOUT_VARIABLE", "Ranks", "device_named", "joined"]
