"""``attention-book translate``: sentences from the line, a file or standard input."""

import itertools
from collections.abc import Iterator, Sequence

import click

from attention_book.cli.errors import ExitCode, Failure
from attention_book.cli.files import (
    STANDARD_INPUT,
    at_keyboard,
    clean,
    lines_or_failures,
    once_only,
    write_result,
)
from attention_book.cli.terminal import answer, note, visible
from attention_book.cli.translators import (
    Learned,
    how_to_search,
    learned,
    note_unknown,
    viewer_of,
    where_to_compute,
    which_checkpoint,
    which_model,
)
from attention_book.cli.ui import COUNT, BilingualCommand, argument, option
from attention_book.foundations.bilingual import Bilingual
from attention_book.runs.loading import Which

_TEXT = Bilingual(
    """翻译句子：一行进，一行出。

    句子写在命令后面；或者用 --file 给一个文件；两样都没有，或写 -，就读标准输入。
    空行译成空行；译不了的行（太长，或不是 UTF-8）也输出空行，所以行号总对得上，
    最后的退出码是 3。模型不认识的词按未登录词处理。这些都列在标准错误输出里。
    """,
    """Translate sentences: a line for each line.

    Type the sentences behind the command, or name a file with --file; with neither, standard
    input is read, as it is for -. An empty line gives an empty line, and so does one that cannot
    be translated (too long, or not UTF-8), so that lines stay side by side; the exit code is 3
    then. Such lines, and the words that the model does not know, are named on standard error.
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
@where_to_compute
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
    device: str | None,
) -> None:
    """Translate lines as they come."""
    once_only({"SENTENCE": texts, "--file": file})
    if texts and file is not None:
        raise Failure(
            ExitCode.WRONG_LINE,
            "句子和 --file 只能给一样。",
            "--file: expected either sentences or a file, got both",
        )
    model = learned(run, recipe, checkpoint, device)
    read = STANDARD_INPUT in texts or not texts
    lines = _typed(texts) if texts else lines_or_failures(file)
    if attention is not None:
        lines = iter([the_only(lines)])
    size = batch or (1 if at_keyboard() and read and file is None else 64)
    total = failed = 0
    while chunk := list(itertools.islice(lines, size)):
        texts_here = [line for line in chunk if isinstance(line, str)]
        found = iter(model.translations(texts_here, beam=beam, length_penalty=length_penalty))
        for line in chunk:
            total += 1
            made = next(found) if isinstance(line, str) else line
            number = None if len(texts) == 1 and not read else total
            if isinstance(made, Failure):
                if number is None:
                    raise made
                failed += 1
                note_failed(made, number)
                answer("")
            else:
                note_unknown(model, str(line), line=number)
                answer(made)
        if attention is not None and not failed:
            save_attention(model, str(chunk[0]), attention, beam=beam, penalty=length_penalty)
    if failed:
        raise Failure(
            ExitCode.DATA,
            f"{total} 行里有 {failed} 行没能翻译（见上），译文里是空行。",
            f"{failed} of {total} lines could not be translated (see above); an empty line stands "
            "for each",
        )


def _typed(texts: Sequence[str]) -> Iterator[str | Failure]:
    """Return the sentences of a line; for - those of standard input."""
    for text in texts:
        if text == STANDARD_INPUT:
            yield from lines_or_failures(None)
        else:
            yield clean(text)


def note_failed(failure: Failure, number: int) -> None:
    """Say on standard error which line could not be translated, and why."""
    zh, en = visible(failure.text.zh), visible(failure.text.en)
    note(Bilingual(f"第 {number} 行没能翻译：{zh}", f"line {number}: not translated: {en}"))


def the_only(lines: Iterator[str | Failure]) -> str:
    """Return the only line."""
    found = list(itertools.islice(lines, 2))
    for line in found:
        if isinstance(line, Failure):
            raise line
    texts = [line for line in found if isinstance(line, str)]
    if len(texts) != 1 or not texts[0].strip():
        raise Failure(
            ExitCode.WRONG_LINE,
            "--attention 只能配一个句子。",
            "--attention: expected exactly one sentence, got none or several",
        )
    return texts[0]


def save_attention(model: Learned, text: str, path: str, *, beam: int, penalty: float) -> None:
    """Write all heads of one translation as a page."""
    viewer = viewer_of(model, text, beam=beam, length_penalty=penalty)
    write_result(path, viewer.html())
    shown = visible(path)
    note(
        Bilingual(
            f"注意力已写入 {shown}，用浏览器打开就能看。",
            f"attention written to {shown}: open it in a browser",
        )
    )
