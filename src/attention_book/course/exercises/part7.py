"""Exercises of part VII, today's models: norms and gates, induction, long texts, cost, states."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.functional import normalize

from attention_book.attention import (
    NtkScaling,
    causal_mask,
    masked_softmax,
    rotary_frequencies,
    unit_length,
)
from attention_book.course.exercises.core import Answer, Law, Probe, exercise, probe, wrong
from attention_book.course.exercises.verdict import Finding
from attention_book.decoding import residual_distribution
from attention_book.foundations.bilingual import Bilingual

# --- rms-norm ----------------------------------------------------------------------------------

_EPSILON = 1e-6


def _to_normalize() -> Iterator[Probe]:
    yield probe((3 * torch.randn(3, 4) + 1, torch.ones(4)))
    yield probe((torch.randn(2, 5, 8) - 0.5, torch.rand(8) + 0.5))
    yield probe((torch.randn(4, 4) + 2, torch.rand(4) + 0.5))
    negative = torch.tensor([-1.5, 0.0, 2.0])
    yield probe((torch.randn(2, 3), negative), "gain 有负有零", "a gain of any sign")
    yield probe((1e-4 * torch.randn(3, 4), torch.ones(4)), "x 很小", "x is tiny")
    nothing = torch.cat((torch.zeros(1, 4), torch.ones(1, 4)))
    yield probe((nothing, torch.ones(4)), "有一行全是 0", "a row of zeros")


def _rms_over(x: Tensor, axes: tuple[int, ...], epsilon: float = _EPSILON) -> Tensor:
    return x / (x.square().mean(dim=axes, keepdim=True) + epsilon).sqrt()


def _rms_norm(x: Tensor, gain: Tensor) -> Tensor:
    return _rms_over(x, (-1,)) * gain


def _with_epsilon(epsilon: float) -> Answer:
    return lambda x, gain: _rms_over(x, (-1,), epsilon) * gain


def _scale_is_lost(answer: Answer) -> Finding | None:
    x, gain = torch.randn(3, 6), torch.ones(6)
    moved = (answer(x, gain) - answer(10 * x, gain)).abs().max()
    if moved < 1e-4:
        return None
    return Finding(
        {"x": x, "gain": gain},
        Bilingual("x 与 10x 得到同样的结果", "the same result for x and for 10x"),
        Bilingual(f"两者相差 {moved:.3f}", f"results that differ by {moved:.3f}"),
    )


RMS_NORM = exercise(
    "rms-norm",
    "写 `norm(x, gain)`：RMSNorm，x 的最后两个轴是（位置，特征），ε = 1e-6，加在根号里面。",
    "Write `norm(x, gain)`: RMSNorm; the last two axes of x are (position, feature), and ε = 1e-6"
    " stands under the root.",
    solution=_rms_norm,
    probes=_to_normalize,
    mistakes={
        "centered": wrong(
            "平均数不必减：减了就是（没有偏置的）层归一化。",
            "The mean is not subtracted: with it this is layer norm, without the bias.",
            lambda x, g: _rms_norm(x - x.mean(dim=-1, keepdim=True), g),
        ),
        "divided-by-length": wrong(
            "除以的是均方根，不是长度：两者差 √d 倍。",
            "Divide by the root of the mean square, not by the length; they differ by √d.",
            lambda x, g: x / (x.square().sum(dim=-1, keepdim=True) + _EPSILON).sqrt() * g,
        ),
        "no-root": wrong(
            "均方还没有开根号。",
            "The root of the mean square has not been taken.",
            lambda x, g: x / (x.square().mean(dim=-1, keepdim=True) + _EPSILON) * g,
        ),
        "over-time": wrong(
            "别的词也算进去了，未来漏进了过去：只沿最后一个轴（特征）取平均。",
            "Other words are counted in, and the future leaks into the past: take the mean over the"
            " last axis, the features, alone.",
            lambda x, g: _rms_over(x, (-2,)) * g,
            lambda x, g: _rms_over(x, (-2, -1)) * g,
        ),
        "no-gain": wrong(
            "还没有逐特征乘以 gain。",
            "The features are not multiplied by gain.",
            lambda x, g: _rms_over(x, (-1,)),
        ),
        "gain-plus-one": wrong(
            "乘的是 gain，不是 1 + gain（有的模型存的是与 1 的差）。",
            "Multiply by gain, not by 1 + gain; some models store the difference from 1.",
            lambda x, g: _rms_norm(x, 1 + g),
        ),
        "gain-added": wrong(
            "gain 是乘的；RMSNorm 没有偏置。",
            "The gain multiplies; RMSNorm has no bias.",
            lambda x, g: _rms_over(x, (-1,)) + g,
        ),
        "no-epsilon": wrong(
            "没有 ε：全 0 的一行得到 0/0，即 NaN。",
            "There is no ε: a row of zeros becomes 0/0, which is NaN.",
            _with_epsilon(0.0),
        ),
        "epsilon-outside": wrong(
            "ε 加在了根号外面：应当加在均方上，再开根号。x 很小时两者相差很多。",
            "ε stands outside the root: add it to the mean square and take the root then. For tiny"
            " x the two differ widely.",
            lambda x, g: x / (x.square().mean(dim=-1, keepdim=True).sqrt() + _EPSILON) * g,
        ),
        "another-epsilon": wrong(
            "ε 是 1e-6，要自己写明：`torch` 的默认值是另一个数，层归一化常用的 1e-5 也不是。",
            "ε is 1e-6 and has to be given: the default of `torch` is another number, and so is the"
            " 1e-5 that layer norm usually takes.",
            _with_epsilon(1e-5),
            _with_epsilon(1e-8),
            _with_epsilon(torch.finfo(torch.float32).eps),
        ),
    },
    laws=(
        Law(
            "scale-is-lost",
            Bilingual(
                "整个向量乘以一个正数，结果不变。",
                "A vector times a positive number gives the same result.",
            ),
            _scale_is_lost,
        ),
    ),
)


# --- swiglu ------------------------------------------------------------------------------------


def _gated() -> Iterator[Probe]:
    for d_model, d_ff in ((3, 5), (4, 4), (6, 2)):
        sizes = ((d_model, d_ff), (d_model, d_ff), (d_ff, d_model))
        yield probe((torch.randn(5, d_model), *(torch.randn(size) for size in sizes)))
    wide = (torch.tensor([[1.0, -1.0]]), torch.tensor([[0.5, 2.0]]), torch.tensor([[1.0], [3.0]]))
    x = torch.tensor([[200.0], [0.0], [-200.0]])
    yield probe((x, *wide), "门全开或全关", "gates wide open or shut")


def _swiglu(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    return (F.silu(x @ gate) * (x @ up)) @ down


SWIGLU = exercise(
    "swiglu",
    "写 `swiglu(x, gate, up, down)`：三个矩阵，向量从左边乘，没有偏置；门可以全开或全关。",
    "Write `swiglu(x, gate, up, down)`: three matrices, multiplied by row vectors from the left,"
    " no biases; gates may be wide open or shut.",
    solution=_swiglu,
    probes=_gated,
    mistakes={
        "sigmoid": wrong(
            "门是 SiLU：z·σ(z)，不只是 σ(z)。",
            "The gate is SiLU, z·σ(z), and not σ(z) alone.",
            lambda x, gate, up, down: (torch.sigmoid(x @ gate) * (x @ up)) @ down,
        ),
        "relu": wrong(
            "门是 SiLU，不是 ReLU。",
            "The gate is SiLU, not ReLU.",
            lambda x, gate, up, down: (torch.relu(x @ gate) * (x @ up)) @ down,
        ),
        "exchanged": wrong(
            "SiLU 套在了 up 上；该套在 gate 上。",
            "SiLU acts on up; it belongs to the gate.",
            lambda x, gate, up, down: _swiglu(x, up, gate, down),
        ),
        "product-bent": wrong(
            "先过 SiLU 再相乘；这里是先乘了再过 SiLU。",
            "SiLU acts on the gate before the product, not on the product.",
            lambda x, gate, up, down: F.silu((x @ gate) * (x @ up)) @ down,
        ),
        "added": wrong(
            "门是相乘，不是相加：门关上时，什么也不放过去。",
            "A gate multiplies and does not add: when it is shut, nothing passes.",
            lambda x, gate, up, down: (F.silu(x @ gate) + x @ up) @ down,
        ),
        "gelu": wrong(
            "门是 SiLU，不是 GELU。",
            "The gate is SiLU, not GELU.",
            lambda x, gate, up, down: (F.gelu(x @ gate) * (x @ up)) @ down,
        ),
        "not-bent": wrong(
            "门还没有过 SiLU。",
            "SiLU has not been applied to the gate.",
            lambda x, gate, up, down: ((x @ gate) * (x @ up)) @ down,
        ),
        "both-bent": wrong(
            "SiLU 只套在 gate 上，up 保持线性。",
            "SiLU acts on the gate alone; up stays linear.",
            lambda x, gate, up, down: (F.silu(x @ gate) * F.silu(x @ up)) @ down,
        ),
        "not-brought-back": wrong(
            "还差最后一步：乘以 down，回到 d 个特征。",
            "One step is missing: multiply by down, back to d features.",
            lambda x, gate, up, down: F.silu(x @ gate) * (x @ up),
        ),
        "residual-added": wrong(
            "x 不在里面加：残差连接是层的事。",
            "Don't add x here: the residual connection belongs to the layer.",
            lambda x, gate, up, down: x + _swiglu(x, gate, up, down),
        ),
    },
)


# --- lora-merged -------------------------------------------------------------------------------


def _changed() -> Iterator[Probe]:
    for d_in, d_out, rank, alpha in ((5, 4, 2, 4.0), (4, 4, 1, 3.0), (6, 6, 3, 1.5)):
        sizes = ((d_out, d_in), (rank, d_in), (d_out, rank))
        yield probe((*(torch.randn(size) for size in sizes), alpha))


def _turned(W: Tensor, A: Tensor, B: Tensor, alpha: float) -> Tensor:
    change = (B @ A).mT
    return W + alpha / len(A) * (change if change.shape == W.shape else B @ A * 0)


LORA_MERGED = exercise(
    "lora-merged",
    "写 `merged(W, A, B, alpha)`：把低秩改动并进矩阵；W 的形状是 (d_out, d_in)，A 是 (r, d_in)，"
    "B 是 (d_out, r)。",
    "Write `merged(W, A, B, alpha)`: put the low-rank change into the matrix; the shapes are"
    " (d_out, d_in) for W, (r, d_in) for A and (d_out, r) for B.",
    solution=lambda W, A, B, alpha: W + alpha / len(A) * B @ A,
    probes=_changed,
    mistakes={
        "not-divided-by-rank": wrong(
            "α 还要除以秩 r。",
            "α is to be divided by the rank r.",
            lambda W, A, B, alpha: W + alpha * B @ A,
        ),
        "no-scale": wrong(
            "改动还要乘以 α/r。",
            "The change is to be multiplied by α/r.",
            lambda W, A, B, alpha: W + B @ A,
        ),
        "matrix-lost": wrong(
            "原来的矩阵 W 没有加上。",
            "The old matrix W is not added.",
            lambda W, A, B, alpha: alpha / len(A) * B @ A,
        ),
        "transposed": wrong(
            "改动转置了：是 BA，不是它的转置。", "The change is transposed: it is BA.", _turned
        ),
        "divided-by-size": wrong(
            "α 除以的是秩 r（A 的行数），不是 d_out，也不是 d_in。",
            "α is divided by the rank r, the rows of A, and not by d_out or d_in.",
            lambda W, A, B, alpha: W + alpha / len(W) * B @ A,
            lambda W, A, B, alpha: W + alpha / W.shape[1] * B @ A,
        ),
        "root-of-rank": wrong(
            "α 除以的是 r，不是 √r（那是后来的 rsLoRA）。",
            "α is divided by r, not by √r, which is the later rsLoRA.",
            lambda W, A, B, alpha: W + alpha / math.sqrt(len(A)) * B @ A,
        ),
        "no-alpha": wrong(
            "除以了 r，却没有乘 α。",
            "Divided by r, but not multiplied by α.",
            lambda W, A, B, alpha: W + B @ A / len(A),
        ),
        "everything-scaled": wrong(
            "α/r 只乘改动，W 本身不变。",
            "α/r scales the change alone; W itself stays.",
            lambda W, A, B, alpha: alpha / len(A) * (W + B @ A),
        ),
        "wrong-order": wrong(
            "次序反了：BA 是（d_out, r）乘（r, d_in）。",
            "The wrong order: BA is (d_out, r) times (r, d_in).",
            lambda W, A, B, alpha: W + alpha / len(A) * A @ B,
        ),
    },
)


# --- induction-score ---------------------------------------------------------------------------


def _maps() -> Iterator[Probe]:
    twice = torch.tensor([4, 1, 3, 0, 4, 1, 3, 0])
    yield probe((_some_weights(8), twice))
    yield probe((_some_weights(7), torch.tensor([2, 5, 1, 0, 5, 3, 5])))
    yield probe(
        (_some_weights(9), torch.tensor([1, 2, 0, 1, 3, 0, 1, 4, 2])),
        "有的词出现三次",
        "a word comes three times",
    )
    yield probe(
        (_some_weights(6), torch.tensor([3, 3, 3, 1, 2, 1])),
        "一个词连着出现",
        "a word follows itself",
    )
    yield probe(
        (torch.randn(6, 6).softmax(dim=-1), torch.tensor([1, 2, 1, 3, 2, 1])),
        "查询也看得见后面",
        "queries see later places, too",
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


def _mean_over_keys(weights: Tensor, words: Tensor) -> Tensor:
    found = _followed(words)
    means = (weights * found).sum(dim=-1) / found.sum(dim=-1)
    return means[found.any(dim=-1)].mean()


def _largest(weights: Tensor, words: Tensor) -> Tensor:
    found = _followed(words)
    return (weights * found).amax(dim=-1).sum() / found.any(dim=-1).sum()


def _round_the_end(weights: Tensor, words: Tensor) -> Tensor:
    found = _followed(words)
    found[:, 0] = words == words[-1]
    return _mean_over_askers(weights, found)


INDUCTION_SCORE = exercise(
    "induction-score",
    "写 `induction_score(weights, words)`：weights 的形状是（查询，键），words 是每个位置的词。"
    "看当前的词先前出现过的查询：它们平均把多少权重放在紧跟着先前各次出现的那些键上？",
    "Write `induction_score(weights, words)`: weights has the shape (query, key), words holds the"
    " word at each place. Of the queries whose word has occurred before: how much weight do they"
    " put, on average, on the keys right after the earlier occurrences?",
    solution=lambda weights, words: _mean_over_askers(weights, _followed(words)),
    probes=_maps,
    mistakes={
        "on-the-occurrence": wrong(
            "这是看着先前那次出现本身；归纳头看的是它后面的那个词。",
            "That is the weight on the earlier occurrence itself; an induction head looks at the"
            " word after it.",
            lambda w, words: _mean_over_askers(w, _followed(words, distance=0)),
        ),
        "two-after": wrong(
            "多走了一步：只要紧跟着的那一个。",
            "One step too far: take the next one.",
            lambda w, words: _mean_over_askers(w, _followed(words, distance=2)),
        ),
        "over-all-queries": wrong(
            "词第一次出现的查询没有可看的键：求平均时不算它们。",
            "A query whose word is new has no such key: leave it out of the mean.",
            lambda w, words: (w * _followed(words)).sum() / len(words),
        ),
        "mean-over-pairs": wrong(
            "一个查询可以有几个这样的键：先把它们的权重加起来，再对查询求平均。",
            "A query may have several such keys: add up their weights, then take the mean over the"
            " queries.",
            lambda w, words: w[_followed(words)].mean(),
        ),
        "last-occurrence": wrong(
            "先前的每一次出现都算，不只是最近的一次。",
            "Every earlier occurrence counts, not only the last one.",
            lambda w, words: _mean_over_askers(w, _followed(words, last=True)),
        ),
        "first-occurrence": wrong(
            "先前的每一次出现都算，不只是第一次。",
            "Every earlier occurrence counts, not only the first one.",
            lambda w, words: _mean_over_askers(w, _first_of(_followed(words))),
        ),
        "mean-over-keys": wrong(
            "一个查询有几个这样的键时，权重相加，不取平均。",
            "Where a query has several such keys their weights add up; they are not averaged.",
            _mean_over_keys,
        ),
        "largest-alone": wrong(
            "一个查询有几个这样的键时，权重相加，不只取最大的。",
            "Where a query has several such keys their weights add up; the largest is not all.",
            _largest,
        ),
        "own-place-left-out": wrong(
            "词连着出现时，紧跟着先前那次出现的就是查询自己：它也算。",
            "Where a word follows itself, the key right after the earlier occurrence is the query's"
            " own place: it counts.",
            lambda w, words: _mean_over_askers(w, _followed(words).tril(-1)),
        ),
        "future": wrong(
            "后面的出现也算进去了：只看先前的。",
            "Later occurrences are counted in: only earlier ones matter.",
            lambda w, words: _mean_over_askers(w, _wherever(words)),
        ),
        "round-the-end": wrong(
            "`roll` 把最后一个词转到了开头：位置 0 前面没有词。",
            "`roll` brings the last word round to the start: nothing stands before place 0.",
            _round_the_end,
        ),
    },
)


# --- induction-by-hand -------------------------------------------------------------------------


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


def _not_divided(words: Tensor, num_words: int) -> Tensor:
    guesses = _copied(words, num_words)
    before = torch.nn.functional.pad(words[:-1], (1, 0), value=-1)
    place = torch.arange(len(words))
    matches = (before == words[:, None]) & (place <= place[:, None])
    return guesses * matches.sum(dim=-1, keepdim=True)


def _with_looks(words: Tensor, num_words: int, looks: Tensor) -> Tensor:
    weights = looks.float() / looks.sum(dim=-1, keepdim=True).clamp(min=1)
    return weights @ torch.nn.functional.one_hot(words, num_words).float()


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


INDUCTION_BY_HAND = exercise(
    "induction-by-hand",
    "写 `copied(words, num_words)`，只用两次看：第一次，每个位置记下自己前面的词；第二次，"
    "每个位置均分地看自己以及前面那些位置中，记下的词正是当前词的位置，并取出那里的词。"
    "返回（位置，词）的概率；没有可看的位置时全为 0。",
    "Write `copied(words, num_words)` with two looks alone: in the first, each place notes the"
    " word before it; in the second, each place looks evenly at those places, up to its own, that"
    " have noted its word, and takes the words that stand there. Return probabilities (place,"
    " word), all 0 where there is nowhere to look.",
    solution=_copied,
    probes=lambda: [
        probe((torch.tensor([4, 1, 3, 0, 4, 1]), 5)),
        probe((torch.tensor([2, 5, 1, 0, 5, 3, 1, 2]), 6)),
        probe(
            (torch.tensor([1, 2, 0, 1, 3, 0, 1]), 4),
            "一个词后面跟过两种词",
            "a word has been followed by two different words",
        ),
        probe((torch.tensor([2, 2, 0, 2, 0, 0]), 3), "一个词连着出现", "a word follows itself"),
        probe((torch.tensor([0, 1, 0]), 9), "有的词没有出现", "words that don't occur"),
        probe((torch.tensor([0]), 1), "只有一个位置", "a single place"),
    ],
    mistakes={
        "one-look": wrong(
            "这样看到的是当前词自己先前的出现，取出来的还是它自己：要比的是每个位置记下的前一个"
            "词。",
            "This finds earlier occurrences of the word and brings back the word itself: compare"
            " with the word that each place has noted.",
            lambda w, n: _with_looks(w, n, (w == w[:, None]).tril(-1)),
        ),
        "two-back": wrong(
            "第一次看多退了一步：要记的是紧挨着的前一个词。",
            "The first look goes one place too far: note the word right before.",
            lambda w, n: _by_two_looks(w, n, distance=2),
        ),
        "sees-the-future": wrong(
            "第二次看到了后文：只能看自己和前面的位置。",
            "The second look sees later places: only those up to its own count.",
            lambda w, n: _by_two_looks(w, n, ahead=len(w)),
        ),
        "not-divided": wrong(
            "权重之和要是 1：几个位置都合适，就平分。",
            "The weights sum to 1: where several places fit, they share.",
            _not_divided,
        ),
        "own-place-left-out": wrong(
            "词连着出现时，自己这个位置记下的正是当前词：自己也要看。",
            "Where a word follows itself, its own place has noted it: that place is looked at,"
            " too.",
            lambda w, n: _with_looks(w, n, _followed(w).tril(-1)),
        ),
        "first-notes-a-word": wrong(
            "位置 0 前面没有词，你却记了词 0：用不是词的数，例如 −1。",
            "Nothing stands before place 0, and it notes word 0: take a number that is no word,"
            " such as −1.",
            _first_notes(lambda words: torch.zeros_like(words[0])),
        ),
        "round-the-end": wrong(
            "`roll` 把最后一个词转到了开头：位置 0 前面没有词。",
            "`roll` brings the last word round to the start: nothing stands before place 0.",
            _first_notes(lambda words: words[-1]),
        ),
        "last-alone": wrong(
            "每个合适的位置都看，不只是最近的一个。",
            "Every place that fits is looked at, not only the last one.",
            lambda w, n: _with_looks(w, n, _first_of(_followed(w).flip(-1)).flip(-1)),
        ),
        "first-alone": wrong(
            "每个合适的位置都看，不只是第一个。",
            "Every place that fits is looked at, not only the first one.",
            lambda w, n: _with_looks(w, n, _first_of(_followed(w))),
        ),
        "nan": wrong(
            "没有可看的位置时，0/0 是 NaN：那一行应当全为 0。",
            "Where there is nowhere to look, 0/0 is NaN: that row should be all 0.",
            _nan_where_nothing,
        ),
        "even-where-nothing": wrong(
            "没有可看的位置时，softmax 把权重分给了所有位置：那一行应当全为 0。",
            "Where there is nowhere to look, a softmax shares the weight among all places: that row"
            " should be all 0.",
            _even_where_nothing,
        ),
    },
)


# --- kept-positions ----------------------------------------------------------------------------


def _kept(i: int, w: int, f: int) -> list[int]:
    return [j for j in range(i + 1) if i - j < w or j < f]


KEPT_POSITIONS = exercise(
    "kept-positions",
    "写 `kept(i, w, f)`：位置 i 的查询看得见哪些位置，从小到大列出。窗口是 w（连它自己），"
    "开头的 f 个始终看得见。",
    "Write `kept(i, w, f)`: list the positions that the query at position i sees, in order. The"
    " window is w (its own position included), and the first f always stay visible.",
    solution=_kept,
    probes=lambda: [
        probe((9, 3, 1)),
        probe((2, 4, 0), "文字比窗口短", "a text shorter than the window"),
        probe((4, 4, 2), "窗口碰到开头", "the window touches the first ones"),
        probe((20, 5, 4)),
        probe((6, 4, 3), "窗口正好接着开头", "the window follows the first ones"),
        probe((7, 4, 3), "只隔开一个位置", "one position lies between"),
        probe((6, 1, 2), "窗口里只有自己", "the window is its own position alone"),
        probe((2, 1, 5), "开头的还没有写完", "the first ones are still to come"),
        probe((0, 3, 1), "第一个位置", "the first position"),
    ],
    mistakes={
        "one-more": wrong(
            "多了一个：w 把查询自己也算在内，最远看到 i − w + 1。",
            "One too many: w counts the query's own position, so the farthest is i − w + 1.",
            lambda i, w, f: _kept(i, w + 1, f),
        ),
        "first-inside-the-window": wrong(
            "开头的 f 个是另加的，不占窗口的名额。",
            "The first f come on top; they take no place in the window.",
            lambda i, w, f: _kept(i, max(w - f, 1), f),
        ),
        "twice": wrong(
            "窗口碰到开头时，有的位置列了两次；缓存里一个键只有一份。",
            "Where the window touches the first ones, positions are listed twice; a cache holds"
            " each key once.",
            lambda i, w, f: [*range(min(f, i + 1)), *range(max(0, i - w + 1), i + 1)],
        ),
        "not-itself": wrong(
            "查询也看见自己。",
            "A query sees itself, too.",
            lambda i, w, f: [j for j in _kept(i, w, f) if j < i],
        ),
        "first-too-early": wrong(
            "列出了还没有写的位置：开头的 f 个里，只有不晚于 i 的看得见。",
            "Positions are listed that are still to come: of the first f, only those up to i can be"
            " seen.",
            lambda i, w, f: sorted({*range(f), *_kept(i, w, f)}),
        ),
        "below-zero": wrong(
            "窗口伸到了开头之前：没有负的位置。",
            "The window reaches back beyond the start: no position is negative.",
            lambda i, w, f: sorted({*range(min(f, i + 1)), *range(i - w + 1, i + 1)}),
        ),
        "window-alone": wrong(
            "漏了开头的 f 个。", "The first f are missing.", lambda i, w, f: _kept(i, w, 0)
        ),
        "one-first-more": wrong(
            "开头多了一个：前 f 个是位置 0 到 f − 1。",
            "One too many at the start: the first f are the positions 0 to f − 1.",
            lambda i, w, f: _kept(i, w, f + 1),
        ),
        "one-less": wrong(
            "窗口少了一个：连自己在内是 w 个，最远看到 i − w + 1。",
            "The window lacks one: it holds w positions with the query's own, so the farthest is i"
            " − w + 1.",
            lambda i, w, f: _kept(i, w - 1, f),
        ),
        "both-sides": wrong(
            "窗口只朝后看：后面的词还没有写。",
            "The window looks back alone: later words are not written yet.",
            lambda i, w, f: [j for j in range(i + w) if abs(i - j) < w or j < f],
        ),
        "largest-first": wrong(
            "次序反了：从小到大。",
            "The order is reversed: the smallest comes first.",
            lambda i, w, f: _kept(i, w, f)[::-1],
        ),
    },
)


# --- sink-softmax ------------------------------------------------------------------------------


def _scores_and_sinks() -> Iterator[Probe]:
    yield probe((torch.tensor([1.5, 3.0, 2.0, 5.0, 0.0]), 4.0))
    yield probe((torch.randn(3, 4), 0.0), "汇是 0", "a sink of 0")
    yield probe((torch.full((1, 2), -30.0), 0.0), "没有值得看的", "nothing to look at")
    yield probe((torch.randn(2, 3), -1.5), "汇是负的", "a negative sink")
    huge = Bilingual("评分很大", "huge scores")
    yield Probe((torch.tensor([[1000.0, 999.0, 0.0]]), 998.5), huge)
    tiny = Bilingual("评分都很小", "all scores far below zero")
    yield Probe((torch.tensor([[-1000.0, -1001.0]]), -999.5), tiny)
    hidden = torch.tensor([[1.0, -torch.inf, 0.5], [-torch.inf, 2.0, -torch.inf]])
    yield probe((hidden, 1.0), "有的键被遮住了", "some keys are hidden")


def _with_sink(scores: Tensor, sink: float) -> Tensor:
    column = torch.full_like(scores[..., :1], sink)
    return torch.cat((scores, column), dim=-1).softmax(dim=-1)[..., :-1]


def _shifted(scores: Tensor, extra: float | Tensor) -> Tensor:
    parts = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return parts / (parts.sum(dim=-1, keepdim=True) + extra)


SINK_SOFTMAX = exercise(
    "sink-softmax",
    "写 `weights(scores, sink)`：最后一维上的 softmax，分母多一项 e 的 sink 次方；返回各个键的权"
    "重，形状与 scores 相同；评分再大再小也不许溢出。",
    "Write `weights(scores, sink)`: a softmax over the last axis whose denominator has one more"
    " term, e to the power of sink; return the keys' weights, shaped like scores, without"
    " overflow however large or small they are.",
    solution=_with_sink,
    probes=_scores_and_sinks,
    mistakes={
        "no-sink": wrong(
            "这是普通的 softmax：权重之和仍是 1，汇没有起作用。",
            "This is the usual softmax: the weights still sum to 1, and the sink does nothing.",
            lambda s, sink: s.softmax(dim=-1),
        ),
        "sink-not-a-score": wrong(
            "汇是一个评分，进分母之前要取指数。",
            "The sink is a score: its exponential goes into the denominator.",
            lambda s, sink: s.exp() / (s.exp().sum(dim=-1, keepdim=True) + sink),
        ),
        "always-one": wrong(
            "分母加 1 是汇等于 0 的情形；这里要用给定的汇。",
            "To add 1 is right for a sink of 0; use the one that is given.",
            lambda s, sink: s.exp() / (s.exp().sum(dim=-1, keepdim=True) + 1),
        ),
        "sink-returned": wrong(
            "汇的权重也返回了：它没有值，要去掉。",
            "The sink's own weight is returned, too: it has no value, drop it.",
            lambda s, sink: torch.cat((s, torch.full_like(s[..., :1], sink)), dim=-1).softmax(
                dim=-1
            ),
        ),
        "last-key-dropped": wrong(
            "汇放在最前面，去掉的却是最后一个键。",
            "The sink stands first, but it is the last key that is dropped.",
            lambda s, sink: torch.cat((torch.full_like(s[..., :1], sink), s), dim=-1).softmax(
                dim=-1
            )[..., :-1],
        ),
        "overflow": wrong(
            "e 的 1000 次方溢出，e 的 −1000 次方是 0，商是 NaN：先减去最大的一项，或者把汇接在评分"
            "后面，一起做 softmax。",
            "e to the power of 1000 overflows, to the power of −1000 it is 0, and their ratios are"
            " NaN: subtract the largest first, or append the sink to the scores and take one"
            " softmax.",
            lambda s, sink: (
                s.exp() / (s.exp().sum(dim=-1, keepdim=True) + torch.tensor(float(sink)).exp())
            ),
        ),
        "sink-not-shifted": wrong(
            "评分减去了最大值，汇没有减：分母里每一项都要除以同一个数。",
            "The maximum is subtracted from the scores and not from the sink: every term of the"
            " denominator is to be divided by the same number.",
            lambda x, sink: _shifted(x, torch.tensor(sink).exp()),
            lambda s, sink: _shifted(s, 1.0),
        ),
        "wrong-sign": wrong(
            "汇的符号反了：汇越大，键分到的越少。",
            "The sink's sign is wrong: the larger the sink, the less is left for the keys.",
            lambda s, sink: _with_sink(s, -sink),
        ),
        "wrong-axis": wrong(
            "softmax 沿着查询做了：要沿最后一维，键。",
            "The softmax runs over the queries: take the last axis, that of the keys.",
            lambda s, sink: torch.cat((s, torch.full_like(s[..., :1], sink)), dim=-1).softmax(
                dim=0
            )[..., :-1],
        ),
    },
)


# --- ntk-frequencies ---------------------------------------------------------------------------


def _stretched(d: int, s: float) -> Tensor:
    return NtkScaling(factor=s).frequencies(d).float()


def _pairs_from_one(d: int, s: float) -> Tensor:
    base = 10000.0 * s ** (d / (d - 2))
    return torch.tensor([base ** (-2 * j / d) for j in range(1, d // 2 + 1)])


def _last_pair_alone(d: int, s: float) -> Tensor:
    frequencies = rotary_frequencies(d).float()
    return torch.cat((frequencies[:-1], frequencies[-1:] / s))


def _last_is_interpolated(answer: Answer) -> Finding | None:
    got = (answer(8, 4.0)[-1] / rotary_frequencies(8)[-1]).item()
    if abs(got - 0.25) < 1e-3:
        return None
    return Finding(
        {"d": 8, "s": 4.0},
        Bilingual("最后一对慢到 1/4", "a last pair 1/4 as fast"),
        Bilingual(f"{got:.4g} 倍", f"one {got:.4g} times as fast"),
    )


NTK_FREQUENCIES = exercise(
    "ntk-frequencies",
    "写 `frequencies(d, s)`：NTK 感知缩放之后，d 个特征的 d/2 个频率。底数原是 10000，"
    "要使第一对不变，最后一对慢到 1/s。",
    "Write `frequencies(d, s)`: the d/2 frequencies of d features after NTK-aware scaling. The"
    " base was 10000; the first pair should stay, and the last be 1/s as fast.",
    solution=_stretched,
    probes=lambda: [
        probe((8, 8.0)),
        probe((32, 4.0)),
        probe((32, 1.5), "s 不是整数", "s is not an integer"),
        probe((4, 3.0), "只有两对", "there are two pairs"),
        probe((64, 40.0), "文字长得多", "much longer texts"),
        probe((16, 1.0), "s = 1，什么也不该变", "s = 1, nothing should change"),
    ],
    mistakes={
        "base-times-s": wrong(
            "底数只乘 s，最后一对慢不到 1/s：它的指数是 (d−2)/d，不是 1，所以 s 还要有指数。",
            "With the base times s the last pair is not yet 1/s as fast: its exponent is (d − 2)/d,"
            " not 1, so that s needs an exponent, too.",
            lambda d, s: rotary_frequencies(d, base=10000.0 * s).float(),
        ),
        "interpolation": wrong(
            "所有的对都除以 s，这是位置插值：第一对也变慢了。",
            "Every pair is divided by s: that is position interpolation, and the first pair is"
            " slower, too.",
            lambda d, s: (rotary_frequencies(d) / s).float(),
        ),
        "exponent-upside-down": wrong(
            "指数倒了：(s 的 x 次方) 再取 (d−2)/d 次方应当等于 s。",
            "The exponent is upside down: s to the power of x, to the power of (d − 2)/d, should be"
            " s.",
            lambda d, s: rotary_frequencies(d, base=10000.0 * s ** ((d - 2) / d)).float(),
        ),
        "faster": wrong(
            "底数变小，转得更快了；文字更长，要转得更慢。",
            "A smaller base turns faster; longer texts need slower turns.",
            lambda d, s: rotary_frequencies(d, base=10000.0 / s ** (d / (d - 2))).float(),
        ),
        "whole-exponent": wrong(
            "指数 d/(d−2) 不是整数：用 `/`，不用 `//`。",
            "The exponent d/(d − 2) is no integer: divide by `/`, not by `//`.",
            lambda d, s: rotary_frequencies(d, base=10000.0 * s ** (d // (d - 2))).float(),
        ),
        "pairs-from-one": wrong(
            "各对从 0 数起：第一对的频率是 1。",
            "Pairs count from 0: the frequency of the first is 1.",
            _pairs_from_one,
        ),
        "last-alone": wrong(
            "只改了最后一对：换的是底数，中间各对都慢一些，越靠后慢得越多。",
            "Only the last pair is changed: it is the base that changes, and the pairs between are"
            " slower, too, the later the more.",
            _last_pair_alone,
        ),
        "wavelengths": wrong(
            "这是倒数：频率的指数是负的，−2j/d。",
            "These are the reciprocals: the exponent of a frequency is negative, −2j/d.",
            lambda d, s: 1 / _stretched(d, s),
        ),
        "twice": wrong(
            "一对特征一个频率：是 d/2 个，不是 d 个。",
            "One frequency for each pair of features: d/2 of them, not d.",
            lambda d, s: _stretched(d, s).repeat_interleave(2),
            lambda d, s: _stretched(d, s).repeat(2),
        ),
    },
    laws=(
        Law(
            "last-pair",
            Bilingual("最后一对慢到 1/s。", "The last pair turns 1/s as fast."),
            _last_is_interpolated,
        ),
    ),
)


# --- repeat-key-heads --------------------------------------------------------------------------


def _keys() -> Iterator[Probe]:
    yield probe((torch.randn(1, 2, 3, 2), 4))
    yield probe((torch.randn(2, 3, 1, 4), 6))
    alone = Bilingual("只有一个键头", "there is a single head of keys")
    yield Probe((torch.randn(2, 1, 3, 2), 3), alone)
    yield probe((torch.randn(1, 4, 2, 3), 4), "各有各的键", "each head has its own keys")
    yield probe((torch.randn(2, 2, 2, 2), 4), "各轴一样长", "all axes are equally long")
    yield probe((torch.randn(1, 1, 1, 1), 2), "各轴的长度是 1", "all axes have size 1")


def _along(axis: int) -> Answer:
    return lambda keys, num_heads: keys.repeat_interleave(num_heads // keys.shape[1], dim=axis)


def _number_by_number(keys: Tensor, num_heads: int) -> Tensor:
    batch, heads, *rest = keys.shape
    return keys.repeat_interleave(num_heads // heads).reshape(batch, num_heads, *rest)


REPEAT_KEY_HEADS = exercise(
    "repeat-key-heads",
    "写 `repeat_heads(keys, num_heads)`：每个键头复制给它那一组查询头，组里的头相邻。",
    "Write `repeat_heads(keys, num_heads)`: copy each head of keys for its group of query heads,"
    " which are neighbors.",
    solution=lambda keys, num_heads: keys.repeat_interleave(num_heads // keys.shape[1], dim=1),
    probes=_keys,
    mistakes={
        "in-turns": wrong(
            "键头轮流分给了查询头（0、1、0、1）；同组的头应当相邻（0、0、1、1）。",
            "The heads of keys are dealt out in turn (0, 1, 0, 1); those of one group are neighbors"
            " (0, 0, 1, 1).",
            lambda k, h: k.repeat(1, h // k.shape[1], 1, 1),
        ),
        "too-many": wrong(
            "复制得太多：每个键头要（查询头数 ÷ 键头数）份，不是 num_heads 份。",
            "Too many copies: each head of keys is needed once for each head of its group, not"
            " num_heads times.",
            lambda k, h: k.repeat_interleave(h, dim=1),
        ),
        "along-keys": wrong(
            "轴错了：复制的是头（第 1 轴），不是键。",
            "The wrong axis: copy the heads (axis 1), not the keys.",
            lambda k, h: k.repeat_interleave(h // k.shape[1], dim=2),
        ),
        "along-features": wrong(
            "轴错了：复制的是头（第 1 轴），不是每个键里的数。",
            "The wrong axis: copy the heads (axis 1), not the numbers of a key.",
            _along(-1),
        ),
        "along-the-batch": wrong(
            "轴错了：复制的是头（第 1 轴），不是句子。",
            "The wrong axis: copy the heads (axis 1), not the examples of the batch.",
            _along(0),
        ),
        "not-repeated": wrong("什么也没有复制。", "Nothing is copied.", lambda k, h: k.clone()),
        "first-head-alone": wrong(
            "各组都得到了第一个键头：每组有自己的。",
            "Every group got the first head of keys: each has its own.",
            lambda k, h: k[:, :1].expand(-1, h, -1, -1),
        ),
        "groups-apart": wrong(
            "组和组里的头还是两个轴：合成一个。",
            "Groups and heads within them are still two axes: merge them.",
            lambda k, h: k.unsqueeze(2).repeat(1, 1, h // k.shape[1], 1, 1),
        ),
        "raw": wrong(
            "`repeat_interleave` 没有给 `dim`，逐个数地复制了：给出头的轴，`dim=1`。",
            "Without `dim`, `repeat_interleave` copies number by number: give the axis of the"
            " heads, `dim=1`.",
            _number_by_number,
        ),
    },
)


# --- step-bytes --------------------------------------------------------------------------------


def _sizes() -> Iterator[Probe]:
    yield probe((1000, 2, 8, 10, 3))
    yield probe((7, 1, 4, 100, 64))
    yield probe((50, 8, 16, 5, 1), "只有一段文字", "a single text")
    yield probe((50, 8, 16, 0, 5), "缓存是空的", "the cache is empty")
    yield probe((1, 1, 1, 1, 2), "一切都是最小的", "everything is as small as can be")
    real = Bilingual("真实模型的大小", "the size of a real model")
    yield Probe((7_000_000_000, 8, 128, 32_768, 32), real)


def _step_bytes(weights: int, kv_heads: int, d_k: int, tokens: int, batch: int) -> int:
    return 2 * (weights + batch * tokens * 2 * kv_heads * d_k)


STEP_BYTES = exercise(
    "step-bytes",
    "写 `step_bytes(weights, kv_heads, d_k, tokens, batch)`：一层解码一步至少读多少字节，"
    "每个数 2 字节。",
    "Write `step_bytes(weights, kv_heads, d_k, tokens, batch)`: the bytes that a layer must read"
    " in a step of decoding, with 2 bytes for each number.",
    solution=_step_bytes,
    probes=_sizes,
    mistakes={
        "weights-each": wrong(
            "权重读了 batch 遍：一批文字合用一份权重，读一遍就够。",
            "The weights are read once for each text: the batch shares them, and one time is"
            " enough.",
            lambda w, heads, d_k, t, b: b * _step_bytes(w, heads, d_k, t, 1),
        ),
        "cache-once": wrong(
            "缓存只读了一份：每段文字有自己的缓存，各读各的。",
            "The cache is read once for all: each text has a cache of its own.",
            lambda w, heads, d_k, t, b: _step_bytes(w, heads, d_k, t, 1),
        ),
        "keys-alone": wrong(
            "只有键，漏了值。",
            "These are the keys; the values are missing.",
            lambda w, heads, d_k, t, b: 2 * (w + b * t * heads * d_k),
        ),
        "new-token-alone": wrong(
            "只算了一个词元：新词要看缓存里的全部词元。",
            "That is one token: the new word looks at all tokens in the cache.",
            lambda w, heads, d_k, t, b: _step_bytes(w, heads, d_k, min(t, 1), b),
        ),
        "numbers": wrong(
            "这是数的个数；一个数占 2 字节。",
            "That is how many numbers there are; a number takes 2 bytes.",
            lambda w, heads, d_k, t, b: _step_bytes(w, heads, d_k, t, b) // 2,
        ),
        "four-bytes": wrong(
            "每个数按 4 字节算了：这里是 2 字节。",
            "That is 4 bytes for each number; it is 2 here.",
            lambda w, heads, d_k, t, b: 2 * _step_bytes(w, heads, d_k, t, b),
        ),
        "weights-missing": wrong(
            "漏了权重：每一步都要读一遍。",
            "The weights are missing: each step reads them.",
            lambda w, heads, d_k, t, b: _step_bytes(0, heads, d_k, t, b),
        ),
        "cache-missing": wrong(
            "漏了缓存：新词要看以前的每一个词元。",
            "The cache is missing: the new word looks at every token before it.",
            lambda w, heads, d_k, t, b: 2 * w,
        ),
        "one-head": wrong(
            "只算了一个键头：每个键头各有自己的键和值。",
            "That is one head of keys: each has keys and values of its own.",
            lambda w, heads, d_k, t, b: _step_bytes(w, 1, d_k, t, b),
        ),
        "new-token-too": wrong(
            "多读了一个词元：新词的键和值刚刚算出来，不在缓存里。",
            "One token too many: the new word's key and value have just been computed and are not"
            " in the cache.",
            lambda w, heads, d_k, t, b: _step_bytes(w, heads, d_k, t + 1, b),
        ),
        "weights-in-numbers": wrong(
            "2 字节只乘了缓存：权重的每个数也占 2 字节。",
            "Only the cache is counted in bytes: the numbers of the weights take 2 each, too.",
            lambda w, heads, d_k, t, b: _step_bytes(w, heads, d_k, t, b) - w,
        ),
    },
)


# --- draw-the-rest -----------------------------------------------------------------------------


def _pairs() -> Iterator[Probe]:
    yield probe((torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.5, 0.3])))
    yield probe(tuple(torch.randn(2, 6).softmax(dim=-1)))
    apart = (torch.tensor([0.4, 0.6, 0.0]), torch.tensor([0.0, 0.0, 1.0]))
    yield probe(apart, "两个分布没有交集", "the two have no word in common")
    same = torch.tensor([0.25, 0.75])
    yield probe((same, same.clone()), "两个分布相同", "the two are equal")
    little = torch.tensor([2.0**-18, -(2.0**-18)])  # exact in float32, within allclose's tolerance
    almost = (torch.tensor([0.5, 0.5]) + little, torch.tensor([0.5, 0.5]))
    yield probe(almost, "两个分布几乎相同", "the two are almost equal")
    some = (torch.tensor([0.25, 0.25, 0.5]), torch.tensor([0.25, 0.5, 0.25]))
    yield probe(some, "有一个词两边一样", "both agree on a word")
    yield probe((torch.ones(1), torch.ones(1)), "只有一个词", "a single word")


def _absolute(p: Tensor, q: Tensor) -> Tensor:
    apart = (p - q).abs()
    return apart / apart.sum() if apart.sum() > 0 else p


def _nan_where_equal(p: Tensor, q: Tensor) -> Tensor:
    rest = (p - q).clamp(min=0)
    return rest / rest.sum()


def _zeros_where_equal(p: Tensor, q: Tensor) -> Tensor:
    rest = (p - q).clamp(min=0)
    return rest / rest.sum().clamp(min=1e-30)


def _accepted_part(p: Tensor, q: Tensor) -> Tensor:
    both = torch.minimum(p, q)
    return both / both.sum() if both.sum() > 0 else p


def _whole_words(p: Tensor, q: Tensor) -> Tensor:
    more = p.where(p > q, 0.0)
    return more / more.sum() if more.sum() > 0 else p


def _fills_up(answer: Answer) -> Finding | None:
    p, q = torch.randn(2, 5).softmax(dim=-1)
    accepted = torch.minimum(p, q)
    mixed = accepted + (1 - accepted.sum()) * answer(p, q)
    if torch.allclose(mixed, p, atol=1e-5):
        return None
    return Finding({"p": p, "q": q}, Bilingual("合起来是 p", "p, all in all"), mixed)


DRAW_THE_REST = exercise(
    "draw-the-rest",
    "写 `rest(p, q)`：草稿的词被拒之后，改抽的词服从什么分布；两者相同时返回 p。",
    "Write `rest(p, q)`: the distribution to draw from after a drafted word was rejected; p where"
    " both are equal.",
    solution=lambda p, q: residual_distribution(p, q),
    probes=_pairs,
    mistakes={
        "from-target": wrong(
            "从 p 重抽，草稿爱写的词就得到两次机会。p 里已经由草稿给出的那一部分要先减掉。",
            "To draw from p gives the draft's favorite words a second chance. Take away first what"
            " the draft has already given.",
            lambda p, q: p,
        ),
        "not-normalized": wrong(
            "还没有归一化：和应当是 1。",
            "Not normalized yet: it must sum to 1.",
            lambda p, q: (p - q).clamp(min=0),
        ),
        "absolute": wrong(
            "草稿写得太多的词（q > p）不该再写：负的差要变成 0，不是变成正的。",
            "Words that the draft writes too often (q > p) must not be drawn again: a negative"
            " difference becomes 0, not positive.",
            _absolute,
        ),
        "other-way": wrong(
            "方向反了：要补的是 p 多出来的。",
            "The wrong way round: p is to be filled up.",
            lambda p, q: residual_distribution(q, p),
        ),
        "nan-where-equal": wrong(
            "两个分布相同时，差全是 0，0/0 是 NaN。",
            "Where the two are equal all differences are 0, and 0/0 is NaN.",
            _nan_where_equal,
        ),
        "zeros": wrong(
            "两个分布相同时得到的全是 0，不是分布：返回 p。",
            "Where the two are equal all come out as 0, which is no distribution: return p.",
            _zeros_where_equal,
        ),
        "softmax": wrong(
            "归一化是除以总和，不是 softmax：差是 0 的词不该再抽到。",
            "To normalize is to divide by the sum, not a softmax: where the difference is 0 a word"
            " is not drawn again.",
            lambda p, q: (p - q).softmax(dim=-1),
            lambda p, q: (p - q).clamp(min=0).softmax(dim=-1),
        ),
        "accepted-part": wrong(
            "min(p, q) 是已经收下的那一部分；要补的是 p 减去它之后剩下的。",
            "min(p, q) is what was accepted; draw from what is left of p without it.",
            _accepted_part,
        ),
        "whole-words": wrong(
            "p > q 的词里，草稿已经给出了 q 那么多：留下的是 p − q，不是整个 p。",
            "Of the words with p > q the draft has given q already: p − q is left, not all of p.",
            _whole_words,
        ),
        "not-clamped": wrong(
            "负的差没有变成 0：正负相抵，总和是 0。",
            "Negative differences do not become 0: they cancel the others, and the sum is 0.",
            lambda p, q: (p - q) / (p - q).sum(),
        ),
    },
    laws=(
        Law(
            "fills-up",
            Bilingual(
                "收下的加上补抽的，正好是 p：min(p, q) + (1 − Σ min(p, q)) · rest = p。",
                "What is accepted and what is drawn make p: min(p, q) + (1 − Σ min(p, q)) · rest"
                " = p.",
            ),
            _fills_up,
        ),
    ),
)


# --- delta-step --------------------------------------------------------------------------------

_NOT_UNIT = Bilingual("键的长度不是 1", "a key whose length is not 1")


def _steps() -> Iterator[Probe]:
    key, value = unit_length(torch.randn(1, 4))[0], torch.randn(3)
    yield probe((torch.randn(4, 3), key, value, 0.5))
    yield probe((torch.randn(4, 3), key, value, 1.0), "强度是 1", "the strength is 1")
    yield probe((torch.randn(4, 3), key, value, 0.0), "强度是 0", "the strength is 0")
    nothing = Bilingual("状态还是空的", "the state is still empty")
    yield Probe((torch.zeros(4, 3), key, value, 0.5), nothing)
    yield Probe((torch.randn(3, 3), torch.tensor([2.0, -1, 0.5]), value, 0.5), _NOT_UNIT)
    one = (torch.randn(1, 1), torch.tensor([0.5]), torch.tensor([2.0]))
    yield probe((*one, 1.0), "键和值都只有一个特征", "one feature each")
    yield probe((torch.randn(4, 3), torch.zeros(4), value, 0.5), "键是 0", "a zero key")


def _delta(state: Tensor, key: Tensor, value: Tensor, strength: float) -> Tensor:
    return state + strength * torch.outer(key, value - key @ state)


def _read_back(answer: Answer) -> Finding | None:
    state, value = torch.randn(5, 2), torch.randn(2)
    key = torch.randn(5)
    key = key / key.norm()
    got = key @ answer(state, key, value, 1.0)
    if torch.allclose(got, value, atol=1e-4):
        return None
    return Finding({"state": state, "key": key, "value": value, "strength": 1.0}, value, got)


DELTA_STEP = exercise(
    "delta-step",
    "写 `delta_step(state, key, value, strength)`：用 delta 规则写一步，返回新的状态；"
    "键可以有任何长度，照原样用。",
    "Write `delta_step(state, key, value, strength)`: one step of the delta rule, returning the"
    " new state; the key may have any length and is used as it is.",
    solution=_delta,
    probes=_steps,
    mistakes={
        "added": wrong(
            "旧的值没有去掉：写进去的是新值与状态现有回答之差，不是新值本身。",
            "The old value is still there: write the difference between the new value and what the"
            " state answers already, not the value itself.",
            lambda s, k, v, b: s + b * torch.outer(k, v),
        ),
        "wrong-sign": wrong(
            "符号反了：要减去状态现有的回答，不是加上。",
            "The sign is wrong: subtract what the state answers already, don't add it.",
            lambda s, k, v, b: s + b * torch.outer(k, v + k @ s),
        ),
        "strength-once": wrong(
            "强度只乘了新值：写多少，就擦多少，它要乘整个差。",
            "The strength scales the new value alone: as much is erased as is written, so it scales"
            " the whole difference.",
            lambda s, k, v, b: s + torch.outer(k, b * v - k @ s),
        ),
        "all-faded": wrong(
            "整个状态都淡了：只该改动这个键下面的值，与它正交的键一点不变。",
            "The whole state fades: only what stands under this key changes, and nothing under keys"
            " that are orthogonal to it.",
            lambda s, k, v, b: (1 - b) * s + b * torch.outer(k, v),
        ),
        "only-written": wrong(
            "忘了加到旧状态上。",
            "Add it to the state that was there.",
            lambda s, k, v, b: b * torch.outer(k, v - k @ s),
        ),
        "strength-ignored": wrong(
            "强度没有用上。", "The strength is not used.", lambda s, k, v, b: _delta(s, k, v, 1.0)
        ),
        "key-made-unit": wrong(
            "键照原样用：要不要先归一化，由给键的人决定。",
            "Use the key as it is: to normalize it first is up to whoever hands it over.",
            lambda s, k, v, b: _delta(s, normalize(k, dim=0), v, b),
        ),
        "row-by-row": wrong(
            "每一行与新值比了一遍：状态的回答是 `key @ state`，一个向量，只减它。",
            "Each row is compared with the new value: what the state answers is one vector,"
            " `key @ state`; subtract that.",
            lambda s, k, v, b: s + b * k[:, None] * (v - s),
        ),
        "moved-away": wrong(
            "走反了：状态的回答要向新值靠近，不是远离。",
            "The wrong way: the answer of the state moves towards the new value, not away from it.",
            lambda s, k, v, b: _delta(s, k, v, -b),
        ),
    },
    laws=(
        Law(
            "read-back",
            Bilingual(
                "强度为 1、键长为 1 时，用同一个键去读，读回的正是新值。",
                "With a strength of 1 and a key of length 1, the same key reads back the new"
                " value.",
            ),
            _read_back,
        ),
    ),
)


# --- chunked-sum -------------------------------------------------------------------------------


def _chunks() -> Iterator[Probe]:
    def draw(positions: int) -> tuple[Tensor, Tensor, Tensor]:
        return torch.randn(positions, 4), torch.randn(positions, 4), torch.randn(positions, 3)

    yield probe((torch.randn(4, 3), *draw(5)))
    yield probe((torch.randn(4, 3), *draw(2)))
    yield probe((torch.zeros(4, 3), *draw(5)), "此前什么也没有", "nothing came before")
    yield probe((torch.randn(4, 3), *draw(1)), "只有一个位置", "a single position")
    square = (torch.randn(3, 3) for _ in range(4))
    yield probe(tuple(square), "各种大小都相等", "all sizes are equal")


def _chunk(state: Tensor, queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    outputs = queries @ state + (queries @ keys.T).tril() @ values
    return outputs, state + keys.T @ values


def _sees_all(
    state: Tensor, queries: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    after = state + keys.T @ values
    return queries @ after, after


def _counted_twice(
    state: Tensor, queries: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    after = state + keys.T @ values
    return queries @ after + (queries @ keys.T).tril() @ values, after


def _state_first(
    state: Tensor, queries: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    outputs, after = _chunk(state, queries, keys, values)
    return after, outputs


def _outputs_scaled(
    state: Tensor, queries: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    outputs, after = _chunk(state, queries, keys, values)
    return outputs / keys.shape[-1] ** 0.5, after


CHUNKED_SUM = exercise(
    "chunked-sum",
    "写 `chunk(state, queries, keys, values)`：一段位置的因果输出，以及这一段之后的状态。",
    "Write `chunk(state, queries, keys, values)`: the causal outputs of a chunk of positions, and"
    " the state after it.",
    solution=_chunk,
    probes=_chunks,
    mistakes={
        "sees-all": wrong(
            "前面的查询看见了后面的键：段内的乘积要取下三角。",
            "Queries see keys that come after them: within the chunk the products need `tril()`.",
            _sees_all,
        ),
        "not-itself": wrong(
            "每个位置都先写后读，看得见自己：`tril()`，不是 `tril(-1)`。",
            "Each position writes and then reads, so it sees itself: `tril()`, not `tril(-1)`.",
            lambda s, q, k, v: ((q @ s + (q @ k.T).tril(-1) @ v), s + k.T @ v),
        ),
        "without-past": wrong(
            "漏了这一段之前的：还要加上 `queries @ state`。",
            "What came before the chunk is missing: add `queries @ state`.",
            lambda s, q, k, v: ((q @ k.T).tril() @ v, s + k.T @ v),
        ),
        "counted-twice": wrong(
            "段内的键算了两遍：先用旧状态读，最后才更新状态。",
            "The chunk's own keys count twice: read from the old state, and update it last.",
            _counted_twice,
        ),
        "new-state": wrong(
            "新状态里丢了旧的：要加上原来的状态。",
            "The new state has lost the old one: add what was there.",
            lambda s, q, k, v: ((q @ s + (q @ k.T).tril() @ v), k.T @ v),
        ),
        "past-alone": wrong(
            "漏了这一段自己的键：每个位置先写后读。",
            "The chunk's own keys are missing: each position writes and then reads.",
            lambda s, q, k, v: (q @ s, s + k.T @ v),
        ),
        "state-not-updated": wrong(
            "返回的还是旧状态：要加上这一段的 `keys.T @ values`。",
            "This returns the old state: add the chunk's `keys.T @ values`.",
            lambda s, q, k, v: (_chunk(s, q, k, v)[0], s),
        ),
        "other-order": wrong(
            "次序反了：先是输出，后是状态。",
            "The wrong order: the outputs come first, then the state.",
            _state_first,
        ),
        "scaled": wrong(
            "不除以 √d：状态里的和没有缩放，两部分要一致。",
            "Nothing is divided by √d: the sum in the state is not scaled, and both parts must"
            " agree.",
            lambda s, q, k, v: (q @ s + (q @ k.T / k.shape[-1] ** 0.5).tril() @ v, s + k.T @ v),
            _outputs_scaled,
        ),
        "softmax": wrong(
            "段内用了 softmax：这里没有 softmax，值乘的就是点积。",
            "There is a softmax within the chunk: here the values are multiplied by the dot"
            " products themselves.",
            lambda s, q, k, v: (
                q @ s + masked_softmax(q @ k.T, causal_mask(len(k))) @ v,
                s + k.T @ v,
            ),
        ),
        "sees-the-future": wrong(
            "取了上三角：行是查询，列是键，前面的键在下三角。",
            "That is the upper triangle: rows are queries, columns keys, and earlier keys stand in"
            " the lower one.",
            lambda s, q, k, v: ((q @ s + (q @ k.T).triu() @ v), s + k.T @ v),
        ),
    },
)

EXERCISES = (
    RMS_NORM,
    SWIGLU,
    LORA_MERGED,
    INDUCTION_SCORE,
    INDUCTION_BY_HAND,
    KEPT_POSITIONS,
    SINK_SOFTMAX,
    NTK_FREQUENCIES,
    REPEAT_KEY_HEADS,
    STEP_BYTES,
    DRAW_THE_REST,
    DELTA_STEP,
    CHUNKED_SUM,
)
