"""Models that only a chapter needs: to try positions on, to look into, to recall, to compare."""

from attention_book.course.models.attention_only import AttentionOnly
from attention_book.course.models.one_look import OneLook
from attention_book.course.models.recall_model import MEMORIES, RecallModel
from attention_book.course.models.small_cnn import SmallCNN
from attention_book.course.models.windowed_reader import WindowedReader

__all__ = ["MEMORIES", "AttentionOnly", "OneLook", "RecallModel", "SmallCNN", "WindowedReader"]
