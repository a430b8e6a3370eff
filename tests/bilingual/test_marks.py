"""A text in two languages comes through code that knows only strings, and into the page."""

import doctest
import pickle
from importlib import import_module

import pytest
from bilingual.marks import Bilingual, is_marked, mark, pick, plain, resolve, split_pair
from bilingual.nodes import JoinChineseLines, join_chinese_lines
from docutils import nodes
from docutils.utils import new_document
from hypothesis import given
from hypothesis import strategies as st

words = st.text(st.characters(blacklist_categories=("Co", "Cc", "Cs")), max_size=20)


class TestMarks:
    @given(zh=words, en=words)
    def test_each_language_comes_back(self, zh: str, en: str) -> None:
        both = Bilingual(zh, en)
        assert pick(both, "zh") == zh
        assert pick(both, "en") == en
        assert not is_marked(plain(both))

    def test_words_are_filled_in_each_language(self) -> None:
        label = Bilingual("基类：%s", "Bases: %s") % Bilingual("模块", "Module")
        assert pick(label, "zh") == "基类：模块"
        assert pick(label, "en") == "Bases: Module"

    def test_named_words_are_filled_in(self) -> None:
        label = Bilingual("© 版权所有 %(copyright)s。", "© Copyright %(copyright)s.")
        assert pick(label % {"copyright": "2026"}, "en") == "© Copyright 2026."

    def test_pickled_with_the_environment(self) -> None:
        label = pickle.loads(pickle.dumps(Bilingual("图", "Fig.")))
        assert (label.zh, label.en) == ("图", "Fig.")

    def test_caption_of_a_part(self) -> None:
        assert pick(split_pair("参考 | Reference"), "zh") == "参考"
        assert split_pair("no pair") == "no pair"

    def test_text_becomes_elements(self) -> None:
        html = resolve(f"<p>{Bilingual('注', 'Note')} 1</p>")
        assert html == (
            '<p><span class="bl bl-zh" lang="zh-Hans">注</span><span class="bl-sep"> </span>'
            '<span class="bl bl-en" lang="en">Note</span> 1</p>'
        )

    def test_attributes_become_data(self) -> None:
        html = resolve(f'<a href="x" title="{Bilingual("上一页", "previous")}">&lt;</a>')
        assert html == (
            '<a href="x" title="上一页 previous" data-zh-title="上一页" data-en-title="previous"'
            ' data-bl="title">&lt;</a>'
        )

    def test_attribute_with_an_angle(self) -> None:
        html = resolve(f'<i data-x="a > b" title="{Bilingual("甲", "a")}"/>')
        assert 'data-x="a > b"' in html
        assert html.endswith('data-bl="title"/>')

    def test_title_keeps_both(self) -> None:
        html = resolve(f"<title>{Bilingual('掩码', 'Masks')} — {Bilingual('书', 'Book')}</title>")
        assert 'data-zh-text="掩码 — 书"' in html
        assert 'data-en-text="Masks — Book"' in html
        assert ">Masks — Book</title>" in html  # to who reads it without a script

    def test_scripts_keep_no_marks(self) -> None:
        assert resolve(f'<script>let a = "{Bilingual("甲", "a")}";</script>').count("甲 a") == 1

    @given(words)
    def test_other_pages_stay_as_they_are(self, text: str) -> None:
        assert resolve(f"<p>{text}</p>") == f"<p>{text}</p>"

    def test_one_language_alone(self) -> None:
        assert resolve(mark("zh", "节")) == '<span class="bl bl-zh" lang="zh-Hans">节</span>'


@pytest.mark.parametrize(
    ("source", "joined"),
    [
        ("一句。\n另一句。", "一句。另一句。"),
        ("调用 `x`\n之后", "调用 `x`\n之后"),
        ("见 PyTorch\nattention", "见 PyTorch\nattention"),
        ("停。\nPyTorch 也是。", "停。PyTorch 也是。"),
    ],
)
def test_line_breaks_in_chinese_are_no_blanks(source: str, joined: str) -> None:
    assert join_chinese_lines(source) == joined


@pytest.mark.parametrize("name", ["bilingual.marks", "bilingual.nodes"])
def test_examples_are_true(name: str) -> None:
    result = doctest.testmod(import_module(name))
    assert result.attempted
    assert not result.failed


def test_of_equal_line_breaks_each_is_joined_in_its_own_place():
    paragraph = nodes.paragraph()
    for part in (nodes.Text(""), nodes.strong("", "一、方向。"), nodes.Text(""), nodes.Text("\n"),
                 nodes.Text("with a"), nodes.Text("\n"), nodes.Text("blank。"),
                 nodes.Text("\n"), nodes.Text("预言")):  # fmt: skip
        paragraph += part
    block = nodes.container(classes=["bl", "bl-zh"])
    block += paragraph
    document = new_document("page")
    document += block
    JoinChineseLines(document).apply()
    assert paragraph.astext() == "一、方向。with a\nblank。预言"
