"""Writing a prepared corpus so that a folder with its name is always whole."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from attention_book.runs.corpora.header import HEADER, Header
from attention_book.runs.corpora.side import SideWriter, paths
from attention_book.text import CorpusError, Vocabulary

#: After how many pairs the caller hears of it.
_EVERY = 10_000


def write_folder(
    folder: Path,
    pairs: Iterable[tuple[list[int], list[int]]],
    *,
    vocabularies: tuple[Vocabulary, Vocabulary],
    max_tokens: int | None,
    digest: str,
    skipped: Callable[[], int],
    progress: Callable[[int], object],
) -> None:
    """Write pairs into a folder, which gets its name in the end.

    A prepared corpus that had the name is replaced; anything else is not touched.

    Raises:
        CorpusError: if no pair is left, or the folder holds something else.
        ValueError: if a number is no token's.
        OSError: if it cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    _check_ours(folder)
    for left_over in folder.parent.iterdir():
        if left_over.name.startswith(f".{folder.name}.") and left_over.name.endswith(".part"):
            _remove(left_over)
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    part.mkdir()
    try:
        header = _write(part, pairs, vocabularies, max_tokens, progress)
        content = Header(**header, digest=digest, skipped=skipped()).to_json()
        with (part / HEADER).open("x", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _remove(folder)
        part.rename(folder)
    finally:
        _remove(part)


def _write(
    part: Path,
    pairs: Iterable[tuple[list[int], list[int]]],
    vocabularies: tuple[Vocabulary, Vocabulary],
    max_tokens: int | None,
    progress: Callable[[int], object],
) -> dict[str, int]:
    """Write both sides, and return what the header says of them."""
    source, target = vocabularies
    counts = {"rows": 0, "too_long": 0, "empty": 0}
    with (
        SideWriter(part, "source", vocabulary=len(source)) as sources,
        SideWriter(part, "target", vocabulary=len(target)) as targets,
    ):
        for left, right in pairs:
            kind = _kind(left, right, max_tokens)
            counts[kind] += 1
            if kind == "rows":
                sources.add([*left, source.special_ids.eos])
                targets.add([*right, target.special_ids.eos])
                if counts["rows"] % _EVERY == 0:
                    progress(counts["rows"])
    if not counts["rows"]:
        raise CorpusError(
            "expected at least one pair of sentences, got none "
            f"({counts['too_long']} too long, {counts['empty']} empty)"
        )
    progress(counts["rows"])
    return {
        **counts,
        **{"num_sources": sources.total, "num_targets": targets.total},
        **{"source_vocabulary": len(source), "target_vocabulary": len(target)},
        **{"source_pad": source.special_ids.pad, "target_pad": target.special_ids.pad},
        "target_bos": target.special_ids.bos,
    }


def _kind(source: list[int], target: list[int], max_tokens: int | None) -> str:
    if not source or not target:
        return "empty"
    longest = max(len(source), len(target))
    return "rows" if max_tokens is None or longest <= max_tokens else "too_long"


def _ours(folder: Path) -> list[Path]:
    """Return the files that a prepared corpus has, the header first."""
    return [folder / HEADER, *paths(folder, "source"), *paths(folder, "target")]


def _check_ours(folder: Path) -> None:
    """Refuse to replace what is no prepared corpus."""
    if folder.exists() and not (folder.is_dir() and set(folder.iterdir()) <= set(_ours(folder))):
        raise CorpusError(f"{folder}: expected a prepared corpus or nothing, got something else")


def _remove(folder: Path) -> None:
    """Remove a prepared corpus where there is one; its header first: it is not whole then.

    Of a link the link is removed, and nothing behind it.
    """
    if folder.is_symlink():
        folder.unlink()
    elif folder.is_dir():
        for path in _ours(folder):
            path.unlink(missing_ok=True)
        folder.rmdir()
