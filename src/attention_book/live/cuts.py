"""Which sentences show what a cut look does: measured with the model itself, over held-out ones.

For each sentence every look that a page draws is cut, one by one, and all looks at each source
word; what the model then writes is compared with what it wrote before. Chosen are sentences with
three telling cuts: all looks at a word, after which the sentence changes in several places; one
look that decides one place; and one look that is heavy and changes nothing. Of several the one is
taken after which the model is surest of what it writes.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_book.inspection.cutting import Pair, chosen_looks, cut_looks
from attention_book.live.exported import Exported
from attention_book.models.evaluating import evaluating
from attention_book.text import BOS, EOS, PAD, SentencePair, encode_source

#: The least weight that is drawn as a ribbon.
DRAWN = 0.12
#: How heavy a look has to be for it to surprise that nothing changes.
HEAVY = 0.8
#: How sure the model has to be of each word that it writes after a cut which is shown.
SURE = 0.5
NUM_SENTENCES = 4
NUM_MEASURED = 120
LENGTHS = range(6, 11)  # words of a source: enough to build on, few enough for a phone


class Cut(NamedTuple):
    """A cut and what came of it.

    Attributes:
        pair: What is cut.
        weight: The weight of the look; of all looks at a word the heaviest.
        tokens: What the model writes then.
        sure: The least probability that it gave to a word of that.
    """

    pair: Pair
    weight: float
    tokens: list[str]
    sure: float


class Shown(NamedTuple):
    """A sentence, its translation, and three cuts: another sentence, another word, nothing."""

    source: tuple[str, ...]
    tokens: list[str]
    cuts: tuple[Cut, Cut, Cut]


def telling_sentences(
    found: Exported, model: Any, pairs: Sequence[SentencePair]
) -> list[dict[str, Any]]:
    """Return sentences for a page, with the translations and the weights of their cuts.

    Each of the next shows a word that the ones before do not.
    """
    proposed = [pair for pair in pairs if len(pair.source) in LENGTHS][:NUM_MEASURED]
    measured = [measure(found, model, pair.source) for pair in proposed]
    shown = [each for each in map(best_of, measured) if each is not None]
    chosen: list[Shown] = []
    while shown and len(chosen) < NUM_SENTENCES:
        used = {
            each.source[place]
            for each in chosen
            for cut in each.cuts
            if (place := cut.pair[1]) is not None
        }
        best = max(shown, key=lambda each: worth(each, used))
        chosen.append(best)
        shown.remove(best)
    return [for_a_page(found, model, each) for each in chosen]


def measure(
    found: Exported, model: Any, source: tuple[str, ...]
) -> tuple[tuple[str, ...], list[str], list[Cut]]:
    """Return a sentence, its translation, and every cut with what comes of it."""
    [(tokens, _)] = translations(found, model, source, [[]])
    [weights] = weights_of(found, model, source, [[]], [tokens])
    drawn = [
        (target, place)
        for target in range(len(tokens) - 1)
        for place in range(len(source))
        if weights[target, place] >= DRAWN
    ]
    cuts: list[Pair] = [*((None, place) for place in range(len(source))), *drawn]
    after = translations(found, model, source, [[each] for each in cuts])
    return source, tokens, [
        Cut(pair, weight_at(weights, pair), *each) for pair, each in zip(cuts, after, strict=True)
    ]  # fmt: skip


def weight_at(weights: Tensor, pair: Pair) -> float:
    """Return the weight of a look; of all looks at a word the heaviest."""
    target, source = (slice(None) if place is None else place for place in pair)
    return float(weights[target, source].max())


def best_of(measured: tuple[tuple[str, ...], list[str], list[Cut]]) -> Shown | None:
    """Return the three most telling cuts of a sentence; None where one is missing."""
    source, tokens, cuts = measured
    nothing = [each for each in cuts if each.tokens == tokens and joins_words(each, source, tokens)]
    telling = [each for each in cuts if each.tokens[-1] == "<eos>" and each.sure >= SURE]
    words = [each for each in telling if each.pair[0] is None and len(hunks(tokens, each)) > 1]
    if not words or not nothing:
        return None
    word = max(words, key=sureness)
    idle = max(nothing, key=lambda each: each.weight)
    taken = {word.pair[1], idle.pair[1]}
    single = [
        each
        for each in telling
        if joins_words(each, source, tokens)
        and each.pair[1] not in taken
        and len(hunks(tokens, each)) == 1
    ]
    if not single or idle.weight < HEAVY:
        return None
    return Shown(source, tokens, (word, max(single, key=sureness), idle))


def joins_words(cut: Cut, source: tuple[str, ...], tokens: list[str]) -> bool:
    """Return whether this is one look, of a word at a word: marks show less."""
    target, place = cut.pair
    if target is None or place is None:
        return False
    return any(map(str.isalpha, tokens[target])) and any(map(str.isalpha, source[place]))


def sureness(cut: Cut) -> float:
    """Return how sure the model is of what it writes."""
    return cut.sure


def hunks(tokens: list[str], cut: Cut) -> list[tuple[list[str], list[str]]]:
    """Return the stretches that changed: what was there, what is there now."""
    matcher = SequenceMatcher(None, tokens, cut.tokens, autojunk=False)
    return [
        (tokens[a:b], cut.tokens[c:d])
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    ]


def worth(shown: Shown, used: set[str]) -> tuple[int, float]:
    """Return how much a sentence shows that others do not, and how sure the model is of it."""
    word, one, idle = shown.cuts
    new = {shown.source[place] for place in (word.pair[1], one.pair[1]) if place is not None}
    return len(new - used), word.sure * one.sure * idle.weight


def for_a_page(found: Exported, model: Any, shown: Shown) -> dict[str, Any]:
    """Return a sentence as a page keeps it, with the weights of the view that it begins with."""
    pairs: list[list[Pair]] = [[], *([each.pair] for each in shown.cuts)]
    tokens = [shown.tokens, *(each.tokens for each in shown.cuts)]
    weights = weights_of(found, model, shown.source, pairs, tokens)
    first, *cuts = [
        {"target": words, "weights": rounded(table)}
        for words, table in zip(tokens, weights, strict=True)
    ]
    return {
        "source": [*shown.source, "<eos>"],
        **first,
        "cuts": [
            {"cut": written(each.pair), **cut} for each, cut in zip(shown.cuts, cuts, strict=True)
        ],
    }


def written(pair: Pair) -> str:
    """Return a cut as an address has it.

    >>> written((None, 3)), written((2, 0))
    ('*-3', '2-0')
    """
    return "-".join("*" if place is None else str(place) for place in pair)


def rounded(weights: Tensor) -> list[list[float]]:
    """Return weights to two digits."""
    return [[round(each, 2) for each in row] for row in weights.tolist()]


def translations(
    found: Exported, model: Any, source: tuple[str, ...], cuts: Sequence[Sequence[Pair]]
) -> list[tuple[list[str], float]]:
    """Return what a model writes with each of these cuts, greedily, ``<eos>`` included.

    Beside it stands the least probability that it gave to one of these words.
    """
    ids, mask = encode_source([source] * len(cuts), found.source_vocabulary)
    limit = 2 * len(source) + 10
    table = tables(cuts, limit, len(source) + 1)
    token = torch.full((len(cuts),), BOS)
    written = torch.full((len(cuts), limit), PAD)
    going, sure = torch.ones(len(cuts), dtype=torch.bool), torch.ones(len(cuts))
    with evaluating(model), cut_looks(model, table):
        state = model.start(model.encode(ids, mask))
        for place in range(limit):
            logits, state = model.step(token, state)
            logits[:, [PAD, BOS]] = -torch.inf
            best, token = logits.softmax(dim=-1).max(dim=-1)
            written[going, place] = token[going]
            sure = torch.where(going, sure.minimum(best), sure)
            going = going & (token != EOS)
            if not going.any():
                break
    names = found.target_vocabulary.tokens
    tokens = [[names[i] for i in row if i != PAD] for row in written.tolist()]
    return list(zip(tokens, sure.tolist(), strict=True))


def tables(cuts: Sequence[Sequence[Pair]], num_target: int, num_source: int) -> Tensor:
    """Return a table for each of some translations of one sentence."""
    return torch.stack(
        [chosen_looks(each, num_target=num_target, num_source=num_source) for each in cuts]
    )


def weights_of(
    found: Exported,
    model: Any,
    source: tuple[str, ...],
    cuts: Sequence[Sequence[Pair]],
    targets: Sequence[list[str]],
) -> list[Tensor]:
    """Return the weights of each of these translations: last layer, mean of its heads."""
    names = {name: number for number, name in enumerate(found.target_vocabulary.tokens)}
    ids, mask = encode_source([source], found.source_vocabulary)
    weights = []
    for pairs, target in zip(cuts, targets, strict=True):
        begun = torch.tensor([[BOS, *(names[word] for word in target[:-1])]])
        table = tables([pairs], len(target), len(source) + 1)
        with evaluating(model), cut_looks(model, table):
            own = model.weights(ids, mask, begun)[0].masked_fill(table[0], 0)
        # A recurrent decoder tells its weights as if nothing were cut: the rest shares what is.
        weights.append(own / own.sum(dim=-1, keepdim=True).clamp(min=1e-9))
    return weights
