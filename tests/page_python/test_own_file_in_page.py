"""The reader's own file in a browser: every step, its slips, what is kept, and what goes wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from course.own_file.planted import LATER, PLANTED
from own_file_pages import EXTENSIONS, pages
from playwright.sync_api import expect
from tiny import TinyBook, make_book

from attention_book.course.own_file import STEPS, check_file, file_at

pytestmark = pytest.mark.browser

KEY = "book-python:my_attention.py"
CHAPTERS = [step.chapter for step in STEPS]
#: The first and the last slip that is planted at each step: the hint is that of a notebook.
SLIPS = sorted({i for n in range(1, 17) for at in [[i for i, s in enumerate(PLANTED) if s[0] == n]]
                for i in (at[0], at[-1])})  # fmt: skip
IN_ORDER = "softmax(-1)"


@pytest.fixture(scope="module")
def own_book(tmp_path_factory: pytest.TempPathFactory) -> TinyBook:
    """A book with the sixteen steps, each on its page."""
    settings = {"exercise_style": "solution_follow_exercise"}
    book = make_book(tmp_path_factory.mktemp("own"), EXTENSIONS, settings=settings, **pages())
    book.build()
    return book


@pytest.fixture(scope="module")
def address(own_book: TinyBook, serve: Callable[[Path], str]) -> str:
    return serve(own_book.html)


class File:
    """The editor of the reader's file in the box of a step; step 0 is the page of the file."""

    def __init__(self, page: Any, step: int) -> None:
        self.page, self.step = page, step
        self.place = page.locator(f"#own-file-{step or 'write'}")
        self.area = self.place.locator("textarea")

    def part(self, name: str) -> Any:
        return self.place.locator(f".py-{name}")

    def open(self) -> File:
        self.part("change").click()
        expect(self.area).to_be_visible()
        return self

    def more(self, name: str) -> Any:
        """A button of the folded part, which is unfolded."""
        fold = self.place.locator("details.py-more")
        if fold.get_attribute("open") is None:
            fold.locator("summary").click()
        return self.part(name)

    def check(self, text: str | None = None) -> str:
        """Check a text; return what is said about it, in words."""
        if text is not None:
            self.area.fill(text)
        self.part("run").click()
        self.part("stop").wait_for(state="hidden", timeout=120_000)
        return " ".join(self.part("result").inner_text().split())

    def marked(self) -> str:
        return " ".join(self.place.locator(".py-numbers b").all_inner_texts())

    def kept(self) -> Any:
        return json.loads(self.page.evaluate(f"localStorage.getItem('{KEY}')") or "null")


@pytest.fixture
def reader(browser: Any, address: str) -> Iterator[Any]:
    """A function that opens a step's page, for somebody who comes for the first time."""
    contexts: list[Any] = []

    def open_page(
        step: int, *, base: str = address, lang: str = "en", context: Any = None, **options: Any
    ) -> File:
        if context is None:
            options = {"viewport": {"width": 1280, "height": 900}, **options}
            context = browser.new_context(**options)
            contexts.append(context)
        page = context.new_page()
        page.troubles, page.asked = [], []
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        name = CHAPTERS[step - 1] if step else "own-file"
        page.goto(f"{base}/{name}.html?lang={lang}")
        return File(page, step)

    yield open_page
    for context in contexts:
        for page in context.pages:
            assert not page.troubles
            own = (address, "file:", "blob:", "data:")
            assert not [url for url in page.asked if not url.startswith(own)]
        context.close()


@pytest.fixture(scope="module")
def checked(browser: Any, address: str) -> Iterator[Any]:
    """Check a text up to a step, as a box does; Python starts once for all."""
    page = browser.new_page()
    page.goto(f"{address}/masks.html")
    call = """async (cell) => {
      await pagePython.load();
      const heard = { progress() {}, started() {}, out() {} };
      const found = await pagePython.run(cell, '{"names":{}}', heard);
      return { ...found, verdict: /data-verdict="([^"]*)"/.exec(found.html)?.[1] };
    }"""

    def check(text: str, step: int, held: int = 0, old: str = "") -> dict[str, Any]:
        given = ", ".join(json.dumps(each) for each in (text, step, held, old, 10))
        cell = f"from attention_book.course.own_file.in_page import check\ncheck({given})"
        found = page.evaluate(call, cell)
        assert found["error"] is None, found["error"]
        assert found["missing"] == []
        return {**found, **json.loads(found["verdict"].replace("&quot;", '"'))}

    yield check
    page.close()


def edited(step: int, old: str, new: str) -> str:
    text = "".join(line.split("  # ")[0] + "\n" for line in file_at(step).splitlines())
    assert old in text
    return text.replace(old, new)


# ---- every step ---------------------------------------------------------------------------------


@pytest.mark.parametrize("step", range(1, 17))
@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_worked_version_of_every_step_passes(checked: Any, step: int, language: str) -> None:
    found = checked(file_at(step, language), step)
    assert (found["passed"], found["step"], found["broken"]) == (True, step, None), found["html"]
    reached = checked(file_at(step, language), 0)
    assert (reached["passed"], reached["step"]) == (True, step)


@pytest.mark.parametrize("slip", SLIPS, ids=lambda each: f"{PLANTED[each][0]}-{PLANTED[each][1]}")
def test_a_slip_gets_the_hint_that_a_notebook_gives(
    checked: Any, slip: int, tmp_path: Path
) -> None:
    step, _, old, new = PLANTED[slip]
    text = edited(step, old, new)
    file = tmp_path / "my_attention.py"
    file.write_text(text, encoding="utf8")
    expected = check_file(step, file, language="en", remember=False)
    found = checked(text, step)
    assert not found["passed"]
    assert (found["step"], found["broken"], found["line"]) == (
        step,
        expected.broken,
        expected.line,
    )
    assert expected.hint is not None
    words = re.sub(r"</?code>", "`", found["html"]).replace("&#x27;", "'").replace("&lt;", "<")
    assert expected.hint.en in words.replace("&gt;", ">")
    assert expected.hint.zh in words.replace("&gt;", ">")


def test_a_later_edit_that_breaks_a_step_is_named_with_its_line(checked: Any) -> None:
    for earlier, later, name, old, new in LATER[:4]:
        held = file_at(later - 1)
        found = checked(edited(later, old, new), later, later - 1, held)
        assert found["broken"] == earlier
        assert f"edit of <code>{name}</code> (line {found['line']})" in found["html"]


# ---- a box --------------------------------------------------------------------------------------


def test_nothing_is_loaded_before_it_is_asked_for(reader: Any) -> None:
    file = reader(3)
    assert file.part("change").inner_text() == "Write it here"
    assert not [url for url in file.page.asked if "python/" in url]
    file.open()
    assert re.search(r"Check steps 1 to 3 \(loads 5\.\d MB first\)", file.part("run").inner_text())
    file.area.fill("x = 1")
    loaded = {url.rpartition("/")[2].partition("?")[0] for url in file.page.asked}
    assert loaded >= {"box.js", "box.css", "pages.js", "own_file.js"}
    assert not [url for url in file.page.asked if "/python/" in url]


def test_from_a_slip_to_the_next_step_in_both_languages(reader: Any) -> None:
    file = reader(1).open()
    said = file.check(file_at(1).replace(IN_ORDER, "softmax(-2)"))
    assert "Step 1 does not hold yet" in said
    assert "Hint: Softmax runs along the wrong axis" in said
    file.page.get_by_role("button", name="中文").click()
    said = " ".join(file.part("result").inner_text().split())
    assert "第 1 步还不对" in said
    assert "softmax 走错了轴" in said
    assert file.part("run").inner_text() == "检查第 1 步"
    said = file.check(file_at(1, "zh"))
    assert "第 1 步对" in said
    assert "接下来：第 2 步，核回归" in said
    file.place.get_by_role("link", name="第 2 步").click()
    expect(file.page).to_have_url(re.compile(r"nadaraya-watson\.html#own-file-2$"))
    other = File(file.page, 2).open()
    expect(other.area).to_have_value(file_at(1, "zh"))
    assert other.kept()["held"] == 1


def test_the_line_of_an_error_is_marked_and_an_edit_is_named(reader: Any) -> None:
    file = reader(3).open()
    assert file.check(file_at(3)).startswith("✓ my_attention.py Steps 1 to 3 hold")
    text = file_at(3).replace("def attention_pooling(scores, v, mask=None):", "def broken(:")
    assert "is not Python" in file.check(text)
    (number,) = [i for i, line in enumerate(text.splitlines(), 1) if line.startswith("def broken")]
    assert file.marked() == str(number)
    text = file_at(3).replace("    return -(((q[:, None] - k) * w) ** 2) / 2", "    return q")
    said = file.check(text)
    assert "Step 2 held before, and your later edit of `gaussian_scores`".replace("`", "") in said
    (number,) = [i for i, line in enumerate(text.splitlines(), 1) if "def gaussian" in line]
    assert file.marked() == str(number)


@pytest.mark.parametrize("step", [5, 0])
def test_a_loop_without_end_is_stopped_with_its_line(reader: Any, step: int) -> None:
    file = reader(step).open()
    text = file_at(5).replace("    w = scores", "    while True:\n        pass\n    w = scores")
    said = file.check(text)
    assert "not done after 10 seconds (stopped at line" in said
    assert int(file.marked()) in range(1, len(text.splitlines()) + 1)
    assert file.page.evaluate("1 + 1") == 2
    expect(file.area).to_have_value(text)
    file.area.fill(file_at(4))
    assert "hold" in file.check() or step == 5


def test_stop_and_what_the_page_has_not(reader: Any) -> None:
    file = reader(1).open()
    file.area.fill("while True:\n    pass\n")
    file.part("run").click()
    file.part("stop").click()
    expect(file.part("result")).to_contain_text("Stopped.")
    text = file_at(1).replace("scores.softmax(-1)", "torch.fft.fft(scores)")
    said = file.check("import torch\n" + text)
    assert "The small torch of this page has no torch.fft" in said
    assert "网页" not in said


# ---- the file as of a step ----------------------------------------------------------------------


def test_who_begins_at_a_later_step_is_offered_the_file_before_it(reader: Any) -> None:
    file = reader(4).open()
    expect(file.part("lacking")).to_contain_text("Your file does not have")
    assert "step 1, Attention yet. Would" in file.part("lacking").inner_text()
    file.part("begin").click()
    expect(file.area).to_have_value(file_at(3))
    expect(file.part("lacking")).to_be_empty()
    assert "no def scaled_dot_product(q, k) yet" in file.check()


def test_a_file_is_never_replaced_unasked_and_can_be_put_back(reader: Any) -> None:
    file = reader(2).open()
    own = "# mine\n"
    file.area.fill(own)
    file.more("take")
    file.place.locator("select").select_option("6")
    file.part("take").click()
    expect(file.part("ask")).to_contain_text("Your line will be replaced")
    file.part("no").click()
    expect(file.area).to_have_value(own)
    file.part("take").click()
    file.part("yes").click()
    expect(file.area).to_have_value(file_at(6))
    file.page.reload()
    file.open()
    expect(file.area).to_have_value(file_at(6))
    file.part("before").click()
    expect(file.area).to_have_value(own)
    file.part("before").click()
    expect(file.area).to_have_value(file_at(6))
    file.more("reset").click()
    file.page.keyboard.press("Escape")
    expect(file.area).to_have_value(file_at(6))
    file.part("reset").click()
    file.part("yes").click()
    expect(file.area).to_have_value("")


def test_a_file_is_taken_along_and_brought_back(reader: Any, tmp_path: Path) -> None:
    file = reader(0).open()
    file.area.fill(file_at(2, "zh"))
    with file.page.expect_download() as got:
        file.more("download").click()
    assert got.value.suggested_filename == "my_attention.py"
    saved = tmp_path / "my_attention.py"
    got.value.save_as(saved)
    assert saved.read_text(encoding="utf8") == file_at(2, "zh")
    assert check_file(2, saved)
    saved.write_bytes(b"\xef\xbb\xbf" + file_at(3).replace("\n", "\r\n").encode())
    file.place.locator("input[type=file]").set_input_files(saved)
    file.part("yes").click()
    expect(file.area).to_have_value(file_at(3))
    saved.write_bytes(b"a\0b")
    file.place.locator("input[type=file]").set_input_files(saved)
    expect(file.part("status")).to_contain_text("not a Python file")
    expect(file.area).to_have_value(file_at(3))


def test_two_steps_of_one_page_have_one_file(reader: Any) -> None:
    one, two = reader(11), None
    two = File(one.page, 12)
    one.open()
    two.open()
    one.area.fill("a = 1\n")
    expect(two.area).to_have_value("a = 1\n")
    two.area.fill("b = 2\n")
    expect(one.area).to_have_value("b = 2\n")


# ---- what is kept -------------------------------------------------------------------------------


def test_two_tabs_follow_each_other_and_neither_overwrites_what_it_has_not_seen(
    reader: Any,
) -> None:
    one = reader(1).open()
    two = reader(2, context=one.page.context).open()
    one.area.fill("a = 1\n")
    expect(two.area).to_have_value("a = 1\n")
    two.area.fill("b = 2\n")
    expect(one.area).to_have_value("b = 2\n")
    # a tab that was not told, as one that slept
    one.page.evaluate("addEventListener('storage', (e) => e.stopImmediatePropagation(), true)")
    one.page.evaluate(
        f"""() => {{ const kept = JSON.parse(localStorage.getItem('{KEY}'));
        localStorage.setItem('{KEY}', JSON.stringify({{ ...kept, text: 'c = 3\\n', at: 7 }})); }}"""
    )
    expect(two.area).to_have_value("c = 3\n")
    one.area.fill("d = 4\n")
    expect(one.part("ask")).to_contain_text("Another tab has changed the file (it has 1 lines)")
    assert one.kept()["text"] == "c = 3\n"
    one.part("no").click()
    assert one.kept()["text"] == "d = 4\n"
    assert one.kept()["before"] == "c = 3\n"
    expect(two.area).to_have_value("d = 4\n")
    one.part("before").click()
    expect(one.area).to_have_value("c = 3\n")


FORBIDDEN = "Object.defineProperty(window, 'localStorage', {get() { throw new Error('no'); }});"
FULL = """Storage.prototype.setItem = () => {
  throw new DOMException("full", "QuotaExceededError"); };"""


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (FORBIDDEN, "does not let the page keep anything"),
        (FULL, "storage is full"),
        (f"localStorage.setItem('{KEY}', 'no JSON');", "cannot be read"),
        (f"localStorage.setItem('{KEY}', '{{\"text\": 7, \"at\": 1}}');", "cannot be read"),
    ],
    ids=["forbidden", "full", "no JSON", "another form"],
)
def test_what_cannot_be_kept_is_told_and_the_editor_works(
    browser: Any, address: str, script: str, words: str
) -> None:
    context = browser.new_context()
    context.add_init_script(script)
    page = context.new_page()
    page.goto(f"{address}/{CHAPTERS[0]}.html?lang=en")
    file = File(page, 1).open()
    file.area.fill(file_at(1))
    expect(file.part("trouble")).to_contain_text(words)
    assert "holds" in file.check()
    if "read" in words:
        assert "text" not in page.evaluate(f"localStorage.getItem('{KEY}')").replace(
            '"text": 7', ""
        )
        file.more("reset").click()
        expect(file.part("trouble")).to_be_empty()
        file.area.fill("e = 5\n")
        assert file.kept()["text"] == "e = 5\n"
    context.close()


# ---- where it stands ----------------------------------------------------------------------------


def test_from_a_folder_on_a_phone(reader: Any, own_book: TinyBook) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
    file = reader(2, base=own_book.html.as_uri(), **phone).open()
    file.part("begin").click()
    assert "no def gaussian_scores(q, k, w=1.0) yet" in file.check()
    assert "steps 1 to 2 hold".capitalize() in file.check(file_at(2))
    root = "document.documentElement"
    assert file.page.evaluate(f"{root}.scrollWidth - {root}.clientWidth") <= 0
    file.more("take")
    for name in ("run", "take", "download", "upload", "reset"):
        assert file.part(name).bounding_box()["height"] >= 44
    file.area.fill(file_at(16))
    assert file.part("place").bounding_box()["height"] <= 0.71 * 844


def test_keys_reach_everything(reader: Any) -> None:
    file = reader(1)
    file.part("change").focus()
    file.page.keyboard.press("Enter")
    expect(file.area).to_be_visible()
    file.area.focus()
    file.page.keyboard.type("x = 1")
    file.page.keyboard.press("Escape")
    expect(file.part("run")).to_be_focused()
    file.page.keyboard.press("Tab")
    file.page.keyboard.press("Enter")
    expect(file.part("take")).to_be_visible()
    file.part("reset").focus()
    file.page.keyboard.press("Enter")
    expect(file.part("no")).to_be_focused()
    file.page.keyboard.press("Enter")
    expect(file.part("reset")).to_be_focused()
    expect(file.area).to_have_value("x = 1")


def test_paper_and_pages_without_scripts_have_the_command(reader: Any) -> None:
    file = reader(1).open()
    file.page.emulate_media(media="print")
    assert not file.area.is_visible()
    file = reader(1, java_script_enabled=False)
    assert not file.part("change").count()
    assert "attention-book course check --step 1" in file.place.inner_text()
