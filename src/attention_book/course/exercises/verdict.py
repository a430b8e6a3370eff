"""What the check of an answer found, as text and as HTML, in the reader's language."""

import html
import locale
import os
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from attention_book.foundations.bilingual import Bilingual, Language, chosen_language, of_the_two
from attention_book.foundations.environment import in_book_build

CORRECT = Bilingual("正确", "correct")
NOT_YET = Bilingual("还不对", "not yet")
TRIED = Bilingual("通过了全部 {} 项检查。", "It passes all {} checks.")
GIVEN, EXPECTED, GOT = (
    Bilingual("输入", "Given"),
    Bilingual("应得", "Expected"),
    Bilingual("得到", "Got"),
)
HINT = Bilingual("提示", "Hint")
#: The line that is left of inputs and results while they are folded.
ON_WHICH = Bilingual(
    "在哪组输入上，应得什么，得到什么", "On which input, what was expected, and what came out"
)
#: The style stands in the markup: a notebook has no stylesheet of ours.
LINE = '<p style="margin: 0.25rem 0">'
BLOCK = (
    '<pre style="margin: 0; padding: 0.1rem 0 0.3rem 1.2rem; border: 0;'
    ' background-color: transparent; box-shadow: none; line-height: 1.35; overflow-x: auto">'
)
#: A tensor with more numbers is shown by its shape and its first numbers.
SHOWN_NUMBERS = 64


@dataclass(frozen=True, eq=False)
class Finding:
    """One input on which an answer is wrong.

    Attributes:
        given: the arguments by name.
        expected: the right result, or what is asked of it in words.
        got: the answer's result, or what happened in words.

    >>> Finding({"x": 3}, expected=6, got=9).got
    9
    """

    given: Mapping[str, Any]
    expected: Any
    got: Any


@dataclass(frozen=True, eq=False, repr=False)
class Verdict:
    """Whether an answer is right; if not, what is wrong, a hint, and on which input it shows.

    True in a condition if the answer passed. It prints in one language; the book's pages
    show it in the reader's.

    Attributes:
        exercise: the exercise's name.
        passed: whether the answer passed every check.
        checks: how many checks there are.
        law: name of the law that the answer breaks, if it does.
        statement: what is wrong or what should hold, in words.
        finding: the input on which it shows.
        mistake: name of the known mistake that the answer makes, if it was recognized.
        hint: what to look at.
        language: the language that was asked for.

    >>> from attention_book.course.exercises import check
    >>> verdict = check("causal-with-cache", lambda num_queries, num_keys: None, language="en")
    >>> verdict.passed, verdict.law
    (False, 'type')
    """

    exercise: str
    passed: bool
    checks: int
    law: str | None = None
    statement: Bilingual | None = None
    finding: Finding | None = None
    mistake: str | None = None
    hint: Bilingual | None = None
    language: str | None = field(default=None, compare=False)

    def __bool__(self) -> bool:
        """Whether the answer passed."""
        return self.passed

    def __str__(self) -> str:
        """Say it as text in one language."""
        language = reader_language(self.language)
        colon = "：" if language == "zh" else ": "
        lines = [f"{'✓' if self.passed else '✗'} {self.exercise}{colon}{self._outcome(language)}"]
        if self.hint:
            lines.append(f"{HINT.text(language)}{colon}{self.hint.text(language)}")
        for title, value in self._values():
            lines.append(f"{title.text(language)}{colon.rstrip()}")
            lines.append(textwrap.indent(shown(value, language), "    "))
        return "\n".join(lines)

    __repr__ = __str__

    def _outcome(self, language: Language) -> str:
        """Return the first line: passed, or what is wrong."""
        if self.passed:
            tried = TRIED.text(language).format(self.checks)
            return _sentences(language, CORRECT.text(language), tried)
        statement = self.statement.text(language) if self.statement else ""
        return _sentences(language, NOT_YET.text(language), statement)

    def _values(self) -> Iterator[tuple[Bilingual, Any]]:
        if self.finding is None:
            return
        for name, value in self.finding.given.items():
            yield Bilingual(f"{GIVEN.zh} {name}", f"{GIVEN.en} {name}"), value
        yield EXPECTED, self.finding.expected
        yield GOT, self.finding.got

    def _repr_html_(self) -> str:
        """Show it in a notebook; in the book's pages in both languages at once."""
        both = in_book_build() and self.language is None and chosen_language() is None
        languages: tuple[Language, ...] = (
            ("zh", "en") if both else (reader_language(self.language),)
        )

        def say(text: Bilingual) -> str:
            return _in_languages({language: text.text(language) for language in languages})

        zh, en = self._outcome("zh"), self._outcome("en")
        outcome = Bilingual(zh, en[0].upper() + en[1:])
        mark, color = (
            ("✓", "--book-tip, #2e8b57") if self.passed else ("✗", "--book-warning, #c46a1b")
        )
        parts = [f"{LINE}<strong>{mark} <code>{self.exercise}</code></strong> {say(outcome)}</p>"]
        if self.hint:
            hint = say(Bilingual(f"{HINT.zh}：{self.hint.zh}", f"{HINT.en}: {self.hint.en}"))
            parts.append(f"{LINE}{hint}</p>")
        values = []
        for title, value in self._values():
            name = say(Bilingual(f"{title.zh}：", f"{title.en}:"))
            if isinstance(value, Bilingual):
                values.append(f"{LINE}{name} {say(value)}</p>")
            else:
                values.append(f"{LINE}{name}</p>{BLOCK}{html.escape(shown(value, 'en'))}</pre>")
        if values:
            state = "" if self.hint else " open"  # without a hint the input has to tell
            parts += [f"<details{state}><summary>{say(ON_WHICH)}</summary>", *values, "</details>"]
        frame = f"border-left: 0.25rem solid var({color}); padding-left: 0.9rem"
        return f'<div class="verdict" style="{frame}">{"".join(parts)}</div>'


def shown(value: Any, language: Language) -> str:
    """Return a value as a reader would see it at a prompt, or words as they are."""
    if isinstance(value, Bilingual):
        return value.text(language)
    if isinstance(value, Tensor):
        value = value.detach()
        if value.numel() > SHOWN_NUMBERS:
            first = value.flatten()[:8]
            return f"{tuple(value.shape)}: {first}"[:-1] + " ...)"
    return repr(value)


def _sentences(language: Language, first: str, second: str) -> str:
    return f"{first}。{second}" if language == "zh" else f"{first}. {second}"


def _in_languages(texts: Mapping[Language, str]) -> str:
    """Return markup; two languages become two spans, of which the site shows the reader's."""
    tags = {
        "zh": '<span class="bl bl-zh" lang="zh-Hans">',
        "en": '<span class="bl bl-en" lang="en">',
    }
    marked = {language: _code(text) for language, text in texts.items()}
    if len(marked) == 1:
        return "".join(marked.values())
    spans = (f"{tags[language]}{text}</span>" for language, text in marked.items())
    return '<span class="bl-sep"> </span>'.join(spans)


def _code(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


# --- the reader's language -----------------------------------------------------------------------

#: "zh" or "en": the language of verdicts, where neither the call nor the notebook names one.
LANGUAGE_VARIABLE = "ATTENTION_BOOK_LANGUAGE"


def reader_language(language: str | None = None) -> Language:
    """Return the language to speak: the one asked for, the notebook's, or the computer's.

    In this order: the argument, ``set_language``, the environment variable
    ``ATTENTION_BOOK_LANGUAGE``, the locale (zh_CN is Chinese), English.
    """
    if language is not None:
        return checked("language", language)
    chosen = chosen_language()
    if chosen is not None:
        return chosen
    if LANGUAGE_VARIABLE in os.environ:
        return checked(LANGUAGE_VARIABLE, os.environ[LANGUAGE_VARIABLE])
    return "zh" if not in_book_build() and _is_chinese(_locale()) else "en"


def checked(name: str, language: str) -> Language:
    """Return which of the two languages a code means."""
    found = of_the_two(language)
    if found is None:
        raise ValueError(f"{name}: expected 'zh' or 'en', got {language!r}")
    return found


def _is_chinese(name: str) -> bool:
    return of_the_two(name) == "zh" or name.startswith("Chinese")  # as Windows writes it


def _locale() -> str:
    """Return the name of the reader's locale, as the terminal or the system tells it."""
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if name := os.environ.get(variable):
            return name
    return locale.getlocale()[0] or ""
