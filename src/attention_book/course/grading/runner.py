"""The child's process: it confines itself, then runs what the parent asks for.

The parent speaks over what were standard input and output; what cells print goes to standard error.
"""

import json
import os
import struct
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

from attention_book.course.grading import confine, session
from attention_book.course.grading.peer import Peer
from attention_book.course.grading.wire import MOST_BYTES


class Channel:
    """Frames over two file descriptors: a length of four bytes, and so many bytes."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write

    def send(self, data: bytes) -> None:
        """Send a frame."""
        view = memoryview(struct.pack("<I", len(data)) + data)
        while view:
            view = view[os.write(self._write, view) :]

    def receive(self) -> bytes:
        """Wait for a frame.

        Raises:
            EOFError: if it is longer than any may be.
        """
        (size,) = struct.unpack("<I", self._exactly(4))
        if size > MOST_BYTES:
            raise EOFError("too long")
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = os.read(self._read, size - len(parts))
            if not part:
                os._exit(0)  # the parent is gone
            parts += part
        return bytes(parts)


def start(settings: dict[str, Any], read: int, write: int) -> NoReturn:
    """Confine this process, then serve the parent until one of the two ends.

    Args:
        settings: What the parent sends; see :class:`~attention_book.course.grading.jail.Child`.
        read: The descriptor that the parent writes to.
        write: The descriptor that it reads from.
    """
    home = settings["home"]
    os.environ.clear()
    os.environ.update(
        HOME=home,
        TMPDIR=home,
        USERPROFILE=home,
        PATH="/usr/bin:/bin",
        LANG="C.UTF-8",
        OMP_NUM_THREADS="1",
        MKL_NUM_THREADS="1",
        MPLBACKEND="Agg",
        MPLCONFIGDIR=settings["fonts"] or home,
        PYTHONDONTWRITEBYTECODE="1",
        ATTENTION_BOOK_LANGUAGE=settings["language"],
        **({"ATTENTION_BOOK_DATA": settings["data"]} if settings["data"] else {}),
    )
    os.chdir(home)
    if settings["data"]:
        os.symlink(settings["data"], "data")  # open("data/prices.csv") in a cell
    sys.path[:] = [settings["view"], *(p for p in sys.path if p and p not in settings["without"])]
    sys.argv[:] = ["notebook"]
    sys.setrecursionlimit(3000)
    channel = Channel(read, write)
    peer = Peer(channel.send, channel.receive)
    session.current = session.Session(peer, f"{settings['view']}/attention_book")
    limits = settings["limits"]
    peer.tell("ready", confine.confine(confine.Limits(**limits), namespaces=settings["namespaces"]))
    try:
        while True:
            kind, *values = peer.read()
            peer.serve(kind, values)
    except BaseException as error:
        os.write(2, f"the runner ends: {type(error).__name__}: {error}\n".encode()[:500])
    os._exit(0)


def take_standard_streams() -> tuple[int, int]:
    """Keep standard input and output for the parent; cells get nothing to read, and print to 2."""
    read, write = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return read, write


def warm_up() -> None:
    """Import what every notebook needs, and let it read what it must know of the processor."""
    import torch

    with suppress(ImportError):
        import_module("numpy")
    torch.set_num_threads(1)
    (torch.ones(9, 9) @ torch.ones(9, 9)).softmax(-1)


def main() -> None:
    """Start as a process of its own: the settings come as one line of JSON."""
    read, write = take_standard_streams()
    line = bytearray()
    while not line.endswith(b"\n"):
        line += os.read(read, 1) or os._exit(0)
    warm_up()
    start(json.loads(line), read, write)


if __name__ == "__main__":
    main()
