"""The loss per token against torch's own, and what padding must never do to it."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from attention_book.foundations import strict
from attention_book.models import (
    LanguageConfig,
    LanguageModel,
    NgramModel,
)
from attention_book.text import MASK, Vocabulary, encode_text, mask_tokens
from attention_book.training import (
    batch_loss,
    evaluate_loss,
    hidden_token_loss,
    loss_per_token,
    next_token_loss,
    perplexity,
    token_losses,
)

VOCABULARY = 11


def draw(lengths: list[int], seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, targets (0 at padding) and mask for sentences of these lengths."""
    generator = torch.Generator().manual_seed(seed)
    shape = (len(lengths), max(lengths))
    logits = torch.randn(*shape, VOCABULARY, generator=generator, dtype=torch.float64) * 3
    targets = torch.randint(1, VOCABULARY, shape, generator=generator)
    mask = torch.arange(shape[1]) < torch.tensor(lengths)[:, None]
    return logits.requires_grad_(), targets * mask, mask


batches = st.tuples(st.lists(st.integers(1, 7), min_size=1, max_size=5), st.integers(0, 99)).map(
    lambda drawn: draw(*drawn)
)
smoothings = st.sampled_from([0.0, 0.1, 0.7, 1.0])


@given(batches, smoothings)
def test_it_is_the_cross_entropy_that_ignores_padding(batch, smoothing) -> None:
    logits, targets, mask = batch
    found = loss_per_token(logits, targets, mask, label_smoothing=smoothing)
    expected = F.cross_entropy(
        logits.transpose(1, 2), targets, ignore_index=0, label_smoothing=smoothing
    )
    torch.testing.assert_close(found, expected)
    for ours, torchs in zip(
        torch.autograd.grad(found, logits), torch.autograd.grad(expected, logits), strict=True
    ):
        torch.testing.assert_close(ours, torchs)


@given(batches)
def test_it_is_the_formula_token_by_token(batch) -> None:
    logits, targets, mask = batch
    losses = []
    for i, t in mask.nonzero().tolist():
        p = [math.exp(x) for x in logits[i, t].tolist()]
        losses.append(-math.log(p[targets[i, t]] / sum(p)))
    assert loss_per_token(*batch).item() == pytest.approx(sum(losses) / len(losses))
    each = token_losses(*batch)
    assert each[mask].tolist() == pytest.approx(losses)
    assert torch.all(each[~mask] == 0)


@given(batches, smoothings, st.sampled_from([0, 3, -1, 999]), st.sampled_from([-9.0, 1e6]))
def test_nothing_at_padding_moves_the_loss_or_its_gradient(batch, smoothing, target, logit) -> None:
    logits, targets, mask = batch
    loss = loss_per_token(logits, targets, mask, label_smoothing=smoothing)
    [gradient] = torch.autograd.grad(loss, logits)
    assert torch.all(gradient[~mask] == 0)
    with torch.no_grad():
        other = torch.where(mask[..., None], logits, torch.randn_like(logits) * logit)
    other.requires_grad_()
    targets = targets.masked_fill(~mask, target)
    moved = loss_per_token(other, targets, mask, label_smoothing=smoothing)
    assert torch.equal(moved, loss)
    assert torch.equal(torch.autograd.grad(moved, other)[0], gradient)
    assert torch.equal(token_losses(other, targets, mask), token_losses(logits, targets, mask))


def test_padding_is_what_the_mask_says_not_what_the_target_is() -> None:
    logits, targets, mask = draw([5, 3])
    targets[0, 0] = 0  # the number of <pad>, at a real place
    assert token_losses(logits, targets, mask)[0, 0] > 0
    with_it = loss_per_token(logits, targets, mask)
    mask[0, 0] = False
    assert loss_per_token(logits, targets, mask) != with_it


@pytest.mark.usefixtures("unchecked")
def test_wrong_input_gets_one_clear_error() -> None:
    logits, targets, mask = draw([4, 2])
    for wrong in [
        (logits[0], targets, mask),
        (logits, targets[:, :3], mask),
        (logits, targets, mask[:1]),
        (logits.transpose(0, 1), targets, mask),
    ]:
        for function in (loss_per_token, token_losses):
            with pytest.raises(ValueError, match=r"expected the shapes \(batch, target, vocab"):
                function(*wrong)
    with pytest.raises(ValueError, match="mask: expected at least one real token, got none"):
        loss_per_token(logits, targets, torch.zeros_like(mask))
    with pytest.raises(TypeError, match=r"mask: expected a boolean tensor .* got torch.int64"):
        loss_per_token(logits, targets, mask.long())
    for bad in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="label_smoothing: expected a probability"):
            loss_per_token(logits, targets, mask, label_smoothing=bad)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
def test_from_nothing_nothing_is_learned(smoothing) -> None:
    logits, targets, mask = draw([4, 2])
    with strict(False):
        loss = loss_per_token(logits, targets, torch.zeros_like(mask), label_smoothing=smoothing)
    [gradient] = torch.autograd.grad(loss, logits)
    assert loss.item() == 0
    assert torch.all(gradient == 0)


SENTENCES = [("w1", "w2", "w3", "w4", "w5"), ("w3", "w1"), ("w4", "w4", "w2")]
WORDS = Vocabulary.build([*SENTENCES, (MASK,)])
TOKENS, REAL = encode_text(SENTENCES, WORDS)


@pytest.fixture
def config() -> LanguageConfig:
    torch.manual_seed(5)
    return LanguageConfig(vocabulary=len(WORDS), d_model=12, num_heads=3, d_ff=7)


def test_next_token_loss_is_the_mean_over_real_tokens(config) -> None:
    model = LanguageModel(config).eval()
    terms = []
    for sentence in SENTENCES:  # one by one, without padding
        ids = torch.tensor([[2, *WORDS.encode(sentence), 3]])
        log_probs = model(ids).log_softmax(dim=-1)
        terms += [-log_probs[0, t, ids[0, t + 1]] for t in range(ids.shape[1] - 1)]
    torch.testing.assert_close(next_token_loss(model, TOKENS, REAL), torch.stack(terms).mean())
    assert perplexity(model, TOKENS, REAL) == pytest.approx(
        math.exp(torch.stack(terms).mean().item()), rel=1e-5
    )


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
def test_padding_may_stand_before_and_within_a_text(config, positions) -> None:
    """The kind: a side of the padding that nobody had in mind.

    What was read as the text's beginning was padding, and the first token was to be guessed from
    it. The places are on the left, on both sides, between tokens, and at random; a function of
    numbers and counted n-grams, which are told of no padding, are held to it as a model is.
    """
    model = LanguageModel(replace(config, positions=positions)).eval()
    counted = NgramModel.count([WORDS.encode(s) for s in SENTENCES], order=2, vocabulary=len(WORDS))
    draws = torch.Generator().manual_seed(1)
    wide = TOKENS.shape[1] + 3
    left = torch.arange(wide) >= wide - REAL.sum(dim=1, keepdim=True)
    at_random = torch.rand(len(TOKENS), wide, generator=draws).argsort(dim=1)
    for real in (left, left.roll(-1, 1), at_random < REAL.sum(dim=1, keepdim=True)):
        tokens = torch.randint(4, len(WORDS), real.shape, generator=draws)
        tokens[real] = TOKENS[REAL]
        for guess in (model, lambda tokens: model(tokens), counted):
            expected = next_token_loss(guess, TOKENS, REAL)
            torch.testing.assert_close(next_token_loss(guess, tokens, real), expected)


def test_a_model_is_asked_only_for_hidden_tokens(config) -> None:
    model = LanguageModel(replace(config, causal=False)).eval()
    generator = torch.Generator().manual_seed(0)
    hidden = mask_tokens(TOKENS, WORDS, share=0.5, generator=generator)
    assert hidden.chosen.any()
    log_probs = model(hidden.tokens, REAL).log_softmax(dim=-1)
    right = log_probs.gather(2, TOKENS[..., None])[..., 0]
    loss = hidden_token_loss(model, hidden, TOKENS, REAL)
    torch.testing.assert_close(loss, -right[hidden.chosen].mean())
    elsewhere = torch.where(hidden.chosen, TOKENS, 4)  # other answers where nobody asks
    assert torch.equal(hidden_token_loss(model, hidden, elsewhere, REAL), loss)


def test_perplexity_of_guessing_is_the_size_of_the_vocabulary() -> None:
    assert perplexity(lambda t: torch.zeros(*t.shape, 13), TOKENS, REAL) == pytest.approx(13)
    counted = NgramModel.count([WORDS.encode(s) for s in SENTENCES], order=2, vocabulary=len(WORDS))
    assert 1 < perplexity(counted, TOKENS, REAL) < len(WORDS)


def test_perplexity_switches_dropout_off_and_on_again(config) -> None:
    model = LanguageModel(config).train()
    assert perplexity(model, TOKENS, REAL) == perplexity(model, TOKENS, REAL)
    assert model.training
    assert torch.is_grad_enabled()


def test_nothing_chosen_is_an_error_in_strict_mode(config) -> None:
    hidden = mask_tokens(TOKENS, WORDS, share=0.0)
    model = LanguageModel(replace(config, causal=False))
    with pytest.raises(ValueError, match="expected at least one real token, got none"):
        hidden_token_loss(model, hidden, TOKENS, REAL)
    with strict(False):
        assert hidden_token_loss(model, hidden, TOKENS, REAL) == 0


# What a model cannot say, and what is no token: each has one meaning, and none is silent.


@pytest.mark.parametrize("smoothing", [0.1, 0.7, 1.0])
def test_smoothing_spreads_nothing_to_what_cannot_be_said(smoothing) -> None:
    """A class with the logit -inf is as if it were not in the vocabulary."""
    logits, targets, mask = draw([4, 2])
    targets = targets.clamp(max=VOCABULARY - 3)
    possible = logits.detach()[..., : VOCABULARY - 2].clone().requires_grad_()
    never = torch.cat((possible, torch.full_like(logits[..., :2], -torch.inf)), dim=-1)
    found = loss_per_token(never, targets, mask, label_smoothing=smoothing)
    expected = loss_per_token(possible, targets, mask, label_smoothing=smoothing)
    torch.testing.assert_close(found, expected)
    [ours], [theirs] = (torch.autograd.grad(each, possible) for each in (found, expected))
    torch.testing.assert_close(ours, theirs)


def test_smoothing_spreads_by_row_where_rows_can_say_different_words() -> None:
    logits, targets, mask = draw([4, 3])
    logits = logits.detach().clone()
    logits[0, 1, 5], logits[1, 2, [6, 7]] = -torch.inf, -torch.inf
    targets[0, 1], targets[1, 2] = 1, 2
    terms = []
    for row, target in zip(logits[mask], targets[mask], strict=True):
        log_probs = row[row.isfinite()].log_softmax(dim=0)
        own = row.log_softmax(dim=0)[target]
        terms.append(-0.8 * own - 0.2 * log_probs.mean())
    found = loss_per_token(logits, targets, mask, label_smoothing=0.2)
    torch.testing.assert_close(found, torch.stack(terms).mean())


def test_a_target_that_cannot_be_said_costs_infinitely_much() -> None:
    logits, targets, mask = draw([4])
    logits = logits.detach().clone()
    logits[0, 0, targets[0, 0]] = -torch.inf
    for smoothing in (0.0, 0.1):
        assert loss_per_token(logits, targets, mask, label_smoothing=smoothing) == torch.inf


def test_smoothed_losses_have_the_bits_of_torch_s() -> None:
    logits, targets, mask = (each.clone() for each in draw([7, 5, 2]))
    for dtype in (torch.float32, torch.float64):
        given = logits.detach().to(dtype).requires_grad_()
        real = targets.masked_fill(~mask, -100).flatten()
        ours = loss_per_token(given, targets, mask, label_smoothing=0.1)
        theirs = F.cross_entropy(given.flatten(0, 1), real, label_smoothing=0.1)
        assert torch.equal(ours, theirs)
        gradients = [torch.autograd.grad(each, given)[0] for each in (ours, theirs)]
        assert torch.equal(*gradients)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_stands_at_padding_reaches_no_gradient(smoothing, number) -> None:
    """The kind: 0 times NaN is NaN, on the way back too."""
    logits, targets, mask = draw([4, 2])
    given = logits.detach().masked_fill(~mask[..., None], number).requires_grad_()
    clean = logits.detach().requires_grad_()
    for function in (
        lambda each: loss_per_token(each, targets, mask, label_smoothing=smoothing),
        lambda each: token_losses(each, targets, mask).sum(),
    ):
        found, expected = function(given), function(clean)
        assert torch.equal(found, expected)
        [ours], [wanted] = (
            torch.autograd.grad(loss, each) for loss, each in ((found, given), (expected, clean))
        )
        assert torch.equal(ours, wanted)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_the_lowest_number_says_impossible_as_well_as_infinity(dtype) -> None:
    """As of a mask's: other libraries fill with it, and its mean over the words is no number."""
    logits, targets, mask = draw([4, 2])
    targets = targets.clamp(max=VOCABULARY - 4)
    logits = logits.detach().to(dtype)
    fills = {torch.finfo(each).min for each in (torch.float16, torch.bfloat16, dtype)} | {-1e9}
    for words in (1, 3):
        infinite, *others = (logits.clone() for _ in range(1 + len(fills)))
        infinite[..., VOCABULARY - words :] = -math.inf
        expected = loss_per_token(infinite, targets, mask, label_smoothing=0.1)
        for filled, number in zip(others, fills, strict=True):
            filled[..., VOCABULARY - words :] = max(number, torch.finfo(dtype).min)
            found = loss_per_token(filled, targets, mask, label_smoothing=0.1)
            assert found.isfinite()
            torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_averaged_in_single(dtype) -> None:
    logits, targets, mask = draw([400, 300])
    given = logits.detach().to(dtype)
    for smoothing in (0.0, 0.1):
        found = loss_per_token(given, targets, mask, label_smoothing=smoothing)
        exact = loss_per_token(given.double(), targets, mask, label_smoothing=smoothing)
        assert found.dtype == torch.float32
        torch.testing.assert_close(found.double(), exact, rtol=1e-6, atol=1e-6)
    each = token_losses(given, targets, mask)
    exact = token_losses(given.double(), targets, mask)
    torch.testing.assert_close(each.double(), exact, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("unchecked")
def test_targets_are_numbers_of_tokens() -> None:
    logits, targets, mask = draw([4, 2])
    for function in (loss_per_token, token_losses):
        for kind in (torch.int32, torch.int16, torch.uint8):
            assert torch.equal(
                function(logits, targets.to(kind), mask), function(logits, targets, mask)
            )
        for wrong in (targets.float(), targets.float() * math.nan, targets > 0):
            with pytest.raises(TypeError, match="targets: expected the numbers of tokens"):
                function(logits, wrong, mask)
        for number in (-100, -1, VOCABULARY):
            wrong = targets.clone()
            wrong[0, 2] = number
            with pytest.raises(
                ValueError, match=rf"targets: .* 0 to 10 .* targets\[0, 2\] = {number}"
            ):
                function(logits, wrong, mask)
            everywhere = torch.full_like(targets, number)
            with pytest.raises(ValueError, match="targets: expected numbers from 0 to 10"):
                function(logits, everywhere, mask)
            anything = targets.masked_fill(~mask, number)
            assert torch.equal(function(logits, anything, mask), function(logits, targets, mask))


def test_it_is_the_mean_over_all_tokens_whatever_the_batches(make_model, data) -> None:
    model = make_model().double().eval()
    batch = next(data.batches(len(data)))
    logits = model(batch.source, batch.source_mask, batch.target_input)
    expected = F.cross_entropy(logits.transpose(1, 2), batch.target_output, ignore_index=0).item()
    model.train()
    for batch_size in (1, 3, 23, 1000):
        assert evaluate_loss(model, data, batch_size=batch_size) == pytest.approx(expected)


def test_the_loss_of_a_batch_has_dropout_when_the_model_trains(make_model, data) -> None:
    model, batch = make_model(), next(data.batches(5))
    assert batch_loss(model, batch) != batch_loss(model, batch)
    model.eval()
    assert batch_loss(model, batch) == batch_loss(model, batch)
    assert batch_loss(model, batch, label_smoothing=0.3) != batch_loss(model, batch)


def test_it_leaves_modes_gradients_and_random_numbers_as_they_were(make_model, data) -> None:
    model = make_model().train()
    model.encoder.eval()  # a frozen part
    modes = {name: part.training for name, part in model.named_modules()}
    state = torch.get_rng_state()
    evaluate_loss(model, data)
    assert {name: part.training for name, part in model.named_modules()} == modes
    assert torch.equal(torch.get_rng_state(), state)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert torch.is_grad_enabled()


def test_no_graph_is_recorded(make_model, data) -> None:
    model, recorded = make_model(), []
    model.decoder.readout.register_forward_hook(
        lambda module, inputs, logits: recorded.append(logits.requires_grad)
    )
    evaluate_loss(model, data, batch_size=5)
    assert recorded == [False] * 5


def test_modes_come_back_after_an_error_too(make_model, data, monkeypatch) -> None:
    model = make_model().train()
    monkeypatch.setattr(model, "decode", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        evaluate_loss(model, data)
    assert all(part.training for part in model.modules())


def test_a_batch_of_nothing_is_refused(make_model, data) -> None:
    with pytest.raises(ValueError, match="batch_size: expected 1 or more, got 0"):
        evaluate_loss(make_model(), data, batch_size=0)
