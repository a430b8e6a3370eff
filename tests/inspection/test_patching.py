"""Patching: a run's own values change nothing, all of another run's give that run."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.attention import MultiHeadAttention, causal_mask
from attention_book.course.models import AttentionOnly
from attention_book.inspection.patching import PATHS, captured, patched, patched_paths
from attention_book.models import LanguageConfig, LanguageModel
from attention_book.models.parts import AddNorm

WORDS = torch.tensor([[3, 1, 4, 1, 5], [2, 6, 5, 3, 5]])
OTHERS = torch.tensor([[0, 2, 6, 6, 1], [4, 4, 0, 2, 3]])
ORDERS = ("pre", "post", "both")
SOME = st.sets(st.sampled_from(PATHS))


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(2)
    return AttentionOnly(vocabulary=7, d_model=12, num_heads=3).double().eval()


def layer_of(order):
    """An attention sublayer as in a Transformer, drawn sharp, and its call."""
    torch.manual_seed(5)
    add_norm = AddNorm(d_model=12, order=order).double().eval()
    attention = MultiHeadAttention(d_model=12, num_heads=3).double().eval()
    for parameter in (*add_norm.parameters(), *attention.parameters()):
        torch.nn.init.normal_(parameter, std=0.7)
    return add_norm, lambda x: add_norm(x, attention, is_causal=True), attention


def two_inputs():
    return torch.randn(2, 2, 5, 12, dtype=torch.float64).unbind()


@torch.no_grad()
def outputs(model, words, module):
    with captured(module) as seen:
        logits = model(words)
    (output,) = seen
    return logits, output


@given(places=st.lists(st.booleans(), min_size=10, max_size=10))
def test_its_own_output_changes_nothing_at_any_place(model, places):
    chosen = torch.tensor(places).view(2, 5)
    for module in (model.layers[0], model.layers[0].attention, model.layers[1].attention):
        logits, own = outputs(model, WORDS, module)
        with torch.no_grad(), patched(module, own, chosen):
            assert torch.equal(model(WORDS), logits)


def test_all_places_of_the_residual_stream_give_the_other_run(model):
    for module in (model.embedding, *model.layers):
        expected, output = outputs(model, OTHERS, module)
        with torch.no_grad(), patched(module, output):
            assert torch.equal(model(WORDS), expected)
        everywhere = torch.ones(2, 5, dtype=torch.bool)
        with torch.no_grad(), patched(module, output, everywhere):
            assert torch.equal(model(WORDS), expected)


@pytest.mark.parametrize("place", range(5))
def test_a_patched_place_moves_itself_and_what_comes_after(model, place):
    (logits, _), (_, output) = (outputs(model, w, model.layers[0]) for w in (WORDS, OTHERS))
    chosen = torch.zeros(2, 5, dtype=torch.bool)
    chosen[1, place] = True
    with torch.no_grad(), patched(model.layers[0], output, chosen):
        moved = (model(WORDS) - logits).abs().amax(dim=-1) > 1e-9
    assert not moved[0].any(), "the other text stays"
    assert moved[1].tolist() == [False] * place + [True] * (5 - place)


@pytest.mark.parametrize("order", ORDERS)
@given(paths=SOME)
def test_a_layers_own_input_changes_nothing_on_any_path(order, paths):
    add_norm, call, _ = layer_of(order)
    x, _ = two_inputs()
    expected = call(x)
    with patched_paths(add_norm, x, paths):
        assert torch.equal(call(x), expected)


@pytest.mark.parametrize("order", ORDERS)
def test_all_paths_together_are_the_vector_and_none_is_nothing(order):
    add_norm, call, _ = layer_of(order)
    x, other = two_inputs()
    replaced, own = call(other), call(x)
    with patched_paths(add_norm, other, PATHS):
        assert torch.equal(call(x), replaced)
    with patched_paths(add_norm, other, ()):
        assert torch.equal(call(x), own)
    assert torch.equal(call(x), own), "nothing stays behind"


@pytest.mark.parametrize("order", ORDERS)
@given(paths=SOME)
def test_what_each_path_reads_is_written_out(order, paths):
    add_norm, call, attention = layer_of(order)
    x, other = two_inputs()
    q, k, v, past = (other if path in paths else x for path in PATHS)
    norm = torch.nn.Identity() if order == "post" else add_norm.norm
    added = attention(norm(q), norm(k), norm(v), causal_mask(5))
    if order == "both":
        added = add_norm.norm_after(added)
    expected = add_norm.norm(past + added) if order == "post" else past + added
    with patched_paths(add_norm, other, paths):
        torch.testing.assert_close(call(x), expected)


def test_it_works_inside_a_language_model():
    torch.manual_seed(3)
    model = LanguageModel(LanguageConfig.today(vocabulary=7, d_model=12, num_heads=3, d_ff=16))
    model = model.double().eval()
    first, second = model.stack.layers
    with torch.no_grad():
        expected, x = outputs(model, OTHERS, first)
        with patched_paths(second.self_attention_norm, x, PATHS):
            assert torch.equal(model(WORDS), expected)


@torch.no_grad()
@pytest.mark.parametrize(
    ("block", "message"),
    [
        (lambda layer: patched_paths(layer.add_norm, torch.zeros(2, 5, 12), ["k"]), "paths: exp"),
        (lambda layer: patched_paths(layer.add_norm, torch.zeros(2, 4, 12), PATHS), "vectors: exp"),
        (lambda layer: patched(layer, torch.zeros(1, 5, 12)), "output: expected the shape"),
        (lambda layer: patched(layer, torch.zeros(2, 5, 12), torch.ones(5) > 0), "places: expect"),
    ],
)
def test_a_wrong_shape_or_name_is_named(model, block, message):
    with pytest.raises(ValueError, match=message), block(model.layers[1]):
        model(WORDS)


def test_places_that_are_no_booleans_are_an_error(model):
    with pytest.raises(TypeError, match="places"), patched(model, torch.zeros(1), torch.ones(2, 5)):
        pass
