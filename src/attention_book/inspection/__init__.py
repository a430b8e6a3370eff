"""Looking inside a model: its attention weights, its heads, and what its output depends on."""

from attention_book.inspection.capture import capture_attention
from attention_book.inspection.cost import operations, peak_bytes, sequential_steps
from attention_book.inspection.cutting import chosen_looks, cut_looks
from attention_book.inspection.flow import information_flow, jacobian_norms, path_length
from attention_book.inspection.heads import (
    Head,
    after_earlier,
    attention_heads,
    head_importance,
    offset_profile,
    places_back,
    pruned,
    weight_on,
    without_heads,
)
from attention_book.inspection.importance import (
    gradient_times_input,
    hiding_effects,
    influence,
    rank_correlation,
    replacement_effects,
)
from attention_book.inspection.interventions import (
    changed_attention,
    even,
    forced_attention,
    only_heaviest,
    shuffled,
    without_heaviest,
    without_pairs,
    without_random,
)
from attention_book.inspection.memory_traffic import (
    Traffic,
    attention_traffic,
    largest_tile,
    traffic,
)
from attention_book.inspection.patching import PATHS, captured, patched, patched_paths
from attention_book.inspection.roofline import (
    CachedToken,
    Roofline,
    StepCost,
    decoding_step,
    fastest_seconds,
    measured_roofline,
)
from attention_book.inspection.teacher_forced import (
    gold_weights,
    target_log_probs,
    teacher_forced_weights,
)

__all__ = [
    "PATHS",
    "CachedToken",
    "Head",
    "Roofline",
    "StepCost",
    "Traffic",
    "after_earlier",
    "attention_heads",
    "attention_traffic",
    "capture_attention",
    "captured",
    "changed_attention",
    "chosen_looks",
    "cut_looks",
    "decoding_step",
    "even",
    "fastest_seconds",
    "forced_attention",
    "gold_weights",
    "gradient_times_input",
    "head_importance",
    "hiding_effects",
    "influence",
    "information_flow",
    "jacobian_norms",
    "largest_tile",
    "measured_roofline",
    "offset_profile",
    "only_heaviest",
    "operations",
    "patched",
    "patched_paths",
    "path_length",
    "peak_bytes",
    "places_back",
    "pruned",
    "rank_correlation",
    "replacement_effects",
    "sequential_steps",
    "shuffled",
    "target_log_probs",
    "teacher_forced_weights",
    "traffic",
    "weight_on",
    "without_heads",
    "without_heaviest",
    "without_pairs",
    "without_random",
]
