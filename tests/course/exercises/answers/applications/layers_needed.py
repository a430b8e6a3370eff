"""Answers to the exercise on how many layers join everything."""

import torch


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


def doubling(mask):
    reached, num_layers = mask | torch.eye(len(mask)).bool(), 1
    while not reached.all() and num_layers < 20:
        reached, num_layers = (reached.int() @ reached.int()) > 0, num_layers + 1
    return num_layers if reached.all() else None


def from_the_first(mask):
    """The layers until the first position reaches all."""
    return powers(mask, done=lambda reached: reached[0].all())


def to_the_first(mask):
    return powers(mask, done=lambda reached: reached[:, 0].all())


def unchanged(mask):
    """Stop where a layer adds nothing, whether or not all are joined."""
    step = mask | torch.eye(len(mask)).bool()
    reached, num_layers = torch.eye(len(mask)).bool(), 0
    while True:
        following = (step.int() @ reached.int()) > 0
        if torch.equal(following, reached):
            return num_layers
        reached, num_layers = following, num_layers + 1


def either_way(mask):
    return powers(mask | mask.T)


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


def or_none(change):
    return lambda mask: None if powers(mask) is None else change(powers(mask))


RIGHT = {
    "layers-needed": [farthest, powers, lambda mask: powers(mask, most=len(mask))],
}

WRONG = {
    "layers-needed": [
        (lambda mask: powers(mask, diagonal=False), "no-residual"),
        (lambda mask: powers(mask, first=1), "single-position"),
        (or_none(lambda needed: needed + 1), "off-by-one"),
        (or_none(lambda needed: needed - 1), "off-by-one"),
        (doubling, "squared"),
        (lambda mask: powers(mask, never=len(mask)), "never"),
        (lambda mask: powers(mask, never=0), "never"),
        (lambda mask: powers(mask, never=-1), "never"),
        (lambda mask: powers(mask, never=float("inf")), "never"),
        (unchanged, "never"),
        (lambda mask: powers(mask, most=len(mask) - 1), "stops-too-early"),
        (lambda mask: powers(mask, most=8), "rejected"),
        (lambda mask: powers(mask, most=10), "rejected"),
        (from_the_first, "one-position-alone"),
        (to_the_first, "one-position-alone"),
        (lambda mask: powers(mask, done=torch.any), "rejected"),
        (either_way, "both-ways"),
        (small_numbers, "rejected"),
        (written_into, "input"),
        (lambda mask: int(mask.sum(-1).float().mean()), "rejected"),
        (lambda mask: -(-(len(mask) - 1) // max(1, int(mask[0].sum()) - 1)), "rejected"),
    ]
}
