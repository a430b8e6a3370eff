"""The attention of a translation: all heads of a Transformer, or the one of a recurrent model."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from attention_book.decoding import attention_of
from attention_book.decoding import translate as translated
from attention_book.inspection import capture_attention
from attention_book.live import HeadViewer
from attention_book.models import Transformer
from attention_book.runs.command.speech.failures import ExitCode, Failure
from attention_book.runs.command.translators.learned import Learned
from attention_book.text import encode_source


def viewer_of(
    found: Learned, text: str, *, beam: int = 1, length_penalty: float = 0.0
) -> HeadViewer:
    """Return a viewer of all heads along the model's own translation of a sentence.

    Raises:
        Failure: if the sentence has no word, or the model no attention.
    """
    tokens = found.codec.source_tokens(text)
    if not tokens:
        raise Failure(
            ExitCode.WRONG_LINE,
            "--attention：句子里没有词。",
            "--attention: expected a sentence with a word in it, got none",
        )
    model: Any = found.model
    [made] = translated(
        model,
        [tokens],
        found.codec.source_vocabulary,
        found.codec.target_vocabulary,
        width=beam,
        length_penalty=length_penalty,
    )
    source, target = [*tokens, "<eos>"], ["<bos>", *made.tokens]
    written: dict[str, Any] = {
        "source": source,
        "target": target,
        "spelling": "text" if found.codec.settings.unit == "words" else "sentencepiece",
    }
    if isinstance(found.model, Transformer):
        return HeadViewer(maps(found, tokens, made.tokens), **written)
    return HeadViewer(cross_attentions=cross(found, tokens, made.tokens), **written)


def maps(found: Learned, source: Sequence[str], target: Sequence[str]) -> dict[str, list[Tensor]]:
    """Return the weights of all of a Transformer's heads while it reads a known translation."""
    codec = found.codec
    ids, mask = encode_source([source], codec.source_vocabulary)
    bos = codec.target_vocabulary.special_ids.bos
    begun = torch.tensor([[bos, *codec.target_vocabulary.encode(target)]])
    device = next(found.model.parameters()).device
    with torch.no_grad(), capture_attention(found.model) as seen:
        found.model(ids.to(device), mask.to(device), begun.to(device))
    return {name: [each.cpu() for each in maps] for name, maps in seen.items()}


def cross(found: Learned, source: Sequence[str], target: Sequence[str]) -> Tensor:
    """Return where the decoder looks in the source, (layer, head, target, source).

    The last column is that of the source's ``<eos>``, the last row what was asked for it.

    Raises:
        Failure: if the model has no attention.
    """
    if isinstance(found.model, Transformer):
        seen = maps(found, source, target)
        layers = range(found.model.config.num_layers)
        return torch.stack(
            [seen[f"decoder.layers.{layer}.cross_attention"][0][0] for layer in layers]
        )
    codec = found.codec
    vocabularies = codec.source_vocabulary, codec.target_vocabulary
    try:
        weights = attention_of(found.model, source, target, *vocabularies)
    except ValueError as error:
        raise Failure(
            ExitCode.RUN,
            f"{found.name}：这个模型没有注意力。",
            f"{found.name}: expected a model with attention, got one without",
        ) from error
    return weights[None, None].cpu()


__all__ = ("cross", "maps", "viewer_of")
