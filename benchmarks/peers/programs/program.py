"""What every program must be able to do."""

from abc import abstractmethod
from collections.abc import Iterator
from importlib.util import find_spec
from typing import ClassVar

import torch
from torch import Tensor, nn
from transformer import Batch

from attention_book.attention import MultiHeadAttention
from attention_book.models import Transformer, TransformerConfig


class Program(nn.Module):
    """One implementation of the same Transformer.

    A call takes what ours takes, and returns the logits.

    Args:
        config: The settings, in our words.
        max_tokens: The longest sentence.

    Attributes:
        package: What must be installed, and whose version is reported.
        has_biases: Whether attention and norms have them; decides which of ours it is
            compared with.
        can_beam: Whether it has a beam search for several sources at a time.
    """

    package: ClassVar[str] = "torch"
    has_biases: ClassVar[bool] = True
    can_beam: ClassVar[bool] = False

    def __init__(self, config: TransformerConfig, max_tokens: int) -> None:
        super().__init__()
        self.config = config
        self.model = self.build(config, max_tokens)

    @classmethod
    def is_installed(cls) -> bool:
        """Whether its package is there."""
        return find_spec(cls.package.replace("-", "_")) is not None

    @abstractmethod
    def build(self, config: TransformerConfig, max_tokens: int) -> nn.Module:
        """Return the model."""

    @abstractmethod
    def copy_(self, ours: Transformer) -> None:
        """Take over our parameters, so that both compute the same."""

    @abstractmethod
    def forward(self, source: Tensor, source_mask: Tensor, target_input: Tensor) -> Tensor:
        """Return the logits of whole targets."""

    @abstractmethod
    def greedy(self, batch: Batch, num_tokens: int) -> Tensor:
        """Write so many tokens for each source, (batch, token)."""

    def beam(self, batch: Batch, num_tokens: int, width: int) -> Tensor:
        """Write so many tokens for each source, the best of so many beams, (batch, token)."""
        raise NotImplementedError(f"{type(self).__name__} has no beam search")

    @property
    def num_parameters(self) -> int:
        """How many numbers are trained, each counted once."""
        return sum(each.numel() for each in self.parameters() if each.requires_grad)


def split(attention: MultiHeadAttention) -> Iterator[tuple[str, Tensor, Tensor | None]]:
    """Yield the weight and the bias of each of our four projections: q, k, v, o."""
    for letter in "qkvo":
        linear = attention.get_submodule(f"W_{letter}")
        yield letter, linear.weight, linear.bias


@torch.no_grad()
def fill(module: nn.Module, weight: Tensor, bias: Tensor | None) -> None:
    """Copy a weight and a bias into a linear map or a norm; both have the bias, or neither."""
    if (bias is None) != (module.bias is None):
        raise ValueError(f"bias: expected it in both or in neither, got one in {module}")
    module.weight.copy_(weight)
    if bias is not None:
        module.bias.copy_(bias)
