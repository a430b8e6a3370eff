"""Files that are written whole or not at all."""

import glob
import os
from pathlib import Path


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file atomically: whoever opens ``path`` finds the old file or the new one, whole.

    Args:
        path: The file. Its folder is created where needed.
        content: All of it.

    Raises:
        OSError: if it cannot be written; the old file is still there then.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "new" / "file.txt", b"whole")
    ...     (Path(folder) / "new" / "file.txt").read_bytes()
    b'whole'
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # on the disk before it gets the name
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def remove_parts(folder: Path, name: str | None = None) -> None:
    """Remove what a process left behind that was killed in :func:`write_whole`.

    Only where no other process is writing.

    Args:
        folder: Where.
        name: Name of one file; None for all.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     part = Path(folder) / ".file.txt.123.part"
    ...     _ = part.write_text("ha")
    ...     remove_parts(Path(folder))
    ...     part.exists()
    False
    """
    wanted = "*" if name is None else glob.escape(name)
    for part in folder.glob(f".{wanted}.*.part"):
        part.unlink(missing_ok=True)


__all__ = ()  # for the package itself
