"""Kernels that have torch already: one process imports it, and forks itself for each of them.

Starting a kernel and importing all that a chapter imports takes some three seconds, forking one
that has it takes half a second, and the book has forty chapters. Run as a script, this module is
that process. It reads requests from its input, one in a line, and answers each with the number of
a new process.
"""

import gc
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn, cast

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

#: Forking after such imports is sound on Linux; on macOS its system libraries object.
SUPPORTED = sys.platform == "linux"

#: Not pyplot, which would look for IPython at once and find none.
PRELOADED = (
    *("ipykernel.kernelapp", "torch", "jaxtyping", "matplotlib.figure"),
    *("matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg"),
    "torch._dynamo",  # a second, which the first optimizer of a chapter would spend
    *("attention_book.course.recipes", "attention_book.inspection", "sacrebleu"),
)

#: Called once, for they keep what they return: the sentences that a third of the chapters train on
#: take two seconds to draw.
PREPARED = (("attention_book.text", "grammar_corpus"),)


class ForkedProcess:
    """A forked kernel, with what jupyter_client asks of a process."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def wait(self) -> int:
        while self.poll() is None:
            time.sleep(0.05)
        return 0

    def send_signal(self, signum: int) -> None:
        with suppress(ProcessLookupError):  # it has ended by itself
            os.kill(self.pid, signum)


class KernelServer:
    """The process that forks; use it as a context. Its kernels end when it does."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", __file__],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Ctrl-C is for the build, which then ends the kernels; a session of their own would
            # shield them as well, and from `nice` too.
            process_group=0,
        )

    def __enter__(self) -> "KernelServer":
        return self

    def __exit__(self, *error: object) -> None:
        self.process.communicate()  # it ends where its input does

    def adopt(self, manager: AsyncKernelManager) -> None:
        """Have a manager's kernel forked here."""
        manager.provisioner = ForkingProvisioner(
            kernel_id=manager.kernel_id, kernel_spec=manager.kernel_spec, parent=manager
        )
        manager.provisioner.server = self

    def fork(self, command: list[str], environment: dict[str, str], folder: str) -> ForkedProcess:
        """Start a kernel by the command that would have started it anew."""
        arguments = command[command.index("ipykernel_launcher") + 1 :]
        request = {"arguments": arguments, "environment": environment, "folder": folder}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        number = self.process.stdout.readline()
        if not number:
            raise RuntimeError("the process that starts kernels has ended; it has printed why")
        return ForkedProcess(int(number))


class ForkingProvisioner(LocalProvisioner):
    """jupyter_client's own, but for the start."""

    server: KernelServer

    async def launch_kernel(self, cmd: list[str], **options: Any) -> KernelConnectionInfo:
        kernel = self.server.fork(cmd, options["env"], options["cwd"])
        self.process = cast("subprocess.Popen[Any]", kernel)  # it has what is asked of one
        self.pid = self.pgid = kernel.pid
        return self.connection_info


def serve() -> None:
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # no kernel reads our input
    os.dup2(2, 1)  # or writes among our answers
    own = {
        "JPY_PARENT_PID": str(os.getpid()),  # a kernel ends when this process does
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",  # read as matplotlib is imported
    }
    os.environ.update(own)
    for name in PRELOADED:
        with suppress(Exception):  # a chapter that imports it says what is wrong
            import_module(name)
    for name, function in PREPARED:
        with suppress(Exception):
            getattr(import_module(name), function)()
    gc.freeze()  # no kernel need search what was imported here for cycles
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the kernels' exit codes
    for line in requests:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            requests.close()
            answers.close()
            become_kernel(request["arguments"], request["environment"] | own, request["folder"])
        print(pid, file=answers, flush=True)


def become_kernel(arguments: list[str], environment: dict[str, str], folder: str) -> NoReturn:
    from ipykernel.kernelapp import launch_new_instance

    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setpgid(0, 0)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv[1:] = arguments
        launch_new_instance()
    finally:
        os._exit(0)


if __name__ == "__main__":
    serve()
