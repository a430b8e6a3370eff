"""The check-up of language models: healthy ones pass, each fault breaks the law that names it."""

from collections.abc import Callable
from unittest import mock

import pytest
import torch

from attention_book.course.diagnosis import LANGUAGE_LAWS, check_up_language
from attention_book.models import (
    CausalLanguageModel,
    DecoderConfig,
    DecoderLanguageModel,
    LanguageModelConfig,
)


def decoder(**settings: object) -> DecoderLanguageModel:
    torch.manual_seed(3)
    return DecoderLanguageModel(DecoderConfig(vocabulary=11, **settings))


HEALTHY: dict[str, Callable[[], object]] = {
    "decoder": decoder,
    "windows": lambda: decoder(windows=(2, None), num_kv_heads=2),
    "half precision": lambda: decoder(qk_norm=True).bfloat16(),
    "of 2018": lambda: CausalLanguageModel(LanguageModelConfig(vocabulary=11, norm="pre")),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_models_obey_and_stay_as_they_were(name: str) -> None:
    model = HEALTHY[name]()
    assert check_up_language(model) == dict.fromkeys(LANGUAGE_LAWS, True)
    assert model.training


def broken_by(model: DecoderLanguageModel) -> set[str]:
    return {name for name, obeyed in check_up_language(model).items() if not obeyed}


def test_a_mask_that_is_forgotten_is_seen() -> None:
    model = decoder()
    attention = model.blocks[0].attention
    whole = attention.forward
    with mock.patch.object(
        attention, "forward", lambda *a, is_causal=False, **more: whole(*a, **more)
    ):
        assert "future is hidden" in broken_by(model)


def test_a_cache_at_the_wrong_place_is_seen() -> None:
    model = decoder()
    positions = model.positions
    whole = positions.rotate
    with mock.patch.object(positions, "rotate", lambda heads, *, offset=0: whole(heads)):
        assert broken_by(model) == {"steps agree"}


def test_a_state_that_is_written_into_is_seen() -> None:
    model = decoder()
    whole = model.step

    def step(token: torch.Tensor, state: object) -> object:
        found = whole(token, state)
        for layer in state.past:
            layer.values.mul_(0.5)
        return found

    with mock.patch.object(model, "step", step):
        assert "state is left alone" in broken_by(model)


def test_a_model_that_reads_its_last_token_alone_is_seen() -> None:
    assert broken_by(decoder(windows=(1, 1))) == {"past is read"}


def test_a_vocabulary_that_is_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match="vocabulary: expected at least 4, got 3"):
        check_up_language(DecoderLanguageModel(DecoderConfig(vocabulary=3)))
