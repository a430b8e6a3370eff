"""The Transformer: attention is all that carries anything from one token to another."""

import math
from dataclasses import replace
from typing import cast

from torch import nn

from attention_book.attention import causal_mask
from attention_book.foundations.shapes import (
    Features,
    Logits,
    Mask,
    SourceIds,
    SourceMask,
    StepIds,
    StepLogits,
    TargetIds,
    TokenIds,
    Weights,
)
from attention_book.models.recurrent.source_lengths import source_lengths
from attention_book.models.token_embedding import TokenEmbedding
from attention_book.models.transformer.config import TransformerConfig
from attention_book.models.transformer.layers import DecoderLayer, EncoderLayer
from attention_book.models.transformer.stack import CreateLayer, LayerStack
from attention_book.models.transformer.state import TransformerMemory, TransformerState


class TransformerStack(LayerStack):
    """What encoder and decoder share: embedding, positions, layers.

    Args:
        config: The model's settings.
        embedding: Vectors of the tokens; their length is brought to about 1 a feature by
            :math:`\\sqrt{d_\\mathrm{model}}`, that of the sinusoidal positions.
        layer: Creates a layer.
        looks_ahead: Whether a token may see later ones.

    >>> import torch
    >>> config = TransformerConfig(source_vocabulary=10, target_vocabulary=12)
    >>> stack = Transformer(config).eval().encoder
    >>> stack(torch.tensor([[4, 5]])).shape, len(stack.layers)
    (torch.Size([1, 2, 32]), 2)
    """

    def __init__(
        self,
        config: TransformerConfig,
        embedding: TokenEmbedding,
        layer: CreateLayer,
        *,
        looks_ahead: bool,
    ) -> None:
        """Create the positions, which all layers share, and the layers."""
        super().__init__(config, layer, looks_ahead=looks_ahead)
        self.embedding = embedding

    def embed(self, tokens: TokenIds, *, offset: int = 0) -> Features:
        """Return the tokens' vectors with their positions, counted from ``offset``."""
        vectors = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        return self.place(vectors, offset=offset)

    def forward(self, tokens: TokenIds, mask: Mask | None = None) -> Features:
        """Embed the tokens, and send them through all layers: of an encoder, which needs no more.

        True in ``mask`` means: may be seen.
        """
        return self.run(self.embed(tokens), mask)


class Transformer(nn.Module):
    """Translate with the Transformer of Vaswani et al. (2017).

    Target padding stands on the right and is never seen by a real token, so it needs no mask.

    Args:
        config: The settings.

    >>> import torch
    >>> config = TransformerConfig(source_vocabulary=10, target_vocabulary=12)
    >>> model = Transformer(config).eval()
    >>> source, target = torch.tensor([[4, 5, 6, 3]]), torch.tensor([[2, 7, 8]])
    >>> memory = model.encode(source, source > 0)
    >>> logits = model.decode(target, memory)
    >>> logits.shape
    torch.Size([1, 3, 12])
    >>> first, state = model.step(target[:, 0], model.start(memory))
    >>> second, state = model.step(target[:, 1], state)
    >>> torch.allclose(second, logits[:, 1], atol=1e-6)
    True
    """

    def __init__(self, config: TransformerConfig) -> None:
        """Create encoder, decoder and output layer."""
        super().__init__()
        self.config = config
        source = _embedding(config.source_vocabulary, config, "source")
        target = _embedding(config.target_vocabulary, config, "target")
        self.encoder = TransformerStack(config, source, EncoderLayer, looks_ahead=True)
        self.decoder = TransformerStack(config, target, DecoderLayer, looks_ahead=False)
        self.readout = nn.Linear(config.d_model, config.target_vocabulary, bias=not config.tied)
        if config.tied:
            self.readout.weight = target.weight

    def encode(self, source: SourceIds, source_mask: SourceMask) -> TransformerMemory:
        """Read the sources, and project them to every decoder layer's keys and values, once.

        Raises:
            ValueError: if the mask has another shape than ``source``, if a source is empty,
                or if a padding token stands before a real one.
        """
        padded = bool((source_lengths(source, source_mask) < source.shape[1]).any())
        mask = source_mask[:, None, :] if padded else None
        encoded = self.encoder(source, mask)
        layers = tuple(layer.read(encoded) for layer in self._decoder_layers())
        return TransformerMemory(encoded, layers, mask)

    def decode(self, target_input: TargetIds, memory: TransformerMemory) -> Logits:
        """Predict every next word of targets that begin with ``<bos>``.

        Raises:
            ValueError: if a target doesn't, or there are not as many as sources.
        """
        _check_target(target_input, memory.batch_size, self.config.bos)
        mask = causal_mask(target_input.shape[1], device=target_input.device)
        x = self.decoder.embed(target_input)
        for layer, source in zip(self._decoder_layers(), memory.layers, strict=True):
            x = layer(x, source, memory.mask, mask=mask)
        return self._read_out(x)

    def start(self, memory: TransformerMemory) -> TransformerState:
        """Return the state with nothing written."""
        # Every step reads all of the source's keys and values: moved together once, they
        # come faster.
        together = tuple(layer.contiguous() for layer in memory.layers)
        return TransformerState(replace(memory, layers=together))

    def step(self, token: StepIds, state: TransformerState) -> tuple[StepLogits, TransformerState]:
        """Take one word of each sentence, and predict the next; the first is ``<bos>``.

        Only the new word is computed: the past is in the state, as keys and values.

        Raises:
            ValueError: if the words are not as many as the state's sentences, or the
                first is not ``<bos>``.
        """
        _check_axes(token, ("batch",), state.batch_size)
        if state.position == 0:
            _check_begins(token[:, None], self.config.bos)
        x = self.decoder.embed(token[:, None], offset=state.position)
        past = []
        for index, layer in enumerate(self._decoder_layers()):
            x, grown = layer.step(
                x,
                state.memory.layers[index],
                state.memory.mask,
                past=state.past[index] if state.past else None,
            )
            past.append(grown)
        after = TransformerState(state.memory, tuple(past), state.position + 1)
        return self._read_out(x)[:, 0], after

    def forward(
        self, source: SourceIds, source_mask: SourceMask, target_input: TargetIds
    ) -> Logits:
        """Encode, then decode."""
        return self.decode(target_input, self.encode(source, source_mask))

    def weights(
        self, source: SourceIds, source_mask: SourceMask, target_input: TargetIds
    ) -> Weights:
        """Return how much each target word looked at each source word, (batch, target, source).

        The mean over the heads of the last layer's cross-attention; row t holds the weights
        used to predict the word *after* ``target_input[t]``. For single heads and other
        layers use :func:`~attention_book.inspection.capture_attention`.

        Raises:
            ValueError: as in :meth:`encode` and :meth:`decode`.
        """
        memory = self.encode(source, source_mask)
        _check_target(target_input, memory.batch_size, self.config.bos)
        mask = causal_mask(target_input.shape[1], device=target_input.device)
        *below, last = self._decoder_layers()
        x = self.decoder.embed(target_input)
        for layer, keys_values in zip(below, memory.layers, strict=False):
            x = layer(x, keys_values, memory.mask, mask=mask)
        return last.cross_weights(x, memory.layers[-1], memory.mask, mask=mask).mean(dim=1)

    def _decoder_layers(self) -> list[DecoderLayer]:
        return cast("list[DecoderLayer]", list(self.decoder.layers))

    def _read_out(self, x: Features) -> Logits:
        logits: Logits = self.readout(self.decoder.norm(x))
        return logits


def _embedding(size: int, config: TransformerConfig, name: str) -> TokenEmbedding:
    embedding = TokenEmbedding(size, config.d_model, name=name)
    nn.init.normal_(embedding.weight, std=config.d_model**-0.5)
    return embedding


def _check_target(target_input: TargetIds, num_sources: int, bos: int) -> None:
    _check_axes(target_input, ("batch", "target"), num_sources)
    _check_begins(target_input, bos)


def _check_axes(target: TargetIds | StepIds, axes: tuple[str, ...], num_sources: int) -> None:
    if target.ndim != len(axes):
        raise ValueError(
            f"target: expected the axes ({', '.join(axes)}), got the shape {tuple(target.shape)}"
        )
    if len(target) != num_sources:
        raise ValueError(
            f"target: expected one for each of {num_sources} sources, got {len(target)}"
        )


def _check_begins(target_input: TargetIds, bos: int) -> None:
    """Check that every target begins with <bos>: else every prediction stands one place off."""
    first = target_input[:, :1]
    if first.shape[1] == 0 or bool((first != bos).any()):
        got = "nothing" if first.shape[1] == 0 else str(first[first != bos][0].item())
        raise ValueError(f"target: expected <bos> = {bos} as the first token, got {got}")
