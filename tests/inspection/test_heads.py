"""Single heads: what is switched off, where they look, and relations between positions."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_book.attention import MultiHeadAttention
from attention_book.inspection import (
    Head,
    after_earlier,
    attention_heads,
    changed_attention,
    head_importance,
    offset_profile,
    places_back,
    pruned,
    weight_on,
    without_heads,
)
from attention_book.models import Transformer, TransformerConfig

# --- heads -------------------------------------------------------------------------------------


BATCH, HEADS, QUERIES, KEYS, D_MODEL = 2, 3, 5, 7, 12


@pytest.fixture
def attention():
    torch.manual_seed(0)
    return MultiHeadAttention(d_model=D_MODEL, num_heads=HEADS).double().eval()


@pytest.fixture
def model():
    torch.manual_seed(1)
    config = TransformerConfig(
        source_vocabulary=11, target_vocabulary=13, d_model=D_MODEL, num_heads=HEADS, dropout=0.0
    )
    return Transformer(config).double().eval()


@pytest.fixture
def sentences():
    """Two sources of different length, and the beginning of a target for each."""
    source = torch.tensor([[4, 5, 6, 7, 3], [8, 9, 3, 0, 0]])
    return source, source > 0, torch.tensor([[2, 4, 5], [2, 6, 7]])


def some(seed=0, sizes=(BATCH, HEADS, QUERIES, KEYS)):
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(sizes, generator=generator).double().softmax(dim=-1)
    mask = torch.rand(sizes[0], *sizes[2:], generator=generator) < 0.7
    mask[0, 0, 0] = True
    return weights, mask


@pytest.mark.parametrize("off", [{0}, {2}, {0, 1}, set(), {0, 1, 2}])
def test_a_head_is_off_as_if_its_columns_of_the_output_matrix_were_zero(attention, off):
    queries, keys = torch.rand(BATCH, QUERIES, D_MODEL), torch.rand(BATCH, KEYS, D_MODEL)
    queries, keys = queries.double(), keys.double()
    mask = torch.rand(BATCH, QUERIES, KEYS) < 0.7
    with changed_attention(attention, without_heads(off)):
        found = attention(queries, keys, mask=mask)
    width = D_MODEL // HEADS
    with torch.no_grad():
        for number in off:
            attention.W_o.weight[:, number * width : (number + 1) * width] = 0
    torch.testing.assert_close(found, attention(queries, keys, mask=mask))


def test_all_heads_are_listed_by_module_and_number(model):
    heads = attention_heads(model)
    modules = list(dict.fromkeys(head.module for head in heads))
    assert heads == tuple(Head(module, number) for module in modules for number in range(HEADS))
    assert sorted(modules) == sorted(
        [f"{side}.layers.{layer}.self_attention" for side in ("encoder", "decoder")
         for layer in (0, 1)]
        + [f"decoder.layers.{layer}.cross_attention" for layer in (0, 1)]
    )  # fmt: skip


def test_pruning_switches_off_these_heads_and_no_others(model, sentences):
    expected = model(*sentences)
    heads = attention_heads(model)[1], attention_heads(model)[-1], attention_heads(model)[-2]
    with pruned(model, heads):
        found = model(*sentences)
    width = D_MODEL // HEADS
    with torch.no_grad():
        for name, number in heads:
            columns = slice(number * width, (number + 1) * width)
            model.get_submodule(name).W_o.weight[:, columns] = 0
    torch.testing.assert_close(found, model(*sentences))
    assert not torch.allclose(found, expected)


def test_nothing_stays_behind(model, sentences):
    expected = model(*sentences)
    with pytest.raises(RuntimeError, match="stop"), pruned(model, attention_heads(model)):
        raise RuntimeError("stop")
    torch.testing.assert_close(model(*sentences), expected)


def test_pruning_holds_step_by_step_too(model, sentences):
    source, mask, target = sentences
    with pruned(model, attention_heads(model)[::2]):
        expected = model(*sentences)
        state, steps = model.start(model.encode(source, mask)), []
        for token in target.T:
            logits, state = model.step(token, state)
            steps.append(logits)
    torch.testing.assert_close(torch.stack(steps, dim=1), expected)


def test_importance_is_the_change_of_the_measure(model, sentences):
    def measure():
        return model(*sentences).square().mean().item()

    before, effects = measure(), head_importance(model, measure)
    assert tuple(effects) == attention_heads(model)
    for head in (attention_heads(model)[2], attention_heads(model)[-1]):
        with pruned(model, [head]):
            assert effects[head] == pytest.approx(measure() - before)
    assert len(set(effects.values())) == len(effects)


def test_a_head_that_writes_nothing_has_no_importance(model, sentences):
    width = D_MODEL // HEADS
    with torch.no_grad():
        model.decoder.layers[1].self_attention.W_o.weight[:, width : 2 * width] = 0
    effects = head_importance(model, lambda: model(*sentences).square().mean().item())
    assert effects.pop(Head("decoder.layers.1.self_attention", 1)) == pytest.approx(0, abs=1e-12)
    assert all(abs(effect) > 1e-9 for effect in effects.values())


@given(st.integers(0, 999), st.integers(-6, 6))
def test_the_profile_agrees_with_a_loop(seed, offset):
    weights, mask = some(seed)
    found = [[] for _ in range(HEADS)]
    for b in range(BATCH):
        for q in range(QUERIES):
            if 0 <= q + offset < KEYS and mask[b, q, q + offset]:
                for head in range(HEADS):
                    found[head].append(weights[b, head, q, q + offset].item())
    if not found[0]:
        with pytest.raises(ValueError, match="expected a key"):
            offset_profile(weights, mask, [offset])
        return
    expected = [sum(each) / len(each) for each in found]
    assert offset_profile(weights, mask, [offset])[:, 0].tolist() == pytest.approx(expected)


def test_all_pairs_together_hold_all_the_weight():
    weights, _ = some()
    everything = torch.ones(1, 1, 1, dtype=torch.bool)
    ones = torch.ones(HEADS).double()
    torch.testing.assert_close(weight_on(weights, everything, everything), ones)


def test_hidden_and_padded_queries_do_not_count():
    weights, mask = some()
    chosen = torch.zeros(1, 1, KEYS, dtype=torch.bool)
    chosen[..., 2] = True
    rows = mask[:, :, 2]
    expected = torch.stack([weights[:, head, :, 2][rows].mean() for head in range(HEADS)])
    torch.testing.assert_close(weight_on(weights, chosen, mask), expected)
    weights[~mask[:, None].expand_as(weights)] = 77.0  # whatever stands there
    torch.testing.assert_close(weight_on(weights, chosen, mask), expected)


# --- relations ---------------------------------------------------------------------------------


@given(length=st.integers(1, 7), distance=st.integers(0, 8))
def test_so_many_places_back(length, distance):
    found = places_back(length, distance)
    assert found.shape == (1, length, length)
    for q in range(length):
        for k in range(length):
            assert found[0, q, k] == (k == q - distance)


@given(tokens=st.lists(st.integers(0, 3), min_size=1, max_size=9), distance=st.integers(0, 10))
def test_the_token_after_an_earlier_occurrence(tokens, distance):
    found = after_earlier(torch.tensor([tokens, tokens[::-1]]), distance)
    for text, pairs in zip((tokens, tokens[::-1]), found, strict=True):
        for q in range(len(text)):
            for k in range(len(text)):
                occurrence = k - distance
                earlier = 0 <= occurrence < q and text[occurrence] == text[q]
                assert pairs[q, k] == (earlier and k <= q)


def test_what_there_is_not_is_refused(attention, model):
    x = torch.rand(BATCH, QUERIES, D_MODEL).double()
    for number in (-1, HEADS):
        off = changed_attention(attention, without_heads([number]))
        with off, pytest.raises(ValueError, match=f"below 3, got {number}"):
            attention(x, x)
    with (
        pytest.raises(ValueError, match="heads: expected heads of the model"),
        pruned(model, [Head("encoder.layers.7.self_attention", 0)]),
    ):
        pass
    with pytest.raises(ValueError, match="distance: expected 0 or more, got -1"):
        places_back(3, -1)
    with pytest.raises(ValueError, match="distance: expected 0 or more, got -1"):
        after_earlier(torch.tensor([[1, 2]]), -1)
    with pytest.raises(ValueError, match="length: expected at least 1, got 0"):
        places_back(0, 1)
