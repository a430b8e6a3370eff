"""What somebody else broke is found from the report alone; modules of libraries when they break."""

import inspect

import colleague
import pytest
import torch
from broken_parts import reader
from torch import nn
from torch.nn import functional as F

from attention_book.conformance import (
    Kernel,
    examine,
    from_torch,
    from_transformers,
    from_x_transformers,
)

pytestmark = [pytest.mark.usefixtures("unchecked"), pytest.mark.filterwarnings("ignore")]

#: What of each slip the report says; in a causal decoder a mask on the queries hides no key.
NAMED = {
    "rows": {"causal-from-the-start"},
    "pad": set(),
    "drop": {"dropout-in-eval"},
    "wpe": {"positions-of-steps"},
}


def causes(subject):
    return {breach.cause for breach in examine(subject).broken.values()}


def test_the_mended_decoder_obeys():
    assert examine(colleague.as_subject())


@pytest.mark.parametrize("slip", NAMED)
def test_each_slip_is_told_by_its_name(slip):
    assert NAMED[slip] <= causes(colleague.as_subject(slip))


def test_two_slips_at_once_are_both_told():
    found = causes(colleague.as_subject("wpe", "drop"))
    assert "dropout-in-eval" in found
    rows = examine(colleague.as_subject("rows", "wpe"))
    assert "steps" in rows.broken


def test_a_usual_kernel_read_the_other_way_round_is_named_though_its_rows_are_empty():
    """Neither NaN nor an average in rows that see nothing hides what was done to the mask."""
    for fill in (-torch.inf, -1e9):

        def attend(q, k, v, mask, fill=fill):
            scores = q @ k.mT * q.shape[-1] ** -0.5
            return (scores if mask is None else scores.masked_fill(mask, fill)).softmax(-1) @ v

        subject = Kernel(attend, empty_row="any", halves=(), compiles=False)
        assert examine(subject).cause == "mask-inverted"
    assert examine(Kernel(attend, mask="blocked", empty_row="any", halves=()))


def test_a_module_of_torch_with_a_hook_that_spoils_it_is_named():
    heads = nn.MultiheadAttention(16, 4, batch_first=True)
    subject = from_torch(heads)
    whole = heads.forward
    heads.forward = lambda *a, key_padding_mask=None, **more: whole(*a, **more)
    assert causes(subject) & {"mask-ignored", "padding-attended"}
    heads.forward = lambda q, *rest, **more: whole(2 * q, *rest, **more)
    assert "formula" in examine(subject).broken


def test_a_model_of_transformers_that_forgets_its_mask_is_named():
    transformers = pytest.importorskip("transformers", minversion="5.0")
    sizes = {"vocab_size": 13, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64}
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(attn_implementation="sdpa", initializer_range=0.3, **sizes)
    )
    subject = from_transformers(model)
    assert examine(subject)
    whole, swapped = F.scaled_dot_product_attention, []

    def forgetful(q, k, v, *mask, **more):
        swapped.append(1)
        return whole(q, k, v)

    F.scaled_dot_product_attention = forgetful
    try:
        assert examine(subject, only=["future-is-hidden"]).cause == "no-causal-mask"
    finally:
        F.scaled_dot_product_attention = whole
    assert swapped


def test_a_model_of_transformers_may_call_its_cache_by_either_name():
    transformers = pytest.importorskip("transformers", minversion="5.0")
    asked = inspect.signature(transformers.LlamaForCausalLM.forward).parameters
    kept = "cache" if "cache" in asked else "past_key_values"  # since 5.24, and before

    class Today(transformers.LlamaForCausalLM):
        def forward(
            self, input_ids, attention_mask=None, position_ids=None, cache=None, use_cache=None
        ):
            given = {"attention_mask": attention_mask, "position_ids": position_ids, kept: cache}
            found = super().forward(input_ids, use_cache=use_cache, **given)
            return transformers.utils.ModelOutput(logits=found.logits, cache=found.get(kept))

    sizes = {"vocab_size": 13, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    model = Today(transformers.LlamaConfig(initializer_range=0.3, **sizes, **heads)).eval()
    subject = from_transformers(model)
    assert subject.causal
    assert subject.step is not None
    assert examine(subject)


@pytest.mark.parametrize("adapter", [from_torch, from_transformers, from_x_transformers])
def test_a_module_of_another_library_is_refused(adapter):
    with pytest.raises(TypeError, match=r"expected .*, got Linear"):
        adapter(nn.Linear(2, 2))


def test_the_end_of_a_memory_is_asked_for():
    subject, _ = reader("end-unread")
    assert "memory-is-read" in examine(subject).broken
