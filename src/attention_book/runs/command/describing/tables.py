"""What ``inspect`` tells: the laws of a check-up, a table of heads, and how they align."""

from collections.abc import Iterator, Mapping, Sequence

from attention_book.foundations.bilingual import Bilingual
from attention_book.runs.command.describing.heads import Alignment, HeadReport
from attention_book.runs.command.speech.language import spoken
from attention_book.runs.command.speech.pages import columns, fitted
from attention_book.runs.command.translators import Learned
from attention_book.text import SentencePair


def heads_told(heads: Sequence[HeadReport], pairs: Sequence[SentencePair]) -> Iterator[str]:
    """Yield the lines of a table of all heads."""
    if not heads:
        return
    yield ""
    yield from fitted(
        spoken(
            Bilingual(
                f"注意力头（{len(pairs)} 句的平均）：最大的权重，对前一个、自己、后一个位置的权重，"
                "去掉这个头后损失增加多少。",
                f"Heads (means over {len(pairs)} sentences): the largest weight; the weight on the "
                "place before, on its own, behind; the loss that is added without the head.",
            )
        )
    )
    names = [
        Bilingual("最大", "largest"),
        Bilingual("前一个", "before"),
        Bilingual("自己", "own"),
        Bilingual("后一个", "behind"),
        Bilingual("损失", "loss"),
    ]
    titles = [spoken(name) for name in names]
    rows = [_name(head) for head in heads]
    first, widths = max(map(columns, rows)), [max(columns(title), 6) for title in titles]
    cells = [
        title.rjust(width - columns(title) + len(title))
        for title, width in zip(titles, widths, strict=True)
    ]
    yield "  ".join([" " * (first + 2), *cells])
    for row, head in zip(rows, heads, strict=True):
        numbers = [head.sharpness, head.previous, head.own, head.following, head.loss]
        cells = [_cell(number, width) for number, width in zip(numbers, widths, strict=True)]
        yield "  ".join([f"  {row}{' ' * (first - columns(row))}", *cells])


def _name(head: HeadReport) -> str:
    """Return where a head is: the side, the layer from 1, what it looks at, the number from 1.

    >>> name = "decoder.layers.0.cross_attention"
    >>> _name(HeadReport(module=name, number=2, sharpness=1.0, loss=0.0))
    'decoder 1 cross 2'
    """
    side, _, layer, attention = head.module.split(".")
    return f"{side} {int(layer) + 1} {attention.removesuffix('_attention')} {head.number}"


def _cell(number: float | None, width: int) -> str:
    return ("–" if number is None else f"{number:.3f}").rjust(width)


def alignment_told(found: Alignment | None, model: Learned) -> Iterator[str]:
    """Yield what is known of the head that aligns best."""
    yield ""
    if found is None:
        yield spoken(
            Bilingual(
                "词对齐：这份语料没有标准答案。",
                "Alignment: nobody knows the right one in this corpus.",
            )
        )
        return
    zh = f"第 {found.layer} 层" + (f"第 {found.head} 个头" if found.head else "各头的平均")
    en = f"layer {found.layer}, " + (f"head {found.head}" if found.head else "mean of the heads")
    rates = f"{found.error_rate:.3f}", f"{found.diagonal:.3f}"
    yield spoken(
        Bilingual(
            f"词对齐：最好的是{zh}，对齐错误率（AER）{rates[0]}；只看对角线是 {rates[1]}。",
            f"Alignment: best is {en}, with an error rate (AER) of {rates[0]}; the diagonal has "
            f"{rates[1]}.",
        )
    )


def laws_told(laws: Mapping[str, bool], meanings: Mapping[str, Bilingual]) -> Iterator[str]:
    """Yield the lines of a check-up, if there was one."""
    if laws:
        yield ""
        yield spoken(Bilingual("体检：", "Check-up:"))
    for name, obeyed in laws.items():
        word = Bilingual("通过", "ok    ") if obeyed else Bilingual("违反", "BROKEN")
        start = f"  {spoken(word)}  "
        margin = " " * columns(start)
        for number, line in enumerate(fitted(spoken(meanings[name]), margin)):
            yield line if number else start + line.removeprefix(margin)


__all__ = ("alignment_told", "heads_told", "laws_told")
