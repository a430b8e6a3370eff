"""Serving: schedules by hand, queues by their recursions, and what every policy conserves."""

import heapq
import math

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from attention_book.decoding import expected_words
from attention_book.decoding.serving import (
    CacheMemory,
    Drafts,
    Request,
    StepTimes,
    random_requests,
    serve,
)

TIMES = StepTimes(weights=5.0, token=0.25, cached=0.0625)
UNIT = StepTimes(1.0)
arrivals = st.integers(0, 200).map(lambda tenths: tenths / 8)
lists = st.lists(
    st.builds(
        lambda arrival, prompt, words, shared: Request(
            arrival, prompt, words, min(shared, prompt - 1)
        ),
        arrivals,
        st.integers(1, 40),
        st.integers(1, 12),
        st.sampled_from([0, 0, 8]),
    ),
    min_size=1,
    max_size=12,
)
policies = st.fixed_dictionaries(
    {
        "max_batch": st.integers(1, 5),
        "continuous": st.booleans(),
        "chunk": st.none() | st.integers(1, 30),
        "prefix_cache": st.booleans(),
        "memory": st.sampled_from(
            [None, CacheMemory(64), CacheMemory(128), CacheMemory(60, block=1)]
        ),
        "drafts": st.sampled_from([None, Drafts(3, 0.5), Drafts(2, 1.0), Drafts(1, 0.0)]),
    }
)


def run(requests, times=TIMES, **policy):
    return serve(requests, times, generator=torch.Generator().manual_seed(1), **policy)


def at_once(*words, prompt=1):
    return [Request(0.0, prompt, each) for each in words]


# --- by hand -----------------------------------------------------------------------------------


def test_three_readers_two_places() -> None:
    three = at_once(6, 2, 3)
    static = serve(three, UNIT, max_batch=2, continuous=False)
    assert [each.words for each in static.served] == [
        (1, 2, 3, 4, 5, 6),
        (1, 2),
        (7, 8, 9),
    ]
    assert [step.batch for step in static.steps] == [2, 2, 1, 1, 1, 1, 1, 1, 1]
    continuous = serve(three, UNIT, max_batch=2)
    assert [each.words for each in continuous.served] == [
        (1, 2, 3, 4, 5, 6),
        (1, 2),
        (3, 4, 5),
    ]
    assert [step.batch for step in continuous.steps] == [2, 2, 2, 2, 2, 1]


def test_what_each_step_computes_and_reads() -> None:
    pair = [Request(0.0, 4, 3), Request(6.5, 10, 2)]
    steps = serve(pair, TIMES).steps
    # The prompt of 4; its first word, beside 4 cached; the prompt of 10 beside the second word.
    assert [(each.tokens, each.cached) for each in steps] == [(4, 0), (1, 4), (1 + 10, 5), (1, 10)]
    assert [each.seconds for each in steps] == [6, 5.5, 5 + 11 / 4 + 5 / 16, 5.25 + 10 / 16]


def test_a_long_prompt_in_chunks() -> None:
    pair = [Request(0.0, 3, 5), Request(0.5, 10, 1)]
    steps = serve(pair, UNIT, chunk=4).steps
    # The second comes during step 1 and is read 4, 4, 2 while the first writes on.
    assert [(each.tokens, each.cached) for each in steps] == [
        (3, 0),
        (1 + 4, 3),
        (1 + 4, 4 + 4),
        (1 + 2, 5 + 8),
        (1, 6),
    ]


def test_chunks_are_shared_by_the_prompts_of_a_step() -> None:
    steps = serve(at_once(1, 1, 1, prompt=5), UNIT, chunk=7).steps
    assert [each.tokens for each in steps] == [7, 7, 1]


def test_who_came_last_gives_way_when_memory_runs_out() -> None:
    pair = [Request(0.0, 2, 4), Request(0.0, 2, 3)]
    schedule = serve(pair, UNIT, memory=CacheMemory(6, block=1))
    # Texts of 2 and 2, 3 and 3, then 4 and 4 do not fit: the second leaves with two words, and
    # once the first has its fourth, its prompt and two words are computed anew.
    assert [each.words for each in schedule.served] == [(1, 2, 3, 4), (1, 2, 5)]
    assert [(each.tokens, each.taken) for each in schedule.steps] == [
        (4, 4),
        (2, 6),
        (1, 4),
        (1, 5),
        (4, 4),
    ]


def test_the_prefix_is_computed_once() -> None:
    three = [Request(20.0 * place, 30, 2, shared=20) for place in range(3)]
    other = Request(80.0, 30, 1)
    steps = serve([*three, other], TIMES, prefix_cache=True).steps
    assert [(each.tokens, each.cached) for each in steps] == [
        (30, 0),
        (1, 30),
        (10, 20),
        (1, 30),
        (10, 20),
        (1, 30),
        (30, 0),
    ]


# --- queues ------------------------------------------------------------------------------------


@given(lists, st.booleans(), st.none() | st.integers(1, 30))
def test_one_place_is_a_queue(requests, continuous, chunk) -> None:
    """Lindley: whoever comes begins when the one before has left; static is continuous."""
    schedule = run(requests, max_batch=1, continuous=continuous, chunk=chunk)
    free = 0.0
    for each in sorted(schedule.served, key=lambda served: served.request.arrival):
        prompt, words = each.request.prompt, each.request.words
        parts = [
            min(chunk or prompt, prompt - start) for start in range(0, prompt, chunk or prompt)
        ]
        reading = sum(TIMES.seconds(part, sum(parts[:i])) for i, part in enumerate(parts))
        writing = sum(TIMES.seconds(1, prompt + i) for i in range(words - 1))
        assert each.begin == pytest.approx(max(free, each.request.arrival))
        assert each.words[0] == pytest.approx(each.begin + reading)
        free = each.words[-1]
        assert free == pytest.approx(each.begin + reading + writing)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=12), st.integers(1, 5))
@example([6, 2, 3], 2)
def test_steps_when_all_wait(words, places) -> None:
    requests = at_once(*words)
    static = run(requests, UNIT, max_batch=places, continuous=False)
    groups = [max(words[i : i + places]) for i in range(0, len(words), places)]
    assert len(static.steps) == sum(groups)
    continuous = run(requests, UNIT, max_batch=places)
    ends = [0] * places  # of each place; the next reader takes the one that is free first
    for each, served in zip(words, continuous.served, strict=True):
        begin = heapq.heappop(ends)
        assert served.begin == begin
        heapq.heappush(ends, begin + each)
    assert len(continuous.steps) == max(ends) <= len(static.steps)
    for sooner, later in zip(continuous.served, static.served, strict=True):
        assert sooner.begin <= later.begin


def test_the_mean_wait_of_a_queue_is_that_of_the_formula() -> None:
    """M/D/1, Pollaczek–Khinchine: ρ / 2(1 − ρ) times the time of service."""
    for load in (0.3, 0.6, 0.8):
        draws = torch.Generator().manual_seed(3)
        requests = random_requests(40_000, load / 6.0, prompt=(4, 4), words=(1, 1), generator=draws)
        schedule = serve(requests, TIMES, max_batch=1)
        wait = sum(each.begin - each.request.arrival for each in schedule.served) / 40_000
        assert wait == pytest.approx(load / (2 * (1 - load)) * 6.0, rel=0.06)


# --- what every policy keeps -------------------------------------------------------------------


@given(lists, policies)
def test_nobody_is_lost_and_nobody_is_served_twice(requests, policy) -> None:
    for each, request in zip(run(requests, **policy).served, requests, strict=True):
        assert each.request is request
        assert len(each.words) == request.words
        assert request.arrival <= each.begin < each.words[0]
        assert all(gap >= 0 for gap in each.gaps)
        assert each.stay == pytest.approx(each.first_word + sum(each.gaps))


@given(lists, policies)
def test_littles_law(requests, policy) -> None:
    schedule = run(requests, **policy)
    stays = [each.stay for each in schedule.served]
    rate, mean_stay = len(stays) / schedule.end, sum(stays) / len(stays)
    assert schedule.mean_present == pytest.approx(rate * mean_stay)


@given(lists, policies)
def test_the_server_rests_only_when_nobody_is_there(requests, policy) -> None:
    schedule = run(requests, **policy)
    free = 0.0
    for step in schedule.steps:
        assert 1 <= step.batch <= policy["max_batch"]
        assert step.tokens > 0
        assert step.seconds == TIMES.seconds(step.tokens, step.cached)
        if step.begin != free:
            assert step.begin > free
            assert step.begin in {each.arrival for each in requests}
            present = [
                each
                for each in schedule.served
                if each.request.arrival < step.begin and each.words[-1] > free
            ]
            assert not present
        free = step.begin + step.seconds
    assert schedule.end == free


@given(lists, st.integers(1, 5), st.booleans(), st.none() | st.integers(1, 30))
def test_the_work_is_the_same_and_only_steps_differ(requests, places, continuous, chunk) -> None:
    schedule = run(requests, max_batch=places, continuous=continuous, chunk=chunk)
    tokens = sum(each.prompt + each.words - 1 for each in requests)
    cached = sum(each.prompt + i for each in requests for i in range(each.words - 1))
    assert sum(step.tokens for step in schedule.steps) == tokens
    read = sum(step.cached for step in schedule.steps)
    assert read == cached if chunk is None else read >= cached
    work = 5.0 * len(schedule.steps) + 0.25 * tokens + 0.0625 * read
    assert schedule.busy == pytest.approx(work)
    total = sum(each.words for each in requests)
    assert schedule.words_per_second == pytest.approx(total / schedule.end)


@given(lists, policies)
def test_first_come_first_served(requests, policy) -> None:
    policy = policy | {"memory": None}
    begins = [
        each.begin
        for each in sorted(run(requests, **policy).served, key=lambda each: each.request.arrival)
    ]
    assert begins == sorted(begins)


@given(lists, policies)
def test_a_chunk_larger_than_all_prompts_is_none(requests, policy) -> None:
    assert run(requests, **(policy | {"chunk": 1000})) == run(
        requests, **(policy | {"chunk": None})
    )


@given(lists, policies, st.integers(1, 30))
def test_no_gap_is_longer_than_a_step_with_a_chunk(requests, policy, chunk) -> None:
    policy = policy | {"chunk": chunk, "memory": None}
    schedule = run(requests, **policy)
    guesses = policy["drafts"].guesses if policy["drafts"] else 0
    for step in schedule.steps:
        assert step.tokens <= chunk + policy["max_batch"] * (1 + guesses)
    longest = max(step.seconds for step in schedule.steps)
    assert max(schedule.gaps, default=0.0) <= longest + 1e-9


@given(lists, policies)
def test_a_prefix_cache_changes_nothing_where_nothing_is_shared(requests, policy) -> None:
    alone = [Request(each.arrival, each.prompt, each.words) for each in requests]
    assert run(alone, **(policy | {"prefix_cache": True})) == run(
        alone, **(policy | {"prefix_cache": False})
    )


@given(lists, policies)
def test_memory_is_never_exceeded(requests, policy) -> None:
    memory = CacheMemory(60, block=4)
    schedule = run(requests, **(policy | {"memory": memory}))
    assert all(0 < step.taken <= 60 for step in schedule.steps)
    unlimited = run(requests, **(policy | {"memory": None}))
    plenty = run(requests, **(policy | {"memory": CacheMemory(10**6)}))
    assert plenty.served == unlimited.served


def test_texts_take_whole_blocks() -> None:
    assert [CacheMemory(99, block=16).taken(length) for length in (1, 16, 17)] == [16, 16, 32]
    assert CacheMemory(99, reserve=40).taken(3) == 40


@given(lists, st.integers(1, 5))
def test_reserved_room_for_all_places_is_no_limit(requests, places) -> None:
    memory = CacheMemory(places * 64, reserve=64)
    reserved = run(requests, max_batch=places, memory=memory)
    assert reserved.served == run(requests, max_batch=places).served
    assert all(step.taken == 64 * step.batch for step in reserved.steps)
    fewer = run(requests, max_batch=places, memory=CacheMemory(64, reserve=64))
    assert fewer.served == run(requests, max_batch=1).served


# --- drafts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("acceptance", [0.0, 0.6, 1.0])
def test_a_step_writes_the_words_that_drafts_promise(acceptance) -> None:
    schedule = run(at_once(40_001), UNIT, drafts=Drafts(3, acceptance))
    per_step = 40_000 / (len(schedule.steps) - 1)
    assert per_step == pytest.approx(expected_words(acceptance, 3), rel=0.02)


def test_drafts_are_computed_and_read_as_one() -> None:
    [served] = (schedule := run(at_once(6, prompt=10), TIMES, drafts=Drafts(3, 1.0))).served
    # The prompt; a word and 3 guesses, all accepted; no more than the last word is guessed.
    assert [(each.tokens, each.cached) for each in schedule.steps] == [(10, 0), (4, 10), (1, 14)]
    assert served.gaps[:4] == (TIMES.seconds(4, 10), 0, 0, 0)


# --- requests and errors -----------------------------------------------------------------------


def test_random_requests_come_at_the_rate_and_have_the_sizes() -> None:
    draws = torch.Generator().manual_seed(1)
    requests = random_requests(4000, 5.0, prompt=(3, 7), words=(2, 4), shared=10, generator=draws)
    times = [each.arrival for each in requests]
    gaps = torch.tensor(times).diff()
    assert times == sorted(times)
    assert gaps.mean().item() == pytest.approx(0.2, rel=0.05)
    assert gaps.std().item() == pytest.approx(0.2, rel=0.08)  # of an exponential: its mean
    assert {each.prompt for each in requests} == set(range(13, 18))
    assert {each.words for each in requests} == {2, 3, 4}
    together = random_requests(9, math.inf, prompt=(1, 1), words=(1, 1))
    assert {each.arrival for each in together} == {0.0}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Request(-1.0, 1, 1), "arrival"),
        (lambda: Request(math.nan, 1, 1), "arrival"),
        (lambda: Request(0.0, 0, 1), "prompt"),
        (lambda: Request(0.0, 4, 1, shared=4), "shared"),
        (lambda: StepTimes(0.0), "weights"),
        (lambda: StepTimes(1.0, cached=-1.0), "cached"),
        (lambda: CacheMemory(0), "tokens"),
        (lambda: Drafts(2, 1.5), "acceptance"),
        (lambda: serve([], UNIT), "requests"),
        (lambda: serve(at_once(1), UNIT, chunk=0), "chunk"),
        (lambda: serve(at_once(9, prompt=9), UNIT, memory=CacheMemory(16)), "memory"),
        (lambda: serve(at_once(9, prompt=9), UNIT, memory=CacheMemory(99, reserve=17)), "reserve"),
        (lambda: random_requests(1, 1.0, prompt=(5, 4), words=(1, 1)), "prompt"),
        (lambda: random_requests(1, 0.0, prompt=(1, 1), words=(1, 1)), "rate"),
    ],
)
def test_what_cannot_be_is_refused(make, said) -> None:
    with pytest.raises(ValueError, match=said):
        make()
