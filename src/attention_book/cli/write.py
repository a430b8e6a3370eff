"""``attention-book write``: a language model goes on with a text, word by word."""

import click
import torch
from torch import Tensor

from attention_book.cli.errors import ExitCode, Failure
from attention_book.cli.files import clean, once_only, text_of
from attention_book.cli.language import LearnedLanguage, learned_language
from attention_book.cli.terminal import note, visible
from attention_book.cli.translators import where_to_compute, which_checkpoint
from attention_book.cli.ui import COUNT, BilingualCommand, Number, Whole, argument, option
from attention_book.decoding import Continuation, beam_search, sample
from attention_book.foundations.bilingual import Bilingual
from attention_book.runs.loading import Which

#: A longer prompt would take memory with the square of its length.
MOST_TOKENS = 4000

_TEXT = Bilingual(
    """让语言模型接着写。

    给一个开头，它一个词一个词地写到结束；不给开头就从头写。用 attention-book train --task language
    训练的模型才会写。温度、top-k、top-p、min-p 决定抽词时敢不敢冒险；--beam 不抽，找最可能的。
    """,
    """Let a language model continue a text.

    Give it a beginning, and it writes on word by word until the text ends; without one it starts
    from nothing. The model is one that attention-book train --task language has trained.
    Temperature, top-k, top-p and min-p set how daring the draws are; with --beam nothing is drawn,
    and the most probable continuation is searched for.
    """,
)
_EXAMPLES = (
    ('attention-book write "It was"', Bilingual("接着写", "go on")),
    (
        "attention-book write --number 5 --temperature 0.7 春",
        Bilingual("写五段，谨慎些", "five texts, more careful ones"),
    ),
    (
        'attention-book write --beam 4 "She had"',
        Bilingual("找最可能的续文", "the most probable continuation"),
    ),
)


@click.command(cls=BilingualCommand, text=_TEXT, examples=_EXAMPLES)
@argument(
    "beginning",
    required=False,
    metavar=Bilingual("[开头]", "[BEGINNING]"),
    help=Bilingual("文本的开头；-：标准输入。", "How the text begins; -: standard input."),
)
@option(
    "--temperature",
    type=Number(min=0.01, max=100),
    default=0.8,
    show_default=True,
    metavar=Bilingual("数", "T"),
    help=Bilingual(
        "1 照模型的概率抽；小于 1 更稳，大于 1 更乱。",
        "1 draws as the model says; below it is more careful, above wilder.",
    ),
)
@option(
    "--top-k",
    type=COUNT,
    metavar="K",
    help=Bilingual("只从最可能的 K 个词元里抽。", "Draw from the K most probable tokens."),
)
@option(
    "--top-p",
    type=Number(min=0, max=1),
    default=0.95,
    show_default=True,
    metavar="P",
    help=Bilingual(
        "只从概率合计到 P 的最少几个词元里抽；1：全部。",
        "Draw from the fewest tokens that reach P together; 1: all.",
    ),
)
@option(
    "--min-p",
    type=Number(min=0, max=1),
    metavar="P",
    help=Bilingual(
        "只从概率不低于最高者 P 倍的词元里抽。",
        "Draw from the tokens with at least P times the probability of the first.",
    ),
)
@option(
    "--beam",
    type=Whole(min=1, max=100),
    metavar="K",
    help=Bilingual(
        "不抽，用宽度 K 的束搜索；1 是贪心搜索。",
        "Search with K beams, and draw nothing; 1: greedy.",
    ),
)
@option(
    "--stop",
    multiple=True,
    metavar=Bilingual("文字", "TEXT"),
    help=Bilingual(
        "写出这些文字就停，例如句号；可以写多次。",
        "Stop behind this, such as a full stop; may be repeated.",
    ),
)
@option(
    "--max-tokens",
    type=COUNT,
    metavar="N",
    help=Bilingual(
        "最多写多少个词元。默认：训练时一行的长度。",
        "The most tokens to write. Default: as many as a row of the training has.",
    ),
)
@option(
    "--number",
    type=Whole(min=1, max=1000),
    default=1,
    show_default=True,
    metavar="N",
    help=Bilingual("写几段。", "How many texts to write."),
)
@option(
    "--seed",
    type=Whole(min=0, max=2**32 - 1),
    metavar="N",
    help=Bilingual(
        "随机种子；不给则每次不同。", "Draws the words. Default: another one each time."
    ),
)
@option(
    "--run",
    metavar=Bilingual("文件夹", "FOLDER"),
    help=Bilingual(
        "用哪次训练的语言模型。默认：最近的一次。",
        "The language model to write with. Default: the latest one.",
    ),
)
@which_checkpoint
@where_to_compute
def write(
    beginning: str | None,
    temperature: float,
    top_k: int | None,
    top_p: float,
    min_p: float | None,
    beam: int | None,
    stop: tuple[str, ...],
    max_tokens: int | None,
    number: int,
    seed: int | None,
    run: str | None,
    checkpoint: Which | None,
    device: str | None,
) -> None:
    """Write on."""
    once_only({"BEGINNING": beginning})
    if beam is not None and (number > 1 or stop):
        raise Failure(
            ExitCode.WRONG_LINE,
            "--beam 只写一段，也不能配 --stop。",
            "--beam: expected neither --number nor --stop beside it, got one of them",
        )
    found = learned_language(run, checkpoint, device)
    begun = clean(text_of("-") if beginning == "-" else beginning or "").strip()
    prompt = found.prompt(begun)
    longest = longest_prompt(found)
    if prompt.shape[1] > longest:
        raise Failure(
            ExitCode.DATA,
            f"开头有 {prompt.shape[1]} 个词元，最多 {longest} 个。",
            f"BEGINNING: expected at most {longest} tokens, got {prompt.shape[1]}",
        )
    note_unknown_characters(found, begun)
    most = max_tokens or found.settings.model.context
    if found.model.config.positions == "learned":  # the last token is not read
        most = min(most, found.model.config.max_positions - prompt.shape[1] + 1)
    if beam is not None:
        real = torch.ones_like(prompt, dtype=torch.bool)
        [[best]] = beam_search(Continuation(found.model), prompt, real, width=beam, max_tokens=most)
        _say(begun + continued(found, prompt, best.ids))
        return
    dice = torch.Generator(prompt.device)
    if seed is None:
        dice.seed()
    else:
        dice.manual_seed(seed)
    ends = stopping(found, stop)
    writing = Writing(found, begun, prompt, ends, streams=number == 1)
    sample(
        found.model,
        prompt.expand(number, -1),
        max_tokens=most,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        stop=ends,
        watch=writing.hear,
        generator=dice,
    )
    writing.finish()


def longest_prompt(found: LearnedLanguage) -> int:
    """Return how many tokens a prompt may have; learned positions come to an end."""
    config = found.model.config
    return min(MOST_TOKENS, config.max_positions) if config.positions == "learned" else MOST_TOKENS


def stopping(found: LearnedLanguage, texts: tuple[str, ...]) -> tuple[int, ...]:
    """Return all tokens that end a text because one of these stands in them.

    Raises:
        Failure: if it stands in none.
    """
    ends: list[int] = []
    vocabulary = found.codec.vocabulary
    spelled = {number: found.codec.text([number]) for number in vocabulary.words()}
    for text in texts:
        with_it = [number for number, token in spelled.items() if text and text in token]
        if not with_it:
            raise Failure(
                ExitCode.WRONG_LINE,
                f"--stop：{visible(text)!r} 不在模型的任何一个词元里。",
                f"--stop: expected what stands in a token of the model, got {visible(text)!r}",
            )
        ends += with_it
    return tuple(ends)


def continued(found: LearnedLanguage, prompt: Tensor, numbers: tuple[int, ...] | list[int]) -> str:
    """Return what numbers add to a prompt, blank before a word included."""
    before = prompt[0, 1:].tolist()
    return found.codec.text([*before, *numbers])[len(found.codec.text(before)) :]


class Writing:
    """Texts as they grow; a single one is shown token by token."""

    def __init__(
        self,
        found: LearnedLanguage,
        begun: str,
        prompt: Tensor,
        ends: tuple[int, ...],
        *,
        streams: bool,
    ) -> None:
        self._found, self._begun, self._prompt = found, begun, prompt
        eos = found.codec.vocabulary.special_ids.eos
        self._eos, self._ends, self._streams = eos, {eos, *ends}, streams
        self._rows: list[list[int]] = []
        self._done: list[bool] = []
        self._shown = ""
        if streams:
            self._show(begun)

    def hear(self, tokens: Tensor) -> None:
        """Take the next token of each text."""
        if not self._rows:
            self._rows = [[] for _ in tokens]
            self._done = [False] * len(tokens)
        for row, token in enumerate(tokens.tolist()):
            if self._done[row]:
                continue
            self._done[row] = token in self._ends
            if token != self._eos:
                self._rows[row].append(token)
        if self._streams:
            added = continued(self._found, self._prompt, self._rows[0])
            # Bytes that are no whole character yet wait for the rest of it.
            self._show(self._begun + added.rstrip("\ufffd"))

    def _show(self, text: str) -> None:
        new, self._shown = text[len(self._shown) :], text
        click.echo("\n".join(map(visible, new.split("\n"))), nl=False)

    def finish(self) -> None:
        """End the line, or show all texts."""
        texts = [self._begun + continued(self._found, self._prompt, row) for row in self._rows]
        if self._streams:
            self._show(texts[0])  # with what has waited for its rest in vain
            click.echo()
            return
        apart = any("\n" in text for text in texts)
        for number, text in enumerate(texts):
            if number and apart:
                click.echo()
            _say(text)


def _say(text: str) -> None:
    for line in text.split("\n"):
        click.echo(visible(line))


def note_unknown_characters(found: LearnedLanguage, text: str) -> None:
    """Name on standard error the characters of a beginning that the model does not know, if any."""
    if found.codec.tokenizer is not None:
        return
    unknown = visible("".join(dict.fromkeys(found.codec.unknown(text)))[:30])
    if unknown:
        note(Bilingual(f"模型不认识：{unknown}", f"unknown to the model: {unknown}"))
