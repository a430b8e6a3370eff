"""``attention-book export``: a translator as the files of a page, a language model as a page."""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from attention_book.cli.errors import ExitCode, Failure, wrong_settings
from attention_book.cli.files import writing
from attention_book.cli.language import LearnedLanguage, beginnings, learned_language
from attention_book.cli.terminal import note, tell, visible
from attention_book.cli.translators import (
    Learned,
    is_of_language,
    learned,
    which_checkpoint,
    which_model,
)
from attention_book.cli.ui import BilingualCommand, option
from attention_book.foundations.bilingual import Bilingual
from attention_book.foundations.languages import short_code, written_as
from attention_book.live.export import export as write_files
from attention_book.live.exported import Exported, Origin, Subwords, copied
from attention_book.live.language import ExportedLanguage, lacking, write_page
from attention_book.models import Seq2Seq, Transformer, TransformerConfig
from attention_book.runs.corpus import Split, read_lines
from attention_book.runs.language.documents import read_documents
from attention_book.runs.loading import Which
from attention_book.runs.settings import DataSettings
from attention_book.text import CorpusError, SentencePair, Vocabulary, grammar_corpus

# So many sentences are looked at for a page's proposals, drawn evenly from so many: a corpus may
# begin with its shortest.
_SENTENCES = 300
_DRAWN_FROM = 20 * _SENTENCES
# Of corpora that others have collected: who, where, by which license, and where its text stands.
_TERMS = {
    "tatoeba-eng-fra": (
        "Tatoeba",
        "https://tatoeba.org",
        "CC BY 2.0 FR",
        "https://creativecommons.org/licenses/by/2.0/fr/",
    ),
}


# Of a language model's corpus so many documents are looked at for beginnings, of which so many are
# proposed; what is unknown within so many characters of a document is no beginning.
_LOOKED_AT_DOCUMENTS = 100_000
_NUM_BEGINNINGS = 8
_BEGINNING = 40

#: Settings of which the page's engine knows the usual value alone.
_OF_2017 = (
    "num_kv_heads",
    "d_k",
    "feed_forward",
    "feed_forward_bias",
    "norm_kind",
    "norm_bias",
    "eps",
    "qk_norm",
    "windows",
    "sinks",
    "scale",
    "output_bias",
)


def missing_for_a_page(found: Learned) -> list[Bilingual]:
    """Return what the page's engine lacks to run a model; nothing: it can."""
    missing = []
    config: Any = found.model.config
    if found.codec.settings.unit != "words":
        if found.codec.settings.moses:
            missing.append(Bilingual("Moses 的切分", "splitting by the rules of Moses"))
    elif found.codec.word_rule == "grammar" and short_code(found.codec.languages[0]) == "fr":
        missing.append(
            Bilingual(
                "法语原文省音的切分（l' + homme）", "splitting of French elisions (l' + homme)"
            )
        )
    if isinstance(found.model, Seq2Seq):
        if config.attention != "bahdanau":
            missing.append(
                Bilingual(f"注意力 {config.attention}", f"the attention {config.attention}")
            )
        return missing
    usual = TransformerConfig(source_vocabulary=1, target_vocabulary=1)
    for name in _OF_2017:
        if (value := getattr(config, name)) != getattr(usual, name):
            missing.append(Bilingual(f"设置 {name} = {value}", f"the setting {name} = {value}"))
    if config.norm == "both" or config.ends_in_norm != (config.norm == "pre"):
        missing.append(
            Bilingual("与归一化的次序不配的末尾归一化", "a final norm other than the order's")
        )
    if config.positions not in ("sinusoidal", "none"):
        missing.append(
            Bilingual(f"位置编码 {config.positions}", f"the positions {config.positions}")
        )
    return missing


@dataclass(frozen=True)
class AsRecipe:
    """A run as the export asks of a recipe.

    Attributes:
        name: Small letters, digits and hyphens; it names the files.
        digest: Digest of the settings.
        model: Its kind.
        source: The language to translate from.
        target: The other.
        parts: Sentences of the corpus.
    """

    name: str
    digest: str
    model: str
    source: str
    target: str
    parts: Mapping[str, tuple[SentencePair, ...]]

    def splits(self) -> Mapping[str, tuple[SentencePair, ...]]:
        """Return sentences by the names of the book's splits."""
        return self.parts


@dataclass(frozen=True)
class AsTrained:
    """A run's model as the export takes it.

    Attributes:
        model: With its weights.
        source_vocabulary: Numbers the source tokens.
        target_vocabulary: Names the model's words.
        recipe: What a page says of it.
    """

    model: Seq2Seq | Transformer
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    recipe: AsRecipe


@dataclass(frozen=True)
class AsTrainedOnSubwords(AsTrained):
    """The same with an open vocabulary.

    Attributes:
        subwords: How a text becomes subwords.
        origin: Where the sentences are from, if it is a corpus with a name.
    """

    subwords: Subwords
    origin: Origin | None


def as_trained(found: Learned) -> Exported:
    """Return a model as the export takes it."""
    if found.recipe is not None:
        return found.recipe
    settings = found.settings
    recipe = AsRecipe(
        name=safe_name(found.name),
        digest=settings.digest,
        model=settings.model.kind,
        source=written_as(settings.data.source),  # the page knows short codes alone
        target=written_as(settings.data.target),
        parts=_parts(found),
    )
    codec = found.codec
    vocabularies = codec.source_vocabulary, codec.target_vocabulary
    if codec.source_tokenizer is None:
        return AsTrained(found.model, *vocabularies, recipe)
    subwords = Subwords(tokenizer=codec.source_tokenizer, lowercase=codec.settings.lowercase)
    return AsTrainedOnSubwords(
        found.model, *vocabularies, recipe, subwords, origin_of(settings.data)
    )


def origin_of(data: DataSettings) -> Origin | None:
    """Return where a corpus is from that has a name and a license; somebody's own: None.

    >>> origin_of(DataSettings(corpus="phrasebook"))
    """
    if data.corpus not in _TERMS:
        return None
    return _origin(data.corpus, [source for source, _ in read_lines(data)])


def _origin(corpus: str | None, texts: Sequence[str]) -> Origin | None:
    if corpus not in _TERMS:
        return None
    name, address, license, terms = _TERMS[corpus]
    return Origin(
        name=name,
        address=address,
        license=license,
        terms=terms,
        num_pairs=len(texts),
        longest=max(len(text.split()) for text in texts),
    )


def safe_name(name: str) -> str:
    """Return a name that can stand in a file's name and in a script.

    >>> safe_name('runs/My "run"')
    'my-run'
    """
    return re.sub(r"[^a-z0-9]+", "-", Path(name).name.lower()).strip("-") or "run"


def _parts(found: Learned) -> dict[str, tuple[SentencePair, ...]]:
    """Return sentences of each part, with alignments as far as they are known."""
    train = _drawn(found, "train")
    return {
        "train": train,
        "validation": _drawn(found, "validation") or train,
        "random": _drawn(found, "test") or train,
    }


def _drawn(found: Learned, split: Split) -> tuple[SentencePair, ...]:
    """Return sentences from all over a part; of subwords those that stay as they are are linked."""
    pairs = pairs_of(found, split, _DRAWN_FROM)
    pairs = pairs[:: max(1, len(pairs) // _SENTENCES)][:_SENTENCES]
    if found.codec.source_tokenizer is None:
        return pairs
    return tuple(replace(pair, alignment=copied(pair.source, pair.target)) for pair in pairs)


def pairs_of(found: Learned, split: Split, limit: int = _SENTENCES) -> tuple[SentencePair, ...]:
    """Return sentences of a part as tokens; of a corpus that is too small, maybe none."""
    with wrong_settings():
        return _pairs(found, split, limit)


def _pairs(found: Learned, split: Split, limit: int) -> tuple[SentencePair, ...]:
    data, codec = found.settings.data, found.codec
    if codec.word_rule == "grammar" and data.corpus == "grammar":
        size: dict[str, Any] = {} if data.num_train is None else {"num_train": data.num_train}
        corpus = grammar_corpus(data.source, data.target, **size)
        parts = {"train": corpus.train, "validation": corpus.validation, "test": corpus.random}
        return parts[split][:limit]
    try:
        lines = list(itertools.islice(read_lines(data, split), limit))
    except CorpusError:
        if split == "train":
            raise
        return ()
    cut = [(codec.source_tokens(source), codec.target_tokens(target)) for source, target in lines]
    return tuple(SentencePair(source, target) for source, target in cut if source and target)


def as_language(found: LearnedLanguage) -> ExportedLanguage:
    """Return a language model as the export takes it."""
    settings, codec = found.settings, found.codec
    with wrong_settings():
        documents = list(
            itertools.islice(read_documents(settings.data, "train"), _LOOKED_AT_DOCUMENTS)
        )
    known = [text for text in documents if not codec.unknown(text[:_BEGINNING])]
    return ExportedLanguage(
        name=safe_name(found.name),
        digest=settings.digest,
        model=found.model.cpu(),
        vocabulary=codec.vocabulary,
        tokenizer=codec.tokenizer,
        lowercase=codec.settings.lowercase,
        context=settings.model.context,
        beginnings=beginnings(found, known, _NUM_BEGINNINGS),
        origin=_origin(settings.data.corpus, documents),
    )


_TEXT = Bilingual(
    """把训练好的模型写成网页能加载的文件。

    翻译模型：三个文件，名称.bin、名称.js（从文件夹直接打开网页时用）、名称.example.js（一个例句）。
    书里的翻译机读的就是它们，以词或以子词为单位都行。
    语言模型：一个文件，名称.html。双击打开，就在浏览器里接着写，不用联网。
    网页的引擎少了什么、不能导出时，会说明缺什么。
    """,
    """Write a trained model as files that a web page can load.

    Of a translator there are three: NAME.bin, NAME.js (for a page that was opened from a folder),
    and NAME.example.js (one translation). The book's translator reads them, whether the model
    reads words or subwords. Of a language model there is one, NAME.html: a double click opens it,
    and it writes in the browser, without a network. Where the page's engine lacks something, it
    is said what.
    """,
)
_EXAMPLES = (
    (
        "attention-book export --folder models",
        Bilingual("导出最近一次训练的模型", "export the latest run"),
    ),
    (
        "attention-book export --run runs/austen",
        Bilingual("把语言模型写成一个会写的网页", "a language model as a page that writes"),
    ),
    (
        "attention-book export --recipe transformer-en-zh-1",
        Bilingual("导出书里的模型", "export a model of the book"),
    ),
)


@click.command(cls=BilingualCommand, text=_TEXT, examples=_EXAMPLES)
@option(
    "--folder",
    default=".",
    show_default=True,
    metavar=Bilingual("文件夹", "FOLDER"),
    help=Bilingual("写到哪里。", "Where to write."),
)
@which_model
@which_checkpoint
def export(folder: str, run: str | None, recipe: str | None, checkpoint: Which | None) -> None:
    """Write the files."""
    if is_of_language(run, recipe):
        _export_language(learned_language(run, checkpoint), Path(folder))
        return
    found = learned(run, recipe, checkpoint)
    _refuse(found.name, missing_for_a_page(found))
    exported = as_trained(found)
    with writing(folder):
        path = write_files(exported, Path(folder))
    _tell_written(path, path.with_suffix(".js"), path.with_suffix(".example.js"))


def _export_language(found: LearnedLanguage, folder: Path) -> None:
    _refuse(found.name, lacking(found.model.config))
    exported = as_language(found)
    with writing(str(folder)):
        path = write_page(exported, folder)
    _tell_written(path)
    note(Bilingual("双击它就能打开。", "A double click opens it."))


def _refuse(name: str, missing: list[Bilingual]) -> None:
    """Refuse a model for which the page's engine lacks something."""
    if missing:
        raise Failure(
            ExitCode.RUN,
            f"{visible(name)} 不能导出，网页的引擎缺：{'；'.join(each.zh for each in missing)}",
            f"{visible(name)}: cannot be exported; the page's engine lacks: "
            + "; ".join(each.en for each in missing),
        )


def _tell_written(*paths: Path) -> None:
    for written in paths:
        size = written.stat().st_size
        tell(f"{visible(str(written.resolve()))}  {size / 1e6:.2f} MB")
