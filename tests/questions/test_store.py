"""What a reader has answered is kept, merged and read: the laws of the store."""

import json
import math
from datetime import UTC, datetime, timedelta
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reader import Reader

TODAY = math.floor(datetime.now(UTC).timestamp() / 86400)
NAMES = st.sampled_from(["masks-zero", "cues-desk", "constructor", "to-string"])
DAYS = st.integers(TODAY - 30, TODAY - 2)
CARDS = st.dictionaries(
    NAMES,
    st.fixed_dictionaries(
        {
            "s": st.floats(0.001, 1000),
            "d": st.floats(1, 10),
            "last": DAYS,
            "reps": st.integers(1, 9),
        }
    ),
)
LOG = st.lists(st.tuples(NAMES, DAYS, st.integers(1, 4), st.none() | st.integers(0, 4)))
LINES = st.dictionaries(NAMES, st.tuples(st.text(max_size=9), st.integers(0, 3)))
PLACES = st.dictionaries(
    NAMES,
    st.tuples(
        st.sampled_from(["sec-why", "sec-how"]),
        st.text(max_size=3),
        st.text(max_size=3),
        st.integers(0, 3),
        st.integers(0, 1),
    ),
)
PROGRESS = st.fixed_dictionaries(
    {"version": st.just(1), "cards": CARDS, "log": LOG, "lines": LINES, "places": PLACES}
)


@pytest.fixture(scope="module")
def shared():
    """A reader whose functions are called and who answers nothing."""
    found = Reader()
    yield found
    found.close()


@pytest.fixture
def reader():
    found = Reader()
    yield found
    found.close()


def taken_in(reader, found):
    """Return progress as a file brings it in."""
    reader.call("forgetAll")
    reader.call("fromFile", json.dumps(found))
    return reader.progress()


# ---- merging ----------------------------------------------------------------------------------


@given(a=PROGRESS, b=PROGRESS, c=PROGRESS)
def test_merging_does_not_depend_on_the_order_and_loses_no_later_answer(shared, a, b, c):
    a, b, c = (taken_in(shared, each) for each in (a, b, c))

    def merged(one, other):
        return shared.call("merged", one, other)

    assert merged(a, a) == a
    assert merged(a, b) == merged(b, a)
    assert merged(merged(a, b), b) == merged(a, b)
    assert merged(merged(a, b), c) == merged(a, merged(b, c))
    both = merged(a, b)
    assert set(both["cards"]) == set(a["cards"]) | set(b["cards"])
    for one in (a, b):
        assert all(
            both["cards"][name]["last"] >= card["last"] for name, card in one["cards"].items()
        )
        assert all(each in both["log"] for each in one["log"])
        for page, (*_, time, read) in one["places"].items():
            assert both["places"][page][3] >= time
            assert both["places"][page][4] >= read


def test_reading_the_same_file_twice_changes_nothing(reader):
    reader.call("note", "masks-zero", 3, 0, TODAY - 2)
    file = reader.engine.eval('attentionBookLive.modules["questions/store"].asFile()')
    before = reader.progress()
    assert reader.call("fromFile", file) == 1
    assert reader.progress() == before


# ---- answers ----------------------------------------------------------------------------------


def test_a_days_second_answer_does_not_move_the_schedule(reader):
    reader.call("note", "masks-zero", 1, 2, TODAY - 1)
    once = reader.progress()
    reader.call("note", "masks-zero", 4, 0, TODAY - 1)
    reader.call("note", "masks-zero", 4, 0, TODAY - 2)  # a clock that was put back
    assert reader.progress() == once
    assert once["log"] == [["masks-zero", TODAY - 1, 1, 2]]
    reader.call("note", "masks-zero", 3, 0, TODAY)
    assert reader.progress()["cards"]["masks-zero"]["reps"] == 2


def test_a_day_ends_at_four_in_the_morning(shared):
    def day_of(hour, minute):
        moment = int(datetime(2026, 3, 5, hour, minute, tzinfo=UTC).timestamp() * 1000)
        zone = "{ getTime: () => %d + offset * 6e4, getTimezoneOffset: () => offset }"
        days = [
            shared.engine.eval(
                f"(() => {{ const offset = {offset}; return "
                f'attentionBookLive.modules["questions/store"].dayOf({zone % moment}); }})()'
            )
            for offset in (0, -480, 300)  # the reader's own clock counts, wherever it is
        ]
        assert len(set(days)) == 1
        return days[0]

    assert day_of(3, 59) + 1 == day_of(4, 0) == day_of(23, 59)


def test_more_to_remember_brings_questions_sooner(reader):
    reader.call("note", "masks-zero", 3, 0, TODAY - 3)
    card = reader.progress()["cards"]["masks-zero"]
    days = []
    for retention in (0.8, 0.85, 0.9, 0.95):
        reader.call("set", "retention", retention)
        days.append(reader.call("dueDay", card))
    assert days == sorted(days, reverse=True)
    assert days[0] > days[-1]


def test_what_cannot_be_set_is_not(reader):
    reader.call("set", "retention", 0.5)
    assert reader.progress()["settings"] == {"mode": "veil", "retention": 0.85}


# ---- what comes first --------------------------------------------------------------------------


def test_the_most_overdue_comes_first_and_the_shakiest_opens_a_chapter(reader):
    pages = {"firm-late": "a", "shaky": "b", "new": "c", "fresh": "d"}
    for name, s, last in (("firm-late", 20, 60), ("shaky", 2, 19), ("fresh", 90, 1)):
        reader.run(
            f'attentionBookLive.modules["questions/store"].progress().cards["{name}"]'
            f" = {{ s: {s}, d: 5, last: {TODAY - last}, reps: 1 }}"
        )
    assert reader.call("due", pages, TODAY) == ["firm-late", "shaky"]
    assert reader.call("shakiest", pages, "z", TODAY) == "shaky"
    assert reader.call("shakiest", pages, "b", TODAY) == "firm-late"
    assert reader.call("shakiest", {"new": "c"}, "z", TODAY) is None


@given(pages=st.lists(st.sampled_from("abc"), max_size=6))
def test_no_two_of_one_chapter_in_a_row_where_it_can_be_helped(shared, pages):
    page_of = {f"q{n}": page for n, page in enumerate(pages)}
    found = shared.call("mixed", list(page_of), page_of)
    assert sorted(found) == sorted(page_of)

    def together(order):
        return sum(page_of[a] == page_of[b] for a, b in pairwise(order))

    assert together(found) == min(map(together, permutations(page_of)))
    assert found[:1] == list(page_of)[:1] or together(found) <= together(list(page_of))


# ---- whoever wrote it --------------------------------------------------------------------------

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers()
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(
    found=st.fixed_dictionaries(
        {"version": st.just(1), "cards": st.dictionaries(NAMES | st.just("__proto__"), ANYTHING)},
        optional={
            "log": ANYTHING,
            "lines": ANYTHING,
            "places": st.dictionaries(NAMES, ANYTHING),
            "settings": ANYTHING,
            "more": ANYTHING,
        },
    )
)
def test_only_what_has_the_right_form_comes_in(shared, found):
    now = taken_in(shared, found)
    assert set(now) == {"version", "cards", "log", "lines", "places", "settings"}
    for card in now["cards"].values():
        assert set(card) == {"s", "d", "last", "reps"}
        assert all(isinstance(value, int | float) for value in card.values())
    assert now["settings"]["retention"] in (0.8, 0.85, 0.9, 0.95)
    assert shared.engine.eval("({}).s === undefined && ({}).last === undefined")


@pytest.mark.parametrize(
    "content",
    [
        "", "{}", "null", "[]", "not json", '{"version":9,"cards":{}}', '{"version":1,"cards":[]}',
        '{"version":1,"cards":{}}' + " " * 4_000_000,
    ],
)  # fmt: skip
def test_what_is_no_progress_file_changes_nothing(reader, content):
    reader.call("note", "masks-zero", 3, 0, TODAY - 2)
    before = reader.progress()
    with pytest.raises(Exception, match="not a progress file"):
        reader.call("fromFile", content)
    assert reader.progress() == before == reader.stored()


@pytest.mark.parametrize(
    "change", [{"s": -1}, {"s": "2"}, {"d": 99}, {"last": 1.5}, {"last": TODAY + 400}, {"s": None}]
)
def test_a_card_that_cannot_be_is_left_out_and_the_others_stay(reader, change):
    card = {"s": 2, "d": 5, "last": TODAY - 1, "reps": 1}
    taken_in(reader, {"version": 1, "cards": {"good": card, "bad": {**card, **change}}})
    assert reader.progress()["cards"] == {"good": card}


# ---- the browser -------------------------------------------------------------------------------


def test_two_tabs_lose_nothing(reader):
    reader.call("note", "masks-zero", 3, 0, TODAY)
    theirs = reader.stored()
    theirs["cards"]["cues-desk"] = {"s": 2, "d": 5, "last": TODAY, "reps": 1}
    reader.run(f"kept.set('attention-book-questions', {json.dumps(json.dumps(theirs))})")
    reader.call("note", "third", 3, 0, TODAY)  # before this tab has heard of it
    assert set(reader.stored()["cards"]) == {"masks-zero", "cues-desk", "third"}


def test_another_tabs_answer_is_heard(reader):
    reader.call("note", "masks-zero", 3, 0, TODAY)
    theirs = reader.stored()
    theirs["cards"]["cues-desk"] = {"s": 2, "d": 5, "last": TODAY, "reps": 1}
    reader.run(
        "globalThis.told = 0;"
        'attentionBookLive.modules["questions/store"].onChange(() => { told += 1; });'
        f"kept.set('attention-book-questions', {json.dumps(json.dumps(theirs))})"
    )
    reader.tell_tabs()
    assert reader.engine.eval("told") == 1
    assert set(reader.progress()["cards"]) == {"masks-zero", "cues-desk"}


@pytest.mark.parametrize(("fault", "words"), [("allowed = false", "不许"), ("room = 9", "满了")])
def test_storage_that_takes_nothing_is_told_and_forgets_nothing_before_the_page_closes(
    reader, fault, words
):
    reader.call("note", "before", 3, 0, TODAY)
    assert reader.call("trouble") is None
    reader.run(fault)
    for name in ("masks-zero", "cues-desk"):
        reader.call("note", name, 3, 0, TODAY)
    zh, en = reader.call("trouble")
    assert words in zh
    assert "Save it as a file" in en
    assert set(reader.progress()["cards"]) == {"before", "masks-zero", "cues-desk"}
    reader.run("allowed = true; room = Infinity")
    reader.call("note", "later", 3, 0, TODAY)
    assert reader.call("trouble") is None
    assert set(reader.stored()["cards"]) == {"before", "masks-zero", "cues-desk", "later"}


@pytest.mark.parametrize("text", ["{", '{"version":2,"cards":{}}'])
def test_what_cannot_be_read_is_left_as_it_is_until_the_reader_says_so(reader, text):
    reader.run(f"kept.set('attention-book-questions', {json.dumps(text)})")
    reader.call("note", "masks-zero", 3, 0, TODAY)
    assert "读不出来" in reader.call("trouble")[0]
    assert reader.engine.eval('kept.get("attention-book-questions")') == text
    assert set(reader.progress()["cards"]) == {"masks-zero"}
    reader.call("forgetAll")
    assert reader.call("trouble") is None
    assert reader.stored()["cards"] == {}


def test_the_log_gives_up_the_oldest(reader):
    log = [["q" + str(n), TODAY - n // 9, 3, None] for n in reversed(range(20_005))]
    found = taken_in(reader, {"version": 1, "cards": {}, "log": log})
    assert len(found["log"]) == 20_000
    assert min(day for _, day, _, _ in found["log"]) == TODAY - 20_000 // 9


def test_a_line_is_kept_cut_and_the_later_one_wins(reader):
    reader.call("keepLine", "masks", "x" * 500, 5)
    assert reader.call("lineOf", "masks") == "x" * 400
    later = (datetime.now(UTC) + timedelta(days=1)).timestamp() * 1000
    reader.call(
        "fromFile", json.dumps({"version": 1, "cards": {}, "lines": {"masks": ["y", later]}})
    )
    assert reader.call("lineOf", "masks") == "y"
    reader.call("fromFile", json.dumps({"version": 1, "cards": {}, "lines": {"masks": ["z", 1]}}))
    assert reader.call("lineOf", "masks") == "y"


# ---- where the reader is ------------------------------------------------------------------------


def test_the_place_is_the_latest_one_and_what_was_read_stays_read(reader):
    assert reader.call("lastPlace") is None
    reader.call("keepPlace", "masks", "sec-why", ["4.1 为什么", "4.1 Why"], True, 1_000_000)
    reader.call("keepPlace", "scoring", "sec-dot", ["5.1 点积", "5.1 Dots"], False, 2_000_000)
    assert reader.call("lastPlace")["page"] == "scoring"
    reader.call("keepPlace", "masks", "sec-how", ["4.2 怎样", "4.2 How"], False, 3_000_000)
    last = {"page": "masks", "anchor": "sec-how", "title": ["4.2 怎样", "4.2 How"], "isRead": True}
    assert reader.call("lastPlace") == last == reader.call("placeOf", "masks")
    assert reader.stored()["places"]["masks"][4] == 1


def test_staying_in_a_section_does_not_write_at_every_move(reader):
    reader.call("keepPlace", "masks", "sec-why", ["一", "1"], False, 1_000_000)
    once = reader.stored()
    reader.call("keepPlace", "masks", "sec-why", ["一", "1"], False, 1_059_000)
    assert reader.stored() == once
    reader.call("keepPlace", "masks", "sec-why", ["一", "1"], False, 1_061_000)
    assert reader.stored() != once


@pytest.mark.parametrize(
    "place", [["x y", "a", "b", 1, 0], ["s", 1, "b", 1, 0], ["s", "a", "b", -1, 0], ["s"], "s"]
)
def test_a_place_that_cannot_be_is_left_out(reader, place):
    good = ["sec-why", "一", "1", 5, 0]
    taken_in(reader, {"version": 1, "cards": {}, "places": {"good": good, "bad": place}})
    assert reader.progress()["places"] == {"good": good}
