"""Exercises on induction heads: their score, and copying by two looks."""

from collections.abc import Callable, Iterator

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
    yield Probe(
        (_some_weights(6), torch.tensor([3, 3, 3, 1, 2, 1])),
        Bilingual("一个词连着出现", "a word follows itself"),
    )
    yield Probe(
        (torch.randn(6, 6).softmax(dim=-1), torch.tensor([1, 2, 1, 3, 2, 1])),
        Bilingual("查询也看得见后面", "queries see later places, too"),
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


def _first_of(found: Tensor) -> Tensor:
    """Keep the first key of each query."""
    return found & (found.cumsum(dim=-1) == 1)


def _wherever(words: Tensor) -> Tensor:
    """Which keys stand after another occurrence of the query's word, also a later one."""
    before = torch.nn.functional.pad(words[:-1], (1, 0), value=-1)
    after_itself = torch.eye(len(words), dtype=torch.bool).roll(1, dims=1)
    return (words[:, None] == before) & ~after_itself


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


def _mean_over_keys(weights: Tensor, words: Tensor) -> Tensor:
    found = _followed(words)
    means = (weights * found).sum(dim=-1) / found.sum(dim=-1)
    return means[found.any(dim=-1)].mean()


def _largest(weights: Tensor, words: Tensor) -> Tensor:
    found = _followed(words)
    return (weights * found).amax(dim=-1).sum() / found.any(dim=-1).sum()


def _not_itself(weights: Tensor, words: Tensor) -> Tensor:
    return _mean_over_askers(weights, _followed(words).tril(-1))


def _first_occurrence(weights: Tensor, words: Tensor) -> Tensor:
    return _mean_over_askers(weights, _first_of(_followed(words)))


def _future(weights: Tensor, words: Tensor) -> Tensor:
    return _mean_over_askers(weights, _wherever(words))


def _round_the_end(weights: Tensor, words: Tensor) -> Tensor:
    found = _followed(words)
    found[:, 0] = words == words[-1]
    return _mean_over_askers(weights, found)


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
        Mistake(
            "first-occurrence",
            _first_occurrence,
            Bilingual(
                "先前的每一次出现都算，不只是第一次。",
                "Every earlier occurrence counts, not only the first one.",
            ),
        ),
        Mistake(
            "mean-over-keys",
            _mean_over_keys,
            Bilingual(
                "一个查询有几个这样的键时，权重相加，不取平均。",
                "Where a query has several such keys their weights add up; they are not averaged.",
            ),
        ),
        Mistake(
            "largest-alone",
            _largest,
            Bilingual(
                "一个查询有几个这样的键时，权重相加，不只取最大的。",
                "Where a query has several such keys their weights add up; the largest is not all.",
            ),
        ),
        Mistake(
            "own-place-left-out",
            _not_itself,
            Bilingual(
                "词连着出现时，紧跟着先前那次出现的就是查询自己：它也算。",
                "Where a word follows itself, the key right after the earlier occurrence is the"
                " query's own place: it counts.",
            ),
        ),
        Mistake(
            "future",
            _future,
            Bilingual(
                "后面的出现也算进去了：只看先前的。",
                "Later occurrences are counted in: only earlier ones matter.",
            ),
        ),
        Mistake(
            "round-the-end",
            _round_the_end,
            Bilingual(
                "`roll` 把最后一个词转到了开头：位置 0 前面没有词。",
                "`roll` brings the last word round to the start: nothing stands before place 0.",
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
    yield Probe(
        (torch.tensor([2, 2, 0, 2, 0, 0]), 3), Bilingual("一个词连着出现", "a word follows itself")
    )
    yield Probe((torch.tensor([0, 1, 0]), 9), Bilingual("有的词没有出现", "words that don't occur"))
    yield Probe((torch.tensor([0]), 1), Bilingual("只有一个位置", "a single place"))


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
    return _with_looks(words, num_words, (words == words[:, None]).tril(-1))


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


def _with_looks(words: Tensor, num_words: int, looks: Tensor) -> Tensor:
    weights = looks.float() / looks.sum(dim=-1, keepdim=True).clamp(min=1)
    return weights @ torch.nn.functional.one_hot(words, num_words).float()


def _hand_not_itself(words: Tensor, num_words: int) -> Tensor:
    return _with_looks(words, num_words, _followed(words).tril(-1))


def _first_alone(words: Tensor, num_words: int) -> Tensor:
    return _with_looks(words, num_words, _first_of(_followed(words)))


def _last_alone(words: Tensor, num_words: int) -> Tensor:
    return _with_looks(words, num_words, _first_of(_followed(words).flip(-1)).flip(-1))


def _first_notes(note: Callable[[Tensor], Tensor]) -> Callable[[Tensor, int], Tensor]:
    """Have the first place note a word, too."""

    def answer(words: Tensor, num_words: int) -> Tensor:
        looks = _followed(words)
        looks[:, 0] = words == note(words)
        return _with_looks(words, num_words, looks)

    return answer


def _nan_where_nothing(words: Tensor, num_words: int) -> Tensor:
    looks = _followed(words).float()
    weights = looks / looks.sum(dim=-1, keepdim=True)
    return weights @ torch.nn.functional.one_hot(words, num_words).float()


def _even_where_nothing(words: Tensor, num_words: int) -> Tensor:
    looks = _followed(words)
    return _with_looks(words, num_words, looks | ~looks.any(dim=-1, keepdim=True))


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
        Mistake(
            "own-place-left-out",
            _hand_not_itself,
            Bilingual(
                "词连着出现时，自己这个位置记下的正是当前词：自己也要看。",
                "Where a word follows itself, its own place has noted it: that place is looked at,"
                " too.",
            ),
        ),
        Mistake(
            "first-notes-a-word",
            _first_notes(lambda words: torch.zeros_like(words[0])),
            Bilingual(
                "位置 0 前面没有词，你却记了词 0：用不是词的数，例如 −1。",
                "Nothing stands before place 0, and it notes word 0: take a number that is no word,"
                " such as −1.",
            ),
        ),
        Mistake(
            "round-the-end",
            _first_notes(lambda words: words[-1]),
            Bilingual(
                "`roll` 把最后一个词转到了开头：位置 0 前面没有词。",
                "`roll` brings the last word round to the start: nothing stands before place 0.",
            ),
        ),
        Mistake(
            "last-alone",
            _last_alone,
            Bilingual(
                "每个合适的位置都看，不只是最近的一个。",
                "Every place that fits is looked at, not only the last one.",
            ),
        ),
        Mistake(
            "first-alone",
            _first_alone,
            Bilingual(
                "每个合适的位置都看，不只是第一个。",
                "Every place that fits is looked at, not only the first one.",
            ),
        ),
        Mistake(
            "nan",
            _nan_where_nothing,
            Bilingual(
                "没有可看的位置时，0/0 是 NaN：那一行应当全为 0。",
                "Where there is nowhere to look, 0/0 is NaN: that row should be all 0.",
            ),
        ),
        Mistake(
            "even-where-nothing",
            _even_where_nothing,
            Bilingual(
                "没有可看的位置时，softmax 把权重分给了所有位置：那一行应当全为 0。",
                "Where there is nowhere to look, a softmax shares the weight among all places: that"
                " row should be all 0.",
            ),
        ),
    ),
)

EXERCISES = (INDUCTION_SCORE, INDUCTION_BY_HAND)
