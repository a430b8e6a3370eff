"""Exercises on decoding word by word: the cache, and the mask in both modes."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_book.attention import causal_mask, dot_product_attention
from attention_book.course.exercises.exercise import Answer, Exercise, Law, Mistake, Probe
from attention_book.course.exercises.verdict import Finding
from attention_book.foundations.bilingual import Bilingual

#: The output, and the keys and values to keep.
Step = tuple[Tensor, Tensor, Tensor]


def _one_word_each() -> Iterator[Probe]:
    yield Probe((*torch.randn(3, 1, 2), *torch.randn(3, 2, 2)))
    yield Probe((torch.randn(1, 4), *torch.randn(2, 3, 4), *torch.randn(3, 4, 4)))
    yield Probe(
        (torch.randn(1, 4), *torch.empty(2, 0, 4), *torch.randn(3, 4, 4)),
        Bilingual("还没有过去", "there is no past yet"),
    )
    yield Probe(
        (30 * torch.randn(1, 4), *(30 * torch.randn(2, 3, 4)), *torch.randn(3, 4, 4)),
        Bilingual("评分很大", "the scores are large"),
    )


def _cached(x: Tensor, keys: Tensor, values: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Step:
    keys, values = torch.cat((keys, x @ W_k)), torch.cat((values, x @ W_v))
    return dot_product_attention(x @ W_q, keys, values), keys, values


def _keeps_inputs(
    x: Tensor, keys: Tensor, values: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor
) -> Step:
    keys, values = torch.cat((keys, x)), torch.cat((values, x))
    return dot_product_attention(x @ W_q, keys @ W_k, values @ W_v), keys, values


def _sees_only_the_past(
    x: Tensor, keys: Tensor, values: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor
) -> Step:
    seen = dot_product_attention(x @ W_q, keys, values) if len(keys) else torch.zeros_like(x)
    return seen, torch.cat((keys, x @ W_k)), torch.cat((values, x @ W_v))


def _forgets(
    x: Tensor, keys: Tensor, values: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor
) -> Step:
    return _cached(x, keys, values, W_q, W_k, W_v)[0], keys, values


def _keeps_newest_only(
    x: Tensor, keys: Tensor, values: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor
) -> Step:
    return _cached(x, keys, values, W_q, W_k, W_v)[0], x @ W_k, x @ W_v


def _newest_first(
    x: Tensor, keys: Tensor, values: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor
) -> Step:
    keys, values = torch.cat((x @ W_k, keys)), torch.cat((x @ W_v, values))
    return dot_product_attention(x @ W_q, keys, values), keys, values


def _looks(look: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable[..., Step]:
    """Return a step that appends what it should, and looks in its own way."""

    def step(
        x: Tensor, keys: Tensor, values: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor
    ) -> Step:
        keys, values = torch.cat((keys, x @ W_k)), torch.cat((values, x @ W_v))
        return look(x @ W_q, keys, values), keys, values

    return step


def _weights_of(scores: Tensor) -> Tensor:
    return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)


def _transposed(
    x: Tensor, keys: Tensor, values: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor
) -> Step:
    return _cached(x, keys, values, W_q.mT, W_k.mT, W_v.mT)


def _query_as_it_is(
    x: Tensor, keys: Tensor, values: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor
) -> Step:
    keys, values = torch.cat((keys, x @ W_k)), torch.cat((values, x @ W_v))
    return dot_product_attention(x, keys, values), keys, values


def _appended_twice(
    x: Tensor, keys: Tensor, values: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor
) -> Step:
    once = _cached(x, keys, values, W_q, W_k, W_v)
    return _cached(x, once[1], once[2], W_q, W_k, W_v)


CACHED_STEP = Exercise(
    name="cached-step",
    task=Bilingual(
        "写 `step(x, keys, values, W_q, W_k, W_v)`：带键值缓存走一步。x 是新词（1，特征），"
        "keys 与 values 是存下的过去；返回 (output, keys, values)，新词也在其中。",
        "Write `step(x, keys, values, W_q, W_k, W_v)`: one step with a key–value cache. x is the"
        " new word (1, feature), keys and values are the past that was kept; return (output,"
        " keys, values), the new word included.",
    ),
    solution=_cached,
    probes=_one_word_each,
    mistakes=(
        Mistake(
            "keeps-inputs",
            _keeps_inputs,
            Bilingual(
                "存下的是输入，不是键和值：过去的每个词每一步都重新投影，代价随长度增长。"
                "先投影新词，再接到缓存后面。",
                "What is kept are inputs, not keys and values: every word of the past is projected"
                " again at every step, at a cost that grows with the length. Project the new word"
                " first, then append it.",
            ),
        ),
        Mistake(
            "newest-not-seen",
            _sees_only_the_past,
            Bilingual(
                "新词看不见自己：先把它的键和值接上，再看。",
                "The new word does not see itself: append its key and value before looking.",
            ),
        ),
        Mistake(
            "newest-not-kept",
            _forgets,
            Bilingual(
                "新词没有存下来：返回接上新词之后的 keys 与 values。",
                "The new word is not kept: return keys and values with it appended.",
            ),
        ),
        Mistake(
            "past-dropped",
            _keeps_newest_only,
            Bilingual(
                "只存下了新词，过去全丢了。", "Only the new word is kept, and the past is lost."
            ),
        ),
        Mistake(
            "newest-first",
            _newest_first,
            Bilingual(
                "新词要接在最后：输出虽然一样，缓存的次序却与位置对不上了。",
                "The new word goes to the end: the output is the same, but the order of the cache"
                " no longer matches the positions.",
            ),
        ),
        Mistake(
            "not-scaled",
            _looks(lambda q, k, v: (q @ k.mT).softmax(dim=-1) @ v),
            Bilingual("评分还没有除以 √d_k。", "The scores have not been divided by √d_k."),
        ),
        Mistake(
            "over-the-query",
            _looks(lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=0) @ v),
            Bilingual(
                "softmax 用错了轴：要沿键，也就是最后一个轴。",
                "The softmax runs over the wrong axis: it goes over the keys, the last axis.",
            ),
        ),
        Mistake(
            "bare-exponentials",
            _looks(lambda q, k, v: _weights_of(q @ k.mT / q.shape[-1] ** 0.5) @ v),
            Bilingual(
                "评分大时指数溢出成无穷：交给 `softmax`。",
                "For large scores the exponential overflows to infinity: leave it to `softmax`.",
            ),
        ),
        Mistake(
            "weights-transposed",
            _transposed,
            Bilingual(
                "投影是 `x @ W`，W 不转置。", "The projections are `x @ W`; W is not transposed."
            ),
        ),
        Mistake(
            "query-not-projected",
            _query_as_it_is,
            Bilingual("查询也要投影：`x @ W_q`。", "The query is projected as well: `x @ W_q`."),
        ),
        Mistake(
            "appended-twice",
            _appended_twice,
            Bilingual("新词接了两次。", "The new word was appended twice."),
        ),
    ),
)


def _both_modes() -> Iterator[Probe]:
    x = torch.randn(3, 4)
    yield Probe((x, True), Bilingual("是训练模式", "the mode is training"))
    yield Probe((x, False), Bilingual("是评估模式", "the mode is evaluation"))
    yield Probe((torch.randn(2, 5, 4), True))
    yield Probe((torch.randn(2, 5, 4), False))
    yield Probe((torch.randn(1, 3), True), Bilingual("只有一个词", "there is a single word"))
    yield Probe((30 * torch.randn(3, 2), False), Bilingual("评分很大", "the scores are large"))


def _causal(x: Tensor, training: bool, *, ahead: int = 0) -> Tensor:
    return dot_product_attention(x, x, x, causal_mask(x.shape[-2], offset=ahead))


def _in_training_only(x: Tensor, training: bool) -> Tensor:
    return _causal(x, training) if training else dot_product_attention(x, x, x)


def _in_evaluation_only(x: Tensor, training: bool) -> Tensor:
    return _in_training_only(x, not training)


def _one_ahead(x: Tensor, training: bool) -> Tensor:
    return _causal(x, training, ahead=1)


def _not_itself(x: Tensor, training: bool) -> Tensor:
    return _causal(x, training, ahead=-1)


def _plain(x: Tensor, training: bool) -> Tensor:
    return dot_product_attention(x, x, x)


def _of_scores(weigh: Callable[[Tensor], Tensor], power: float = -0.5) -> Callable[..., Tensor]:
    def decode(x: Tensor, training: bool) -> Tensor:
        return weigh(x @ x.mT * x.shape[-1] ** power) @ x

    return decode


def _masked(scores: Tensor) -> Tensor:
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -torch.inf).softmax(dim=-1)


def _upside_down(scores: Tensor) -> Tensor:
    earlier = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(-1)
    return scores.masked_fill(earlier, -torch.inf).softmax(dim=-1)


def _future_is_hidden(answer: Answer) -> Finding | None:
    x = torch.randn(4, 4)
    later = x.clone()
    later[-1] += 1 + torch.rand(4)
    for training in (True, False):
        moved = (answer(x, training) - answer(later, training))[:-1].abs().max()
        if not moved < 1e-5:
            return Finding(
                {"x": x, "training": training},
                Bilingual(
                    "只改最后一个词，前面的输出不动",
                    "with another last word, the same earlier outputs",
                ),
                Bilingual(
                    f"前面的输出动了 {moved:.3f}", f"earlier outputs that move by {moved:.3f}"
                ),
            )
    return None


_OFF_BY_ONE = Bilingual(
    "因果掩码差了一格：每个词看得见自己和前面的词，不多也不少。",
    "The causal mask is off by one: a word sees itself and the words before it, no more, no less.",
)

CAUSAL_IN_BOTH_MODES = Exercise(
    name="causal-in-both-modes",
    task=Bilingual(
        "写 `decode(x, training)`：以 x（位置，特征）为查询、键和值的因果点积注意力。",
        "Write `decode(x, training)`: causal dot-product attention with x (position, feature) for"
        " queries, keys and values.",
    ),
    solution=lambda x, training: _causal(x, training),
    probes=_both_modes,
    mistakes=(
        Mistake(
            "in-training-only",
            _in_training_only,
            Bilingual(
                "评估模式下没有掩码：可是算留出数据的损失、给译文打分，也在评估模式下送进整句。"
                "因果性不归 `train()` 管。",
                "No mask in evaluation mode, though held-out losses and scores run whole sentences"
                " in that mode. Causality is not for `train()` to decide.",
            ),
        ),
        Mistake(
            "in-evaluation-only",
            _in_evaluation_only,
            Bilingual(
                "训练时没有掩码：模型会学着抄答案。",
                "No mask in training: the model will learn to copy the answers.",
            ),
        ),
        Mistake("off-by-one", _one_ahead, _OFF_BY_ONE),
        Mistake("off-by-one", _not_itself, _OFF_BY_ONE),
        Mistake(
            "no-mask",
            _plain,
            Bilingual("没有掩码：每个词都看见了未来。", "No mask: every word sees the future."),
        ),
        Mistake(
            "masked-afterwards",
            _of_scores(lambda scores: scores.softmax(dim=-1).tril()),
            Bilingual(
                "softmax 之后才遮，分母里还有未来：掩码要放在 softmax 之前。",
                "Masked after the softmax, the future is still in the denominator: mask before.",
            ),
        ),
        Mistake(
            "upside-down",
            _of_scores(_upside_down),
            Bilingual(
                "掩码上下颠倒，每个词只看得见自己和未来：要 `tril`，不要 `triu`。",
                "The mask is upside down, and a word sees itself and the future: take `tril`, "
                "not `triu`.",
            ),
        ),
        Mistake(
            "not-scaled",
            _of_scores(_masked, 0.0),
            Bilingual("评分还没有除以 √d。", "The scores have not been divided by √d."),
        ),
        Mistake(
            "divided-by-d",
            _of_scores(_masked, -1.0),
            Bilingual("除以的是 √d，不是 d。", "Divide by √d, not by d."),
        ),
    ),
    laws=(
        Law(
            "future-is-hidden",
            Bilingual(
                "改动后面的词，前面的输出不动，两种模式都一样。",
                "A change of a later word moves no earlier output, in either mode.",
            ),
            _future_is_hidden,
        ),
    ),
)


EXERCISES = (CACHED_STEP, CAUSAL_IN_BOTH_MODES)
