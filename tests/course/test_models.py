"""Models of single chapters: step by step is at once, what they see, and what they refuse."""

import pytest
import torch
from torch import Tensor

from attention_book import set_seed
from attention_book.attention import (
    AlibiPositions,
    FixedState,
    LearnedPositions,
    NoPositions,
    RotaryPositions,
    SinusoidalPositions,
    causal_mask,
    sinusoids,
    unit_length,
)
from attention_book.course.datasets import look_back_task, recall_task
from attention_book.course.models import (
    MEMORIES,
    AttentionOnly,
    OneLook,
    RecallModel,
    SmallCNN,
    WindowedReader,
)
from attention_book.inspection import capture_attention
from attention_book.models import VisionTransformer, VisionTransformerConfig
from attention_book.models.protocols import Writer
from attention_book.training import descend


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Draw the same numbers in every run."""
    torch.manual_seed(7)


# --- attention alone ---------------------------------------------------------------------------


VOCABULARY, D_MODEL, HEADS, LENGTH = 11, 12, 3, 7


def small(**options):
    torch.manual_seed(3)
    settings = {"vocabulary": VOCABULARY, "d_model": D_MODEL, "num_heads": HEADS}
    return AttentionOnly(**(settings | options)).double().eval()


@pytest.fixture
def tokens():
    return torch.randint(VOCABULARY, (2, LENGTH))


def test_a_window_of_two_lets_two_layers_look_two_places_back(tokens):
    window = causal_mask(LENGTH) & ~causal_mask(LENGTH, offset=-2)  # this token and the one before
    other = tokens.clone()
    other[:, 0] = (tokens[:, 0] + 1) % VOCABULARY
    moved = (small()(tokens, window) - small()(other, window)).abs().amax(dim=(0, 2))
    assert moved[2] > 0
    assert moved[3:].max() == 0


def test_a_layer_adds_a_weighted_sum_and_nothing_else(tokens):
    model = small()
    x = model.embedding.weight[tokens]
    with capture_attention(model) as seen:
        logits = model(tokens)
    for number, layer in enumerate(model.layers):
        (weights,) = seen[f"layers.{number}.attention"]
        x = x + layer.attention.combine(weights, layer.add_norm.norm(x))
    torch.testing.assert_close(logits, model.readout(model.norm(x)), atol=1e-12, rtol=0)


# --- windows and sinks -------------------------------------------------------------------------


READERS = {
    "attention alone": lambda: small(),
    "ALiBi": lambda: small(positions=AlibiPositions(num_heads=HEADS)),
    "learned": lambda: small(positions=LearnedPositions(d_model=D_MODEL, max_positions=15)),
    "window": lambda: windowed(4),
    "sinks": lambda: windowed(None, learned_sinks=True),
    "first ones": lambda: windowed(3, 2, positions=AlibiPositions(num_heads=2)),
    "all": lambda: windowed(3, 2, learned_sinks=True, positions=AlibiPositions(num_heads=2)),
}


def windowed(window, num_first=0, **options):
    reader = WindowedReader(vocabulary=VOCABULARY, d_model=8, num_heads=2, **options)
    return reader.double().eval().see(window, num_first=num_first)


@pytest.mark.parametrize("name", READERS)
def test_step_by_step_is_at_once(name):
    model, tokens = READERS[name](), torch.randint(VOCABULARY, (2, 15))
    assert isinstance(model, Writer)
    at_once, state = model(tokens), model.start(2)
    for place, token in enumerate(tokens.T):
        before = state
        logits, state = model.step(token, state)
        torch.testing.assert_close(logits, at_once[:, place], atol=1e-12, rtol=0)
        assert (before.position, state.position) == (place, place + 1)
    if name in (kept := {"window": 4, "first ones": 5, "all": 5}):
        assert {layer.num_keys for layer in state.layers} == {kept[name]}


def test_without_a_window_it_is_attention_alone():
    positions = RotaryPositions(d_k=4)
    plain = AttentionOnly(vocabulary=10, d_model=8, num_heads=2, positions=positions)
    reader = WindowedReader(vocabulary=10, d_model=8, num_heads=2)
    reader.load_state_dict(plain.state_dict())
    tokens = torch.randint(10, (2, 15))
    torch.testing.assert_close(reader(tokens), plain(tokens))


# --- one look ----------------------------------------------------------------------------------


def looking(place=None, **options) -> OneLook:
    set_seed(1)
    return OneLook(num_words=5, d_model=6, place=place or SinusoidalPositions(d_model=6), **options)


def test_it_is_words_positions_one_attention_and_one_map() -> None:
    model, words = looking(), torch.randint(5, (2, 7))
    x = model.embedding.weight[words] + sinusoids(7, 6)
    expected = model.attention.weights(x) @ (x @ model.attention.W_v.weight.T)
    expected = expected @ model.output.weight.T + model.output.bias
    torch.testing.assert_close(model(words), expected)
    torch.testing.assert_close(model.weights(words), model.attention.weights(x))
    table = torch.randn(7, 6)  # any function can put the positions in
    by_hand, x = looking(lambda x: x * table), model.embedding.weight[words] * table
    torch.testing.assert_close(by_hand.weights(words), by_hand.attention.weights(x))


def test_centred_word_vectors_share_no_common_part() -> None:
    model = looking(centred=True)
    with torch.no_grad():
        model.embedding.weight += 3.0
    every_word = model.embed(torch.arange(5)[None])
    torch.testing.assert_close(every_word.mean(dim=1), torch.zeros(1, 6), atol=1e-6, rtol=0)
    weight = model.embedding.weight
    torch.testing.assert_close(every_word[0], weight - weight.mean(dim=0))
    assert looking().embed(torch.arange(5)[None]).mean().abs() > 0.01


def test_without_positions_it_is_equivariant_and_with_them_it_is_not() -> None:
    words, order = torch.tensor([[0, 3, 1, 4, 2]]), torch.tensor([4, 2, 0, 1, 3])
    without, given = looking(NoPositions()), looking()
    torch.testing.assert_close(without(words[:, order]), without(words)[:, order])
    assert (given(words[:, order]) - given(words)[:, order]).abs().max() > 0.01


def accuracy_after_training(place, steps: int = 200) -> float:
    set_seed(0)
    model = OneLook(num_words=10, d_model=16, place=place)

    def loss() -> Tensor:
        task = look_back_task(32, 9, 2, num_words=10)
        return task.loss(model(task.words))

    list(descend(loss, torch.optim.Adam(model.parameters(), lr=0.01), steps=steps))
    task = look_back_task(200, 9, 2, num_words=10)
    return task.accuracy(model(task.words))


def test_it_learns_to_look_back_with_positions_and_only_with_them() -> None:
    assert accuracy_after_training(SinusoidalPositions(d_model=16)) > 0.99
    assert accuracy_after_training(NoPositions()) < 0.4


# --- recall ------------------------------------------------------------------------------------


def task_of(batch=5, num_pairs=4, times=2):
    return recall_task(batch, num_pairs, times=times, num_keys=16, num_values=16)


@pytest.mark.parametrize("memory", MEMORIES)
def test_models_side_by_side_are_models_one_by_one(memory):
    together, task = RecallModel(memory, models=3), task_of()
    logits = together(task)
    assert logits.shape == (3, 5, 4, 16)
    for index in range(3):
        alone = RecallModel(memory, models=1)
        alone.load_state_dict({k: v[index : index + 1] for k, v in together.state_dict().items()})
        torch.testing.assert_close(alone(task)[0], logits[index])
        torch.testing.assert_close(alone.accuracy(task)[0], together.accuracy(task)[index])
    together.loss(task).backward()
    used = [p for p in together.parameters() if p.grad is not None]
    assert all(p.grad.isfinite().all() for p in used)


@pytest.mark.parametrize("memory", MEMORIES)
def test_questions_only_read(memory):
    model, task = RecallModel(memory), task_of()
    logits = model(task)
    task.questions[:, -1] = (task.questions[:, -1] + 1) % 16
    changed = model(task)
    torch.testing.assert_close(changed[:, :, :-1], logits[:, :, :-1])
    assert not torch.allclose(changed[:, :, -1], logits[:, :, -1])


def normalized(x):
    return x / (x.square().mean(-1, keepdim=True) + torch.finfo(x.dtype).eps).sqrt()


def test_the_delta_memory_is_the_package_s_delta_rule():
    model, task = RecallModel("delta", models=1), task_of()
    pairs = model.key_vectors[0][task.keys] + model.value_vectors[0][task.values]
    keys, values, gates = (pairs @ model.W_kv[0]).split([8, 8, 2], dim=-1)
    state = FixedState.empty(keys, values).write(
        unit_length(keys), values, strength=(gates[..., 1] + 2).sigmoid()
    )
    queries = unit_length(model.key_vectors[0][task.questions] @ model.W_q[0])
    expected = normalized(state.read(queries)) @ model.W_o[0]
    torch.testing.assert_close(model(task)[0], expected, rtol=1e-4, atol=1e-4)


def test_a_softmax_that_forgets_weighs_by_what_is_left():
    model, task = RecallModel("softmax, forgetting", models=1), task_of()
    pairs = model.key_vectors[0][task.keys] + model.value_vectors[0][task.values]
    keys, values, gates = (pairs @ model.W_kv[0]).split([8, 8, 2], dim=-1)
    kept = (gates[..., 0] + 4).sigmoid()
    left = torch.stack([kept[:, j + 1 :].prod(dim=1) for j in range(8)], dim=1)
    queries = model.key_vectors[0][task.questions] @ model.W_q[0]
    weights = left.unsqueeze(1) * (queries @ keys.mT / 8**0.5).exp()
    read = weights @ values / weights.sum(-1, keepdim=True)
    expected = normalized(read) @ model.W_o[0]
    torch.testing.assert_close(model(task)[0], expected, rtol=1e-4, atol=1e-4)


def test_order_is_nothing_to_a_sum_and_to_softmax_and_something_to_the_others():
    task = task_of(times=2)
    turned = type(task)(task.keys.flip(1), task.values.flip(1), task.questions, task.answer)
    for memory in MEMORIES:
        model = RecallModel(memory)
        same = torch.allclose(model(task), model(turned), atol=1e-4)
        assert same is (memory in ("sum", "softmax")), memory


def test_it_learns_to_recall_a_few_pairs():
    set_seed(1)
    model = RecallModel("softmax", models=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    for _ in descend(lambda: model.loss(task_of(16, 3, 1)), optimizer, steps=120):
        pass
    assert model.accuracy(task_of(64, 3, 1)).item() > 0.9


# --- a CNN -------------------------------------------------------------------------------------


@pytest.fixture
def model():
    torch.manual_seed(3)
    return SmallCNN(channels=3, image_size=12, num_classes=7).double()


def test_a_pixel_moves_its_neighbors_only(model):
    images = torch.rand(2, 12, 12, dtype=torch.float64)
    other = images.clone()
    other[:, 0, 0] += 1
    moved = (model.layers(other[:, None]) - model.layers(images[:, None])).abs().amax(dim=(0, 1))
    # Two convolutions reach 2 pixels: cell (0, 0), (0, 1), … after halving; the third one more.
    assert moved[0, 0] > 0
    assert moved[2].max() == moved[:, 2].max() == 0


def test_it_is_as_large_as_the_transformer_of_the_chapter():
    config = VisionTransformerConfig(d_model=48, num_heads=8, d_ff=96, num_layers=2)
    sizes = [
        sum(p.numel() for p in model.parameters())
        for model in (VisionTransformer(config), SmallCNN(channels=26))
    ]
    assert abs(sizes[1] / sizes[0] - 1) < 0.02


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: small(num_layers=0), "num_layers: expected at least 1, got 0"),
        (lambda: small(num_heads=5), "num_heads: expected a divisor of d_model"),
        (
            lambda: small().step(torch.zeros(7, dtype=torch.long), small().start(2)),
            "token: expected one for each of 2 texts",
        ),
        (
            lambda: looking()(torch.tensor([[1, 5]])),
            "words: expected token numbers from 0 to 4, got 1 to 5",
        ),
        (lambda: RecallModel("cache"), r"memory: expected one of sum, decay, .* got 'cache'"),
        (lambda: RecallModel("sum", models=0), "models: expected at least 1, got 0"),
        (lambda: SmallCNN(channels=0), "channels: expected at least 1, got 0"),
        (lambda: SmallCNN(channels=2, image_size=6), "image_size: expected a multiple of 4, got 6"),
    ],
)
def test_what_cannot_be_built_or_read_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
