"""What the benchmarks compare with: nn.Transformer, and the model of d2l's parts."""

import math
import types

import torch
from torch import Tensor, nn

from attention_book.attention import SinusoidalPositions, causal_mask
from attention_book.models import Transformer, TransformerConfig, to_torch


class TorchTransformer(nn.Module):
    """nn.Transformer, with the embedding, the positions and the output layer that ours has."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        size, num_layers = config.d_model, config.num_layers
        self.source = nn.Embedding(config.source_vocabulary, size)
        self.target = nn.Embedding(config.target_vocabulary, size)
        self.positions = SinusoidalPositions(d_model=size)
        self.dropout = nn.Dropout(config.dropout)
        self.transformer = nn.Transformer(
            size,
            config.num_heads,
            num_layers,
            num_layers,
            config.d_ff,
            config.dropout,
            batch_first=True,
        )
        # Post-norm: the last layer's norm is the last norm, in ours and in the paper.
        self.transformer.encoder.norm = self.transformer.decoder.norm = None
        for module in self.transformer.modules():  # nn.Transformer has one rate for all
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = config.inner_dropout
            elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = config.inner_dropout
        self.readout = nn.Linear(size, config.target_vocabulary, bias=not config.tied)
        if config.tied:
            self.readout.weight = self.target.weight

    def embed(self, embedding: nn.Module, tokens: Tensor) -> Tensor:
        """Return the tokens' vectors with their positions."""
        vectors = embedding(tokens) * math.sqrt(self.transformer.d_model)
        return self.dropout(self.positions(vectors))

    def forward(self, source: Tensor, source_mask: Tensor, target_input: Tensor) -> Tensor:
        """Return the logits."""
        output = self.transformer(
            self.embed(self.source, source),
            self.embed(self.target, target_input),
            tgt_mask=~causal_mask(target_input.shape[1], device=target_input.device),
            src_key_padding_mask=~source_mask,
            memory_key_padding_mask=~source_mask,
            tgt_is_causal=True,
        )
        return self.readout(output)

    def copy_(self, ours: Transformer) -> "TorchTransformer":
        """Take over the parameters of our model, so that both compute the same."""
        self.source.load_state_dict(ours.encoder.embedding.state_dict())
        self.target.load_state_dict(ours.decoder.embedding.state_dict())
        self.transformer.load_state_dict(to_torch(ours).state_dict())
        self.readout.load_state_dict(ours.readout.state_dict())
        return self


class D2LTransformer(nn.Module):
    """The model of d2l's chapter: its encoder, and a decoder wired of its parts.

    Args:
        d2l: The module d2l.torch.
        config: The settings; the vocabularies may differ.
    """

    def __init__(self, d2l: types.ModuleType, config: TransformerConfig) -> None:
        super().__init__()
        size = config.d_model
        self.encoder = d2l.TransformerEncoder(
            config.source_vocabulary,
            size,
            config.d_ff,
            config.num_heads,
            config.num_layers,
            config.dropout,
            config.bias,
        )
        self.embedding = nn.Embedding(config.target_vocabulary, size)
        self.positions = d2l.PositionalEncoding(size, config.dropout)
        self.blocks = nn.ModuleList(D2LBlock(d2l, config) for _ in range(config.num_layers))
        self.dense = nn.LazyLinear(config.target_vocabulary)
        if config.tied:
            self.dense = nn.Linear(size, config.target_vocabulary, bias=False)
            self.dense.weight = self.embedding.weight

    def forward(self, source: Tensor, target_input: Tensor, lengths: Tensor) -> tuple[Tensor, None]:
        """Return the logits; d2l's training loop wants two outputs."""
        encoded = self.encoder(source, lengths)
        logits, _ = self.write(target_input, [None] * len(self.blocks), encoded, lengths)
        return logits, None

    def write(
        self, tokens: Tensor, kept: list[Tensor | None], encoded: Tensor, lengths: Tensor
    ) -> tuple[Tensor, list[Tensor | None]]:
        """Go on from what was kept: the inputs of every layer."""
        vectors = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        # The chapter's decoder gives every token that it writes the position 0.
        offset = 0 if kept[0] is None else kept[0].shape[1]
        places = self.positions.P[:, offset : offset + tokens.shape[1]].to(vectors.device)
        x = self.positions.dropout(vectors + places)
        after: list[Tensor | None] = []
        for block, past in zip(self.blocks, kept, strict=True):
            x, past = block(x, past, encoded, lengths)
            after.append(past)
        return self.dense(x), after

    @torch.no_grad()
    def greedy(self, source: Tensor, lengths: Tensor, first: Tensor, num_tokens: int) -> Tensor:
        """Write so many tokens, and keep the inputs of the layers, as d2l does."""
        encoded = self.encoder(source, lengths)
        kept: list[Tensor | None] = [None] * len(self.blocks)
        written = [first]
        for _ in range(num_tokens):
            logits, kept = self.write(written[-1][:, None], kept, encoded, lengths)
            written.append(logits[:, -1].argmax(-1))
        return torch.stack(written[1:], dim=1)


class D2LBlock(nn.Module):
    """A decoder layer of d2l's parts; keys and values are projected anew at every call."""

    def __init__(self, d2l: types.ModuleType, config: TransformerConfig) -> None:
        super().__init__()
        size, dropout = config.d_model, config.dropout
        self.look_back = d2l.MultiHeadAttention(size, config.num_heads, dropout, config.bias)
        self.look_across = d2l.MultiHeadAttention(size, config.num_heads, dropout, config.bias)
        self.think = d2l.PositionWiseFFN(config.d_ff, size)
        self.norms = nn.ModuleList(d2l.AddNorm(size, dropout) for _ in range(3))

    def forward(
        self, x: Tensor, past: Tensor | None, encoded: Tensor, lengths: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the new vectors, and all inputs so far."""
        seen = x if past is None else torch.cat((past, x), dim=1)
        visible = None
        if self.training:
            visible = torch.arange(1, x.shape[1] + 1, device=x.device).repeat(len(x), 1)
        x = self.norms[0](x, self.look_back(x, seen, seen, visible))
        x = self.norms[1](x, self.look_across(x, encoded, encoded, lengths))
        return self.norms[2](x, self.think(x)), seen
