"""Models that translate, behind one protocol."""

from attention_book.models.add_norm import AddNorm
from attention_book.models.decoder_state import DecoderState
from attention_book.models.feed_forward import FeedForward
from attention_book.models.input_query_decoder import InputDotDecoder, LocationDecoder
from attention_book.models.recurrent_decoder import (
    FixedContextDecoder,
    LookThenStepDecoder,
    StepThenLookDecoder,
)
from attention_book.models.recurrent_encoder import RecurrentEncoder, SourceMemory
from attention_book.models.seq2seq import Seq2Seq
from attention_book.models.seq2seq_config import Seq2SeqConfig
from attention_book.models.translator import Translator

__all__ = [
    "AddNorm",
    "DecoderState",
    "FeedForward",
    "FixedContextDecoder",
    "InputDotDecoder",
    "LocationDecoder",
    "LookThenStepDecoder",
    "RecurrentEncoder",
    "Seq2Seq",
    "Seq2SeqConfig",
    "SourceMemory",
    "StepThenLookDecoder",
    "Translator",
]
