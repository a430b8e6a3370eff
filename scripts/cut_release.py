"""Make a release of what is unreleased: `python scripts/cut_release.py 1.0.0`.

The unreleased part of CHANGELOG.md gets the version and the day, CITATION.cff names both. Commit
these two; the tag, which is printed, makes the version, the wheel and the release.
"""

import argparse
import datetime
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNRELEASED = "## [Unreleased]\n"
RELEASED = re.compile(r"(?m)^## \[(\d[\d.]*)\]")


def cut(changes: str, citation: str, version: str, day: str) -> tuple[str, str]:
    """Return both files' texts as those of a release."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ValueError(f"expected a version such as 1.0.0, got {version!r}")
    if UNRELEASED not in changes:
        raise ValueError("CHANGELOG.md has nothing unreleased")
    last = RELEASED.search(changes)
    if last and as_numbers(version) <= as_numbers(last[1]):
        raise ValueError(f"{version} does not come after {last[1]}")
    changes = changes.replace(UNRELEASED, f"## [{version}] - {day}\n", 1)
    citation = re.sub(r"(?m)^version: .*$", f"version: {version}", citation)
    return changes, re.sub(r"(?m)^date-released: .*$", f"date-released: {day}", citation)


def as_numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("version")
    version = parser.parse_args().version
    paths = (ROOT / "CHANGELOG.md", ROOT / "CITATION.cff")
    texts = [path.read_text(encoding="utf8") for path in paths]
    try:
        texts = list(cut(*texts, version, datetime.date.today().isoformat()))
    except ValueError as error:
        parser.error(str(error))
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf8", newline="\n")
    print(
        f"Commit these two, then:\ngit tag -a v{version} -m {version} && git push origin v{version}"
    )


if __name__ == "__main__":
    main()
