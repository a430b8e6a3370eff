"""Language models on the command line: their settings, their runs, and how good they are."""

import itertools
import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import torch

from attention_book.cli.errors import ExitCode, Failure
from attention_book.cli.terminal import columns, said, visible
from attention_book.cli.translators import latest_run, where_it_was_trained
from attention_book.decoding import sample
from attention_book.models import LanguageModel
from attention_book.models.evaluating import evaluating
from attention_book.runs.batches import BatchPlan
from attention_book.runs.corpus import Split
from attention_book.runs.ddp import device_named
from attention_book.runs.folder import RunFolder
from attention_book.runs.language.codec import PieceCodec
from attention_book.runs.language.documents import read_documents
from attention_book.runs.language.packed import PackedCorpus, write_documents
from attention_book.runs.language.settings import DocumentSettings, LanguageSettings
from attention_book.runs.language.yardsticks import Copying, KneserNey, copying, xz_bits_a_byte
from attention_book.runs.loading import Which, load_language_model
from attention_book.text import BOS, CorpusError
from attention_book.training import packed_loss

Document = TypeVar("Document")


@dataclass(frozen=True, kw_only=True)
class LearnedLanguage:
    """A trained language model with what it takes to use it.

    Attributes:
        name: The run's folder.
        model: In evaluation mode.
        codec: Text to numbers, and back.
        settings: What it was trained by.
    """

    name: str
    model: LanguageModel
    codec: PieceCodec
    settings: LanguageSettings

    def prompt(self, text: str) -> torch.Tensor:
        """Return the beginning of a text as the model reads it, (1, token)."""
        numbers = [[BOS, *self.codec.numbers(text)]]
        return torch.tensor(numbers, device=next(self.model.parameters()).device)


def learned_language(
    run: str | None, checkpoint: Which | None = None, device: str | None = None
) -> LearnedLanguage:
    """Return the language model that a command line chooses, where it is to compute.

    Args:
        run: Its folder; None: the latest one of a language model.
        checkpoint: Which of the run's weights.
        device: As in :class:`~attention_book.runs.TrainingSettings`; None: where it was trained.
    """
    place = None if device is None else device_named(device)
    folder = Path(run) if run is not None else latest_run(task=LanguageSettings.TASK)
    found = load_language_model(folder, checkpoint)
    found.model.to(place or where_it_was_trained(found.settings.training.device))
    return LearnedLanguage(
        name=str(folder), model=found.model, codec=found.codec, settings=found.settings
    )


#: The n-grams that are counted beside a model; the best of them is told.
_ORDERS = (2, 3, 4)
# Of a larger text the yardsticks read the beginning: they are to take seconds.
_COUNTED, _COMPRESSED = 1_000_000, 8_000_000
# With so many tokens of the training text it is compared what was copied.
_COMPARED = 4_000_000
# So many texts are written to see how much is copied, as people mostly sample.
_WRITTEN, _TEMPERATURE, _TOP_P = 200, 0.8, 0.95
# Beyond this share of whole texts a warning is due.
_TOO_MANY = 0.05


@dataclass(frozen=True, kw_only=True)
class Quality:
    """How good a language model is on documents that it has not seen, beside two yardsticks.

    Attributes:
        num_documents: How many there are.
        nats: Its loss of each token.
        bits: The same in bits for each byte of the text.
        order: The length of the n-grams.
        ngram_nats: Their loss of each token.
        ngram_bits: The same in bits for each byte.
        xz_bits: What xz takes, in bits for each byte.
        in_part: Whether the yardsticks have read the beginning of the training text alone.
    """

    num_documents: int
    nats: float
    bits: float
    order: int
    ngram_nats: float
    ngram_bits: float
    xz_bits: float
    in_part: bool


def documents_of(data: DocumentSettings, split: Split) -> list[str]:
    """Return the documents of a part; of a corpus that is too small, maybe none."""
    try:
        return list(read_documents(data, split))
    except CorpusError:
        if split == "train":
            raise
        return []


def quality(
    found: LearnedLanguage,
    known: Sequence[Sequence[int]],
    train: Sequence[str],
    held_out: Sequence[str],
) -> Quality:
    """Measure a model, and the yardsticks on the same documents.

    Args:
        found: The model.
        known: The training documents as numbers, or the first of them.
        train: The training documents.
        held_out: Those to measure with.
    """
    nats, tokens, num_bytes = loss_on(found, held_out)
    bits = _bits(nats, tokens, num_bytes)
    counted = list(_beginning(known, _COUNTED, len))
    held = [document for document in found.codec.encode(list(held_out)) if document]
    size = len(found.codec.vocabulary)
    losses = {
        order: KneserNey(counted, vocabulary=size, order=order).nats(held) for order in _ORDERS
    }
    order = min(losses, key=losses.__getitem__)
    compressed = list(_beginning(train, _COMPRESSED, lambda text: len(text.encode()) + 1))
    return Quality(
        num_documents=len(held_out),
        nats=nats,
        bits=bits,
        order=order,
        ngram_nats=losses[order],
        ngram_bits=_bits(losses[order], tokens, num_bytes),
        xz_bits=xz_bits_a_byte(_lines(compressed), _lines(held_out)),
        in_part=len(counted) < len(known) or len(compressed) < len(train),
    )


def _bits(nats: float, tokens: int, num_bytes: int) -> float:
    return nats * tokens / num_bytes / math.log(2)


def _lines(documents: Iterable[str]) -> str:
    return "".join(f"{document}\n" for document in documents)


def _beginning(
    items: Iterable[Document], most: int, size: Callable[[Document], int]
) -> Iterator[Document]:
    total = 0
    for item in items:
        yield item
        total += size(item)
        if total >= most:
            return


def loss_on(found: LearnedLanguage, documents: Sequence[str]) -> tuple[float, int, int]:
    """Return the loss of each token, and how many tokens and bytes the documents have."""
    with TemporaryDirectory() as name:
        write_documents(Path(name), documents, found.codec, digest="")
        corpus = PackedCorpus(Path(name), found.settings.model.context)
        loss, count = 0.0, 0
        with evaluating(found.model):
            for batch in corpus.batches(BatchPlan(batch_tokens=4096), 0):
                loss += packed_loss(found.model, batch).item() * batch.num_tokens
                count += batch.num_tokens
        return loss / count, count, corpus.header.num_bytes


def written_by(found: LearnedLanguage, number: int, seed: int = 1) -> list[list[int]]:
    """Return texts that a model writes from nothing, as numbers."""
    device = next(found.model.parameters()).device
    prompt = torch.full((number, 1), BOS, device=device)
    made = sample(
        found.model,
        prompt,
        max_tokens=found.settings.model.context,
        temperature=_TEMPERATURE,
        top_p=_TOP_P,
        generator=torch.Generator(device).manual_seed(seed),
    )
    return [list(each.ids) for each in made]


def result_of_language(folder: Path) -> str:
    """Return how good a run is on held-out documents, what it writes, and lines to go on with."""
    found = learned_language(str(folder))
    train = documents_of(found.settings.data, "train")
    held_out = documents_of(found.settings.data, "test")
    trained_on = PackedCorpus(RunFolder(folder).corpus("train"), found.settings.model.context)
    known = list(_beginning(trained_on.documents(), _COMPARED, len))
    texts = written_by(found, _WRITTEN)
    told = [
        *_quality_told(found, known, train, held_out),
        *_copying_told(found, known, held_out, texts),
        "",
        said("写出来的（没有挑选）：", "What it writes (not selected):"),
        *(f"  {shown(found.codec.text(text))}" for text in texts[:3]),
        "",
        *_next(folder, found, train),
    ]
    return "\n".join(told)


def shown(text: str) -> str:
    """Return a document on one line."""
    return " / ".join(map(visible, text.splitlines()))


def _quality_told(
    found: LearnedLanguage,
    known: Sequence[Sequence[int]],
    train: Sequence[str],
    held_out: Sequence[str],
) -> Iterator[str]:
    if not held_out:
        yield said(
            "语料太小，没有留出测试文本，无法打分。",
            "the text is too small to hold documents out: no score",
        )
        return
    it = quality(found, known, train, held_out)
    yield said(
        f"在留出的 {it.num_documents} 段文本上（训练时没见过），越小越好：",
        f"On {it.num_documents} documents that the training has not seen; less is better:",
    )
    names = [
        said("这个模型", "this model"),
        said(f"{it.order} 元语法（Kneser–Ney）", f"{it.order}-grams (Kneser–Ney)"),
        "xz",
    ]
    first = max(map(columns, names))
    heads = said("每词元奈特", "nats a token"), said("每字节比特", "bits a byte")
    widths = [max(columns(head), 6) for head in heads]
    rows = zip(
        names,
        (f"{it.nats:.3f}", f"{it.ngram_nats:.3f}", "–"),
        (f"{it.bits:.3f}", f"{it.ngram_bits:.3f}", f"{it.xz_bits:.3f}"),
        strict=True,
    )
    yield "  ".join([" " * (first + 2), *heads])
    for name, *cells in rows:
        padded = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
        yield "  ".join([f"  {name}{' ' * (first - columns(name))}", *padded])
    if it.in_part:
        yield said(
            "  （n 元语法和 xz 只读了训练文本的开头）",
            "  (n-grams and xz have read only the beginning of the training text)",
        )
    if it.ngram_nats <= it.nats:
        yield said(
            "  数一数就比它好：多训练几步，或换个小些的模型。",
            "  Counting does better: train for more steps, or train a smaller model.",
        )


def _copying_told(
    found: LearnedLanguage,
    known: Sequence[Sequence[int]],
    held_out: Sequence[str],
    texts: Sequence[Sequence[int]],
) -> Iterator[str]:
    ours = copying([text for text in texts if text] or [[0]], known)
    beside = ""
    if held_out:
        theirs = copying(found.codec.encode(list(held_out[:_WRITTEN])), known)
        beside = _beside(theirs)
    median = f"{ours.longest:g}"
    yield said(
        f"照抄：写 {ours.num_texts} 段，{ours.whole} 段整段出自训练文本；"
        f"照抄的最长一串，中位数 {median} 个词元{beside}",
        f"Copied: of {ours.num_texts} texts, {ours.whole} stand whole in the training text; the "
        f"median length of the longest copied run, in tokens: {median}{beside}",
    )
    if ours.share > _TOO_MANY:
        yield said(
            "  警告：它在背书。文本更多、模型更小或步数更少，会好些。",
            "  Warning: it recites. More text, a smaller model or fewer steps would help.",
        )


def _beside(theirs: Copying) -> str:
    return said(
        f"（留出的文本：{theirs.num_texts} 段里 {theirs.whole} 段，{theirs.longest:g} 个）",
        f" (held-out texts: {theirs.whole} of {theirs.num_texts}, {theirs.longest:g})",
    )


def beginnings(found: LearnedLanguage, documents: Sequence[str], number: int = 5) -> list[str]:
    """Return with what most documents begin: a character, or two words."""
    if found.codec.tokenizer is None:
        counts = Counter(document[:1] for document in documents)
    else:
        words = (document.split()[:2] for document in documents)
        counts = Counter(" ".join(two) for two in words if len(two) == 2)
    return [start for start, _ in counts.most_common(number)]


def _next(folder: Path, found: LearnedLanguage, train: Sequence[str]) -> Iterator[str]:
    run = shlex.quote(str(folder))
    starts = list(map(visible, beginnings(found, train)))
    yield said("接下来可以：", "What to type next:")
    for start in itertools.islice(starts or [""], 1):
        yield f"  attention-book write --run {run} -- {shlex.quote(start)}"
    yield f"  attention-book inspect --run {run}"
    if starts:
        yield said(
            f"训练文本常这样开头：{'、'.join(starts)}",
            f"Many of the training texts begin with: {', '.join(starts)}",
        )


def refuse_of_translators(chosen: Mapping[str, Any]) -> None:
    """Refuse options that mean nothing to a language model."""
    for name in ("train", "target", "separate", "recipe"):
        if chosen[name]:
            raise Failure(
                ExitCode.WRONG_LINE,
                f"--{name} 是翻译模型的；语言模型的文本用 --text 给。",
                f"--{name}: expected no option of translators with --task language; name the "
                "text with --text",
            )
