"""Laws of the recurrent encoder-decoder, for every way of looking at the source."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from attention_book.inspection import capture_attention
from attention_book.models import Seq2Seq, Seq2SeqConfig, Translator

Build = Callable[..., Seq2Seq]


def test_every_model_follows_the_protocol(model: Seq2Seq) -> None:
    assert isinstance(model, Translator)


def test_step_by_step_equals_teacher_forcing(
    model: Seq2Seq, source: Tensor, target: Tensor
) -> None:
    memory = model.encode(source, source > 0)
    state, steps = model.start(memory), []
    for token in target.T:
        logits, state = model.step(token, state)
        steps.append(logits)
    torch.testing.assert_close(torch.stack(steps, dim=1), model.decode(target, memory))


def test_a_step_leaves_the_state_as_it_was(model: Seq2Seq, source: Tensor, target: Tensor) -> None:
    state = model.start(model.encode(source, source > 0))
    first, _ = model.step(target[:, 0], state)
    model.step(target[:, 1], state)
    again, _ = model.step(target[:, 0], state)
    assert torch.equal(first, again)


@pytest.mark.parametrize("training", [False, True])
def test_a_later_word_moves_nothing_before_it(
    model: Seq2Seq, source: Tensor, target: Tensor, training: bool
) -> None:
    model.train(training)
    changed = target.clone()
    changed[:, 3] = (changed[:, 3] - 3) % 13 + 4
    outputs = []
    for words in (target, changed):
        torch.manual_seed(1)  # the same dropout
        outputs.append(model(source, source > 0, words))
    before, after = outputs
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.isclose(before[:, 3], after[:, 3]).all(dim=-1).any()


def test_padding_is_never_read(model: Seq2Seq, source: Tensor, target: Tensor) -> None:
    mask = source > 0
    noise = torch.where(mask, source, torch.randint(4, 13, source.shape))
    assert not torch.equal(noise, source)
    torch.testing.assert_close(model(noise, mask, target), model(source, mask, target))


def test_a_sentence_gets_the_same_logits_alone(
    model: Seq2Seq, source: Tensor, target: Tensor
) -> None:
    together = model(source, source > 0, target)
    for row, length in enumerate((7, 3, 5)):
        alone = source[row : row + 1, :length]
        logits = model(alone, alone > 0, target[row : row + 1])
        torch.testing.assert_close(logits, together[row : row + 1])


def test_selecting_rows_selects_their_future(
    model: Seq2Seq, source: Tensor, target: Tensor
) -> None:
    rows = torch.tensor([2, 0, 0, 1])
    state = model.start(model.encode(source, source > 0))
    _, state = model.step(target[:, 0], state)
    picked = state.select(rows)
    assert (state.batch_size, picked.batch_size, picked.memory.batch_size) == (3, 4, 4)
    expected, _ = model.step(target[:, 1], state)
    logits, _ = model.step(target[rows, 1], picked)
    torch.testing.assert_close(logits, expected[rows])


def test_weights_are_a_distribution_over_the_real_tokens(
    attentive: Seq2Seq, source: Tensor, target: Tensor
) -> None:
    weights = attentive.weights(source, source > 0, target)
    assert weights.shape == (3, 5, 7)
    assert (weights[(source == 0)[:, None, :].expand(3, 5, 7)] == 0).all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, 5).double())


@pytest.mark.parametrize("kind", ["bahdanau", "luong-general", "luong-dot", "input-dot"])
def test_weights_are_those_of_the_run(
    build: Build, source: Tensor, target: Tensor, kind: str
) -> None:
    model = build(kind)
    with capture_attention(model.decoder) as seen:
        model.decode(target, model.encode(source, source > 0))
    captured = torch.cat(seen["attention"], dim=1)
    torch.testing.assert_close(captured, model.weights(source, source > 0, target))


def test_without_attention_only_the_last_state_counts(
    build: Build, source: Tensor, target: Tensor
) -> None:
    model = build("none")
    memory = model.encode(source, source > 0)
    noise = replace(
        memory, values=torch.randn_like(memory.values), keys=torch.zeros_like(memory.keys)
    )
    assert torch.equal(model.decode(target, noise), model.decode(target, memory))
    with pytest.raises(ValueError, match="no attention"):
        model.weights(source, source > 0, target)


def test_with_attention_the_values_count(
    attentive: Seq2Seq, source: Tensor, target: Tensor
) -> None:
    memory = attentive.encode(source, source > 0)
    noise = replace(memory, values=torch.randn_like(memory.values))
    changed = attentive.decode(target, noise) - attentive.decode(target, memory)
    assert (changed.abs().amax(dim=-1) > 1e-6).all()


def test_location_attention_never_sees_the_source(build: Build, source: Tensor) -> None:
    model = build("location")
    memory = model.encode(source, source > 0)
    shuffled = replace(memory, values=memory.values.flip(1), keys=memory.keys.flip(1))
    first_word = torch.full((3, 1), 2)
    weights = [
        model.decoder.weights(model.decoder.run(first_word, model.start(m)), m)
        for m in (memory, shuffled)
    ]
    assert torch.equal(*weights)


def test_input_dot_looks_at_the_same_place_for_the_same_word(build: Build, source: Tensor) -> None:
    words = torch.tensor([[5, 9, 5, 9, 5]] * 3)
    weights = build("input-dot").weights(source, source > 0, words)
    torch.testing.assert_close(weights[:, 0], weights[:, 4])
    assert not torch.allclose(weights[:, 0], weights[:, 1])


@pytest.mark.parametrize("kind", ["bahdanau", "luong-concat"])
def test_keys_are_projected_once_per_sentence(
    build: Build, source: Tensor, target: Tensor, kind: str
) -> None:
    model, calls = build(kind), []
    projection = model.decoder.attention.score.score.W_k
    projection.register_forward_hook(lambda *_: calls.append(1))
    state = model.start(model.encode(source, source > 0))
    for token in target.T:
        _, state = model.step(token, state)
    assert len(calls) == 1


def test_bahdanau_equals_the_formulas_word_by_word(
    build: Build, source: Tensor, target: Tensor
) -> None:
    """An oracle written out with loops, from the paper's equations, for one layer."""
    model = build("bahdanau", num_layers=1, d_embed=5, d_hidden=3)
    row, length = 2, 5
    parameters = dict(model.named_parameters())
    W_q, W_k, w_v = (
        parameters[f"decoder.attention.score.score.{name}.weight"] for name in ("W_q", "W_k", "w_v")
    )
    gru = [
        parameters[f"decoder.gru.{n}_l0"] for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    ]
    states, _ = model.encoder.forwards[0](model.encoder.embedding(source[row, :length]))
    s, expected = states[-1], []
    for word in target[row]:
        scores = torch.stack([w_v[0] @ torch.tanh(W_q @ s + W_k @ h) for h in states])
        weights = scores.exp() / scores.exp().sum()
        context = sum(weight * h for weight, h in zip(weights, states, strict=True))
        y = model.decoder.embedding.weight[word]
        r_i, z_i, n_i = (gru[0] @ torch.cat((context, y)) + gru[2]).chunk(3)
        r_h, z_h, n_h = (gru[1] @ s + gru[3]).chunk(3)
        r, z = torch.sigmoid(r_i + r_h), torch.sigmoid(z_i + z_h)
        s = (1 - z) * torch.tanh(n_i + r * n_h) + z * s
        expected.append(model.decoder.readout(s))
    logits = model(source, source > 0, target)[row]
    torch.testing.assert_close(logits, torch.stack(expected))


def test_shapes_of_the_classic_example() -> None:
    config = Seq2SeqConfig(
        source_vocabulary=10, target_vocabulary=10, d_embed=8, d_hidden=16, num_layers=2
    )
    model, tokens = Seq2Seq(config).eval(), torch.zeros(4, 7, dtype=torch.long)
    memory = model.encode(tokens, torch.ones(4, 7, dtype=torch.bool))
    logits = model.decode(tokens, memory)
    state = model.start(memory)
    assert logits.shape == (4, 7, 10)
    assert memory.values.shape == (4, 7, 16)
    assert len(state.hidden) == 2
    assert state.hidden[0].shape == (4, 16)


def test_location_refuses_a_source_that_is_too_long(build: Build, source: Tensor) -> None:
    model = build("location", num_places=6)
    with pytest.raises(ValueError, match=r"at most num_places=6 tokens, <eos> included.*got 7"):
        model(source, source > 0, source)
    short = source[1:]  # 7 columns, but only 5 real tokens
    assert model(short, short > 0, short).isfinite().all()
    weights = model.weights(short, short > 0, short)
    assert weights.shape == (2, 7, 7)
    torch.testing.assert_close(weights[..., :5].sum(dim=-1), torch.ones(2, 7).double())


def test_kinds_that_do_not_fit_are_refused(build: Build) -> None:
    with pytest.raises(ValueError, match="use 'luong-general'"):
        build("luong-dot", bidirectional=True)
    with pytest.raises(ValueError, match="d_embed=5 and d_source=11"):
        build("input-dot", d_embed=5)


def test_gradients_reach_every_parameter(model: Seq2Seq, source: Tensor, target: Tensor) -> None:
    model.train()(source, source > 0, target).square().sum().backward()
    # The location decoder compares nothing, so it has no keys to project; nothing else is idle.
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())
