"""Every process, seed and step draws numbers of its own, and the caller's go on unchanged."""

import itertools

import torch

from attention_book.runs.engine.random_numbers import RandomNumbers, seed_of

CPU = torch.device("cpu")


def drawn(seed: int, times: int) -> list[tuple[float, ...]]:
    numbers, found = RandomNumbers(seed, CPU), []
    for _ in range(times):  # as a step of dropout would
        with numbers:
            found.append(tuple(torch.rand(4).tolist()))
        torch.rand(3)  # the caller's
    return found


def test_seed_rank_and_step_are_not_one_number() -> None:
    """The kind: numbers mixed into one by a sum or side by side, so that neighbors coincide."""
    seeds, ranks, steps = (0, 1, 2, 3, 11, 12, 2**32 - 1), (0, 1, 2, 11, 12), (0, 1, 2, 11, 112)
    found = [seed_of(*each) for each in itertools.product(seeds, ranks, steps)]
    assert len(set(found)) == len(found)
    assert all(0 <= seed < 2**32 for seed in found)
    assert [seed_of(seed, 0) for seed in seeds] == list(seeds)


def test_a_step_of_one_seed_draws_what_no_step_of_another_draws() -> None:
    steps = [draw for seed in (1, 2, 3, 42, 2**32 - 1) for draw in drawn(seed, 5)]
    assert len(set(steps)) == len(steps)
    ranks = [draw for rank in range(4) for draw in drawn(seed_of(42, rank), 3)]
    assert len(set(ranks)) == len(ranks)


def test_the_caller_s_numbers_go_on() -> None:
    torch.manual_seed(5)
    expected = torch.rand(6).tolist()
    torch.manual_seed(5)
    first = torch.rand(3).tolist()
    drawn_between = RandomNumbers(1, CPU)
    with drawn_between:
        torch.rand(9)
    assert [*first, *torch.rand(3).tolist()] == expected
