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
    """Check that all write the same tokens, greedily and with beams.

    Raises:
        AssertionError: if one doesn't.
    """
    greedy, beams = {}, {}
    for name, program in programs.items():
        program.eval()
        greedy[name] = program.greedy(batch, num_tokens).cpu()
        ours = ours_for(program)
        assert greedy[name].shape == (len(batch.source), num_tokens), name
        assert torch.equal(greedy[name], greedy[ours]), f"{name} writes other tokens than {ours}"
        if program.can_beam:
            found = program.beam(batch, num_tokens, 4).to(batch.source.device)
            # Of two beams that are equally good but for rounding, either may be returned.
            beams[name] = log_probability(programs[ours], batch, found)
            torch.testing.assert_close(beams[name], beams[ours], **TOLERANCE)


@torch.no_grad()
def log_probability(program: Program, batch: Batch, tokens: Tensor) -> Tensor:
    """Return how probable each sentence is for a program, (batch,)."""
    target_input = torch.cat((batch.target_input[:, :1], tokens[:, :-1]), dim=1)
    log_probs = program(batch.source, batch.mask, target_input).log_softmax(-1)
    return log_probs.gather(-1, tokens[..., None]).squeeze(-1).sum(1)


def _logits_and_gradient(program: Program, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the logits of real tokens, and the length of the gradient."""
    program.train().zero_grad()
    logits = program(batch.source, batch.mask, batch.target_input)
    loss_per_token(logits, batch.target, batch.mask).backward()
    gradients = [p.grad.norm() for p in program.parameters() if p.grad is not None]
    program.zero_grad()
    return logits.detach()[batch.mask], torch.stack(gradients).norm()
