"""``attention-book translate``: sentences from the line, a file or standard input."""

import itertools
from collections.abc import Iterator

import click

from attention_book.foundations.bilingual import Bilingual
from attention_book.runs.command.speech.bilingual import BilingualCommand, argument, option
from attention_book.runs.command.speech.failures import ExitCode, Failure
from attention_book.runs.command.speech.numbers import COUNT
from attention_book.runs.command.speech.reading import at_keyboard, clean, lines_of
from attention_book.runs.command.speech.terminal import answer, note, visible
from attention_book.runs.command.speech.writing import write_result
from attention_book.runs.command.translators import (
    Learned,
    Which,
    how_to_search,
    learned,
    note_unknown,
    which_checkpoint,
    which_model,
)
from attention_book.runs.command.translators.heads import viewer_of

_TEXT = Bilingual(
    """翻译句子：一行进，一行出。

    句子写在命令后面；或者用 --file 给一个文件；两样都没有，就读标准输入。
    空行译成空行。模型不认识的词按未登录词处理，并列在标准错误输出里。
    """,
    """Translate sentences: a line for each line.

    Type the sentences behind the command, or name a file with --file; with neither, standard
    input is read. An empty line gives an empty line. Words that the model does not know are
    read as unknown, and named on standard error.
    """,
)
_EXAMPLES = (
    (
        'attention-book translate "the girl reads a book." --beam 5',
        Bilingual("用束搜索翻译一句", "translate one sentence with beam search"),
    ),
    (
        "attention-book translate < sentences.txt > translations.txt",
        Bilingual("翻译一个文件", "translate a file"),
    ),
    (
        'attention-book translate "the girl reads." --attention heads.html',
        Bilingual("再把所有注意力头写成一个网页", "and write all attention heads as a web page"),
    ),
)


@click.command(cls=BilingualCommand, text=_TEXT, examples=_EXAMPLES)
@argument(
    "texts",
    nargs=-1,
    metavar=Bilingual("[句子]…", "[SENTENCE]..."),
    help=Bilingual("要翻译的句子。", "What to translate."),
)
@option(
    "--file",
    metavar=Bilingual("文件", "FILE"),
    help=Bilingual("一行一句的文件，UTF-8。", "A file with a sentence a line, in UTF-8."),
)
@how_to_search
@option(
    "--batch",
    type=COUNT,
    metavar="N",
    help=Bilingual(
        "每读多少行翻译一次。默认 64；在终端里逐行翻译。",
        "Translate after every so many lines. Default: 64; in a terminal, each line at once.",
    ),
)
@option(
    "--attention",
    metavar=Bilingual("文件.html", "FILE.html"),
    help=Bilingual(
        "把这一句的所有注意力头写成一个网页，不用联网就能看。只能有一句。",
        "Write all attention heads of the sentence as one web page that needs no network. "
        "Takes exactly one sentence.",
    ),
)
@which_model
@which_checkpoint
def translate(
    texts: tuple[str, ...],
    file: str | None,
    beam: int,
    length_penalty: float,
    batch: int | None,
    attention: str | None,
    run: str | None,
    recipe: str | None,
    checkpoint: Which | None,
) -> None:
    """Translate lines as they come."""
    if texts and file is not None:
        raise Failure(
            ExitCode.WRONG_LINE,
            "句子和 --file 只能给一样。",
            "--file: expected either sentences or a file, got both",
        )
    model = learned(run, recipe, checkpoint)
    lines = map(clean, texts) if texts else lines_of(file)
    if attention is not None:
        lines = iter([the_only(lines)])
    size = batch or (1 if at_keyboard() and not texts and file is None else 64)
    numbers = itertools.repeat(None) if len(texts) == 1 else itertools.count(1)
    while chunk := list(itertools.islice(lines, size)):
        found = model.translations(chunk, beam=beam, length_penalty=length_penalty)
        for text, line, number in zip(chunk, found, numbers, strict=False):
            note_unknown(model, text, line=number)
            answer(line)
        if attention is not None:
            save_attention(model, chunk[0], attention, beam=beam, penalty=length_penalty)


def the_only(lines: Iterator[str]) -> str:
    """Return the only line.

    Raises:
        Failure: if there are several, or none with a word.
    """
    found = list(itertools.islice(lines, 2))
    if len(found) != 1 or not found[0].strip():
        raise Failure(
            ExitCode.WRONG_LINE,
            "--attention 只能配一个句子。",
            "--attention: expected exactly one sentence, got none or several",
        )
    return found[0]


def save_attention(model: Learned, text: str, path: str, *, beam: int, penalty: float) -> None:
    """Write all heads of one translation as a page.

    Raises:
        Failure: if the model has no attention, or the page cannot be written.
    """
    viewer = viewer_of(model, text, beam=beam, length_penalty=penalty)
    write_result(path, viewer.html())
    shown = visible(path)
    note(
        Bilingual(
            f"注意力已写入 {shown}，用浏览器打开就能看。",
            f"attention written to {shown}: open it in a browser",
        )
    )


__all__ = ("translate",)
