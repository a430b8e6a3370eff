import pytest
import torch

from attention_book.course.exercises import check


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


def test_other_right_answers_pass():
    assert check(
        "fixed-pattern",
        by_hand(lambda i, j, size, start: j <= i and (same(i, j, size) or j % size >= start)),
    )


@pytest.mark.parametrize(
    ("visible", "mistake"),
    [
        (lambda i, j, size, start: same(i, j, size) or j % size >= start, "future"),
        (lambda i, j, size, start: (j <= i and same(i, j, size)) or j % size >= start, "future"),
        (lambda i, j, size, start: same(i, j, size) or (j <= i and j % size >= start), "future"),
        (
            lambda i, j, size, start: j <= i and same(i, j, size) and j % size >= start,
            "and-for-or",
        ),
        (
            lambda i, j, size, start: j <= i and (same(i, j, size) or j % size < size - start),
            "first-of-block",
        ),
        (
            lambda i, j, size, start: j <= i and (same(i, j, size) or i % size >= start),
            "summary-axis",
        ),
        (
            lambda i, j, size, start: (
                j <= i and (same(i, j, size) or max(i % size, j % size) >= start)
            ),
            "summary-axis",
        ),
        (
            lambda i, j, size, start: j <= i and (same(i, j, size) or j % size >= start - 1),
            "off-by-one",
        ),
        (
            lambda i, j, size, start: j <= i and not (same(i, j, size) or j % size >= start),
            "inverted",
        ),
    ],
)
def test_a_wrong_answer_gets_its_hint(visible, mistake):
    verdict = check("fixed-pattern", by_hand(visible))
    assert not verdict
    assert verdict.mistake == mistake
