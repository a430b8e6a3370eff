"""The Transformer (Vaswani et al. 2017): encoder, decoder and output layer, as a translator."""

from dataclasses import dataclass, replace
from typing import Any, cast

from jaxtyping import Bool
from torch import Tensor, nn

from attention_book.attention import KV, Cache, Visibility
from attention_book.foundations.checks import check_sizes, is_strict
from attention_book.foundations.shapes import (
    Features,
    Logits,
    Offset,
    SourceIds,
    SourceMask,
    StepIds,
    StepLogits,
    TargetIds,
    Weights,
)
from attention_book.models.config import LayerConfig
from attention_book.models.layers import Layer, TokenStack
from attention_book.models.parts import token_embedding
from attention_book.models.sources import check_source, reading_places
from attention_book.models.tied import TiedModel
from attention_book.text import BOS, EOS, PAD, SpecialIds


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(LayerConfig):
    """Settings of :class:`~attention_book.models.Transformer`.

    Attributes:
        source_vocabulary: Number of different source tokens.
        target_vocabulary: Number of different target tokens.
        tied: Whether the output layer is the target embedding (Press and Wolf 2017).
        shared: Whether one matrix is source embedding, target embedding and output layer
            (Vaswani et al. 2017, section 3.4): where both languages have one vocabulary.
        bos: Number of the target token that begins a sentence.
        eos: Number of the token that ends one.
        pad: Number of the token that fills a batch up.

    The others are those of every stack, :class:`~attention_book.models.LayerConfig`.

    Raises:
        ValueError: if a size is below 1, or if ``shared`` comes with vocabularies of two sizes;
            or what a ``LayerConfig`` refuses.

    >>> config = TransformerConfig(source_vocabulary=10, target_vocabulary=12, norm="pre")
    >>> config.source_vocabulary, config.d_model, config.norm
    (10, 32, 'pre')
    """

    source_vocabulary: int
    target_vocabulary: int
    tied: bool = False
    shared: bool = False
    bos: int = BOS
    eos: int = EOS
    pad: int = PAD

    def __post_init__(self) -> None:
        """Refuse what no model can be built from."""
        super().__post_init__()
        check_sizes(
            source_vocabulary=self.source_vocabulary, target_vocabulary=self.target_vocabulary
        )
        if self.shared and self.source_vocabulary != self.target_vocabulary:
            raise ValueError(
                "shared: expected vocabularies of one size, "
                f"got {self.source_vocabulary} and {self.target_vocabulary}"
            )
        SpecialIds(pad=self.pad, bos=self.bos, eos=self.eos)  # refuses what is no set of numbers


@dataclass(frozen=True, eq=False)
class TransformerState:
    """What the encoder leaves behind for the decoder, and what that has written of it so far.

    A token's keys and values are projected when it is read or written, and never again.

    Attributes:
        encoded: The encoder's output, (batch, source, d_model).
        sources: The same as each decoder layer's cross-attention compares it: projected once.
        mask: True at the source's real tokens, (batch, 1, source).
        past: What was written, a key and a value of each token for each layer; None before
            :meth:`~attention_book.models.Transformer.start`.

    >>> import torch
    >>> from attention_book.models import Transformer, TransformerConfig
    >>> model = Transformer(TransformerConfig(source_vocabulary=10, target_vocabulary=12)).eval()
    >>> source = torch.tensor([[4, 5, 3], [6, 3, 0]])
    >>> memory = model.encode(source, source > 0)
    >>> memory.encoded.shape, len(memory.sources), memory.sources[0].keys.shape
    (torch.Size([2, 3, 32]), 2, torch.Size([2, 4, 3, 8]))
    >>> _, state = model.step(torch.tensor([2, 2]), model.start(memory))
    >>> state.position, state.past.layers[0].num_keys
    (1, 1)
    >>> state.select(torch.tensor([1, 1, 0])).batch_size
    3
    """

    encoded: Features
    sources: tuple[KV, ...]
    mask: Bool[Tensor, "batch 1 source"]
    past: Cache | None = None

    @property
    def batch_size(self) -> int:
        """How many sentences there are."""
        return self.encoded.shape[0]

    @property
    def position(self) -> Offset:
        """How many tokens were written, and so where the next one stands."""
        return 0 if self.past is None else self.past.position

    def on_device(self) -> "TransformerState":
        """Return the state whose past has its length on the device, as a ``Cache``'s.

        Raises:
            ValueError: if the past has no fixed size, or nothing was written.
        """
        if self.past is None:
            raise ValueError("past: expected what start(…, max_tokens=…) returned, got None")
        return replace(self, past=self.past.on_device())

    def select(self, rows: StepIds) -> "TransformerState":
        """Return the sentences with these numbers; one may come twice."""
        sources = tuple(source.select(rows) for source in self.sources)
        past = None if self.past is None else self.past.select(rows)
        return TransformerState(self.encoded[rows], sources, self.mask[rows], past)

    def reorder(self, rows: StepIds) -> "TransformerState":
        """Return what :meth:`select` would, if each row comes from one of the same source.

        Only what was written changes places. The source's keys and values, which are longer
        and as many, are not copied.
        """
        return replace(self, past=None if self.past is None else self.past.select(rows))


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
        source = token_embedding(config.source_vocabulary, config.d_model, name="source")
        target = token_embedding(config.target_vocabulary, config.d_model, name="target")
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
        self.config.check_padding(source_mask)
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

    def start(self, memory: TransformerState, *, max_tokens: int | None = None) -> TransformerState:
        """Return the state with nothing written.

        Args:
            memory: What :meth:`encode` returned.
            max_tokens: Take memory for so many written tokens once, ``<bos>`` included; None: take
                more as they come. What comes out is the same.
        """
        # Every step reads all of the source's keys and values: moved together once, they
        # come faster.
        together = tuple(source.contiguous() for source in memory.sources)
        past = self.decoder.new_cache(memory.batch_size, max_tokens=max_tokens)
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
        if isinstance(state.position, int) and state.position == 0:
            _check_begins(tokens, self.config.bos)
        past = self.decoder.new_cache(state.batch_size) if state.past is None else state.past
        after = replace(state, past=past.fork())
        return self._written(tokens, after, is_causal=False), after

    def _written(self, tokens: TargetIds, state: TransformerState, *, is_causal: bool) -> Logits:
        """Predict after each of these words, (batch, target, vocabulary).

        A past goes on by them and is causal by itself; without one, ``is_causal`` says so.
        """
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
