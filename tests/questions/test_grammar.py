"""A question is read as it is written, and what is wrong with it is named with its line."""

import pytest
from questions.grammar import Text, answers_wrong, asked_twice, complaints, read
from written import ASK, CHOICE, KINDS, LINE, NUMBER, ORDER, PAINT, SAY


def question(kind="choice", body=None, role="check", ask=ASK, **options):
    needed, items = KINDS[kind]
    text = ask + (items if body is None else body)
    return read("q", {"role": role, "kind": kind, **needed, **options}, text.split("\n"))


def told(*arguments, **options):
    return [problem for _, problem in complaints(question(*arguments, **options))]


@pytest.mark.parametrize("kind", KINDS)
def test_a_sound_question_is_left_in_peace(kind):
    assert told(kind) == []


def test_what_is_read():
    found = question()
    assert found.asked == {"zh": (1, ["几个？"]), "en": (4, ["How many?"])}
    assert [item.text for item in found.items] == [
        Text("一个", "one"),
        Text("两个", "two"),
        Text(same="NaN"),
    ]
    assert [item.right for item in found.items] == [False, True, False]
    assert found.items[2].reply == Text("不是数。", "Not a number.")
    assert found.items[1].line == ASK.count("\n") + 4
    assert question("line").listing == "a = 1\nb = a + a"
    assert question("line").mended() == "a = 1\nb = a"
    assert question("number").items[1].is_other
    assert question("say").closing["en"][1] == ["Two points."]
    assert question("paint").names("columns") == [Text("甲", "A"), Text(same="B")]


def test_the_steps_of_an_order_are_shuffled_always_alike():
    found = question("order")
    assert found.shuffled() == question("order").shuffled() != found.items
    assert sorted(found.shuffled(), key=lambda item: item.line) == found.items


@pytest.mark.parametrize(
    ("kind", "change", "problem"),
    [
        ("choice", {"body": CHOICE.replace("  {en} two\n", "")}, "in one language only"),
        ("choice", {"ask": ":::{zh}\n几个？\n:::\n\n"}, "in one language only"),
        ("choice", {"ask": ""}, "the question stands in one language only"),
        ("choice", {"body": CHOICE.replace("{zh} 少了。", "{zh} Too few")}, "no Chinese"),
        ("choice", {"body": CHOICE.replace("{en} Too few.", "{en} 少了")}, "no English"),
        ("choice", {"body": CHOICE.replace("NaN", "it is not a number")}, "one language"),
        (
            "choice", {"body": CHOICE.replace("少了。", "少了 {glue:text}`n`。")},
            "has ['{glue:text}`n`'] in Chinese and [] in English",
        ),
        ("choice", {"body": CHOICE.replace("  > {zh} 少了。\n  > {en} Too few.\n", "")},
         "no reply"),
        ("choice", {"body": CHOICE.replace("[x]", "[ ]")}, "one answer is right, not 0"),
        ("choice", {"body": CHOICE.replace("[ ]", "[x]")}, "one answer is right, not 3"),
        ("choice", {"body": "\n".join(CHOICE.split("\n")[:8])}, "three to five options"),
        ("choice", {"body": CHOICE.replace("NaN", "{zh} 以上都对\n  {en} all of the above")},
         "no mistake that anybody makes"),
        ("choice", {"body": CHOICE.replace("一加一", "对：一加一")}, "begins with '对：'"),
        ("number", {"body": NUMBER.replace("Count", "No, count")}, "begins with 'No,'"),
        ("choice", {"body": CHOICE.replace("two\n", "two, " * 8 + "\n")}, "gives the right"),
        ("choice", {"body": "Words.\n" + CHOICE}, "neither a language nor an item"),
        ("number", {"body": NUMBER.replace("{glue:text}`q_two:.0f`", "2")}, "is typed"),
        ("number", {"body": NUMBER.split("- [ ]")[0]}, "no reply to any other answer"),
        ("number", {"tolerance": "few"}, ":tolerance: is a number"),
        ("number", {"unit": "个 |"}, ":unit: stands in one language only"),
        ("line", {"body": LINE.replace("[ ] `a = 1`", "[ ] `a = 2`")}, "0 lines of the"),
        ("line", {"body": LINE.replace("a = 1", "a = = 1")}, "the listing is no Python"),
        ("line", {"repair": "b = ("}, "the listing as mended is no Python"),
        ("line", {"repair": "b = a + a"}, "the same when it is mended"),
        ("paint", {"body": PAINT.replace("{glue}`q_row`", "1, 2")}, "is typed"),
        ("paint", {"paint": "house"}, ":paint: is one of"),
        ("paint", {"paint": "mask"}, "a mask needs :rows:"),
        ("order", {"body": ORDER.replace("   > {zh} 最后。\n   > {en} It is last.\n", "")},
         "no reason"),
        ("order", {"body": "\n".join(ORDER.split("\n")[:6])}, "three steps at least"),
        ("say", {"body": SAY.split(":::")[0]}, "no closing remark"),
        ("say", {"body": "- 一 1\n\n" + SAY.split("\n\n")[1]}, "two to four points"),
        ("choice", {"role": "exam"}, "no such :role:"),
        ("choice", {"role": "recall"}, "says :about:"),
        ("choice", {"about": "masks"}, "says :about:"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(kind, change, problem):
    found = told(kind, **change)
    assert any(problem in each for each in found), found


@pytest.mark.parametrize("kind", ["number", "line", "paint"])
def test_an_option_that_the_kind_needs(kind):
    needed, body = KINDS[kind]
    for option in needed:
        rest = {name: value for name, value in needed.items() if name != option}
        found = read("q", {"role": "check", "kind": kind, **rest}, (ASK + body).split("\n"))
        assert f"a {kind} needs :{option}:" in [problem for _, problem in complaints(found)]


def test_an_unknown_kind_is_all_that_is_said():
    found = read("q", {"role": "check", "kind": "essay"}, [])
    assert [problem.partition(":")[0] for _, problem in complaints(found)] == ["no such "]


def test_the_line_of_what_is_wrong():
    body = CHOICE.replace("  > {zh} 一加一。\n  > {en} One and one.\n", "")
    ((line, problem),) = complaints(question(body=body))
    assert "no reply" in problem
    assert (ASK + body).split("\n")[line].startswith("- [x]")


def test_a_mistake_must_differ_from_the_answer_and_from_other_mistakes():
    assert list(answers_wrong([[10], [0], [60]], right=0, tolerance=3)) == []
    ((place, problem),) = answers_wrong([[10], [12.9], [60]], right=0, tolerance=3)
    assert (place, "within the tolerance" in problem) == (1, True)
    ((place, problem),) = answers_wrong([[10], [60], [60]], right=0, tolerance=3)
    assert (place, "the same answer as mistake 2" in problem) == (2, True)
    assert list(answers_wrong([[1, 0, 1], [1, 1, 1]], right=0, tolerance=0)) == []
    drawings = [[0.5, 0.5, 0.5, 0.5], [0.5, 0.5, 0.5, 0.7]]
    assert list(answers_wrong(drawings, right=0, tolerance=0.08)) == []
    ((_, problem),) = answers_wrong(drawings, right=0, tolerance=0.08, paint="profile")
    assert "within the tolerance" in problem


def test_no_variant_has_the_answer_of_another():
    assert asked_twice([34, 37, 28], tolerance=0.4) is None
    assert asked_twice([34], tolerance=0.4) is None
    assert "variant 3 is that of variant 1" in str(asked_twice([34, 37, 34.4], tolerance=0.4))
