"""Trained models that the commands use, and what their attention looks at."""

from attention_book.runs.command.translators.learned import Learned as Learned
from attention_book.runs.command.translators.learned import learned as learned
from attention_book.runs.command.translators.options import how_to_search as how_to_search
from attention_book.runs.command.translators.options import where_to_compute as where_to_compute
from attention_book.runs.command.translators.options import which_checkpoint as which_checkpoint
from attention_book.runs.command.translators.options import which_model as which_model
from attention_book.runs.command.translators.unknown import (
    note_share_unknown as note_share_unknown,
)
from attention_book.runs.command.translators.unknown import note_unknown as note_unknown
from attention_book.runs.loading import Which as Which
