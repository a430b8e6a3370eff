"""What ``inspect --model`` finds in a model that others have trained, as it reads a text."""

import json
import sys
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import torch
from torch import Tensor
from torch.nn import functional as F

from attention_book.course.diagnosis import check_up_language
from attention_book.foundations import visible_label
from attention_book.foundations.bilingual import Bilingual
from attention_book.inspection import capture_attention
from attention_book.live import HeadViewer
from attention_book.models import Pretrained, load_pretrained
from attention_book.models.decoder.pretrained.load import SpecialTokensTwice
from attention_book.models.evaluating import evaluating
from attention_book.runs.command.describing.tables import laws_told
from attention_book.runs.command.speech.failures import ExitCode, Failure
from attention_book.runs.command.speech.language import spoken
from attention_book.runs.command.speech.pages import columns
from attention_book.runs.command.speech.terminal import tell, visible
from attention_book.runs.command.speech.writing import write_result
from attention_book.runs.processes.ranks import device_named

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
        found: The model.
        tokens: The text as the model reads it.
        loss: The mean loss of each token from the second on, in nats; None where there is one.
        laws: Each law of a healthy language model, to whether the model obeys it.
        layers: A line for each layer.
        viewer: All heads.
        brought: Whether the text brought the special tokens of its beginning itself.
    """

    found: Pretrained
    tokens: tuple[str, ...]
    loss: float | None
    laws: dict[str, bool]
    layers: tuple[LayerLook, ...]
    viewer: HeadViewer
    brought: bool = False


def look_into(folder: str, text: str, device: str | None = None) -> Look:
    """Load a model, let it read a text, and look.

    Raises:
        PretrainedError: if the folder cannot be loaded, or has no tokenizer.
        Failure: if there is nothing in the text, or too much.
    """
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
    with evaluating(found.model), capture_attention(found.model) as seen:
        logits = found.model(ids)
    seen = {name: [each.cpu() for each in maps] for name, maps in seen.items()}
    tokens = tuple(found.tokens(ids[0].tolist()))
    layers = tuple(
        _look(seen[f"blocks.{layer}.attention"][0][0], layer, config.window(layer))
        for layer in range(config.num_layers)
    )
    viewer = HeadViewer(seen, tokens=tokens, spelling="text")
    return Look(
        found=found,
        tokens=tokens,
        loss=_loss(logits, ids),
        laws=check_up_language(found.model),
        layers=layers,
        viewer=viewer,
        brought=brought,
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
    look = look_into(folder, text, device)
    write_result(page, look.viewer.html())
    if as_data:
        layers = [asdict(layer) for layer in look.layers]
        found = {"name": folder, "family": look.found.family, "tokens": look.tokens}
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
    model, config = look.found.model, look.found.model.config
    count = sum(weight.numel() for weight in model.parameters())
    kv_heads = config.num_kv_heads or config.num_heads
    kind = f"{look.found.family} {config.num_layers} × {config.num_heads} ({kv_heads})"
    yield visible(folder)
    yield spoken(Bilingual(f"  {kind}，{count:,} 个参数", f"  {kind}, {count:,} parameters"))
    yield "  " + visible(" | ".join(map(visible_label, look.tokens)))
    if look.brought:
        yield spoken(
            Bilingual(
                "  文字自己带着开头的特殊词元，没有再加",
                "  the text brings the special tokens of its beginning: none were added",
            )
        )
    if look.loss is not None:
        loss = f"{look.loss:.3f}"
        yield spoken(
            Bilingual(f"  每个词元的损失 {loss}", f"  a loss of {loss} nats for each token")
        )
    yield from laws_told(look.laws, LANGUAGE_LAWS)
    yield ""
    yield from _layers_told(look.layers)


def _layers_told(layers: tuple[LayerLook, ...]) -> Iterator[str]:
    yield spoken(
        Bilingual("每层看向哪里（各头的平均）：", "Where each layer looks (mean of heads):")
    )
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


__all__ = ("LayerLook", "Look", "inspect_pretrained", "look_into")
