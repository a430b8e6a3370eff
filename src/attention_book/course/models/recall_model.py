"""The smallest model of recall: embeddings, one memory of a kind chosen by name, a linear map."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.attention import (
    dot_product_weights,
    fixed_state_attention,
    unit_length,
)
from attention_book.course.datasets.recall import RecallBatch
from attention_book.foundations.checks import check_sizes


@dataclass(frozen=True)
class _Kind:
    """Whether a memory forgets, corrects what it knew, and looks back with a softmax."""

    forgets: bool = False
    corrects: bool = False
    softmax: bool = False


#: The memories that a :class:`RecallModel` may have.
MEMORIES = {
    "sum": _Kind(),
    "decay": _Kind(forgets=True),
    "delta": _Kind(corrects=True),
    "gated delta": _Kind(forgets=True, corrects=True),
    "softmax": _Kind(softmax=True),
    "softmax, forgetting": _Kind(softmax=True, forgets=True),
}


class RecallModel(nn.Module):
    """Several models of one kind, side by side, that answer the questions of a recall task.

    .. math:: x = E_\\text{key} + E_\\text{value}, \\qquad
        \\text{logits} = \\operatorname{norm}(\\text{read}(E_\\text{key} W_q)) \\, W_o

    Pairs are written into the memory, then each question reads from it. There are no positions,
    no residual path and no second layer: what an answer knows has come through the memory. All
    kinds have the same parameters: maps to a query, a key and a value, and to the two gates that
    some kinds use, one for forgetting and one for the strength of a correction; both begin nearly
    open. Fixed states get queries and keys of length 1. A softmax that forgets adds the logarithm
    of what is left of a pair to its score (Lin et al. 2025).

    Args:
        memory: A name of ``MEMORIES``.
        models: How many models, which share nothing but the sequences that they see.
        num_keys: How many different keys there are in the task.
        num_values: How many different values there are.
        d_model: Features of an embedding.
        d_k: Features of a query, a key and a value: a fixed state has d_k² numbers.

    Raises:
        ValueError: if a size is below 1, or ``memory`` is no name of ``MEMORIES``.

    >>> from attention_book.course.datasets import recall_task
    >>> model = RecallModel("delta", models=2)
    >>> task = recall_task(5, 4, num_keys=16, num_values=16)
    >>> model(task).shape, model.accuracy(task).shape
    (torch.Size([2, 5, 4, 16]), torch.Size([2]))
    """

    def __init__(
        self,
        memory: str,
        *,
        models: int = 3,
        num_keys: int = 16,
        num_values: int = 16,
        d_model: int = 32,
        d_k: int = 8,
    ) -> None:
        """Draw the parameters of every model."""
        super().__init__()
        check_sizes(
            models=models, num_keys=num_keys, num_values=num_values, d_model=d_model, d_k=d_k
        )
        if memory not in MEMORIES:
            raise ValueError(f"memory: expected one of {', '.join(MEMORIES)}, got {memory!r}")
        self.kind, self.d_k = MEMORIES[memory], d_k
        self.key_vectors = nn.Parameter(torch.randn(models, num_keys, d_model))
        self.value_vectors = nn.Parameter(torch.randn(models, num_values, d_model))
        self.W_q = nn.Parameter(torch.randn(models, d_model, d_k) / d_model**0.5)
        self.W_kv = nn.Parameter(torch.randn(models, d_model, 2 * d_k + 2) / d_model**0.5)
        self.gates = nn.Parameter(torch.tensor([4.0, 2.0]).repeat(models, 1, 1, 1))
        self.W_o = nn.Parameter(torch.randn(models, d_k, num_values) / d_k**0.5)

    def forward(self, task: RecallBatch) -> Float[Tensor, "model batch question num_values"]:
        """Return the logits of the questions, for each model."""
        pairs = self.key_vectors[:, task.keys] + self.value_vectors[:, task.values]
        queries = _mapped(self.key_vectors[:, task.questions], self.W_q)
        read = self._read(queries, _mapped(pairs, self.W_kv))
        return _mapped(F.rms_norm(read, (self.d_k,)), self.W_o)

    def loss(self, task: RecallBatch) -> Float[Tensor, ""]:
        """Return the mean cross-entropy over all questions and models, in nats."""
        logits = self(task)
        answers = task.answer.expand(logits.shape[:-1])
        loss: Tensor = F.cross_entropy(logits.flatten(0, 2), answers.flatten())
        return loss

    @torch.no_grad()
    def accuracy(self, task: RecallBatch) -> Float[Tensor, " model"]:
        """Return each model's fraction of right answers."""
        right: Tensor = self(task).argmax(dim=-1) == task.answer
        return right.float().mean(dim=(1, 2))

    def _read(self, queries: Tensor, pairs: Tensor) -> Tensor:
        """Write the pairs, one after another; then let every query read."""
        keys, values, gates = pairs.split([self.d_k, self.d_k, 2], dim=-1)
        log_gates = F.logsigmoid(gates + self.gates)
        log_decay = log_gates[..., 0] if self.kind.forgets else None
        if self.kind.softmax:
            bias = None
            if log_decay is not None:  # what is left of each pair in the end
                left = log_decay.sum(dim=-1, keepdim=True) - log_decay.cumsum(dim=-1)
                bias = left.unsqueeze(-2)
            found: Tensor = dot_product_weights(queries, keys, bias=bias) @ values
            return found
        strength = log_gates[..., 1].exp() if self.kind.corrects else None
        keys = unit_length(keys)
        _, state = fixed_state_attention(keys, keys, values, log_decay=log_decay, strength=strength)
        answers: Tensor = state.read(unit_length(queries))
        return answers


def _mapped(x: Tensor, weight: Tensor) -> Tensor:
    """Map each model's vectors with its own matrix, (model, feature, new feature)."""
    mapped: Tensor = (x.flatten(1, 2) @ weight).unflatten(1, x.shape[1:3])
    return mapped


__all__ = ["MEMORIES", "RecallModel"]
