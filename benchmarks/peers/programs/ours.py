"""Our own model, with our own searches."""

import torch
from torch import Tensor, nn
from transformer import Batch

from attention_book.decoding import Hypothesis, beam_search, greedy_search
from attention_book.models import Transformer, TransformerConfig
from peers.programs.program import Program


class Ours(Program):
    can_beam = True
    model: Transformer

    def build(self, config: TransformerConfig, max_tokens: int) -> nn.Module:
        return Transformer(config)

    def copy_(self, ours: Transformer) -> None:
        self.model.load_state_dict(ours.state_dict())

    def forward(self, source: Tensor, source_mask: Tensor, target_input: Tensor) -> Tensor:
        logits: Tensor = self.model(source, source_mask, target_input)
        return logits

    def greedy(self, batch: Batch, num_tokens: int) -> Tensor:
        found = greedy_search(self.model, batch.source, batch.mask, max_tokens=num_tokens)
        return _ids(found)

    def beam(self, batch: Batch, num_tokens: int, width: int) -> Tensor:
        found = beam_search(
            self.model, batch.source, batch.mask, width=width, max_tokens=num_tokens
        )
        return _ids([hypotheses[0] for hypotheses in found])


class OursWithoutBiases(Ours):
    """Without the biases that x-transformers lacks: those of attention and of the norms."""

    has_biases = False

    def build(self, config: TransformerConfig, max_tokens: int) -> nn.Module:
        model = Transformer(config)
        for module in model.modules():
            if isinstance(module, nn.LayerNorm):
                module.register_parameter("bias", None)
        return model


def _ids(found: list[Hypothesis]) -> Tensor:
    return torch.tensor([each.ids for each in found])
