"""The reader with windows and sinks: step by step as all at once, and bounded."""

import pytest
import torch

from attention_book.attention import AlibiPositions, RotaryPositions
from attention_book.course.models import AttentionOnly, WindowedReader


@pytest.mark.parametrize("learned_sinks", [False, True])
@pytest.mark.parametrize(("window", "num_first"), [(None, 0), (4, 0), (3, 2)])
@pytest.mark.parametrize("positions", [None, AlibiPositions(num_heads=2)])
def test_step_by_step_is_at_once(learned_sinks, window, num_first, positions):
    model = WindowedReader(
        vocabulary=10, d_model=8, num_heads=2, positions=positions, learned_sinks=learned_sinks
    )
    model = model.double().eval().see(window, num_first=num_first)
    tokens = torch.randint(10, (2, 15))
    at_once, state = model(tokens), model.start(2)
    for place, token in enumerate(tokens.T):
        logits, state = model.step(token, state)
        torch.testing.assert_close(logits, at_once[:, place])
    assert state.position == 15
    if window is not None:
        assert {past.num_keys for past in state.past} == {window + num_first}


def test_without_a_window_it_is_attention_alone():
    positions = RotaryPositions(d_k=4)
    plain = AttentionOnly(vocabulary=10, d_model=8, num_heads=2, positions=positions)
    reader = WindowedReader(vocabulary=10, d_model=8, num_heads=2)
    reader.load_state_dict(plain.state_dict())
    tokens = torch.randint(10, (2, 15))
    torch.testing.assert_close(reader(tokens), plain(tokens))
