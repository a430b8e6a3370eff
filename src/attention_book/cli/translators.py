"""What the commands translate with: the model of a run, or of one of the book's recipes."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import click
import torch
from torch import Tensor

from attention_book.cli.errors import ExitCode, Failure
from attention_book.cli.reasons import in_chinese
from attention_book.cli.terminal import note, visible
from attention_book.cli.ui import Number, Whole, option
from attention_book.course.recipes import RECIPES, Trained, trained
from attention_book.course.recipes.trained import TRAINED_FOLDER
from attention_book.decoding import attention_of, translate
from attention_book.decoding import translate as translated
from attention_book.foundations.bilingual import Bilingual
from attention_book.inspection import capture_attention
from attention_book.live import HeadViewer
from attention_book.models import Seq2Seq, Transformer
from attention_book.models.evaluating import moved
from attention_book.runs.codec import TextCodec, WordRule, Words
from attention_book.runs.ddp import device_named
from attention_book.runs.folder import MachineError, RunError, RunFolder
from attention_book.runs.loading import Which, load_run
from attention_book.runs.settings import TEXT_RECIPES, Device, RunSettings
from attention_book.text import encode_source

#: Where runs are kept unless a command says otherwise.
RUNS = Path("runs")
#: Where the book's models are kept, if ATTENTION_BOOK_TRAINED names no other folder.
RECIPE_MODELS = RUNS / "recipes"
SETTINGS = "settings.toml"
#: A longer line is no sentence, and would take memory with the square of its length.
MOST_TOKENS = 1000


@dataclass(frozen=True, kw_only=True)
class Learned:
    """A trained model with what it takes to use it.

    Attributes:
        name: The run's folder, or the recipe.
        model: In evaluation mode.
        codec: Text to tokens, and back.
        settings: What it was trained by.
        recipe: The book's model; None: a run.
    """

    name: str
    model: Seq2Seq | Transformer
    codec: TextCodec
    settings: RunSettings
    recipe: Trained | None = None

    def translations(
        self, texts: Sequence[str], *, beam: int, length_penalty: float
    ) -> list[str | Failure]:
        """Return a line for each line, and in the place of one that can't be read why it can't.

        One without a word in it gives an empty line.
        """
        cut = [self.codec.source_tokens(text) for text in texts]
        rows = [row for row, tokens in enumerate(cut) if 0 < len(tokens) <= MOST_TOKENS]
        search = {"width": beam, "length_penalty": length_penalty}
        found = dict(zip(rows, self._found([cut[row] for row in rows], search), strict=True))
        return [
            found[row] if row in found else _unreadable(tokens) if tokens else ""
            for row, tokens in enumerate(cut)
        ]

    def _found(
        self, sentences: Sequence[Sequence[str]], search: Mapping[str, Any]
    ) -> list[str | Failure]:
        """Return the translations; where one sentence stops them, those of the others."""
        if not sentences:
            return []
        model: Any = self.model
        codec = self.codec
        vocabularies = codec.source_vocabulary, codec.target_vocabulary
        try:
            made = translate(model, sentences, *vocabularies, **search)
        except ValueError as error:  # positions of which there are so many
            if len(sentences) == 1:
                return [_unreadable(sentences[0], str(error))]
            half = len(sentences) // 2
            return self._found(sentences[:half], search) + self._found(sentences[half:], search)
        return [codec.target_text(each.tokens) for each in made]


def _unreadable(tokens: Sequence[str], why: str | None = None) -> Failure:
    start, count = visible(" ".join(tokens[:5])[:60]), len(tokens)
    zh, en = (f"至多 {MOST_TOKENS} 个", f"at most {MOST_TOKENS}")
    if why is not None:
        zh, en = in_chinese(why), why
    return Failure(
        ExitCode.DATA,
        f"{start} …：模型读不了这样的句子，它有 {count} 个词元（{zh}）",
        f"{start} …: expected a sentence that the model can read, got {count} tokens ({en})",
    )


def learned(
    run: str | None,
    recipe: str | None,
    checkpoint: Which | None = None,
    device: str | None = None,
) -> Learned:
    """Return the model that a command line chooses, where it is to compute.

    Args:
        run: Its folder.
        recipe: Or one of the book's models.
        checkpoint: Which of a run's weights.
        device: As in :class:`TrainingSettings`; None: as the settings of the run say, as far as
            this machine has that.
    """
    place = None if device is None else device_named(device)
    found = _learned(run, recipe, checkpoint)
    found.model.to(place or where_it_was_trained(found.settings.training.device))
    return found


def where_it_was_trained(device: str) -> torch.device:
    """Return the device that settings name, or the CPU where there is no such one."""
    try:
        return device_named(device)
    except MachineError:
        return torch.device("cpu")


def _learned(run: str | None, recipe: str | None, checkpoint: Which | None) -> Learned:
    if run is not None and recipe is not None:
        raise Failure(
            ExitCode.WRONG_LINE,
            "--run 和 --recipe 只能用一个。",
            "--run, --recipe: expected one of the two, got both",
        )
    if recipe is not None:
        return of_recipe(recipe)
    folder = Path(run) if run is not None else latest_run()
    found = load_run(folder, checkpoint)
    return Learned(name=str(folder), model=found.model, codec=found.codec, settings=found.settings)


def latest_run(root: Path = RUNS, *, task: str | None = None) -> Path:
    """Return the run that was begun or went on last, a translator's or that of another task."""
    begun = [path for path in _begun(root) if task_of(path) == task]
    # One that failed before it had any weights hides no other.
    found = [path for path in begun if RunFolder(path).has_weights()] or begun
    if not found:
        line = "attention-book train" + (f" --task {task}" if task else "")
        raise Failure(
            ExitCode.RUN,
            f"{root}/ 里还没有训练好的模型。先运行：{line}",
            f"{root}/: expected a run, got none; train one first: {line}",
        )
    return max(found, key=last_change)


def _begun(root: Path) -> list[Path]:
    return [path.parent for path in root.glob(f"*/{SETTINGS}")]


def is_of_language(run: str | None, recipe: str | None, root: Path = RUNS) -> bool:
    """Whether a line means a language model: the run that it names, or the latest of all."""
    if run is not None or recipe is not None:
        return run is not None and task_of(Path(run)) == "language"
    begun = [path for path in _begun(root) if RunFolder(path).has_weights()]
    return bool(begun) and task_of(max(begun, key=last_change)) == "language"


def task_of(folder: Path) -> str | None:
    """Return what a run is of: "language", or nothing, a translator; also where it is damaged."""
    try:
        return RunFolder(folder).settings().TASK
    except RunError:
        return None


def last_change(folder: Path) -> float:
    """Return when a run was last written to."""
    return max((path.lstat().st_mtime for path in folder.iterdir()), default=0.0)


def of_recipe(name: str) -> Learned:
    """Return one of the book's models, trained now if it was not before."""
    check_recipe(name)
    with _kept_models():
        folder = Path(os.environ[TRAINED_FOLDER])
        if not any(folder.glob(f"{name}-*.safetensors")):
            note(
                Bilingual(
                    f"{name} 还没有训练过，现在训练，之后存在 {visible(str(folder))}/。",
                    f"{name} has not been trained yet: training it now, to be kept in "
                    f"{visible(str(folder))}/.",
                )
            )
        found = trained(name)
    return Learned(
        name=name,
        model=found.model,
        codec=codec_of(found),
        settings=RunSettings.from_recipe(found.recipe),
        recipe=found,
    )


def check_recipe(name: str, *, known: Sequence[str] = tuple(RECIPES)) -> None:
    """Check that there is a recipe of a name."""
    if name in known:
        return
    if name in TEXT_RECIPES:
        train = f"attention-book train --recipe {name}"
        raise Failure(
            ExitCode.WRONG_LINE,
            f"--recipe：{name} 要先训练：{train}，然后用 --run {RUNS / name}。",
            f"--recipe: {name} has to be trained first: {train}; then use --run {RUNS / name}",
        )
    names = ", ".join(known)
    raise Failure(
        ExitCode.WRONG_LINE,
        f"--recipe：没有叫 {visible(name)!r} 的；有的是：{names}",
        f"--recipe: expected one of {names}, got {visible(name)!r}",
    )


def codec_of(found: Trained) -> TextCodec:
    """Return the codec of one of the book's models, which reads words."""
    recipe, settings = found.recipe, RunSettings.from_recipe(found.recipe).text
    rule: WordRule = "grammar" if recipe.corpus == "grammar" else "plain"
    source = Words(recipe.source, rule, found.source_vocabulary)
    target = Words(recipe.target, rule, found.target_vocabulary)
    languages = (recipe.source, recipe.target)
    return TextCodec(settings, languages, (source, target), word_rule=rule)


@contextmanager
def _kept_models() -> Iterator[None]:
    """Keep the book's models in the folder of runs, unless another is named."""
    before = os.environ.get(TRAINED_FOLDER)
    os.environ[TRAINED_FOLDER] = before or str(RECIPE_MODELS)
    try:
        yield
    finally:
        if before is None:
            del os.environ[TRAINED_FOLDER]
        else:
            os.environ[TRAINED_FOLDER] = before


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


# So many words are named, and of each so many letters.
_WORDS, _LETTERS = 8, 30


def note_unknown(model: Learned, text: str, *, line: int | None = None) -> None:
    """Name on standard error the words of a sentence that the model does not know, if any.

    Args:
        model: Reads the sentence.
        text: The sentence.
        line: Which one it is, where there are several.
    """
    words = model.codec.unknown_words(text)
    if not words:
        return
    place = Bilingual(f"第 {line} 行：", f"line {line}: ") if line else Bilingual("", "")
    zh, en = _listed(words)
    note(
        Bilingual(
            f"{place.zh}模型不认识的词：{zh}",
            f"{place.en}unknown to the model: {en}",
        )
    )


def note_share_unknown(model: Learned, texts: Sequence[str]) -> None:
    """Say on standard error how many sentences have words that the model does not know, if any."""
    found = [words for words in map(model.codec.unknown_words, texts) if words]
    if not found:
        return
    counts = Counter(word for words in found for word in words)
    zh, en = _listed([word for word, _ in counts.most_common()])
    name = visible(model.name)
    note(
        Bilingual(
            f"{name}：{len(texts)} 句原文里，{len(found)} 句有模型不认识的词：{zh}",
            f"{name}: {len(found)} of {len(texts)} sentences have words unknown to the model: {en}",
        )
    )


def _listed(words: Sequence[str]) -> tuple[str, str]:
    """Return words in a row, in Chinese and in English; of many the first."""
    shown = [visible(_short(word)) for word in words[:_WORDS]]
    rest = len(words) - len(shown)
    zh, en = "、".join(shown), ", ".join(shown)
    return (f"{zh} 等 {len(words)} 个", f"{en} and {rest} more") if rest else (zh, en)


def _short(word: str) -> str:
    return word if len(word) <= _LETTERS else f"{word[:_LETTERS]}…"


def viewer_of(
    found: Learned, text: str, *, beam: int = 1, length_penalty: float = 0.0
) -> HeadViewer:
    """Return a viewer of all heads along the model's own translation of a sentence."""
    tokens = found.codec.source_tokens(text)
    if not tokens:
        raise Failure(
            ExitCode.WRONG_LINE,
            "--attention：句子里没有词。",
            "--attention: expected a sentence with a word in it, got none",
        )
    model: Any = found.model
    [made] = translated(
        model,
        [tokens],
        found.codec.source_vocabulary,
        found.codec.target_vocabulary,
        width=beam,
        length_penalty=length_penalty,
    )
    source, target = [*tokens, "<eos>"], ["<bos>", *made.tokens]
    written: dict[str, Any] = {
        "source": source,
        "target": target,
        "spelling": "text" if found.codec.settings.unit == "words" else "sentencepiece",
    }
    if isinstance(found.model, Transformer):
        return HeadViewer(maps(found, tokens, made.tokens), **written)
    return HeadViewer(cross_attentions=cross(found, tokens, made.tokens), **written)


def maps(found: Learned, source: Sequence[str], target: Sequence[str]) -> dict[str, list[Tensor]]:
    """Return the weights of all of a Transformer's heads while it reads a known translation."""
    codec = found.codec
    ids, mask = encode_source([source], codec.source_vocabulary)
    bos = codec.target_vocabulary.special_ids.bos
    begun = torch.tensor([[bos, *codec.target_vocabulary.encode(target)]])
    with torch.no_grad(), capture_attention(found.model) as seen:
        found.model(*(moved(each, found.model) for each in (ids, mask, begun)))
    return {name: [each.cpu() for each in maps] for name, maps in seen.items()}


def cross(found: Learned, source: Sequence[str], target: Sequence[str]) -> Tensor:
    """Return where the decoder looks in the source, (layer, head, target, source).

    The last column is that of the source's ``<eos>``, the last row what was asked for it.
    """
    if isinstance(found.model, Transformer):
        seen = maps(found, source, target)
        layers = range(found.model.config.num_layers)
        return torch.stack(
            [seen[f"decoder.layers.{layer}.cross_attention"][0][0] for layer in layers]
        )
    codec = found.codec
    vocabularies = codec.source_vocabulary, codec.target_vocabulary
    try:
        weights = attention_of(found.model, source, target, *vocabularies)
    except ValueError as error:
        raise Failure(
            ExitCode.RUN,
            f"{found.name}：这个模型没有注意力。",
            f"{found.name}: expected a model with attention, got one without",
        ) from error
    return weights[None, None].cpu()
