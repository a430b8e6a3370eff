"""The two objectives, written out; and that only what was asked counts."""

import math

import pytest
import torch

from attention_book.models import (
    CausalLanguageModel,
    LanguageModelConfig,
    MaskedLanguageModel,
    NgramModel,
)
from attention_book.text import MASK, Vocabulary, encode_text, mask_tokens
from attention_book.training import hidden_token_loss, next_token_loss, perplexity

SENTENCES = [("w1", "w2", "w3", "w4", "w5"), ("w3", "w1"), ("w4", "w4", "w2")]
WORDS = Vocabulary.build([*SENTENCES, (MASK,)])
TOKENS, REAL = encode_text(SENTENCES, WORDS)


@pytest.fixture
def config() -> LanguageModelConfig:
    torch.manual_seed(5)
    return LanguageModelConfig(vocabulary=len(WORDS), d_model=12, num_heads=3, d_ff=7)


def test_next_token_loss_is_the_mean_over_real_tokens(config) -> None:
    model = CausalLanguageModel(config).eval()
    terms = []
    for sentence in SENTENCES:  # one by one, without padding
        ids = torch.tensor([[2, *WORDS.encode(sentence), 3]])
        log_probs = model(ids).log_softmax(dim=-1)
        terms += [-log_probs[0, t, ids[0, t + 1]] for t in range(ids.shape[1] - 1)]
    torch.testing.assert_close(next_token_loss(model, TOKENS, REAL), torch.stack(terms).mean())
    assert perplexity(model, TOKENS, REAL) == pytest.approx(
        math.exp(torch.stack(terms).mean().item()), rel=1e-5
    )


def test_a_model_is_asked_only_for_hidden_tokens(config) -> None:
    model = MaskedLanguageModel(config).eval()
    generator = torch.Generator().manual_seed(0)
    hidden = mask_tokens(TOKENS, WORDS, share=0.5, generator=generator)
    assert hidden.chosen.any()
    log_probs = model(hidden.tokens, REAL).log_softmax(dim=-1)
    right = log_probs.gather(2, TOKENS[..., None])[..., 0]
    loss = hidden_token_loss(model, hidden, TOKENS, REAL)
    torch.testing.assert_close(loss, -right[hidden.chosen].mean())
    elsewhere = torch.where(hidden.chosen, TOKENS, 4)  # other answers where nobody asks
    assert torch.equal(hidden_token_loss(model, hidden, elsewhere, REAL), loss)


def test_padding_changes_neither(config) -> None:
    wide = torch.nn.functional.pad(TOKENS, (0, 5))
    causal, masked = CausalLanguageModel(config).eval(), MaskedLanguageModel(config).eval()
    torch.testing.assert_close(
        next_token_loss(causal, wide, wide > 0), next_token_loss(causal, TOKENS, REAL)
    )
    hidden = mask_tokens(TOKENS, WORDS, share=1.0)
    wider = type(hidden)(
        torch.nn.functional.pad(hidden.tokens, (0, 5)),
        torch.nn.functional.pad(hidden.chosen, (0, 5)),
    )
    torch.testing.assert_close(
        hidden_token_loss(masked, wider, wide, wide > 0),
        hidden_token_loss(masked, hidden, TOKENS, REAL),
    )


def test_perplexity_of_guessing_is_the_size_of_the_vocabulary() -> None:
    assert perplexity(lambda t: torch.zeros(*t.shape, 13), TOKENS, REAL) == pytest.approx(13)
    counted = NgramModel.count([WORDS.encode(s) for s in SENTENCES], order=2, vocabulary=len(WORDS))
    assert 1 < perplexity(counted, TOKENS, REAL) < len(WORDS)


def test_perplexity_switches_dropout_off_and_on_again(config) -> None:
    model = CausalLanguageModel(config).train()
    assert perplexity(model, TOKENS, REAL) == perplexity(model, TOKENS, REAL)
    assert model.training
    assert torch.is_grad_enabled()


def test_nothing_chosen_is_an_error(config) -> None:
    hidden = mask_tokens(TOKENS, WORDS, share=0.0)
    with pytest.raises(ValueError, match="expected at least one real token, got none"):
        hidden_token_loss(MaskedLanguageModel(config), hidden, TOKENS, REAL)
