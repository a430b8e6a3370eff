"""The facts below each entry of the list of claims: its kind, this build's numbers, its record."""

from __future__ import annotations

from typing import Any

from bilingual.marks import mark
from docutils import nodes

from evidence.claims.measurements import Measurement, both

#: More comparisons than these are shown by the closest one alone.
MANY = 4
NOWHERE: dict[str, Any] = {"draws": 1, "came_out": True, "line": 0, "cell": 0}


def facts(is_law: bool, found: list[Measurement], held: dict[str, Any] | None) -> nodes.paragraph:
    """Return what kind of evidence this is, the numbers of this build, and where it held."""
    if is_law:
        words = both(
            "性质：在任何机器上都成立，否则构建失败。",
            "A law: it holds on every machine, or the book is not built.",
        )
        return nodes.paragraph("", "", *words, classes=["claim-facts"])
    shown = found if len(found) <= MANY else [min(found, key=lambda each: each.margin)]
    numbers = "; ".join(each.comparison for each in shown)
    zh, en = f"测量：{numbers}", f"A measurement: {numbers}"
    if len(found) > MANY:
        zh, en = (
            f"{zh}（{len(found)} 个比较中余量最小的一个）",
            f"{en} (the closest of {len(found)})",
        )
    draws = max((each.draws for each in found), default=1)
    if draws > 1:
        zh, en = f"{zh}，取自 {draws} 次抽样或训练", f"{en}, over {draws} draws or trainings"
    paragraph = nodes.paragraph("", "", *both(f"{zh}。", f"{en}."), classes=["claim-facts"])
    if held:
        paragraph += both(*record_words(held))
    if any(not each.came_out for each in found):
        words = both(
            "在构建这一版的机器上没有得到这个结果。",
            " It did not come out on the machine that built this copy.",
        )
        paragraph += nodes.strong("", "", *words)
    return paragraph


def record_words(held: dict[str, Any]) -> tuple[str, str]:
    """Return in how many runs a measurement held, and by how much at the least."""
    worst = held["worst"]
    least = Measurement("", **{k: worst[k] for k in ("value", "relation", "bound")}, **NOWHERE)
    zh = (
        f"换种子、换内核的 {held['runs']} 次运行中成立 {held['held']} 次，"
        f"最小余量 {least.margin:z.3g}（`{worst['run']}`）。"
    )
    en = (
        f" It held in {held['held']} of {held['runs']} runs with other seeds and kernels; "
        f"smallest margin {least.margin:z.3g} (`{worst['run']}`)."
    )
    return zh, en


def further(found: dict[str, list[Measurement]], held: dict[str, Any]) -> list[nodes.Node]:
    """Return the chapter's measurements that belong to no claim, folded."""
    plural = "s" if len(found) > 1 else ""
    zh = f"本章另外 {len(found)} 项测量"
    en = f"{len(found)} further measurement{plural} of this chapter"
    summary = mark("zh", zh) + mark("en", en)
    rows = nodes.bullet_list()
    for name, each in found.items():
        facts_of_it = facts(False, each, held.get(name))
        facts_of_it.insert(0, [nodes.literal("", name), nodes.Text(" ")])
        rows += nodes.list_item("", facts_of_it)
    opening = f'<details class="claim-measurements"><summary>{summary}</summary>'
    return [nodes.raw("", opening, format="html"), rows, nodes.raw("", "</details>", format="html")]
