"""Answers to the exercises on patterns, applications and language models."""

import math

import torch


# fixed-pattern
def by_hand(visible):
    """Fill a mask from a rule for one query and one key."""

    def fixed(num_positions, block_size, num_summaries):
        start = block_size - num_summaries
        return torch.tensor(
            [
                [visible(i, j, block_size, start) for j in range(num_positions)]
                for i in range(num_positions)
            ]
        )

    return fixed


def same(i, j, size):
    return i // size == j // size


def by_slices(num_positions, block_size, num_summaries):
    mask = torch.zeros(num_positions, num_positions, dtype=torch.bool)
    for start in range(0, num_positions, block_size):
        end = start + block_size
        mask[start:end, start:end] = True
        mask[end:, end - num_summaries : end] = True
    return mask.tril()


def summaries_by_a_negative_slice(num_positions, block_size, num_summaries):
    summary = torch.zeros(num_positions, dtype=torch.bool)
    for block in summary.split(block_size):
        block[-num_summaries:] = True
    blocks = torch.arange(num_positions) // block_size
    return ((blocks[:, None] == blocks) | summary).tril()


def whole_blocks(num_positions, block_size, num_summaries):
    count = num_positions // block_size
    inside = torch.block_diag(*[torch.ones(block_size, block_size)] * count).bool()
    padded = torch.zeros(num_positions, num_positions, dtype=torch.bool)
    padded[: len(inside), : len(inside)] = inside
    places = torch.arange(num_positions)
    return (padded | (places % block_size >= block_size - num_summaries)).tril()


right = by_hand(lambda i, j, size, start: j <= i and (same(i, j, size) or j % size >= start))


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
    "fixed-pattern": [
        right,
        by_slices,
        lambda n, size, c: torch.stack(
            [
                (torch.arange(n) <= i)
                & ((torch.arange(n) >= i // size * size) | (torch.arange(n) % size + c >= size))
                for i in range(n)
            ]
        ),
    ],
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
    "fixed-pattern": {
        "future": [by_hand(lambda i, j, b, s: same(i, j, b) or j % b >= s)],
        "and-for-or": [
            by_hand(
                lambda i, j, b, s: j <= i and same(i, j, b) and j % b >= s,
            )
        ],
        "dtype": [lambda n, b, c: right(n, b, c).float()],
        "rejected": [
            summaries_by_a_negative_slice,
            whole_blocks,
            lambda n, b, c: right(n // b * b, b, c),
            lambda n, b, c: right(n, b, c).T,
            lambda n, b, c: right(n, c, b),
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
