"""Batches made in a thread of their own, while the model computes."""

from collections.abc import Iterable, Iterator
from contextvars import copy_context
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import TypeVar

from attention_book.foundations.checks import check_sizes

Item = TypeVar("Item")

# How long a thread sleeps at most before it looks whether anyone still wants something of it.
_SECONDS = 0.1
_END = object()


class _Failure:
    """What went wrong in the thread."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def prefetched(items: Iterable[Item], depth: int = 4) -> Iterator[Item]:
    """Return the same items in the same order, made ahead of time in a thread.

    The thread begins when the first item is asked for, and ends with the last one, or when the
    caller breaks off; then whatever makes the items is closed, too. An error in it is raised
    where the item would have come.

    Args:
        items: What to make, mostly batches.
        depth: How many of them wait at most.

    Raises:
        ValueError: if the depth is below 1.

    >>> list(prefetched(range(5)))
    [0, 1, 2, 3, 4]
    """
    check_sizes(depth=depth)
    return _prefetched(items, depth)


def _prefetched(items: Iterable[Item], depth: int) -> Iterator[Item]:
    ready: Queue[object] = Queue(depth)
    stop = Event()
    # In the caller's context, so that strict mode holds in the thread as well.
    thread = Thread(target=copy_context().run, args=(_make, items, ready, stop), daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not _END:
            if isinstance(item, _Failure):
                raise item.error
            yield item  # type: ignore[misc]
    finally:
        stop.set()
        _empty(ready)
        thread.join()


def _make(items: Iterable[Item], ready: "Queue[object]", stop: Event) -> None:
    """Make items until there is no more, or nobody wants them."""
    try:
        making = iter(items)
        try:
            for item in making:
                if not _put(item, ready, stop):
                    return
        finally:
            getattr(making, "close", lambda: None)()
        _put(_END, ready, stop)
    except BaseException as error:
        _put(_Failure(error), ready, stop)


def _put(item: object, ready: "Queue[object]", stop: Event) -> bool:
    """Wait until there is room; return whether the item is still wanted."""
    while not stop.is_set():
        try:
            ready.put(item, timeout=_SECONDS)
            return True
        except Full:
            continue
    return False


def _empty(ready: "Queue[object]") -> None:
    while True:
        try:
            ready.get_nowait()
        except Empty:
            return
