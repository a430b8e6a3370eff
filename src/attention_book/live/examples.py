"""What a page shows of a translator before it is loaded, measured and computed at its export."""

import itertools
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from attention_book.decoding import attention_of, translate
from attention_book.inspection import capture_attention
from attention_book.live.exported import Exported, OpenVocabulary, learned_from, sentence
from attention_book.models import Transformer
from attention_book.text import BOS, SentencePair, encode_source

#: The mean of a layer's heads, and of all layers' heads, where a number names a head or a layer.
MEAN = -1
NUM_SHOWN = 4  # of them at once
NUM_SENTENCES = 120  # that a page can propose
NUM_MEASURED = 300  # on which the heads are compared
LENGTHS = range(7, 11)  # of the first example: long enough to align, short enough for a phone

KINDS = {
    "encoder": "encoder.layers.{}.self_attention",
    "self": "decoder.layers.{}.self_attention",
    "cross": "decoder.layers.{}.cross_attention",
}
#: For each kind of attention a tensor (layer, head, query, key).
Seen = dict[str, Tensor]


def example(found: Exported, model: Any) -> dict[str, Any]:
    """Return a model's first sentence with its translation, and its best view of attention."""
    recipe = found.recipe
    proposed = short_sentences(found, model)
    pairs = [pair for pair in proposed if len(pair.source) in LENGTHS]
    if len(pairs) < NUM_SHOWN:
        pairs = sorted(proposed, key=lambda pair: -len(pair.source))[: 4 * NUM_SHOWN]
    # Where two words change places an alignment crosses; subwords that are parts of a word have no
    # blank before them. Either is something to look at.
    first = max(pairs[:40], key=lambda pair: (crossings(pair.alignment or ()), parts(found, pair)))
    chosen = [first, *(pair for pair in pairs if pair is not first)][:4]
    return {
        "name": recipe.name,
        "model": recipe.model,
        "source": recipe.source,
        "target": recipe.target,
        "best": best_view(found, model),
        "sentences": [sentence(found, pair.source) for pair in chosen],
        "subwords": isinstance(found, OpenVocabulary),
        "origin": learned_from(found),
        "result": translated(found, model, first),
    }


def short_sentences(found: Exported, model: Any) -> list[SentencePair]:
    """Return held-out sentences that the model translates as the grammar does."""
    splits = found.recipe.splits()
    pairs = splits.get("random", splits["train"])[: 2 * NUM_SENTENCES]
    translations = translate(
        model, [pair.source for pair in pairs], found.source_vocabulary, found.target_vocabulary
    )
    right = [
        pair for pair, each in zip(pairs, translations, strict=True) if each.tokens == pair.target
    ]
    return (right or list(pairs))[:NUM_SENTENCES]


def crossings(links: Iterable[tuple[int, int]]) -> int:
    """Return how many pairs of links cross.

    >>> crossings([(0, 1), (1, 0), (2, 2)])
    1
    """
    return sum((i - k) * (j - m) < 0 for (i, j), (k, m) in itertools.combinations(links, 2))


def parts(found: Exported, pair: SentencePair) -> int:
    """Return how many subwords of a sentence continue a word."""
    if not isinstance(found, OpenVocabulary):
        return 0
    following = itertools.pairwise([*pair.source])
    return sum(before[-1:].isalpha() and after[:1].isalpha() for before, after in following)


def translated(found: Exported, model: Any, pair: SentencePair) -> dict[str, Any]:
    """Return a greedy translation with its attention, as the page's engine would."""
    vocabularies = found.source_vocabulary, found.target_vocabulary
    [translation] = translate(model, [pair.source], *vocabularies)
    words = [*translation.tokens, *["<eos>"] * translation.finished]
    seen = seen_by(found, model, pair.source, words[:-1])
    attention = {kind: rounded_rows(weights) for kind, weights in seen.items()}
    for head in itertools.chain.from_iterable(attention.get("self", [])):
        head[:] = [row[: place + 1] for place, row in enumerate(head)]  # nothing after itself
    return {
        "model": found.recipe.name,
        "source": [*pair.source, "<eos>"],
        "unknown": [],
        "input": ["<bos>", *words[:-1]],
        "target": words,
        "finished": translation.finished,
        "attention": attention,
        "alternatives": [],
        "atOnce": None,
        "nearest": None,
    }


def rounded_rows(weights: Tensor) -> Any:
    """Return weights as lists, to three digits."""
    return (weights.double() * 1000).round().div(1000).tolist()


def seen_by(found: Exported, model: nn.Module, source: tuple[str, ...], target: list[str]) -> Seen:
    """Return the attention of a sentence with a known translation, ``<eos>`` included."""
    vocabularies = found.source_vocabulary, found.target_vocabulary
    if not isinstance(model, Transformer):
        weights = attention_of(model, source, target, *vocabularies)  # type: ignore[arg-type]
        return {"cross": weights[None, None]}
    ids, mask = encode_source([source], found.source_vocabulary)
    begun = torch.tensor([[BOS, *found.target_vocabulary.encode(target)]])
    with torch.no_grad(), capture_attention(model) as seen:
        model(ids, mask, begun)
    layers = range(model.config.num_layers)
    return {
        kind: torch.stack([seen[name.format(layer)][0][0] for layer in layers])
        for kind, name in KINDS.items()
    }


def best_view(found: Exported, model: nn.Module) -> dict[str, Any] | None:
    """Return the view of the cross-attention that looks at the right word most often.

    A view is one head, the mean of a layer's heads, or the mean of all. The grammar knows which
    words belong together, so the best one is measured on the validation sentences; None where
    there is no such knowledge.
    """
    pairs = found.recipe.splits().get("validation", ())[:NUM_MEASURED]
    if not pairs or pairs[0].alignment is None:
        return None
    hits, words = torch.zeros(()), 0
    for pair in pairs:
        looked = views(seen_by(found, model, pair.source, list(pair.target))["cross"]).argmax(-1)
        for place in {target for _, target in pair.alignment or ()}:
            right = torch.tensor([i for i, j in pair.alignment or () if j == place])
            hits = hits + torch.isin(looked[:, place], right).double()
            words += 1
    if not words:
        return None
    rates = hits / words
    best = int(rates.argmax())
    layer, head = view_names(model)[best]
    named = zip(view_names(model), rates.tolist(), strict=True)
    table = [[*name, round(rate, 3)] for name, rate in named]
    return {
        "layer": layer,
        "head": head,
        "rate": round(float(rates[best]), 3),
        "rates": table,
        "words": words,
    }


def views(cross: Tensor) -> Tensor:
    """Return all views of a sentence's cross-attention, (view, query, key)."""
    layers, heads, *rows = cross.shape
    if layers == heads == 1:
        return cross.reshape(1, *rows)
    means = cross.mean(dim=1)
    return torch.cat((cross.flatten(0, 1), means, means.mean(dim=0, keepdim=True)))


def view_names(model: Any) -> list[tuple[int, int]]:
    """Return layer and head of each of these views."""
    if not isinstance(model, Transformer):
        return [(0, 0)]
    layers, heads = model.config.num_layers, model.config.num_heads
    single = list(itertools.product(range(layers), range(heads)))
    return [*single, *((layer, MEAN) for layer in range(layers)), (MEAN, MEAN)]
