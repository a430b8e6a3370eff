"""Exercises on today's blocks: norms, gates, low-rank changes, induction heads."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.attention import (
    causal_mask,
    masked_softmax,
)
from attention_book.course.exercises import hints
from attention_book.course.exercises.core import Answer, Law, Probe, exercise, probe, wrong
from attention_book.course.exercises.verdict import Finding
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
    "只算当前的词先前出现过的查询：它们平均把多少权重放在紧跟着先前各次出现的那些键上？",
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
        "round-the-end": wrong(*hints.ROUND_THE_END, _round_the_end),
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
    "写 `copied_by_two_looks(words, num_words)`，只用两次看：第一次，每个位置记下前一个词；"
    "第二次，在自己和前面的位置里，均匀地看那些记着当前词的，取出那里的词。"
    "返回（位置，词）的概率；没有可看的位置时全为 0。",
    "Write `copied_by_two_looks(words, num_words)` with two looks alone: in the first, each place"
    " notes the word before it; in the second, each place looks evenly at those places, up to"
    " its own, that have noted its word, and takes the words that stand there. Return"
    " probabilities (place, word), all 0 where there is nowhere to look.",
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
        "round-the-end": wrong(*hints.ROUND_THE_END, _first_notes(lambda words: words[-1])),
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

EXERCISES = (RMS_NORM, SWIGLU, LORA_MERGED, INDUCTION_SCORE, INDUCTION_BY_HAND)
