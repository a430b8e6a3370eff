"""``attention-book export``: a trained model as the files that the book's translator page loads."""

from pathlib import Path

import click

from attention_book.foundations.bilingual import Bilingual
from attention_book.live.export import export as write_files
from attention_book.runs.command.describing.pages import as_trained, missing_for_a_page
from attention_book.runs.command.speech.bilingual import BilingualCommand, option
from attention_book.runs.command.speech.failures import ExitCode, Failure
from attention_book.runs.command.speech.terminal import tell, visible
from attention_book.runs.command.speech.writing import writing
from attention_book.runs.command.translators import Which, learned, which_checkpoint, which_model

_TEXT = Bilingual(
    """把训练好的模型写成网页能加载的文件。

    写三个文件：名称.bin、名称.js（从文件夹直接打开网页时用）、名称.example.js（一个例句）。
    书里的翻译器读的就是它们，以词或以子词为单位都行。
    网页的引擎少了什么、不能导出时，会说明缺什么。
    """,
    """Write a trained model as files that a web page can load.

    There are three: NAME.bin, NAME.js (for a page that was opened from a folder), and
    NAME.example.js (one translation). The book's translator reads them, whether the model
    reads words or subwords. Where the page's engine lacks something, it is said what.
    """,
)
_EXAMPLES = (
    (
        "attention-book export --folder models",
        Bilingual("导出最近一次训练的模型", "export the latest run"),
    ),
    (
        "attention-book export --recipe transformer-en-zh-1",
        Bilingual("导出书里的模型", "export a model of the book"),
    ),
)


@click.command(cls=BilingualCommand, text=_TEXT, examples=_EXAMPLES)
@option(
    "--folder",
    default=".",
    show_default=True,
    metavar=Bilingual("文件夹", "FOLDER"),
    help=Bilingual("写到哪里。", "Where to write."),
)
@which_model
@which_checkpoint
def export(folder: str, run: str | None, recipe: str | None, checkpoint: Which | None) -> None:
    """Write the three files."""
    found = learned(run, recipe, checkpoint)
    if missing := missing_for_a_page(found):
        name = visible(found.name)
        raise Failure(
            ExitCode.RUN,
            f"{name} 不能导出，网页的引擎缺：{'；'.join(each.zh for each in missing)}",
            f"{name}: cannot be exported; the page's engine lacks: "
            + "; ".join(each.en for each in missing),
        )
    exported = as_trained(found)
    with writing(folder):
        path = write_files(exported, Path(folder))
    for written in (path, path.with_suffix(".js"), path.with_suffix(".example.js")):
        size = written.stat().st_size
        tell(f"{visible(str(written.resolve()))}  {size / 1e6:.2f} MB")


__all__ = ("export",)
