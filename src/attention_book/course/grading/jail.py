"""Starts a confined child, speaks with it under a clock, ends it."""

import json
import os
import queue
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Protocol

from attention_book.course.grading.confine import Limits
from attention_book.course.grading.view import PACKAGE
from attention_book.course.grading.wire import MOST_BYTES

#: So many bytes of what a notebook prints are kept; the rest is read and dropped.
KEPT_OUTPUT = 64 * 2**10
#: A child that sends more bytes than this to the parent in all is ended.
MOST_TRAFFIC = 1024 * 2**20
#: Bytes of files that a notebook may write in Bubblewrap.
_MOST_FILES = 64 * 2**20
_MODULE = "attention_book.course.grading"


class Ended(KeyboardInterrupt):
    """The child is gone, or was ended.

    As an interruption it passes through all that takes an answer's errors for findings.
    """


class TooSlow(Ended):
    """The child did not answer in time."""


@dataclass(frozen=True)
class Settings:
    """How children are started.

    Attributes:
        view: Folder with what children may import (:func:`~.view.make_view`).
        way: "bwrap" (a new process in Bubblewrap), "fresh" (a new process), "fork" (the server).
        limits: What a notebook may use; the folders are added here.
        language: "zh" or "en".
        fonts: Folder in which matplotlib finds its list of fonts; empty: none.
        data: Folder that notebooks may read, as ``data``; empty: none.
        without: Folders that are left out of the path of imports.
        startup: Seconds that a child may take to start.
    """

    view: Path
    way: str
    limits: Limits = field(default_factory=Limits)
    language: str = "en"
    fonts: str = ""
    data: str = ""
    without: tuple[str, ...] = ()
    startup: float = 60.0


def ways() -> tuple[str, ...]:
    """Return the ways that this system has, the strictest first."""
    if sys.platform != "linux":
        return ("fresh",)
    return ("bwrap", "fork", "fresh") if bubblewrap_works() else ("fork", "fresh")


def bubblewrap_works() -> bool:
    """Whether Bubblewrap is there, and may make namespaces."""
    program = shutil.which("bwrap")
    if program is None:
        return False
    line = [program, "--unshare-all", "--ro-bind", "/", "/", "true"]
    return subprocess.run(line, capture_output=True, check=False).returncode == 0


def readable(hidden: Path) -> tuple[list[str], list[str]]:
    """Return the folders that Python and its libraries lie in, without a folder inside them.

    Where the hidden folder lies in one of them, its neighbours are named one by one.

    Returns:
        What may be read, and the folders that may be listed only.
    """
    wanted = {sys.prefix, sys.base_prefix, "/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache"}
    wanted |= {p for p in sys.path if p.endswith(("site-packages", "dist-packages"))}
    roots = {Path(os.path.realpath(each)) for each in wanted if os.path.exists(each)}
    return _without(hidden, roots)


def _without(hidden: Path, roots: Iterable[Path]) -> tuple[list[str], list[str]]:
    whole: set[Path] = set()
    listed: set[Path] = set()
    for root in roots:
        if not hidden.is_relative_to(root):
            whole.add(root)
            continue
        place = root
        for part in hidden.relative_to(root).parts:
            listed.add(place)
            whole |= set(place.iterdir())
            place = place / part
    # A link (lib64 to lib, say) leads to the folder as well as its name does.
    shown = (each for each in whole if not hidden.is_relative_to(each.resolve()))
    inside = (each for each in shown if not each.resolve().is_relative_to(hidden))
    return sorted(map(str, inside)), sorted(map(str, listed))


class Process(Protocol):
    """What is asked of a child's process, started or forked."""

    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    def kill(self) -> None:
        """End it."""

    def wait(self, timeout: float) -> int | None:
        """Wait until it has ended; return its code where it is known."""


class Child:
    """One child, for one notebook.

    Args:
        settings: How it is started.
        server: The fork server, for that way.

    Attributes:
        deadline: When it has to have answered, by ``time.monotonic()``.
    """

    def __init__(self, settings: Settings, server: "Server | None" = None) -> None:
        self._settings = settings
        self._home = tempfile.mkdtemp(prefix="graded-")
        self._frames: queue.Queue[bytes | None] = queue.Queue(maxsize=4)
        self._output = bytearray()
        self._printed = 0
        self._ended = False
        self.deadline = time.monotonic() + settings.startup
        self.process: Process = self._started(server)
        self._printing = threading.Thread(target=self._read_output, daemon=True)
        self._printing.start()
        threading.Thread(target=self._read_frames, daemon=True).start()

    # --- starting ---------------------------------------------------------------------------

    def _started(self, server: "Server | None") -> Any:
        settings = self._settings
        bubble = settings.way == "bwrap"
        inside = "/home/student" if bubble else self._home
        read, listed = readable(PACKAGE)
        system = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu")
        shown = [str(settings.view), *filter(None, (settings.fonts, settings.data))]
        limits = replace(
            settings.limits,
            read=(*read, *shown, *system),
            listed=tuple(listed),
            write=(inside, "/dev/null", "/dev/urandom", "/dev/zero"),
        )
        sent = {
            "home": inside,
            "view": str(settings.view),
            "without": list(settings.without),
            "limits": asdict(limits),
            "language": settings.language,
            "fonts": settings.fonts,
            "data": settings.data,
            "namespaces": not bubble,
        }
        line = json.dumps(sent).encode() + b"\n"
        if settings.way == "fork":
            assert server is not None
            return server.fork(line)
        command = [sys.executable, "-u", "-m", f"{_MODULE}.runner"]
        if bubble:
            command = [*self._bubblewrap(inside, [*read, *listed, *shown]), *command]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(settings.view),
            cwd=self._home,
            start_new_session=True,
        )
        assert process.stdin is not None
        try:
            process.stdin.write(line)
            process.stdin.flush()
        except BrokenPipeError:  # it did not start; whoever waits for it is told
            pass
        return process

    def _bubblewrap(self, inside: str, shown: list[str]) -> list[str]:
        """Return the command of Bubblewrap: its own namespaces, what it may read and write."""
        command = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
        for name, value in _environment(self._settings.view).items():
            command += ["--setenv", name, value]
        command += ["--hostname", "grading", "--unshare-user", "--uid", "1000", "--gid", "1000"]
        command += ["--cap-drop", "ALL"]
        # First, for Python may lie below it.
        command += ["--size", str(_MOST_FILES), "--tmpfs", tempfile.gettempdir()]
        hidden = os.path.realpath(PACKAGE)
        for path in _outermost(shown):
            command += ["--ro-bind", path, path]
            if hidden.startswith(path + os.sep):
                command += ["--tmpfs", hidden]
        command += ["--proc", "/proc", "--dev", "/dev"]
        command += ["--ro-bind-try", "/sys/devices/system/cpu", "/sys/devices/system/cpu"]
        command += ["--perms", "0777", "--size", str(_MOST_FILES), "--tmpfs", inside]
        command += ["--chdir", inside]
        for link in ("lib", "lib64", "bin"):
            if os.path.islink(f"/{link}"):
                command += ["--symlink", os.readlink(f"/{link}"), f"/{link}"]
        return command

    # --- speaking ---------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Send a frame; a child that does not read it can't hold the parent up.

        Raises:
            TooSlow: if it was not read in time.
            Ended: if the child is gone.
        """
        frame = memoryview(struct.pack("<I", len(data)) + data)
        descriptor = self.process.stdin.fileno()
        if sys.platform != "win32":
            os.set_blocking(descriptor, False)
        while frame:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise TooSlow
            if sys.platform != "win32" and not select.select([], [descriptor], [], left)[1]:
                raise TooSlow
            try:
                frame = frame[os.write(descriptor, frame) :]
            except BlockingIOError:
                continue
            except OSError:
                raise Ended from None

    def receive(self) -> bytes:
        """Wait for a frame.

        Raises:
            TooSlow: if none came before the deadline.
            Ended: if the child is gone.
        """
        left = self.deadline - time.monotonic()
        try:
            frame = self._frames.get(timeout=max(left, 0.001))
        except queue.Empty:
            raise TooSlow from None
        if frame is None:
            raise Ended
        return frame

    def _read_frames(self) -> None:
        with suppress(OSError, ValueError):
            for data in _frames(self.process.stdout):
                self._put(data)
        self._put(None)

    def _put(self, frame: bytes | None) -> None:
        while not self._ended:
            try:
                return self._frames.put(frame, timeout=1)
            except queue.Full:
                continue

    def _read_output(self) -> None:
        with suppress(OSError, ValueError):
            while part := os.read(self.process.stderr.fileno(), 2**16):
                self._printed += len(part)
                if len(self._output) < KEPT_OUTPUT:
                    self._output += part[: KEPT_OUTPUT - len(self._output)]

    def text(self) -> str:
        """Return what was printed, with a note where it was cut."""
        text = self._output.decode("utf8", "replace")
        cut = self._printed - len(self._output)
        return text + (f"\n… +{cut} bytes" if cut > 0 else "")

    # --- ending -----------------------------------------------------------------------------

    def finish(self) -> None:
        """Let the child end by itself, and read the last of what it printed."""
        with suppress(OSError, ValueError):
            self.process.stdin.close()
        self._printing.join(timeout=2)

    def close(self) -> None:
        """End the child and all it has started; leave nothing behind."""
        if self._ended:
            return
        self._ended = True
        process = self.process
        if isinstance(process, subprocess.Popen) and sys.platform != "win32":
            _quietly(lambda: os.killpg(process.pid, signal.SIGKILL))
        _quietly(process.kill)
        with suppress(subprocess.TimeoutExpired):
            process.wait(10.0)
        for stream in (process.stdin, process.stdout, process.stderr):
            with suppress(OSError, ValueError):
                stream.close()
        shutil.rmtree(self._home, ignore_errors=True)


def _quietly(kill: Callable[[], None]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        kill()


def _environment(view: Path) -> dict[str, str]:
    return {
        "PYTHONPATH": str(view),
        "PYTHONIOENCODING": "utf8:replace",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "PATH": "/usr/bin:/bin",
    }


def _outermost(paths: list[str]) -> list[str]:
    """Return the paths that lie in none of the others."""
    found: list[str] = []
    for path in sorted(set(paths)):
        if not any(path.startswith(each.rstrip(os.sep) + os.sep) for each in found):
            found.append(path)
    return found


def _frames(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the frames of a stream, up to the first that is cut off or too long."""
    total = 0
    while len(head := stream.read(4)) == 4:
        (size,) = struct.unpack("<I", head)
        total += size
        if size > MOST_BYTES or total > MOST_TRAFFIC:
            return
        data = stream.read(size)
        if len(data) < size:
            return
        yield data


class Server:
    """The fork server as seen from the parent (Linux).

    Args:
        settings: Those of the children.
    """

    def __init__(self, settings: Settings) -> None:
        self._control, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{_MODULE}.server"],
            stdin=theirs.fileno(),
            cwd="/",
            env=_environment(settings.view),
        )
        theirs.close()
        self._lock = threading.Lock()
        if self._control.recv(5) != b"ready":
            raise Ended("the fork server did not start")

    def fork(self, line: bytes) -> "Forked":
        """Return a new child that starts with this line of settings."""
        pipes = [os.pipe() for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        ours = (pipes[0][1], pipes[1][0], pipes[2][0])
        with self._lock:
            socket.send_fds(self._control, [line], theirs)
            _, descriptors, _, _ = socket.recv_fds(self._control, 100, 1)
        for descriptor in theirs:
            os.close(descriptor)
        return Forked(descriptors[0], *ours)

    def close(self) -> None:
        """End it."""
        self._control.close()
        self._process.wait(10.0)


class Forked:
    """A child of the fork server."""

    def __init__(self, process: int, stdin: int, stdout: int, stderr: int) -> None:
        self._process = process
        self.stdin: IO[bytes] = os.fdopen(stdin, "wb", 0)
        self.stdout: IO[bytes] = os.fdopen(stdout, "rb")
        self.stderr: IO[bytes] = os.fdopen(stderr, "rb", 0)

    def kill(self) -> None:
        """End it."""
        signal.pidfd_send_signal(self._process, signal.SIGKILL)  # type: ignore[attr-defined,unused-ignore]

    def wait(self, timeout: float) -> int | None:
        """Wait until it has ended; its code goes to the server."""
        if self._process >= 0:
            select.select([self._process], [], [], timeout)
            os.close(self._process)
            self._process = -1
        return None
