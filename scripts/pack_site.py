"""Pack the built site into one archive that opens by double click, without a network.

    python scripts/pack_site.py [--site FOLDER] [--to FILE]

The archive holds one folder; its `index.html` opens the book. The same site gives the same
bytes, whoever packs it and when: names are sorted, and every file has the same time and rights.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
from pathlib import Path

BUILD = Path(__file__).resolve().parents[1] / "book" / "_build"
FOLDER = "attention_book"
#: What a reader's browser never asks for: notes of the build, the index for other books.
LEFT_OUT = (".buildinfo", ".nojekyll", "objects.inv", ".DS_Store")
#: The archive must not hold itself, nor the printed books that lie beside it on the web, nor the
#: pictures for those who share a page's address.
LEFT_OUT_FOLDERS = (".doctrees", "downloads", "cards")
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first moment that the format knows


def files_of(site: Path) -> list[Path]:
    """Return the files that a reader needs, sorted by their names below ``site``."""
    found = [path for path in site.rglob("*") if path.is_file() and is_needed(path, site)]
    return sorted(found, key=lambda path: path.relative_to(site).as_posix())


def is_needed(path: Path, site: Path) -> bool:
    top = path.relative_to(site).parts[0]
    return path.name not in LEFT_OUT and path.suffix != ".glyphs" and top not in LEFT_OUT_FOLDERS


def pack(site: Path, target: Path) -> None:
    """Write the archive; it replaces an older one only when it is complete."""
    unfinished = target.with_suffix(".unfinished")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in files_of(site):
            entry = zipfile.ZipInfo(f"{FOLDER}/{path.relative_to(site).as_posix()}", EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, on every system
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, path.read_bytes())
    unfinished.replace(target)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--site", type=Path, default=BUILD / "html", metavar="FOLDER")
    parser.add_argument("--to", type=Path, default=BUILD / "attention_book.zip", metavar="FILE")
    options = parser.parse_args()
    if not (options.site / "index.html").is_file():
        sys.exit(f"no built site at {options.site}: run make book first")
    pack(options.site, options.to)
    print(f"{options.to} ({options.to.stat().st_size / 1e6:.1f} MB): unpack it, open index.html")


if __name__ == "__main__":
    main()
