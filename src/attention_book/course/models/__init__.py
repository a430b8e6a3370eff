"""Models that only a chapter needs: to try positions on, to look into, to recall, to compare."""

from attention_book.course.models.attention_only import AttentionOnly
from attention_book.course.models.small import MEMORIES, OneLook, RecallModel, SmallCNN
from attention_book.course.models.windowed_reader import WindowedReader

__all__ = ["MEMORIES", "AttentionOnly", "OneLook", "RecallModel", "SmallCNN", "WindowedReader"]
