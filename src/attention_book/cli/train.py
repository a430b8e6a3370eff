"""``attention-book train``: the book's Transformer, or a model on text of one's own."""

import itertools
import os
import shlex
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import click

from attention_book.cli.asked import (
    DEFAULT_RECIPE,
    FILES,
    OWN_TEXT,
    folder_asked_for,
    settings_asked_for,
)
from attention_book.cli.errors import ExitCode, Failure, failure_of_lines, wrong_settings
from attention_book.cli.evaluate import by_model, scored_tokens
from attention_book.cli.language import result_of_language
from attention_book.cli.progress import shown, with_forecast
from attention_book.cli.reasons import in_chinese
from attention_book.cli.terminal import is_first, note, spoken, tell, visible
from attention_book.cli.translators import Learned, learned
from attention_book.cli.ui import COUNT, BilingualCommand, Whole, option
from attention_book.foundations.bilingual import Bilingual
from attention_book.runs.checkpoints import Checkpoints
from attention_book.runs.corpus import BadLines, read_lines
from attention_book.runs.folder import RunFolder, differing
from attention_book.runs.language.settings import TEXTS, AnySettings, LanguageSettings
from attention_book.runs.log import Interrupted, StepReport
from attention_book.runs.scoring import score
from attention_book.runs.settings import TEXT_RECIPES, Device, TrainingSettings
from attention_book.runs.training import resume, start, status
from attention_book.text import CorpusError

#: The options of which each changes the settings.
SETTING_OPTIONS = (
    *("task", "text", "recipe", "settings", "train", "validation", "test", "corpus"),
    *("source", "target"),
    *("bpe", "separate", "steps", "epochs", "device", "seed", "set"),
)
# What torchrun counts: how often it has started the processes anew.
_RESTARTS = "TORCHELASTIC_RESTART_COUNT"


class Begin(Enum):
    """How a training begins."""

    ANEW = "anew"
    RESUMED = "resumed"
    NOT = "not"

    def reports(self, folder: Path, settings: AnySettings) -> Iterator[StepReport]:
        """Return the training, step by step."""
        if self is Begin.RESUMED:
            return resume(folder, tell=_hear)
        return start(settings, folder, tell=_hear)


def _hear(text: Bilingual) -> None:
    note(Bilingual(visible(text.zh), visible(text.en)))


def how_to_begin(folder: Path, settings: AnySettings, chosen: Mapping[str, Any]) -> Begin:
    """Return how the training of a folder begins."""
    if chosen["resume"] and chosen["again"]:
        raise Failure(
            ExitCode.WRONG_LINE,
            "--resume 和 --again 只能用一个。",
            "--resume, --again: expected one of the two, got both",
        )
    if os.environ.get(_RESTARTS, "0") != "0":
        return Begin.RESUMED if chosen["resume"] else Begin.ANEW
    name, run = visible(str(folder)), RunFolder(folder)
    if chosen["again"]:
        if is_first() and (run.holds_a_run() or run.has_weights()):
            clear(run)
        return Begin.ANEW
    # Each of several processes sees for itself: until all have met, nobody changes what is seen.
    state = status_of(folder)
    if state == "empty":
        return _in_empty(name, chosen)
    as_there = chosen["resume"] and not any(chosen.get(name) for name in SETTING_OPTIONS)
    if not run.has_weights():
        # A start that failed keeps no folder, whatever its settings were.
        return Begin.RESUMED if as_there else Begin.ANEW
    if not as_there:
        _same(folder, settings)
    if not run.has_begun():
        return Begin.RESUMED if as_there else Begin.ANEW
    if state == "finished":
        zh = f"{name} 已经训练完了，不再训练（要从头训练，加 --again）。"
        en = f"{name} is finished, and is not trained again (begin anew with --again)."
        note(Bilingual(zh, en))
        return Begin.NOT
    if not chosen["resume"]:
        raise Failure(
            ExitCode.RUN,
            f"{name} 还没训练完：接着训练用 --resume，从头训练用 --again。",
            f"{name}: expected a finished run or none, got an unfinished one: go on with --resume, "
            "or begin anew with --again",
        )
    return Begin.RESUMED


def _in_empty(name: str, chosen: Mapping[str, Any]) -> Begin:
    if chosen["resume"]:
        raise Failure(
            ExitCode.RUN,
            f"{name} 里没有可以接着训练的东西；先去掉 --resume 训练。",
            f"{name}: expected a run to go on with, got none; train first, without --resume",
        )
    return Begin.ANEW


def status_of(folder: Path) -> str:
    """Return whether a folder holds a run, and whether it is finished."""
    try:
        return status(folder)
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure(
            ExitCode.RUN,
            f"{visible(str(folder))} 用不了：{in_chinese(reason)}",
            f"{visible(str(folder))}: cannot be used: {reason}",
        ) from error


def _same(folder: Path, settings: AnySettings) -> None:
    """Check that the run that is there has these settings."""
    differences = "; ".join(differing(RunFolder(folder).settings(), settings))
    if differences:
        name = visible(str(folder))
        raise Failure(
            ExitCode.RUN,
            f"{name} 里是另一次训练，设置不同（{in_chinese(differences)}）。"
            "换个 --folder，或用 --again 从头训练。",
            f"{name}: expected a run with these settings, got another: {differences}; give "
            "another --folder, or begin anew with --again",
        )


def clear(run: RunFolder) -> None:
    """Remove the files of a run, and nothing else that may lie in its folder."""
    with run.locked():
        for folder in (run.path / "corpus", run.checkpoints):
            if folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder)
        for file in (run.versions, run.codec, run.log, run.curves, run.best, run.average):
            file.unlink(missing_ok=True)
        run.settings_file.unlink(missing_ok=True)  # last: until then it is a run


@contextmanager
def ending_as_a_run(folder: Path) -> Iterator[None]:
    """Say how to go on after Ctrl-C; and take for wrong what the corpus shows to be."""
    line = f"attention-book train --resume --folder {shlex.quote(str(folder))}"
    try:
        with wrong_settings((ValueError,)):
            yield
    except Interrupted as error:
        raise Failure(
            ExitCode.INTERRUPTED,
            f"已保存到第 {error.step} 步；接着训练：{line}",
            f"saved at step {error.step}; go on with: {line}",
        ) from error
    except KeyboardInterrupt as error:
        if (step := latest_step(folder)) is not None:
            raise Failure(
                ExitCode.INTERRUPTED,
                f"已中断；接着训练（从第 {step} 步）：{line}",
                f"interrupted; go on from step {step} with: {line}",
            ) from error
        raise Failure(
            ExitCode.INTERRUPTED,
            "已中断，一步也没有训练完，什么都没保存；同一条命令可以从头再来。",
            "interrupted before the first step was saved: nothing is kept, and the same line "
            "begins anew",
        ) from error
    except BadLines as error:
        raise failure_of_lines(error, may_skip=True) from error


def latest_step(folder: Path) -> int | None:
    """Return the step of the newest checkpoint; None where there is none."""
    steps = Checkpoints(RunFolder(folder).checkpoints).steps()
    return steps[-1] if steps else None


# So many held-out sentences are translated at the end: enough to tell, and soon done.
_SENTENCES = 500


def result_told(folder: Path) -> str:
    """Return how good a run is on held-out sentences, and a line to go on with."""
    model = learned(str(folder), None)
    try:
        lines = list(itertools.islice(read_lines(model.settings.data, "test"), _SENTENCES))
    except CorpusError:
        lines = []
    told = [_quality(model, lines), _next(folder, _sentence(model, lines))]
    return "\n\n".join(told)


def _quality(model: Learned, lines: list[tuple[str, str]]) -> str:
    """Return the BLEU, of tokens where the papers of such a model report that."""
    if not lines:
        text = Bilingual(
            "语料太小，没有留出测试句，无法打分。",
            "the corpus is too small to hold out test sentences: no score",
        )
        return spoken(text)
    sources, references = zip(*lines, strict=True)
    made = by_model(model, sources, beam=1, length_penalty=0.0)
    ours, theirs = scored_tokens(model, made), scored_tokens(model, references)
    tokens = None if ours is None or theirs is None else (ours, theirs)
    found = score(made, references, language=model.codec.languages[1], tokens=tokens)
    bleu = found.tokenized_bleu or found.bleu
    kind = Bilingual("BLEU（小写词元）", "BLEU of lower-case tokens")
    name = spoken(kind) if found.tokenized_bleu else "BLEU"
    text = Bilingual(
        f"{name} {bleu}，测试集 {len(lines)} 句（训练时没见过）",
        f"{name} {bleu}, on {len(lines)} sentences that the training has not seen",
    )
    return spoken(text)


def _sentence(model: Learned, lines: list[tuple[str, str]]) -> str:
    """Return a sentence to try: one that the model has not seen, or else one that it has."""
    found = lines or itertools.islice(read_lines(model.settings.data), 1)
    return min((source for source, _ in itertools.islice(found, 20)), key=_far_from_typical)


def _far_from_typical(sentence: str) -> int:
    return abs(len(sentence.split()) - 6)


def _next(folder: Path, sentence: str) -> str:
    run = shlex.quote(str(folder))
    heading = Bilingual("接下来可以：", "What to type next:")
    return "\n".join(
        [
            spoken(heading),
            f"  attention-book translate --run {run} -- {shlex.quote(visible(sentence))}",
            f"  attention-book evaluate --run {run}",
        ]
    )


_TEXT = Bilingual(
    f"""训练一个翻译模型或语言模型，结果放在一个文件夹里。

    什么都不加，就训练书里的 Transformer（{DEFAULT_RECIPE}）：语料自带，不用联网，
    两个核大约一分钟。用自己的语料：--train 给一个文件（每行“原文 TAB 译文”），
    或两个平行文件（.gz 也行），再用 --source、--target 说明语言；子词当场学出来。

    --task language 训练一个小语言模型：默认读唐诗（随包自带），几分钟；自己的文本用 --text 给。
    训练完会说它在没见过的文本上有多好，旁边是 n 元语法和 xz；还有它照抄了多少。

    已经训练完的不会再训练一遍。中断了（Ctrl-C）就用 --resume 接着训练：在同一台机器上用同一版
    torch，结果和没有中断过逐位相同（线程数照旧；别的变了会说明）。
    """,
    f"""Train a translator or a language model into a folder.

    Without options it is the book's Transformer ({DEFAULT_RECIPE}), on a corpus that comes with
    the package: no network, about a minute on two cores. To train on text of your own, name with
    --train a file of lines "source TAB target" or two parallel files (.gz too), and the
    languages with --source and --target; subwords are learned on the spot.

    With --task language it is a small language model, of sentences of Jane Austen's that come with
    the package (some minutes), or of text of your own: --text. In the end you see how good it is on
    text that it has not seen, beside n-grams and xz, and how much it copies.

    A finished run is not trained again. Go on with an interrupted one (Ctrl-C) with --resume: on
    the same machine with the same torch the result is, to the bit, that of a run that was never
    interrupted (it keeps its number of threads; what else has changed is told).
    """,
)
_EXAMPLES = (
    ("attention-book train", Bilingual("书里的 Transformer", "the book's Transformer")),
    (
        "attention-book train --recipe transformer-en-zh-1",
        Bilingual("英译中", "from English to Chinese"),
    ),
    (
        "attention-book train --train train.it train.en --source it --target en --bpe 8000",
        Bilingual("自己的两个平行文件，8000 个子词", "two parallel files, 8,000 subwords"),
    ),
    (
        "attention-book train --task language --text novel.txt",
        Bilingual("自己的文本，训练语言模型", "a language model of text of your own"),
    ),
    (
        "attention-book train --recipe multi30k-en-de",
        Bilingual(
            "真实语料：下载图片说明，英译德，一个多小时",
            "real text: descriptions of pictures, English to German; over an hour",
        ),
    ),
    (
        "attention-book train --settings mine.toml --set training.warmup=100",
        Bilingual("照设置文件训练，但改一项", "from a file of settings, with one changed"),
    ),
    (
        "torchrun --nproc-per-node 2 -m attention_book.cli.main train",
        Bilingual("两个进程一起训练", "with two processes together"),
    ),
)
_FILES = Bilingual("文件 [文件]", "FILE [FILE]")
_PIECES, _EPOCHS = OWN_TEXT["text"]["num_pieces"], OWN_TEXT["training"]["epochs"]


@click.command(
    cls=BilingualCommand,
    text=_TEXT,
    examples=_EXAMPLES,
    pairs=[f"--{name}" for name in FILES],
    several=["--text"],
)
@option(
    "--task",
    type=click.Choice(("translation", "language")),
    metavar="[translation|language]",
    help=Bilingual(
        "训练什么：翻译模型（默认），或语言模型，用 attention-book write 让它续写。",
        "What to train: a translator (default), or a language model, which goes on writing with "
        "attention-book write.",
    ),
)
@option(
    "--text",
    multiple=True,
    metavar=Bilingual("文件 [文件]…", "FILE [FILE]..."),
    help=Bilingual(
        "语言模型读的文本，UTF-8：每行一段；有空行的文件，空行之间为一段。",
        "What a language model reads, UTF-8: each line is a document or, where blank lines part "
        "a file, each paragraph.",
    ),
)
@option(
    "--recipe",
    metavar=Bilingual("名称", "NAME"),
    help=Bilingual(
        f"书里的哪个模型（默认 {DEFAULT_RECIPE}），或真实语料的方案：{'、'.join(TEXT_RECIPES)}。",
        f"A model of the book (default: {DEFAULT_RECIPE}), or a recipe for real text: "
        f"{', '.join(TEXT_RECIPES)}.",
    ),
)
@option(
    "--settings",
    metavar=Bilingual("文件.toml", "FILE.toml"),
    help=Bilingual(
        "从文件读设置（- 是标准输入）；--print-settings 打印出来的就是这种文件。",
        "Read all settings from a file (-: standard input), such as --print-settings writes.",
    ),
)
@option(
    "--train",
    multiple=True,
    metavar=_FILES,
    help=Bilingual("自己的训练语料。", "Text of your own to train on."),
)
@option(
    "--validation",
    multiple=True,
    metavar=_FILES,
    help=Bilingual(
        "验证用的语料；不给就从训练语料里留出一部分。",
        "To validate on; without it a share of the training text is held out.",
    ),
)
@option(
    "--test",
    multiple=True,
    metavar=_FILES,
    help=Bilingual("测试用的语料；同上。", "To test on; likewise."),
)
@option(
    "--corpus",
    type=click.Choice(TEXTS),
    metavar=Bilingual("名称", "NAME"),
    help=Bilingual(
        f"有名字的语料：{'、'.join(TEXTS)}（见 attention-book data）。",
        f"A corpus by name: {', '.join(TEXTS)} (see attention-book data).",
    ),
)
@option(
    "--source",
    metavar=Bilingual("语言", "LANGUAGE"),
    help=Bilingual(
        "从什么语言翻译，例如 it；语言模型：读语料的哪种语言。",
        "The language to translate from, such as it; which one of a corpus a language model reads.",
    ),
)
@option(
    "--target",
    metavar=Bilingual("语言", "LANGUAGE"),
    help=Bilingual("翻译成什么语言，例如 en。", "The language to translate to, such as en."),
)
@option(
    "--bpe",
    type=Whole(min=256, max=1_000_000),
    metavar="N",
    help=Bilingual(
        f"学 N 个子词（BPE）。默认：自己的语料 {_PIECES} 个，书里的模型以词为单位。",
        f"Learn N subwords (BPE). Default: {_PIECES} of text of your own; the book's models read "
        "words.",
    ),
)
@option(
    "--separate",
    is_flag=True,
    help=Bilingual(
        "两种语言各学各的子词，不共用。", "Learn subwords for each language, rather than shared."
    ),
)
@option(
    "--steps",
    type=COUNT,
    metavar="N",
    help=Bilingual("训练多少步。默认：由轮数决定。", "Train for N steps. Default: as epochs say."),
)
@option(
    "--epochs",
    type=COUNT,
    metavar="N",
    help=Bilingual(
        f"训练多少轮。默认：方案里的，自己的语料 {_EPOCHS} 轮。",
        f"Train for N epochs. Default: those of the recipe; {_EPOCHS} on text of your own.",
    ),
)
@option(
    "--device",
    type=click.Choice(get_args(Device)),
    metavar=f"[{'|'.join(get_args(Device))}]",
    help=Bilingual(
        "在哪里训练；默认 auto：有 cuda 就用，没有就用 CPU。",
        "Where to train; default: auto, cuda if there is one, else the CPU.",
    ),
)
@option(
    "--seed",
    type=Whole(min=0, max=2**32 - 1),
    metavar="N",
    help=Bilingual(
        f"随机种子。默认 {TrainingSettings().seed}。",
        f"Draws weights, batches and dropout. Default: {TrainingSettings().seed}.",
    ),
)
@option(
    "--set",
    multiple=True,
    metavar=Bilingual("设置=值", "SETTING=VALUE"),
    help=Bilingual(
        "改一项设置，例如 training.warmup=100 或 model.config.num_layers=6；可以写多次。",
        "Change one setting, such as training.warmup=100 or model.config.num_layers=6; may be "
        "repeated.",
    ),
)
@option(
    "--folder",
    metavar=Bilingual("文件夹", "FOLDER"),
    help=Bilingual("结果放在哪里。默认在 runs/ 下。", "Where to train. Default: below runs/."),
)
@option(
    "--resume",
    is_flag=True,
    help=Bilingual("接着训练没训练完的。", "Go on with an unfinished run."),
)
@option(
    "--again",
    is_flag=True,
    help=Bilingual("丢掉文件夹里的结果，从头训练。", "Drop the run in the folder, and begin anew."),
)
@option(
    "--print-settings",
    is_flag=True,
    help=Bilingual("只打印设置（TOML），不训练。", "Only print the settings (TOML)."),
)
def train(**chosen: Any) -> None:
    """Train, and say how good the result is."""
    settings = settings_asked_for(chosen)
    if chosen["print_settings"]:
        with wrong_settings():
            tell(settings.to_toml().rstrip("\n"))
        return
    folder = folder_asked_for(chosen, settings)
    begin = how_to_begin(folder, settings, chosen)
    if begin is not Begin.NOT:
        _train(folder, settings, begin)
    if is_first():
        note()
        of_language = isinstance(settings, LanguageSettings)
        tell(result_of_language(folder) if of_language else result_told(folder))


def _train(folder: Path, settings: AnySettings, begin: Begin) -> None:
    """Train to the end, or to Ctrl-C, or to an error that says why."""
    name, began = visible(str(folder)), time.monotonic()
    step = latest_step(folder) if begin is Begin.RESUMED else None
    if step is not None:
        zh, en = f"接着训练 {name}，从第 {step} 步起", f"going on with {name} from step {step}"
    else:
        zh, en = f"准备训练 {name}", f"preparing {name}"
    note(Bilingual(zh, en))
    with ending_as_a_run(folder):
        reports = with_forecast(_saying_that_it_saves(begin.reports(folder, settings)))
        for _ in shown(reports) if is_first() else reports:
            pass
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    note(Bilingual(f"用时 {minutes} 分 {seconds} 秒", f"took {minutes} min {seconds} s"))


def _saying_that_it_saves(reports: Iterator[StepReport]) -> Iterator[StepReport]:
    """Say at the first step, and not before, that Ctrl-C saves: until then there is nothing."""
    for number, report in enumerate(reports):
        if number == 0:
            note(Bilingual("开始训练（Ctrl-C 保存并停下）", "training (Ctrl-C saves)"))
        yield report
