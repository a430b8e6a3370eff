"""nn.Transformer, which has no decoding of its own: it reads the whole prefix for every token."""

import warnings

import torch
from theirs import TorchTransformer
from torch import Tensor, nn
from transformer import Batch

from attention_book.attention import causal_mask
from attention_book.models import Transformer, TransformerConfig
from peers.programs.program import Program


class TorchNN(Program):
    model: TorchTransformer

    def build(self, config: TransformerConfig, max_tokens: int) -> nn.Module:
        return TorchTransformer(config)

    def copy_(self, ours: Transformer) -> None:
        self.model.copy_(ours)

    def forward(self, source: Tensor, source_mask: Tensor, target_input: Tensor) -> Tensor:
        logits: Tensor = self.model(source, source_mask, target_input)
        return logits

    @torch.no_grad()
    def greedy(self, batch: Batch, num_tokens: int) -> Tensor:
        model, hidden = self.model, ~batch.mask
        embedded = model.embed(model.source, batch.source)
        with warnings.catch_warnings():  # torch leaves out padding by nested tensors, and says so
            warnings.filterwarnings("ignore", message=".*nested tensors")
            encoded = model.transformer.encoder(embedded, src_key_padding_mask=hidden)
        tokens = batch.target_input[:, :1]
        for _ in range(num_tokens):
            features = model.transformer.decoder(
                model.embed(model.target, tokens),
                encoded,
                tgt_mask=~causal_mask(tokens.shape[1], device=tokens.device),
                memory_key_padding_mask=hidden,
                tgt_is_causal=True,
            )
            token = model.readout(features[:, -1]).argmax(-1, keepdim=True)
            tokens = torch.cat((tokens, token), dim=1)
        return tokens[:, 1:]
