"""How long the checks of the exercises take: the solution, and the slowest known mistake.

    python benchmarks/exercises.py

Seconds of processor time, the slowest exercises first; a check must stay below two.
"""

import time

from attention_book.course.exercises import EXERCISES, check

LIMIT = 2.0


def seconds(name: str, answer: object) -> float:
    start = time.process_time()
    check(name, answer)
    return time.process_time() - start


def main() -> None:
    check("masked-softmax", None)  # the first call of all loads things
    slowest = {
        name: (
            seconds(name, exercise.solution),
            max(seconds(name, mistake.wrong) for mistake in exercise.mistakes),
        )
        for name, exercise in EXERCISES.items()
    }
    print(f"{'exercise':28}{'solution':>10}{'mistake':>10}")
    for name, pair in sorted(slowest.items(), key=lambda item: -max(item[1])):
        print(f"{name:28}{pair[0]:10.3f}{pair[1]:10.3f}")
    over = [name for name, pair in slowest.items() if max(pair) > LIMIT]
    print(f"{len(slowest)} exercises;", f"over {LIMIT} s: {over}" if over else "all in time")


if __name__ == "__main__":
    main()
