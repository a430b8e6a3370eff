"""The recurrent encoder-decoder (seq2seq; Cho et al. 2014, Sutskever et al. 2014).

One encoder and, as the settings say, one of the decoders with or without attention.
"""

from collections.abc import Callable

from attention_book.foundations.shapes import (
    Logits,
    SourceIds,
    SourceMask,
    StepIds,
    StepLogits,
    TargetIds,
    Weights,
)
from attention_book.models.recurrent.bahdanau import BahdanauDecoder
from attention_book.models.recurrent.config import Seq2SeqConfig
from attention_book.models.recurrent.decoder import RecurrentDecoder
from attention_book.models.recurrent.encoder import RecurrentEncoder, SourceMemory
from attention_book.models.recurrent.from_input import TutorialDotDecoder, TutorialLocationDecoder
from attention_book.models.recurrent.luong import LuongDecoder
from attention_book.models.recurrent.state import DecoderState
from attention_book.models.recurrent.without_attention import FixedContextDecoder
from attention_book.models.resetting import ResettableModel

DECODERS: dict[str, Callable[[Seq2SeqConfig], RecurrentDecoder]] = {
    "none": FixedContextDecoder,
    "bahdanau": BahdanauDecoder,
    "luong-dot": LuongDecoder,
    "luong-general": LuongDecoder,
    "luong-concat": LuongDecoder,
    "input-dot": TutorialDotDecoder,
    "location": TutorialLocationDecoder,
}


class Seq2Seq(ResettableModel):
    """Translate with two GRUs: an encoder that reads, a decoder that writes.

    Sutskever et al. (2014) and Cho et al. (2014) without attention, Bahdanau et al. (2015) and
    Luong et al. (2015) with it: ``config.attention`` says which.

    Args:
        config: The settings.

    >>> import torch
    >>> config = Seq2SeqConfig(source_vocabulary=10, target_vocabulary=12)
    >>> model = Seq2Seq(config).eval()
    >>> source, target = torch.tensor([[4, 5, 6, 3]]), torch.tensor([[2, 7, 8]])
    >>> memory = model.encode(source, source > 0)
    >>> logits = model.decode(target, memory)
    >>> logits.shape
    torch.Size([1, 3, 12])
    >>> first, state = model.step(target[:, 0], model.start(memory))
    >>> torch.allclose(first, logits[:, 0], atol=1e-6)
    True
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        """Create encoder and decoder."""
        super().__init__()
        self.config = config
        self.encoder = RecurrentEncoder(config)
        self.decoder = DECODERS[config.attention](config)

    def encode(self, source: SourceIds, source_mask: SourceMask) -> SourceMemory:
        """Read the sources, and project their states to keys, once."""
        values, final = self.encoder(source, source_mask)
        keys = self.decoder.project_keys(values)
        return SourceMemory(values, keys, source_mask[:, None, :], final)

    def decode(self, target_input: TargetIds, memory: SourceMemory) -> Logits:
        """Predict every next word of targets that begin with ``<bos>``.

        Raises:
            ValueError: if there is not even that.
        """
        if target_input.shape[1] == 0:
            bos = self.config.bos
            raise ValueError(
                f"target: expected <bos> = {bos} as the first token, "
                "got nothing"
            )  # fmt: skip
        run = self.decoder.run(target_input, self.start(memory))
        logits: Logits = self.decoder.readout(run.features)
        return logits

    def start(self, memory: SourceMemory) -> DecoderState:
        """Start the decoder's layers from the encoder's."""
        return DecoderState(memory, memory.final)

    def step(self, token: StepIds, state: DecoderState) -> tuple[StepLogits, DecoderState]:
        """Take one word of each sentence, and predict the next."""
        run = self.decoder.run(token[:, None], state)
        logits: StepLogits = self.decoder.readout(run.features[:, 0])
        return logits, DecoderState(state.memory, run.hidden)

    def forward(
        self, source: SourceIds, source_mask: SourceMask, target_input: TargetIds
    ) -> Logits:
        """Encode, then decode."""
        return self.decode(target_input, self.encode(source, source_mask))

    def weights(
        self, source: SourceIds, source_mask: SourceMask, target_input: TargetIds
    ) -> Weights:
        """Return how much each target word looked at each source word, (batch, target, source).

        Row t holds the weights used to predict the word *after* ``target_input[t]``.

        Raises:
            ValueError: if the model has no attention.
        """
        state = self.start(self.encode(source, source_mask))
        return self.decoder.weights(self.decoder.run(target_input, state), state.memory)
