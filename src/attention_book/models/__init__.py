"""Models for translation, language, images and forecasting; translators share one protocol."""

from attention_book.models.config import LayerConfig, RotarySettings
from attention_book.models.experts import MixtureOfExperts, Routing
from attention_book.models.forecasting.baselines import (
    Autoregression,
    differenced,
    fit_autoregression,
    persistence,
    seasonal_naive,
)
from attention_book.models.forecasting.forecaster import Forecaster, ForecasterConfig
from attention_book.models.language import LanguageConfig, LanguageModel
from attention_book.models.layers import Layer, LayerStack, TokenStack
from attention_book.models.lora import LoRA, add_lora, load_lora, lora_state, merge_lora
from attention_book.models.ngrams import NgramModel, NgramState
from attention_book.models.parts import AddNorm, FeedForward, RMSNorm
from attention_book.models.pretrained.load import Pretrained, load_pretrained
from attention_book.models.pretrained.model_folder import PretrainedError
from attention_book.models.pretrained.outline import DecoderOutline
from attention_book.models.protocols import Translator, Writer
from attention_book.models.recurrent.bahdanau import BahdanauDecoder
from attention_book.models.recurrent.config import Seq2SeqConfig
from attention_book.models.recurrent.encoder import RecurrentEncoder, SourceMemory
from attention_book.models.recurrent.luong import LuongDecoder
from attention_book.models.recurrent.seq2seq import Seq2Seq
from attention_book.models.recurrent.state import DecoderState
from attention_book.models.recurrent.without_attention import FixedContextDecoder
from attention_book.models.tied import TiedModel
from attention_book.models.torch_modules import from_torch, to_torch
from attention_book.models.transformer import Transformer, TransformerConfig, TransformerState
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
    "DecoderOutline",
    "DecoderState",
    "FeedForward",
    "FixedContextDecoder",
    "Forecaster",
    "ForecasterConfig",
    "LanguageConfig",
    "LanguageModel",
    "Layer",
    "LayerConfig",
    "LayerStack",
    "LoRA",
    "LuongDecoder",
    "MixtureOfExperts",
    "NgramModel",
    "NgramState",
    "Pretrained",
    "PretrainedError",
    "RMSNorm",
    "RecurrentEncoder",
    "RotarySettings",
    "Routing",
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
