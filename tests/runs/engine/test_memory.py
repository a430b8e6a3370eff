"""Memory between steps: the same results, and a block that is freed stays with the process."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# A block of 200 MiB, freed and asked for again: how often the system had to lend a page anew.
FAULTS = """
import resource, sys, torch
from attention_book.runs.engine.memory import keep_freed_memory
if sys.argv[1] == "keep":
    assert keep_freed_memory()
for turn in range(8):
    if turn == 2:  # by then the block has found its place
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.empty(50 * 2**20).fill_(1.0)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def lent(mode: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", FAULTS, mode], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_what_is_freed_is_not_handed_back():
    assert lent("keep") < lent("leave") / 4
