"""``attention-book inspect``: whether a model is healthy, and what its heads do."""

import itertools
import json
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.cli.errors import ExitCode, Failure
from attention_book.cli.export import pairs_of
from attention_book.cli.files import STANDARD_INPUT, text_of, write_result
from attention_book.cli.language import learned_language
from attention_book.cli.progress import say_how_long
from attention_book.cli.terminal import columns, fitted, said, spoken, tell, visible
from attention_book.cli.translators import (
    Learned,
    cross,
    is_of_language,
    learned,
    where_to_compute,
    which_checkpoint,
    which_model,
)
from attention_book.cli.ui import COUNT, BilingualCommand, argument, option
from attention_book.course.diagnosis import check_up, check_up_language
from attention_book.foundations import visible_label
from attention_book.foundations.bilingual import Bilingual
from attention_book.inspection import (
    attention_heads,
    capture_attention,
    head_importance,
    offset_profile,
)
from attention_book.live import HeadViewer
from attention_book.metrics import corpus_alignment_scores, diagonal_alignment, hard_alignment
from attention_book.models import LanguageModel, Pretrained, Transformer, load_pretrained
from attention_book.models.evaluating import evaluating, moved
from attention_book.models.pretrained.load import SpecialTokensTwice
from attention_book.models.pretrained.names import name_in_files
from attention_book.runs.ddp import device_named
from attention_book.runs.language.documents import read_documents
from attention_book.runs.language.settings import DocumentSettings
from attention_book.runs.loading import Which
from attention_book.text import Batch, CorpusError, ParallelData, SentencePair
from attention_book.training import evaluate_loss

_BATCH = 64


@dataclass(frozen=True, kw_only=True)
class HeadReport:
    """What one head does on average.

    Attributes:
        module: Where it is.
        number: Which one there, from 1.
        sharpness: The largest weight of a query, on average.
        previous: The weight on the place before; None where queries and keys are two sentences.
        own: On the same place.
        following: On the place after.
        loss: By how much the loss per token rises without it.
    """

    module: str
    number: int
    sharpness: float
    previous: float | None = None
    own: float | None = None
    following: float | None = None
    loss: float


def head_reports(model: Transformer, data: ParallelData) -> list[HeadReport]:
    """Return what each head does, in the order of the model."""
    profiles: dict[str, Tensor] = {}
    for batch in (moved(each, model) for each in data.batches(_BATCH)):
        for name, found in _profiles(model, batch):
            share = found.cpu() * len(batch) / len(data)
            profiles[name] = profiles.get(name, torch.zeros(())) + share
    reports, measured = [], 0

    def loss_of_model() -> float:
        nonlocal measured
        began = time.monotonic()
        loss = evaluate_loss(model, data)
        measured += 1
        if measured == 1:
            left = (time.monotonic() - began) * len(attention_heads(model))
            say_how_long(left, said("逐个去掉注意力头", "leaving out each head"))
        return loss

    for head, loss in head_importance(model, loss_of_model).items():
        sharpness, *places = profiles[head.module][head.number].tolist()
        known = dict(zip(("previous", "own", "following"), places, strict=False))
        reports.append(
            HeadReport(
                module=head.module, number=head.number + 1, sharpness=sharpness, loss=loss, **known
            )
        )
    return reports


def _profiles(model: Transformer, batch: Batch) -> Iterator[tuple[str, Tensor]]:
    """Yield of each module (head, number): the sharpness, and the weights on three places."""
    with evaluating(model), capture_attention(model) as seen:
        model(batch.source, batch.source_mask, batch.target_input)
    for name in dict.fromkeys(head.module for head in attention_heads(model)):
        [weights] = seen[name]
        on_source = batch.source_mask if name.startswith("encoder") else batch.target_mask
        queries = on_source.sum()
        largest = weights.amax(dim=-1).masked_fill(~on_source[:, None], 0.0)
        sharpness = largest.sum(dim=(0, 2)) / queries
        if "cross" in name:
            yield name, sharpness[:, None]
            continue
        mask = on_source[:, :, None] & on_source[:, None, :]
        # A decoder sees nothing behind itself: no weight is there, and none is expected.
        yield name, torch.cat((sharpness[:, None], offset_profile(weights, mask)), dim=1)


@dataclass(frozen=True)
class Alignment:
    """How often a head of the cross-attention looks at the word that is translated.

    Attributes:
        layer: From 1.
        head: From 1; 0: the mean of the layer's heads.
        error_rate: The alignment error rate.
        diagonal: That of the diagonal, which reads no word.
    """

    layer: int
    head: int
    error_rate: float
    diagonal: float


def best_alignment(found: Learned, pairs: Sequence[SentencePair]) -> Alignment | None:
    """Return the head that aligns best; None where nobody knows what belongs together."""
    known = [pair for pair in pairs if pair.alignment]
    if not known:
        return None
    gold = [pair.alignment or frozenset() for pair in known]
    diagonal = [diagonal_alignment(len(pair.source), len(pair.target)) for pair in known]
    maps = [_with_means(cross(found, pair.source, pair.target)) for pair in known]
    layers, heads = maps[0].shape[:2]
    rates = {
        (layer, head): corpus_alignment_scores(
            [hard_alignment(each[layer, head], ends_with_eos=True) for each in maps], gold
        ).error_rate
        for layer, head in itertools.product(range(layers), range(heads))
    }
    layer, head = min(rates, key=rates.__getitem__)
    baseline = corpus_alignment_scores(diagonal, gold).error_rate
    return Alignment(layer + 1, head, rates[layer, head], baseline)


def _with_means(weights: Tensor) -> Tensor:
    """Put the mean of a layer's heads before them."""
    return torch.cat((weights.mean(dim=1, keepdim=True), weights), dim=1)


def heads_told(heads: Sequence[HeadReport], pairs: Sequence[SentencePair]) -> Iterator[str]:
    """Yield the lines of a table of all heads."""
    if not heads:
        return
    yield ""
    yield from fitted(
        said(
            f"注意力头（{len(pairs)} 句的平均）：最大的权重，对前一个、自己、后一个位置的权重，"
            "去掉这个头后损失增加多少。",
            f"Heads (means over {len(pairs)} sentences): the largest weight; the weight on the "
            "place before, on its own, behind; the loss that is added without the head.",
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
        yield said(
            "词对齐：这份语料没有标准答案。",
            "Alignment: nobody knows the right one in this corpus.",
        )
        return
    zh = f"第 {found.layer} 层" + (f"第 {found.head} 个头" if found.head else "各头的平均")
    en = f"layer {found.layer}, " + (f"head {found.head}" if found.head else "mean of the heads")
    rates = f"{found.error_rate:.3f}", f"{found.diagonal:.3f}"
    yield said(
        f"词对齐：最好的是{zh}，对齐错误率（AER）{rates[0]}；只看对角线是 {rates[1]}。",
        f"Alignment: best is {en}, with an error rate (AER) of {rates[0]}; the diagonal has "
        f"{rates[1]}.",
    )


def laws_told(laws: Mapping[str, bool], meanings: Mapping[str, Bilingual]) -> Iterator[str]:
    """Yield the lines of a check-up, if there was one."""
    if laws:
        yield ""
        yield said("体检：", "Check-up:")
    for name, obeyed in laws.items():
        word = Bilingual("通过", "ok    ") if obeyed else Bilingual("违反", "BROKEN")
        start = f"  {spoken(word)}  "
        margin = " " * columns(start)
        for number, line in enumerate(fitted(spoken(meanings[name]), margin)):
            yield line if number else start + line.removeprefix(margin)


#: What each law of the check-up of a language model says.
LANGUAGE_LAWS = {
    "future is hidden": Bilingual(
        "看不见后面的词元：换掉最后一个，前面的预测不变",
        "the future is hidden: another last token moves no earlier prediction",
    ),
    "steps agree": Bilingual(
        "逐个词元读和整段一起读，预测相同",
        "steps agree: token by token, the predictions are those of the whole text",
    ),
    "state is left alone": Bilingual(
        "从同一个状态可以走两次：读过的不会被改写",
        "the state is left alone: one can go on from it twice",
    ),
    "past is read": Bilingual(
        "读了前文：换掉前一个词元，预测会变",
        "the past is read: another token before the last moves the prediction",
    ),
}
#: A page with more weights than this would hardly open.
MOST_WEIGHTS = 20_000_000


@dataclass(frozen=True, kw_only=True)
class LayerLook:
    """Where the heads of a layer look, on average over heads and tokens from the second on.

    Attributes:
        layer: From 1.
        window: How many tokens it sees; None: all before.
        sharpness: The largest weight of a token.
        first: The weight on the first token of the text.
        previous: The weight on the token before.
        own: The weight on the token itself.
    """

    layer: int
    window: int | None
    sharpness: float
    first: float
    previous: float
    own: float


@dataclass(frozen=True, kw_only=True)
class Look:
    """A model, a text, and what the one made of the other.

    Attributes:
        model: The model.
        family: What it is called: "llama", or what a run of one's own is.
        tokens: The text as the model reads it.
        loss: The mean loss of each token from the second on, in nats; None where there is one.
        laws: Each law of a healthy language model, to whether the model obeys it.
        layers: A line for each layer.
        viewer: All heads.
        brought: Whether the text brought the special tokens of its beginning itself.
    """

    model: LanguageModel
    family: str
    tokens: tuple[str, ...]
    loss: float | None
    laws: dict[str, bool]
    layers: tuple[LayerLook, ...]
    viewer: HeadViewer
    brought: bool = False


def look_into(folder: str, text: str, device: str | None = None) -> Look:
    """Load a model, let it read a text, and look."""
    place = device_named(device or "auto")
    found = load_pretrained(folder)
    found.model.to(place)
    ids, brought = _encoded(found, text)
    ids = ids.to(place)
    config = found.model.config
    size = config.num_layers * config.num_heads * ids.numel() ** 2
    if not ids.numel() or size > MOST_WEIGHTS:
        raise Failure(
            ExitCode.WRONG_LINE,
            f"这段文字有 {ids.numel()} 个词元；至少要有一个，也不能多到页面放不下。",
            f"text: expected a token or more, and not too many for a page, got {ids.numel()}",
        )
    _check_weights(found, folder)
    tokens = tuple(found.tokens(ids[0].tolist()))
    return _looked(found.model, ids, tokens, found.family, folder, brought=brought)


def look_into_run(
    run: str | None, checkpoint: Which | None, text: str | None, device: str | None
) -> tuple[str, Look]:
    """Load a language model of one's own, let it read a text, and look; return its name too.

    Without a text it reads the first that was held out.
    """
    found = learned_language(run, checkpoint, device)
    read = _first_document(found.settings.data) if text is None else text
    ids = found.prompt(read)[:, : found.settings.model.context]
    tokens = ("<bos>", *found.codec.vocabulary.decode(ids[0, 1:].tolist()))
    family = said("语言模型", "language model")
    return found.name, _looked(found.model, ids, tokens, family, found.name)


def _first_document(data: DocumentSettings) -> str:
    """Return the first that was held out, or trained on where the text is too short for any."""
    try:
        return next(read_documents(data, "test"))
    except CorpusError:
        return next(read_documents(data))


def _looked(
    model: LanguageModel,
    ids: Tensor,
    tokens: tuple[str, ...],
    family: str,
    folder: str,
    *,
    brought: bool = False,
) -> Look:
    config = model.config
    with evaluating(model), capture_attention(model) as seen:
        logits = model(ids)
    _check_logits(logits, folder)
    seen = {name: [each.cpu() for each in maps] for name, maps in seen.items()}
    layers = tuple(
        _look(seen[f"stack.layers.{layer}.self_attention"][0][0], layer, config.window(layer))
        for layer in range(config.num_layers)
    )
    viewer = HeadViewer(seen, tokens=tokens, spelling="text")
    return Look(
        model=model,
        family=family,
        tokens=tokens,
        loss=_loss(logits, ids),
        laws=check_up_language(model),
        layers=layers,
        viewer=viewer,
        brought=brought,
    )


def _check_weights(found: Pretrained, folder: str) -> None:
    """See that all weights are numbers, as those of a training that has diverged are not."""
    for name, weight in found.model.named_parameters():
        if not weight.isfinite().all():
            stored = name_in_files(name, found.model.config)
            raise Failure(
                ExitCode.RUN,
                f"{visible(folder)}：{stored} 里有 nan 或 inf；文件坏了，或者训练发散了。",
                f"{visible(folder)}: {stored}: expected finite numbers, got nan or inf; the file "
                "is damaged, or the training has diverged",
            )


def _check_logits(logits: Tensor, folder: str) -> None:
    """See that what finite weights compute is finite."""
    if not logits.isfinite().all():
        kind = str(logits.dtype).removeprefix("torch.")
        raise Failure(
            ExitCode.RUN,
            f"{visible(folder)}：权重都是有限的，算出来的却有 nan 或 inf；{kind} 放不下。",
            f"{visible(folder)}: expected finite logits, got nan or inf from finite weights; "
            f"{kind} is too small for them",
        )


def _encoded(found: Pretrained, text: str) -> tuple[Tensor, bool]:
    """Return a text as numbers, and whether it brought its special tokens: then none are added."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", SpecialTokensTwice)
        try:
            return found.encode(text), False
        except SpecialTokensTwice:
            return found.encode(text, add_special_tokens=False), True


def _look(weights: Tensor, layer: int, window: int | None) -> LayerLook:
    """Return a layer's line; the first token has no choice and does not count."""
    rows = weights.float()[:, 1:] if weights.shape[-1] > 1 else weights.float()
    before = rows.diagonal(dim1=-2, dim2=-1) if weights.shape[-1] > 1 else torch.zeros(1)
    own = weights.float().diagonal(dim1=-2, dim2=-1)[:, -rows.shape[1] :]
    return LayerLook(
        layer=layer + 1,
        window=window,
        sharpness=rows.amax(dim=-1).mean().item(),
        first=rows[..., 0].mean().item(),
        previous=before.mean().item(),
        own=own.mean().item(),
    )


def _loss(logits: Tensor, ids: Tensor) -> float | None:
    if ids.shape[1] < 2:
        return None
    return F.cross_entropy(logits[0, :-1].float(), ids[0, 1:]).item()


def inspect_pretrained(
    folder: str, text: str, page: str, *, as_data: bool, device: str | None = None
) -> None:
    """Look into a language model of others, write the page of its heads, and tell."""
    look_told(look_into(folder, text, device), folder, page, as_data=as_data)


def look_told(look: Look, folder: str, page: str, *, as_data: bool) -> None:
    """Write the page of a language model's heads, and tell."""
    write_result(page, look.viewer.html())
    if as_data:
        layers = [asdict(layer) for layer in look.layers]
        found = {"name": folder, "family": look.family, "tokens": look.tokens}
        tell(
            json.dumps(
                {**found, "loss": look.loss, "check_up": look.laws, "layers": layers, "page": page}
            )
        )
        return
    tell("\n".join([*_language_model_told(look, folder), visible(page)]))
    if sys.stdout.isatty():
        click.launch(Path(page).resolve().as_uri())


def _language_model_told(look: Look, folder: str) -> Iterator[str]:
    model, config = look.model, look.model.config
    count = sum(weight.numel() for weight in model.parameters())
    kv_heads = config.num_kv_heads or config.num_heads
    kind = f"{look.family} {config.num_layers} × {config.num_heads} ({kv_heads})"
    yield visible(folder)
    yield said(f"  {kind}，{count:,} 个参数", f"  {kind}, {count:,} parameters")
    yield "  " + visible(" | ".join(map(visible_label, look.tokens)))
    if look.brought:
        yield said(
            "  文字自己带着开头的特殊词元，没有再加",
            "  the text brings the special tokens of its beginning: none were added",
        )
    if look.loss is not None:
        loss = f"{look.loss:.3f}"
        yield said(f"  每个词元的损失 {loss}", f"  a loss of {loss} nats for each token")
    yield from laws_told(look.laws, LANGUAGE_LAWS)
    yield ""
    yield from _layers_told(look.layers)


def _layers_told(layers: tuple[LayerLook, ...]) -> Iterator[str]:
    yield said("每层看向哪里（各头的平均）：", "Where each layer looks (mean of heads):")
    names = [
        Bilingual("层", "layer"),
        Bilingual("窗口", "window"),
        Bilingual("最大权重", "largest weight"),
        Bilingual("第一个", "first"),
        Bilingual("前一个", "before"),
        Bilingual("自己", "own place"),
    ]
    titles = [spoken(name) for name in names]
    widths = [columns(title) for title in titles]
    yield "  " + "  ".join(titles)
    for each in layers:
        numbers = (each.sharpness, each.first, each.previous, each.own)
        window = "–" if each.window is None else str(each.window)
        cells = [str(each.layer), window, *(f"{number:.3f}" for number in numbers)]
        yield "  " + "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))


_TEXT = Bilingual(
    """看看模型是否健康，每个注意力头在做什么。

    体检：健康的 Transformer 守得住的几条不变量，逐条检查。每个头：看得有多集中，看向前一个、
    自己还是后一个位置，去掉它损失会涨多少。词对齐：哪个头最常看向正被翻译的词
    （只有书里的文法知道标准答案）。

    自己训练的语言模型读一段文字（不给就读一段留出的），列出每层看向哪里，再写一个网页。
    用 --model 看别人训练的语言模型（Llama、Mistral、Qwen2、Qwen3、Gemma 3 的文件夹）：读一段文字，
    列出每层看向哪里，再把所有注意力头写成一个网页；在终端里会打开它。
    """,
    """See whether a model is healthy, and what each attention head does.

    The check-up asks for the laws that a healthy Transformer obeys. Of each head you see how
    sharply it looks, how much at the place before, at its own and behind, and what is lost
    without it. The alignment says which head looks most often at the word that is being
    translated (where the book's grammar knows the answer).

    A language model of your own reads a text, one that was held out if none is given: you see
    where each layer looks, and get the same page.
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
        "残差连接通畅：子层输出为 0 时，输入仍到达输出",
        "the input comes through: where a sublayer is silent, it still reaches the output",
    ),
}


@click.command(cls=BilingualCommand, text=_TEXT, examples=_EXAMPLES)
@argument(
    "text",
    required=False,
    metavar=Bilingual("[文字]", "[TEXT]"),
    help=Bilingual(
        "给语言模型读的文字；-：标准输入。",
        "What a language model reads; -: standard input.",
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
    help=Bilingual(
        "语言模型的网页写到哪里。", "Where the web page of a language model is written."
    ),
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
    if model is None and is_of_language(run, recipe):
        read = text_of(STANDARD_INPUT) if text == STANDARD_INPUT else text
        name, look = look_into_run(run, checkpoint, read, device)
        look_told(look, name, attention, as_data=as_data)
        return
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
    yield said(f"  {kind}，{count:,} 个参数", f"  {kind}, {count:,} parameters")
    languages = " → ".join(map(visible, codec.languages))
    yield said(f"  {languages}，词表 {sizes}", f"  {languages}, vocabularies of {sizes} tokens")
