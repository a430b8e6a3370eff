"""The directives and the roles {zh} and {en}, and the transforms that lay out what they give."""

from __future__ import annotations

import re

from docutils import nodes
from docutils.parsers.rst.states import Struct
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.writers.html5 import HTML5Translator

from bilingual.marks import EN, END, LANGUAGES, ZH, mark, split_pair

logger = logging.getLogger(__name__)
_PUNCTUATION = re.compile("[\u3000-\u303f\uff00-\uff65—…“”‘’]")
_CHINESE = re.compile("[\u3000-\u303f\u3400-\u9fff\uf900-\ufaff\uff00-\uff65]")


def language_of(node: nodes.Node) -> str | None:
    """The language of a block or of an inline text; None where it belongs to both."""
    if isinstance(node, LanguageInline):
        return str(node["language"])
    if isinstance(node, nodes.container):
        return next(
            (language for language in LANGUAGES if f"bl-{language}" in node["classes"]), None
        )
    return None


class LanguageInline(nodes.inline):
    """Words in one language.  Their plain text keeps the language's marks.

    Sphinx repeats headings as plain text (references, page titles, `{numref}` names); with
    the marks in `astext` they come out in the reader's language there too.
    """

    def astext(self) -> str:
        return mark(self["language"], super().astext())


def visit_language(translator: HTML5Translator, node: LanguageInline) -> None:
    translator.body.append(ZH if node["language"] == "zh" else EN)


def depart_language(translator: HTML5Translator, node: LanguageInline) -> None:
    translator.body.append(END)


def pass_through(translator: nodes.NodeVisitor, node: nodes.Node) -> None:
    """Other builders write the words and no marks."""


class LanguageBlock(SphinxDirective):
    """:::{zh} … ::: or :::{en} … :::, any number of blocks in one language."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        # docutils writes a class "language-xx" as the HTML attribute lang="xx"
        block = nodes.container(
            classes=["bl", f"bl-{self.name}", f"language-{LANGUAGES[self.name]}"], in_source=True
        )
        self.set_source_info(block)
        self.state.nested_parse(self.content, self.content_offset, block)
        return [block]


class LanguageRole(SphinxRole):
    """{zh}`…` or {en}`…`, for headings, captions, table cells and titles."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        node = LanguageInline(self.rawtext, "", language=self.name)
        self.set_source_info(node)
        # Math, emphasis, code and links may stand inside.
        inliner = self.inliner
        memo = Struct(
            document=inliner.document, reporter=inliner.reporter, language=inliner.language
        )
        outer = inliner.parent
        inside, messages = inliner.parse(self.text, self.lineno, memo, node)
        inliner.parent = outer
        node += inside
        return [node], messages


class DropBlanksBetweenLanguages(SphinxTransform):
    """The blank between {zh}`…` {en}`…` is the source's, not the reader's.

    Without it the Chinese of "({zh}`方差` {en}`variance`)" would read "(方差 )"; where both
    languages show, `marks.resolve` writes a blank of its own.
    """

    default_priority = 5

    def apply(self) -> None:
        for node in list(self.document.findall(LanguageInline)):
            position = node.parent.index(node)
            blank, other = [*node.parent.children, None, None][position + 1 : position + 3]
            if (
                isinstance(blank, nodes.Text)
                and not blank.strip()
                and isinstance(other, LanguageInline)
            ):
                del node.parent[position + 1]  # by place: every blank equals the first one
            elif isinstance(blank, nodes.Text) and re.match("[A-Za-z0-9_]", blank):
                logger.warning(
                    "{%s}`%s` ends before %r: write ``…`` around a text that holds `code`",
                    node["language"], nodes.Element.astext(node), blank.split()[0],
                    location=node, type="bilingual",
                )  # fmt: skip


class JoinChineseLines(SphinxTransform):
    """A line break in Chinese source is no blank: sentences stand on lines of their own there."""

    default_priority = 860

    def apply(self) -> None:
        for block in self.document.findall(_is_chinese):
            # MyST writes empty texts beside bold ones: they are nobody's neighbors.
            texts = [text for text in block.findall(nodes.Text) if len(text)]
            for position, text in enumerate(texts):
                if "\n" not in text or isinstance(
                    text.parent, (nodes.literal, nodes.FixedTextElement)
                ):
                    continue
                before = str(texts[position - 1]) if position else ""
                after = str(texts[position + 1]) if position + 1 < len(texts) else ""
                joined = join_chinese_lines(str(text), before, after)
                if joined != text:
                    texts[position] = nodes.Text(joined)
                    # By place: `replace` would take the first text that reads the same.
                    place = [each is text for each in text.parent.children].index(True)
                    text.parent[place] = texts[position]


def join_chinese_lines(text: str, before: str = "", after: str = "") -> str:
    """Drop the line breaks that a Chinese reader would see as stray blanks.

    >>> join_chinese_lines("权重之和为一。\\n没有例外。")
    '权重之和为一。没有例外。'
    >>> join_chinese_lines("见 PyTorch\\nattention 一节")
    '见 PyTorch\\nattention 一节'
    """

    def joined(found: re.Match[str]) -> str:
        left = (before + text[: found.start()])[-1:]
        right = (text[found.end() :] + after)[:1]
        wide = _PUNCTUATION.match(left) or _PUNCTUATION.match(right)
        return "" if wide or (_CHINESE.match(left) and _CHINESE.match(right)) else found[0]

    return re.sub(r"[ \t]*\n[ \t]*", joined, text)


def _is_chinese(node: nodes.Node) -> bool:
    return language_of(node) == "zh"


class PairBlocks(SphinxTransform):
    """Put a :::{zh} and the :::{en} after it into one pair, paragraph beside paragraph.

    Where both languages show, a pair becomes two columns.  Blocks with equally many parts
    are split so that every part stands beside its translation.
    """

    default_priority = 870  # after footnotes, references and gated solutions are in place

    def apply(self) -> None:
        for zh in [n for n in self.document.findall(nodes.container) if language_of(n) == "zh"]:
            parent, position = zh.parent, zh.parent.index(zh)
            en = parent[position + 1] if position + 1 < len(parent) else None
            if not isinstance(en, nodes.container) or language_of(en) != "en":
                continue
            if "bl-pair" in parent.get("classes", ()):
                continue
            parent.remove(en)
            parent[position : position + 1] = _rows(zh, en)


def check_partners(app: Sphinx, doctree: nodes.document) -> None:
    """Complain about a :::{zh} that no :::{en} follows, and the reverse."""
    for block in doctree.findall(nodes.container):
        language = language_of(block)
        if not block.get("in_source") or "bl-pair" in block.parent.get("classes", ()):
            continue  # of an extension, or PairBlocks found its partner
        other = "en" if language == "zh" else "zh"
        logger.warning(
            ":::{%s} without its :::{%s}: each language says the same", language, other,
            location=block, type="bilingual",
        )  # fmt: skip


def check_inline_partners(app: Sphinx, doctree: nodes.document) -> None:
    """Complain about a {zh}`…` without a {en}`…` in the same heading, cell or caption."""
    counts: dict[int, dict[str, list[LanguageInline]]] = {}
    for words in doctree.findall(LanguageInline):
        found = counts.setdefault(id(words.parent), {language: [] for language in LANGUAGES})
        found[words["language"]].append(words)
    for found in counts.values():
        more, fewer = sorted(found, key=lambda language: len(found[language]), reverse=True)
        if len(found[more]) > len(found[fewer]):
            words = found[more][len(found[fewer])]
            logger.warning(
                "{%s}`%s` without its {%s}`…`: each language says the same",
                more, nodes.Element.astext(words), fewer, location=words, type="bilingual",
            )  # fmt: skip


def _rows(zh: nodes.container, en: nodes.container) -> list[nodes.container]:
    if len(zh) != len(en):
        return [nodes.container("", zh, en, classes=["bl-pair"])]
    rows = []
    for parts in zip(list(zh.children), list(en.children), strict=True):
        blocks = [
            nodes.container("", part, classes=list(block["classes"]))
            for part, block in zip(parts, (zh, en), strict=True)
        ]
        rows.append(nodes.container("", *blocks, classes=["bl-pair"]))
    return rows


def split_captions(app: Sphinx, doctree: nodes.document) -> None:
    """Part captions of the table of contents are written "中文 | English"."""
    for toctree in doctree.findall(addnodes.toctree):
        if toctree.get("caption"):
            toctree["caption"] = split_pair(toctree["caption"])
            toctree["rawcaption"] = toctree["caption"]


def name_glossary_languages(app: Sphinx, doctree: nodes.document) -> None:
    """A glossary names each idea in both languages: say which is which."""
    for term in doctree.findall(nodes.term):
        if isinstance(term.parent, nodes.definition_list_item) and term.get("ids"):
            chinese = any("\u4e00" <= letter <= "\u9fff" for letter in term.astext())
            term["classes"].append(f"language-{LANGUAGES['zh' if chinese else 'en']}")
