"""What an error about a mask advises works when it is followed.

The kind: an error that names a way out, where that way ends in the next error, or in another
meaning. Each mask here is right in somebody's convention and refused in ours; the test follows
the expressions that the errors print, one after another, as a reader would, and must arrive at a
call that succeeds and that hides what was meant.
"""

import re

import pytest
import torch

from attention_book import attention as ab
from attention_book.attention import MultiHeadAttention, causal_mask, dot_product_attention

pytestmark = pytest.mark.usefixtures("unchecked")

BATCH, HEADS, QUERIES, KEYS = 2, 3, 5, 7
REAL = torch.tensor([[1, 1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1, 1]])
BY_KEY = REAL.bool()[:, None, None]
BY_QUERY = causal_mask(QUERIES, KEYS, offset=2) & BY_KEY  # another for each example
BY_HEAD = torch.rand(HEADS, QUERIES, KEYS, generator=torch.Generator().manual_seed(1)) < 0.7
LOWEST = {dtype: torch.finfo(dtype).min for dtype in (torch.float16, torch.bfloat16, torch.float32)}

# An expression in a message: a converter, an index, a method of what was given.
EXPRESSION = re.compile(
    r"(?:torch\.as_tensor|mask_from_\w+)(?:\([^()]*\))?"
    r"|\b(?:mask|bias|ignore)(?:\.bool\(\)|\.unflatten\(0, \([^()]*\)\))?(?:\[[^\]]*\])?(?: == 0)?"
)


def steps(message, given):
    """What the expressions of a message make of ``given``; converters are called on it."""
    names = {"torch": torch, "mask": given, "bias": given, "ignore": given, **vars(ab)}
    for expression in dict.fromkeys(EXPRESSION.findall(message)):
        if expression in ("mask", "bias", "ignore"):
            continue  # only a word of the sentence
        call = f"{expression}(mask)" if expression.startswith("mask_from") else expression
        call = call.replace(")(mask)", ")")
        try:
            yield expression, eval(call, names), None
        except (TypeError, ValueError, IndexError) as error:
            yield expression, given, str(error)


def endings(call, given, depth=4):
    """All masks that the advice leads to, from one error to the next."""
    try:
        call(given)
    except (TypeError, ValueError) as error:
        return after(call, str(error), given, depth - 1) if depth else []
    return [given]


def after(call, message, given, depth):
    """Follow each expression of a message, and what a converter advises when it refuses."""
    found = []
    for _, new, refused in steps(message, given):
        if refused is None:
            found += endings(call, new, depth)
        elif depth:
            found += after(call, refused, given, depth - 1)
    return found


MEANT = {  # what somebody has, and what it means
    "tokenizer's numbers": (REAL, BY_KEY),
    "tokenizer's numbers as floats": (REAL.float(), BY_KEY),
    "tokenizer's numbers as small integers": (REAL.to(torch.uint8), BY_KEY),
    "real tokens": (REAL.bool(), BY_KEY),
    "numbers for each pair": (BY_QUERY[:, 0].int(), BY_QUERY),
    "numbers for each head": (BY_HEAD[None].long(), BY_HEAD[None]),
    "a list": (REAL.tolist(), BY_KEY),
    "an array": (BY_QUERY[:, 0].numpy(), BY_QUERY),
    "0 and -inf": (ab.additive_from_mask(BY_QUERY), BY_QUERY),
    "-1e9": (BY_QUERY.logical_not() * -1e9, BY_QUERY),
    "BERT's -10000": (BY_KEY.logical_not() * -10000.0, BY_KEY),
    **{
        f"lowest of {dtype}": (BY_QUERY.logical_not().to(dtype) * low, BY_QUERY)
        for dtype, low in LOWEST.items()
    },
    "lowest of float16, then as float32": (BY_KEY.logical_not() * LOWEST[torch.float16], BY_KEY),
    "lowest of bfloat16, then as float32": (BY_KEY.logical_not() * LOWEST[torch.bfloat16], BY_KEY),
    "two masks added": ((BY_QUERY.logical_not() * 1.0 + ~BY_KEY) * -1e4, BY_QUERY),
    "one for each head": (BY_HEAD, BY_HEAD[None]),
    "1 = ignore": (BY_QUERY[:, 0].logical_not().int(), BY_QUERY),
}


def multi_head_calls():
    torch.manual_seed(3)
    x, y = torch.randn(BATCH, QUERIES, 12), torch.randn(BATCH, KEYS, 12)
    module = MultiHeadAttention(d_model=12, num_heads=HEADS)
    q, k, v = (torch.randn(BATCH, HEADS, n, 4) for n in (QUERIES, KEYS, KEYS))
    return {
        "module": lambda mask: module(x, y, y, mask),
        "function": lambda mask: dot_product_attention(q, k, v, mask),
    }


@pytest.mark.parametrize("where", ["module", "function"])
@pytest.mark.parametrize("name", MEANT)
def test_following_the_advice_leads_to_what_was_meant(name, where):
    given, meant = MEANT[name]
    call = multi_head_calls()[where]
    found = endings(call, given)
    assert found, "the errors advise nothing that works"
    outputs = [call(mask) for mask in found]
    expected = call(meant.expand(BATCH, -1, -1, -1))
    assert any(torch.equal(output, expected) for output in outputs)


def test_torchs_mask_of_examples_times_heads():
    call, meant = multi_head_calls()["module"], torch.rand(BATCH, HEADS, QUERIES, KEYS) < 0.7
    found = endings(call, meant.flatten(0, 1))
    assert any(torch.equal(call(mask), call(meant)) for mask in found)


def test_a_tokenizers_mask_of_as_many_texts_as_queries():
    """Made boolean alone it would be taken for (query, key), without a word."""
    torch.manual_seed(5)
    x, module = torch.randn(KEYS, KEYS, 12), MultiHeadAttention(d_model=12, num_heads=HEADS)
    given = torch.arange(KEYS) <= torch.arange(KEYS)[:, None]  # (batch, key)
    meant = module(x, mask=given[:, None, None])
    found = endings(lambda mask: module(x, mask=mask), given.long())
    assert any(torch.equal(module(x, mask=mask), meant) for mask in found)


def test_a_tokenizers_mask_that_would_ignore_everything():
    ones = torch.ones(1, 4, dtype=torch.long)
    with pytest.raises(ValueError, match="mask_from_attention_mask") as error:
        ab.mask_from_ignore(ones)
    assert [new.tolist() for _, new, _ in steps(str(error.value), ones)] == [[[[True] * 4]]]
