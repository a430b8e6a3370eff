"""Between text and numbers, both ways: words or subwords, learned from a corpus or read back."""

from attention_book.runs.codec.moses import Moses
from attention_book.runs.codec.text_codec import TextCodec

__all__ = ["Moses", "TextCodec"]
