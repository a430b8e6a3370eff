"""``attention-book evaluate``: how good translations are, and whether others are better."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from attention_book.foundations.bilingual import Bilingual
from attention_book.runs.command.describing.scores import comparison_told, told, winner_of
from attention_book.runs.command.describing.systems import System, lines_of_other, system_of
from attention_book.runs.command.describing.texts import length_in_words
from attention_book.runs.command.speech.bilingual import BilingualCommand, option
from attention_book.runs.command.speech.failures import ExitCode, Failure
from attention_book.runs.command.speech.language import spoken
from attention_book.runs.command.speech.numbers import COUNT, Whole
from attention_book.runs.command.speech.terminal import tell, visible
from attention_book.runs.command.speech.writing import write_result
from attention_book.runs.command.translators import (
    how_to_search,
    where_to_compute,
    which_checkpoint,
    which_model,
)
from attention_book.runs.scoring import Comparison, score
from attention_book.runs.scoring import compare as compare_texts

_TEXT = Bilingual(
    """给译文打分：sacrebleu 的 BLEU 与 chrF，带签名和置信区间。

    默认翻译训练时留出的测试句再打分。--test 换成自己的测试文件；
    --translations 和 --references 直接给现成的译文打分，不用模型。
    以词为单位、或用 Moses 切分的模型，另报一个小写词元的 BLEU。
    原文里模型不认识的词，列在标准错误输出里。文件写 - 就是标准输入。
    """,
    """Score translations: sacrebleu's BLEU and chrF, with signatures and intervals.

    By default the test sentences that were held out of the training are translated and scored.
    Use --test for test files of your own; or score a file of translations, without any model,
    with --translations and --references. Where a model reads words, or text split by Moses, the
    BLEU of lower-case tokens is told as well. Words that the model does not know are named on
    standard error. A file named - is standard input.
    """,
)
_EXAMPLES = (
    ("attention-book evaluate", Bilingual("给最近一次训练的结果打分", "score the latest run")),
    (
        "attention-book evaluate --run runs/big --compare runs/small",
        Bilingual("两次训练，哪次更好？", "which of two runs is better?"),
    ),
    (
        "attention-book evaluate --translations mine.txt --references theirs.txt --json",
        Bilingual("给文件打分，结果用 JSON 输出", "score files, and write JSON"),
    ),
)
_FILE = Bilingual("文件", "FILE")


@click.command(cls=BilingualCommand, text=_TEXT, examples=_EXAMPLES, pairs=["--test"])
@which_model
@which_checkpoint
@option(
    "--split",
    type=click.Choice(["test", "validation"]),
    default="test",
    show_default=True,
    metavar="[test|validation]",
    help=Bilingual("哪一部分留出的句子。", "Which of the held-out parts."),
)
@option(
    "--test",
    multiple=True,
    metavar=Bilingual("文件 [文件]", "FILE [FILE]"),
    help=Bilingual(
        "自己的测试文件：一个（原文 TAB 译文），或两个平行文件。",
        "Test files of your own: one (source TAB target), or two parallel ones.",
    ),
)
@option(
    "--translations",
    metavar=_FILE,
    help=Bilingual("给这个文件里的译文打分。", "Score the translations in this file."),
)
@option(
    "--references",
    metavar=_FILE,
    help=Bilingual("参考译文，一行一句。", "The references for them, a line each."),
)
@option(
    "--sources",
    metavar=_FILE,
    help=Bilingual("原文，用来按长度分组。", "Their sources, for the scores by length."),
)
@option(
    "--target",
    default="en",
    show_default=True,
    metavar=Bilingual("语言", "LANGUAGE"),
    help=Bilingual(
        "--translations 的语言，决定怎样切分（zh 按字）。",
        "The language of --translations; it chooses the tokenization.",
    ),
)
@option(
    "--compare",
    metavar=Bilingual("文件夹|文件|名称", "RUN|FILE|NAME"),
    help=Bilingual(
        "再和另一次训练、另一个译文文件或书里的模型比较（成对自助法）。",
        "Compare with another run, a file of translations, or a model of the book (paired "
        "bootstrap).",
    ),
)
@how_to_search
@where_to_compute
@option("--limit", type=COUNT, metavar="N", help=Bilingual("只用前 N 句。", "Only N sentences."))
@option(
    "--resamples",
    type=Whole(min=0, max=100_000),
    default=1000,
    show_default=True,
    metavar="N",
    help=Bilingual(
        "置信区间重采样多少次；0：不算区间。", "How often to resample for the intervals; 0: never."
    ),
)
@option(
    "--save",
    metavar=_FILE,
    help=Bilingual("把译文写进文件。", "Write the translations to a file."),
)
@option("--json", "as_data", is_flag=True, help=Bilingual("输出 JSON。", "Write JSON."))
def evaluate(as_data: bool, save: str | None, compare: str | None, **chosen: Any) -> None:
    """Score, compare, and tell."""
    failed: list[int] = []
    chosen |= {"failed": failed}
    mine = system_of({**chosen, "compare": compare})
    found = score(
        mine.lines,
        mine.text.references,
        language=mine.text.language,
        lowercase=mine.lowercase,
        lengths=[length_in_words(each) for each in mine.text.sources] or None,
        tokens=mine.tokens(),
        resamples=chosen["resamples"],
    )
    result = {"name": mine.name, "text": mine.text.name, **asdict(found)}
    lines = [_title(mine, found.num_sentences), "", told(found)]
    if compare is not None:
        compared = _compared(mine, compare, chosen)
        result["compared"] = {"with": compare, "difference": compared.difference}
        result["compared"] |= asdict(compared)
        result["compared"]["winner"] = winner_of(compared, mine.name, compare)
        lines += ["", comparison_told(compared, visible(mine.name), visible(compare))]
    if save is not None:
        _save(mine.lines, save)
    tell(json.dumps(result) if as_data else "\n".join(lines))
    if failed:
        raise Failure(
            ExitCode.DATA,
            f"有 {len(failed)} 句没能翻译（见上），按空译文计了分。",
            f"{len(failed)} sentences could not be translated (see above), and were scored as "
            "empty",
        )


def _title(mine: System, count: int) -> str:
    sentences = spoken(Bilingual(f"{count} 句", f"{count} sentences"))
    return " · ".join((visible(mine.name), mine.text.name, sentences))


def _compared(mine: System, other: str, chosen: Mapping[str, Any]) -> Comparison:
    lines = lines_of_other(other, mine.text, chosen)
    return compare_texts(
        mine.lines,
        lines,
        mine.text.references,
        language=mine.text.language,
        lowercase=mine.lowercase,
        resamples=chosen["resamples"],
    )


def _save(lines: Sequence[str], path: str) -> None:
    write_result(path, "".join(f"{visible(line)}\n" for line in lines))


__all__ = ("evaluate",)
