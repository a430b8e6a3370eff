"""The editor in a browser: the verdict, errors in words, limits, what is kept; cells to change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from exercise_pages import ALONE, NORM, STUB
from playwright.sync_api import expect
from tiny import TinyBook

pytestmark = pytest.mark.browser

BOX = "#write-masked-softmax"
RIGHT = (
    "def masked(scores, see):\n"
    "    filled = scores.masked_fill(~see, -torch.inf)\n"
    "    return filled.softmax(dim=-1).masked_fill(~see, 0.0)\n\n"
    'check("masked-softmax", masked)'
)
ALMOST = RIGHT.replace(".masked_fill(~see, 0.0)", "")
#: What Pyodide says when the browser's stack has ended.
OF_PYODIDE = re.compile("fatal error|Maximum call stack|favicon|theme mode|404")


class Box:
    """The box of one exercise, as a reader uses it."""

    def __init__(self, page: Any, place: str = BOX) -> None:
        self.page, self.place = page, page.locator(place)
        self.place.scroll_into_view_if_needed()  # the editor comes when the reader does
        self.area = self.place.locator("textarea")

    def part(self, name: str) -> Any:
        return self.place.locator(f".py-{name}")

    def press(self, text: str | None = None) -> None:
        if text is not None:
            self.area.fill(text)
        self.part("run").click()

    def run(self, text: str | None = None) -> str:
        """Run a text; return what is said about it, in words."""
        self.press(text)
        self.part("stop").wait_for(state="hidden", timeout=120_000)
        return self.said()

    def said(self) -> str:
        """What the reader sees, blanks made one."""
        return " ".join(self.part("result").inner_text().split())

    def printed(self) -> str:
        return str(self.part("out").inner_text())


def opened(browser: Any, address: str, **options: Any) -> Iterator[Any]:
    page = browser.new_page(**{"viewport": {"width": 1280, "height": 900}, **options})
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda line: line.type == "error" and troubles.append(line.text))
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(f"{address}/a.html?lang=en")
    yield page
    assert not [each for each in troubles if not OF_PYODIDE.search(each)]
    own = (address, "file:", "blob:", "data:")
    assert not [url for url in page.asked if not url.startswith(own)]
    page.close()


@pytest.fixture(scope="module")
def page(browser: Any, served: str) -> Iterator[Any]:
    """One page for all tests of this module: Python starts once."""
    yield from opened(browser, served)


@pytest.fixture
def box(page: Any) -> Box:
    return Box(page)


def test_nothing_of_python_is_loaded_before_it_is_asked_for(browser: Any, served: str) -> None:
    for page in opened(browser, served):
        box = Box(page)
        assert re.search(r"Run in this page \(loads 5\.\d MB first\)", box.part("run").inner_text())
        box.area.fill("1 + 1")
        assert not [url for url in page.asked if "/python/" in url]


def test_the_verdict_is_that_of_the_package_with_its_hint_first(box: Box) -> None:
    said = box.run(ALMOST)
    assert "Not yet" in said
    assert 0 < said.index("Hint:") < said.index("On which input")
    assert "Correct" in box.run(RIGHT)


def test_the_page_changes_its_language_and_the_verdict_with_it(box: Box) -> None:
    box.run(ALMOST)
    box.page.get_by_role("button", name="中文").click()
    assert "还不对" in box.said()
    assert "Not yet" not in box.said()
    assert "运行" in box.part("run").inner_text()
    box.page.get_by_role("button", name="English").click()


def test_a_value_and_what_is_printed(box: Box) -> None:
    said = box.run("print('你好')\nfor i in range(3): print(i)\ntorch.arange(6).reshape(2, 3)")
    assert said.startswith("tensor([[0, 1, 2], [3, 4, 5]])")
    assert box.printed() == "你好\n0\n1\n2\n"
    assert "There is nothing to show" in box.run("x = 1")


def test_names_of_the_chapter_stand_ready(box: Box) -> None:
    assert box.run("causal_mask(2, 2).tolist()") == "[[True, False], [True, True]]"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\ny = x / 0", "ZeroDivisionError (line 2) division by zero"),
        ("def f（x）:\n    return x", "full-width or typographic character"),
        ("print(“a”)", "full-width or typographic character"),
        ("x = [1, 2\nprint(x)", "A bracket is never closed."),
        ("def f(x)\n    return x", "The colon at the end of the line is missing."),
        ("if True:\n\tx = 1\n        y = 2", "mixes tabs and spaces"),
        ("if True:\nx = 1", "the line below a colon is not indented"),
        ("masked", "This name is not defined here"),
        ("def f(n):\n    return f(n + 1)\nf(0)", "A function calls itself without end."),
        ("x = torch.zeros(10**9)\nlen(x)", "tensors in a page have to be small"),
        ("import numpy", "a notebook can install anything"),
        ("raise SystemExit(3)", "SystemExit (line 1) 3"),
        ("torch.fft.fft(torch.ones(3))", "The small torch of this page has no torch.fft"),
        ("input('?')", "EOFError"),
    ],
    ids=lambda each: each[:20],
)
def test_what_goes_wrong_is_said_in_words(box: Box, text: str, words: str) -> None:
    assert words in box.run(text)
    assert box.area.input_value() == text


def test_tabs_alone_and_files_do_no_harm(box: Box) -> None:
    assert box.run("if True:\n\tx = 7\nx") == "7"
    assert "home" in box.run("import os\nsorted(os.listdir('/'))")


@pytest.mark.parametrize(
    "text",
    [
        "while True:\n    pass",
        "for i in range(10**7): print(i)",
        "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass",
        "sum(range(10**12))",
    ],
    ids=["loop", "prints", "catches all", "in C"],
)
def test_what_does_not_end_is_ended(box: Box, text: str) -> None:
    assert re.search("Stopped after 1[05] seconds", box.run(text))
    assert box.page.evaluate("1 + 1") == 2  # the page itself has not been waiting
    assert box.area.input_value() == text
    assert box.run("1 + 1") == "2"


def test_of_ten_million_lines_a_page_shows_what_anybody_reads(box: Box) -> None:
    box.run("for i in range(100_000): print(i)")
    assert 20_000 <= len(box.printed()) < 20_200
    assert "more characters" in box.printed()


@pytest.mark.parametrize(
    "text",
    [
        "class T:\n    def __getattr__(self, name): return getattr(self, name + 'x')\nT().a",
        "x = []\nfor _ in range(100_000): x = [x]\nrepr(x)",
        "import os\nos._exit(1)",
    ],
    ids=["getattr", "repr", "exit"],
)
def test_when_python_itself_ends_the_page_goes_on(box: Box, text: str) -> None:
    said = box.run(text)
    assert "RecursionError" in said or "Python ended unexpectedly" in said
    assert box.area.input_value() == text
    assert "Correct" in box.run(RIGHT)


def test_stop_ends_a_run_at_once_and_the_next_one_works_offline(box: Box) -> None:
    box.page.context.set_offline(True)
    box.press("while True: pass")
    box.part("stop").click()
    assert box.said() == "Stopped."
    assert box.run("1 + 1") == "2"
    box.page.context.set_offline(False)


def test_another_cell_waits_for_the_one_that_runs(box: Box) -> None:
    other = Box(box.page, "#write-causal-with-cache")
    box.press("while True: pass")
    other.press()
    expect(other.part("status")).to_contain_text("Another cell is running.")
    box.part("stop").click()
    assert "Not yet" in other.run()


def test_what_was_written_is_kept_and_reset_can_be_undone(browser: Any, served: str) -> None:
    for page in opened(browser, served):
        box = Box(page)
        box.area.fill("1 + 1")
        page.reload()
        box.place.scroll_into_view_if_needed()
        expect(box.area).to_have_value("1 + 1")
        box.part("reset").click()
        assert box.area.input_value() == STUB
        page.keyboard.press("Control+z")
        assert box.area.input_value() == "1 + 1"
        box.part("reset").click()
        page.reload()
        box.place.scroll_into_view_if_needed()
        expect(box.area).to_have_value(STUB)


def test_where_storage_is_forbidden_the_editor_says_so_and_works(browser: Any, served: str) -> None:
    context = browser.new_context()
    context.add_init_script(
        "Storage.prototype.setItem = Storage.prototype.getItem = () => { throw new Error('no'); }"
    )
    page = context.new_page()
    page.goto(f"{served}/a.html?lang=en")
    box = Box(page)
    box.area.fill("1 + 1")
    expect(box.part("status")).to_contain_text("does not let the page keep anything")
    context.close()


def test_keys(browser: Any, served: str) -> None:
    for page in opened(browser, served):
        box = Box(page)
        box.area.fill("")
        box.area.focus()
        for key in ("def f(x):", "Enter", "return x", "Enter", "f(1)", "Tab"):
            page.keyboard.press(key) if key in ("Enter", "Tab") else page.keyboard.type(key)
        assert box.area.input_value() == "def f(x):\n    return x\nf(1)    "
        page.keyboard.press("Control+a")
        page.keyboard.press("Tab")
        assert box.area.input_value() == "    def f(x):\n        return x\n    f(1)    "
        page.keyboard.press("Shift+Tab")
        assert box.area.input_value() == "def f(x):\n    return x\nf(1)    "
        page.keyboard.press("Control+z")
        assert box.area.input_value().startswith("    def")
        page.keyboard.press("Escape")
        assert "py-run" in str(page.evaluate("document.activeElement.className"))


def test_the_colors_lie_under_the_text(box: Box) -> None:
    box.area.fill('def f(x):  # 注\n    return "a" + 1.5 if x else <b>')
    shown = box.place.locator(".py-text pre")
    assert shown.inner_text().rstrip("\n") == box.area.input_value()
    kinds = [each.get_attribute("class") for each in shown.locator("span").all()]
    assert kinds == ["k", "nf", "c1", "k", "s2", "mi", "k", "k"]
    one, other = (each.bounding_box() for each in (shown, box.area))
    assert (one["x"], one["y"]) == (other["x"], other["y"])


def test_copied_as_a_cell(browser: Any, served: str) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{served}/a.html?lang=en")
    box = Box(page)
    box.part("copy").click()
    expect(box.part("status")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == STUB
    context.close()


def test_from_a_folder_on_a_phone(browser: Any, tiny_book: TinyBook) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
    for page in opened(browser, tiny_book.html.as_uri(), **phone):
        box = Box(page)
        assert "Correct" in box.run(RIGHT)
        page.set_viewport_size({"width": 390, "height": 844})
        root = "document.documentElement"
        assert page.evaluate(f"{root}.scrollWidth - {root}.clientWidth") <= 0
        for name in ("run", "reset", "copy"):
            assert box.part(name).bounding_box()["height"] >= 44


def test_paper_and_pages_without_scripts_show_the_listing(browser: Any, served: str) -> None:
    for page in opened(browser, served):
        Box(page).area.wait_for()
        page.emulate_media(media="print")
        assert page.locator(f"{BOX} .highlight-python").is_visible()
        assert not page.locator(f"{BOX} .py-live").is_visible()
    for page in opened(browser, served, java_script_enabled=False):
        assert page.locator(f"{BOX} .highlight-python").is_visible()
        assert "this chapter’s notebook" in page.locator(BOX).inner_text()


# ---- cells --------------------------------------------------------------------------------------


def cell_of(page: Any, code: str) -> Box:
    """The cell with this code, opened by its button."""
    box = Box(page, f'.py-cell:has(.cell_input:has-text("{code}"))')
    box.place.locator(".py-change").click()
    box.area.wait_for()
    return box


def test_a_cell_is_changed_and_run_in_its_place(browser: Any, served: str) -> None:
    for page in opened(browser, served):
        assert "Change and run" in page.locator(".py-change").first.inner_text()
        box = cell_of(page, "sum(half)")
        expect(box.area).to_be_focused()
        assert box.area.input_value() == ALONE
        assert not box.place.locator(".cell_input").is_visible()
        assert box.place.locator(".cell_output").is_visible()
        assert not [url for url in page.asked if "/python/" in url]
        assert "loads 5" in box.part("run").inner_text()
        assert box.run() == "2"
        assert box.printed() == "1.5\n"
        assert not box.place.locator(".cell_output").is_visible()
        assert box.run(ALONE.replace("[1, 2]", "[3, 4]")) == "2"
        assert box.printed() == "3.5\n"


def test_a_changed_cell_is_kept_until_it_is_reset(browser: Any, served: str) -> None:
    for page in opened(browser, served):
        box = cell_of(page, "sum(half)")
        box.area.fill("1 + 1")
        box.part("close").click()
        expect(box.place.locator(".cell_input")).to_be_visible()
        expect(box.place.locator(".py-change")).to_be_focused()
        page.reload()
        box = cell_of(page, "sum(half)")
        expect(box.area).to_have_value("1 + 1")
        expect(box.part("status")).to_contain_text("This is how you left it")
        box.part("reset").click()
        expect(box.area).to_have_value(ALONE)
        page.reload()
        expect(cell_of(page, "sum(half)").area).to_have_value(ALONE)


def test_a_cell_with_a_mistake_has_its_check(browser: Any, served: str) -> None:
    for page in opened(browser, served):
        box = cell_of(page, "gain + bias")
        assert "Mend it" in box.place.locator(".py-title").inner_text()
        assert box.area.input_value() == f'{NORM}\n\n\ncheck("layer-norm", norm)'
        assert "Not yet" in box.run()
        right = "F.layer_norm(x, x.shape[-1:]) * gain + bias"
        text = box.area.input_value().replace("x * gain + bias", right)
        assert "Correct" in box.run(text)
        assert box.printed() == "flat\n"


def test_what_hangs_on_other_cells_has_no_button(page: Any) -> None:
    assert page.locator(".py-cell").count() == 2


def test_paper_shows_a_cell_as_it_was(browser: Any, served: str) -> None:
    for page in opened(browser, served):
        box = cell_of(page, "sum(half)")
        box.run("3")
        page.emulate_media(media="print")
        for part in (".cell_input", ".cell_output"):
            assert box.place.locator(part).is_visible()
        for part in (".py-live", ".py-change"):
            assert not box.place.locator(part).is_visible()
