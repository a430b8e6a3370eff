"""Models that only a chapter needs: one to try positions on, one to compare with."""

from attention_book.course.models.one_look import OneLook
from attention_book.course.models.small_cnn import SmallCNN

__all__ = ["OneLook", "SmallCNN"]
