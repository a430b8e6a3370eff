"""The pages of a tiny book with all steps of the reader's own file."""

from lesson.own_file import read_steps
from tiny import HEADER

EXTENSIONS = [
    *("bilingual", "evidence", "sphinx_exercise", "lesson.own_file", "page_python", "website")
]
TITLE = HEADER + "# {zh}`页` {en}`Page`\n"


def pages() -> dict[str, str]:
    """Each step in its chapter, and the page of the whole file."""
    found = {"intro": TITLE, "own-file": TITLE + "\n```{own-file}\n:write:\n```\n"}
    for number, step in enumerate(read_steps(), start=1):
        text = found.get(step["chapter"], TITLE)
        found[step["chapter"]] = f"{text}\n```{{own-file}} {number}\n```\n"
    return found
