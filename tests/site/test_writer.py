"""The page that writes, from a file without any network: what it says is what the package says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Page, expect

from attention_book.decoding import sample
from attention_book.live.language import ExportedLanguage, as_in_a_page, write_page
from attention_book.models import LanguageConfig, LanguageModel
from attention_book.text import BOS, Vocabulary

pytestmark = pytest.mark.browser
LETTERS = "春眠不觉晓处闻啼鸟夜来风雨声花落知多少"


@pytest.fixture(scope="module")
def found() -> ExportedLanguage:
    torch.manual_seed(2)
    vocabulary = Vocabulary.build([tuple(LETTERS)] * 2)
    config = LanguageConfig.today(vocabulary=len(vocabulary), num_kv_heads=2, tied=True)
    return ExportedLanguage(
        name="tiny", digest="", model=LanguageModel(config).eval(), vocabulary=vocabulary,
        context=12, beginnings=("春眠", "夜"),
    )  # fmt: skip


@contextmanager
def watched(browser: Browser, path: Path, **options: Any) -> Iterator[Page]:
    """A page with the network off; at the end nothing may have gone wrong."""
    context = browser.new_context(offline=True, **options)
    page, troubles = context.new_page(), list[str]()
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda line: troubles.append(line.text))
    page.on(
        "request",
        lambda request: (
            request.url.startswith((path.as_uri(), "blob:")) or troubles.append(request.url)
        ),
    )
    page.goto(path.as_uri())
    expect(page.locator(".live-choice-bar").first).to_be_visible(timeout=20_000)
    yield page
    context.close()
    assert not troubles


def bars(page: Page) -> list[str]:
    return [text.strip() for text in page.locator(".live-choice-word").all_inner_texts()]


def test_it_writes_what_the_package_writes(
    browser: Browser, found: ExportedLanguage, tmp_path: Path
) -> None:
    with watched(browser, write_page(found, tmp_path), locale="en-US") as page:
        assert len(page.workers) == 1, "the page stays alive while the model computes"
        page.get_by_label("Top-k").fill("1")
        page.locator(".live-go").click()
        vocabulary = found.vocabulary
        prompt = torch.tensor([[BOS, *vocabulary.encode(tuple("春眠"))]])
        [theirs] = sample(as_in_a_page(found.model), prompt, max_tokens=12, top_k=1)
        words = "".join(vocabulary.decode(theirs.ids)).replace("<unk>", "\ufffd")
        expect(page.locator(".live-writing")).to_have_text("春眠" + words, timeout=20_000)
        page.get_by_role("button", name="Start over").click()
        expect(page.locator(".live-writing")).to_have_text("春眠")


@pytest.mark.parametrize(("locale", "width"), [("zh-CN", 390), ("en-US", 1280)])
def test_what_cannot_be_read_is_one_sentence(
    browser: Browser, found: ExportedLanguage, tmp_path: Path, locale: str, width: int
) -> None:
    size = {"width": width, "height": 800}
    with watched(browser, write_page(found, tmp_path), locale=locale, viewport=size) as page:
        zh, status = locale == "zh-CN", page.locator("p[role=status]")
        page.locator("textarea").fill("春€")
        expect(status).to_contain_text(
            "模型不认识：€" if zh else "does not know €", use_inner_text=True
        )
        assert not bars(page)
        title = page.get_by_text("和它们的概率" if zh else "with its probability")
        expect(title).to_be_hidden()
        page.locator("textarea").fill("  ")
        expect(status).to_have_text(
            "请先写一个开头。" if zh else "Write a beginning first.", use_inner_text=True
        )
        page.locator(".live-chips button").nth(1).click()
        expect(page.locator(".live-choice-bar").first).to_be_visible()
        expect(title).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_bar_is_a_button_that_takes_its_word(
    browser: Browser, found: ExportedLanguage, tmp_path: Path
) -> None:
    with watched(browser, write_page(found, tmp_path), locale="zh-CN") as page:
        [word] = [each for each in bars(page) if each in LETTERS][:1]
        bar = page.locator(".live-choice-bar").nth(bars(page).index(word))
        bar.focus()
        page.keyboard.press("Enter")
        expect(page.locator(".live-writing")).to_have_text("春眠" + word)
        expect(page.locator(".live-choice-bar:focus")).to_have_count(1)
        page.get_by_role("button", name="收回一个").click()
        expect(page.locator(".live-writing")).to_have_text("春眠")
