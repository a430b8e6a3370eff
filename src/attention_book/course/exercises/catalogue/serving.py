"""Exercises on serving: steps of continuous batching, and a step with chunks of prompts."""

import heapq
from collections.abc import Iterator, Sequence

from attention_book.course.exercises.core import Probe, exercise, probe, wrong

# --- continuous-steps --------------------------------------------------------------------------


def _queues() -> Iterator[Probe]:
    yield probe(([6, 2, 3], 2))
    yield probe(([3, 9, 4, 1, 6, 2, 8], 3))
    yield probe(([5, 4, 3], 1), "只有一个位子", "there is one place")
    yield probe(([5, 2], 4), "位子比读者多", "there are more places than readers")
    yield probe(([1, 1, 1, 1, 9], 2), "最长的排在最后", "the longest comes last")
    yield probe(([4, 4, 4], 2), "个个一样长", "all are equally long")
    yield probe(([7], 3), "只有一位读者", "there is a single reader")


def _ends(words: Sequence[int], places: int) -> list[int]:
    """When each place is free in the end: the next reader takes the one that is free first."""
    free = [0] * places
    for each in words:
        heapq.heapreplace(free, free[0] + each)
    return free


def _continuous_steps(words: Sequence[int], places: int) -> int:
    return max(_ends(words, places))


def _static_steps(words: Sequence[int], places: int) -> int:
    return sum(max(words[i : i + places]) for i in range(0, len(words), places))


CONTINUOUS_STEPS = exercise(
    "continuous-steps",
    "写 `continuous_steps(words, places)`：读者同时到齐，第 i 位要 `words[i]` 个词，有 `places` "
    "个位子，先来先坐。一步给在座的各写一个词；写完就走，空出的位子下一步由下一位坐。一共几步？",
    "Write `continuous_steps(words, places)`: all readers are there from the start, and reader i"
    " wants `words[i]` words. There are `places` places, first come, first served. A step writes"
    " a word for everyone who has a place; whoever is done leaves, and the next in line has the"
    " place from the following step on. How many steps does it take?",
    solution=_continuous_steps,
    probes=_queues,
    mistakes={
        "static": wrong(
            "这是静态批处理：等一批全走完，下一批才进来。这里一有空位就进一位。",
            "That is static batching, where the next batch waits until all have left. Here a place"
            " that is free is taken at the next step.",
            _static_steps,
        ),
        "perfectly-packed": wrong(
            "这是总词数除以位子数，只是下限：最后几位写完之前，别的位子可能空着。",
            "That is the number of all words divided by the places, which is only a lower bound:"
            " while the last readers finish, other places may be empty.",
            lambda words, places: -(-sum(words) // places),
            lambda words, places: max(-(-sum(words) // places), *words, 0),
        ),
        "one-by-one": wrong(
            "这是一位一位地写：`places` 位读者是同时写的。",
            "That is one reader after another: `places` of them are written for at the same time.",
            lambda words, places: sum(words),
        ),
        "longest": wrong(
            "这是最长的一位要的步数，那得人人一开始就有位子。",
            "That is what the longest takes, as if everyone had a place from the start.",
            lambda words, places: max(words),
        ),
        "dealt-out": wrong(
            "读者轮流分给了各个位子；应当哪个位子先空，下一位就去哪个。",
            "The readers are dealt out to the places in turn. The next in line takes the place that"
            " is free first.",
            lambda words, places: max(sum(words[i::places]) for i in range(places)),
        ),
        "longest-first": wrong(
            "次序变了：先来先坐，不按长短重排。",
            "The order has changed: first come, first served, not the longest first.",
            lambda words, places: _continuous_steps(sorted(words, reverse=True), places),
        ),
        "shortest-first": wrong(
            "次序变了：先来先坐，不按长短重排。",
            "The order has changed: first come, first served, not the shortest first.",
            lambda words, places: _continuous_steps(sorted(words), places),
        ),
        "first-place-free": wrong(
            "这是第一个位子永远空出来的那一步；问的是最后一位写完的那一步。",
            "That is when the first place is free for good. The question is when the last reader"
            " is done.",
            lambda words, places: min(_ends(words, min(places, len(words)))),
        ),
        "a-step-to-sit-down": wrong(
            "换人不占一步：前一位走了，下一步就给下一位写词。",
            "Sitting down takes no step: in the step after one reader's last word, the next gets"
            " the first.",
            lambda words, places: _continuous_steps([each + 1 for each in words], places) - 1,
        ),
    },
)

# --- step-plan ---------------------------------------------------------------------------------


def _steps() -> Iterator[Probe]:
    yield probe(([0, 500, 300, 0], 512))
    yield probe(([0, 700, 0, 300], 512), "一段提示词就占满了", "one prompt takes all of it")
    yield probe(([100, 100, 100], 256), "三段提示词，没有人在写", "three prompts, nobody writes")
    yield probe(([0, 0, 0], 8), "人人都在写", "everybody writes")
    yield probe(([3, 0, 1], 100), "全都读得完", "everything fits")
    yield probe(([5, 7, 2], 1), "一步只有一个词元", "a step has a single token")
    yield probe(([0, 0, 0, 9, 4], 3), "写的比读的多", "more write than read")


def _step_plan(left: Sequence[int], chunk: int) -> list[int]:
    plan = []
    for each in left:
        read = min(each, chunk)
        chunk -= read
        plan.append(read if each else 1)
    return plan


def _writers_count(left: Sequence[int], chunk: int) -> list[int]:
    return _step_plan(left, max(chunk - sum(not each for each in left), 0))


def _shared_evenly(left: Sequence[int], chunk: int) -> list[int]:
    part = chunk // max(1, sum(each > 0 for each in left))
    return [min(each, part) if each else 1 for each in left]


def _one_prompt(left: Sequence[int], chunk: int) -> list[int]:
    first = next((i for i, each in enumerate(left) if each), None)
    return [min(each, chunk) if i == first else int(not each) for i, each in enumerate(left)]


def _whole_or_nothing(left: Sequence[int], chunk: int) -> list[int]:
    plan = []
    for each in left:
        read = each if each <= chunk else 0
        chunk -= read
        plan.append(read if each else 1)
    return plan


STEP_PLAN = exercise(
    "step-plan",
    "写 `step_plan(left, chunk)`：这一步给每位读者算几个词元，返回列表。`left[i]` 是第 i 位的"
    "提示词还有几个词元没读，0 表示已经在写。在写的各算 1 个词元；提示词一共至多算 `chunk` 个，"
    "先来的先读。",
    "Write `step_plan(left, chunk)`: how many tokens a step computes for each reader, as a list."
    " `left[i]` tokens of reader i's prompt are still unread; 0 means that the reader is being"
    " written for already, which takes 1 token. A step reads at most `chunk` tokens of prompts in"
    " all, first come, first served.",
    solution=_step_plan,
    probes=_steps,
    mistakes={
        "chunk-each": wrong(
            "每段提示词各得了一块：`chunk` 是一步的总数，大家合用。",
            "Each prompt gets a chunk of its own: `chunk` is the total of a step, and they share"
            " it.",
            lambda left, chunk: [min(each, chunk) if each else 1 for each in left],
        ),
        "whole-prompts": wrong(
            "提示词一次读完了：一步最多读 `chunk` 个词元，剩下的下一步再读。",
            "Prompts are read whole: a step reads at most `chunk` tokens; the rest has to wait.",
            lambda left, chunk: [each or 1 for each in left],
        ),
        "writers-wait": wrong(
            "有提示词要读，在写的就停了：分块正是为了让他们每一步都得到一个词。",
            "Those who are being written for stand still while a prompt is read. Chunks are there"
            " so that each step gives them a word.",
            lambda left, chunk: [
                each if unread else int(not any(left))
                for each, unread in zip(_step_plan(left, chunk), left, strict=True)
            ],
        ),
        "writers-left-out": wrong(
            "漏了在写的人：每人还要算 1 个词元，就是他最后写出的那个词。",
            "Those who are being written for are left out: each takes 1 token, the last word.",
            lambda left, chunk: [
                each if unread else 0
                for each, unread in zip(_step_plan(left, chunk), left, strict=True)
            ],
        ),
        "writers-count": wrong(
            "在写的也算进了 `chunk`：它只限制提示词。",
            "Those who are being written for use up part of `chunk`, which limits prompts only.",
            _writers_count,
        ),
        "shared-evenly": wrong(
            "平分了：先来的先读，读满为止，剩下的才轮到后来的。",
            "The chunk is divided evenly: who came first reads first, and the others get what is"
            " left.",
            _shared_evenly,
        ),
        "one-prompt": wrong(
            "只读了一段提示词：没用完的还可以给下一段。",
            "Only one prompt is read: what it does not need goes to the next.",
            _one_prompt,
        ),
        "whole-or-nothing": wrong(
            "读不完的提示词一个词元也没读：能读多少就先读多少，这才叫分块。",
            "A prompt that does not fit is not read at all. Read as much as fits: that is what a"
            " chunk is.",
            _whole_or_nothing,
        ),
        "last-come-first": wrong(
            "后来的先读了：次序是先来先读。",
            "The last to come is read first: it is first come, first served.",
            lambda left, chunk: _step_plan(left[::-1], chunk)[::-1],
        ),
    },
)

EXERCISES = (CONTINUOUS_STEPS, STEP_PLAN)
