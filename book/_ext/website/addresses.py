"""The addresses of the repository and the site, all of them read from the book's settings.

Used by the launch buttons, the exported notebooks and ``scripts/sync_addresses.py``. Which release
this is, if it is one, says ``CHANGELOG.md``: its first entry, where nothing is unreleased.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

#: The branch that continuous integration publishes, and its folder of notebooks.
PUBLISHED = "notebooks/notebooks"
#: The headings of the changes.
ENTRY = re.compile(r"^## \[(?P<version>\d+(?:\.\d+)*|Unreleased)\]", re.M)


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """No trailing slashes; a service that the settings do not name is ""."""

    repository: str
    branch: str
    site: str
    colab: str
    binder: str
    release: str = ""

    @property
    def slug(self) -> str:
        """`owner/name`, the form that Colab and Binder ask for."""
        return "/".join(self.repository.split("/")[-2:])

    @property
    def requirement(self) -> str:
        """What pip installs."""
        return f"attention-book @ git+{self.repository}@{self.branch}"

    @property
    def requirement_of_notebooks(self) -> str:
        """What pip installs to run the chapters: the package with every extra."""
        return self.requirement.replace("attention-book", "attention-book[all]", 1)

    @property
    def requirement_of_release(self) -> str:
        """What pip installs to run the chapters where there is an index that has it."""
        return f"attention-book[all]~={self.release}"

    @property
    def requirement_of_tag(self) -> str:
        """The same from the repository, as it was released."""
        return f"attention-book[all] @ git+{self.repository}@v{self.release}"

    def notebook_source(self, notebook: str) -> str:
        """The page that shows a notebook, such as ``en/masks.ipynb``."""
        return f"{self.repository}/blob/{PUBLISHED}/{notebook}"

    def launches(self, notebook: str) -> dict[str, str]:
        """Where each service opens a notebook."""
        found = {}
        if self.colab:
            found["colab"] = f"{self.colab}/github/{self.slug}/blob/{PUBLISHED}/{notebook}"
        if self.binder:
            branch, folder = PUBLISHED.split("/")
            place = f"{self.slug}/{branch}?urlpath=lab/tree/{folder}/{notebook}"
            found["binder"] = f"{self.binder}/v2/gh/{place}"
        return found


def read_addresses(root: Path) -> Addresses:
    """Return the addresses in book/_config.yml of the repository at ``root``."""
    config = yaml.safe_load((root / "book" / "_config.yml").read_text(encoding="utf8"))
    launch = config.get("launch_buttons", {})
    return Addresses(
        repository=config["repository"]["url"].rstrip("/"),
        branch=config["repository"]["branch"],
        site=config.get("html", {}).get("baseurl", "").rstrip("/"),
        colab=launch.get("colab_url", "").rstrip("/"),
        binder=launch.get("binderhub_url", "").rstrip("/"),
        release=release_of(root / "CHANGELOG.md"),
    )


def release_of(changes: Path) -> str:
    """Return the version that a list of changes ends with; "" where something is unreleased."""
    found = ENTRY.search(changes.read_text(encoding="utf8")) if changes.is_file() else None
    return found["version"] if found and found["version"] != "Unreleased" else ""
