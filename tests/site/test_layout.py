"""Wide and narrow screens, both color modes, paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

#: What may be wider than the page is not entered: it scrolls by itself, or is not seen.
WIDER_THAN_THE_PAGE = """
() => {
  const width = document.documentElement.clientWidth, found = [];
  const apart = "pre, .math-scroll, .table-box, .live-scroll, .question-scroll, .question-hidden," +
    " .py-editor, .katex-mathml, dialog, svg";
  for (const place of document.querySelectorAll("article, .bd-header-article, footer")) {
    const walker = document.createTreeWalker(place, NodeFilter.SHOW_ELEMENT, (element) =>
      element.matches(apart) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
    while (walker.nextNode()) {
      const element = walker.currentNode, box = element.getBoundingClientRect();
      if (!box.width || box.right <= width + 1) continue;
      if (getComputedStyle(element).position === "fixed") continue;
      found.push(`${element.tagName}.${element.className} ${Math.round(box.right)}`);
    }
  }
  return found;
}
"""
OPEN = """document.querySelectorAll('details').forEach(box => box.open = true);
document.querySelectorAll('.folded .fold-button').forEach(button => button.click())"""


def test_nothing_scrolls_sideways(laid_out: Any) -> None:
    page = laid_out
    page.evaluate(OPEN)
    found = []
    for width, languages in ((1280, ("zh", "both", "en")), (360, ("en", "both", "zh"))):
        page.set_viewport_size({"width": width, "height": 844})
        for language in languages:
            page.evaluate(
                "language => document.querySelector(`[data-set-language=${language}]`).click()",
                language,
            )
            wide = page.evaluate(WIDER_THAN_THE_PAGE)
            if wide or page.evaluate("document.documentElement.scrollWidth") > width:
                found.append((width, language, wide))
    assert not found


@pytest.mark.parametrize("width", [360, 390])
def test_header_fits_a_phone(page: Any, base_url: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{base_url}/masks.html?lang=zh")
    shown = [
        button
        for button in page.locator(".bd-header-article :is(button, a)").all()
        if button.is_visible()
    ]
    boxes = [button.bounding_box() for button in shown]
    assert len(boxes) >= 7  # the sidebar's button, three languages, mode, search, outline
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
    assert max(box["y"] for box in boxes) - min(box["y"] for box in boxes) < 12  # one row
    assert all(box["height"] >= 24 and box["width"] >= 24 for box in boxes)


@pytest.mark.parametrize("width", [360, 700])
def test_equation_number_stays_in_sight(page: Any, base_url: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{base_url}/masks.html?lang=zh")
    for number in page.locator("div.math:visible > .eqno").all():
        box = number.bounding_box()
        scroll = number.locator("xpath=../*[contains(@class,'math-scroll')]").bounding_box()
        if width > 480:  # at the right, beside its equation
            assert scroll["x"] + scroll["width"] <= box["x"]
        else:  # below, so that the equation has the whole width
            assert scroll["y"] + scroll["height"] <= box["y"]
        assert box["x"] + box["width"] <= width


#: What lies on more than one line, of what ought to be read in one.
BROKEN = """
() => {
  const range = document.createRange(), found = [];
  const lines = (rects) => {
    const tops = [...rects].filter((each) => each.width > 0.5).map((each) => each.top);
    return tops.length && Math.max(...tops) - Math.min(...tops) > 8;
  };
  for (const one of document.querySelectorAll("code .option, .minutes-told, .book-part-extent"))
    if (lines(one.getClientRects())) found.push(one.textContent);
  for (const item of document.querySelectorAll(".door li")) {
    const walker = document.createTreeWalker(item, NodeFilter.SHOW_TEXT);
    for (let text; (text = walker.nextNode()); )
      for (const time of text.data.matchAll(/\\d+\\u00a0(min|分钟)/g)) {
        range.setStart(text, time.index);
        range.setEnd(text, time.index + time[0].length);
        if (lines(range.getClientRects())) found.push(time[0]);
      }
  }
  for (const comment of document.querySelectorAll("article .cell_input pre .c1")) {
    const box = comment.closest("pre"), { paddingLeft, paddingRight } = getComputedStyle(box);
    const room = box.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
    const style = comment.style.cssText;
    comment.style.cssText = "display: inline-block; max-width: none; white-space: pre";
    const width = comment.getBoundingClientRect().width;
    comment.style.cssText = style;
    range.selectNodeContents(comment);
    if (width && width < room - 1 && lines(range.getClientRects())) found.push(comment.textContent);
  }
  return found;
}
"""


@pytest.mark.parametrize("name", ["intro", "bahdanau", "masks", "for-lecturers", "self-attention"])
def test_no_line_breaks_a_time_an_option_a_comment(tab_page: Any, base_url: str, name: str) -> None:
    for width in (360, 390, 768, 1280):
        tab_page.set_viewport_size({"width": width, "height": 844})
        for language in ("zh", "en"):
            tab_page.goto(f"{base_url}/{name}.html?lang={language}")
            tab_page.evaluate(OPEN)
            tab_page.keyboard.press("End")
            assert not tab_page.evaluate(BROKEN), (width, language)
    if name in ("masks", "bahdanau", "for-lecturers", "self-attention"):
        assert tab_page.locator("code .option").count()


def test_no_formula_is_wider_than_a_phone(laid_out: Any, page_name: str) -> None:
    """A reader of a chapter sees all of it; what is folded may scroll."""
    if page_name.startswith("api/"):
        pytest.skip("a reference, whose formulas are those of the docstrings")
    laid_out.set_viewport_size({"width": 390, "height": 844})
    found = {}
    for language in ("zh", "en"):
        laid_out.evaluate(
            "language => document.querySelector(`[data-set-language=${language}]`).click()",
            language,
        )
        found[language] = laid_out.evaluate(
            """[...document.querySelectorAll("article .math-scroll")]
               .filter((box) => !box.closest("details, .folded") && box.clientWidth
                 && box.scrollWidth > box.clientWidth + 1)
               .map((box) => box.textContent.slice(0, 30))"""
        )
    assert not any(found.values()), found


def test_what_scrolls_is_reachable_by_keyboard(page: Any, base_url: str) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(f"{base_url}/masks.html?lang=zh")
    page.evaluate(OPEN)  # what was folded when the page was measured, too
    page.keyboard.press("Tab")
    stuck = page.evaluate(
        """[...document.querySelectorAll("article :is(pre, .math-scroll, .table-box)")]
           .filter(box => box.scrollWidth > box.clientWidth + 1 && box.tabIndex !== 0).length"""
    )
    assert stuck == 0


def test_color_mode_is_remembered(page: Any, base_url: str, choose_color_mode: Any) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(f"{base_url}/masks.html?lang=zh")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    choose_color_mode(page, "light")
    page.goto(f"{base_url}/intro.html")
    assert page.locator("html").get_attribute("data-theme") == "light"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def test_paper_shows_the_code_that_is_folded(page: Any, base_url: str, tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    page.emulate_media(color_scheme="dark")
    page.goto(f"{base_url}/language-models.html?lang=zh")
    folded = page.locator(".cell.tag_hide-input details.hide pre").first.text_content()
    page.pdf(path=tmp_path / "page.pdf", print_background=True)
    sheets = pypdf.PdfReader(tmp_path / "page.pdf").pages
    printed = "".join("".join(sheet.extract_text().split()) for sheet in sheets)
    assert "".join(folded.splitlines()[0].split()) in printed


class TestFolding:
    def test_solutions_fold_and_open(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/masks.html?lang=zh")
        box = page.locator(".solution.dropdown").first
        button = box.locator(".fold-button").first
        content = box.locator(":scope > :not(.admonition-title)").first
        assert button.get_attribute("aria-expanded") == "false"
        assert not content.is_visible()
        button.focus()
        page.keyboard.press("Enter")
        assert button.get_attribute("aria-expanded") == "true"
        assert content.is_visible()

    def test_a_link_opens_what_it_points_at(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/masks.html?lang=zh")
        anchor = page.locator(".solution.dropdown").first.get_attribute("id")
        page.goto(f"{base_url}/masks.html?lang=zh#{anchor}")
        page.reload()
        assert "folded" not in page.locator(f"[id='{anchor}']").get_attribute("class")

    def test_open_without_javascript(self, browser: Any, base_url: str) -> None:
        page = browser.new_page(java_script_enabled=False)
        page.goto(f"{base_url}/masks.html")
        assert page.locator(".solution.dropdown > :not(.admonition-title)").first.is_visible()
        page.close()


def test_copying_leaves_prompts_out(page: Any, context: Any, base_url: str) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{base_url}/masks.html?lang=en")
    page.evaluate(
        """() => { const pre = document.querySelector("article .highlight > pre");
           pre.textContent = ">>> x = 1\\n>>> if x:\\n...     x\\n1\\n"; }"""
    )
    button = page.locator("article .copy-button").first
    assert button.get_attribute("aria-label") == "Copy the code"
    button.evaluate("button => button.click()")
    page.wait_for_timeout(200)
    assert page.evaluate("navigator.clipboard.readText()") == "x = 1\nif x:\n    x"


def test_paper(page: Any, base_url: str, tmp_path: Path) -> None:
    """In print: one language, no frame, solutions open, code wrapped."""
    page.goto(f"{base_url}/masks.html?lang=zh")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    for frame in (".bd-sidebar-primary", ".bd-header-article", ".prev-next-footer", ".copy-button"):
        assert not page.locator(frame).first.is_visible(), frame
    assert page.locator("article h1 .bl-zh").is_visible()
    assert not page.locator("article h1 .bl-en").is_visible()
    assert page.locator(".folded").count() == 0
    wraps = page.evaluate("getComputedStyle(document.querySelector('article pre')).whiteSpace")
    assert wraps == "pre-wrap"
    page.set_viewport_size({"width": 680, "height": 900})  # A4 without its margins
    assert not page.evaluate(
        """[...document.querySelectorAll("article pre")]
           .some(pre => pre.scrollWidth > pre.clientWidth + 1)"""
    )


def test_a_chinese_sentence_beside_code_has_room_on_a_phone(page: Any, base_url: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{base_url}/notation.html?lang=zh")
    narrow = page.evaluate(
        r"""[...document.querySelectorAll("article td")]
          .filter((cell) => /[\u4e00-\u9fff]{9}/.test(cell.innerText) && cell.clientWidth < 90)
          .map((cell) => cell.innerText)"""
    )
    assert not narrow


def test_names_of_the_reference_stand_above_what_they_are_for(page: Any, base_url: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{base_url}/api/index.html?lang=en")
    boxes = page.locator(".table-box", has=page.locator("td:first-child a > code.xref"))
    assert boxes.count() > 0
    wide = "boxes => boxes.filter((box) => box.scrollWidth > box.clientWidth + 1).length"
    assert boxes.evaluate_all(wide) == 0


class TestLayout:
    """A page that is opened at its beginning is laid out as one reads on."""

    PAGE = "seq2seq.html"
    SECTIONS = "article.bd-article > section > section"

    def test_what_is_far_below_waits(self, page: Any, base_url: str) -> None:
        last = f"{self.SECTIONS}:last-of-type"
        page.goto(f"{base_url}/{self.PAGE}?lang=en")
        section = page.locator(last)
        shown = (
            "section => section.firstElementChild.checkVisibility({contentVisibilityAuto: true})"
        )
        assert not section.evaluate(shown)
        section.scroll_into_view_if_needed()
        page.wait_for_timeout(500)
        assert section.evaluate(shown)

    def test_in_the_end_all_of_it_is_laid_out(self, page: Any, base_url: str) -> None:
        page.goto(f"{base_url}/{self.PAGE}?lang=en")
        expect(page.locator("html")).not_to_have_attribute("data-layout", "near", timeout=15_000)

    @pytest.mark.parametrize("width", [1280, 390])
    def test_a_jump_arrives(self, page: Any, base_url: str, width: int) -> None:
        page.emulate_media(reduced_motion="reduce")  # so that it arrives at once
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(f"{base_url}/{self.PAGE}?lang=en")
        anchors = page.locator(self.SECTIONS).evaluate_all(
            "sections => sections.map(section => section.id)"
        )
        link = "id => Object.assign(document.createElement('a'), {href: '#' + id})"
        for anchor in anchors[1:-1:2]:  # the last one may have too little below it
            page.evaluate("scrollTo(0, 0)")
            page.evaluate(
                f"id => {{ const a = ({link})(id); document.body.append(a); a.click(); }}", anchor
            )
            self.arrived(page, anchor)
            page.goto("about:blank")
            page.goto(f"{base_url}/{self.PAGE}?lang=en#{anchor}")
            self.arrived(page, anchor)
            page.goto("about:blank")
            page.goto(f"{base_url}/{self.PAGE}?lang=en")

    def arrived(self, page: Any, anchor: str) -> None:
        page.wait_for_timeout(200)  # for the figures that come alive meanwhile
        top = page.locator(f"[id='{anchor}']").evaluate(
            "place => place.getBoundingClientRect().top"
        )
        assert 0 <= top < 150, f"{anchor} stands at {top}"


SHIFTS = """
globalThis.shifts = [];
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput, sources } of list.getEntries())
    if (!hadRecentInput)
      shifts.push([value, ...sources.map(({ node }) => node?.className ?? node?.nodeName)]);
}).observe({ type: "layout-shift", buffered: true });
"""


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["masks", "serving", "today", "own-file", "glossary"])
def test_nothing_moves_when_fonts_and_scripts_come_late(
    browser: Any, base_url: str, watch: Any, width: int, name: str
) -> None:
    """The sum of a page's shifts in its first seconds, as browsers count: good is below 0.1."""
    context = browser.new_context(
        viewport={"width": width, "height": 800}, has_touch=width == 390, is_mobile=width == 390
    )
    page = watch(context.new_page())
    page.add_init_script(SHIFTS)

    def late(route: Any) -> None:
        page.wait_for_timeout(300)
        route.continue_()

    page.route("**/*.woff2*", late)
    page.route("**/*.js*", late)
    language = "zh" if name == "glossary" else "en"  # whose order is not that of the file
    page.goto(f"{base_url}/{name}.html?lang={language}")
    page.wait_for_timeout(1500)
    shifts = page.evaluate("shifts")
    context.close()
    assert sum(value for value, *_ in shifts) < 0.05, shifts
