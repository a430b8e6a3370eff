"""Laws of the Transformer, for every scheme of positions and both orders of the norm."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from attention_book.inspection import capture_attention
from attention_book.models import (
    Transformer,
    TransformerConfig,
    Translator,
    from_torch,
    to_torch,
)
from attention_book.models.config import POSITION_KINDS
from attention_book.training import load_checkpoint, save_checkpoint, xavier_

Build = Callable[..., Transformer]


@pytest.fixture
def build() -> Build:
    """A function that makes a model in eval mode and double precision; primes where it can be."""

    def make(**changes: object) -> Transformer:
        sizes = {"d_model": 30, "num_heads": 5, "d_ff": 17, "num_layers": 2, "max_distance": 3}
        words = {"source_vocabulary": 13, "target_vocabulary": 19}
        config = TransformerConfig(**{**words, **sizes, **changes})
        return Transformer(config).double().eval()

    return make


@pytest.fixture(params=POSITION_KINDS)
def positions(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["post", "pre"])
def model(request: pytest.FixtureRequest, build: Build, positions: str) -> Transformer:
    """A model for every scheme of positions and both orders of the norm."""
    return build(positions=positions, norm=request.param)


@pytest.fixture
def target() -> Tensor:
    """Five target tokens for each of the three sources."""
    return torch.cat((torch.full((3, 1), 2), torch.randint(4, 19, (3, 4))), dim=1)


def stepwise(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    state, steps = model.start(model.encode(source, source > 0)), []
    for token in target.T:
        logits, state = model.step(token, state)
        steps.append(logits)
    return torch.stack(steps, dim=1)


def test_a_later_word_moves_nothing_before_it_while_training(
    build: Build, positions: str, source: Tensor, target: Tensor
) -> None:
    model = build(positions=positions).train()
    changed = target.clone()
    changed[:, 3] = (changed[:, 3] - 3) % 15 + 4
    outputs = []
    for words in (target, changed):
        torch.manual_seed(1)  # the same dropout
        outputs.append(model(source, source > 0, words))
    before, after = outputs
    torch.testing.assert_close(before[:, :3], after[:, :3], rtol=0, atol=1e-12)
    assert not torch.isclose(before[:, 3], after[:, 3]).all(dim=-1).any()


def test_the_encoder_reads_tokens(model: Transformer, source: Tensor) -> None:
    mask = (source > 0)[:, None]
    vectors = model.encoder.embedding(source) * 30**0.5
    expected = model.encoder.place(vectors)
    for layer in model.encoder.layers:
        expected = layer(expected, mask)
    expected = model.encoder.norm(expected)
    torch.testing.assert_close(model.encoder(source, mask), expected)
    torch.testing.assert_close(model.encode(source, source > 0).encoded, expected)


def test_words_read_at_once_are_those_read_one_by_one(
    model: Transformer, source: Tensor, target: Tensor
) -> None:
    begun = model.start(model.encode(source, source > 0))
    state, rows = begun, []
    for word in target.T:
        logits, state = model.step(word, state)
        rows.append(logits)
    first, middle = model.read(target[:, :1], begun)
    rest, end = model.read(target[:, 1:], middle)
    torch.testing.assert_close(torch.cat((first, rest), dim=1), torch.stack(rows, dim=1))
    assert (begun.position, middle.position, end.position) == (0, 1, target.shape[1])


def test_weights_are_those_of_the_last_cross_attention(
    model: Transformer, source: Tensor, target: Tensor
) -> None:
    with capture_attention(model) as seen:
        model(source, source > 0, target)
    weights = model.weights(source, source > 0, target)
    last = seen["decoder.layers.1.cross_attention"][0]
    assert last.shape == (3, 5, 5, 7)
    torch.testing.assert_close(weights, last.mean(dim=1))
    assert not weights.masked_select((source == 0)[:, None, :]).any()


def test_capturing_steps_sees_the_rows_of_the_whole(
    build: Build, source: Tensor, target: Tensor
) -> None:
    model = build(positions="rotary")
    with capture_attention(model) as at_once:
        model(source, source > 0, target)
    with capture_attention(model) as by_steps:
        stepwise(model, source, target)
    name = "decoder.layers.1.self_attention"
    last = by_steps[name][-1]
    torch.testing.assert_close(last, at_once[name][0][:, :, -1:])


def test_tied_embeddings_keep_their_size_and_their_bond(build: Build, tmp_path: Path) -> None:
    model = build(tied=True)
    before = model.decoder.embedding.weight.detach().clone()
    xavier_(model)
    assert torch.equal(model.decoder.embedding.weight, before)
    save_checkpoint(tmp_path / "tied", model=model)
    other = build(tied=True)
    load_checkpoint(tmp_path / "tied", model=other)
    assert other.readout.weight is other.decoder.embedding.weight
    assert torch.equal(other.readout.weight, before)
    shared = build(shared=True, target_vocabulary=13)
    before = shared.readout.weight.detach().clone()
    assert torch.equal(xavier_(shared).readout.weight, before)


@pytest.fixture
def shared(build: Build) -> Transformer:
    return build(shared=True, target_vocabulary=13)


def test_shared_embeddings_are_one_matrix(shared: Transformer, build: Build) -> None:
    encoder, decoder = shared.encoder.embedding, shared.decoder.embedding
    assert encoder.weight is decoder.weight is shared.readout.weight
    assert shared.readout.bias is None
    assert (encoder.name, decoder.name) == ("source", "target")
    counts = [
        sum(parameter.numel() for parameter in model.parameters())
        for model in (build(tied=True, target_vocabulary=13), shared)
    ]
    assert counts[0] - counts[1] == 13 * 30


def test_gradients_of_a_shared_matrix_add_up(shared: Transformer, build: Build) -> None:
    """Apart, with the same numbers in all three places, the three gradients have this sum."""
    apart = build(target_vocabulary=13)
    state = shared.state_dict()
    apart.load_state_dict({**state, "readout.bias": torch.zeros(13)})
    source, target = torch.tensor([[4, 5, 6, 3]]), torch.tensor([[2, 7, 8]])
    upstream = torch.randn(1, 3, 13, dtype=torch.float64)
    for model in (shared, apart):
        model(source, source > 0, target).backward(upstream)
    parts = (apart.encoder.embedding, apart.decoder.embedding, apart.readout)
    assert all(bool(part.weight.grad.any()) for part in parts)
    expected = sum(part.weight.grad for part in parts)
    torch.testing.assert_close(shared.readout.weight.grad, expected)


def test_a_file_from_before_there_was_sharing_loads(build: Build, tmp_path: Path) -> None:
    older, newer = build(), build()
    settings = older.config.to_dict()
    del settings["shared"]

    class Older:
        """Settings as they were written then."""

        def to_dict(self) -> dict[str, object]:
            return settings

    older.config = Older()
    save_checkpoint(tmp_path / "older", model=older)
    load_checkpoint(tmp_path / "older", model=newer)
    assert torch.equal(newer.readout.weight, older.readout.weight)


def test_a_shared_model_converts_to_torch_and_back(shared: Transformer) -> None:
    source, target = torch.tensor([[4, 5, 6]]), torch.tensor([[2, 7]])
    theirs = to_torch(shared)
    features = theirs(
        shared.encoder.embed(source),
        shared.decoder.embed(target),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(2, dtype=torch.float64),
        tgt_is_causal=True,
    )
    torch.testing.assert_close(shared.readout(features), shared(source, source > 0, target))
    sizes = {"source_vocabulary": 13, "target_vocabulary": 13}
    back = from_torch(theirs, **sizes, shared=True)
    assert back.encoder.embedding.weight is back.decoder.embedding.weight is back.readout.weight
    assert back.readout.weight.dtype == torch.float64


def test_positions_past_a_learned_table_are_refused(
    build: Build, source: Tensor, target: Tensor
) -> None:
    model = build(positions="learned", max_positions=7)
    state = model.start(model.encode(source, source > 0))
    _, state = model.step(torch.tensor([2, 2, 2]), state)
    for _ in range(6):
        _, state = model.step(torch.tensor([4, 4, 4]), state)
    with pytest.raises(ValueError, match="7"):
        model.step(torch.tensor([4, 4, 4]), state)
    longer = torch.cat((source, source.new_full((3, 1), 0)), dim=1)
    longer[0, 7] = 4
    with pytest.raises(ValueError, match="7"):
        model.encode(longer, longer > 0)


BEGIN = r"target: expected <bos> = 2 as the first token, got 7"
FOR_EACH = "target: expected one for each of 3 sources, got 2"


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model, memory, target: model.decode(target + 5, memory), BEGIN),
        (
            lambda model, memory, target: model.decode(target[:, :0], memory),
            "target: expected <bos> = 2 .* got nothing",
        ),
        (
            lambda model, memory, target: model.step(target[:, 0] + 5, model.start(memory)),
            "target: expected <bos> = 2 .* got 7",
        ),
        (lambda model, memory, target: model.decode(target[:2], memory), FOR_EACH),
        (
            lambda model, memory, target: model.step(target[:2, 0], model.start(memory)),
            FOR_EACH,
        ),
        (lambda model, memory, target: model.weights(SOURCE, SOURCE > 0, target + 5), BEGIN),
        (lambda model, memory, target: model.weights(SOURCE, SOURCE > 0, target[:2]), FOR_EACH),
        (
            lambda model, memory, target: model.decode(target[0], memory),
            r"target: expected the axes \(batch, target\)",
        ),
        (
            lambda model, memory, target: model.step(target[:, :1], model.start(memory)),
            r"target: expected the axes \(batch\), got .* \(3, 1\)",
        ),
    ],
)
def test_wrong_targets_and_states_are_refused(build: Build, call, message) -> None:
    model = build()
    assert isinstance(model, Translator)
    with pytest.raises(ValueError, match=message):
        call(model, model.encode(SOURCE, SOURCE > 0), torch.tensor([[2, 4, 5]] * 3))


SOURCE = torch.tensor([[4, 5, 6, 3], [7, 3, 0, 0], [8, 9, 3, 0]])


def test_selecting_rows_selects_their_future(build: Build, source: Tensor, target: Tensor) -> None:
    """Rows of different sources, with padding of their own."""
    model = build()
    rows = torch.tensor([2, 0, 0, 1])
    _, state = model.step(target[:, 0], model.start(model.encode(source, source > 0)))
    picked = state.select(rows)
    assert (state.batch_size, picked.batch_size, picked.past.batch_size) == (3, 4, 4)
    expected, _ = model.step(target[:, 1], state)
    logits, _ = model.step(target[rows, 1], picked)
    torch.testing.assert_close(logits, expected[rows])
