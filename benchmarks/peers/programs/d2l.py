"""The Transformer of Dive into Deep Learning, in the wiring of its chapter."""

from functools import cache

import torch
from theirs import D2LTransformer
from torch import Tensor, nn
from transformer import Batch
from translation import import_d2l

from attention_book.models import Transformer, TransformerConfig
from peers.programs.program import Program, fill, split


class D2L(Program):
    package = "d2l"
    model: D2LTransformer

    @classmethod
    def is_installed(cls) -> bool:
        """Whether its package is there; if so it is imported, as the others are."""
        return super().is_installed() and bool(_d2l())

    def build(self, config: TransformerConfig, max_tokens: int) -> nn.Module:
        d2l = _d2l()
        model = D2LTransformer(d2l, config)
        for module in model.modules():  # d2l has one rate for all
            if isinstance(module, d2l.DotProductAttention):
                module.dropout.p = config.inner_dropout
        ids = torch.zeros(1, 1, dtype=torch.long)
        model(ids, ids, torch.ones(1, dtype=torch.long))  # creates the lazy layers
        return model

    def copy_(self, ours: Transformer) -> None:
        self.model.encoder.embedding.load_state_dict(ours.encoder.embedding.state_dict())
        self.model.embedding.load_state_dict(ours.decoder.embedding.state_dict())
        for theirs, mine in zip(self.model.encoder.blks, ours.encoder.layers, strict=True):
            _fill(theirs.attention, mine.self_attention)
            _fill_rest(theirs.ffn, (theirs.addnorm1, theirs.addnorm2), mine)
        for theirs, mine in zip(self.model.blocks, ours.decoder.layers, strict=True):
            _fill(theirs.look_back, mine.self_attention)
            _fill(theirs.look_across, mine.cross_attention)
            _fill_rest(theirs.think, theirs.norms, mine)

    def forward(self, source: Tensor, source_mask: Tensor, target_input: Tensor) -> Tensor:
        return self.model(source, target_input, source_mask.sum(1))[0]

    def greedy(self, batch: Batch, num_tokens: int) -> Tensor:
        first = batch.target_input[:, 0]
        return self.model.greedy(batch.source, batch.mask.sum(1), first, num_tokens)


def _fill(theirs: nn.Module, mine: nn.Module) -> None:
    for letter, weight, bias in split(mine):
        fill(getattr(theirs, f"W_{letter}"), weight, bias)


def _fill_rest(feed_forward: nn.Module, norms: object, mine: nn.Module) -> None:
    fill(feed_forward.dense1, mine.feed_forward.W_1.weight, mine.feed_forward.W_1.bias)
    fill(feed_forward.dense2, mine.feed_forward.W_2.weight, mine.feed_forward.W_2.bias)
    ours = [getattr(mine, f"{name}_norm", None) for name in _SUBLAYERS]
    for theirs, our in zip(norms, filter(None, ours), strict=True):
        fill(theirs.ln, our.norm.weight, our.norm.bias)


_SUBLAYERS = ("self_attention", "cross_attention", "feed_forward")
_d2l = cache(import_d2l)
__all__ = ["D2L"]
