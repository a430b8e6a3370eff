"""Decaying sums (RetNet, Mamba-2) and delta rules (DeltaNet, Gated DeltaNet) in chunks."""

import torch
from torch import Tensor

from attention_book.attention.efficient.fixed_state.state import (
    FixedState,
    PerPosition,
    prepared,
    widened,
)
from attention_book.foundations.checks import check_same_features, check_sizes
from attention_book.foundations.shapes import Keys, Mask, Output, Queries, Values, Weights


def fixed_state_attention(
    queries: Queries,
    keys: Keys,
    values: Values,
    mask: Mask | None = None,
    *,
    log_decay: PerPosition | None = None,
    strength: PerPosition | None = None,
    state: FixedState | None = None,
    chunk: int = 64,
) -> tuple[Output, FixedState]:
    """Attend by writing into a state of fixed size, causally; return the outputs and the state.

    .. math:: o_i = S_i^\\top q_i, \\qquad S_j = a_j \\, S_{j-1} + k_j \\, u_j^\\top

    Four mechanisms in one; what is given decides which (see :class:`FixedState`):

    ========================  =================  ==========================================
    given                     mechanism          written under the key
    ========================  =================  ==========================================
    neither                   a sum              :math:`u_j = v_j`
    ``log_decay``             a decaying sum     :math:`u_j = v_j`
    ``strength``              delta rule         :math:`\\beta_j (v_j - S_{j-1}^\\top k_j)`
    both                      gated delta rule   :math:`\\beta_j (v_j - a_j S_{j-1}^\\top k_j)`
    ========================  =================  ==========================================

    The recurrence is computed chunk by chunk: within a chunk as matrix products, where the
    delta rule solves one triangular system (Yang et al. 2024, "Parallelizing Linear
    Transformers with the Delta Rule", section 3), and from chunk to chunk by the state.
    The length of a chunk changes the speed and not the result.

    Args:
        queries: What is asked, (\\*batch, query, d_k), as many as keys; not scaled here.
        keys: What values are written under, (\\*batch, key, d_k). With a strength, make them
            of length 1 with :func:`unit_length`.
        values: What is written, (\\*batch, key, d_v).
        mask: True where a key may be seen, (\\*batch, 1, key). A hidden position neither
            writes nor forgets.
        log_decay: log a, finite and at most 0, (\\*batch, key); None: nothing is forgotten.
        strength: :math:`\\beta`, from 0 to 2, (\\*batch, key), as :meth:`FixedState.write` says;
            None: values are added up.
        state: What was written before the first position; None: nothing.
        chunk: Positions that are computed side by side.

    Raises:
        TypeError: if ``mask`` is not boolean.
        ValueError: if the shapes do not fit, there are not as many keys as queries, a mask
            has a row for each query, or ``chunk`` is below 1.

    >>> keys, values = torch.eye(2)[[0, 0]], torch.tensor([[5.0], [9.0]])
    >>> added, state = fixed_state_attention(keys, keys, values)
    >>> replaced, _ = fixed_state_attention(keys, keys, values, strength=torch.ones(2))
    >>> added.flatten(), replaced.flatten(), state.matrix.shape
    (tensor([ 5., 14.]), tensor([5., 9.]), torch.Size([2, 1]))
    """
    _check_causal(queries, keys)
    check_sizes(chunk=chunk)
    state = FixedState.empty(keys, values) if state is None else state
    keys, written, decay, beta = prepared(keys, values, mask, log_decay, strength)
    asked = widened(queries)
    outputs, matrix = [], state.matrix
    for start in range(0, keys.shape[-2], chunk):
        here = slice(start, start + chunk)
        output, matrix = _chunk(
            matrix,
            asked[..., here, :],
            keys[..., here, :],
            written[..., here, :],
            None if decay is None else decay[..., here, :],
            None if beta is None else beta[..., here, :],
        )
        outputs.append(output)
    return torch.cat(outputs, dim=-2).to(values.dtype), FixedState(matrix)


def fixed_state_weights(
    queries: Queries,
    keys: Keys,
    mask: Mask | None = None,
    *,
    log_decay: PerPosition | None = None,
    strength: PerPosition | None = None,
) -> Weights:
    """Compute the weights of the values, which ``fixed_state_attention`` never forms.

    Everything a fixed state does is linear in the values, so its outputs are
    :math:`W V` with a lower triangular matrix, the masked quadratic form. With
    :math:`\\Gamma_{ij} = a_{j+1} \\cdots a_i` for :math:`j \\le i`:

    .. math:: W = (Q K^\\top \\circ \\Gamma), \\qquad
        W = (Q K^\\top \\circ \\Gamma) \\,
        \\bigl(I + \\operatorname{tril}(\\operatorname{diag}(\\beta) K K^\\top \\circ \\Gamma, -1)
        \\bigr)^{-1} \\operatorname{diag}(\\beta)

    without a strength and with one. They may be negative and need not sum to 1.

    Args:
        queries: What is asked, (\\*batch, query, d_k), as many as keys.
        keys: What values are written under, (\\*batch, key, d_k).
        mask: True where a key may be seen, (\\*batch, 1, key).
        log_decay: as in :func:`fixed_state_attention`.
        strength: as there.

    Raises:
        TypeError: if ``mask`` is not boolean.
        ValueError: as in :func:`fixed_state_attention`.

    >>> keys = torch.eye(2)[[0, 1, 0]]
    >>> fixed_state_weights(keys, keys)[-1]
    tensor([1., 0., 1.])
    >>> fixed_state_weights(keys, keys, strength=torch.ones(3))[-1]
    tensor([0., 0., 1.])
    """
    _check_causal(queries, keys)
    # What stands under a hidden key is never read, and a value of 0 is as good as any.
    keys, _, decay, beta = prepared(keys, keys, mask, log_decay, strength)
    between = _between(keys, decay)
    weights = (widened(queries) @ keys.mT) * between
    if beta is not None:
        system = beta * (keys @ keys.mT) * between
        weights = beta.mT * torch.linalg.solve_triangular(
            system, weights, upper=False, left=False, unitriangular=True
        )
    return weights.to(queries.dtype)


def unit_length(x: Queries) -> Queries:
    """Scale queries or keys to length 1, so that a state that is read stays in range.

    .. math:: x / \\sqrt{x^\\top x + 10^{-6}}

    The small number under the root is that of Qwen3-Next; it keeps gradients at 0 finite.

    >>> unit_length(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    return x * (x.square().sum(dim=-1, keepdim=True) + 1e-6).rsqrt()


def _chunk(
    matrix: Tensor,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    log_decay: Tensor | None,
    strength: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Return the outputs of one chunk, and the state after it."""
    between = _between(keys, log_decay)
    total = torch.zeros_like(keys[..., :1])
    if log_decay is not None:
        total = log_decay.cumsum(dim=-2)
    since = total.exp()  # what is left of the state before
    left = (total[..., -1:, :] - total).exp()  # and at the end
    written = values
    if strength is not None:
        system = strength * (keys @ keys.mT) * between
        known = since * (keys @ matrix)
        written = torch.linalg.solve_triangular(
            system,
            strength * (values - known),
            upper=False,
            unitriangular=True,
        )
    within = queries @ keys.mT * between
    outputs = since * (queries @ matrix) + within @ written
    state = since[..., -1:, :] * matrix + (left * keys).mT @ written
    return outputs, state


def _between(keys: Tensor, log_decay: Tensor | None) -> Tensor:
    """What is left of position j at position i, 0 for those to come, (\\*batch, i, j)."""
    count = keys.shape[-2]
    seen = torch.ones(count, count, dtype=torch.bool, device=keys.device).tril()
    if log_decay is None:
        return seen.to(keys.dtype)
    total = log_decay.cumsum(dim=-2)
    return (total - total.mT).masked_fill(~seen, -torch.inf).exp()


def _check_causal(queries: Tensor, keys: Tensor) -> None:
    check_same_features(queries, keys)
    if queries.shape[-2] != keys.shape[-2]:
        raise ValueError(
            "queries: expected as many as keys, for each position writes and then reads, "
            f"got {queries.shape[-2]} queries and {keys.shape[-2]} keys"
        )


__all__ = ["fixed_state_attention", "fixed_state_weights", "unit_length"]
