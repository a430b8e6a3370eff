"""Marian, as Hugging Face transformers has it, with random weights: nothing is downloaded."""

import torch
from torch import Tensor, nn
from transformer import Batch
from transformers import GenerationConfig, MarianConfig, MarianMTModel

from attention_book.attention import MultiHeadAttention
from attention_book.attention.positions.sinusoidal import sinusoids
from attention_book.models import Transformer, TransformerConfig
from peers.programs.program import Program, fill, split


class Marian(Program):
    package = "transformers"
    can_beam = True
    model: MarianMTModel

    def build(self, config: TransformerConfig, max_tokens: int) -> nn.Module:
        sides = {
            f"{side}_{name}": value
            for side in ("encoder", "decoder")
            for name, value in (
                ("layers", config.num_layers),
                ("attention_heads", config.num_heads),
                ("ffn_dim", config.d_ff),
            )
        }
        settings = MarianConfig(
            vocab_size=config.source_vocabulary,
            decoder_vocab_size=config.target_vocabulary,
            share_encoder_decoder_embeddings=False,
            tie_word_embeddings=True,  # the target's with the output layer
            d_model=config.d_model,
            max_position_embeddings=max_tokens,
            activation_function="relu",
            scale_embedding=True,
            dropout=config.dropout,
            attention_dropout=config.inner_dropout,
            activation_dropout=config.inner_dropout,
            pad_token_id=config.pad,
            decoder_start_token_id=config.bos,
            eos_token_id=None,  # so many tokens, whatever they are
            forced_eos_token_id=None,
            **sides,
        )
        return MarianMTModel(settings)

    @torch.no_grad()
    def copy_(self, ours: Transformer) -> None:
        model = self.model.model
        for theirs, mine in ((model.encoder, ours.encoder), (model.decoder, ours.decoder)):
            theirs.embed_tokens.weight.copy_(mine.embedding.weight)
            # It keeps all sines before all cosines, ours as the paper does, in turns.
            table = theirs.embed_positions.weight
            table.copy_(sinusoids(*table.shape))
            for layer, our in zip(theirs.layers, mine.layers, strict=True):
                _fill_layer(layer, our)

    def forward(self, source: Tensor, source_mask: Tensor, target_input: Tensor) -> Tensor:
        logits: Tensor = self.model(
            input_ids=source,
            attention_mask=source_mask,
            decoder_input_ids=target_input,
            use_cache=False,
        ).logits
        return logits

    def greedy(self, batch: Batch, num_tokens: int) -> Tensor:
        return self._generate(batch, num_tokens)

    def beam(self, batch: Batch, num_tokens: int, width: int) -> Tensor:
        return self._generate(batch, num_tokens, num_beams=width, length_penalty=0.0)

    def _generate(self, batch: Batch, num_tokens: int, **search: float) -> Tensor:
        settings = GenerationConfig(
            max_new_tokens=num_tokens,
            do_sample=False,
            use_cache=True,
            pad_token_id=self.config.pad,
            decoder_start_token_id=self.config.bos,
            **search,
        )
        written: Tensor = self.model.generate(
            batch.source, attention_mask=batch.mask, generation_config=settings
        )
        return written[:, 1:]


def _fill_layer(theirs: nn.Module, mine: nn.Module) -> None:
    _fill_attention(theirs.self_attn, mine.self_attention)
    norms = {"self_attn_layer_norm": mine.self_attention_norm}
    if hasattr(mine, "cross_attention"):
        _fill_attention(theirs.encoder_attn, mine.cross_attention)
        norms["encoder_attn_layer_norm"] = mine.cross_attention_norm
    norms["final_layer_norm"] = mine.feed_forward_norm
    for name, add_norm in norms.items():
        fill(getattr(theirs, name), add_norm.norm.weight, add_norm.norm.bias)
    fill(theirs.fc1, mine.feed_forward.W_1.weight, mine.feed_forward.W_1.bias)
    fill(theirs.fc2, mine.feed_forward.W_2.weight, mine.feed_forward.W_2.bias)


def _fill_attention(theirs: nn.Module, mine: MultiHeadAttention) -> None:
    names = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "out_proj"}
    for letter, weight, bias in split(mine):
        fill(getattr(theirs, names[letter]), weight, bias)
