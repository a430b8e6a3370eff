"""The marks by which a text in two languages travels through code that knows only strings.

Sphinx, its themes and its extensions pass words around as one plain string: a translated
label, the text of a heading that a reference repeats, the title of a page.  A bilingual
string carries both languages in that one string, fenced by characters from Unicode's private
use area, which nobody escapes, strips or splits.  `resolve` turns the marks of a finished
page into elements (in text) or into data attributes (in attributes), so that the language
toggle works everywhere.
"""

from __future__ import annotations

import re
from typing import Any

ZH, EN, END = "\ue000", "\ue001", "\ue002"
LANGUAGES = {"zh": "zh-Hans", "en": "en"}  # our short name: the HTML `lang`

_SEGMENT = re.compile(f"([{ZH}{EN}])([^{END}]*){END}")
_ANY = re.compile(f"[{ZH}{EN}{END}]")
_TAG = re.compile(r"""<[a-zA-Z](?:[^<>"']|"[^"]*"|'[^']*')*>""")
_RAW = re.compile(r"<(title|option|script)\b([^>]*)>(.*?)</\1>", re.S | re.I)
_ATTRIBUTE = re.compile(r"""([\w:-]+)=(?:"([^"]*)"|'([^']*)')""")
_HTML = {
    f"{END}{EN}": '</span><span class="bl-sep"> </span><span class="bl bl-en" lang="en">',
    ZH: '<span class="bl bl-zh" lang="zh-Hans">',
    EN: '<span class="bl bl-en" lang="en">',
    END: "</span>",
}
_HTML_MARK = re.compile("|".join(_HTML))


def mark(language: str, text: str) -> str:
    """Fence a text that belongs to one language."""
    return f"{ZH if language == 'zh' else EN}{text}{END}"


class Bilingual(str):
    """Both languages in one string; `%` and `format` fill in each of them.

    The package has a type of the same name, in ``attention_book.foundations``: there the two
    texts need no marks, since nothing passes them on as a string, and the build must not load
    the package (and torch).
    """

    __slots__ = ("en", "zh")
    zh: str
    en: str

    def __new__(cls, zh: str, en: str) -> Bilingual:
        self = super().__new__(cls, mark("zh", zh) + mark("en", en))
        self.zh, self.en = zh, en
        return self

    def __reduce__(self) -> tuple[type[Bilingual], tuple[str, str]]:
        return Bilingual, (self.zh, self.en)

    def __str__(self) -> str:
        return self

    def __mod__(self, values: Any) -> str:
        if not values and not isinstance(values, (int, str)):
            return self
        return Bilingual(
            self.zh % _each(values, "zh") if "%" in self.zh else self.zh,
            self.en % _each(values, "en") if "%" in self.en else self.en,
        )

    def format(self, *args: Any, **kwargs: Any) -> str:
        return Bilingual(self.zh.format(*args, **kwargs), self.en.format(*args, **kwargs))


def _each(values: Any, language: str) -> Any:
    """The same values in one language, so that marks never nest."""
    if isinstance(values, tuple):
        return tuple(_each(value, language) for value in values)
    if isinstance(values, dict):
        return {key: _each(value, language) for key, value in values.items()}
    return pick(values, language) if isinstance(values, str) else values


def pick(text: str, language: str) -> str:
    """Keep one language of a marked text, and what belongs to both.

    >>> pick(Bilingual("图", "Fig.") + " 1", "zh")
    '图 1'
    """
    wanted = ZH if language == "zh" else EN
    kept = _SEGMENT.sub(lambda found: found[2] if found[1] == wanted else "", str(text))
    return " ".join(kept.split(" "))


def plain(text: str) -> str:
    """Both languages, a blank between them: for places that can't follow the reader.

    >>> plain(Bilingual("图", "Fig."))
    '图 Fig.'
    """
    return _ANY.sub("", str(text).replace(f"{END}{EN}", f"{END} {EN}"))


def is_marked(text: str) -> bool:
    """Does the text carry marks?"""
    return bool(_ANY.search(text))


def split_pair(text: str, separator: str = " | ") -> str:
    """Mark the languages of "中文 | English"; leave any other text as it is.

    >>> pick(split_pair("参考 | Reference"), "en")
    'Reference'
    """
    zh, found, en = text.partition(separator)
    return mark("zh", zh.strip()) + mark("en", en.strip()) if found else text


def resolve(html: str) -> str:
    """Turn the marks of a finished page into elements and data attributes."""
    if not _ANY.search(html):
        return html
    html = _RAW.sub(_resolve_raw, html)
    html = _TAG.sub(_resolve_tag, html)
    return _HTML_MARK.sub(lambda found: _HTML[found[0]], html)


def _resolve_raw(found: re.Match[str]) -> str:
    """Elements that hold no elements: keep both languages beside the text."""
    name, attributes, text = found.groups()
    if not _ANY.search(text):
        return found[0]
    if name.lower() == "script":
        return f"<{name}{attributes}>{plain(text)}</{name}>"
    zh, en = (_squeeze(pick(text, language)).replace('"', "&quot;") for language in ("zh", "en"))
    # A window, a bookmark and a search engine show one title: English, until a script knows better.
    both = _squeeze(pick(text, "en") if name.lower() == "title" else plain(text))
    data = f'data-bl="text" data-zh-text="{zh}" data-en-text="{en}"'
    return f"<{name}{attributes} {data}>{both}</{name}>"


def _resolve_tag(found: re.Match[str]) -> str:
    """Attributes: the value in both languages, and each language in a data attribute."""
    tag = found[0]
    if not _ANY.search(tag):
        return tag
    names: list[str] = []

    def attribute(match: re.Match[str]) -> str:
        name, value = match[1], match[2] if match[2] is not None else match[3]
        if not _ANY.search(value):
            return match[0]
        value = value.replace('"', "&quot;")
        names.append(name)
        zh, en = (_squeeze(pick(value, language)) for language in ("zh", "en"))
        return f'{name}="{_squeeze(plain(value))}" data-zh-{name}="{zh}" data-en-{name}="{en}"'

    tag = _ATTRIBUTE.sub(attribute, tag)
    end = "/>" if tag.endswith("/>") else ">"
    return f'{tag[: -len(end)].rstrip()} data-bl="{" ".join(names)}"{end}'


def _squeeze(text: str) -> str:
    return " ".join(text.split())
