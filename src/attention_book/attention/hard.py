"""Hard attention: each query attends to exactly one key, chosen or drawn.

A choice has no gradient. Two ways around that are here: REINFORCE, which is
unbiased but noisy, and the straight-through estimator, which is calm but biased.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_book.attention.masks import without_hidden
from attention_book.attention.scores import Score
from attention_book.attention.softmax import masked_softmax
from attention_book.foundations.checks import check_score, check_values
from attention_book.foundations.shapes import Keys, Mask, Output, Queries, Values, Weights

CHOICES = ("argmax", "sample")


@dataclass(frozen=True, eq=False)
class Sample:
    """What was drawn, and how likely it was.

    Attributes:
        output: The value of the drawn key, (\\*batch, query, d_v).
        weights: One-hot at that key, (\\*batch, query, key).
        log_prob: The log-probability of that key, (\\*batch, query), whose
            gradient reaches the score. It is 0 where nothing may be seen: there
            nothing was left to chance.

    >>> from attention_book.attention import DotScore
    >>> keys = torch.eye(2)
    >>> HardAttention(DotScore()).sample(99 * keys, keys, keys).weights
    tensor([[1., 0.],
            [0., 1.]])
    """

    output: Output
    weights: Weights
    log_prob: Float[Tensor, "*batch query"]


class HardAttention(nn.Module):
    """Return the value of one key for each query.

    .. math:: f(q) = v_j, \\qquad j = \\arg\\max_l \\alpha_l \\ \\text{ or } \\ j \\sim \\alpha,
        \\qquad \\alpha = \\operatorname{softmax}_l a(q, k_l)

    The weights are one-hot (all 0 where a query may see nothing), and give the
    score no gradient, unless ``straight_through`` lends them that of the soft
    weights: forwards they are one-hot, backwards they count as
    :math:`\\alpha`.

    Args:
        score: A scoring function, for example
            :class:`~attention_book.attention.BilinearScore`.
        choice: ``"argmax"`` (the first, among equals) or ``"sample"`` (a new draw
            at every call).
        straight_through: Whether to pass the gradient of the soft weights.

    Raises:
        ValueError: if ``choice`` is neither of the two.

    Xu et al. (2015), section 4.1; straight-through: Bengio et al. (2013).

    >>> from attention_book.attention import DotScore
    >>> attention = HardAttention(DotScore())
    >>> attention(torch.tensor([[0.9, 0.1]]), torch.eye(2), torch.tensor([[10.0], [20.0]]))
    tensor([[10.]])
    """

    def __init__(
        self, score: Score, *, choice: str = "argmax", straight_through: bool = False
    ) -> None:
        """Keep the score and how to choose."""
        super().__init__()
        check_score(score)
        if choice not in CHOICES:
            raise ValueError(f"choice: expected one of {CHOICES}, got {choice!r}")
        self.score = score
        self.choice = choice
        self.straight_through = straight_through

    def weights(self, queries: Queries, keys: Keys, mask: Mask | None = None) -> Weights:
        """Return one-hot weights; with ``choice="sample"`` every call draws anew."""
        soft = masked_softmax(self.score(queries, keys), mask)
        one_hot = _take_largest(soft) if self.choice == "argmax" else _draw(soft)
        if self.straight_through:
            one_hot = one_hot + (soft - soft.detach())  # adds exactly 0, and a gradient
        return one_hot

    def forward(
        self, queries: Queries, keys: Keys, values: Values, mask: Mask | None = None
    ) -> Output:
        """Return the value of the chosen key for each query."""
        check_values(keys, values)
        weights = self.weights(queries, keys, mask)
        (values,) = without_hidden(mask, values)
        return weights @ values

    def sample(
        self,
        queries: Queries,
        keys: Keys,
        values: Values,
        mask: Mask | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> Sample:
        """Draw one key for each query from the soft weights, whatever ``choice`` says.

        A generator lies on the device of the queries.

        Returns:
            The output, its one-hot weights, and the log-probabilities that
            :func:`reinforce_surrogate` needs.
        """
        check_values(keys, values)
        soft = masked_softmax(self.score(queries, keys), mask)
        one_hot = _draw(soft, generator)
        (values,) = without_hidden(mask, values)
        probability = (soft * one_hot).sum(dim=-1)
        # Where nothing may be seen, log 0 would poison the gradient: log 1 instead.
        log_prob = probability.masked_fill(~_sees_any(soft).squeeze(-1), 1.0).log()
        return Sample(one_hot @ values, one_hot, log_prob)


def reinforce_surrogate(
    log_prob: Float[Tensor, "*draws"],
    loss: Float[Tensor, "*draws"],
    *,
    baseline: float | Tensor = 0.0,
) -> Float[Tensor, ""]:
    """Return a number whose gradient estimates the gradient of the expected loss.

    .. math:: \\nabla \\operatorname{E}[L]
        = \\operatorname{E}[(L - b) \\, \\nabla \\log p]

    The number itself means nothing: report ``loss.mean()``. The loss counts as a
    constant here. If parameters also change it directly, through the values or a
    layer behind the attention, add ``loss.mean()`` to reach them.

    Args:
        log_prob: The log-probability of each draw; of several choices that share
            one loss, the sum of their log-probabilities.
        loss: The loss of each draw.
        baseline: The number b, or one for each draw. It must not depend on the
            draw it is used for; then it leaves the mean of the estimate alone and
            can lower its variance.

    Raises:
        ValueError: if there is not one loss for each draw, or the baseline is neither
            one number nor one for each draw.

    Williams (1992), equation 4; Xu et al. (2015), equations 11 and 12.

    >>> logits = torch.zeros(2, requires_grad=True)
    >>> log_prob = logits.log_softmax(-1)[[0, 1]]
    >>> reinforce_surrogate(log_prob, torch.tensor([1.0, 0.0])).backward()
    >>> logits.grad
    tensor([ 0.2500, -0.2500])
    """
    if log_prob.shape != loss.shape:
        raise ValueError(
            f"loss: expected one number for each draw, "
            f"the shape {tuple(log_prob.shape)}, "
            f"got the shape {tuple(loss.shape)}"
        )
    if isinstance(baseline, Tensor):
        if baseline.numel() != 1 and baseline.shape != loss.shape:
            raise ValueError(
                "baseline: expected one number, or one for each draw, "
                "the shape "
                f"{tuple(loss.shape)}, got the shape {tuple(baseline.shape)}"
            )
        baseline = baseline.detach()
    return ((loss.detach() - baseline) * log_prob).mean()


class RunningMean:
    """An exponentially weighted mean of the losses so far: a baseline for REINFORCE.

    .. math:: b \\leftarrow m \\, b + (1 - m) \\, \\operatorname{mean}(L)

    Use ``value`` first and ``update`` it afterwards: a baseline that has already
    seen a draw depends on it and biases the gradient.

    Args:
        momentum: How much of the old mean is kept, in [0, 1).

    Raises:
        ValueError: if ``momentum`` is outside [0, 1).

    >>> baseline = RunningMean(momentum=0.5)
    >>> baseline.update(torch.tensor([2.0, 4.0]))
    >>> baseline.update(torch.tensor([5.0]))
    >>> baseline.value
    4.0
    """

    def __init__(self, *, momentum: float = 0.9) -> None:
        """Start at 0, before any loss was seen."""
        if not 0 <= momentum < 1:
            raise ValueError(f"momentum: expected a number in [0, 1), got {momentum}")
        self.momentum = momentum
        self.value = 0.0
        self._has_seen_a_loss = False

    def update(self, loss: Tensor) -> None:
        """Take in the mean of ``loss``; the first one replaces the 0 entirely."""
        kept = self.momentum if self._has_seen_a_loss else 0.0
        self.value = kept * self.value + (1 - kept) * loss.mean().item()
        self._has_seen_a_loss = True


def _take_largest(soft: Weights) -> Weights:
    index = soft.argmax(dim=-1, keepdim=True)
    return torch.zeros_like(soft).scatter(-1, index, 1.0) * _sees_any(soft)


def _draw(soft: Weights, generator: torch.Generator | None = None) -> Weights:
    sees_any = _sees_any(soft)
    # multinomial refuses a row of zeros: draw uniformly there, then erase the draw.
    drawable = soft.detach().masked_fill(~sees_any, 1.0)
    index = torch.multinomial(drawable.flatten(end_dim=-2), 1, generator=generator)
    one_hot = torch.zeros_like(soft).scatter(-1, index.view(*soft.shape[:-1], 1), 1.0)
    return one_hot * sees_any


def _sees_any(soft: Weights) -> Bool[Tensor, "*batch query 1"]:
    return soft.detach().sum(dim=-1, keepdim=True) > 0
