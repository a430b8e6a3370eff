"""Exercises on induction heads: their score, and copying by two looks."""

from collections.abc import Iterator

import torch
from torch import Tensor

from attention_book.attention import causal_mask, masked_softmax
from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _maps() -> Iterator[Probe]:
    twice = torch.tensor([4, 1, 3, 0, 4, 1, 3, 0])
    yield Probe((_some_weights(8), twice))
    yield Probe((_some_weights(7), torch.tensor([2, 5, 1, 0, 5, 3, 5])))
    yield Probe(
        (_some_weights(9), torch.tensor([1, 2, 0, 1, 3, 0, 1, 4, 2])),
        Bilingual("有的词出现三次", "a word comes three times"),
    )


def _some_weights(length: int) -> Tensor:
    return masked_softmax(torch.randn(length, length), causal_mask(length))


def _followed(words: Tensor, distance: int = 1, last: bool = False) -> Tensor:
    """Which keys stand ``distance`` after an earlier word like the query's own, (query, key)."""
    n = len(words)
    found = torch.zeros(n, n, dtype=torch.bool)
    for q in range(n):
        earlier = [j for j in range(q) if words[j] == words[q] and j + distance <= q]
        for j in earlier[-1:] if last else earlier:
            found[q, j + distance] = True
    return found


def _mean_over_askers(weights: Tensor, found: Tensor) -> Tensor:
    return (weights * found).sum() / found.any(dim=-1).sum()


def _induction_score(weights: Tensor, words: Tensor) -> Tensor:
    return _mean_over_askers(weights, _followed(words))


def _on_the_occurrence(weights: Tensor, words: Tensor) -> Tensor:
    return _mean_over_askers(weights, _followed(words, distance=0))


def _two_after(weights: Tensor, words: Tensor) -> Tensor:
    return _mean_over_askers(weights, _followed(words, distance=2))


def _over_all_queries(weights: Tensor, words: Tensor) -> Tensor:
    return (weights * _followed(words)).sum() / len(words)


def _mean_over_pairs(weights: Tensor, words: Tensor) -> Tensor:
    found = _followed(words)
    return weights[found].mean()


def _last_occurrence(weights: Tensor, words: Tensor) -> Tensor:
    return _mean_over_askers(weights, _followed(words, last=True))


INDUCTION_SCORE = Exercise(
    name="induction-score",
    task=Bilingual(
        "写 `induction_score(weights, words)`：weights 的形状是（查询，键），words 是每个位置的词。"
        "看当前的词先前出现过的查询：它们平均把多少权重放在紧跟着先前各次出现的那些键上？",
        "Write `induction_score(weights, words)`: weights has the shape (query, key), words holds"
        " the word at each place. Of the queries whose word has occurred before: how much weight"
        " do they put, on average, on the keys right after the earlier occurrences?",
    ),
    solution=_induction_score,
    probes=_maps,
    mistakes=(
        Mistake(
            "on-the-occurrence",
            _on_the_occurrence,
            Bilingual(
                "这是看着先前那次出现本身；归纳头看的是它后面的那个词。",
                "That is the weight on the earlier occurrence itself; an induction head looks at"
                " the word after it.",
            ),
        ),
        Mistake(
            "two-after",
            _two_after,
            Bilingual("多走了一步：只要紧跟着的那一个。", "One step too far: take the next one."),
        ),
        Mistake(
            "over-all-queries",
            _over_all_queries,
            Bilingual(
                "词第一次出现的查询没有可看的键：求平均时不算它们。",
                "A query whose word is new has no such key: leave it out of the mean.",
            ),
        ),
        Mistake(
            "mean-over-pairs",
            _mean_over_pairs,
            Bilingual(
                "一个查询可以有几个这样的键：先把它们的权重加起来，再对查询求平均。",
                "A query may have several such keys: add up their weights, then take the mean over"
                " the queries.",
            ),
        ),
        Mistake(
            "last-occurrence",
            _last_occurrence,
            Bilingual(
                "先前的每一次出现都算，不只是最近的一次。",
                "Every earlier occurrence counts, not only the last one.",
            ),
        ),
    ),
)


def _texts() -> Iterator[Probe]:
    yield Probe((torch.tensor([4, 1, 3, 0, 4, 1]), 5))
    yield Probe((torch.tensor([2, 5, 1, 0, 5, 3, 1, 2]), 6))
    yield Probe(
        (torch.tensor([1, 2, 0, 1, 3, 0, 1]), 4),
        Bilingual("一个词后面跟过两种词", "a word has been followed by two different words"),
    )


def _by_two_looks(words: Tensor, num_words: int, distance: int = 1, ahead: int = 0) -> Tensor:
    n = len(words)
    before = torch.full((n,), -1)  # first look: each place learns which word stood before it
    before[distance:] = words[: n - distance]
    place = torch.arange(n)
    matches = (before == words[:, None]) & (place <= place[:, None] + ahead)  # second look
    weights = matches.float() / matches.sum(dim=-1, keepdim=True).clamp(min=1)
    return weights @ torch.nn.functional.one_hot(words, num_words).float()


def _copied(words: Tensor, num_words: int) -> Tensor:
    return _by_two_looks(words, num_words)


def _one_look(words: Tensor, num_words: int) -> Tensor:
    """Match words with words: what a single layer can do."""
    place = torch.arange(len(words))
    matches = (words == words[:, None]) & (place < place[:, None])
    weights = matches.float() / matches.sum(dim=-1, keepdim=True).clamp(min=1)
    return weights @ torch.nn.functional.one_hot(words, num_words).float()


def _looks_two_back(words: Tensor, num_words: int) -> Tensor:
    return _by_two_looks(words, num_words, distance=2)


def _sees_the_future(words: Tensor, num_words: int) -> Tensor:
    return _by_two_looks(words, num_words, ahead=len(words))


def _not_divided(words: Tensor, num_words: int) -> Tensor:
    guesses = _copied(words, num_words)
    before = torch.nn.functional.pad(words[:-1], (1, 0), value=-1)
    place = torch.arange(len(words))
    matches = (before == words[:, None]) & (place <= place[:, None])
    return guesses * matches.sum(dim=-1, keepdim=True)


INDUCTION_BY_HAND = Exercise(
    name="induction-by-hand",
    task=Bilingual(
        "写 `copied(words, num_words)`，只用两次看：第一次，每个位置记下自己前面的词；"
        "第二次，每个位置均分地看自己以及前面那些位置中，记下的词正是当前词的位置，并取出那里的词。"
        "返回（位置，词）的概率；没有可看的位置时全为 0。",
        "Write `copied(words, num_words)` with two looks alone: in the first, each place notes the"
        " word before it; in the second, each place looks evenly at those places, up to its own,"
        " that have noted its word, and takes the words that stand there. Return probabilities"
        " (place, word), all 0 where there is nowhere to look.",
    ),
    solution=_copied,
    probes=_texts,
    mistakes=(
        Mistake(
            "one-look",
            _one_look,
            Bilingual(
                "这样看到的是当前词自己先前的出现，取出来的还是它自己：要比的是每个位置记下的前一个词。",
                "This finds earlier occurrences of the word and brings back the word itself:"
                " compare with the word that each place has noted.",
            ),
        ),
        Mistake(
            "two-back",
            _looks_two_back,
            Bilingual(
                "第一次看多退了一步：要记的是紧挨着的前一个词。",
                "The first look goes one place too far: note the word right before.",
            ),
        ),
        Mistake(
            "sees-the-future",
            _sees_the_future,
            Bilingual(
                "第二次看到了后文：只能看自己和前面的位置。",
                "The second look sees later places: only those up to its own count.",
            ),
        ),
        Mistake(
            "not-divided",
            _not_divided,
            Bilingual(
                "权重之和要是 1：几个位置都合适，就平分。",
                "The weights sum to 1: where several places fit, they share.",
            ),
        ),
    ),
)

EXERCISES = (INDUCTION_SCORE, INDUCTION_BY_HAND)
