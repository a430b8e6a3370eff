"""The fork server: imports torch once, and forks a child for each notebook (Linux).

It never runs a student's code: the child confines itself before it does. It starts with one end of
a socket as standard input; a request is a line of JSON with three descriptors (in, out, err); the
answer is the child's process as a descriptor.
"""

import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from typing import NoReturn

from attention_book.course.grading import runner


def main() -> None:
    """Serve until the parent closes its end."""
    control = socket.socket(fileno=os.dup(0))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    runner.warm_up()
    control.send(b"ready")
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 2**20, 3)
        if not message:
            return
        child = os.fork()
        if child == 0:
            try:
                control.close()
                _become(message, descriptors)
            finally:
                os._exit(1)
        process = os.pidfd_open(child)
        socket.send_fds(control, [b"%d" % child], [process])
        os.close(process)
        for descriptor in descriptors:
            os.close(descriptor)


def _become(message: bytes, descriptors: Sequence[int]) -> NoReturn:
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for place, descriptor in enumerate(descriptors):
        os.dup2(descriptor, place)
        os.close(descriptor)
    sys.stdin = os.fdopen(0, "r", closefd=False)
    sys.stdout, sys.stderr = (
        os.fdopen(number, "w", 1, encoding="utf8", errors="replace", closefd=False)
        for number in (1, 2)
    )
    read, write = runner.take_standard_streams()
    runner.start(json.loads(message), read, write)


if __name__ == "__main__":
    main()
