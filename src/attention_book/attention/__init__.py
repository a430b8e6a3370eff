"""Attention mechanisms, one module for each idea."""

from attention_book.attention.cache import Cache, KVCache
from attention_book.attention.efficient.fixed_state.chunks import (
    fixed_state_attention,
    fixed_state_weights,
    unit_length,
)
from attention_book.attention.efficient.fixed_state.state import FixedState
from attention_book.attention.efficient.flash import tiled_attention
from attention_book.attention.efficient.linear import (
    LinearState,
    elu_features,
    linear_attention,
    linear_attention_weights,
)
from attention_book.attention.efficient.online_softmax import PartialAttention
from attention_book.attention.fixed_cache import FixedKVCache
from attention_book.attention.hard import (
    HardAttention,
    RunningMean,
    Sample,
    reinforce_surrogate,
)
from attention_book.attention.kernels.kernel_regression import (
    KernelRegression,
    LearnableKernelRegression,
)
from attention_book.attention.kernels.kernels import (
    KERNELS,
    Kernel,
    average_pooling,
    kernel_weights,
    leave_one_out_error,
    nadaraya_watson,
)
from attention_book.attention.latent import LatentAttention
from attention_book.attention.local import LocalAttention, PredictiveLocalAttention
from attention_book.attention.location import LocationAttention
from attention_book.attention.masks import (
    additive_from_mask,
    causal_mask,
    check_mask,
    ignore_from_mask,
    leave_one_out_mask,
    mask_from_additive,
    mask_from_attention_mask,
    mask_from_ignore,
    mask_from_key_padding,
    mask_from_lengths,
    mask_from_query_lengths,
    window_mask,
)
from attention_book.attention.multi_head import (
    KV,
    Look,
    MultiHeadAttention,
    SelfAttention,
    merge_heads,
    split_heads,
)
from attention_book.attention.paged import BlockPool, PagedCache
from attention_book.attention.pooled_heads import pooled_heads
from attention_book.attention.positions.alibi import AlibiPositions, alibi_slopes
from attention_book.attention.positions.learned import LearnedPositions
from attention_book.attention.positions.relative import RelativePositions
from attention_book.attention.positions.rope_scaling import (
    DynamicNtkScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    NtkScaling,
    RopeScaling,
    YarnScaling,
    rotary_frequencies,
)
from attention_book.attention.positions.rotary import RotaryPositions
from attention_book.attention.positions.scheme import NoPositions, Positions
from attention_book.attention.positions.sinusoidal import SinusoidalPositions, sinusoids
from attention_book.attention.positions.t5_buckets import T5Buckets, relative_bucket
from attention_book.attention.quantized_cache import Quantized, QuantizedKVCache, quantize
from attention_book.attention.scores import (
    AdditiveScore,
    BilinearScore,
    ConcatLinearScore,
    ConcatTanhSumScore,
    CosineScore,
    DotScore,
    GaussianScore,
    KeyProjectingScore,
    OverProjectedKeys,
    ScaledDotScore,
    Score,
)
from attention_book.attention.soft import (
    Attention,
    DotProductAttention,
    attend,
    attention_weights,
    dot_product_attention,
    dot_product_weights,
)
from attention_book.attention.softmax import masked_softmax
from attention_book.attention.sparse.block_sparse import (
    BlockPlan,
    block_sparse_attention,
    plan_blocks,
)
from attention_book.attention.sparse.patterns import (
    block_mask,
    density,
    dilated_mask,
    global_mask,
    random_mask,
    reach,
    strided_mask,
)
from attention_book.attention.sparse.selection import (
    LightningIndexer,
    indexer_loss,
    route_blocks,
    select_keys,
)
from attention_book.attention.visibility import Places, Visibility

__all__ = [
    "KERNELS",
    "KV",
    "AdditiveScore",
    "AlibiPositions",
    "Attention",
    "BilinearScore",
    "BlockPlan",
    "BlockPool",
    "Cache",
    "ConcatLinearScore",
    "ConcatTanhSumScore",
    "CosineScore",
    "DotProductAttention",
    "DotScore",
    "DynamicNtkScaling",
    "FixedKVCache",
    "FixedState",
    "GaussianScore",
    "HardAttention",
    "KVCache",
    "Kernel",
    "KernelRegression",
    "KeyProjectingScore",
    "LatentAttention",
    "LearnableKernelRegression",
    "LearnedPositions",
    "LightningIndexer",
    "LinearScaling",
    "LinearState",
    "Llama3Scaling",
    "LocalAttention",
    "LocationAttention",
    "LongRopeScaling",
    "Look",
    "MultiHeadAttention",
    "NoPositions",
    "NtkScaling",
    "OverProjectedKeys",
    "PagedCache",
    "PartialAttention",
    "Places",
    "Positions",
    "PredictiveLocalAttention",
    "Quantized",
    "QuantizedKVCache",
    "RelativePositions",
    "RopeScaling",
    "RotaryPositions",
    "RunningMean",
    "Sample",
    "ScaledDotScore",
    "Score",
    "SelfAttention",
    "SinusoidalPositions",
    "T5Buckets",
    "Visibility",
    "YarnScaling",
    "additive_from_mask",
    "alibi_slopes",
    "attend",
    "attention_weights",
    "average_pooling",
    "block_mask",
    "block_sparse_attention",
    "causal_mask",
    "check_mask",
    "density",
    "dilated_mask",
    "dot_product_attention",
    "dot_product_weights",
    "elu_features",
    "fixed_state_attention",
    "fixed_state_weights",
    "global_mask",
    "ignore_from_mask",
    "indexer_loss",
    "kernel_weights",
    "leave_one_out_error",
    "leave_one_out_mask",
    "linear_attention",
    "linear_attention_weights",
    "mask_from_additive",
    "mask_from_attention_mask",
    "mask_from_ignore",
    "mask_from_key_padding",
    "mask_from_lengths",
    "mask_from_query_lengths",
    "masked_softmax",
    "merge_heads",
    "nadaraya_watson",
    "plan_blocks",
    "pooled_heads",
    "quantize",
    "random_mask",
    "reach",
    "reinforce_surrogate",
    "relative_bucket",
    "rotary_frequencies",
    "route_blocks",
    "select_keys",
    "sinusoids",
    "split_heads",
    "strided_mask",
    "tiled_attention",
    "unit_length",
    "window_mask",
]
