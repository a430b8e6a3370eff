"""Before anything is timed: do all programs compute the same?"""

from collections.abc import Mapping

import torch
from torch import Tensor
from transformer import Batch

from attention_book.training import loss_per_token
from peers.programs import Program, ours_for

#: Sums of many numbers, taken in another order.
TOLERANCE = {"rtol": 1e-3, "atol": 1e-4}


def check_training(programs: Mapping[str, Program], batch: Batch) -> dict[str, str]:
    """Check parameters, logits and the gradient's length; say for each what was found.

    Args:
        programs: Made without dropout; they are in training mode afterwards.
        batch: What they read.

    Raises:
        AssertionError: if a program computes anything else than ours.
    """
    found, expected = {}, {}
    for name, program in programs.items():
        expected[name] = logits, length = _logits_and_gradient(program, batch)
        ours = ours_for(program)
        if name == ours:
            continue
        counts = program.num_parameters, programs[ours].num_parameters
        assert counts[0] == counts[1], f"{name} has {counts[0]} parameters, {ours} {counts[1]}"
        torch.testing.assert_close(
            logits, expected[ours][0], **TOLERANCE, msg=lambda text, n=name: f"{n}: {text}"
        )
        found[name] = "the same parameters and logits"
        # Parameters that stand for others, scaled, have gradients of another length.
        if torch.isclose(length, expected[ours][1], rtol=1e-3):
            found[name] += ", a gradient of the same length"
        else:
            assert not program.has_biases, f"{name}: expected our gradient, got another"
    return found


def check_decoding(programs: Mapping[str, Program], batch: Batch, num_tokens: int) -> None:
    """Check that all write what ours would, greedily and with beams.

    Of two words that are equally probable but for rounding a program may write either, and
    goes on differently. So each is asked whether ours knew a better word at any place, and
    whether its beams are as probable as those of ours.

    Raises:
        AssertionError: if one writes anything else.
    """
    beams = {}
    for name, program in programs.items():
        ours = programs[ours_for(program.eval())]
        greedy = program.greedy(batch, num_tokens)
        log_probs, chosen = judged(ours, batch, greedy)
        regret = (log_probs.amax(-1) - chosen).max().item()
        assert regret < TOLERANCE["atol"], f"{name}: another word was better, by {regret}"
        if program.can_beam:
            found = program.beam(batch, num_tokens, 4)
            beams[name] = judged(ours, batch, found)[1].sum(1)
            torch.testing.assert_close(beams[name], beams[ours_for(program)], **TOLERANCE)


@torch.no_grad()
def judged(program: Program, batch: Batch, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Return a program's log-probabilities of all words at each place, and of those written."""
    tokens = tokens.to(batch.source.device)
    target_input = torch.cat((batch.target_input[:, :1], tokens[:, :-1]), dim=1)
    log_probs = program.eval()(batch.source, batch.mask, target_input).log_softmax(-1)
    return log_probs, log_probs.gather(-1, tokens[..., None]).squeeze(-1)


def _logits_and_gradient(program: Program, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the logits of real tokens, and the length of the gradient."""
    program.train().zero_grad()
    logits = program(batch.source, batch.mask, batch.target_input)
    loss_per_token(logits, batch.target, batch.mask).backward()
    gradients = [p.grad.norm() for p in program.parameters() if p.grad is not None]
    program.zero_grad()
    return logits.detach()[batch.mask], torch.stack(gradients).norm()
