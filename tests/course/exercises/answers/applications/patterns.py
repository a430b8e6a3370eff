"""Answers to the exercise on Child's fixed pattern."""

import torch


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
    ]
}

WRONG = {
    "fixed-pattern": [
        (by_hand(lambda i, j, b, s: same(i, j, b) or j % b >= s), "future"),
        (
            by_hand(lambda i, j, b, s: (j <= i and same(i, j, b)) or j % b >= s),
            "future",
        ),
        (
            by_hand(lambda i, j, b, s: same(i, j, b) or (j <= i and j % b >= s)),
            "future",
        ),
        (
            by_hand(
                lambda i, j, b, s: j <= i and same(i, j, b) and j % b >= s,
            ),
            "and-for-or",
        ),
        (
            by_hand(
                lambda i, j, b, s: j <= i and (same(i, j, b) or j % b < b - s),
            ),
            "first-of-block",
        ),
        (
            by_hand(
                lambda i, j, b, s: j <= i and (same(i, j, b) or i % b >= s),
            ),
            "summary-axis",
        ),
        (
            by_hand(
                lambda i, j, b, s: j <= i and (same(i, j, b) or max(i % b, j % b) >= s),
            ),
            "summary-axis",
        ),
        (
            by_hand(
                lambda i, j, b, s: j <= i and (same(i, j, b) or j % b >= s - 1),
            ),
            "off-by-one",
        ),
        (
            by_hand(
                lambda i, j, b, s: j <= i and (same(i, j, b) or j % b > s),
            ),
            "one-too-few",
        ),
        (
            by_hand(
                lambda i, j, b, s: j <= i and not (same(i, j, b) or j % b >= s),
            ),
            "inverted",
        ),
        (by_hand(lambda i, j, b, s: j <= i and same(i, j, b)), "no-summaries"),
        (by_hand(lambda i, j, b, s: j <= i and j % b >= s), "own-block-missing"),
        (
            by_hand(lambda i, j, b, s: j < i and (same(i, j, b) or j % b >= s)),
            "not-itself",
        ),
        (
            by_hand(lambda i, j, b, s: j <= i and (i - j < b or j % b >= s)),
            "window",
        ),
        (
            by_hand(
                lambda i, j, b, s: (
                    j <= i and (same(i, j, b) or (i // b == j // b + 1 and j % b >= s))
                )
            ),
            "last-block-alone",
        ),
        (summaries_by_a_negative_slice, "rejected"),
        (whole_blocks, "rejected"),
        (lambda n, b, c: right(n // b * b, b, c), "rejected"),
        (lambda n, b, c: right(n, b, c).T, "rejected"),
        (lambda n, b, c: right(n, b, c).float(), "dtype"),
        (lambda n, b, c: right(n, c, b), "rejected"),
    ]
}
