"""Answers to the exercises on patterns, applications and language models."""

import math

import torch


# select-keys
def by_sorting(scores, k, see):
    """Row by row."""
    chosen = torch.zeros_like(see)
    for row, (given, seen) in enumerate(zip(scores.tolist(), see.tolist(), strict=True)):
        visible = [key for key, is_seen in enumerate(seen) if is_seen]
        for key in sorted(visible, key=lambda key: -given[key])[:k]:
            chosen[row, key] = True
    return chosen


def by_topk(scores, k, see):
    best = scores.masked_fill(~see, -torch.inf).topk(min(k, scores.shape[-1])).indices
    return torch.zeros_like(see).scatter(-1, best, torch.ones_like(see)) & see


def by_counting(scores, k, see, *, worse=False):
    """Keep a key that fewer than k visible ones exceed."""
    better = scores[:, None, :] > scores[:, :, None]
    better = better.mT if worse else better
    return ((better & see[:, None, :]).sum(-1) < k) & see


def by_a_threshold(scores, k, see):
    """Keep what is above the mean: not a number of keys."""
    return (scores > scores.mean(-1, keepdim=True)) & see


def selected_into(scores, k, see):
    scores.masked_fill_(~see, -torch.inf)
    return by_topk(scores, k, see)


# route-blocks
def routed_by_hand(queries, keys, size, count, *, past=lambda home: range(home), pool=torch.mean):
    seen = torch.zeros(len(queries), len(keys), dtype=torch.bool)
    for i, query in enumerate(queries):
        home = i // size
        fit = {b: float(pool(keys[b * size : (b + 1) * size], 0) @ query) for b in past(home)}
        best = sorted(fit, key=fit.get, reverse=True)[: count - 1]
        for j in range(i + 1):
            seen[i, j] = j // size in [home, *best]
    return seen


def routed_by_sums(queries, keys, size, count):
    return routed_by_hand(queries, keys, size, count, pool=torch.sum)


def routed_whole(queries, keys, size, count):
    """All blocks at once, by padding: the means of a part are those of a whole, and never used."""
    padded = torch.nn.functional.pad(keys, (0, 0, 0, -len(keys) % size))
    means = padded.unflatten(0, (-1, size)).mean(1)
    home = torch.arange(len(queries)) // size
    past = torch.arange(len(means)) < home[:, None]
    fit = (queries @ means.mT).masked_fill(~past, -torch.inf)
    rank = fit.argsort(-1, descending=True).argsort(-1)
    chosen = (past & (rank < count - 1)) | (torch.arange(len(means)) == home[:, None])
    return chosen.repeat_interleave(size, 1)[:, : len(keys)].tril()


def routed_in_whole_blocks_alone(queries, keys, size, count):
    whole = len(keys) // size * size
    seen = torch.zeros(len(keys), len(keys), dtype=torch.bool)
    seen[:whole, :whole] = routed_by_hand(queries[:whole], keys[:whole], size, count)
    return seen


def routed_by_the_block_of_queries(queries, keys, size, count):
    """All queries of a block take the choice of its last one."""
    last = (torch.arange(len(queries)) // size * size + size - 1).clamp(max=len(queries) - 1)
    return routed_by_hand(queries[last], keys, size, count)


# layers-needed
def farthest(mask):
    """By walking: the longest of the shortest ways, or None where one is missing."""
    ways = []
    for start in range(len(mask)):
        steps, frontier = {start: 0}, [start]
        while frontier:
            near = {j for i in frontier for j in mask[i].nonzero().flatten().tolist()}
            frontier = sorted(near - set(steps))
            steps.update(dict.fromkeys(frontier, max(steps.values()) + 1))
        if len(steps) < len(mask):
            return None
        ways.append(max(steps.values()))
    return max(ways)


def powers(mask, *, diagonal=True, first=0, never=None, most=None, done=torch.all):
    step = mask | torch.eye(len(mask)).bool() if diagonal else mask
    reached = torch.eye(len(mask)).bool() if first == 0 else step
    for num_layers in range(first, 3 * len(mask) if most is None else most):
        if done(reached):
            return num_layers
        reached = (step.int() @ reached.int()) > 0
    return never


def small_numbers(mask):
    """Multiply without asking in between whether a sum is positive: in 8 bits it wraps around."""
    step = (mask | torch.eye(len(mask)).bool()).to(torch.uint8)
    reached = torch.eye(len(mask), dtype=torch.uint8)
    for num_layers in range(len(mask)):
        if (reached > 0).all():
            return num_layers
        reached = step @ reached
    return None


def written_into(mask):
    mask.fill_diagonal_(True)
    return powers(mask)


# merge-softmax
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


def with_base(choose):
    """Rescale to another number than the maximum."""

    def answer(first, second):
        m = choose(first[0], second[0])
        c1, c2 = (torch.exp(part[0] - m.nan_to_num(neginf=0.0)) for part in (first, second))
        return m, s_of(first, c1) + s_of(second, c2), u_of(first, c1) + u_of(second, c2)

    return answer


def merged_into(first, second):
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


# mase
def mase(forecast, actual, past, period, *, lag=None, power=1, unit=None, total=False):
    """Count it up value by value."""
    lag = lag or period
    if unit is None:
        steps = [abs(float(past[t] - past[t - lag])) for t in range(lag, len(past))]
        unit = sum(steps) / len(steps)
    errors = [abs(float(a - b)) ** power for a, b in zip(forecast, actual, strict=True)]
    count = 1 if total else len(errors)
    return torch.tensor((sum(errors) / count) ** (1 / power) / unit)


def with_unit(unit):
    return lambda f, a, p, m: (f - a).abs().mean() / unit(f, a, p, m)


def of_the_future(forecast, actual, past, period):
    lag = min(period, len(actual) - 1)
    differences = (actual[lag:] - actual[: len(actual) - lag]).abs()
    return (actual - forecast).abs().mean() / differences.mean()


def lagged(series, m):
    return series[m:] - series[:-m]


# scaled-by-the-past
def scaled(values, origin, *, end=None, correction=1, epsilon=0.0):
    known = values[: origin if end is None else end(values, origin)]
    std = known.std(correction=correction) + epsilon
    return values / std - known.mean() / std


def scaled_into(values, origin):
    known = values[:origin].clone()
    values -= known.mean()
    return values / known.std()


def in_two_steps(values, origin):
    centered = values - values[:origin].sum() / origin
    return centered / (centered[:origin].square().sum() / (origin - 1)).sqrt()


# patches
def cut(image, size, *, step=None, end=0, order=lambda places: places):
    height, width = image.shape
    step = size if step is None else step
    rows = order(range(0, height - end, step))
    columns = order(range(0, width - end, step))
    return torch.stack([image[y : y + size, x : x + size].flatten() for y in rows for x in columns])


def columns_first(image, size):
    height, width = image.shape
    return torch.stack(
        [
            image[y : y + size, x : x + size].flatten()
            for x in range(0, width, size)
            for y in range(0, height, size)
        ]
    )


def as_if_square(image, size):
    n = image.shape[0] // size
    return image.reshape(n, size, n, size).transpose(1, 2).reshape(n * n, size**2)


# hide-patches
def hide(visible):
    mask = torch.ones(len(visible), 1, visible.shape[1] + 1, dtype=torch.bool)
    mask[:, 0, 1:] = visible
    return mask


def at_the_end(visible):
    mask = torch.ones(len(visible), 1, visible.shape[1] + 1, dtype=torch.bool)
    mask[:, 0, :-1] = visible
    return mask


def without_class(visible):
    mask = hide(visible)
    mask[:, :, 0] = False
    return mask


def hidden_into(visible):
    visible[:, 0] |= True
    return hide(visible)


# top-p
def nucleus_by_hand(probabilities, p, *, stop=lambda total, p: total >= p, descending=True):
    total, kept = 0.0, torch.zeros_like(probabilities)
    for index in probabilities.argsort(descending=descending, stable=True).tolist():
        if stop(total, p):
            break
        total += float(probabilities[index])
        kept[index] = probabilities[index]
    return kept / kept.sum()


def by_count(x, p, more=0):
    """Keep the first so many of the sorted words."""
    values, order = x.sort(descending=True)
    count = int((values.cumsum(0) < p).sum()) + 1 + more
    kept = torch.zeros_like(x)
    kept[order[:count]] = values[:count]
    return kept / kept.sum()


def scattered(x, rule):
    values, order = torch.sort(x, descending=True)
    kept = values * rule(values.cumsum(0), values)
    out = torch.zeros_like(x)
    out[order] = kept / kept.sum()
    return out


def sum_kept(x, p):
    return x[nucleus_by_hand(x, p) > 0].sum()


def softened(x, p, *, inputs):
    return inputs(x).masked_fill(nucleus_by_hand(x, p) == 0, -torch.inf).softmax(dim=-1)


# prefix-mask
def rows_and_columns(lengths, n):
    i, j = torch.arange(n)[:, None], torch.arange(n)
    return (j <= i) | (j < lengths[:, None, None])


def one_by_one(lengths, n):
    mask = torch.ones(len(lengths), n, n).tril().bool()
    for each, length in zip(mask, lengths.tolist(), strict=True):
        each[:length, :length] = True
    return mask


def causal(n):
    return torch.ones(n, n).tril().bool()


RIGHT = {
    "select-keys": [by_sorting, by_topk, by_counting],
    "route-blocks": [routed_by_hand, routed_by_sums, routed_whole],
    "layers-needed": [farthest, powers, lambda mask: powers(mask, most=len(mask))],
    "merge-softmax": [merge, logs, cleared],
    "mase": [mase, with_unit(lambda f, a, p, m: lagged(p, m).abs().mean())],
    "scaled-by-the-past": [scaled, in_two_steps],
    "patches": [
        cut,
        lambda image, size: image.unfold(0, size, size).unfold(1, size, size).reshape(-1, size**2),
        lambda image, size: torch.cat(
            [
                torch.stack([each.flatten() for each in strip.split(size, dim=1)])
                for strip in image.split(size)
            ]
        ),
    ],
    "hide-patches": [
        hide,
        lambda visible: torch.nn.functional.pad(visible, (1, 0), value=True).unsqueeze(1),
        lambda visible: torch.cat((torch.ones(len(visible), 1) > 0, visible), dim=1)[:, None],
    ],
    "top-p": [
        nucleus_by_hand,
        by_count,
        lambda x, p: scattered(x, lambda sums, values: sums - values < p),
        lambda x, p: softened(x, p, inputs=torch.log),
    ],
    "prefix-mask": [rows_and_columns, one_by_one],
}

WRONG = {
    "select-keys": {
        "mask-too-late": [lambda x, k, see: by_topk(x, k, torch.ones_like(see)) & see],
        "lowest": [lambda x, k, see: by_counting(x, k, see, worse=True)],
        "dtype": [lambda x, k, see: by_topk(x, k, see).float()],
        "input": [selected_into],
        "rejected": [
            by_a_threshold,
            lambda x, k, see: by_topk(x.abs(), k, see),
            lambda x, k, see: by_topk(x, k, see)[:, :-1],
            lambda x, k, see: by_topk(x, k, see) | ~see,
            lambda x, k, see: by_topk(x, 2, see),
            lambda x, k, see: by_topk(x, k, see) if k <= x.shape[-1] else ~see & see,
            lambda x, k, see: by_topk(x.flip(-1), k, see),
        ],
    },
    "route-blocks": {
        "own-block-ranked": [
            lambda q, k, n, c: routed_by_hand(q, k, n, c, past=lambda home: range(home + 1))
        ],
        "one-too-many": [lambda q, k, n, c: routed_by_hand(q, k, n, c + 1)],
        "dtype": [lambda q, k, n, c: routed_by_hand(q, k, n, c).float()],
        "rejected": [
            routed_in_whole_blocks_alone,
            routed_by_the_block_of_queries,
            lambda q, k, n, c: routed_by_hand(q, k, n, c).mT,
            lambda q, k, n, c: routed_by_hand(k, q, n, c),
            lambda q, k, n, c: routed_by_hand(q, k, c, n),
            lambda q, k, n, c: routed_by_hand(q, k.abs(), n, c),
            lambda q, k, n, c: routed_by_hand(q, k / k.norm(dim=-1, keepdim=True), n, c),
        ],
    },
    "layers-needed": {
        "no-residual": [lambda mask: powers(mask, diagonal=False)],
        "single-position": [lambda mask: powers(mask, first=1)],
        "input": [written_into],
        "rejected": [
            lambda mask: powers(mask, most=8),
            lambda mask: powers(mask, most=10),
            lambda mask: powers(mask, done=torch.any),
            small_numbers,
            lambda mask: int(mask.sum(-1).float().mean()),
            lambda mask: -(-(len(mask) - 1) // max(1, int(mask[0].sum()) - 1)),
        ],
    },
    "merge-softmax": {
        "not-rescaled": [lambda a, b: (torch.maximum(a[0], b[0]), a[1] + b[1], a[2] + b[2])],
        "only-totals": [lambda a, b: merge(a, b, rescale_u=False)],
        "type": [lambda a, b: merge(a, b)[2] / merge(a, b)[1][:, None]],
        "input": [merged_into],
        "rejected": [
            with_base(torch.add),
            changed(m=lambda merged, a, b: a[0]),
            changed(m=lambda merged, a, b: merged["m"] + merged["s"].log()),
            changed(m=lambda merged, a, b: merged["m"].nan_to_num(neginf=0.0)),
            changed(m=lambda merged, a, b: merged["m"].clamp(min=-1e9)),
            changed(m=lambda merged, a, b: merged["m"].clamp(min=0)),
            changed(s=lambda merged, a, b: merged["s"] + 1e-3),
            lambda a, b: list(merge(a, b))[:2],
        ],
    },
    "mase": {
        "unit-from-the-future": [of_the_future],
        "period-ignored": [lambda f, a, p, m: mase(f, a, p, m, lag=1)],
        "rejected": [
            lambda f, a, p, m: mase(f, a, p, m, lag=m + 1),
            lambda f, a, p, m: ((f - a).abs() / a.abs()).mean(),
            lambda f, a, p, m: 1 / mase(f, a, p, m),
            with_unit(lambda f, a, p, m: lagged(p, m).square().mean().sqrt()),
            with_unit(lambda f, a, p, m: lagged(p, m).abs().median()),
            lambda f, a, p, m: mase(f, a, p, m).clamp(max=1),
        ],
    },
    "scaled-by-the-past": {
        "the-future-counts": [lambda v, o: scaled(v, o, end=lambda v, o: len(v))],
        "one-too-many": [lambda v, o: scaled(v, o, end=lambda v, o: o + 1)],
        "input": [scaled_into],
        "rejected": [
            lambda v, o: scaled(v, o)[o:],
            lambda v, o: (v - v[:o].median()) / v[:o].std(),
            lambda v, o: (v - v[o - 1]) / v[:o].std(),
            lambda v, o: v / v[:o].std() - v[:o].mean(),
        ],
    },
    "patches": {
        "strips": [lambda image, size: image.flatten().view(-1, size**2)],
        "column-by-column": [columns_first],
        "type": [lambda image, size: list(cut(image, size))],
        "rejected": [
            lambda image, size: cut(image, size, end=size),
            lambda image, size: cut(image, size)[:-1],
            lambda image, size: cut(image, size, order=reversed),
            lambda image, size: cut(image.flip(0), size),
            as_if_square,
            lambda image, size: cut(image, 2),
            lambda image, size: cut(image, size).mean(dim=1, keepdim=True),
            lambda image, size: cut(image, size).flatten(),
        ],
    },
    "hide-patches": {
        "class-token-last": [at_the_end],
        "class-token-hidden": [without_class],
        "type": [lambda visible: hide(visible).tolist()],
        "rejected": [
            lambda visible: hide(visible)[:, 0],
            lambda visible: torch.ones_like(hide(visible)),
            lambda visible: hide(visible)[:, None],
            hidden_into,
        ],
    },
    "top-p": {
        "crossing-dropped": [lambda x, p: scattered(x, lambda sums, values: sums < p)],
        "single-words": [lambda x, p: (x * (x > 1 - p)) / (x * (x > 1 - p)).sum()],
        "dtype": [lambda x, p: nucleus_by_hand(x, p) > 0],
        "input": [lambda x, p: x.mul_(nucleus_by_hand(x, p) > 0).div_(x.sum())],
        "no-word-too-many": [
            lambda x, p: (kept := x * (x >= x[nucleus_by_hand(x, p) > 0].min())) / kept.sum()
        ],
        "rejected": [
            lambda x, p: nucleus_by_hand(x, 1 - p),
            lambda x, p: torch.where(nucleus_by_hand(x, p) > 0, x, 1e-9) / sum_kept(x, p),
            lambda x, p: nucleus_by_hand(x, p)[nucleus_by_hand(x, p) > 0],
            lambda x, p: by_count(x[x > 0], p),
        ],
    },
    "prefix-mask": {
        "causal-only": [lambda k, n: causal(n).repeat(len(k), 1, 1)],
        "prefix-sees-all": [
            lambda k, n: (torch.arange(n)[:, None] < k[:, None, None]) | rows_and_columns(k * 0, n)
        ],
        "dtype": [lambda k, n: rows_and_columns(k, n).float()],
        "rejected": [
            lambda k, n: (torch.arange(n)[:, None] < k) | causal(n).repeat(len(k), 1, 1),
            lambda k, n: torch.ones(len(k), n, n).bool(),
            lambda k, n: rows_and_columns(k, n).squeeze(0),
            lambda k, n: (torch.arange(n) < k[:, None]) | causal(n)[: len(k)],
        ],
    },
}
