"""Translate MyST's inline markup into one language of Markdown that any notebook shows."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from book_index import BookIndex
from myst_blocks import ExportError

LANGUAGES = ("zh", "en")
#: The weight of a section, after its heading.
WEIGHTS = {
    "core": {"zh": "（必读，{} 分钟）", "en": "(core, {} min)"},
    "optional": {"zh": "（选读，{} 分钟）", "en": "(optional, {} min)"},
}
#: Code, a role before code, or math: what inline translation must not look into.
PIECE = re.compile(
    r"(?P<role>\{(?P<name>[\w:+-]+)\}(?P<roleticks>`+)(?P<content>.+?)(?<!`)(?P=roleticks)(?!`))"
    r"|(?P<code>(?P<ticks>`+).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<math>(?<!\\)\$\$.+?(?<!\\)\$\$|(?<![\\$])\$(?!\s).+?(?<![\\\s])\$)",
    re.S,
)
WITH_TEXT = re.compile(r"^(?P<text>.*?)\s*<(?P<target>[^<>]+)>$", re.S)
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
FOOTNOTE = re.compile(r"\[\^([\w-]+)\](:?)")
#: What would still be MyST after the translation.
RESIDUE = re.compile(
    r"^:{3,}|\{[a-z][\w:+-]*\}(?:`|\Z)|^\([\w-]+\)=$|\{\{|\]\{[.#]|^\{[.#][\w-]", re.M
)


@dataclass
class Inline:
    """Translates the text of one page into one language."""

    index: BookIndex
    page: str
    language: str

    def translate(self, text: str, line: int) -> str:
        """Return the text with its roles and links translated."""
        result, position, dropped = [], 0, False
        for match in PIECE.finditer(text):
            between = text[position : match.start()]
            if dropped or (between.isspace() and self.is_language(match)):
                # the blank between {zh}`…` and {en}`…` belongs to neither
                between = between if not between.isspace() else ""
            result.append(self.plain(between, line))
            here = line + text.count("\n", 0, match.start())
            result.append(self.role(match, here) if match["role"] else match[0])
            dropped = self.is_language(match) and match["name"] != self.language
            position = match.end()
        result.append(self.plain(text[position:], line))
        translated = "".join(result)
        if residue := RESIDUE.search(re.sub(r"`[^`\n]*`|\$[^$]*\$", "", translated)):
            raise ExportError(self.page, line, f"no translation for {residue[0]!r}")
        return translated

    @staticmethod
    def is_language(match: re.Match[str]) -> bool:
        return match["name"] in LANGUAGES

    def plain(self, text: str, line: int) -> str:
        text = LINK.sub(lambda m: self.link(m["text"], m["target"], line), text)
        return FOOTNOTE.sub(lambda m: f"<sup>[{m[1]}]</sup>", text)

    def link(self, text: str, target: str, line: int) -> str:
        """Return a Markdown link; one within the book goes to the site."""
        if re.match(r"https?:|mailto:", target):
            return f"[{text}]({target})"
        if target.startswith("#"):
            return self.reference(target[1:], text, line)
        page = target.removesuffix(".md")
        if page not in self.index.pages:
            raise ExportError(self.page, line, f"a link to {target!r}, which is no page")
        return f"[{text or self.title(page)}]({self.index.url(page, self.language)})"

    def title(self, page: str) -> str:
        return self.translate(self.index.titles[page], 1)

    def role(self, match: re.Match[str], line: int) -> str:
        name, content = match["name"], match["content"].strip()
        if name in LANGUAGES:
            return self.translate(content, line) if name == self.language else ""
        if name in WEIGHTS:
            return WEIGHTS[name][self.language].format(content)
        text, target = "", content
        if explicit := WITH_TEXT.match(content):
            text, target = explicit["text"], explicit["target"]
        roles: dict[str, Callable[[str, str, int], str]] = {
            "ref": lambda t, x, n: self.reference(t, x, n),
            "numref": lambda t, x, n: self.reference(t, "" if "%" in x else x, n),
            "eq": lambda t, x, n: self.reference(t, x, n),
            "prf:ref": lambda t, x, n: self.reference(t, x, n),
            "doc": lambda t, x, n: self.link(x, t.lstrip("/") + ".md", n),
            "term": self.term,
            "py": self.package_name,
            "cite": lambda t, x, n: self.citation(t, n),
            "glue": lambda t, x, n: f"`{t.partition(':')[0]}`",
            "math": lambda t, x, n: f"${content}$",
            "kbd": lambda t, x, n: f"`{content}`",
            "sub": lambda t, x, n: f"<sub>{content}</sub>",
            "sup": lambda t, x, n: f"<sup>{content}</sup>",
        }
        family = name if name in roles else name.partition(":")[0]
        if family not in roles:
            raise ExportError(self.page, line, f"no rule for the role {{{name}}}")
        return roles[family](target, text, line)

    def reference(self, name: str, text: str, line: int) -> str:
        label = self.index.labels.get(name)
        if label is None:
            raise ExportError(self.page, line, f"unknown label {name!r}")
        if not text:
            is_heading = label.kind == "heading"
            text = self.translate(label.title, 1) if is_heading else label.words(self.language)
        return f"[{text}]({self.index.url(label.page, self.language, label.anchor)})"

    def term(self, target: str, text: str, line: int) -> str:
        return f"[{text or target}]({self.index.url('glossary', self.language)})"

    def citation(self, keys: str, line: int) -> str:
        unknown = [key for key in keys.split(",") if key.strip() not in self.index.citations]
        if unknown:
            raise ExportError(self.page, line, f"unknown source {unknown[0]!r}")
        names = "; ".join(self.index.citations[key.strip()] for key in keys.split(","))
        return f"[\\[{names}\\]]({self.index.url('bibliography', self.language)})"

    def package_name(self, target: str, text: str, line: int) -> str:
        """Return a name in code, linked to the package's reference if it stands there."""
        full = target.lstrip("~.!")
        shown = text or (full.rpartition(".")[2] if target.startswith("~") else full)
        shown = shown if shown.startswith("`") else f"`{shown}`"
        pages = self.index.package_pages
        for name in (full, full.rpartition(".")[0]):
            if name in pages:
                page, anchor = pages[name]
                anchor = anchor if name == full or anchor.startswith("shape-") else full
                return f"[{shown}]({self.index.url(page, self.language, anchor)})"
        if full.startswith("attention_book"):
            raise ExportError(self.page, line, f"{full} stands in no page of the reference")
        return shown
