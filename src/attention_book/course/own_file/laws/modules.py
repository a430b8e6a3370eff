"""Laws of steps 7 to 13: looks, heads, positions, layers, stacks, the Transformer."""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.course.own_file.core import Case
from attention_book.course.own_file.laws.formulas import (
    case,
    draw,
    drawn,
    ids,
    padded,
    plain_attend,
    plain_causal,
    plain_positions,
    plain_real,
    plain_weights,
    small_transformer,
    softmax,
    some_mask,
)

# --- step 7 ---


def look_formula(my: Any) -> Iterator[Case]:
    look = drawn(my.Look(3, 4, 5))
    for mask in (None, torch.tensor([[[True, True, True, False]], [[True, False, False, False]]])):
        s, h = draw(2, 3), draw(2, 4, 4, seed=1)
        both = look.W_q(s)[:, None] + look.W_k(h)

        def found(hidden: Tensor, values: Tensor, mask: Tensor | None = mask) -> Any:
            scores = look.w_v(hidden)[..., 0]
            return (
                plain_weights(scores, None if mask is None else mask[:, 0])[..., None] * values
            ).sum(1)

        yield case(
            {"s": s, "h": h, "mask": mask},
            lambda: look(s, h, mask),
            found(both.tanh(), h),
            None,
            look_without_mask=lambda: found(both.tanh(), h, None),
            no_tanh=lambda: found(both, h),
            tanh_of_each=lambda: found(look.W_q(s).tanh()[:, None] + look.W_k(h).tanh(), h),
            look_scaled=lambda: found(both.tanh() / math.sqrt(5), h),
            look_keeps_axis=lambda: found(both.tanh(), h)[:, None],
            look_relu=lambda: found(both.relu(), h),
            look_keys_as_values=lambda: found(both.tanh(), look.W_k(h)),
            look_over_batch=lambda: (softmax(look.w_v(both.tanh()), 0) * h).sum(1),
        )


def look_of_other(my: Any) -> Iterator[Case]:
    look = drawn(my.Look(3, 4, 5))
    s, h = draw(2, 3), draw(2, 4, 4, seed=1)
    yield case(
        {}, lambda: torch.stack([look(s[i : i + 1], h[i : i + 1])[0] for i in range(2)]), look(s, h)
    )


# --- step 8, 9 ---


def one_head(my: Any) -> Any:
    """Return the reader's attention with one head, as step 8 has it."""
    a = drawn(my.AttentionLayer(4))
    if hasattr(a, "W_o"):  # from step 9 on: one head and no mixing is what step 8 had
        with torch.no_grad():
            a.W_o.weight.copy_(torch.eye(4))
            if a.W_o.bias is not None:
                a.W_o.bias.zero_()
    return a


def attention_formula(my: Any) -> Iterator[Case]:
    a = one_head(my)
    for two in (False, True):
        for mask in (None, some_mask()):
            x = draw(2, 3, 4)
            if not two and mask is not None:
                mask = mask[:, :3]
            y = draw(2, 4, 4, seed=1) if two else x
            call = (lambda: a(x, y, mask=mask)) if two else (lambda: a(x, mask=mask))
            q, k, v = a.W_q(x), a.W_k(y), a.W_v(y)
            yield case(
                {"x": x, "y": y if two else None, "mask": mask},
                call,
                plain_attend(q, k, v, mask),
                ("y 在另一句里", "y is another sentence") if two else None,
                attention_without_mask=lambda: plain_attend(q, k, v),
                y_ignored=lambda: plain_attend(
                    q, a.W_k(x), a.W_v(x), mask[:, :3] if mask is not None else None
                ),
                queries_from_y=lambda: plain_attend(a.W_q(y), a.W_k(x), a.W_v(x), mask),
                keys_as_values=lambda: plain_attend(q, k, k, mask),
                maps_swapped=lambda: plain_attend(a.W_k(x), a.W_q(y), v, mask),
                values_not_projected=lambda: plain_attend(q, k, y, mask),
                no_scale=lambda: plain_attend(q, k, v, mask, 1.0),
            )


def attention_moves(my: Any) -> Iterator[Case]:
    a, x, order = one_head(my), draw(1, 5, 4), torch.tensor([3, 0, 4, 1, 2])
    yield case({"order": order}, lambda: a(x[:, order]), a(x)[:, order])


def heads_formula(my: Any) -> Iterator[Case]:
    x = torch.arange(2 * 3 * 4).view(2, 3, 4)
    for heads in (2, 4):
        want = torch.stack(
            [x[..., h * (4 // heads) : (h + 1) * (4 // heads)] for h in range(heads)], 1
        )
        yield case(
            {"x": x, "heads": heads},
            lambda: my.split_into_heads(x, heads),
            want,
            None,
            split_by_view=lambda: x.reshape(2, heads, 3, 4 // heads),
            split_interleaved=lambda: x.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2),
            split_without_transpose=lambda: x.unflatten(-1, (heads, -1)),
        )
        yield case(
            {"x": want},
            lambda: my.concat_heads(want),
            x,
            ("merge", "merge"),
            merge_by_view=lambda: want.reshape(2, 3, 4),
            merge_heads_mixed=lambda: want.permute(0, 2, 3, 1).flatten(-2),
        )


def multi_head(my: Any) -> Iterator[Case]:
    a = drawn(my.AttentionLayer(8, 2))
    of_each = torch.stack([some_mask(), torch.ones(3, 4).bool()])
    for mask in (None, some_mask(), some_mask()[:2], of_each):
        x, y = draw(2, 3 if mask is None else mask.shape[-2], 8), draw(2, 4, 8, seed=1)
        q, k, v = a.W_q(x), a.W_k(y), a.W_v(y)

        def each_its_own(masks: list[Tensor | None], scale: float | None = None) -> Tensor:
            parts = zip(q.split(4, -1), k.split(4, -1), v.split(4, -1), masks, strict=True)
            return torch.cat([plain_attend(*part, scale) for part in parts], -1)

        def heads(mask: Tensor | None = mask, scale: float | None = None) -> Tensor:
            return each_its_own([mask, mask], scale)

        def per_head(mask: Tensor | None = mask) -> Tensor:
            own = [mask if mask is None or mask.ndim == 2 else mask[i] for i in (0, 1)]
            return each_its_own(own)

        def misplaced(mask: Tensor | None = mask) -> Tensor:
            """The axis of heads comes second whatever the mask's axes: rows become heads."""
            if mask is None or mask.ndim == 3:
                return heads()
            if len(mask) != 2:
                raise RuntimeError
            return each_its_own([mask[:1], mask[1:]])

        about = (
            ("掩码一句一张，头数恰好也是 2", "a mask for each sentence, and 2 heads as well")
            if (mask is not None and mask.ndim == 3)
            else None
        )
        yield case(
            {"x": x, "y": y, "mask": mask},
            lambda: a(x, y, mask=mask),
            a.W_o(heads()),
            about,
            mask_per_head=lambda: a.W_o(per_head()),
            mask_axis_misplaced=lambda: a.W_o(misplaced()),
            no_output_map=lambda: heads(),
            scale_of_all=lambda: a.W_o(heads(mask, 1 / math.sqrt(8))),
            attention_without_mask=lambda: a.W_o(heads(None)),
            one_head_only=lambda: a.W_o(plain_attend(q, k, v, mask)),
        )


def multi_head_torch(my: Any) -> Iterator[Case]:
    if not hasattr(nn, "MultiheadAttention"):  # the small torch of the book's pages has none
        return
    a, x = drawn(my.AttentionLayer(8, 4)), draw(2, 5, 8)
    theirs = nn.MultiheadAttention(8, 4, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat((a.W_q.weight, a.W_k.weight, a.W_v.weight)))
        theirs.out_proj.weight.copy_(a.W_o.weight)
    mask = plain_causal(5, 5)
    yield case({"x": x}, lambda: a(x, mask=mask), theirs(x, x, x, attn_mask=~mask)[0])


# --- step 10 ---


def positions_formula(my: Any) -> Iterator[Case]:
    for n, d in ((4, 6), (3, 4)):
        i, c = torch.arange(n).double()[:, None], torch.arange(0, d, 2).double()
        angle = i / 10000 ** (c / d)

        def mixed(a: Tensor, first: Any = torch.sin, second: Any = torch.cos) -> Tensor:
            return torch.stack((first(a), second(a)), -1).flatten(-2)

        yield case(
            {"n": n, "d": d},
            lambda: my.positional_encoding(n, d),
            plain_positions(n, d),
            None,
            sines_then_cosines=lambda: torch.cat((angle.sin(), angle.cos()), -1),
            cosine_first=lambda: mixed(angle, torch.cos, torch.sin),
            frequency_too_slow=lambda: mixed(i / 10000 ** (2 * c / d)),
            frequency_halved=lambda: mixed(i / 10000 ** (c / 2 / d)),
            angle_multiplied=lambda: mixed(i * 10000 ** (c / d)),
            counts_from_one=lambda: mixed((i + 1) / 10000 ** (c / d)),
            positions_transposed=lambda: mixed(angle).T,
        )


def positions_turn(my: Any) -> Iterator[Case]:
    p = my.positional_encoding(9, 8).double()
    yield case({}, lambda: (p[1:] * p[:-1]).sum(-1), (p[1] * p[0]).sum().expand(8))


# --- step 11 ---


def layer_formula(my: Any) -> Iterator[Case]:
    for cross in (False, True):
        layer = drawn(my.TransformerLayer(8, 2, 16, cross=cross))
        x, memory = draw(2, 3, 8), draw(2, 4, 8, seed=1)
        mask, memory_mask = (
            plain_causal(3, 3),
            torch.tensor([[[True, True, True, False]], [[True, False, False, False]]]),
        )

        def run(
            mask: Any = mask,
            memory_mask: Any = memory_mask,
            plus: tuple[int, int, int] = (1, 1, 1),
            before: tuple[bool, bool, bool] = (True, True, True),
            look: bool = cross,
            first: Any = layer.norm_1,
            itself: bool = False,
        ) -> Any:
            def asks(z: Tensor) -> Any:
                return layer.cross(z, mask=mask) if itself else layer.cross(z, memory, memory_mask)

            def moved(x: Tensor, norm: Any, f: Any, i: int) -> Any:
                return plus[i] * x + f(norm(x) if before[i] else x)

            h = moved(x, first, lambda z: layer.attention(z, mask=mask), 0)
            if look:
                h = moved(h, layer.norm_2, asks, 1)
            return moved(h, layer.norm_3, layer.feed_forward, 2)

        def post() -> Any:
            h = layer.norm_1(x + layer.attention(x, mask=mask))
            if cross:
                h = layer.norm_2(h + layer.cross(h, memory, mask=memory_mask))
            return layer.norm_3(h + layer.feed_forward(h))

        given = {"x": x, "mask": mask, "memory": memory if cross else None}
        call = (lambda: layer(x, mask, memory, memory_mask)) if cross else (lambda: layer(x, mask))
        yield case(
            given,
            call,
            run(),
            ("看得见原文的一层", "a layer that sees a source") if cross else None,
            post_norm=post,
            no_plus_attention=lambda: run(plus=(0, 1, 1)),
            no_plus_cross=lambda: run(plus=(1, 0, 1)),
            no_plus_feed_forward=lambda: run(plus=(1, 1, 0)),
            layer_without_mask=lambda: run(mask=None),
            memory_mask_lost=lambda: run(memory_mask=None),
            cross_forgotten=lambda: run(look=False),
            cross_asks_itself=lambda: run(itself=True),
            norms_swapped=lambda: run(first=layer.norm_3),
            no_norm=lambda: run(before=(False, False, False)),
            norm_once_missing=lambda: run(before=(True, True, False)),
        )


def layer_bends(my: Any) -> Iterator[Case]:
    layer = drawn(my.TransformerLayer(8, 2, 16))
    x = draw(1, 1, 8)
    f = layer.feed_forward
    yield case({}, lambda: not torch.allclose(f(x) + f(-x), 2 * f(torch.zeros_like(x))), True)


def layer_width(my: Any) -> Iterator[Case]:
    f = my.TransformerLayer(8, 2, 24).feed_forward
    yield case({"d": 8, "d_ff": 24}, lambda: sorted({p.shape[0] for p in f.parameters()}), [8, 24])


# --- step 12 ---


def stack_formula(my: Any) -> Iterator[Case]:
    for cross in (False, True):
        stack = drawn(my.Stack(9, 8, 2, 16, 3, cross=cross))
        x, memory = ids(2, 4), draw(2, 5, 8, seed=1)
        mask, memory_mask = (
            plain_causal(4, 4),
            torch.tensor([[[True] * 3 + [False] * 2], [[True] * 5]]),
        )
        extra = (memory, memory_mask) if cross else ()

        def run(
            scale: float = math.sqrt(8),
            place: float = 1.0,
            depth: int = 3,
            last: bool = True,
            mask: Any = mask,
            extra: tuple[Any, ...] = extra,
            norms: bool = False,
        ) -> Any:
            h = stack.embed.weight[x] * scale + place * plain_positions(4, 8)
            for layer in list(stack.layers)[:depth]:
                h = layer(h, mask, *extra)
                h = stack.norm(h) if norms else h
            return stack.norm(h) if last else h

        yield case(
            {"ids": x, "mask": mask},
            lambda: stack(x, mask, *extra),
            run(),
            ("看得见原文的一摞", "a stack that sees a source") if cross else None,
            embedding_not_scaled=lambda: run(scale=1.0),
            embedding_scaled_by_d=lambda: run(scale=8.0),
            no_positions=lambda: run(place=0.0),
            positions_scaled=lambda: run(place=math.sqrt(8)),
            first_layer_only=lambda: run(depth=1),
            no_last_norm=lambda: run(last=False),
            norm_in_loop=lambda: run(last=False, norms=True),
            stack_without_mask=lambda: run(mask=None),
            stack_without_memory=lambda: run(extra=()),
            stack_without_memory_mask=lambda: run(extra=(memory, None) if cross else ()),
        )


def stack_layers(my: Any) -> Iterator[Case]:
    stack = my.Stack(9, 8, 2, 16, 3)
    one = sum(p.numel() for p in my.TransformerLayer(8, 2, 16).parameters())
    yield case(
        {"depth": 3},
        lambda: sum(p.numel() for p in stack.parameters()),
        3 * one + 9 * 8 + 16,
        None,
        layers_shared=lambda: one + 9 * 8 + 16,
        layers_in_list=lambda: 9 * 8 + 16,
    )
    wide = my.Stack(200, 64, 2, 16, 1).embed.weight
    yield case(
        {},
        lambda: round(wide.std().item() * 8, 1),
        1.0,
        ("嵌入的标准差是 1/√d", "the embedding's standard deviation is 1/√d"),
        embedding_too_large=lambda: 8.0,
    )


# --- step 13 ---


def transformer_formula(my: Any) -> Iterator[Case]:
    m = small_transformer(my)
    source, target = padded()

    def run(
        own: Any = "real", mask: Any = "causal", memory_mask: Any = "real", memory: Any = None
    ) -> Any:
        own = plain_real(source) if own == "real" else own
        mask = plain_causal(4, 4) if isinstance(mask, str) else mask
        memory_mask = plain_real(source) if isinstance(memory_mask, str) else memory_mask
        memory = m.encoder(source, own) if memory is None else memory
        return m.readout(m.decoder(target, mask, memory, memory_mask))

    yield case(
        {"source": source, "target": target},
        lambda: m(source, target),
        run(),
        None,
        no_causal_mask=lambda: run(mask=None),
        encoder_sees_padding=lambda: run(own=None),
        memory_mask_lost=lambda: run(memory_mask=None),
        padding_seen_everywhere=lambda: run(own=None, memory_mask=None),
        encoder_causal=lambda: run(own=plain_causal(5, 5)),
        no_readout=lambda: m.decoder(
            target, plain_causal(4, 4), m.encoder(source, plain_real(source)), plain_real(source)
        ),
        softmax_in_model=lambda: softmax(run()),
        decoder_ignores_source=lambda: m.readout(m.decoder(target, plain_causal(4, 4))),
    )


def transformer_laws(my: Any) -> Iterator[Case]:
    m = small_transformer(my)
    source, target = padded()
    other = target.clone()
    other[:, -1] = 4
    yield case(
        {},
        lambda: m(source, other)[:, :-1],
        m(source, target)[:, :-1],
        ("换掉最后一个词，前面的预测不动", "another last word moves no earlier prediction"),
    )
    longer = F.pad(source, (0, 3))
    yield case(
        {},
        lambda: m(longer, target),
        m(source, target),
        ("多三格填充，什么也不变", "three more places of padding move nothing"),
    )
    turned = source.clone()
    turned[:, :2] = source[:, :2].flip(1)
    yield case(
        {},
        lambda: not torch.allclose(m(turned, target), m(source, target)),
        True,
        ("源词换了次序，预测要变", "source words in another order move the predictions"),
    )
    memory = m.encode(source)
    yield case(
        {},
        lambda: m.decode(target, memory, plain_real(source)),
        m(source, target),
        ("先 encode 后 decode", "encode, then decode"),
    )
