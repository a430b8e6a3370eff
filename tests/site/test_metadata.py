"""What a page tells those who share it, list it or mistype its address."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from lxml import etree
from parsed import tree
from PIL import Image
from playwright.sync_api import expect

ROOT = Path(__file__).parents[2]
CHINESE = range(0x3400, 0xA000)
CARD = (1200, 630)


@pytest.fixture(scope="module")
def base() -> str:
    config = yaml.safe_load((ROOT / "book" / "_config.yml").read_text(encoding="utf8"))
    return str(config["html"]["baseurl"])


def said(page: Any, name: str) -> list[str]:
    return [
        str(each) for each in page.xpath(f"//meta[@property='{name}' or @name='{name}']/@content")
    ]


def published(base: str, page_name: str) -> str:
    return base if page_name == "intro.html" else base + page_name


def test_a_page_says_once_what_it_is(site: Path, base: str, page_name: str) -> None:
    if page_name == "search.html":
        return
    page = tree(site / page_name)
    (title,) = said(page, "og:title")
    (description,) = said(page, "description")
    assert title
    assert not any(ord(letter) in CHINESE for letter in title + description)
    assert said(page, "og:description") == said(page, "twitter:description") == [description]
    assert said(page, "og:url") == [published(base, page_name)]
    assert said(page, "og:locale") == ["en_US"]
    assert said(page, "og:locale:alternate") == ["zh_CN"]
    assert said(page, "twitter:card") == ["summary_large_image"]
    assert page.xpath("//link[@rel='canonical']/@href") == [published(base, page_name)]
    others = dict(
        zip(
            page.xpath("//link[@rel='alternate']/@hreflang"),
            page.xpath("//link[@rel='alternate']/@href"),
            strict=True,
        )
    )
    assert others["zh-Hans"] == f"{published(base, page_name)}?lang=zh"
    assert others["en"] == f"{published(base, page_name)}?lang=en"


def test_one_viewport(site: Path, page_name: str) -> None:
    assert len(tree(site / page_name).xpath("//meta[@name='viewport']")) == 1


def test_titles_are_in_one_language_and_no_two_the_same(site: Path) -> None:
    pages = [path for path in site.rglob("*.html") if path.name not in ("index.html", "404.html")]
    titles = [tree(path).xpath("string(//head/title)").strip() for path in pages]
    mixed = [title for title in titles if any(ord(letter) in CHINESE for letter in title)]
    assert not mixed
    assert len(set(titles)) == len(titles)
    front = tree(site / "index.html")
    assert front.xpath("string(//head/title)").strip() == "The Attention Book"


def test_a_chapter_is_described_by_its_question(site: Path) -> None:
    (description,) = said(tree(site / "masks.html"), "description")
    assert description.startswith("How do you hide a key so completely")
    everywhere = [
        said(tree(path), "description")[0]
        for path in site.glob("*.html")
        if path.name != "404.html"
    ]
    assert not [text for text in everywhere if "You need" in text]


def test_every_page_has_a_card(site: Path, base: str, page_name: str) -> None:
    if page_name == "search.html":
        return
    page = tree(site / page_name)
    (address,) = said(page, "og:image")
    assert said(page, "twitter:image") == [address]
    assert address.startswith(base)
    file = site / address.removeprefix(base)
    with Image.open(file) as picture:
        assert picture.size == CARD
        colors = picture.convert("RGB").getcolors(1 << 20)
    assert colors is not None
    assert max(count for count, _ in colors) < 0.97 * CARD[0] * CARD[1]  # it is not empty
    assert file.stat().st_size < 100_000


def test_cards_differ(site: Path) -> None:
    cards = [path.read_bytes() for path in (site / "cards").rglob("*.png")]
    assert len(set(cards)) == len(cards) > 50


def test_the_list_for_search_engines_names_every_page(site: Path, base: str) -> None:
    places = etree.parse(str(site / "sitemap.xml")).xpath("//*[local-name()='loc']/text()")
    pages = [
        path.relative_to(site).as_posix()
        for path in site.rglob("*.html")
        if path.name not in ("404.html", "search.html") and path != site / "index.html"
    ]
    assert sorted(places) == sorted(published(base, page) for page in pages if page[0] != "_")
    assert f"Sitemap: {base}sitemap.xml" in (site / "robots.txt").read_text("utf8")


def test_icons(site: Path) -> None:
    page = tree(site / "masks.html")
    (large,) = page.xpath("//link[@rel='apple-touch-icon']/@href")
    with Image.open(site / large.partition("?")[0]) as picture:
        assert picture.size == (180, 180)
    (small,) = page.xpath("//link[@rel='icon']/@href")
    assert (site / small.partition("?")[0]).is_file()


def test_a_mistyped_address_gets_both_languages(site: Path, base: str) -> None:
    page = tree(site / "404.html")
    assert page.xpath("//section/@lang") == ["zh-Hans", "en"]
    root = urlsplit(base).path
    links = page.xpath("//a/@href")
    assert len(links) == 4
    assert all(link.startswith(root) for link in links)
    assert all(
        (site / (urlsplit(link).path.removeprefix(root) or "index.html")).is_file()
        for link in links
    )


@pytest.mark.browser
@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_root_is_the_front_page_and_keeps_language_and_place(
    browser: Any, watch: Any, base_url: str, language: str
) -> None:
    other = "en-US" if language == "zh" else "zh-CN"
    page = watch(browser.new_page(locale=other))
    page.goto(f"{base_url}/?lang={language}")
    expect(page.locator("html")).to_have_attribute("data-language", language)
    place = page.locator("article section section[id]").first.get_attribute("id")
    page.goto(f"{base_url}/index.html?lang={language}#{place}")
    assert page.url.endswith(f"#{place}")
    expect(page.locator(f"[id='{place}']")).to_be_in_viewport()
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize(("asked", "language"), [("EN", "en"), ("zh-CN", "zh"), ("ZH-Hans", "zh")])
def test_a_language_may_be_asked_for_in_other_ways(
    page: Any, base_url: str, asked: str, language: str
) -> None:
    page.goto(f"{base_url}/masks.html?lang={asked}")
    expect(page.locator("html")).to_have_attribute("data-language", language)


@pytest.mark.browser
def test_other_tabs_follow_the_choice(context: Any, base_url: str) -> None:
    here, there = context.new_page(), context.new_page()
    for page in (here, there):
        page.goto(f"{base_url}/masks.html?lang=zh")
    here.locator("[data-set-language=en]").click()
    expect(there.locator("html")).to_have_attribute("data-language", "en")
    here.close()
    there.close()
