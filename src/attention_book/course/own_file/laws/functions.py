"""Laws of steps 1 to 6: averages, kernels, masks, scores, gradients, losses."""

import math
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.course.own_file.core import Case
from attention_book.course.own_file.laws.formulas import (
    EOS,
    case,
    draw,
    plain_attend,
    plain_causal,
    plain_weights,
    softmax,
    some_mask,
)

# --- step 1 ---


def pool_formula(my: Any) -> Iterator[Case]:
    for shape in ((3, 5), (4, 4), (2, 3, 5)):
        s, v = draw(*shape), draw(*shape[:-2], shape[-1], 2, seed=1)
        about = ("成批", "a batch") if len(shape) == 3 else None
        yield case(
            {"scores": s, "v": v},
            lambda: my.attention_pooling(s, v),
            softmax(s) @ v,
            about,
            softmax_over_queries=lambda: softmax(s, -2) @ v,
            axis_by_number=lambda: softmax(s, 1) @ v,
            axis_zero=lambda: softmax(s, 0) @ v,
            no_softmax=lambda: s @ v,
            shares=lambda: s / s.sum(-1, keepdim=True) @ v,
            not_normalized=lambda: s.exp() @ v,
            normalized_over_all=lambda: s.exp() / s.exp().sum() @ v,
            log_for_weights=lambda: softmax(s).log() @ v,
            returns_weights=lambda: softmax(s),
            scaled_twice=lambda: softmax(s / math.sqrt(s.shape[-1])) @ v,
        )


def pool_shift(my: Any) -> Iterator[Case]:
    s, v = draw(3, 5), draw(5, 2, seed=1)
    big = s + 2000
    yield case(
        {"scores": big},
        lambda: my.attention_pooling(big, v),
        softmax(s) @ v,
        overflow=lambda: big.exp() / big.exp().sum(-1, keepdim=True) @ v,
    )


def pool_nothing(my: Any) -> Iterator[Case]:
    v = draw(5, 2, seed=1)
    yield case(
        {"scores": torch.zeros(1, 5)},
        lambda: my.attention_pooling(torch.zeros(1, 5).double(), v),
        v.mean(0, keepdim=True),
    )


# --- step 2 ---


def gaussian_formula(my: Any) -> Iterator[Case]:
    for n, m, w in ((3, 5, 1.0), (4, 4, 2.0)):
        q, k = draw(n), draw(m, seed=1)
        far = q[:, None] - k[None, :]
        yield case(
            {"q": q, "k": k, "w": w},
            lambda: my.gaussian_scores(q, k, w),
            -((far * w) ** 2) / 2,
            no_minus=lambda: (far * w) ** 2 / 2,
            no_half=lambda: -((far * w) ** 2),
            w_not_squared=lambda: -(far**2) * w / 2,
            divided_by_w=lambda: -((far / w) ** 2) / 2,
            no_w=lambda: -(far**2) / 2,
            not_squared=lambda: -(far * w).abs() / 2,
            kernel_for_score=lambda: (-((far * w) ** 2) / 2).exp(),
            transposed=lambda: -((far.T * w) ** 2) / 2,
        )


def regression(my: Any) -> Iterator[Case]:
    xs, ys = draw(6, seed=1), draw(6, seed=2)
    for n, w in ((4, 1.0), (4, 3.0), (6, 1.0)):
        x = draw(n)
        far = x[:, None] - xs[None, :]
        s = -((far * w) ** 2) / 2
        yield case(
            {"x": x, "xs": xs, "ys": ys, "w": w},
            lambda: my.kernel_regression(x, xs, ys, w),
            softmax(s) @ ys,
            column=lambda: softmax(s) @ ys[:, None],
            kernel_for_score=lambda: softmax(s.exp()) @ ys,
            no_w=lambda: softmax(-(far**2) / 2) @ ys,
            queries_and_keys_swapped=lambda: softmax(s.mT) @ ys,
            softmax_over_queries=lambda: softmax(s, -2) @ ys,
        )
    x, same = draw(4), torch.full((6,), 7.0).double()
    yield case(
        {"ys": same},
        lambda: my.kernel_regression(x, xs, same, 2.0),
        torch.full((4,), 7.0).double(),
        ("所有 y 都是 7，答案就是 7", "where all y are 7, the answer is 7"),
    )


# --- step 3 ---


def weights_formula(my: Any) -> Iterator[Case]:
    for shape in ((3, 4), (2, 3, 4)):
        for empty in (False, True):
            s, mask = draw(*shape), some_mask()
            if empty:
                mask[1] = False
            low = s.masked_fill(~mask, -1e9)

            def hidden(where: Tensor) -> Tensor:
                return s.masked_fill(where, -math.inf).softmax(-1)

            about = ("有一行什么也看不见", "one row may see nothing") if empty else None
            yield case(
                {"scores": s, "mask": mask},
                lambda: my.attention_weights(s, mask),
                plain_weights(s, mask),
                about,
                mask_inverted=lambda: plain_weights(s, ~mask),
                mask_inverted__first=lambda: hidden(mask).masked_fill(~mask, 0),
                mask_inverted__last=lambda: hidden(~mask).masked_fill(mask, 0),
                mask_inverted_nan=lambda: s.masked_fill(mask, -math.inf).softmax(-1),
                mask_ignored=lambda: softmax(s),
                zeros_before=lambda: softmax(s * mask),
                zeros_after=lambda: softmax(s) * mask,
                nan_row=lambda: s.masked_fill(~mask, -math.inf).softmax(-1),
                average_row=lambda: softmax(low),
                softmax_over_queries=lambda: (
                    s.masked_fill(~mask, -math.inf).softmax(-2).nan_to_num(0)
                ),
            )
    s = draw(3, 4)
    yield case(
        {"scores": s, "mask": None},
        lambda: my.attention_weights(s),
        softmax(s),
        ("不给 `mask`", "without `mask`"),
        softmax_over_queries=lambda: softmax(s, -2),
    )


def pool_masked(my: Any) -> Iterator[Case]:
    s, v, mask = draw(3, 4), draw(4, 2, seed=1), some_mask()
    yield case(
        {"scores": s, "v": v, "mask": mask},
        lambda: my.attention_pooling(s, v, mask),
        plain_weights(s, mask) @ v,
        pooling_without_mask=lambda: softmax(s) @ v,
        mask_inverted=lambda: plain_weights(s, ~mask) @ v,
    )


def causal_formula(my: Any) -> Iterator[Case]:
    for n, m in ((4, 4), (1, 5), (2, 5)):
        about = None if n == m else ("这 n 个是 m 个里的最后 n 个", "the n are the last of the m")
        yield case(
            {"n": n, "m": m},
            lambda: my.future_mask(n, m),
            plain_causal(n, m),
            about,
            without_itself=lambda: torch.ones(n, m).bool().tril(m - n - 1),
            sees_future=lambda: torch.ones(n, m).bool().triu(m - n),
            sees_future_only=lambda: torch.ones(n, m).bool().triu(m - n + 1),
            top_left=lambda: torch.ones(n, m).bool().tril(),
            sees_future__b=lambda: torch.ones(n, m).bool().triu(),
            sees_future_only__b=lambda: torch.ones(n, m).bool().triu(1),
            without_itself__b=lambda: torch.ones(n, m).bool().tril(-1),
            sees_one_ahead=lambda: torch.ones(n, m).bool().tril(m - n + 1),
            mask_not_boolean=lambda: torch.ones(n, m).tril(m - n),
        )


def real_formula(my: Any) -> Iterator[Case]:
    x = torch.tensor([[5, 6, 3, 0, 0], [7, 3, 0, 0, 0], [4, 5, 6, 7, 3]])
    yield case(
        {"ids": x},
        lambda: my.padding_mask(x),
        (x != 0)[:, None],
        None,
        padding_mask_without_axis=lambda: x != 0,
        padding_mask_hides_eos=lambda: (x != EOS)[:, None],
        padding_mask_hides_eos__too=lambda: ((x != 0) & (x != EOS))[:, None],
        padding_mask_axis_behind=lambda: (x != 0)[..., None],
        mask_inverted=lambda: (x == 0)[:, None],
    )


def gradient_of_empty(my: Any) -> Iterator[Case]:
    def gradient() -> Any:
        s, mask = draw(2, 3).requires_grad_(), torch.tensor([[True, False, True], [False] * 3])
        (gradient,) = torch.autograd.grad(my.attention_weights(s, mask)[0, 0], s)
        return gradient.isfinite().all()

    yield case({}, gradient, torch.tensor(True))


# --- step 4 ---


def dot_formula(my: Any) -> Iterator[Case]:
    for shape in ((3, 4), (4, 4), (2, 3, 9), (2, 3, 4, 9)):
        q, k = draw(*shape), draw(*shape[:-2], 5, shape[-1], seed=1)
        raw, d = torch.einsum("...nd,...md->...nm", q, k), shape[-1]
        yield case(
            {"q": q, "k": k},
            lambda: my.scaled_dot_product(q, k),
            raw / math.sqrt(d),
            None,
            no_scale=lambda: raw,
            scale_without_root=lambda: raw / d,
            scale_multiplied=lambda: raw * math.sqrt(d),
            scale_by_keys=lambda: raw / math.sqrt(raw.shape[-1]),
            scale_by_queries=lambda: raw / math.sqrt(raw.shape[-2]),
            transposed=lambda: raw.mT / math.sqrt(d),
        )


def attend_formula(my: Any) -> Iterator[Case]:
    for mask in (None, some_mask()):
        q, k, v = draw(2, 3, 8), draw(2, 4, 8, seed=1), draw(2, 4, 5, seed=2)
        yield case(
            {"q": q, "k": k, "v": v, "mask": mask},
            lambda: my.qkv_attention(q, k, v, mask),
            F.scaled_dot_product_attention(q, k, v, mask),
            None,
            attend_without_mask=lambda: plain_attend(q, k, v),
            returns_weights=lambda: plain_weights(q @ k.mT / math.sqrt(8), mask),
            no_scale=lambda: plain_attend(q, k, v, mask, 1.0),
            scale_twice=lambda: plain_attend(q, k, v, mask, 1 / 8),
            softmax_over_queries=lambda: softmax(q @ k.mT / math.sqrt(8), -2) @ v,
        )


# --- step 5 ---


def backward_formula(my: Any) -> Iterator[Case]:
    for shape, mask in (((3, 4), None), ((4, 4), None), ((2, 3, 4), some_mask())):
        batch, d = shape[:-2], shape[-1]
        q, k, v = draw(*shape), draw(*batch, 4, d, seed=1), draw(*batch, 4, 3, seed=2)
        g = draw(*shape[:-1], 3, seed=3)
        a, b, c = (each.clone().requires_grad_() for each in (q, k, v))
        want = torch.autograd.grad(plain_attend(a, b, c, mask), (a, b, c), g)
        scores = q @ k.mT / math.sqrt(d)
        w, unmasked = plain_weights(scores, mask), plain_weights(scores)
        d_w = g @ v.mT

        def slope(w: Tensor, axis: int = -1, sign: int = 1) -> Tensor:
            return w * (d_w - sign * (w * d_w).sum(axis, keepdim=True))

        def gradients(
            d_scores: Tensor, w: Tensor = w, scale: float = 1 / math.sqrt(d)
        ) -> tuple[Tensor, Tensor, Tensor]:
            return d_scores @ k * scale, d_scores.mT @ q * scale, w.mT @ g

        orders: dict[str, Any] = {
            f"gradients_in_other_order__{n}": lambda order=order: tuple(want[i] for i in order)
            for n, order in enumerate(permutations(range(3)))
            if n
        }
        yield case(
            {"q": q, "k": k, "v": v, "mask": mask},
            lambda: tuple(my.attention_backward(g, q, k, v, mask)),
            want,
            no_own_share=lambda: gradients(w * d_w),
            no_softmax_slope=lambda: gradients(d_w),
            backward_without_scale=lambda: gradients(slope(w), scale=1.0),
            backward_without_mask=lambda: gradients(slope(unmasked), unmasked),
            sum_over_queries=lambda: gradients(slope(w, -2)),
            plus_for_minus=lambda: gradients(slope(w, sign=-1)),
            d_v_not_transposed=lambda: (*gradients(slope(w))[:2], w @ g),
            d_k_not_transposed=lambda: (want[0], slope(w) @ q / math.sqrt(d), want[2]),
            **orders,
        )


# --- step 6 ---


def sentences() -> Tensor:
    return torch.tensor([[2, 5, 6, 7, 3], [2, 8, 3, 0, 0]])


def shifted_formula(my: Any) -> Iterator[Case]:
    x = sentences()
    yield case(
        {"target": x},
        lambda: tuple(my.teacher_forcing(x)),
        (x[:, :-1], x[:, 1:]),
        None,
        not_shifted=lambda: (x, x),
        shifted_the_other_way=lambda: (x[:, 1:], x[:, :-1]),
        shifted_sentences=lambda: (x[:-1], x[1:]),
    )


def loss_formula(my: Any) -> Iterator[Case]:
    for target in (
        torch.tensor([[5, 6, 7, 3], [8, 3, 0, 0]]),
        torch.tensor([[4, 3, 0, 0, 0], [5, 6, 7, 8, 3]]),
    ):
        logits = draw(*target.shape, 9)
        log_p = softmax(logits).log()
        picked = torch.stack(
            [
                torch.stack([log_p[b, t, target[b, t]] for t in range(target.shape[1])])
                for b in range(len(target))
            ]
        )
        is_real = target != 0
        yield case(
            {"logits": logits, "target": target},
            lambda: my.token_loss(logits, target),
            -(picked[is_real].sum() / is_real.sum()),
            None,
            loss_counts_padding=lambda: -picked.mean(),
            divided_by_padding=lambda: -(picked * is_real).mean(),
            mean_of_means=lambda: -((picked * is_real).sum(1) / is_real.sum(1)).mean(),
            loss_without_eos=lambda: -picked[is_real & (target != EOS)].mean(),
            loss_summed=lambda: -(picked * is_real).sum(),
            divided_by_sentences=lambda: -(picked * is_real).sum() / len(is_real),
            loss_without_minus=lambda: picked[is_real].mean(),
            no_log=lambda: -picked.exp()[is_real].mean(),
            softmax_twice=lambda: F.cross_entropy(
                softmax(logits).flatten(0, 1), target.flatten(), ignore_index=0
            ),
        )
