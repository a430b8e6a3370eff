"""Memory that a step frees and the next one needs again."""

import ctypes
import platform

# Of glibc's mallopt: blocks that the system lends one by one; and, on top of what is in use, how
# much is asked for at a time and how much may stay free before it is handed back.
_M_MMAP_MAX, _M_TOP_PAD, _M_TRIM_THRESHOLD = -4, -2, -1
_AT_ONCE = 256 * 2**20


def keep_freed_memory() -> bool:
    """Let the C library keep large blocks that a step frees, and return whether it does.

    The scores for a vocabulary of 10,000 words take hundreds of MiB a step. As it is, glibc hands
    such blocks back each time, and the system fills each new page with zeros: a quarter of the
    time of a small model's step. Other C libraries are left as they are. It holds for the whole
    process, so only a program of its own asks for it.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    wishes = {_M_MMAP_MAX: 0, _M_TOP_PAD: _AT_ONCE, _M_TRIM_THRESHOLD: -1}
    return all(mallopt(name, value) == 1 for name, value in wishes.items())
