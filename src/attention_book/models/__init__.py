"""Models for translation, language, images and forecasting; translators share one protocol."""

from attention_book.models.decoder.block import DecoderBlock
from attention_book.models.decoder.config import DecoderConfig, RotarySettings
from attention_book.models.decoder.gated_feed_forward import GatedFeedForward
from attention_book.models.decoder.model import DecoderLanguageModel
from attention_book.models.decoder.pretrained.load import Pretrained, load_pretrained
from attention_book.models.decoder.pretrained.model_folder import PretrainedError
from attention_book.models.decoder.rms_norm import RMSNorm
from attention_book.models.forecasting.baselines import (
    Autoregression,
    differenced,
    fit_autoregression,
    persistence,
    seasonal_naive,
)
from attention_book.models.forecasting.forecaster import Forecaster, ForecasterConfig
from attention_book.models.language.model import (
    CausalLanguageModel,
    LanguageModel,
    LanguageModelConfig,
    MaskedLanguageModel,
)
from attention_book.models.language.ngrams import NgramModel, NgramState
from attention_book.models.lora import LoRA, add_lora, load_lora, lora_state, merge_lora
from attention_book.models.protocols import Translator, Writer
from attention_book.models.recurrent.bahdanau import BahdanauDecoder
from attention_book.models.recurrent.config import Seq2SeqConfig
from attention_book.models.recurrent.encoder import RecurrentEncoder, SourceMemory
from attention_book.models.recurrent.luong import LuongDecoder
from attention_book.models.recurrent.seq2seq import Seq2Seq
from attention_book.models.recurrent.state import DecoderState
from attention_book.models.recurrent.without_attention import FixedContextDecoder
from attention_book.models.tied import TiedModel
from attention_book.models.transformer.add_norm import AddNorm
from attention_book.models.transformer.config import TransformerConfig
from attention_book.models.transformer.feed_forward import FeedForward
from attention_book.models.transformer.layer_config import LayerConfig
from attention_book.models.transformer.layers import Layer
from attention_book.models.transformer.model import Transformer
from attention_book.models.transformer.stack import LayerStack, TokenStack
from attention_book.models.transformer.state import TransformerState
from attention_book.models.transformer.torch_modules import from_torch, to_torch
from attention_book.models.vision.patches import from_patches, grid_sinusoids, patches
from attention_book.models.vision.vision_transformer import (
    VisionTransformer,
    VisionTransformerConfig,
    visible_tokens,
)

__all__ = [
    "AddNorm",
    "Autoregression",
    "BahdanauDecoder",
    "CausalLanguageModel",
    "DecoderBlock",
    "DecoderConfig",
    "DecoderLanguageModel",
    "DecoderState",
    "FeedForward",
    "FixedContextDecoder",
    "Forecaster",
    "ForecasterConfig",
    "GatedFeedForward",
    "LanguageModel",
    "LanguageModelConfig",
    "Layer",
    "LayerConfig",
    "LayerStack",
    "LoRA",
    "LuongDecoder",
    "MaskedLanguageModel",
    "NgramModel",
    "NgramState",
    "Pretrained",
    "PretrainedError",
    "RMSNorm",
    "RecurrentEncoder",
    "RotarySettings",
    "Seq2Seq",
    "Seq2SeqConfig",
    "SourceMemory",
    "TiedModel",
    "TokenStack",
    "Transformer",
    "TransformerConfig",
    "TransformerState",
    "Translator",
    "VisionTransformer",
    "VisionTransformerConfig",
    "Writer",
    "add_lora",
    "differenced",
    "fit_autoregression",
    "from_patches",
    "from_torch",
    "grid_sinusoids",
    "load_lora",
    "load_pretrained",
    "lora_state",
    "merge_lora",
    "patches",
    "persistence",
    "seasonal_naive",
    "to_torch",
    "visible_tokens",
]
