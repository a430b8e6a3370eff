"""Several processes that train one model together: who they are, and what they tell each other."""

from attention_book.runs.processes.ranks import Ranks

__all__ = ["Ranks"]
