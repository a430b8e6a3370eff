"""An exercise on scores: the additive score (Bahdanau et al. 2015)."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_book.course.exercises.exercise import Exercise, Mistake, Probe
from attention_book.foundations.bilingual import Bilingual


def _additive_inputs() -> Iterator[Probe]:
    for num_queries, num_keys in ((2, 3), (3, 3), (1, 4), (2, 1)):
        W_q, W_k, w_v = torch.randn(7, 5), torch.randn(7, 2), torch.randn(7)
        one = Bilingual("只有一个查询，或一个键", "there is a single query, or a single key")
        about = one if 1 in (num_queries, num_keys) else None
        yield Probe((torch.randn(num_queries, 5), torch.randn(num_keys, 2), W_q, W_k, w_v), about)


def _projected(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor) -> tuple[Tensor, Tensor]:
    return (queries @ W_q.T)[:, None], keys @ W_k.T


def _additive(hidden: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return a score whose hidden layer is made of projected queries and keys."""

    def score(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
        return hidden(*_projected(queries, keys, W_q, W_k)) @ w_v

    return score


def _no_axis(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    return torch.tanh(queries @ W_q.T + keys @ W_k.T) @ w_v


def _plain_sum(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    q, k = _projected(queries, keys, W_q, W_k)
    return torch.tanh(q + k).sum(dim=-1)


_RIGHT = _additive(lambda q, k: torch.tanh(q + k))


def _afterwards(change: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a score that does something to the right one, which may need d_h or d_q."""

    def score(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
        return change(_RIGHT(queries, keys, W_q, W_k, w_v), *W_q.shape)

    return score


def _mean(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    q, k = _projected(queries, keys, W_q, W_k)
    return torch.tanh(q + k).mean(dim=-1)


def _dot_product(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    return queries @ W_q.T @ (keys @ W_k.T).T


def _tanh_last(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    return _additive(lambda q, k: q + k)(queries, keys, W_q, W_k, w_v).tanh()


_PLAIN_SUM = Bilingual(
    "最后要与 `w_v` 做内积，不是把各分量直接相加。",
    "The last step is a product with `w_v`, not the plain sum of the components.",
)
_NO_SCALE = Bilingual(
    "加性评分不除以 √d：tanh 的值已在 −1 与 1 之间。",
    "The additive score is not divided by √d: tanh lies between −1 and 1 already.",
)

ADDITIVE_SCORE = Exercise(
    name="additive-score",
    task=Bilingual(
        "写 `score(queries, keys, W_q, W_k, w_v)`：加性评分，"
        "每个查询对每个键一个数；W 的形状是（d_h，特征数）。",
        "Write `score(queries, keys, W_q, W_k, w_v)`: the additive score, one number for each"
        " query and key; the shape of a W is (d_h, features).",
    ),
    solution=_RIGHT,
    probes=_additive_inputs,
    mistakes=(
        Mistake(
            "not-broadcast",
            _no_axis,
            Bilingual(
                "第 i 个查询只加了第 i 个键：给查询补一个长度为 1 的轴，让每个查询遇到每个键。",
                "Query i was added to key i alone: give the queries an axis of size 1, so that"
                " each meets every key.",
            ),
        ),
        Mistake(
            "no-tanh",
            _additive(lambda q, k: q + k),
            Bilingual(
                "没有 tanh：评分成了“查询的一部分加键的一部分”，softmax 一做，查询就约掉了。",
                "No tanh: the score is a part of the query plus a part of the key, and the"
                " softmax cancels the query.",
            ),
        ),
        Mistake(
            "tanh-apart",
            _additive(lambda q, k: torch.tanh(q) + torch.tanh(k)),
            Bilingual(
                "先各自 tanh 再相加，查询与键就没有相遇，softmax 会把查询约掉：先相加。",
                "With a tanh for each, query and key never meet and the softmax cancels the"
                " query: add first.",
            ),
        ),
        Mistake(
            "multiplied",
            _additive(lambda q, k: torch.tanh(q * k)),
            Bilingual(
                "加性评分是相加，不是相乘。", "The additive score adds; it does not multiply."
            ),
        ),
        Mistake(
            "plain-sum",
            _plain_sum,
            _PLAIN_SUM,
        ),
        Mistake(
            "transposed",
            _afterwards(lambda scores, *sizes: scores.mT),
            Bilingual(
                "行是查询，列是键：结果转置了。",
                "Rows are queries and columns are keys: the result is transposed.",
            ),
        ),
        Mistake("plain-sum", _mean, _PLAIN_SUM),
        Mistake(
            "softmax-taken",
            _afterwards(lambda scores, *sizes: scores.softmax(dim=-1)),
            Bilingual(
                "要的是评分，还没有到 softmax。",
                "The scores are asked for; the softmax comes later.",
            ),
        ),
        Mistake("scaled", _afterwards(lambda scores, d_h, d_q: scores / d_h**0.5), _NO_SCALE),
        Mistake("scaled", _afterwards(lambda scores, d_h, d_q: scores / d_q**0.5), _NO_SCALE),
        Mistake(
            "sign",
            _afterwards(lambda scores, *sizes: -scores),
            Bilingual("每个数都对，只是符号反了。", "Right but for the sign, which is reversed."),
        ),
        Mistake(
            "tanh-last",
            _tanh_last,
            Bilingual(
                "tanh 放到了最后：先做 tanh，再与 `w_v` 做内积。",
                "The tanh comes last here: take it first, then the product with `w_v`.",
            ),
        ),
        Mistake(
            "squeezed",
            _afterwards(lambda scores, *sizes: scores.squeeze()),
            Bilingual(
                "只有一个查询或一个键时，`squeeze` 把它的轴也去掉了：结果总有两个轴。",
                "With a single query or key, `squeeze` removes its axis as well: the result "
                "always has two axes.",
            ),
        ),
        Mistake(
            "dot-product",
            _dot_product,
            Bilingual(
                "这是投影之后的点积：加性评分是先相加，再 tanh，再与 `w_v` 做内积。",
                "This is a dot product of projections: the additive score adds them, takes the "
                "tanh, then the product with `w_v`.",
            ),
        ),
    ),
)

EXERCISES = (ADDITIVE_SCORE,)
