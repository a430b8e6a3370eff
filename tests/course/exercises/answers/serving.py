"""Answers to the exercises on serving."""


# continuous-steps
def step_by_step(words, places, *, sit=True, pause=0, first=0):
    """Walk through the steps: who sits writes a word, and an empty place is filled."""
    waiting, seated, steps = list(words), [], 0
    while waiting or seated:
        while waiting and len(seated) < places and (sit or not seated or steps == 0):
            seated.append(waiting.pop(first))
        seated = [left - 1 for left in seated if left > 1]
        steps += 1 + pause
    return steps


def by_place(words, places):
    ends = [0] * places
    for each in words:
        soonest = ends.index(min(ends))
        ends[soonest] += each
    return max(ends)


# step-plan
def plan(left, chunk, *, writes=1, spend=0):
    out = [0] * len(left)
    for place, unread in enumerate(left):
        if unread == 0:
            out[place] = writes
            chunk -= spend
        while out[place] < unread and chunk > 0:
            out[place] += 1
            chunk -= 1
    return out


def by_sums(left, chunk):
    found = []
    for i, each in enumerate(left):
        before = sum(left[:i])
        found.append(min(max(chunk - before, 0), each) if each > 0 else 1)
    return found


RIGHT = {
    "continuous-steps": [step_by_step, by_place],
    "step-plan": [plan, by_sums],
}

WRONG = {
    "continuous-steps": {
        "static": [lambda words, places: step_by_step(words, places, sit=False)],
        "one-by-one": [lambda words, places: step_by_step(words, 1)],
        "longest": [lambda words, places: step_by_step(words, len(words))],
        "dealt-out": [
            lambda words, places: max(by_place(words[i::places], 1) for i in range(places))
        ],
        "rejected": [
            lambda words, places: step_by_step(words, places, first=-1),
            lambda words, places: step_by_step(words, places, pause=1),
            lambda words, places: step_by_step(words, places + 1),
            lambda words, places: by_place(words, places) + 1,
            lambda words, places: max(words) * -(-len(words) // places),
            lambda words, places: -(-len(words) // places),
        ],
    },
    "step-plan": {
        "writers-left-out": [lambda left, chunk: plan(left, chunk, writes=0)],
        "chunk-each": [lambda left, chunk: [plan([each], chunk)[0] for each in left]],
        "whole-prompts": [lambda left, chunk: plan(left, sum(left))],
        "writers-count": [lambda left, chunk: plan(left, chunk - left.count(0))],
        "rejected": [
            lambda left, chunk: plan(left, chunk, spend=1),
            lambda left, chunk: plan(left, chunk + 1),
            lambda left, chunk: plan(left, chunk, writes=2),
            lambda left, chunk: [each for each in plan(left, chunk) if each],
            lambda left, chunk: plan(sorted(left), chunk),
            lambda left, chunk: sum(plan(left, chunk)),
        ],
    },
}
