"""What is written of graded notebooks: a table for the lecturer, a page for each student."""

import csv
import html
import io
from collections.abc import Mapping, Sequence
from typing import Any

from attention_book.course.exercises import EXERCISES
from attention_book.course.grading.grader import Report
from attention_book.foundations.bilingual import Bilingual

_HEADS = {
    "notebook": Bilingual("笔记本", "notebook"),
    "points": Bilingual("得分", "points"),
    "leans": Bilingual("用了包里的函数", "package functions used"),
    "remarks": Bilingual("请看一眼", "remarks"),
    "seconds": Bilingual("用时（秒）", "seconds"),
}
_MOST_REMARKS = 2000
_STYLE = """
body { max-width: 44rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.6 system-ui, sans-serif;
  color: #222; background: #fff; color-scheme: light dark; }
h2 { font-size: 1.1rem; margin: 1.6rem 0 .3rem; }
pre { overflow-x: auto; white-space: pre-wrap; padding: .6rem .8rem; background: #f4f4f5;
  border-radius: .3rem; font-size: .9rem; }
@media (prefers-color-scheme: dark) {
  body { color: #e5e5e5; background: #1b1b1d; } pre { background: #28282b; } }
"""


def names_in(reports: Sequence[Report], asked: Sequence[str] = ()) -> list[str]:
    """Return the exercises that count: those asked for, or all that were handed over, in order."""
    if asked:
        return list(asked)
    handed = {name for report in reports for name in report.last()}
    known = [name for name in EXERCISES if name in handed]
    return known + sorted(handed - set(known))


def points(report: Report, names: Sequence[str], weights: Mapping[str, float]) -> float:
    """Return the weights of the exercises that are right, added up; one counts 1 by default."""
    last = report.last()
    return sum(weights.get(n, 1.0) for n in names if n in last and last[n].passed)


def table(
    reports: Sequence[Report],
    names: Sequence[str],
    language: str,
    weights: Mapping[str, float] | None = None,
) -> str:
    """Return the scores as CSV: a line for each notebook.

    An exercise has 1 or 0, or nothing where it was not handed over.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    head = {key: text.text(language) for key, text in _HEADS.items()}
    writer.writerow(
        [head["notebook"], *names, head["points"], head["leans"], head["remarks"], head["seconds"]]
    )
    for report in sorted(reports, key=lambda each: each.notebook):
        last = report.last()
        row = [
            report.notebook,
            *(int(last[n].passed) if n in last else "" for n in names),
            f"{points(report, names, weights or {}):g}",
            "; ".join(sorted({f"{r.name}: {u}" for r in last.values() for u in r.used})),
            Bilingual("；", "; ").text(language).join(_remarks(report, language))[:_MOST_REMARKS],
            f"{report.seconds:.1f}",
        ]
        writer.writerow([_harmless(each) for each in row])
    return out.getvalue()


def _remarks(report: Report, language: str) -> list[str]:
    cell = Bilingual("第 {} 个代码单元格：{}", "code cell {}: {}").text(language)
    return [*report.remarks, *(cell.format(k + 1, v) for k, v in sorted(report.errors.items()))]


def _harmless(value: Any) -> Any:
    """Keep a spreadsheet from taking a text for a formula."""
    dangerous = isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{value}" if dangerous else value


def page(
    report: Report,
    names: Sequence[str],
    language: str,
    weights: Mapping[str, float] | None = None,
) -> str:
    """Return a student's page as HTML: each verdict as `check` prints it, in one language.

    It needs no other file, and nothing in it runs.
    """

    def said(zh: str, en: str) -> str:
        return html.escape(Bilingual(zh, en).text(language))

    last = report.last()
    reached = f"{points(report, names, weights or {}):g}"
    most = f"{sum((weights or {}).get(name, 1.0) for name in names):g}"
    parts = [
        "<!doctype html>",
        f'<html lang="{language}"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{html.escape(report.notebook)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{html.escape(report.notebook)}</h1>",
        f"<p>{said(f'{reached} 分，满分 {most} 分', f'{reached} of {most} points')}</p>",
    ]
    for name in names:
        task = EXERCISES[name].task.text(language) if name in EXERCISES else ""
        text = last[name].text if name in last else said("没有交", "not handed in")
        parts.append(f"<h2>{html.escape(name)}</h2><p>{html.escape(task)}</p>")
        parts.append(f"<pre>{html.escape(text)}</pre>")
    if remarks := _remarks(report, language):
        parts.append(f"<h2>{said('其他', 'Also')}</h2><ul>")
        parts += [f"<li>{html.escape(each)}</li>" for each in remarks]
        parts.append("</ul>")
    return "\n".join([*parts, "</body></html>", ""])
