"""Answers to the exercises on efficient attention."""

import math

import torch


def merge(first, second, *, rescale_u=True, swap=False, base=True):
    m1, s1, u1 = first
    m2, s2, u2 = second
    m = torch.where(m1 > m2, m1, m2)
    safe = torch.nan_to_num(m, neginf=0.0) if base else m
    c1, c2 = torch.exp(m1 - safe), torch.exp(m2 - safe)
    if swap:
        c1, c2 = 1 / c1, 1 / c2
    d1, d2 = (c1, c2) if rescale_u else (torch.ones_like(c1), torch.ones_like(c2))
    s = s1 * c1 + s2 * c2
    u = torch.einsum("q,qd->qd", d1, u1) + torch.einsum("q,qd->qd", d2, u2)
    return m, s, u


def one_side(first, second):
    m = torch.maximum(first[0], second[0])
    c = torch.where(m.isinf(), torch.zeros_like(m), torch.exp(first[0] - m))
    return m, first[1] * c + second[1], first[2] * c.unsqueeze(-1) + second[2]


def other_side(first, second):
    return one_side(second, first)


def divided(first, second):
    m, s, u = merge(first, second)
    return m, s, torch.where(s[:, None] > 0, u / s[:, None], u)


def logs(first, second):
    m = torch.maximum(first[0], second[0])
    together = torch.logaddexp(first[0] + first[1].log(), second[0] + second[1].log())
    s = torch.where(m == -math.inf, 0.0, torch.exp(together - m))
    shares = [torch.where(p[0] == -math.inf, 0.0, torch.exp(p[0] - m)) for p in (first, second)]
    return m, s, shares[0][:, None] * first[2] + shares[1][:, None] * second[2]


def cleared(first, second):
    """Clear the factors of the parts that saw nothing."""
    m = torch.maximum(first[0], second[0])
    c1, c2 = (torch.exp(part[0] - m).nan_to_num(0.0) for part in (first, second))
    return m, s_of(first, c1) + s_of(second, c2), u_of(first, c1) + u_of(second, c2)


def s_of(part, factor):
    return part[1] * factor


def u_of(part, factor):
    return part[2] * factor[:, None]


def all_or_nothing(first, second):
    """Hand a part through if the other saw nothing at all."""
    for part, other in ((first, second), (second, first)):
        if part[0].isinf().all():
            return other
    return merge(first, second, base=False)


def from_zero(first, second):
    """Undo the maxima before merging: exponentials of scores that are far apart overflow."""
    m = torch.maximum(first[0], second[0])
    safe = m.nan_to_num(neginf=0.0)
    whole = [(part[0].exp(), part) for part in (first, second)]
    s = sum(s_of(part, factor) for factor, part in whole) / safe.exp()
    u = sum(u_of(part, factor) for factor, part in whole) / safe.exp()[:, None]
    return m, s, u


def by_mean(first, second):
    m, s, u = merge(first, second)
    return m, s / 2, u / 2


def with_base(choose):
    """Rescale to another number than the maximum."""

    def answer(first, second):
        m = choose(first[0], second[0])
        c1, c2 = (torch.exp(part[0] - m.nan_to_num(neginf=0.0)) for part in (first, second))
        return m, s_of(first, c1) + s_of(second, c2), u_of(first, c1) + u_of(second, c2)

    return answer


def chosen(first, second):
    """Keep the part of the larger maximum."""
    larger = first[0] >= second[0]
    return (
        torch.where(larger, first[0], second[0]),
        torch.where(larger, first[1], second[1]),
        torch.where(larger[:, None], first[2], second[2]),
    )


def written_into(first, second):
    m, s, u = merge(first, second)
    first[1].copy_(s)
    return m, s, u


def changed(**parts):
    """Change one of the three after merging rightly."""

    def answer(first, second):
        merged = dict(zip("msu", merge(first, second), strict=True))
        merged |= {name: change(merged, first, second) for name, change in parts.items()}
        return merged["m"], merged["s"], merged["u"]

    return answer


def by_group(keys, num_heads):
    size = num_heads // keys.shape[1]
    return torch.stack([keys[:, head // size] for head in range(num_heads)], dim=1)


def expanded(keys, num_heads, *, axis=2):
    b, h, n, d = keys.shape
    sizes = (b, h, num_heads // h, n, d) if axis == 2 else (b, num_heads // h, h, n, d)
    return keys.unsqueeze(axis).expand(sizes).reshape(b, num_heads, n, d)


RIGHT = {
    "merge-softmax": [merge, logs, cleared],
    "repeat-key-heads": [by_group, expanded],
}

WRONG = {
    "merge-softmax": [
        (lambda a, b: (torch.maximum(a[0], b[0]), a[1] + b[1], a[2] + b[2]), "not-rescaled"),
        (lambda a, b: merge(a, b, rescale_u=False), "only-totals"),
        (one_side, "one-side"),
        (other_side, "one-side"),
        (lambda a, b: merge(a, b, base=False), "nan-from-nothing"),
        (all_or_nothing, "nan-from-nothing"),
        (lambda a, b: merge(a, b, swap=True), "upside-down"),
        (divided, "normalized"),
        (chosen, "larger-alone"),
        (from_zero, "overflow"),
        (by_mean, "averaged"),
        (with_base(torch.minimum), "smaller-maximum"),
        (with_base(torch.add), "rejected"),
        (changed(m=lambda merged, a, b: a[0]), "rejected"),
        (changed(s=lambda merged, a, b: a[1] + b[1]), "only-sums"),
        (changed(m=lambda merged, a, b: merged["m"] + merged["s"].log()), "rejected"),
        (changed(m=lambda merged, a, b: merged["m"].nan_to_num(neginf=0.0)), "rejected"),
        (changed(m=lambda merged, a, b: merged["m"].clamp(min=-1e9)), "rejected"),
        (changed(m=lambda merged, a, b: merged["m"].clamp(min=0)), "rejected"),
        (changed(s=lambda merged, a, b: merged["s"] + 1e-3), "rejected"),
        (lambda a, b: list(merge(a, b))[:2], "rejected"),
        (lambda a, b: merge(a, b)[2] / merge(a, b)[1][:, None], "type"),
        (written_into, "input"),
    ],
    "repeat-key-heads": [
        (lambda k, h: torch.cat([k] * (h // k.shape[1]), dim=1), "in-turns"),
        (lambda k, h: expanded(k, h, axis=1), "in-turns"),
        (lambda k, h: k[:, [i // h for i in range(h * k.shape[1])]], "too-many"),
        (lambda k, h: k.repeat_interleave(h // k.shape[1], dim=-2), "along-keys"),
        (lambda k, h: k.repeat_interleave(h // k.shape[1], dim=-1), "along-features"),
        (lambda k, h: k.repeat_interleave(h // k.shape[1], dim=0), "along-the-batch"),
        (lambda k, h: k, "not-repeated"),
        (lambda k, h: k.repeat_interleave(2, dim=1), "rejected"),
        (lambda k, h: k[:, :1].expand(-1, h, -1, -1), "first-head-alone"),
        (lambda k, h: by_group(k.flip(1), h), "rejected"),
        (lambda k, h: k.unsqueeze(2).repeat(1, 1, h // k.shape[1], 1, 1), "groups-apart"),
        (
            lambda k, h: k.repeat_interleave(h // k.shape[1]).view(len(k), h, *k.shape[2:]),
            "raw",
        ),
        (lambda k, h: k.mean(dim=1, keepdim=True).expand(-1, h, -1, -1), "rejected"),
        (lambda k, h: by_group(k, h) / (h // k.shape[1]), "rejected"),
        (lambda k, h: k.repeat_interleave(h - k.shape[1] + 1, dim=1), "rejected"),
        (lambda k, h: by_group(k, h).mT, "rejected"),
    ],
}
