"""Today's questions, and progress in the contents, as a reader meets them in the built site."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
KEY = "attention-book-questions"
TODAY = int(time.time() // 86400)  # that of a reader in Greenwich, after four in the morning
NOON = datetime.fromtimestamp((TODAY + 0.5) * 86400, UTC)
ASKED = ".today-question .question"
#: Options are mixed; with this they stay as they are written.
UNMIXED = "Math.random = () => 0.999999;"
FORBIDDEN = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })"


class Question:
    """A question with options: its name, its page, and which option is right."""

    def __init__(self, page: str, data: dict[str, Any]) -> None:
        self.page, self.name, self.right = page, data["id"], data["right"]


@pytest.fixture(scope="session")
def choices(site: Path) -> list[Question]:
    """Every question with options, as the book lists them."""
    folder, found = site / "_static" / "questions", []
    index = folder.joinpath("index.js").read_text(encoding="utf8").partition(" = ")[2]
    for page in json.loads(index.rstrip(";\n"))["pages"]:
        text = folder.joinpath(f"{page}.js").read_text(encoding="utf8")
        boxes = json.loads(text.partition(", ")[2].rstrip(");\n"))
        for box in boxes.values():
            data = json.loads(re.search(r'<script type="application/json">([^<]*)', box)[1])  # type: ignore[index]
            found += [Question(page, data)] if data["kind"] == "choice" else []
    return found


def answered(*names: str, days_ago: int = 90, **more: Any) -> dict[str, Any]:
    """Return the progress of a reader who has answered some questions once, long ago."""
    cards = {
        name: {"s": 2.3 + n / 10, "d": 5, "last": TODAY - days_ago, "reps": 1}
        for n, name in enumerate(names)
    }
    return {"version": 1, "cards": cards, "log": [], "lines": {}, "settings": {}, **more}


@pytest.fixture
def visit(browser: Any, watch: Any, base_url: str) -> Iterator[Callable[..., Any]]:
    """Open a page as a reader with some progress, at noon in Greenwich."""
    contexts = []

    def open_page(
        name: str, progress: Any = None, *, lang: str = "en", script: str = "",
        base: str = base_url, width: int = 1280, **options: Any,
    ) -> Any:  # fmt: skip
        context = type(browser).new_context(  # one who comes for the first time
            browser, viewport={"width": width, "height": 900}, timezone_id="UTC", **options
        )
        contexts.append(context)
        if progress is not None:
            text = json.dumps(json.dumps(progress))
            script += f"localStorage.getItem('{KEY}') ?? localStorage.setItem('{KEY}', {text});"
        context.add_init_script(UNMIXED + script)
        page = watch(context.new_page())
        page.clock.set_system_time(NOON)
        page.goto(f"{base}/{name}.html?lang={lang}")
        page.wait_for_load_state("load")
        return page

    yield open_page
    for context in contexts:
        context.close()


def says(place: Any, words: str | re.Pattern[str]) -> None:
    """Wait until a place says something in the reader's language."""
    expect(place).to_contain_text(words, use_inner_text=True)


def stored(page: Any) -> Any:
    return json.loads(page.evaluate(f"localStorage.getItem('{KEY}')") or "null")


def answer(page: Any, question: Question, *, rightly: bool = True) -> None:
    options = page.locator(f"{ASKED} .question-option")
    options.nth(question.right if rightly else (question.right + 1) % options.count()).click()


def asked(page: Any) -> str:
    text = page.locator(f"{ASKED} script").evaluate("each => each.textContent")
    return str(json.loads(text)["id"])


# ---- what there is to do ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lang", "words"), [("zh", "还没有答过题"), ("en", "have not answered any question yet")]
)
def test_whoever_has_answered_nothing_is_told_what_this_page_will_do(
    visit: Any, choices: list[Question], lang: str, words: str
) -> None:
    page = visit("today", lang=lang)
    says(page.locator(".today-stage"), words)
    page.locator(".today-stage a").click()  # to the first chapter
    assert choices[0].page in page.url
    assert page.locator(".question-badge").is_hidden()


def test_whoever_has_answered_nothing_can_try_one(visit: Any, choices: list[Question]) -> None:
    page = visit("today")
    page.get_by_role("button", name="Try one").click()
    expect(page.locator(ASKED)).to_be_visible()
    assert asked(page) == choices[0].name  # the book's first
    stage = page.locator(".today-stage")
    expect(stage).not_to_contain_text("comes back here")
    answer(page, choices[0])
    says(stage, "this question comes back here")
    says(stage, "Read on: ")
    assert list(stored(page)["cards"]) == [choices[0].name]
    page.reload()
    says(stage, "Nothing is due today")


def test_whoever_has_nothing_due_is_told_when(visit: Any, choices: list[Question]) -> None:
    page = visit("today", answered(choices[0].name, choices[1].name, days_ago=0))
    stage = page.locator(".today-stage")
    says(stage, re.compile(r"Nothing is due today; the next time is in \d+ days"))
    assert stage.get_by_role("button").count() == 0


def test_a_round_asks_ten_most_overdue_first_and_no_two_of_a_chapter_in_a_row(
    visit: Any, choices: list[Question]
) -> None:
    few = choices[:12]
    page_of = {question.name: question.page for question in few}
    page = visit("today", answered(*page_of))
    says(page.locator(".question-count"), "12 due")
    says(page.locator(".today-stage"), "12 questions are due today")
    page.get_by_role("button", name="Start").click()
    seen = []
    for step in range(10):
        says(page.locator(".today-stage"), f"{step + 1} / 10")
        seen.append(asked(page))
        assert page.get_by_role("button", name="Next").is_disabled()
        assert page.locator(".today-question > p a").is_hidden()  # where it is from is half of it
        page.locator(".today-question .question-option").nth(0).click()
        expect(page.locator(".today-question > p a")).to_be_visible()
        page.get_by_role("button", name="Next").click()
    assert set(seen) == {question.name for question in few[:10]}
    together = sum(page_of[a] == page_of[b] for a, b in pairwise(seen))
    most = max(list(page_of.values())[:10].count(each) for each in set(page_of.values()))
    assert together == max(0, 2 * most - 11)
    cards = stored(page)["cards"]
    assert {name for name in seen if cards[name]["last"] == TODAY} == set(seen)
    assert len(stored(page)["log"]) == 10
    assert all(0 <= item < 5 for _, _, _, item in stored(page)["log"])


def test_what_was_missed_comes_once_more_and_does_not_count(
    visit: Any, choices: list[Question]
) -> None:
    page = visit("today", answered(choices[0].name, choices[1].name))
    page.get_by_role("button", name="Start").click()
    for question, rightly in ((choices[0], False), (choices[1], True)):
        assert asked(page) == question.name
        answer(page, question, rightly=rightly)
        page.get_by_role("button", name="Next").click()
    once = stored(page)
    assert [grade for _, _, grade, _ in once["log"]] in ([1, 3], [3, 1])
    says(page.locator(".today-stage"), "Once more, what you missed")
    assert asked(page) == choices[0].name
    answer(page, choices[0])
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".today-end")).to_be_focused()
    says(page.locator(".today-end"), "1 of 2 remembered")
    says(page.locator(".today-stage"), "All of today’s questions are answered")
    assert stored(page) == once
    assert page.locator(".question-badge").is_hidden()


def test_whoever_has_forgotten_says_so_instead_of_guessing(
    visit: Any, choices: list[Question]
) -> None:
    page = visit("today", answered(choices[0].name))
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="Show the answer").click()
    says(page.locator(ASKED), "Not remembered")
    truth = page.locator(f"{ASKED} .question-option").nth(choices[0].right)
    assert "right" in truth.get_attribute("class").split()
    assert stored(page)["log"][-1][2:] == [1, None]  # forgotten, and no option picked
    page.get_by_role("button", name="Next").click()
    says(page.locator(".today-stage"), "Once more, what you missed")


def test_one_reads_on_in_the_last_chapter_begun(visit: Any, choices: list[Question]) -> None:
    pages = list(dict.fromkeys(each.page for each in choices))
    for begun in (pages[2], pages[-2]):
        names = [each.name for each in choices if each.page == begun][:1]
        page = visit("today", answered(*names, days_ago=0))
        address = page.locator(".today-stage a").evaluate("link => link.pathname")
        assert address == f"/{begun}.html"  # the chapters before it were skipped


def test_a_round_by_keyboard_alone(visit: Any, choices: list[Question]) -> None:
    page = visit("today", answered(choices[0].name))
    page.get_by_role("button", name="Start").focus()
    page.keyboard.press("Enter")
    expect(page.locator(f"{ASKED} .question-option").first).to_be_focused()
    for _ in range(choices[0].right):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    says(page.locator(ASKED), "Right")
    while not page.get_by_role("button", name="Next").evaluate(
        "each => each === document.activeElement"
    ):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".today-end")).to_be_focused()


#: A script of the site that is asked for, and another that comes.
SWAPPED = """{
const { set } = Object.getOwnPropertyDescriptor(HTMLScriptElement.prototype, "src");
Object.defineProperty(HTMLScriptElement.prototype, "src", { set(address) {
  set.call(this, String(address).replace("/%s.js", "/contents.js"));
} });
}"""


def test_a_chapter_that_cannot_be_loaded_is_told_and_the_others_are_asked(
    visit: Any, choices: list[Question]
) -> None:
    other = next(each for each in choices if each.page != choices[0].page)
    progress = answered(choices[0].name, other.name)
    page = visit("today", progress, script=SWAPPED % choices[0].page)
    page.get_by_role("button", name="Start").click()
    says(page.locator(".today-stage"), "1 / 1")
    answer(page, other)
    page.get_by_role("button", name="Next").click()
    says(page.locator(".today-end"), "could not be loaded")


# ---- the reader's file --------------------------------------------------------------------------


def test_progress_is_saved_as_a_file_and_read_on_another_device(
    visit: Any, choices: list[Question], tmp_path: Path
) -> None:
    mine = answered(choices[0].name, lines={choices[0].page: ["My <b>line</b> & more", 5]})
    page = visit("today", mine)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as a file").click()
    file = tmp_path / "progress.json"
    waiting.value.save_as(file)
    other = visit("today", answered(choices[1].name))
    other.set_input_files("input[type=file]", file)
    says(other.locator(".today"), "1 question read")
    expect(other.locator(".today-line", has_text="My <b>line</b> & more")).to_be_visible()
    says(other.locator(".today-stage"), "2 questions are due")
    assert set(stored(other)["cards"]) == {choices[0].name, choices[1].name}


@pytest.mark.parametrize("content", ["", "not json", '{"version": 9, "cards": {}}'])
def test_another_file_is_named_and_changes_nothing(
    visit: Any, choices: list[Question], tmp_path: Path, content: str
) -> None:
    page = visit("today", answered(choices[0].name), lang="zh")
    before = stored(page)
    file = tmp_path / "other.json"
    file.write_text(content, encoding="utf8")
    page.set_input_files("input[type=file]", file)
    says(page.locator(".today"), "“other.json”不是本书的进度文件")
    assert stored(page) == before


def test_all_is_deleted_when_the_reader_says_so_twice(visit: Any, choices: list[Question]) -> None:
    page = visit("today", answered(choices[0].name))
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Delete all").click()
    assert stored(page)["cards"]
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete all").click()
    says(page.locator(".today-stage"), "have not answered any question yet")
    assert stored(page)["cards"] == {}


def test_more_to_remember_is_due_at_once(visit: Any, choices: list[Question]) -> None:
    page = visit("today", answered(choices[0].name, days_ago=2))
    says(page.locator(".today-stage"), "Nothing is due")
    page.get_by_label("95%").check()
    says(page.locator(".today-stage"), "One question is due")
    assert stored(page)["settings"]["retention"] == 0.95


def test_cards_for_anki(visit: Any, choices: list[Question]) -> None:
    page = visit("today", answered(choices[0].name))
    page.get_by_label("only those I have answered").check()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Cards in both").click()
    assert waiting.value.suggested_filename == "attention-book-both.txt"
    text = Path(waiting.value.path()).read_text(encoding="utf8")
    *head, row = text.rstrip("\n").split("\n")
    assert head[0] == "#separator:tab"
    fields = row.split("\t")
    assert len(fields) == 6
    assert fields[0] == f'"attention-book-{choices[0].name}-both"'
    assert all("<hr>" in side for side in fields[3:5])


# ---- the browser --------------------------------------------------------------------------------


def test_storage_that_is_forbidden_is_told_and_the_page_works(
    visit: Any, choices: list[Question]
) -> None:
    page = visit("today", script=FORBIDDEN)
    says(page.locator(".today-trouble"), "does not let the book keep anything")
    says(page.locator(".today-stage"), "have not answered any question yet")


def test_two_tabs_lose_nothing_and_hear_of_each_other(visit: Any, choices: list[Question]) -> None:
    first = visit("today", answered(choices[0].name, choices[1].name))
    second = first.context.new_page()
    second.goto(first.url)
    for page, count in ((first, 2), (second, 1)):
        says(page.locator(".question-count"), f"{count} due")
        page.get_by_role("button", name="Start").click()
        name = asked(page)
        answer(page, next(each for each in choices if each.name == name))
    cards = stored(first)["cards"]
    assert {choices[0].name, choices[1].name} == set(cards)
    assert all(card["last"] == TODAY for card in cards.values())
    expect(first.locator(".question-badge")).to_be_hidden()


def test_from_a_folder_without_a_server(visit: Any, choices: list[Question], site: Path) -> None:
    page = visit("today", answered(choices[0].name), base=site.as_uri())
    page.get_by_role("button", name="Start").click()
    answer(page, choices[0])
    says(page.locator(ASKED), "Right")


def test_without_scripts_the_page_says_what_it_would_do(visit: Any) -> None:
    page = visit("today", java_script_enabled=False)
    says(page.locator(".today"), "This page needs scripts")


# ---- in the chapters ----------------------------------------------------------------------------


def test_the_contents_show_how_far_a_reader_is(visit: Any, choices: list[Question]) -> None:
    name, page_name = choices[0].name, choices[0].page
    page = visit("intro", answered(name))
    (ring,) = page.locator(".bd-sidebar-primary .question-ring:has(svg)").all()
    count = sum(each.page == page_name for each in choices)
    said = re.search(r"1 of (\d+) questions answered, 1 due", ring.text_content())
    assert said
    assert int(said[1]) >= count
    page.locator(".question-badge a").click()
    page.wait_for_url("**/today.html*")


def test_a_chapter_opens_with_the_shakiest_question_that_is_due(
    visit: Any, choices: list[Question], site: Path
) -> None:
    chapter = next(
        page
        for page in dict.fromkeys(each.page for each in choices)
        if "question-recall" in (site / f"{page}.html").read_text(encoding="utf8")
    )
    firm, shaky = [each for each in choices if each.page != chapter][:2]
    progress = answered(firm.name, shaky.name)
    progress["cards"][shaky.name]["s"] = 0.5
    page = visit(chapter, progress)
    question = page.locator(".question:has-text('answered before; it is due today')").first
    data = question.locator("script").evaluate("each => each.textContent")
    assert json.loads(data)["id"] == shaky.name
    question.locator(".question-option").nth(shaky.right).click()
    says(question, "It is from")
    assert stored(page)["cards"][shaky.name]["last"] == TODAY


def test_a_line_of_ones_own_is_kept_and_compared(visit: Any, site: Path) -> None:
    name = next(
        path.stem
        for path in sorted(site.glob("*.html"))
        if re.search(r'id="sec-[\w-]+-summary"', path.read_text(encoding="utf8"))
        and "question-" in path.read_text(encoding="utf8")
    )
    page = visit(name)
    form = page.locator(".question-keep")
    theirs = form.locator("~ .bl-pair").first
    assert theirs.get_attribute("hidden") == "until-found"
    form.locator("textarea").fill("My own line.")
    form.get_by_role("button", name="Compare").click()
    assert theirs.get_attribute("hidden") is None
    assert stored(page)["lines"][name][0] == "My own line."
    page.reload()
    expect(page.locator(".question-keep textarea")).to_have_value("My own line.")
    assert page.locator(".question-keep ~ .bl-pair").first.get_attribute("hidden") is None


# ---- for everybody ------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", ["zh", "en", "both"])
def test_on_a_telephone_nothing_scrolls_sideways_and_a_finger_can_press(
    visit: Any, choices: list[Question], lang: str
) -> None:
    progress = answered(
        *(each.name for each in choices[:12]), lines={choices[0].page: ["a long line " * 20, 5]}
    )
    page = visit("today", progress, lang=lang, width=390, has_touch=True)
    for is_asking in (False, True):
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        for control in page.locator(".today button:visible, .today label:visible").all():
            box = control.bounding_box()
            assert box
            assert min(box["height"], box["width"]) >= 24
        if not is_asking:
            page.locator(".today-go").click()
            page.locator(f"{ASKED} .question-option").first.click()


@pytest.mark.parametrize(("lang", "scheme"), [("zh", "light"), ("en", "dark"), ("both", "light")])
def test_axe(visit: Any, choices: list[Question], root: Path, lang: str, scheme: str) -> None:
    axe = root / "audit" / "node_modules" / "axe-core" / "axe.min.js"
    if not axe.is_file():
        pytest.skip("axe-core is not installed: npm ci --prefix audit")
    progress = answered(*(each.name for each in choices[:3]), lines={choices[0].page: ["x", 5]})
    page = visit("today", progress, lang=lang, color_scheme=scheme)
    page.evaluate(axe.read_text(encoding="utf8"))
    for is_asking in (False, True):
        found = page.evaluate(
            "axe.run({ include: [['.today'], ['.question-badge'], ['.question-ring']] },"
            " { resultTypes: ['violations'], preload: false })"
        )
        assert [(each["id"], node["failureSummary"]) for each in found["violations"]
                for node in each["nodes"]] == []  # fmt: skip
        if not is_asking:
            page.locator(".today-go").click()
            page.locator(f"{ASKED} .question-option").first.click()
