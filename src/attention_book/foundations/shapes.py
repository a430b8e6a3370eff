"""The tensor types of the whole package: every shape is written here, once.

The names of the axes are those of the formulas: ``query`` and ``key`` count
positions, ``d_q``, ``d_k`` and ``d_v`` are feature sizes, ``*batch`` stands for
any number of leading axes (examples, heads). A ``#`` marks an axis that may
also be 1 and is then broadcast. The tests check these types at run time
(jaxtyping with beartype); in production they cost nothing.
"""

from collections.abc import Callable

from jaxtyping import Bool, Float, Int, Integer
from torch import Tensor

Queries = Float[Tensor, "*batch query d_q"]
Keys = Float[Tensor, "*batch key d_k"]
Values = Float[Tensor, "*batch key d_v"]
Scores = Float[Tensor, "*batch query key"]
Weights = Float[Tensor, "*batch query key"]
Output = Float[Tensor, "*batch query d_v"]

#: A mask is boolean, and True means "may attend".
Mask = Bool[Tensor, "*#batch #query #key"]

#: How many keys each example, or each query of each example, may see.
Lengths = Integer[Tensor, "*batch"]
QueryLengths = Integer[Tensor, "*batch query"]

#: Where the first of some tokens stands; a tensor where the same program does every step.
Offset = int | Int[Tensor, ""]

# In kernel regression a query, a key and a value are one number each.
NumberQueries = Float[Tensor, "*batch query"]
NumberKeys = Float[Tensor, "*batch key"]
NumberValues = Float[Tensor, "*batch key"]
Predictions = Float[Tensor, "*batch query"]

# Translation: sentences as numbers, padded to the longest of the batch.
TokenIds = Integer[Tensor, "batch token"]
#: True = a real token, False = padding.
TokenMask = Bool[Tensor, "batch token"]
SourceIds = Integer[Tensor, "batch source"]
SourceMask = Bool[Tensor, "batch source"]
TargetIds = Integer[Tensor, "batch target"]
TargetMask = Bool[Tensor, "batch target"]
#: One prediction after every target token.
Logits = Float[Tensor, "batch target vocabulary"]
#: One token of every sentence, and what is predicted after it.
StepIds = Integer[Tensor, " batch"]
StepLogits = Float[Tensor, "batch vocabulary"]

# A time series: what is known so far, and how it is expected to go on.
History = Float[Tensor, " time"]
Forecast = Float[Tensor, " horizon"]
# Two kinds of functions, no tensors, and so not among the public types below.
#: Goes on from a past: how many steps, and what they will be.
GoOn = Callable[[History, int], Forecast]
#: A method of forecasting: fits itself to a past.
Method = Callable[[History], GoOn]

#: Between the Transformer's layers: one vector for each token.
Features = Float[Tensor, "*batch position d_model"]
#: The same vectors in parts, one for each head.
Heads = Float[Tensor, "*batch head position d_k"]
HeadQueries = Float[Tensor, "*batch head query d_k"]
#: Heads of queries may share a head of keys and values.
HeadKeys = Float[Tensor, "*batch kv_head key d_k"]
HeadValues = Float[Tensor, "*batch kv_head key d_v"]
HeadWeights = Float[Tensor, "*batch head query key"]
HeadOutput = Float[Tensor, "*batch head query d_v"]
#: An additive bias of the scores.
Bias = Float[Tensor, "*#batch #query #key"]
HeadBias = Float[Tensor, "*#batch #head #query #key"]
#: A mask for all heads, or, with an axis for them, one for each.
HeadsMask = Bool[Tensor, "*#batch_head #query #key"]

__all__ = [
    "Bias",
    "Features",
    "Forecast",
    "HeadBias",
    "HeadKeys",
    "HeadOutput",
    "HeadQueries",
    "HeadValues",
    "HeadWeights",
    "Heads",
    "HeadsMask",
    "History",
    "Keys",
    "Lengths",
    "Logits",
    "Mask",
    "NumberKeys",
    "NumberQueries",
    "NumberValues",
    "Output",
    "Predictions",
    "Queries",
    "QueryLengths",
    "Scores",
    "SourceIds",
    "SourceMask",
    "StepIds",
    "StepLogits",
    "TargetIds",
    "TargetMask",
    "TokenIds",
    "TokenMask",
    "Values",
    "Weights",
]
