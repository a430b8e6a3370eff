"""``attention-book inspect``: whether a model is healthy, and what its heads do."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from attention_book.course.diagnosis import check_up
from attention_book.foundations.bilingual import Bilingual
from attention_book.models import Transformer
from attention_book.runs.command.describing.heads import best_alignment, head_reports
from attention_book.runs.command.describing.pages import pairs_of
from attention_book.runs.command.describing.pretrained import inspect_pretrained
from attention_book.runs.command.describing.tables import alignment_told, heads_told, laws_told
from attention_book.runs.command.speech.bilingual import BilingualCommand, argument, option
from attention_book.runs.command.speech.failures import ExitCode, Failure
from attention_book.runs.command.speech.language import spoken
from attention_book.runs.command.speech.numbers import COUNT
from attention_book.runs.command.speech.reading import STANDARD_INPUT, text_of
from attention_book.runs.command.speech.terminal import tell, visible
from attention_book.runs.command.translators import (
    Learned,
    Which,
    learned,
    where_to_compute,
    which_checkpoint,
    which_model,
)
from attention_book.text import ParallelData

_TEXT = Bilingual(
    """看看模型是否健康，每个注意力头在做什么。

    体检：健康的 Transformer 遵守的几条定律，逐条检查。每个头：看得有多集中，看向前一个、
    自己还是后一个位置，去掉它损失会涨多少。词对齐：哪个头最常看向正被翻译的词
    （只有书里的文法知道标准答案）。

    用 --model 看别人训练的语言模型（Llama、Mistral、Qwen2、Qwen3、Gemma 3 的文件夹）：读一段文字，
    列出每层看向哪里，再把所有注意力头写成一个网页；在终端里会打开它。
    """,
    """See whether a model is healthy, and what each attention head does.

    The check-up asks for the laws that a healthy Transformer obeys. Of each head you see how
    sharply it looks, how much at the place before, at its own and behind, and what is lost
    without it. The alignment says which head looks most often at the word that is being
    translated (where the book's grammar knows the answer).

    With --model you look into a language model that others have trained (a folder of the
    families Llama, Mistral, Qwen2, Qwen3, Gemma 3): it reads a text, you see where each layer
    looks, and all heads are written as a web page, which is opened in a terminal.
    """,
)
_EXAMPLES = (
    ("attention-book inspect", Bilingual("看最近一次训练的模型", "look into the latest run")),
    (
        "attention-book inspect --recipe transformer-en-fr-1 --sentences 50",
        Bilingual("看书里的模型，用 50 句", "into a model of the book, with 50 sentences"),
    ),
    (
        'attention-book inspect --model Qwen3-0.6B "the girl reads a book"',
        Bilingual("看别人训练的语言模型", "into a language model of others"),
    ),
)
#: What each law of the check-up says.
LAWS = {
    "future is hidden": Bilingual(
        "看不见后面的词：换掉最后一个词，前面的预测不变",
        "the future is hidden: another last word moves no earlier prediction",
    ),
    "steps agree": Bilingual(
        "逐词解码和整句一起算，预测相同",
        "steps agree: word by word, the predictions are those of the whole sentence",
    ),
    "padding is nothing": Bilingual(
        "填充不起作用：多填两个位置，预测不变",
        "padding is nothing: two more places of it move no prediction",
    ),
    "source is read": Bilingual(
        "读了原文：换掉原文的一个词，预测会变",
        "the source is read: another word in it moves the predictions",
    ),
    "order is read": Bilingual(
        "读了词序：原文换个顺序，预测会变",
        "the order is read: the same words in another order move the predictions",
    ),
    "attention is torchs": Bilingual(
        "注意力与 torch 自己的多头注意力算得一样", "the attention computes what torch's own does"
    ),
    "input comes through": Bilingual(
        "残差连接通畅：子层不作声时，输入仍到达输出",
        "the input comes through: where a sublayer is silent, it still reaches the output",
    ),
}


@click.command(cls=BilingualCommand, text=_TEXT, examples=_EXAMPLES)
@argument(
    "text",
    required=False,
    metavar=Bilingual("[文字]", "[TEXT]"),
    help=Bilingual(
        "给 --model 的模型读的文字；-：标准输入。",
        "What the model of --model reads; -: standard input.",
    ),
)
@option(
    "--model",
    metavar=Bilingual("文件夹", "FOLDER"),
    help=Bilingual(
        "别人训练的语言模型：Hugging Face 格式的文件夹。",
        "A language model of others: a folder in the Hugging Face layout.",
    ),
)
@option(
    "--attention",
    default="attention.html",
    show_default=True,
    metavar=Bilingual("文件.html", "FILE.html"),
    help=Bilingual("--model 的网页写到哪里。", "Where the web page of --model is written."),
)
@which_model
@which_checkpoint
@where_to_compute
@option(
    "--sentences",
    type=COUNT,
    default=100,
    show_default=True,
    metavar="N",
    help=Bilingual("用多少句留出的句子来量。", "How many held-out sentences to measure on."),
)
@option("--json", "as_data", is_flag=True, help=Bilingual("输出 JSON。", "Write JSON."))
def inspect(
    text: str | None,
    model: str | None,
    attention: str,
    run: str | None,
    recipe: str | None,
    checkpoint: Which | None,
    device: str | None,
    sentences: int,
    as_data: bool,
) -> None:
    """Look into a model, and tell."""
    if model is not None or text is not None:
        if model is None or text is None or (run, recipe, checkpoint) != (None, None, None):
            raise Failure(
                ExitCode.WRONG_LINE,
                "--model 要和一段文字一起用，不能和 --run、--recipe、--checkpoint 一起用。",
                "--model: expected a folder and a text, and no --run, --recipe or --checkpoint",
            )
        read = text_of(STANDARD_INPUT) if text == STANDARD_INPUT else text
        inspect_pretrained(model, read, attention, as_data=as_data, device=device)
        return
    found = learned(run, recipe, checkpoint, device)
    pairs = pairs_of(found, "test", sentences) or pairs_of(found, "train", sentences)
    laws, heads = {}, []
    if isinstance(found.model, Transformer):
        laws = check_up(found.model)
        codec = found.codec
        data = ParallelData(pairs, codec.source_vocabulary, codec.target_vocabulary)
        heads = head_reports(found.model, data)
    aligned = best_alignment(found, pairs)
    if as_data:
        result: dict[str, Any] = {"name": found.name, "check_up": laws}
        result |= {"heads": [asdict(head) for head in heads]}
        tell(json.dumps(result | {"alignment": aligned and asdict(aligned)}))
        return
    told = [*_model_told(found), *laws_told(laws, LAWS), *heads_told(heads, pairs)]
    tell("\n".join([*told, *alignment_told(aligned, found)]))


def _model_told(found: Learned) -> Iterator[str]:
    count = sum(weight.numel() for weight in found.model.parameters())
    config: Any = found.model.config
    codec = found.codec
    kind = type(found.model).__name__
    if isinstance(found.model, Transformer):
        kind += f" {config.num_layers} × {config.num_heads}, d_model {config.d_model}"
    sizes = f"{len(codec.source_vocabulary):,} / {len(codec.target_vocabulary):,}"
    yield visible(found.name)
    yield spoken(Bilingual(f"  {kind}，{count:,} 个参数", f"  {kind}, {count:,} parameters"))
    languages = " → ".join(map(visible, codec.languages))
    yield spoken(
        Bilingual(f"  {languages}，词表 {sizes}", f"  {languages}, vocabularies of {sizes} tokens")
    )


__all__ = ("inspect",)
