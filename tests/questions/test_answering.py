"""A tiny book's questions in a browser: answered, folded, remembered.

The book is served, since a busy Chromium hands some pages from a folder a storage of their own.
"""

import json
import os
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from browser import MISSING, chromium
from playwright.sync_api import expect
from written import KINDS

pytestmark = pytest.mark.browser
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


@pytest.fixture(scope="module")
def browser(browser_type):
    found = chromium()
    if not found:
        (pytest.fail if os.environ.get("BOOK_REQUIRE_BROWSER") else pytest.skip)(MISSING)
    launched = browser_type.launch(executable_path=found, args=FLAGS)
    yield launched
    launched.close()


class Quiet(SimpleHTTPRequestHandler):
    """It writes nothing about what is asked for."""

    def log_message(self, format, *args):
        """Say nothing."""


@pytest.fixture(scope="module")
def address(book):
    """Where the tiny book is served."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=book.html))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def reader(browser, address):
    """A function that opens a page; an error in it fails the test."""
    context, troubles = browser.new_context(viewport={"width": 390, "height": 800}), []

    def open_page(name, language="en"):
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(f"{address}/{name}.html?lang={language}")
        page.evaluate("document.documentElement.removeAttribute('data-layout')")
        return page

    yield open_page
    context.close()
    assert not troubles


def grades(page):
    stored = json.loads(page.evaluate("localStorage.getItem('attention-book-questions')") or "null")
    return [(name, grade) for name, _, grade, *_ in stored["log"]] if stored else []


def give(question, kind, *, right):
    """Answer: every kind has its own way."""
    if kind == "choice":
        question.locator(f"[data-item='{1 if right else 0}'] button").click()
    elif kind == "number":
        question.locator("input").fill("２" if right else "7/2")
        question.locator("input").press("Enter")
    elif kind == "line":
        question.locator("button", has_text="b = a + a" if right else "a = 1").click()
    elif kind == "paint":
        for slider, value in zip(question.locator("[type=range]").all(), (30, 90), strict=True):
            slider.fill(str(value if right else 120 - value))
        question.get_by_role("button", name="Compare").click()
    elif kind == "order":
        for step in range(3) if right else ():
            item = question.locator(f"[data-item='{step}']")
            while item.evaluate("each => [...each.parentNode.children].indexOf(each)") > step:
                item.get_by_role("button", name="Move up").press("Space")
        question.get_by_role("button", name="Check the order").click()
    else:
        question.get_by_role("button", name="Compare").click()
        for point in question.get_by_role("checkbox").all() if right else ():
            point.check()
        question.get_by_role("button", name="Done").click()


@pytest.mark.parametrize("kind", KINDS)
def test_right(reader, kind):
    page = reader("a")
    question = page.locator(f"#question-q-{kind}")
    expect(question.locator(".question-answer")).to_be_hidden()
    give(question, kind, right=True)
    expect(question.get_by_role("status").last).to_contain_text("✓" if kind != "say" else "All")
    assert grades(page) == [(f"q-{kind}", 3)]


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_and_right_at_the_second_try(reader, kind):
    page = reader("a")
    question = page.locator(f"#question-q-{kind}")
    give(question, kind, right=False)
    said = question.get_by_role("status").last
    if kind == "say":
        expect(said).to_contain_text("More next time")
        expect(said).to_contain_text("Two points.")
        return
    expect(said).to_contain_text("one more try")
    replies = {"choice": "Too few.", "line": "Nothing wrong.", "order": "first"}
    expect(said).to_contain_text(replies.get(kind, "Count."))
    give(question, kind, right=True)
    expect(said).to_contain_text("✓")
    assert grades(page) == [(f"q-{kind}", 1)]


def test_a_line_is_mended_and_a_recall_leads_back_when_all_is_over(reader):
    page = reader("a")
    line, recall = page.locator("#question-q-line"), page.locator("#question-q-recall")
    give(line, "line", right=True)
    expect(line.get_by_role("status")).to_contain_text("Mended: b = a")
    recall.locator("[data-item='0'] button").click()
    expect(recall.get_by_role("status").get_by_role("link")).to_have_count(0)
    recall.locator("[data-item='2'] button").click()
    expect(recall.get_by_role("status")).to_contain_text("Not right")
    expect(recall.get_by_role("status").get_by_role("link")).to_be_visible()


def test_another_time_other_numbers(reader):
    page = reader("a")
    question = page.locator("#question-q-given")
    expect(question).to_contain_text("Of 4, how many?")
    question.locator("input").fill("5/2")
    question.locator("input").press("Enter")
    expect(question.get_by_role("status").last).to_contain_text("Out of 4.")
    page.reload()
    question.get_by_role("button", name="Ask me again").click()
    expect(question).to_contain_text("Of 5, how many?")
    question.locator("input").fill("1")
    question.locator("input").press("Enter")
    expect(question.get_by_role("status").last).to_contain_text("Out of 5.")
    assert grades(page) == [("q-given", 3)]


def folded(page):
    return page.locator("[data-veiled]").all_text_contents()


def test_a_prediction_folds_to_the_line_or_to_the_heading(reader):
    page = reader("b")
    assert folded(page) == ["Folded.", "So is this.", "To the heading."]
    expect(page.get_by_text("In sight.")).to_be_visible()
    expect(page.get_by_text("The next section.")).to_be_visible()
    give(page.locator("#question-q-guess"), "choice", right=False)
    expect(page.locator("#question-q-guess")).to_contain_text("Not as you guessed")
    assert folded(page) == ["To the heading."]
    expect(page.get_by_text("So is this.")).to_be_visible()
    page.get_by_role("button", name="Show it without guessing").click()
    assert folded(page) == []
    assert grades(page) == [("q-guess", 1)]
    expect(page.get_by_text("To the heading.")).to_be_focused()


@pytest.mark.parametrize(
    ("language", "words"), [("zh", "猜过之后"), ("en", "once you have guessed")]
)
def test_the_veil_speaks_the_language_of_the_reader(reader, language, words):
    page = reader("b", language)
    shown = page.locator(".question-veil").first.inner_text()
    assert words in shown
    assert ("guess" in shown) == (language == "en")


def test_one_broken_question_leaves_the_others_alive(browser, book):
    text = book.page("a").replace('"kind":"choice"', '"kind":"riddle"', 1)
    broken = book.html / "broken.html"
    broken.write_text(text, encoding="utf8")
    page, errors = browser.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(broken.as_uri())
    expect(page.locator(".question-live")).to_have_count(page.locator(".question").count() - 1)
    assert len(errors) == 1
    page.close()
