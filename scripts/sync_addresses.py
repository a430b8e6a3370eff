"""Write the addresses of book/_config.yml into the files that cannot read it.

The repository's and the site's addresses are settings of the book. README badges, the package's
metadata and the citation file need them as text: this script writes the lines between the
"addresses" markers of those files, and `--check` fails when one of them is stale.
"""

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "book" / "_ext"))

from website.addresses import Addresses, read_addresses  # noqa: E402

BETWEEN = re.compile(r"(addresses: begin[^\n]*\n)(?s:.*?)([^\n]*addresses: end)")


def badges(at: Addresses, lang: str) -> str:
    first = f"{lang}/attention-cues.ipynb"
    words = {
        "en": ("Read the book", "Open the first chapter in Colab", "or in Binder"),
        "zh": ("在线阅读", "在 Colab 中打开第一章", "在 Binder 中打开"),
    }[lang]
    services = at.launches(first)
    links = (f"{at.site}/?lang={lang}", services["colab"], services["binder"])
    return " ·\n".join(f"[{word}]({link})" for word, link in zip(words, links, strict=True))


def clone(at: Addresses) -> str:
    name = at.repository.split("/")[-1]
    return f"```bash\ngit clone {at.repository}\ncd {name}\n```"


def pip_line(at: Addresses) -> str:
    return f'```bash\npip install "{at.requirement}"\n```'


def pip_line_for_all(at: Addresses) -> str:
    return f'```bash\npip install "{at.requirement_of_notebooks}"\n```'


def pip_line_for_command(at: Addresses) -> str:
    return pip_line_for_all(at).replace("[all]", "[command]")


def project_urls(at: Addresses) -> str:
    issues = f"{at.repository}/issues"
    return f'Homepage = "{at.site}/"\nRepository = "{at.repository}"\nIssues = "{issues}"'


def citation_urls(at: Addresses) -> str:
    return f'url: "{at.site}/"\nrepository-code: "{at.repository}"'


def pip_address(at: Addresses) -> str:
    return f'ADDRESS = "{at.requirement.partition(" @ ")[2]}"'


#: For each file, what stands between its markers, in the order of the markers.
FILES: dict[str, list[Callable[[Addresses], str]]] = {
    "README.md": [
        lambda at: badges(at, "en"),
        clone,
        pip_line,
        pip_line_for_all,
        pip_line_for_command,
    ],
    "README.zh.md": [
        lambda at: badges(at, "zh"),
        clone,
        pip_line,
        pip_line_for_all,
        pip_line_for_command,
    ],
    "pyproject.toml": [project_urls],
    "CITATION.cff": [citation_urls],
    "src/attention_book/foundations/environment.py": [pip_address],
}


def with_addresses(text: str, parts: list[str]) -> str:
    """`text` with `parts` between its pairs of markers, in order."""
    if len(BETWEEN.findall(text)) != len(parts):
        raise ValueError(f"expected {len(parts)} pairs of markers")
    remaining = iter(parts)
    return BETWEEN.sub(lambda match: f"{match[1]}{next(remaining)}\n{match[2]}", text)


def stale_files(root: Path = ROOT) -> dict[Path, str]:
    """The files whose addresses differ from the settings, with the text they should have."""
    at = read_addresses(root)
    stale = {}
    for name, parts in FILES.items():
        path = root / name
        text = path.read_text(encoding="utf-8")
        try:
            fresh = with_addresses(text, [part(at) for part in parts])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        if fresh != text:
            stale[path] = fresh
    return stale


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only report, change nothing")
    check = parser.parse_args().check
    stale = stale_files()
    for path, fresh in stale.items():
        print(f"{path.relative_to(ROOT)}: {'stale' if check else 'written'}")
        if not check:
            path.write_text(fresh, encoding="utf-8", newline="\n")
    if check and stale:
        print("Run: python scripts/sync_addresses.py", file=sys.stderr)
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
