"""``attention-book train``: the book's Transformer, or a model on text of one's own."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import click

from attention_book.foundations.bilingual import Bilingual
from attention_book.runs.command.speech.bilingual import BilingualCommand, option
from attention_book.runs.command.speech.failures import wrong_settings
from attention_book.runs.command.speech.numbers import COUNT, Whole
from attention_book.runs.command.speech.progress import shown, with_forecast
from attention_book.runs.command.speech.terminal import is_first, note, tell, visible
from attention_book.runs.command.training.asked import (
    DEFAULT_RECIPE,
    FILES,
    OWN_TEXT,
    folder_asked_for,
    settings_asked_for,
)
from attention_book.runs.command.training.beginning import (
    Begin,
    ending_as_a_run,
    how_to_begin,
    latest_step,
)
from attention_book.runs.command.training.result import result_told
from attention_book.runs.engine import StepReport
from attention_book.runs.settings import (
    CORPORA,
    TEXT_RECIPES,
    RunSettings,
    TrainingSettings,
)
from attention_book.runs.settings.training import Device

_TEXT = Bilingual(
    f"""训练一个翻译模型，结果放在一个文件夹里。

    什么都不加，就训练书里的 Transformer（{DEFAULT_RECIPE}）：语料自带，不用联网，
    两个核大约一分钟。用自己的语料：--train 给一个文件（每行“原文 TAB 译文”），
    或两个平行文件（.gz 也行），再用 --source、--target 说明语言；子词当场学出来。

    已经训练完的不会再训练一遍。中断了（Ctrl-C）就用 --resume 接着训练：在同一台机器上用同一版
    torch，结果和没有中断过逐位相同（线程数照旧；别的变了会说明）。
    """,
    f"""Train a translation model into a folder.

    Without options it is the book's Transformer ({DEFAULT_RECIPE}), on a corpus that comes with
    the package: no network, about a minute on two cores. To train on text of your own, name with
    --train a file of lines "source TAB target" or two parallel files (.gz too), and the
    languages with --source and --target; subwords are learned on the spot.

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
        "torchrun --nproc-per-node 2 -m attention_book.runs.command.main train",
        Bilingual("两个进程一起训练", "with two processes together"),
    ),
)
_FILES = Bilingual("文件 [文件]", "FILE [FILE]")
_PIECES, _EPOCHS = OWN_TEXT["text"]["num_pieces"], OWN_TEXT["training"]["epochs"]


@click.command(
    cls=BilingualCommand, text=_TEXT, examples=_EXAMPLES, pairs=[f"--{name}" for name in FILES]
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
    type=click.Choice(CORPORA),
    metavar=Bilingual("名称", "NAME"),
    help=Bilingual(
        f"有名字的语料：{'、'.join(CORPORA)}（见 attention-book data）。",
        f"A corpus by name: {', '.join(CORPORA)} (see attention-book data).",
    ),
)
@option(
    "--source",
    metavar=Bilingual("语言", "LANGUAGE"),
    help=Bilingual("从什么语言翻译，例如 it。", "The language to translate from, such as it."),
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
        tell(result_told(folder))


def _train(folder: Path, settings: RunSettings, begin: Begin) -> None:
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


__all__ = ("train",)
