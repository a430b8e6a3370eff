"""Models: those that translate stand behind one protocol."""

from attention_book.models.add_norm import AddNorm
from attention_book.models.baselines import (
    Autoregression,
    differenced,
    fit_autoregression,
    persistence,
    seasonal_naive,
)
from attention_book.models.decoder_state import DecoderState
from attention_book.models.feed_forward import FeedForward
from attention_book.models.forecaster import Forecaster, ForecasterConfig
from attention_book.models.image_patches import from_patches, grid_sinusoids, patches
from attention_book.models.input_query_decoder import InputDotDecoder, LocationDecoder
from attention_book.models.language_model import (
    CausalLanguageModel,
    LanguageModel,
    LanguageModelConfig,
    MaskedLanguageModel,
)
from attention_book.models.language_state import LanguageState
from attention_book.models.layer_config import LayerConfig
from attention_book.models.layer_positions import create_positions
from attention_book.models.layer_stack import LayerStack
from attention_book.models.ngrams import NgramModel, NgramState
from attention_book.models.one_look import OneLook
from attention_book.models.recurrent_decoder import (
    FixedContextDecoder,
    LookThenStepDecoder,
    StepThenLookDecoder,
)
from attention_book.models.recurrent_encoder import RecurrentEncoder, SourceMemory
from attention_book.models.seq2seq import Seq2Seq
from attention_book.models.seq2seq_config import Seq2SeqConfig
from attention_book.models.small_cnn import SmallCNN
from attention_book.models.transformer import Transformer, TransformerStack
from attention_book.models.transformer_config import TransformerConfig
from attention_book.models.transformer_layers import DecoderLayer, EncoderLayer
from attention_book.models.transformer_state import TransformerMemory, TransformerState
from attention_book.models.translator import Translator
from attention_book.models.vision_transformer import (
    VisionTransformer,
    VisionTransformerConfig,
    visible_tokens,
)
from attention_book.models.writer import Writer

__all__ = [
    "AddNorm",
    "Autoregression",
    "CausalLanguageModel",
    "DecoderLayer",
    "DecoderState",
    "EncoderLayer",
    "FeedForward",
    "FixedContextDecoder",
    "Forecaster",
    "ForecasterConfig",
    "InputDotDecoder",
    "LanguageModel",
    "LanguageModelConfig",
    "LanguageState",
    "LayerConfig",
    "LayerStack",
    "LocationDecoder",
    "LookThenStepDecoder",
    "MaskedLanguageModel",
    "NgramModel",
    "NgramState",
    "OneLook",
    "RecurrentEncoder",
    "Seq2Seq",
    "Seq2SeqConfig",
    "SmallCNN",
    "SourceMemory",
    "StepThenLookDecoder",
    "Transformer",
    "TransformerConfig",
    "TransformerMemory",
    "TransformerStack",
    "TransformerState",
    "Translator",
    "VisionTransformer",
    "VisionTransformerConfig",
    "Writer",
    "create_positions",
    "differenced",
    "fit_autoregression",
    "from_patches",
    "grid_sinusoids",
    "patches",
    "persistence",
    "seasonal_naive",
    "visible_tokens",
]
