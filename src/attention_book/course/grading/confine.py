"""Limits that a process lays on itself, once and for all, before it runs what others wrote.

Everywhere: limits of CPU, memory and files, as far as ``resource`` has them. On Linux also, without
privileges: no new privileges, Landlock (which files; no TCP; no signals to others), seccomp (no new
process, no new program, no socket, no tracing), and where the kernel allows it a network of its
own. :func:`confine` says what took effect; the caller decides whether that is enough.

The numbers are those of the kernel's headers (``linux/landlock.h``, ``linux/seccomp.h``,
``linux/filter.h``, the tables of system calls). Needs the standard library alone.
"""

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass

_NO_NEW_PRIVILEGES, _DEATH_SIGNAL = 38, 1


@dataclass(frozen=True)
class Limits:
    """What a notebook may use.

    Attributes:
        cpu_seconds: Of processor time, in all.
        memory: Bytes of private memory; addresses may be three times as many.
        file_size: Bytes of one file.
        open_files: At a time.
        processes: Threads count; the superuser is not bound by it.
        read: Folders and files that it may read.
        listed: Folders whose names it may list besides.
        write: Folders and files that it may change.
    """

    cpu_seconds: int = 120
    memory: int = 1_500 * 2**20
    file_size: int = 16 * 2**20
    open_files: int = 256
    processes: int = 64
    read: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    write: tuple[str, ...] = ()


def confine(limits: Limits, *, namespaces: bool = False) -> dict[str, str]:
    """Confine this process and all its threads.

    Args:
        limits: What is still allowed.
        namespaces: Whether to enter namespaces of its own for network and queues.

    Returns:
        For each layer "yes" or more, or "no" and why.
    """
    done: dict[str, str] = {}
    linux = sys.platform == "linux"
    if linux and namespaces:
        done["namespaces"] = _tried(_own_network)
    done["limits"] = _tried(lambda: _set_limits(limits))
    if linux:
        done["no new privileges"] = _tried(lambda: _prctl(_NO_NEW_PRIVILEGES, 1))
        done["dies with parent"] = _tried(lambda: _prctl(_DEATH_SIGNAL, 9))
        done["landlock"] = _tried(lambda: _landlock(limits))
        done["seccomp"] = _tried(_seccomp)
    return done


def _tried(step: Callable[[], str | None]) -> str:
    try:
        return step() or "yes"
    except Exception as error:
        return f"no: {type(error).__name__}: {error}"


def _set_limits(limits: Limits) -> str | None:
    import resource

    wanted = {
        "RLIMIT_CPU": limits.cpu_seconds,
        "RLIMIT_DATA": limits.memory,
        "RLIMIT_AS": 3 * limits.memory,
        "RLIMIT_FSIZE": limits.file_size,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_NPROC": limits.processes,
        "RLIMIT_CORE": 0,
        "RLIMIT_MSGQUEUE": 0,
    }
    missing = []
    for name, most in wanted.items():
        try:
            number = getattr(resource, name)
            hard = resource.getrlimit(number)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(number, (most, most))
        except (AttributeError, ValueError, OSError):  # macOS has no RLIMIT_DATA that holds
            missing.append(name)
    return f"yes, without {', '.join(missing)}" if missing else None


# --- Linux -----------------------------------------------------------------------------------


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _prctl(option: int, value: int) -> None:
    zero = ctypes.c_ulong(0)
    _checked(_libc().prctl(option, ctypes.c_ulong(value), zero, zero, zero), "prctl")


def _own_network() -> None:
    """Enter a user namespace with its own network and queues: no device but a dead loopback."""
    _checked(_libc().unshare(0x10000000 | 0x40000000 | 0x08000000), "unshare")


_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
# Execute (to map a library), read a file, read a folder.
_LIST = 1 << 3
_READ = 1 << 0 | 1 << 2 | _LIST
# What can be done to a file, and not to a folder: execute, write, read, truncate.
_OF_A_FILE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14


def _landlock(limits: Limits) -> str:
    """Allow these folders and files, and no others."""
    libc = _libc()
    version = _checked(libc.syscall(_LANDLOCK_CREATE, None, 0, 1), "landlock")
    files = (1 << 13) - 1  # version 1: 13 kinds of access
    files |= (version >= 2) << 13 | (version >= 3) << 14 | (version >= 5) << 15
    network = [0b11] if version >= 4 else []  # bind and connect by TCP: none is allowed
    scoped = [0b11] if version >= 6 else []  # abstract sockets and signals stay inside
    words = [files, *network, *scoped]
    attributes = struct.pack(f"<{len(words)}Q", *words)
    ruleset = _checked(
        libc.syscall(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0), "landlock"
    )
    try:
        for allowed, paths in (
            (_READ, limits.read),
            (_LIST, limits.listed),
            (files, limits.write),
        ):
            for path in paths:
                _allow(libc, ruleset, path, allowed)
        _prctl(_NO_NEW_PRIVILEGES, 1)
        _checked(libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0), "landlock_restrict_self")
    finally:
        os.close(ruleset)
    return f"version {version}"


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, allowed: int) -> None:
    try:
        place = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            allowed &= _OF_A_FILE
        rule = struct.pack("<Qi", allowed, place)
        _checked(libc.syscall(_LANDLOCK_ADD, ruleset, 1, rule, 0), f"landlock_add_rule {path}")
    finally:
        os.close(place)


# Numbers of system calls on x86_64 and aarch64; None where one has no such call.
_FORBIDDEN: dict[str, tuple[int | None, int | None]] = {
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "execve": (59, 221),
    "execveat": (322, 281),
    "fork": (57, None),
    "io_uring_setup": (425, 425),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),
    "mount": (165, 40),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "open_by_handle_at": (304, 265),
    "perf_event_open": (298, 241),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "request_key": (249, 218),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "semget": (64, 190),
    "setns": (308, 268),
    "setpriority": (141, 140),
    "shmget": (29, 194),
    "socket": (41, 198),
    "swapon": (167, 224),
    "tkill": (200, 130),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vfork": (58, None),
}
# Allowed to this process itself alone.
_KILLS = {"kill": (62, 129), "tgkill": (234, 131)}
_CLONE, _CLONE3, _SECCOMP = (56, 220), 435, (317, 277)
# The column of the tables above, and how the kernel calls the machine.
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_CLONE_THREAD = 0x00010000
# Where the filter finds the number of the call, the machine, the first argument.
_NUMBER, _MACHINE, _FIRST = 0, 4, 16


def seccomp_program() -> bytes:
    """Return the filter, in the kernel's own small language."""
    column, machine = _MACHINES[platform.machine()]

    def line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("<HBBI", code, if_true, if_false, value)

    lines = [
        line(_LOAD, _MACHINE),
        line(_EQUAL, machine, 1, 0),
        line(_RETURN, _KILL),
        line(_LOAD, _NUMBER),
    ]
    if column == 0:  # the second table of x86_64, by which the first could be gone around
        lines += [line(_AT_LEAST, 0x40000000, 0, 1), line(_RETURN, _ERROR | _ENOSYS)]
    for pair in _FORBIDDEN.values():
        if (number := pair[column]) is not None:
            lines += [line(_EQUAL, number, 0, 1), line(_RETURN, _ERROR | _EPERM)]
    for kill in _KILLS.values():
        lines += [
            line(_EQUAL, kill[column], 0, 4),
            line(_LOAD, _FIRST),
            line(_EQUAL, os.getpid(), 0, 1),
            line(_RETURN, _ALLOW),
            line(_RETURN, _ERROR | _EPERM),
        ]
    lines += [
        # clone3 keeps its flags where no filter reads: without it the C library takes clone
        line(_EQUAL, _CLONE3, 0, 1),
        line(_RETURN, _ERROR | _ENOSYS),
        line(_EQUAL, _CLONE[column], 0, 3),
        line(_LOAD, _FIRST),  # its flags: a thread is allowed, a process is not
        line(_ANY_BIT, _CLONE_THREAD, 1, 0),
        line(_RETURN, _ERROR | _EPERM),
        line(_RETURN, _ALLOW),
    ]
    return b"".join(lines)


def _seccomp() -> None:
    program = seccomp_program()
    data = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_void_p))

    both = Program(len(program) // 8, ctypes.addressof(data))
    _prctl(_NO_NEW_PRIVILEGES, 1)
    column = _MACHINES[platform.machine()][0]
    # By the system call, for all threads at once (flag 1).
    _checked(_libc().syscall(_SECCOMP[column], 1, 1, ctypes.byref(both)), "seccomp")
