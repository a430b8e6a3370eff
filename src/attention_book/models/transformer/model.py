"""The Transformer (Vaswani et al. 2017): encoder, decoder and output layer, as a translator."""

from dataclasses import replace
from typing import Any, cast

from torch import Tensor, nn

from attention_book.attention import Visibility
from attention_book.foundations.checks import is_strict
from attention_book.foundations.shapes import (
    Logits,
    SourceIds,
    SourceMask,
    StepIds,
    StepLogits,
    TargetIds,
    Weights,
)
from attention_book.models.sources import check_source, reading_places
from attention_book.models.tied import TiedModel
from attention_book.models.token_embedding import TokenEmbedding
from attention_book.models.transformer.config import TransformerConfig
from attention_book.models.transformer.layers import Layer
from attention_book.models.transformer.stack import TokenStack
from attention_book.models.transformer.state import TransformerState


class Transformer(TiedModel):
    """Translate with the Transformer of Vaswani et al. (2017).

    Target padding stands on the right and is never seen by a real token, so it needs no mask. A
    source may be padded on either side.

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

    ties = ("tied", "shared")

    def __init__(self, config: TransformerConfig) -> None:
        """Create encoder, decoder and output layer."""
        super().__init__()
        self.config = config
        source = _embedding(config.source_vocabulary, config, "source")
        target = _embedding(config.target_vocabulary, config, "target")
        self.encoder = TokenStack(config, source, looks_ahead=True)
        self.decoder = TokenStack(config, target, looks_ahead=False, reads_source=True)
        tied = config.tied or config.shared
        self.readout = nn.Linear(config.d_model, config.target_vocabulary, bias=not tied)
        self.tie()

    def tied_places(self) -> tuple[str, ...]:
        """Return where the one matrix stands by the config, the output layer last; or nothing."""
        if self.says("shared"):
            return ("encoder.embedding", "decoder.embedding", "readout")
        return ("decoder.embedding", "readout") if self.says("tied") else ()

    def encode(self, source: SourceIds, source_mask: SourceMask) -> TransformerState:
        """Read the sources, and project them to every decoder layer's keys and values, once.

        Raises:
            ValueError: if the mask has another shape than ``source``; in strict mode also if a
                source is empty.
        """
        check_source(source, source_mask)
        places = reading_places(source_mask)  # padding may stand anywhere: it is read last
        real_first = source_mask.scatter(1, places, source_mask)
        encoded = self.encoder(source.scatter(1, places, source), Visibility.real(real_first))
        encoded = encoded.gather(1, places[..., None].expand_as(encoded))
        return TransformerState(encoded, self.decoder.project(encoded), source_mask[:, None, :])

    def decode(self, target_input: TargetIds, memory: TransformerState) -> Logits:
        """Predict every next word of targets that begin with ``<bos>``.

        Raises:
            ValueError: if there are not as many targets as sources; in strict mode also if a
                target doesn't begin with ``<bos>``.
        """
        _check_target(target_input, memory.batch_size, self.config.bos)
        return self._written(target_input, replace(memory, past=None), is_causal=True)

    def start(self, memory: TransformerState) -> TransformerState:
        """Return the state with nothing written."""
        # Every step reads all of the source's keys and values: moved together once, they
        # come faster.
        together = tuple(source.contiguous() for source in memory.sources)
        past = self.decoder.new_cache(memory.batch_size)
        return replace(memory, sources=together, past=past)

    def step(self, token: StepIds, state: TransformerState) -> tuple[StepLogits, TransformerState]:
        """Take one word of each sentence, and predict the next; the first is ``<bos>``.

        Only the new word is computed: the past is in the state, as keys and values.

        Raises:
            ValueError: if the words are not as many as the state's sentences; in strict mode
                also if the first is not ``<bos>``.
        """
        _check_axes(token, ("batch",), state.batch_size)
        logits, after = self.read(token[:, None], state)
        return logits[:, 0], after

    def read(self, tokens: TargetIds, state: TransformerState) -> tuple[Logits, TransformerState]:
        """Take some words of each sentence at once, and predict after each; ``state`` is left.

        The same as one :meth:`step` for each word.

        Raises:
            ValueError: as of :meth:`step`.
        """
        _check_axes(tokens, ("batch", "target"), state.batch_size)
        if state.position == 0:
            _check_begins(tokens, self.config.bos)
        past = self.decoder.new_cache(state.batch_size) if state.past is None else state.past
        after = replace(state, past=past.fork())
        return self._written(tokens, after, is_causal=False), after

    def _written(self, tokens: TargetIds, state: TransformerState, *, is_causal: bool) -> Logits:
        """Predict after each of these words; the past goes on by them."""
        features = self.decoder(
            tokens,
            is_causal=is_causal,
            cache=state.past,
            sources=state.sources,
            source_mask=Visibility(mask=state.mask[:, None]),
        )
        logits: Logits = self.readout(features)
        return logits

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
        last = cast(Layer, self.decoder.layers[-1]).cross_attention
        seen: list[Weights] = []

        def note(_: nn.Module, asked: tuple[Tensor, ...], how: dict[str, Any]) -> None:
            seen.append(last.weights(*asked, **how))

        handle = last.register_forward_pre_hook(note, with_kwargs=True)
        try:
            self(source, source_mask, target_input)
        finally:
            handle.remove()
        return seen[0].mean(dim=1)


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
    if target.shape[0] != num_sources:
        raise ValueError(
            f"target: expected one for each of {num_sources} sources, got {target.shape[0]}"
        )


def _check_begins(target_input: TargetIds, bos: int) -> None:
    """Check that every target begins with <bos>: else every prediction stands one place off."""
    if target_input.shape[1] == 0:
        raise ValueError(f"target: expected <bos> = {bos} as the first token, got nothing")
    first = target_input[:, 0]
    if is_strict() and bool((first != bos).any()):
        got = int(first[first != bos][0])
        raise ValueError(f"target: expected <bos> = {bos} as the first token, got {got}")
