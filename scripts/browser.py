"""The browser of this machine: what prints the book, and what its tests look at pages with."""

import os
import shutil

#: The engine without its windows is quicker; the whole browser serves as well.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
MISSING = "no chromium found: install it (chromium or chromium-headless-shell), or set CHROME_PATH"


def chromium() -> str | None:
    """Return the browser's path: the one that CHROME_PATH names, or the first that is installed."""
    return os.environ.get("CHROME_PATH") or next(filter(None, map(shutil.which, NAMES)), None)


if __name__ == "__main__":
    print(chromium() or "")
