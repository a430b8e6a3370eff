"""One file of one's own: it begins with three lines, and ends as a Transformer."""

from attention_book.course.own_file.checking import check_file, reached
from attention_book.course.own_file.grammar import Grammar
from attention_book.course.own_file.source import changes, file_at
from attention_book.course.own_file.steps import STEPS
from attention_book.course.own_file.verdict import FileVerdict

__all__ = ["STEPS", "FileVerdict", "Grammar", "changes", "check_file", "file_at", "reached"]
