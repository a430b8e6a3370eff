"""The package's Transformer beside a reader's: its weights, and its calls."""

from typing import Any

import torch
from torch import Tensor, nn

from attention_book.models import Transformer
from attention_book.text import PAD


def with_weights_of(mine: Any, theirs: Transformer) -> Any:
    """Give a reader's Transformer the weights of the package's, and return it.

    Args:
        mine: a ``Transformer`` of the reader's file.
        theirs: the package's, with as many layers and heads of the same sizes.
    """
    with torch.no_grad():
        for own, other in ((mine.encoder, theirs.encoder), (mine.decoder, theirs.decoder)):
            own.embed.weight.copy_(other.embedding.weight)
            own.norm.load_state_dict(other.norm.state_dict())
            for to, layer in zip(own.layers, other.layers, strict=True):
                _copy_layer(to, layer)
        mine.readout.load_state_dict(theirs.readout.state_dict())
    return mine


def _copy_layer(own: Any, other: Any) -> None:
    _copy_attention(own.attention, other.self_attention)
    own.norm_1.load_state_dict(other.self_attention_norm.norm.state_dict())
    if hasattr(own, "cross"):
        _copy_attention(own.cross, other.cross_attention)
        own.norm_2.load_state_dict(other.cross_attention_norm.norm.state_dict())
    own.norm_3.load_state_dict(other.feed_forward_norm.norm.state_dict())
    own.feed_forward[0].load_state_dict(other.feed_forward.W_1.state_dict())
    own.feed_forward[2].load_state_dict(other.feed_forward.W_2.state_dict())


def _copy_attention(own: Any, other: Any) -> None:
    for name in ("W_q", "W_k", "W_v", "W_o"):
        getattr(own, name).weight.copy_(getattr(other, name).weight)


class Package(nn.Module):
    """The package's Transformer, called as a reader's is: model(source, target).

    Args:
        model: the package's.

    >>> from attention_book.models import TransformerConfig
    >>> sizes = dict(source_vocabulary=9, target_vocabulary=9, d_model=8, num_heads=2, d_ff=8)
    >>> model = Package(Transformer(TransformerConfig(**sizes)))
    >>> model(torch.tensor([[4, 5, 3]]), torch.tensor([[2, 6]])).shape
    torch.Size([1, 2, 9])
    """

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the logits of each next word."""
        return self.model(source, source != PAD, target)  # type: ignore[no-any-return]
