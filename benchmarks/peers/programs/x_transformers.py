"""x-transformers: the parts of its XTransformer, with the output layer tied.

It has no biases in attention and norms. Its beam search takes one source at a time: with several,
the sources' mask is not repeated for the beams, and it fails.
"""

import math

import torch
from torch import Tensor, nn
from transformer import Batch
from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper

from attention_book.attention import MultiHeadAttention
from attention_book.models import Transformer, TransformerConfig
from peers.programs.program import Program, split


class XTransformers(Program):
    package = "x-transformers"
    has_biases = False
    model: nn.ModuleDict

    def build(self, config: TransformerConfig, max_tokens: int) -> nn.Module:
        layers = {
            "dim": config.d_model,
            "depth": config.num_layers,
            "heads": config.num_heads,
            "pre_norm": config.norm == "pre",
            "attn_dim_head": config.head_size,
            "attn_flash": True,  # torch's fused attention
            "attn_dropout": config.inner_dropout,
            "attn_sublayer_dropout": config.dropout,
            "ff_mult": config.d_ff / config.d_model,
            "ff_custom_activation": nn.ReLU(),
            "ff_dropout": config.inner_dropout,
            "ff_sublayer_dropout": config.dropout,
        }
        common = {
            "max_seq_len": max_tokens,
            "emb_dropout": config.dropout,
            "scaled_sinu_pos_emb": True,
        }
        encoder = TransformerWrapper(
            num_tokens=config.source_vocabulary,
            return_only_embed=True,
            attn_layers=Encoder(**layers),
            **common,
        )
        decoder = TransformerWrapper(
            num_tokens=config.target_vocabulary,
            tie_embedding=True,
            attn_layers=Decoder(cross_attend=True, **layers),
            **common,
        )
        for each in (encoder, decoder):
            each.pos_emb.scale.requires_grad_(False).fill_(1.0)  # as in the paper
        wrapped = AutoregressiveWrapper(decoder, pad_value=config.pad)
        return nn.ModuleDict({"encoder": encoder, "decoder": wrapped})

    @torch.no_grad()
    def copy_(self, ours: Transformer) -> None:
        """Copy; its features stand in another order, all sines before all cosines."""
        size = self.config.d_model
        order = torch.cat((torch.arange(0, size, 2), torch.arange(1, size, 2)))
        decoder = self.model["decoder"].net
        for theirs, mine in ((self.model["encoder"], ours.encoder), (decoder, ours.decoder)):
            # It scales the embedding where the output layer reads it, ours where tokens enter.
            scaled = mine.embedding.weight * math.sqrt(size)
            theirs.token_emb.emb.weight.copy_(scaled[:, order])
            blocks = iter(theirs.attn_layers.layers)
            for layer in mine.layers:
                for name in ("self_attention", "cross_attention", "feed_forward"):
                    if hasattr(layer, name):
                        add_norm = getattr(layer, f"{name}_norm")
                        _fill_block(next(blocks), getattr(layer, name), add_norm, order)

    def forward(self, source: Tensor, source_mask: Tensor, target_input: Tensor) -> Tensor:
        logits: Tensor = self.model["decoder"].net(
            target_input, context=self._encode(source, source_mask), context_mask=source_mask
        )
        return logits

    @torch.no_grad()
    def greedy(self, batch: Batch, num_tokens: int) -> Tensor:
        written: Tensor = self.model["decoder"].generate(
            batch.target_input[:, :1],
            num_tokens,
            temperature=0.0,
            context=self._encode(batch.source, batch.mask),
            context_mask=batch.mask,
        )
        return written

    def _encode(self, source: Tensor, source_mask: Tensor) -> Tensor:
        encoded: Tensor = self.model["encoder"](source, mask=source_mask, return_embeddings=True)
        return encoded


def _fill_block(theirs: nn.ModuleList, mine: nn.Module, add_norm: nn.Module, order: Tensor) -> None:
    norms, block, _ = theirs
    norms[2].gamma.copy_(add_norm.norm.weight[order] - float(norms[2].unit_offset))
    if isinstance(mine, MultiHeadAttention):
        for letter, weight, _ in split(mine):
            linear = block.to_out if letter == "o" else getattr(block, f"to_{letter}")
            linear.weight.copy_(weight[order] if letter == "o" else weight[:, order])
        return
    first, second = (part for part in block.modules() if isinstance(part, nn.Linear))
    first.weight.copy_(mine.W_1.weight[:, order])
    first.bias.copy_(mine.W_1.bias)
    second.weight.copy_(mine.W_2.weight[order])
    second.bias.copy_(mine.W_2.bias[order])
