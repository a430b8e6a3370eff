"""Each page's Content-Security-Policy: it is there, it lists what the page holds, it refuses."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest
from lxml import html
from parsed import tree

META = "//meta[@http-equiv='Content-Security-Policy']"
FIXED = {
    "default-src": {"'none'"},
    "style-src": {"'self'", "'unsafe-inline'"},
    "img-src": {"'self'", "data:"},
    "font-src": {"'self'", "data:"},
    "connect-src": {"'self'"},
    "worker-src": {"blob:"},
    "object-src": {"'none'"},
    "base-uri": {"'none'"},
    "form-action": {"'self'"},
}
DATA = {"application/json", "text/x-thebe-config"}
PLANTED = """<script>window.ran = "script"</script>
<img src="data:," alt="" onerror="window.ran = 'handler'">
<a id="planted" href="javascript:void(window.ran = 'address')">x</a>
<script src="https://elsewhere.invalid/x.js"></script>
<img src="https://elsewhere.invalid/x.png" alt="">"""


def pages(site: Path) -> list[Path]:
    """Every page, those that lead to others included."""
    return sorted(site.rglob("*.html"))


def directives(page: html.HtmlElement) -> dict[str, set[str]]:
    (content,) = page.xpath(f"{META}/@content")
    return {name: set(sources) for name, *sources in (part.split() for part in content.split(";"))}


def expected_hash(script: html.HtmlElement) -> str:
    digest = hashlib.sha256((script.text or "").encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def test_every_page_allows_the_site_and_its_own_scripts(site: Path) -> None:
    assert site / "index.html" in pages(site)
    assert site / "search.html" in pages(site)
    for page in pages(site):
        root = tree(page)
        inline = [s for s in root.iter("script") if s.get("src") is None]
        wanted = {"'self'", *(expected_hash(s) for s in inline if s.get("type") not in DATA)}
        if root.xpath("//script[contains(@src, 'page_python.js')]"):  # it compiles the engine
            wanted.add("'wasm-unsafe-eval'")
        assert directives(root) == {**FIXED, "script-src": wanted}, page.name


def test_the_policy_comes_before_all_that_it_rules(site: Path) -> None:
    for page in pages(site):
        first, second = tree(page).xpath("//head/*")[:2]
        assert first.get("charset"), page.name
        assert second.get("http-equiv") == "Content-Security-Policy", page.name


def test_no_code_in_attributes(site: Path) -> None:
    for page in pages(site):
        root = tree(page)
        handlers = root.xpath("//@*[starts-with(name(), 'on')]")
        addresses = root.xpath("//@href[starts-with(., 'javascript:')]")
        assert not [*handlers, *addresses], page.name


@pytest.mark.browser
def test_what_was_not_built_in_is_refused(browser: Any, base_url: str) -> None:
    page = browser.new_page()
    errors: list[str] = []
    asked: list[str] = []
    page.on("console", lambda line: line.type == "error" and errors.append(line.text))
    page.on("response", lambda response: asked.append(response.url))

    def plant(route: Any) -> None:
        answer = route.fetch()
        text = answer.text().replace("</article>", f"{PLANTED}</article>", 1)
        route.fulfill(response=answer, body=text)

    page.route("**/masks.html*", plant)
    page.goto(f"{base_url}/masks.html?lang=en")
    page.locator("#planted").click()
    assert page.evaluate("window.ran") is None
    assert page.evaluate("document.documentElement.dataset.language") == "en"  # ours did run
    refused = [error for error in errors if "Content Security Policy" in error]
    assert len(refused) >= 5, errors  # two scripts, a handler, an address, a picture
    assert not [url for url in asked if "elsewhere" in url]
    page.close()


@pytest.mark.browser
def test_buttons_without_handlers_work(page: Any, base_url: str) -> None:
    page.add_init_script("window.print = () => { window.printed = true; }")
    page.goto(f"{base_url}/masks.html?lang=en")
    page.locator("[data-press=print]").evaluate("button => button.click()")
    assert page.evaluate("window.printed") is True
    page.locator("[data-press=fullscreen]").click()
    page.wait_for_timeout(300)
    assert page.evaluate("document.fullscreenElement === document.documentElement")
    page.locator("[data-press=fullscreen]").click()
    page.wait_for_timeout(300)
    assert page.evaluate("document.fullscreenElement") is None


WORKER = """async (file) => {
  const text = new Blob(["onmessage = (event) => postMessage(event.data + 1)"]);
  const worker = new Worker(URL.createObjectURL(text));
  const answer = new Promise((resolve) => (worker.onmessage = (event) => resolve(event.data)));
  worker.postMessage(1);
  const script = document.createElement("script");
  script.src = file;
  const loaded = new Promise((resolve) => (script.onload = () => resolve("loaded")));
  document.head.append(script);
  return [await answer, await loaded];
}"""


@pytest.mark.browser
@pytest.mark.parametrize("served", [True, False])
def test_a_model_may_run_in_the_page(page: Any, base_url: str, site: Path, served: bool) -> None:
    """A worker made of a text, a file of the site as a script or, where it is served, read."""
    page.goto(f"{base_url if served else site.as_uri()}/masks.html")
    assert page.evaluate(WORKER, "_static/porter-stemmer.js") == [2, "loaded"]
    if served:
        length = "fetch('_static/book.js').then(file => file.text()).then(text => text.length)"
        assert page.evaluate(length) > 100
