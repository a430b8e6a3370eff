"""What every search asks of a model."""

import pytest
import torch
from torch import nn

from attention_book.decoding.prediction import draw, limits, next_log_probs, num_ended
from attention_book.models.evaluating import evaluating
from attention_book.text import BOS, PAD, SpecialIds


def test_every_module_gets_its_own_mode_back() -> None:
    model = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout(), nn.Linear(3, 5)))
    model[1].eval()
    before = [module.training for module in model.modules()]
    assert len(set(before)) == 2
    with evaluating(model):
        assert not any(module.training for module in model.modules())
        assert not model[1](torch.ones(2, 3)).requires_grad
    assert [module.training for module in model.modules()] == before
    with pytest.raises(KeyError), evaluating(model):
        raise KeyError
    assert [module.training for module in model.modules()] == before
    assert torch.is_grad_enabled()


def test_excluded_words_keep_their_probability_from_the_others() -> None:
    logits = torch.randn(5, 11)
    log_probs = next_log_probs(logits, SpecialIds())
    expected = logits.log_softmax(dim=-1)
    others = [word for word in range(11) if word not in (PAD, BOS)]
    assert torch.equal(log_probs[:, others], expected[:, others])
    assert (log_probs[:, [PAD, BOS]] == -torch.inf).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_half_precision_is_summed_in_single(dtype) -> None:
    logits = torch.randn(5, 11).to(dtype)
    log_probs = next_log_probs(logits, SpecialIds())
    assert log_probs.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert torch.equal(log_probs[:, 4:], logits.to(log_probs.dtype).log_softmax(-1)[:, 4:])


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_a_model_that_predicts_nothing_is_refused(bad) -> None:
    logits = torch.randn(5, 11)
    logits[3] = bad
    going = torch.zeros(5, dtype=torch.bool)
    with pytest.raises(ValueError, match="model: expected a finite logit for some word, got none"):
        num_ended(going, next_log_probs(logits, SpecialIds()))
    only_padding = torch.full((5, 11), -torch.inf)
    only_padding[:, PAD] = 0
    with pytest.raises(ValueError, match="model: expected a finite logit"):
        num_ended(going, next_log_probs(only_padding, SpecialIds()))


@pytest.mark.usefixtures("unchecked")
def test_limits_are_one_number_or_one_for_each() -> None:
    source = torch.ones(3, 5, dtype=torch.long)
    mask = source > 0
    assert limits(7, source, mask).tolist() == [7, 7, 7]
    assert limits(torch.tensor([4, 5, 6]), source, mask).tolist() == [4, 5, 6]
    for bad, message in [
        (0, "max_tokens: expected 1 or more, got 0"),
        (torch.tensor([4, -2, 6]), "max_tokens: expected 1 or more, got -2"),
        (torch.tensor([4, 5]), r"max_tokens: .* one for each of 3 sentences, got the shape \(2,\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            limits(bad, source, mask)
    with pytest.raises(ValueError, match=r"source_mask: .* \(3, 5\), got \(3, 4\)"):
        limits(7, source, mask[:, :4])


def test_special_tokens_outside_the_vocabulary_are_none() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0]])
    found = next_log_probs(logits, SpecialIds(pad=3, bos=1, eos=4))
    assert torch.equal(found[0].isfinite(), torch.tensor([True, False, True]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_draw_is_that_of_multinomial_number_for_number(dtype) -> None:
    for seed in range(20):
        probabilities = torch.randn(3, 11, dtype=dtype).softmax(dim=-1)
        probabilities[:, : seed % 7] = 0
        ours, theirs = (torch.Generator().manual_seed(seed) for _ in "ab")
        found = draw(probabilities, ours)
        assert torch.equal(found, torch.multinomial(probabilities, 1, generator=theirs)[:, 0])
        assert torch.equal(ours.get_state(), theirs.get_state())
        assert (probabilities.gather(1, found[:, None]) > 0).all()
