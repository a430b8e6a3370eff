"""The options that choose a model, its weights, and how it searches."""

from typing import Any, get_args

import click

from attention_book.foundations.bilingual import Bilingual
from attention_book.runs.command.speech.bilingual import option
from attention_book.runs.command.speech.numbers import Number, Whole
from attention_book.runs.command.translators.learned import RUNS
from attention_book.runs.settings.training import Device


def which_model(command: Any) -> Any:
    """Add the options that choose a model to a command."""
    chosen = option(
        "--recipe",
        metavar=Bilingual("名称", "NAME"),
        help=Bilingual(
            "改用书里的模型，例如 transformer-en-zh-1；还没训练过就先训练。",
            "Use a model of the book instead, such as transformer-en-zh-1; it is trained first "
            "if it was not before.",
        ),
    )(command)
    return option(
        "--run",
        metavar=Bilingual("文件夹", "FOLDER"),
        help=Bilingual(
            f"用哪次训练的结果。默认：{RUNS}/ 里最近的一次。",
            f"The run to use. Default: the latest one in {RUNS}/.",
        ),
    )(chosen)


def which_checkpoint(command: Any) -> Any:
    """Add the option that chooses a checkpoint to a command."""
    return option(
        "--checkpoint",
        type=click.Choice(["best", "last", "average"]),
        metavar="[best|last|average]",
        help=Bilingual(
            "用验证损失最低的、最后的、还是平均的权重。默认：有平均就用平均，否则用验证损失最低的。",
            "The weights with the lowest validation loss, the last ones, or the average. "
            "Default: the average if there is one, else the best.",
        ),
    )(command)


def where_to_compute(command: Any) -> Any:
    """Add the option that chooses a device to a command."""
    return option(
        "--device",
        type=click.Choice(get_args(Device)),
        metavar=f"[{'|'.join(get_args(Device))}]",
        help=Bilingual(
            "在哪里计算；auto：有 cuda 就用。默认：训练时的设置，没有那种设备就用 CPU。",
            "Where to compute; auto: cuda if there is one. Default: as the settings of the "
            "training say, or the CPU where there is no such device.",
        ),
    )(command)


def how_to_search(command: Any) -> Any:
    """Add the options of the search to a command."""
    penalty = option(
        "--length-penalty",
        type=Number(min=0, max=10),
        default=0.0,
        show_default=True,
        metavar=Bilingual("数", "A"),
        help=Bilingual(
            "束搜索的长度惩罚，0 到 10：越大，译文越长。",
            "Of beam search, from 0 to 10: the larger, the longer.",
        ),
    )(command)
    return option(
        "--beam",
        type=Whole(min=1, max=100),
        default=1,
        show_default=True,
        metavar="K",
        help=Bilingual(
            "束的宽度；1 是贪心搜索。", "How many candidates the search keeps; 1: greedy search."
        ),
    )(penalty)


__all__ = ("how_to_search", "where_to_compute", "which_checkpoint", "which_model")
