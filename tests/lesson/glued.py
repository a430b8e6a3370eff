"""A cell that glues values as the package does, without importing it: that would take seconds."""

CODE = """\
from IPython.display import display
prefix = "application/papermill.record/"
for name, value in {values!r}.items():
    record = {{"scrapbook": {{"name": name, "mime_prefix": prefix}}}}
    display({{f"{{prefix}}text/plain": repr(value)}}, raw=True, metadata=record)
"""


def gluing(**values: object) -> str:
    """Return the code of a cell that glues these values."""
    return CODE.format(values=values)
