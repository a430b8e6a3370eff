"""Laws of steps 14 to 16: training, translating, writing, the cache."""

import copy
import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attention_book.course.own_file.core import Case
from attention_book.course.own_file.laws.formulas import (
    BOS,
    EOS,
    PAD,
    case,
    drawn,
    ids,
    padded,
    plain_causal,
    plain_positions,
    plain_real,
    small_transformer,
    softmax,
)

# --- step 14 ---


def rate_formula(my: Any) -> Iterator[Case]:
    steps = range(1, 11)
    yield case(
        {"warmup": 4, "steps": 10},
        lambda: [my.lr_share(s, 4, 10) for s in steps],
        [s / 4 if s <= 4 else (11 - s) / 7 for s in steps],
        None,
        rate_never_falls=lambda: [min(1, s / 4) for s in steps],
        rate_ends_at_zero=lambda: [s / 4 if s <= 4 else (10 - s) / 6 for s in steps],
        rate_jumps=lambda: [s / 4 if s <= 4 else (11 - s) / 11 for s in steps],
        rate_jumps_half=lambda: [s / 4 if s <= 4 else (10 - s) / 10 for s in steps],
        rate_jumps__low=lambda: [min(s / 4, (11 - s) / 11) for s in steps],
        rate_jumps_half__low=lambda: [min(s / 4, (10 - s) / 10) for s in steps],
        rate_starts_at_zero=lambda: [(s - 1) / 4 if s <= 4 else (11 - s) / 7 for s in steps],
    )


def plain_train(
    model: nn.Module,
    batches: list[tuple[Tensor, Tensor]],
    peak: float,
    warmup: int,
    *,
    clip: bool = True,
    zero: bool = True,
    schedule: bool = True,
    shift: bool = True,
    late: int = 0,
    before: bool = False,
    anew: bool = False,
) -> list[float]:
    """Train with teacher forcing, or with a slip, and return the losses."""
    adam, losses = torch.optim.Adam(model.parameters(), lr=peak), []
    for step, (source, target) in enumerate(batches, 1):
        s, n = step - late, len(batches)
        if anew:
            adam = torch.optim.Adam(model.parameters(), lr=peak)
        if schedule:
            adam.param_groups[0]["lr"] = peak * (
                s / warmup if s <= warmup else (n + 1 - s) / (n + 1 - warmup)
            )
        logits = model(source, target[:, :-1] if shift else target)
        want = target[:, 1:] if shift else target
        cost = F.cross_entropy(logits.flatten(0, 1), want.flatten(), ignore_index=PAD)
        if zero:
            adam.zero_grad()
        if before:
            adam.step()
        cost.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if not before:
            adam.step()
        losses.append(cost.item())
    return losses


def training_formula(my: Any) -> Iterator[Case]:
    source = torch.tensor([[4, 5, 6, 3], [7, 3, 0, 0]])
    target = torch.tensor([[2, 5, 6, 7, 3], [2, 8, 3, 0, 0]])
    batches = [(source, target), (source.flip(0), target.flip(0)), (source[:1], target[:1])]
    batches += batches[:1]
    first = small_transformer(my, depth=1)

    def run(**options: Any) -> list[float]:
        return plain_train(copy.deepcopy(first), batches, 0.02, 2, **options)

    yield case(
        {"peak": 0.02, "warmup": 2, "batches": 4},
        lambda: list(my.train_model(copy.deepcopy(first), batches, 0.02, 2)),
        run(),
        None,
        gradients_pile_up=lambda: run(zero=False),
        no_clipping=lambda: run(clip=False),
        constant_rate=lambda: run(schedule=False),
        not_shifted=lambda: run(shift=False),
        step_before_backward=lambda: run(before=True),
        rate_late=lambda: run(late=1),
        adam_made_anew=lambda: run(anew=True),
        losses_are_tensors=lambda: [torch.tensor(cost) for cost in run()],
        never_steps=lambda: [plain_train(copy.deepcopy(first), [b], 0.0, 2)[0] for b in batches],
    )


class Rigged(nn.Module):
    """A translator that writes the source back, whatever its weights."""

    def encode(self, source: Tensor) -> Tensor:
        return source

    def decode(
        self, target: Tensor, memory: Tensor, mask: Tensor, cache: dict[Any, Any] | None = None
    ) -> Tensor:
        start = 0 if cache is None else cache.get("past", 0)
        if cache is not None:
            cache["past"] = start + target.shape[1]
        places = (start + torch.arange(target.shape[1])).clamp(max=memory.shape[1] - 1)
        return 9.0 * F.one_hot(memory[:, places].clamp(min=1), 11).float()


def translating(my: Any) -> Iterator[Case]:
    source = torch.tensor([[4, 5, 6, 3], [7, 3, 0, 0]])
    yield case(
        {"source": source},
        lambda: my.greedy_decode(Rigged(), source),
        torch.tensor([[2, 4, 5, 6, 3], [2, 7, 3, 0, 0]]),
        ("一个照抄原文的译者", "a translator that copies"),
        writes_after_end=lambda: torch.tensor([[2, 4, 5, 6, 3], [2, 7, 3, 1, 1]]),
        stops_too_early=lambda: torch.tensor([[2, 4, 5], [2, 7, 3]]),
        without_bos=lambda: torch.tensor([[4, 5, 6, 3], [7, 3, 0, 0]]),
        first_place_read=lambda: torch.tensor([[2] + [4] * 29, [2] + [7] * 29]),
    )
    yield case(
        {"source": source, "most": 3},
        lambda: my.greedy_decode(Rigged(), source, 3),
        torch.tensor([[2, 4, 5], [2, 7, 3]]),
        ("至多 most 个词，连 <bos> 在内", "at most `most` tokens, <bos> included"),
        one_word_too_many=lambda: torch.tensor([[2, 4, 5, 6], [2, 7, 3, 0]]),
    )
    m = small_transformer(my)
    long, _ = padded()
    target = torch.full((3, 1), BOS)
    for _ in range(5):
        ended = (target == EOS).any(1)
        word = m.decode(target, m.encode(long), plain_real(long))[:, -1].argmax(-1)
        target = torch.cat((target, word.masked_fill(ended, PAD)[:, None]), 1)
    if bool((target == EOS).any(1).all()):  # it stops where all have ended
        target = target[:, : int((target == EOS).int().argmax(1).max()) + 1]
    yield case(
        {},
        lambda: my.greedy_decode(m, long, 6),
        target,
        ("跟一词一词、从头算的一样", "as word by word, computed from the start"),
    )


# --- step 15 ---


def small_writer(my: Any) -> Any:
    """Return the reader's language model, small, with drawn weights."""
    return drawn(my.Writer(11, d=8, heads=2, d_ff=16, depth=2))


def writer_formula(my: Any) -> Iterator[Case]:
    m, x = small_writer(my), ids(2, 5, words=11)
    yield case(
        {"ids": x},
        lambda: m(x),
        m.readout(m.decoder(x, plain_causal(5, 5))),
        None,
        no_causal_mask=lambda: m.readout(m.decoder(x)),
        no_readout=lambda: m.decoder(x, plain_causal(5, 5)),
    )


def sampling(my: Any) -> Iterator[Case]:
    logits = torch.tensor([[1.0, 3.0, 2.0, 0.0]]).double()

    def shares(function: Any) -> Any:
        torch.manual_seed(1)
        return F.one_hot(function(logits.expand(4000, 4)), 4).double().mean(0)

    for temperature, top_p in ((1.0, 1.0), (2.0, 1.0), (1.0, 0.7), (1.0, 0.1)):

        def run(
            t: float = temperature,
            exclusive: bool = False,
            sorted_ids: bool = False,
            sharp: bool = False,
            keep: bool = False,
            greedy: bool = False,
            by_share: bool = False,
        ) -> Tensor:
            p = softmax(logits[0] * t if sharp else logits[0] / t)
            p, order = p.sort(descending=True)
            before = p.cumsum(0) - (0 if exclusive else p)
            if by_share:
                p = p.masked_fill(p < top_p, 0)
                if not p.any():
                    raise RuntimeError
            elif not keep:
                p = p.masked_fill((before > top_p) if exclusive else (before >= top_p), 0)
            if greedy:
                p = torch.eye(4).double()[0]
            p = p / p.sum() if p.sum() > 0 else p
            return p if sorted_ids else torch.zeros(4).double().scatter(0, order, p)

        yield case(
            {"logits": logits[0], "temperature": temperature, "top_p": top_p},
            lambda: shares(lambda x: my.sample_next(x, temperature, top_p).view(-1)),
            run(),
            ("4000 次抽样里各词的份额", "shares in 4,000 draws"),
            tolerance=0.035,
            sorted_ids=lambda: run(sorted_ids=True),
            temperature_multiplied=lambda: run(sharp=True),
            temperature_ignored=lambda: run(t=1.0),
            top_p_ignored=lambda: run(keep=True),
            top_p_too_small=lambda: run(exclusive=True),
            top_p_by_probability=lambda: run(by_share=True),
            always_greedy=lambda: run(greedy=True),
        )
    yield case(
        {},
        lambda: tuple(my.sample_next(logits.expand(3, 4)).shape),
        (3, 1),
        ("形状", "the shape"),
        sample_without_axis=lambda: (3,),
    )


def writing(my: Any) -> Iterator[Case]:
    m, x = small_writer(my), ids(2, 3, words=11)
    want = x
    for _ in range(5):
        want = torch.cat((want, m(want)[:, -1].argmax(-1, keepdim=True)), 1)
    first = torch.cat((x, *[m(x)[:, -1].argmax(-1, keepdim=True)] * 5), 1)
    yield case(
        {"ids": x, "n": 5, "temperature": 1e-6},
        lambda: my.continue_text(m, x, 5, 1e-6),
        want,
        ("温度趋近 0，就是每步取最大", "as the temperature goes to 0, the likeliest each time"),
        write_without_prompt=lambda: want[:, 3:],
        write_last_word_only=lambda: _last_only(m, x),
        write_prompt_only=lambda: first,
    )


def _last_only(m: Any, x: Tensor) -> Tensor:
    for _ in range(5):
        x = torch.cat((x, m(x[:, -1:])[:, -1].argmax(-1, keepdim=True)), 1)
    return x


# --- step 16 ---


def stepwise(m: Any, x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Read a text in pieces, with a cache."""
    cache: dict[Any, Any] = {}
    return torch.cat([m(part, cache) for part in x.split(sizes, 1)], 1)


def top_left(m: Any, x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Read a text in pieces, each with a mask aligned at the first place."""
    cache: dict[Any, Any] = {}
    out, start = [], 0
    for part in x.split(sizes, 1):
        n = part.shape[1]
        h = m.decoder.embed.weight[part] * math.sqrt(8) + plain_positions(n, 8, start)
        start += n
        for layer in m.decoder.layers:
            h = layer(h, torch.ones(n, start).bool().tril(), cache=cache)
        out.append(m.readout(m.decoder.norm(h)))
    return torch.cat(out, 1)


def cache_formula(my: Any) -> Iterator[Case]:
    m, x = small_writer(my), ids(2, 6, words=11)

    def wrong(position: bool = True, keep: bool = True) -> Tensor:
        """Each word alone, at its place or at place 0, with the past or without."""
        out = []
        for t in range(6):
            h = m.decoder.embed.weight[x[:, : t + 1]] * math.sqrt(8)
            h = h + (plain_positions(t + 1, 8) if position else plain_positions(1, 8))
            if not keep:
                h = h[:, -1:]
            n = h.shape[1]
            for layer in m.decoder.layers:
                h = layer(h, plain_causal(n, n))
            out.append(m.readout(m.decoder.norm(h))[:, -1:])
        return torch.cat(out, 1)

    yield case(
        {"ids": x},
        lambda: stepwise(m, x, (1,) * 6),
        m(x),
        ("一词一词", "word by word"),
        top_left=lambda: top_left(m, x, (1,) * 6),
        positions_restart=lambda: wrong(position=False),
        cache_lost=lambda: wrong(keep=False),
        cache_and_place_lost=lambda: wrong(position=False, keep=False),
    )


def cache_pieces(my: Any) -> Iterator[Case]:
    m, x = small_writer(my), ids(2, 6, words=11)
    for sizes in ((3, 3), (2, 1, 3)):
        about = (f"一次 {sizes} 个词", f"in pieces of {sizes} words")
        yield case(
            {"ids": x},
            lambda: stepwise(m, x, sizes),
            m(x),
            about,
            top_left=lambda: top_left(m, x, sizes),
        )


def cache_branches(my: Any) -> Iterator[Case]:
    m, x = small_writer(my), ids(2, 6, words=11)

    def branch() -> Any:
        cache: dict[Any, Any] = {}
        m(x[:, :3], cache)
        other = dict(cache)
        m(x[:, :2], other)  # goes on in another way
        return m(x[:, 3:], cache)

    yield case({}, branch, m(x)[:, 3:])


def cache_spares(my: Any) -> Iterator[Case]:
    m, x, read = small_writer(my), ids(1, 3, words=11), []
    m.decoder.register_forward_pre_hook(lambda _, args: read.append(args[0].shape[1]))

    def count() -> list[int]:
        read.clear()
        my.continue_text(m, x, 4)
        return list(read)

    yield case(
        {"n": 4},
        count,
        [3, 1, 1, 1],
        ("每步读几个词", "how many words each step reads"),
        write_reads_all=lambda: [3, 4, 5, 6],
        write_forgets_prompt=lambda: [1, 1, 1, 1],
    )


def cache_translates(my: Any) -> Iterator[Case]:
    m = small_transformer(my)
    source, target = padded()
    memory, mask = m.encode(source), plain_real(source)

    def steps() -> Tensor:
        cache: dict[Any, Any] = {}
        return torch.cat([m.decode(word, memory, mask, cache) for word in target.split(1, 1)], 1)

    yield case(
        {"target": target}, steps, m(source, target), ("decode 带缓存", "decode with a cache")
    )
    yield case(
        {"start": 3},
        lambda: my.positional_encoding(4, 6, 3),
        plain_positions(4, 6, 3),
        ("从 start 数起", "counting from start"),
        start_ignored=lambda: plain_positions(4, 6),
    )
