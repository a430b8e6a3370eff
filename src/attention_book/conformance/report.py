"""What an examination found, law by law; and by name what usually breaks a law."""

import html
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Literal, get_args, get_origin, get_type_hints

import torch

from attention_book.conformance.causes import CAUSES
from attention_book.foundations.bilingual import Bilingual, Language, chosen_language
from attention_book.foundations.environment import in_book_build

#: These say what happened, not why.
_NO_REASON = "unknown", "raises"


@dataclass(frozen=True)
class Breach:
    """How a law is broken: by what, on which smallest input, and what was found there.

    Attributes:
        cause: a name in :data:`CAUSES`.
        where: the input.
        found: what came out, beside what should.
        others: other causes that would do the same.

    >>> Breach("no-scale", Bilingual("批量 1", "batch 1"), Bilingual("差 2", "off by 2")).cause
    'no-scale'
    """

    cause: str
    where: Bilingual
    found: Bilingual
    others: tuple[str, ...] = ()


class DoesNotApply(Exception):
    """Raised by a law that says nothing about a subject, with the reason in both languages.

    >>> DoesNotApply("没有掩码", "takes no mask").reason.en
    'takes no mask'
    """

    def __init__(self, zh: str, en: str) -> None:
        super().__init__(en)
        self.reason = Bilingual(zh, en)


@dataclass(frozen=True)
class Law:
    """A law and the subject to be held to it.

    Attributes:
        name: in words with hyphens between them.
        statement: what has to hold.
        test: returns how it is broken, or None; raises `DoesNotApply`.

    >>> law = Law("truth", Bilingual("真", "is true"), lambda: None)
    >>> law.test() is None
    True
    """

    name: str
    statement: Bilingual
    test: Callable[[], Breach | None]

    def outcome(self) -> "Outcome":
        """Test it; an error in the subject breaks it."""
        try:
            return Outcome(self.name, self.statement, breach=self.test())
        except DoesNotApply as error:
            return Outcome(self.name, self.statement, reason=error.reason)
        except Exception as error:
            where = Bilingual("这条性质自带的输入", "the law's own input")
            return Outcome(self.name, self.statement, Breach("raises", where, told(error)))


def told(error: Exception) -> Bilingual:
    """Return an error in one line; what it says is in its own language.

    >>> told(ValueError("d_model=30")).en
    'ValueError: d_model=30'
    """
    lines = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {lines[0] if lines else ''}"[:160]
    return Bilingual(text, text)


@dataclass(frozen=True)
class Outcome:
    """What became of one law: it holds, is broken, or does not apply.

    Attributes:
        law: its name.
        statement: what it says.
        breach: how it is broken, if it is.
        reason: why it does not apply, if it does not.

    >>> Outcome("weights-sum", Bilingual("权重之和为 1", "weights sum to 1")).breach is None
    True
    """

    law: str
    statement: Bilingual
    breach: Breach | None = None
    reason: Bilingual | None = None

    def data(self) -> dict[str, Any]:
        """Return it as what JSON knows."""
        told: dict[str, Any] = {"law": self.law, "statement": both(self.statement)}
        if self.breach is not None:
            meaning = both(CAUSES[self.breach.cause])
            where, found = both(self.breach.where), both(self.breach.found)
            told |= {"outcome": "broken", "cause": self.breach.cause, "meaning": meaning}
            return told | {"where": where, "found": found, "others": list(self.breach.others)}
        if self.reason is not None:
            return told | {"outcome": "does not apply", "reason": both(self.reason)}
        return told | {"outcome": "holds"}


def lines_of(outcome: Outcome, language: Language) -> list[str]:
    """Say what became of a law: what it says; if it is broken, on which input, how, and why.

    >>> lines_of(Outcome("sum", Bilingual("权重之和为 1。", "Weights sum to 1.")), "zh")
    ['权重之和为 1。']
    """
    statement, breach = outcome.statement.text(language), outcome.breach
    if outcome.reason is not None:
        reason = outcome.reason.text(language)
        return [f"{statement}（{reason}）" if language == "zh" else f"{statement} ({reason})"]
    if breach is None:
        return [statement]
    colon = "：" if language == "zh" else ": "
    usual, other = Bilingual("常见的原因", "usual cause"), Bilingual("也可能是", "or")
    meaning = f"{breach.cause}{colon}{CAUSES[breach.cause].text(language)}"
    lines = [
        statement,
        breach.where.text(language),
        breach.found.text(language),
        f"{usual.text(language)}{colon}{meaning}",
    ]
    if breach.others:
        lines.append(f"{other.text(language)}{colon}{', '.join(breach.others)}")
    return lines


def shown_as_html(report: "Report", languages: Iterable[Language]) -> str:
    """Return a report as markup: what is broken in sight, what holds or does not apply folded.

    The style stands in the markup, for a notebook has no stylesheet of ours.

    >>> report = Report("nothing", ())
    >>> shown_as_html(report, ["en"]).count("all laws hold")
    1
    """
    line, languages = '<p style="margin: 0.25rem 0">', tuple(languages)

    def say(texts: Mapping[Language, str]) -> str:
        if len(languages) == 1:
            return html.escape(texts[languages[0]])
        tags = {"zh": 'class="bl bl-zh" lang="zh-Hans"', "en": 'class="bl bl-en" lang="en"'}
        spans = (f"<span {tags[each]}>{html.escape(texts[each])}</span>" for each in languages)
        return '<span class="bl-sep"> </span>'.join(spans)

    def told(outcome: Outcome) -> list[str]:
        return [
            say({"zh": zh, "en": en})
            for zh, en in zip(
                *(lines_of(outcome, language) for language in ("zh", "en")), strict=True
            )
        ]

    whole = say({"zh": report.whole.zh, "en": report.whole.en})
    mark, color = ("✓", "--book-tip, #2e8b57") if report else ("✗", "--book-warning, #c46a1b")
    name = html.escape(report.subject)
    parts = [f"{line}<strong>{mark} <code>{name}</code></strong> {whole}</p>"]
    for outcome in report.outcomes:
        if outcome.breach is not None:
            first, *rest = told(outcome)
            items = "".join(f"<br>{each}" for each in rest)
            parts.append(
                f'{line}✗ {first}</p><p style="margin: 0 0 0.5rem 1.2rem">'
                f"{items.removeprefix('<br>')}</p>"
            )
    for skipped, (zh, en) in {
        False: ("成立的性质", "laws hold"),
        True: ("不适用的性质", "laws do not apply"),
    }.items():
        mark = "–" if skipped else "✓"
        found = [
            f"{line}{mark} {told(each)[0]}</p>"
            for each in report.outcomes
            if each.breach is None and (each.reason is not None) == skipped
        ]
        if found:
            count = say({"zh": f"{zh}：{len(found)} 条", "en": f"{len(found)} {en}"})
            parts.append(f"<details><summary>{count}</summary>{''.join(found)}</details>")
    frame = f"border-left: 0.25rem solid var({color}); padding-left: 0.9rem"
    return f'<div class="verdict" style="{frame}">{"".join(parts)}</div>'


def both(text: Bilingual) -> dict[str, str]:
    """Return a text in both languages, by their codes.

    >>> both(Bilingual("掩码", "mask"))
    {'zh': '掩码', 'en': 'mask'}
    """
    return {"zh": text.zh, "en": text.en}


@dataclass(frozen=True)
class Report:
    """The laws that hold, those that don't and why, those that do not apply. True if all hold.

    Attributes:
        subject: its name.
        outcomes: of all laws, in their order.
        first_tells: whether laws go from simple to composite, so that the first that is broken
            says most about the cause.
        seconds: how long it took.

    >>> from attention_book.attention import dot_product_attention
    >>> from attention_book.conformance import Kernel, examine
    >>> report = examine(Kernel(lambda q, k, v, mask: dot_product_attention(q, k, v), halves=()))
    >>> bool(report), report.cause
    (False, 'mask-ignored')
    """

    subject: str
    outcomes: tuple[Outcome, ...]
    first_tells: bool = False
    seconds: float = 0.0

    def __bool__(self) -> bool:
        """Whether all laws hold."""
        return not self.broken

    @property
    def broken(self) -> dict[str, Breach]:
        """How each broken law is broken."""
        return {each.law: each.breach for each in self.outcomes if each.breach is not None}

    @property
    def skipped(self) -> dict[str, Bilingual]:
        """Why each law that does not apply does not."""
        return {each.law: each.reason for each in self.outcomes if each.reason is not None}

    @property
    def held(self) -> tuple[str, ...]:
        """The laws that hold."""
        return tuple(
            each.law for each in self.outcomes if each.breach is None and each.reason is None
        )

    @property
    def cause(self) -> str | None:
        """The cause that explains most, the first or the most frequent; None if all laws hold."""
        all_names = [breach.cause for breach in self.broken.values()]
        names = [name for name in all_names if name not in _NO_REASON] or all_names
        if not names:
            return None
        if self.first_tells:
            return names[0]
        if "dropout-in-eval" in names:  # what differs from call to call breaks other laws, too
            return "dropout-in-eval"
        return max(names, key=lambda name: (names.count(name), -names.index(name)))

    @property
    def whole(self) -> Bilingual:
        """How many laws are broken."""
        if not (count := len(self.broken)):
            return Bilingual("各条性质都成立", "all laws hold")
        return Bilingual(f"{count} 条性质不成立", f"{count} law{'s' * (count > 1)} broken")

    def data(self) -> dict[str, Any]:
        """Return all of it as what JSON knows; what is said is there in both languages."""
        return {
            "subject": self.subject,
            "holds": bool(self),
            "cause": self.cause,
            "seconds": round(self.seconds, 3),
            "laws": [each.data() for each in self.outcomes],
        }

    def text(self, language: Language) -> str:
        """Say it in one language, a line or a few for each law."""
        colon = "：" if language == "zh" else ": "
        lines = [f"{self.subject}{colon}{self.whole.text(language)}"]
        for each in self.outcomes:
            mark = "–" if each.reason is not None else "✓" if each.breach is None else "✗"
            first, *rest = lines_of(each, language)
            lines += [f"  {mark} {first}", *(f"      {line}" for line in rest)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Show it in a notebook; in the book's pages in both languages at once."""
        both_at_once = in_book_build() and chosen_language() is None
        languages: tuple[Language, ...] = (
            ("zh", "en") if both_at_once else (chosen_language() or "en",)
        )
        return shown_as_html(self, languages)

    def __str__(self) -> str:
        """Say it in the language that was chosen, in English if none was."""
        return self.text(chosen_language() or "en")


Method = Callable[[Any], Breach | None]


def law(zh: str) -> Callable[[Method], Method]:
    """Make a method of `Laws` a law: what has to hold in Chinese, beside its docstring in English.

    >>> def truth(laws):
    ...     "It is true."
    >>> law("真。")(truth).statement.en
    'It is true.'
    """

    def state(method: Method) -> Method:
        method.__dict__["statement"] = Bilingual(zh, method.__doc__ or method.__name__)
        return method

    return state


class Laws:
    """The laws of one kind of subject: each method marked by `law`, in the order of the class.

    Inputs are drawn on the CPU, so that a seed gives the same on every device, and put where the
    subject is.

    Args:
        seed: of all inputs that are drawn; each law begins with it, whatever was tested before.
        device: where the subject computes; the default device if None.

    Raises:
        ValueError: if that is the device "meta", where nothing can be compared.

    >>> class OfNumbers(Laws):
    ...     @law("都是有限的数。")
    ...     def finite(self) -> None:
    ...         "All are finite."
    ...         assert self.draw(2).isfinite().all()
    >>> [(each.name, each.test()) for each in OfNumbers(seed=0).all()]
    [('finite', None)]
    """

    def __init__(self, seed: int, device: torch.device | None = None) -> None:
        self.seed, self.generator = seed, torch.Generator("cpu").manual_seed(seed)
        self.device = torch.get_default_device() if device is None else device
        if self.device.type == "meta":
            raise ValueError("device: expected one that holds numbers, got meta")

    def all(self) -> list[Law]:
        """Return the laws, ready to be tested in any order."""
        return [
            Law(name.replace("_", "-"), method.statement, partial(self._from_the_seed, method))
            for name, method in vars(type(self)).items()
            if hasattr(method, "statement")
        ]

    def draw(self, *shape: int) -> torch.Tensor:
        """Draw normal numbers."""
        drawn = torch.randn(*shape, generator=self.generator, device="cpu")
        return drawn.to(self.device)

    def _from_the_seed(self, method: Method) -> Breach | None:
        self.generator.manual_seed(self.seed)
        return method(self)


def device_of(call: object) -> torch.device | None:
    """Return where a module has its parameters or buffers; None where it has none.

    >>> device_of(torch.nn.Linear(2, 2)), device_of(torch.relu)
    (device(type='cpu'), None)
    """
    if not isinstance(call, torch.nn.Module):
        return None
    return next((each.device for each in chain(call.parameters(), call.buffers())), None)


def check_words(subject: object) -> None:
    """Refuse a convention that is none of those that its field knows.

    Raises:
        ValueError: with the words that were expected, and the one that came.
    """
    for name, kind in get_type_hints(type(subject)).items():
        value = getattr(subject, name)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, str) and (words := words_of(kind)) and each not in words:
                raise ValueError(f"{name}: expected {' or '.join(words)}, got {each!r}")


def words_of(kind: Any) -> tuple[str, ...]:
    """Return the words that a type lists, wherever in it they stand.

    >>> words_of(tuple[Literal["right", "left"], ...] | None)
    ('right', 'left')
    """
    if get_origin(kind) is Literal:
        return tuple(word for word in get_args(kind) if isinstance(word, str))
    return tuple(word for part in get_args(kind) for word in words_of(part))


def tested(subject: str, laws: list[Law], *, first_tells: bool) -> Report:
    """Test laws one after another.

    >>> tested("nothing", [], first_tells=False).held
    ()
    """
    start = time.perf_counter()
    outcomes = tuple(each.outcome() for each in laws)
    return Report(subject, outcomes, first_tells, time.perf_counter() - start)


__all__ = ["CAUSES", "Breach", "DoesNotApply", "Law", "Outcome", "Report"]
