"""Laws of the recurrent encoder-decoder, for every way of looking at the source."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from attention_book.models import Seq2Seq, Translator

Build = Callable[..., Seq2Seq]


def on_the_left(padded: Tensor) -> Tensor:
    """The same sentences with their padding in front."""
    return torch.stack([torch.cat((row[row == 0], row[row > 0])) for row in padded])


def test_weights_stand_in_the_columns_of_their_tokens(
    attentive: Seq2Seq, source: Tensor, target: Tensor
) -> None:
    left = on_the_left(source)
    expected, weights = (attentive.weights(s, s > 0, target) for s in (source, left))
    for row in range(len(source)):
        ours, theirs = weights[row][:, left[row] > 0], expected[row][:, source[row] > 0]
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("training", [False, True])
def test_nothing_is_read_back_from_the_device(
    model: Seq2Seq,
    source: Tensor,
    target: Tensor,
    training: bool,
    reads_of: Callable[[Callable[[], object]], int],
) -> None:
    assert isinstance(model, Translator)
    model, mask = model.train(training), source > 0

    def forward_and_step() -> None:
        model(source, mask, target)
        model.step(target[:, 0], model.start(model.encode(source, mask)))

    assert reads_of(forward_and_step) == 0


def test_weights_are_a_distribution_over_the_real_tokens(
    attentive: Seq2Seq, source: Tensor, target: Tensor
) -> None:
    weights = attentive.weights(source, source > 0, target)
    assert weights.shape == (3, 5, 7)
    assert (weights[(source == 0)[:, None, :].expand(3, 5, 7)] == 0).all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, 5).double())


def test_with_attention_the_values_count(
    attentive: Seq2Seq, source: Tensor, target: Tensor
) -> None:
    memory = attentive.encode(source, source > 0)
    noise = replace(memory, values=torch.randn_like(memory.values))
    changed = attentive.decode(target, noise) - attentive.decode(target, memory)
    assert (changed.abs().amax(dim=-1) > 1e-6).all()


def gru_by_hand(gru: nn.GRU, inputs: Tensor, states: list[Tensor]) -> list[Tensor]:
    """One step of every layer, from the formulas in torch's documentation of nn.GRU."""
    after = []
    for (W_i, W_h, b_i, b_h), state in zip(gru.all_weights, states, strict=True):
        r_i, z_i, n_i = (W_i @ inputs + b_i).chunk(3)
        r_h, z_h, n_h = (W_h @ state + b_h).chunk(3)
        r, z = torch.sigmoid(r_i + r_h), torch.sigmoid(z_i + z_h)
        inputs = (1 - z) * torch.tanh(n_i + r * n_h) + z * state
        after.append(inputs)
    return after


def look_by_hand(scores: list[Tensor], values: Tensor) -> Tensor:
    weights = torch.stack(scores).exp()
    return sum(weight * h for weight, h in zip(weights / weights.sum(), values, strict=True))


def additive(score: nn.Module, query: Tensor, key: Tensor) -> Tensor:
    hidden = torch.tanh(score.W_q.weight @ query + score.W_k.weight @ key)
    return score.w_v.weight[0] @ hidden


@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("kind", ["none", "bahdanau", "luong-general", "luong-concat", "input-dot"])
def test_the_decoders_equal_their_papers_formulas_word_by_word(
    build: Build, source: Tensor, target: Tensor, kind: str, both_ways: bool, num_layers: int
) -> None:
    sizes = {"num_layers": num_layers, "d_embed": 5, "d_hidden": 3, "bidirectional": both_ways}
    if kind == "input-dot":
        sizes["d_embed"] = 6 if both_ways else 3
    model, row, length = build(kind, **sizes), 2, 5
    decoder = model.decoder
    read = source[row : row + 1, :length]
    values, final = model.encoder(read, read > 0)
    values, final = values[0], final[:, 0]
    states, expected = list(final), []
    for word in target[row]:
        y = decoder.embedding.weight[word]
        if kind == "none":
            states = gru_by_hand(decoder.gru, torch.cat((final[-1], y)), states)
            features = states[-1]
        elif kind == "input-dot":
            context = look_by_hand([y @ h / len(h) ** 0.5 for h in values], values)
            states = gru_by_hand(decoder.gru, decoder.join(torch.cat((y, context))), states)
            features = states[-1]
        elif kind == "bahdanau":
            score = decoder.attention.score.score
            context = look_by_hand([additive(score, states[-1], h) for h in values], values)
            states = gru_by_hand(decoder.gru, torch.cat((context, y)), states)
            features = states[-1]
        else:
            states, score = gru_by_hand(decoder.gru, y, states), decoder.attention.score.score
            if kind == "luong-general":
                scores = [states[-1] @ score.W @ h for h in values]
            else:
                scores = [additive(score, states[-1], h) for h in values]
            context = look_by_hand(scores, values)
            features = torch.tanh(decoder.join(torch.cat((context, states[-1]))))
        expected.append(decoder.readout(features))
    logits = model(source, source > 0, target)[row]
    torch.testing.assert_close(logits, torch.stack(expected))


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("kind", ["none", "bahdanau", "luong-general", "luong-concat", "location"])
def test_dropout_stands_between_all_layers(
    build: Build, source: Tensor, target: Tensor, kind: str, both_ways: bool
) -> None:
    """With everything dropped, no word gets past the first layer of encoder or decoder."""
    model = build(kind, bidirectional=both_ways, dropout=1.0)
    others = torch.where(source > 0, (source - 3) % 9 + 4, 0), (target - 3) % 13 + 4
    for training in (False, True):
        model.train(training)
        logits, other = model(source, source > 0, target), model(others[0], source > 0, others[1])
        assert torch.equal(logits, other) is training


def test_a_vocabulary_of_another_model_is_named(
    build: Build, source: Tensor, target: Tensor
) -> None:
    model = build("luong-dot")
    with pytest.raises(ValueError, match=r"source: .* from 0 to 12, got 0 to 112.*belong"):
        model.encode(source + 100 * (source == 12), source > 0)
    memory = model.encode(source, source > 0)
    with pytest.raises(ValueError, match=r"target_input: .* from 0 to 16.*belong together"):
        model.decode(target + 17, memory)


def test_selecting_rows_selects_their_future(
    model: Seq2Seq, source: Tensor, target: Tensor
) -> None:
    """Rows of different sources, with padding of their own."""
    rows = torch.tensor([2, 0, 0, 1])
    _, state = model.step(target[:, 0], model.start(model.encode(source, source > 0)))
    picked = state.select(rows)
    assert (state.batch_size, picked.batch_size, picked.memory.batch_size) == (3, 4, 4)
    expected, _ = model.step(target[:, 1], state)
    logits, _ = model.step(target[rows, 1], picked)
    torch.testing.assert_close(logits, expected[rows])
