"""How much memory a training needs at least, and memory that a step frees and the next takes."""

import ctypes
import platform
from pathlib import Path

import torch

from attention_book.foundations.bilingual import Bilingual
from attention_book.runs.checkpoints import Tell
from attention_book.runs.codec import TextCodec
from attention_book.runs.engine.building import build_model
from attention_book.runs.folder import MachineError
from attention_book.runs.settings import ModelSettings

# Of glibc's mallopt: blocks that the system lends one by one; and, on top of what is in use, how
# much is asked for at a time and how much may stay free before it is handed back.
_M_MMAP_MAX, _M_TOP_PAD, _M_TRIM_THRESHOLD = -4, -2, -1
_AT_ONCE = 256 * 2**20
# A weight, its gradient and the two moments of Adam, in four bytes each.
_BYTES_A_WEIGHT = 16
_WORTH_SAYING = 10**9


def check_memory(
    settings: ModelSettings, codec: TextCodec, device: torch.device, tell: Tell, *, shares: int = 1
) -> None:
    """See that there is memory for a model and its optimizer before there is either.

    What a batch takes comes on top, and is not known before.

    Args:
        settings: The model's.
        codec: Has its vocabularies.
        device: Where it will be trained.
        tell: Hears how much it is, if it is a gigabyte or more.
        shares: Among how many processes the weights are shared.

    Raises:
        MachineError: if there is too little.
    """
    needed = bytes_needed(settings, codec) // shares
    if needed < _WORTH_SAYING:
        return
    free = free_memory(device)
    told = f"{needed / 1e9:.1f} GB"
    if free is not None and needed > free:
        raise MachineError(
            f"memory: expected {told} for weights, gradients and moments, got {free / 1e9:.1f} GB"
        )
    tell(
        Bilingual(
            f"权重、梯度和优化器的状态要 {told} 内存；批量的另算。",
            f"weights, gradients and moments take {told} of memory; batches come on top",
        )
    )


def bytes_needed(settings: ModelSettings, codec: TextCodec) -> int:
    """Return how many bytes the weights, their gradients and Adam's moments take.

    >>> from attention_book.runs.settings import TextSettings
    >>> codec = TextCodec.learn([("Go.", "Va !")], TextSettings(), ("en", "fr"))
    >>> bytes_needed(ModelSettings(kind="seq2seq", config={"d_hidden": 1}), codec) % 16
    0
    """
    with torch.device("meta"):
        model = build_model(settings, codec)
    return sum(weight.numel() for weight in model.parameters()) * _BYTES_A_WEIGHT


def free_memory(device: torch.device, description: Path = Path("/proc/meminfo")) -> int | None:
    """Return how many bytes are free; None where nobody knows.

    >>> free_memory(torch.device("cpu"), Path("nowhere"))
    """
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        lines = description.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    found = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    kilobytes = next(found, None)
    return None if kilobytes is None else int(kilobytes) * 1024


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
