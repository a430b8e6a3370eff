"""The check-up of language models: healthy ones pass, each fault breaks the law that names it."""

from collections.abc import Callable
from types import SimpleNamespace
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


# A model from elsewhere: a function of token numbers, an object with `logits`, one whose settings
# call the vocabulary otherwise. It is asked for what it can be asked for.
FOREIGN: dict[str, Callable[[DecoderLanguageModel], object]] = {
    "a function": lambda model: lambda ids: model(ids),
    "an object with logits": lambda model: lambda ids: SimpleNamespace(logits=model(ids)),
    "a module": lambda model: torch.nn.Sequential(model),
    "more logits than tokens": lambda model: (
        lambda ids: torch.nn.functional.pad(model(ids), (0, 3))
    ),
}
WITHOUT_STEPS = {"future is hidden", "past is read"}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_model_from_elsewhere_is_asked_for_what_needs_no_steps(name: str) -> None:
    found = check_up_language(FOREIGN[name](decoder().eval()), vocabulary=11)
    assert found == dict.fromkeys(WITHOUT_STEPS, True)
    sick = decoder(windows=(1, 1)).eval()
    assert check_up_language(FOREIGN[name](sick), vocabulary=11)["past is read"] is False
    backwards = check_up_language(lambda ids: sick(ids.flip(1)).cumsum(1), vocabulary=11)
    assert backwards["future is hidden"] is False


def test_a_model_of_the_library_is_asked() -> None:
    transformers = pytest.importorskip("transformers", minversion="5.0")
    sizes = {"vocab_size": 11, "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 16}
    sees_back = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes)).train()
    assert check_up_language(sees_back) == dict.fromkeys(WITHOUT_STEPS, True)
    assert sees_back.training
    small = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    both_ways = transformers.BertForMaskedLM(
        transformers.BertConfig(vocab_size=11, intermediate_size=8, initializer_range=1.0, **small)
    )
    assert check_up_language(both_ways) == {"future is hidden": False, "past is read": True}


def test_what_cannot_be_asked_is_told(unchecked: None) -> None:
    model = decoder().eval()

    class Half:
        config = model.config
        __call__ = model.forward
        step = model.step

    for wrong, size, error, message in (
        (lambda ids: model(ids), None, ValueError, "vocabulary: expected the number of tokens"),
        (7, 11, TypeError, "expected one that is called with token numbers .* got int"),
        (Half(), None, TypeError, "expected both start and step, or neither, got step alone"),
        (
            lambda ids: ids,
            11,
            ValueError,
            r"logits of the shape \(2, 7, 11\), got the shape \(2, 7\)",
        ),
        (lambda ids: model(ids)[:, -1], 11, ValueError, r"got the shape \(2, 11\)"),
        (lambda ids: model(ids), 12, ValueError, "index out of range|expected logits of the shape"),
        (lambda ids: model(ids % 11), 40, ValueError, r"\(2, 7, 40\), got the shape \(2, 7, 11\)"),
        (lambda ids: model(ids).tolist(), 11, ValueError, "got list"),
        (lambda ids: (model(ids),), 11, ValueError, "got tuple"),
    ):
        with pytest.raises((error, IndexError), match=message):
            check_up_language(wrong, vocabulary=size)


def test_a_vocabulary_that_is_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match="vocabulary: expected at least 4, got 3"):
        check_up_language(DecoderLanguageModel(DecoderConfig(vocabulary=3)))
