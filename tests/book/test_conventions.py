"""The page of conventions: each cell of its table is tried, or says that it is not."""

import inspect
import math
import re
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attention_book.attention import (
    DotProductAttention,
    MultiHeadAttention,
    causal_mask,
    dot_product_attention,
    tiled_attention,
)
from attention_book.models import (
    LanguageConfig,
    LanguageModel,
    Transformer,
    TransformerConfig,
)

pytestmark = pytest.mark.usefixtures("unchecked")

PAGE = Path(__file__).parents[2] / "book" / "api" / "conventions.md"
COLUMNS = ("This book", "torch", "Hugging Face", "D2L")
fused = F.scaled_dot_product_attention
sees_one = torch.tensor([[True, False, False]])


def english(cell):
    found = re.search(r"\{en\}(`+) ?(.*?) ?\1(?!`)", cell)
    return (found[2] if found else cell).strip().replace("`", "")


def table():
    """Every cell of the page's table by its question and its column."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
    rows = [[english(cell) for cell in line.strip("|").split(" | ")] for line in lines]
    assert rows[0][1:] == list(COLUMNS)
    return {
        (row[0].strip(), column): cell
        for row in rows[2:]
        for column, cell in zip(COLUMNS, row[1:], strict=True)
    }


def heads(batch=2, count=3, *, queries=4, keys=4):
    torch.manual_seed(8)
    return tuple(torch.randn(batch, count, n, 6) for n in (queries, keys, keys))


def weights_of(call):
    """The weights of an attention over three keys: what it makes of the unit vectors."""
    return call(torch.ones(1, 1, 3), torch.ones(1, 3, 3), torch.eye(3)[None])[0]


def theirs(mask=None, *, bare=False, **more):
    module = nn.MultiheadAttention(6, 3, batch_first=True)
    x = torch.randn(2, 4, 6)
    return module(x, x, x, attn_mask=mask, average_attn_weights=False, **more)[1]


def ours_takes_a_true_as_may_attend():
    assert weights_of(lambda *x: dot_product_attention(*x, sees_one)).tolist() == [[1, 0, 0]]


def torch_has_two_meanings():
    assert weights_of(lambda *x: fused(*x, sees_one)).tolist() == [[1, 0, 0]]
    ignored = torch.tensor([False, True, True, True]).expand(4, 4)
    assert (theirs(ignored)[..., 1:] == 0).all()


def bert():
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 3}
    config = transformers.BertConfig(vocab_size=20, intermediate_size=8, **sizes)
    config._attn_implementation = "eager"
    torch.manual_seed(0)
    model = transformers.BertModel(config).eval()
    ids = torch.tensor([[4, 5, 6, 7], [8, 9, 10, 11], [4, 9, 6, 11], [7, 7, 5, 5]])
    real = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1]])
    with torch.no_grad():  # as many sentences as tokens: sizes do not tell the axes apart
        found = model(ids, attention_mask=real, output_attentions=True).attentions[0]
    return found > 1e-30, real


def a_tokenizers_one_is_real():
    seen, real = bert()
    assert torch.equal(seen, real.bool()[:, None, None].expand_as(seen))


def a_float_is_refused():
    with pytest.raises(TypeError, match="a float is a bias"):
        dot_product_attention(*heads(), torch.zeros(4, 4))


def torch_adds_a_float():
    bias = torch.tensor([[0.0, math.log(2), 0.0]])
    torch.testing.assert_close(
        weights_of(lambda *x: fused(*x, bias)), torch.tensor([[0.25, 0.5, 0.25]])
    )


def two_axes_are_query_and_key(call=dot_product_attention):
    q, k, v = (x[:, 0] for x in heads(batch=4))  # as many examples as queries
    mask = causal_mask(4)
    torch.testing.assert_close(call(q, k, v, mask), call(q, k, v, mask.expand(4, 4, 4)))


def three_axes_are_of_the_module():
    mask = torch.rand(3, 4, 4) < 0.7
    module, x = MultiHeadAttention(d_model=6, num_heads=3), torch.randn(3, 4, 6)
    whole = mask[:, None].expand(3, 3, 4, 4)
    torch.testing.assert_close(module(x, x, x, mask), module(x, x, x, whole))
    with pytest.raises(ValueError, match="mask: expected 2 axes"):
        dot_product_attention(*heads(3, 3), mask)


def torchs_three_axes_count_heads():
    q, k, v = heads(3, 3)
    mask = torch.rand(3, 4, 4) < 0.7
    torch.testing.assert_close(fused(q, k, v, mask), fused(q, k, v, mask[None].expand(3, 3, 4, 4)))
    hidden = torch.rand(6, 4, 4) < 0.3
    hidden[..., 0] = False
    assert torch.equal(theirs(hidden) == 0, hidden.unflatten(0, (2, 3)))


def four_axes(call):
    q, k, v = heads()
    mask = torch.rand(2, 3, 4, 4) < 0.7
    whole = call(q, k, v, mask)
    for example in range(2):
        for head in range(3):
            alone = (x[example, head][None, None] for x in (q, k, v))
            found = call(*alone, mask[example, head])
            torch.testing.assert_close(found[0, 0], whole[example, head])


def default(call, expected):
    assert inspect.signature(call).parameters["is_causal"].default is expected


def defaults_of_ours():
    for call in (dot_product_attention, tiled_attention, MultiHeadAttention.forward):
        default(call, False)
    module, x = MultiHeadAttention(d_model=4, num_heads=1, window=2), torch.randn(1, 3, 4)
    assert (module.weights(x)[0, 0] > 0).tolist() == [
        [abs(i - j) < 2 for j in range(3)] for i in range(3)
    ]


def torchs_default():
    weights = weights_of(lambda q, k, v: fused(q, k, v))
    assert (weights > 0).all()
    assert "is_causal=False" in fused.__doc__


def refused_with_both_choices():
    with pytest.raises(ValueError, match=r"\(2, 4, offset=0\) .* \(2, 4, offset=2\)|offset=2"):
        dot_product_attention(*heads(queries=2), is_causal=True)


def torch_begins_at_the_first_key():
    q, k, v = heads(queries=2)
    first = fused(q, k, v, causal_mask(2, 4, offset=0))
    torch.testing.assert_close(fused(q, k, v, is_causal=True), first)


def nothing_is_zero(call):
    assert (call(*heads(), torch.zeros(4, 4, dtype=torch.bool)) == 0).all()


def torchs_nothing():
    nothing_is_zero(fused)
    assert theirs(torch.ones(4, 4, dtype=torch.bool)).isnan().all()


def hidden(call, number):
    q, k, v = (x.clone() for x in heads())
    mask = torch.arange(4) < 3
    expected = call(q, k, v, mask[None])
    k[..., 3, :], v[..., 3, :] = number, number
    return torch.equal(call(q, k, v, mask[None]), expected)


def anything_may_be_hidden():
    assert all(hidden(dot_product_attention, n) for n in (1e9, math.nan, math.inf, 3e38))
    assert all(hidden(DotProductAttention(), n) for n in (1e9, math.nan, math.inf, 3e38))


def torch_needs_finite_numbers():
    assert hidden(fused, 1e9)
    assert not hidden(fused, math.nan)
    assert not hidden(fused, math.inf)


def translator():
    torch.manual_seed(2)
    sizes = {"d_model": 12, "num_heads": 3, "num_layers": 1, "d_ff": 8}
    for positions in ("sinusoidal", "learned", "rotary", "relative", "alibi", "buckets"):
        settings = {"source_vocabulary": 20, "target_vocabulary": 20, "positions": positions}
        yield Transformer(TransformerConfig(**settings, **sizes)).eval()


def padding_on_either_side():
    alone, target = torch.tensor([[7, 9, 3]]), torch.tensor([[2, 5]])
    for model in translator():
        expected = model(alone, alone > 0, target)
        for left in (0, 1, 2):
            padded = F.pad(alone, (left, 2 - left))
            torch.testing.assert_close(model(padded, padded > 0, target), expected)


def padding_of_a_text_on_either_side():
    torch.manual_seed(3)
    alone = torch.tensor([[2, 7, 9]])
    for positions in ("rotary", "sinusoidal", "alibi", "none"):
        sizes = {"d_model": 12, "num_heads": 3, "num_layers": 1}
        model = LanguageModel(
            LanguageConfig.today(vocabulary=20, positions=positions, **sizes)
        ).eval()
        expected, start = model(alone), model.start(1)
        last = torch.tensor([5])
        following = model.step(last, model.read(alone, start)[1])[0]
        for left in (0, 1, 2):
            padded = F.pad(alone, (left, 2 - left))
            real, here = padded > 0, slice(left, left + 3)
            torch.testing.assert_close(model(padded, real)[:, here], expected)
            read, state = model.read(padded, start, real=real)
            torch.testing.assert_close(read[:, here], expected)
            torch.testing.assert_close(model.step(last, state)[0], following)


def any_integer():
    model = next(translator())
    source, target = torch.tensor([[7, 9, 3]]), torch.tensor([[2, 5]])
    for kind in (torch.int8, torch.uint8, torch.int16, torch.int32):
        found = model(source.to(kind), source > 0, target.to(kind))
        assert torch.equal(found, model(source, source > 0, target))


def two_integers():
    for kind in (torch.int32, torch.int64):
        nn.Embedding(3, 2)(torch.ones(1, dtype=kind))
    with pytest.raises(RuntimeError):
        nn.Embedding(3, 2)(torch.ones(1, dtype=torch.int16))


MODULES_OF_TORCH = "F.scaled_dot_product_attention: {}; nn.MultiheadAttention: {}".format
TRIED = {
    ("True in a boolean mask", "This book"): ("may attend", ours_takes_a_true_as_may_attend),
    ("True in a boolean mask", "torch"): (
        MODULES_OF_TORCH("may attend", "ignore"),
        torch_has_two_meanings,
    ),
    ("True in a boolean mask", "Hugging Face"): ("a real token (1)", a_tokenizers_one_is_real),
    ("A float as a mask", "This book"): ("refused", a_float_is_refused),
    ("A float as a mask", "torch"): ("added to the scores", torch_adds_a_float),
    ("Two axes", "This book"): ("(query, key)", two_axes_are_query_and_key),
    ("Two axes", "torch"): ("(query, key)", lambda: two_axes_are_query_and_key(fused)),
    ("Two axes", "Hugging Face"): ("(batch, key)", a_tokenizers_one_is_real),
    ("Three axes", "This book"): (
        "MultiHeadAttention: (batch, query, key); scores with four axes: refused",
        three_axes_are_of_the_module,
    ),
    ("Three axes", "torch"): (
        "scores with four axes: (head, query, key); "
        "nn.MultiheadAttention: (batch × head, query, key)",
        torchs_three_axes_count_heads,
    ),
    ("Four axes", "This book"): (
        "(batch, head, query, key)",
        lambda: four_axes(dot_product_attention),
    ),
    ("Four axes", "torch"): ("(batch, head, query, key)", lambda: four_axes(fused)),
    ("The default of is_causal", "This book"): (
        "False",
        defaults_of_ours,
    ),
    ("The default of is_causal", "torch"): ("False", torchs_default),
    ("Causal, no cache, fewer queries than keys", "This book"): (
        "refused, with both choices",
        refused_with_both_choices,
    ),
    ("Causal, no cache, fewer queries than keys", "torch"): (
        "first query at the first key",
        torch_begins_at_the_first_key,
    ),
    ("A query that may see nothing", "This book"): (
        "0",
        lambda: nothing_is_zero(dot_product_attention),
    ),
    ("A query that may see nothing", "torch"): (MODULES_OF_TORCH("0", "NaN"), torchs_nothing),
    ("A key that nobody may see, and its value", "This book"): (
        "any numbers, even NaN",
        anything_may_be_hidden,
    ),
    ("A key that nobody may see, and its value", "torch"): (
        "finite numbers",
        torch_needs_finite_numbers,
    ),
    ("Padding of a source stands on", "This book"): ("either side", padding_on_either_side),
    ("Padding of a text, decoder-only", "This book"): (
        "with real: either side, places counted from its own first token",
        padding_of_a_text_on_either_side,
    ),
    ("The type of token numbers", "This book"): ("any integer", any_integer),
    ("The type of token numbers", "torch"): ("int32, int64", two_integers),
}


def test_each_cell_is_tried_or_marked():
    cells = table()
    assert {place for place, cell in cells.items() if not cell.endswith("†")} == set(TRIED)
    assert {place: cells[place] for place in TRIED} == {
        place: claim for place, (claim, _) in TRIED.items()
    }


@pytest.mark.parametrize("place", TRIED, ids=" / ".join)
def test_the_cell_says_what_is_so(place):
    _, tried = TRIED[place]
    tried()
