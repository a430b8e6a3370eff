"""A language model's beams: with enough of them, the most probable text of all."""

import itertools
import math

import pytest
import torch

from attention_book.decoding import Continuation, beam_search, sample
from attention_book.decoding.prediction import next_log_probs, special_ids
from attention_book.models import LanguageConfig, LanguageModel

MODEL = 7


@pytest.fixture
def model() -> LanguageModel:
    torch.manual_seed(11)
    config = LanguageConfig.today(vocabulary=MODEL, d_model=8, num_heads=2, d_ff=8, num_layers=2)
    model = LanguageModel(config).eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.7)
    return model


def log_prob(model: LanguageModel, prompt: torch.Tensor, added: tuple[int, ...]) -> float:
    text = torch.cat([prompt[0], torch.tensor(added, dtype=torch.long)])[None]
    guesses = next_log_probs(model(text)[0], special_ids(model))
    begin = prompt.shape[1] - 1
    return sum(guesses[begin + n, token].item() for n, token in enumerate(added))


def test_wide_beams_find_the_most_probable_text(model: LanguageModel) -> None:
    prompt = torch.tensor([[2, 5, 4]])
    with torch.no_grad():
        every = [
            (*begin, 3)
            for length in range(3)
            for begin in itertools.product((1, 4, 5, 6), repeat=length)
        ] + list(itertools.product((1, 4, 5, 6), repeat=3))
        best = max(every, key=lambda added: log_prob(model, prompt, added))
        [[found]] = beam_search(Continuation(model), prompt, prompt > 0, width=200, max_tokens=3)
        assert (*found.ids, *([3] if found.finished else [])) == best
        assert math.isclose(found.log_prob, log_prob(model, prompt, best), rel_tol=1e-5)


def test_one_beam_is_the_most_probable_token_each_time(model: LanguageModel) -> None:
    prompt = torch.tensor([[2, 6]])
    [[found]] = beam_search(Continuation(model), prompt, prompt > 0, width=1, max_tokens=9)
    [greedy] = sample(model, prompt, max_tokens=9, top_k=1)
    assert found.ids == greedy.ids


def test_the_law_of_translators_holds(model: LanguageModel) -> None:
    prompt, added = torch.tensor([[2, 6]]), torch.tensor([[2, 5, 4]])
    translator = Continuation(model)
    at_once = translator.decode(added, translator.encode(prompt, prompt > 0))
    whole = model(torch.cat([prompt, added[:, 1:]], dim=1))[:, 1:]
    torch.testing.assert_close(at_once, whole)


def test_padding_is_refused(model: LanguageModel) -> None:
    prompt = torch.tensor([[2, 6, 0]])
    with pytest.raises(ValueError, match="prompts of one length, got padding"):
        Continuation(model).encode(prompt, prompt > 0)
