"""Mixture of experts (MoE): a router sends each token to a few of many feed-forward networks."""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_book.foundations.checks import check_features, check_positive, check_sizes
from attention_book.foundations.resetting import ResettableLayer
from attention_book.foundations.shapes import Features
from attention_book.models.parts import FeedForward, FeedForwardKind

#: What makes a score of a logit: shares of one, or each by itself.
RouterKind = Literal["softmax", "sigmoid"]


@dataclass(frozen=True, eq=False)
class Routing:
    """Which experts each token goes to.

    Attributes:
        experts: The numbers of those chosen.
        weights: How much each chosen one counts; a token's sum to 1.
        scores: Of all experts, before any was chosen.

    >>> scores = torch.tensor([[0.5, 0.3, 0.2], [0.6, 0.1, 0.3]])
    >>> routing = Routing.best(scores, num_chosen=2)
    >>> routing.experts, routing.weights[0]
    (tensor([[0, 1],
            [0, 2]]), tensor([0.6250, 0.3750]))
    >>> routing.load()
    tensor([0.5000, 0.2500, 0.2500])
    """

    experts: Int[Tensor, "*token chosen"]
    weights: Float[Tensor, "*token chosen"]
    scores: Float[Tensor, "*token expert"]

    @classmethod
    def best(
        cls,
        scores: Float[Tensor, "*token expert"],
        *,
        num_chosen: int,
        bias: Float[Tensor, " expert"] | None = None,
    ) -> "Routing":
        """Return the experts with the largest scores, weighed by their scores.

        Args:
            scores: Positive, one for each token and expert.
            num_chosen: How many experts a token goes to.
            bias: Added to the scores where experts are chosen, and not where they are weighed
                (DeepSeek-AI 2024, "DeepSeek-V3", equation 16).

        Raises:
            ValueError: if there are not so many experts.
        """
        _check_chosen(num_chosen, scores.shape[-1])
        experts = (scores if bias is None else scores + bias).topk(num_chosen, dim=-1).indices
        chosen = scores.gather(-1, experts)
        return cls(experts, chosen / chosen.sum(dim=-1, keepdim=True), scores)

    def counts(self) -> Int[Tensor, " expert"]:
        """Return how many choices fell on each expert."""
        chosen = self.experts.flatten()
        none = chosen.new_zeros(self.scores.shape[-1])
        return none.index_add(0, chosen, torch.ones_like(chosen))  # bincount waits for the device

    def load(self) -> Float[Tensor, " expert"]:
        """Return the share of all choices that fell on each expert; 1/E each is balance."""
        return self.counts() / self.experts.numel()

    def balance_loss(self) -> Float[Tensor, ""]:
        """Return a loss whose gradient takes scores from the experts with too much load.

        .. math:: L = E \\sum_e f_e P_e

        :math:`f_e` is the load of expert e and :math:`P_e` the mean share that it has of a
        token's scores. Fedus et al. (2022), "Switch Transformers", equations 4 to 6, with the
        loads of several chosen experts adding up to 1. A load is a count, which no gradient
        passes: training lowers the scores of those who have too much. It is 1 when all have the
        same load, but not smallest there: it is less where the busy ones win narrowly.

        >>> even = Routing.best(torch.full((4, 2), 0.5) + 0.1 * torch.tensor(
        ...     [[1, 0], [0, 1], [1, 0], [0, 1]]), num_chosen=1)
        >>> even.balance_loss()
        tensor(1.)
        >>> narrowly = Routing.best(torch.tensor(
        ...     [[0.51, 0.49], [0.51, 0.49], [0.51, 0.49], [0.01, 0.99]]), num_chosen=1)
        >>> narrowly.load(), narrowly.balance_loss()
        (tensor([0.7500, 0.2500]), tensor(0.8850))
        """
        shares = self.scores / self.scores.sum(dim=-1, keepdim=True)
        mean = shares.flatten(0, -2).mean(dim=0)
        return len(mean) * (self.load() * mean).sum()


class MixtureOfExperts(ResettableLayer):
    """Give each token to the few feed-forward networks that a router chooses for it (MoE).

    .. math::

        y = \\sum_{e \\in \\text{top-}k} \\frac{s_e}{\\sum_{i \\in \\text{top-}k} s_i}
        \\operatorname{FFN}_e(x), \\qquad s = \\phi(W_r x)

    Shazeer et al. (2017). With :math:`\\phi = \\operatorname{softmax}` the block of Mixtral and
    Qwen3; with a sigmoid and a bias on the choice that of DeepSeek-V3, without its shared expert,
    which is one more feed-forward network whose output is added. It stands where a
    :class:`~attention_book.models.FeedForward` stood. All experts take memory, and a token only
    the operations of those chosen.

    Args:
        d_model: Size of a position's vector.
        d_ff: Size of one expert's hidden layer.
        num_experts: How many experts there are, E.
        num_chosen: How many a token goes to, k.
        kind: What an expert computes, as in a ``FeedForward``; without biases.
        scores: "softmax" or "sigmoid".

    Raises:
        ValueError: if a size is below 1, more are chosen than there are, or a kind is unknown.

    >>> import torch
    >>> mixture = MixtureOfExperts(d_model=4, d_ff=8, num_experts=8, num_chosen=2)
    >>> x = torch.randn(2, 3, 4)
    >>> mixture(x).shape, mixture.route(x).experts.shape
    (torch.Size([2, 3, 4]), torch.Size([2, 3, 2]))
    """

    def __init__(
        self,
        *,
        d_model: int,
        d_ff: int,
        num_experts: int,
        num_chosen: int,
        kind: FeedForwardKind = "swiglu",
        scores: RouterKind = "softmax",
    ) -> None:
        """Create the router and the experts."""
        super().__init__()
        check_sizes(d_model=d_model, num_experts=num_experts)
        _check_chosen(num_chosen, num_experts)
        if scores not in get_args(RouterKind):
            raise ValueError(f"scores: expected softmax or sigmoid, got {scores!r}")
        self.d_model, self.num_chosen = d_model, num_chosen
        self.scores: RouterKind = scores
        self.router = nn.Linear(d_model, num_experts, bias=False)
        self.experts = nn.ModuleList(
            FeedForward(d_model=d_model, d_ff=d_ff, kind=kind, bias=False)
            for _ in range(num_experts)
        )
        self.bias: Tensor
        self.register_buffer("bias", torch.zeros(num_experts))

    def reset_parameters(self) -> None:
        """Draw all parameters anew, and set the bias of the choice to 0."""
        super().reset_parameters()
        nn.init.zeros_(self.bias)

    def route(self, x: Features) -> Routing:
        """Return where the router sends each position.

        Raises:
            ValueError: if the vectors are not ``d_model`` long.
        """
        check_features("x", x, self.d_model)
        logits = self.router(x)
        scores = logits.softmax(dim=-1) if self.scores == "softmax" else logits.sigmoid()
        return Routing.best(scores, num_chosen=self.num_chosen, bias=self.bias)

    def forward(self, x: Features) -> Features:
        """Return one new vector for each position.

        Raises:
            ValueError: if the vectors are not ``d_model`` long.
        """
        routing = self.route(x)
        order = routing.experts.flatten().argsort(stable=True)  # an expert's choices side by side
        tokens = x.flatten(0, -2)[order // self.num_chosen]
        parts = tokens.split(routing.counts().tolist())  # the one wait for the device
        found = torch.cat([expert(part) for expert, part in zip(self.experts, parts, strict=True)])
        found = found[order.argsort()].view(*routing.experts.shape, self.d_model)
        return (routing.weights[..., None] * found).sum(dim=-2)

    @torch.no_grad()
    def rebalance(self, load: Float[Tensor, " expert"], *, speed: float = 0.001) -> None:
        """Make the experts with too little load likelier to be chosen, and the others less so.

        .. math:: b_e \\leftarrow b_e + u \\operatorname{sign}(\\tfrac1E - f_e)

        Wang et al. (2024), "Auxiliary-loss-free load balancing", algorithm 1: called after each
        step of a training, with the load of that step. No gradient is involved, and the weights
        of the chosen experts do not have the bias in them.

        Args:
            load: Of :meth:`Routing.load`.
            speed: :math:`u`.

        Raises:
            ValueError: if the speed is not above 0, or there is not one load for each expert.

        >>> mixture = MixtureOfExperts(d_model=4, d_ff=8, num_experts=2, num_chosen=1)
        >>> mixture.rebalance(torch.tensor([0.9, 0.1]), speed=0.5)
        >>> mixture.bias
        tensor([-0.5000,  0.5000])
        """
        check_positive("speed", speed)
        if load.shape != self.bias.shape:
            raise ValueError(
                f"load: expected one number for each of {len(self.bias)} experts, "
                f"got the shape {tuple(load.shape)}"
            )
        self.bias += speed * (1 / len(load) - load).sign()

    def extra_repr(self) -> str:
        """Show the settings where the module is printed."""
        return f"num_chosen={self.num_chosen}, scores={self.scores!r}"


def _check_chosen(num_chosen: int, num_experts: int) -> None:
    check_sizes(num_chosen=num_chosen)
    if num_chosen > num_experts:
        raise ValueError(f"num_chosen: expected at most {num_experts} experts, got {num_chosen}")


__all__ = ["MixtureOfExperts", "Routing"]
