"""The model of recall: side by side is one by one, and a memory does what its name says."""

import pytest
import torch

from attention_book import set_seed
from attention_book.attention import FixedState, unit_length
from attention_book.course.datasets import recall_task
from attention_book.course.models import MEMORIES, RecallModel
from attention_book.training import descend


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


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"memory: expected one of sum, decay, .* got 'cache'"):
        RecallModel("cache")
    with pytest.raises(ValueError, match="models: expected at least 1, got 0"):
        RecallModel("sum", models=0)
