"""``attention-book data``: which corpora there are, whether they are whole, and what is in them."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, get_args

import click

from attention_book.cli.errors import ExitCode, Failure, wrong_settings
from attention_book.cli.files import kept, once_only
from attention_book.cli.reasons import in_chinese
from attention_book.cli.terminal import columns, fitted, said, spoken, tell, visible
from attention_book.cli.ui import BilingualCommand, argument, option
from attention_book.foundations.bilingual import Bilingual
from attention_book.foundations.languages import written_as
from attention_book.runs.corpus import SPLITS, Skipped, Split, read_lines
from attention_book.runs.settings import CORPORA, DataSettings
from attention_book.text import CorpusError, tokenize
from attention_book.text.corpora import DOWNLOADED, CorpusFile, corpus_files, fetch_corpus
from attention_book.text.tokens import Language, pieces

#: The corpora with a name: languages, and what they are.
KNOWN = {
    "grammar": (
        ("en", "fr"),
        Bilingual(
            "书里的文法造出来的句子，英、法、中任意两种；随包自带（CC BY 4.0）",
            "sentences of the book's grammar, any two of en, fr, zh; in the package (CC BY 4.0)",
        ),
    ),
    "phrasebook": (
        ("en", "fr"),
        Bilingual(
            "书里的短语集，英、法、中任意两种；随包自带（CC BY 4.0）",
            "the book's phrases, any two of en, fr, zh; in the package (CC BY 4.0)",
        ),
    ),
    "tatoeba-eng-fra": (
        DOWNLOADED["tatoeba-eng-fra"],
        Bilingual(
            "tatoeba.org 的日常短句（CC BY 2.0 FR），要下载",
            "everyday sentences from tatoeba.org (CC BY 2.0 FR); downloaded",
        ),
    ),
    "multi30k-en-de": (
        DOWNLOADED["multi30k-en-de"],
        Bilingual(
            "图片说明，英德（供研究用，见其使用条款），要下载",
            "descriptions of pictures (for research: see its terms of use); downloaded",
        ),
    ),
    "multi30k-en-fr": (
        DOWNLOADED["multi30k-en-fr"],
        Bilingual(
            "图片说明，英法（供研究用，见其使用条款），要下载",
            "descriptions of pictures (for research: see its terms of use); downloaded",
        ),
    ),
}


def state_of(file: CorpusFile) -> Literal["missing", "whole", "damaged"]:
    """Compare the checksum of a file with what it must be.

    >>> from pathlib import Path
    >>> state_of(CorpusFile("a.gz", "https://example.org/a.gz", "sha256:0", Path("nowhere")))
    'missing'
    """
    if not file.path.is_file():
        return "missing"
    kind, _, wanted = file.checksum.partition(":")
    try:
        with file.path.open("rb") as content:
            found = hashlib.file_digest(content, kind).hexdigest()
    except OSError as error:
        raise CorpusError(f"{file.path}: cannot be read: {error.strerror}") from error
    return "whole" if found == wanted else "damaged"


@dataclass
class Side:
    """One language of a part.

    Attributes:
        lengths: How many sentences have how many tokens.
        words: How often each token occurs.
    """

    lengths: Counter[int] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)

    def take(self, tokens: Sequence[str]) -> None:
        """Count a sentence."""
        self.lengths[len(tokens)] += 1
        self.words.update(tokens)

    @property
    def num_tokens(self) -> int:
        """How many tokens there are."""
        return sum(length * count for length, count in self.lengths.items())

    def length_at(self, share: float) -> int:
        """Return the length that so many of the sentences do not exceed.

        >>> Side(lengths=Counter({3: 90, 8: 10})).length_at(0.95)
        8
        """
        below, wanted = 0, share * self.lengths.total()
        for length in sorted(self.lengths):
            below += self.lengths[length]
            if below >= wanted:
                return length
        return 0

    def share_unknown(self, known: Mapping[str, int]) -> float:
        """Return the share of the tokens that are not among the known ones."""
        unknown = sum(count for word, count in self.words.items() if word not in known)
        return unknown / max(self.words.total(), 1)


@dataclass
class Part:
    """One part of a corpus.

    Attributes:
        split: Which one.
        num_pairs: How many pairs of sentences.
        source: The language to translate from.
        target: The other one.
        hashes: Hashes of all sources, to find those that two parts share.
        twice: How many pairs have a source that was there before.
    """

    split: Split
    num_pairs: int = 0
    source: Side = field(default_factory=Side)
    target: Side = field(default_factory=Side)
    hashes: set[bytes] = field(default_factory=set)
    twice: int = 0

    def seen_in(self, other: "Part") -> int:
        """Return how many different sources the other part has too."""
        return len(self.hashes & other.hashes)


def cut(text: str, language: str) -> tuple[str, ...]:
    """Cut a text into words: by the rule of its language, or else at blanks.

    Where a script writes none, as that of Thai, each character is one.

    >>> cut("Go on.", "eng"), cut("vai avanti.", "it")
    (('go', 'on', '.'), ('vai', 'avanti.'))
    """
    if written_as(language) in get_args(Language):
        return tokenize(text, language)
    return tuple(pieces(text.lower()))


def described(data: DataSettings, skipped: Skipped) -> dict[Split, Part]:
    """Return what each part of a corpus is; a part without a sentence is left out."""
    parts = {}
    for split in SPLITS:
        try:
            counted = Skipped() if split != "train" and not getattr(data, split) else skipped
            parts[split] = _part(split, read_lines(data, split, skipped=counted), data)
        except CorpusError:
            if split == "train" or getattr(data, split):
                raise
    return parts


def _part(split: Split, lines: Iterable[tuple[str, str]], data: DataSettings) -> Part:
    part = Part(split)
    for source, target in lines:
        part.num_pairs += 1
        part.source.take(cut(source, data.source))
        part.target.take(cut(target, data.target))
        key = blake2b(" ".join(cut(source, data.source)).encode(), digest_size=8).digest()
        part.twice += key in part.hashes
        part.hashes.add(key)
    return part


_STATES = {
    "missing": Bilingual("没有", "missing"),
    "whole": Bilingual("完好", "whole"),
    "damaged": Bilingual("校验和不符", "damaged: another checksum"),
}
_SPLITS = {
    "train": Bilingual("训练", "train"),
    "validation": Bilingual("验证", "validation"),
    "test": Bilingual("测试", "test"),
}
_SHOWN_PROBLEMS = 10
_TEXT = Bilingual(
    """看看有哪些语料，里面有什么。

    不带参数：列出有名字的语料。给一个名字，或自己的文件（一个“原文 TAB 译文”的文件，
    或两个平行文件；- 是标准输入）：数出行数、词数、句长、未登录词的比例，
    看训练和测试有没有重复的句子，并逐行指出写坏了的行。
    """,
    """See which corpora there are, and what is in them.

    Without arguments the corpora with a name are listed. Name one, or files of your own (one of
    lines "source TAB target", or two parallel ones; - is standard input), to count lines, words,
    lengths and unknown words, to see whether training and test share sentences, and which lines
    are no pairs.
    """,
)
_EXAMPLES = (
    ("attention-book data", Bilingual("有哪些语料", "which corpora there are")),
    (
        "attention-book data multi30k-en-de --fetch --check",
        Bilingual("下载并核对校验和", "download one, and compare the checksums"),
    ),
    (
        "attention-book data pairs.tsv --source it --target en",
        Bilingual("检查自己的文件", "look at a file of your own"),
    ),
)
_FILES = Bilingual("文件 [文件]", "FILE [FILE]")
_LANGUAGE = Bilingual("语言", "LANGUAGE")


@click.command(
    cls=BilingualCommand, text=_TEXT, examples=_EXAMPLES, pairs=["--validation", "--test"]
)
@argument(
    "names",
    nargs=-1,
    metavar=Bilingual("[名称|文件 [文件]]", "[NAME|FILE [FILE]]"),
    help=Bilingual("语料的名称，或自己的文件。", "A corpus by name, or files of your own."),
)
@option(
    "--validation",
    multiple=True,
    metavar=_FILES,
    help=Bilingual("验证用的文件。", "The files to validate on."),
)
@option(
    "--test",
    multiple=True,
    metavar=_FILES,
    help=Bilingual("测试用的文件。", "The files to test on."),
)
@option("--source", metavar=_LANGUAGE, help=Bilingual("原文的语言。", "The source's language."))
@option("--target", metavar=_LANGUAGE, help=Bilingual("译文的语言。", "The target's language."))
@option("--fetch", is_flag=True, help=Bilingual("先下载。", "Download it first."))
@option("--check", is_flag=True, help=Bilingual("只核对校验和。", "Only compare the checksums."))
def data(names: tuple[str, ...], fetch: bool, check: bool, **chosen: Any) -> None:
    """List, fetch, check, describe."""
    options = [f"--{name}" for name, value in chosen.items() if value]
    if options and not names:
        raise Failure(
            ExitCode.WRONG_LINE,
            f"{'、'.join(options)}：缺少要看的语料或文件。",
            f"{', '.join(options)}: expected a corpus or files to look at, got none",
        )
    once_only({"FILE": names, **{f"--{part}": chosen[part] for part in ("validation", "test")}})
    own = bool(names) and names[0] not in CORPORA
    if (fetch or check) and (len(names) != 1 or names[0] not in DOWNLOADED):
        raise Failure(
            ExitCode.WRONG_LINE,
            f"--fetch、--check 只用于要下载的语料：{'、'.join(DOWNLOADED)}。",
            f"--fetch, --check: expected a corpus that is downloaded: {', '.join(DOWNLOADED)}",
        )
    if not names:
        tell("\n\n".join(_listed()))
        return
    if fetch:
        fetch_corpus(names[0])
    if fetch or check:
        _check(names[0])
    if not check:
        _describe(names, own, chosen)


def _listed() -> Iterator[str]:
    for name, (languages, text) in KNOWN.items():
        state = ""
        if name in DOWNLOADED:
            whole = all(file.path.is_file() for file in corpus_files(name))
            state = spoken(Bilingual("（已下载）", " (here)") if whole else Bilingual("", ""))
        told = fitted(spoken(text), "  ")
        yield "\n".join([f"{name}  [{' → '.join(languages)}]{state}", *told])


def _check(name: str) -> None:
    """Compare the checksums of all files."""
    states = {file: state_of(file) for file in corpus_files(name)}
    for file, state in states.items():
        tell(f"{spoken(_STATES[state])}  {visible(str(file.path))}")
    if set(states.values()) != {"whole"}:
        raise Failure(
            ExitCode.DATA,
            f"{name}：有文件缺失或损坏。",
            f"{name}: expected whole files, got missing or damaged ones",
        )


def _describe(names: Sequence[str], own: bool, chosen: dict[str, Any]) -> None:
    """Tell what is in a corpus."""
    source, target = KNOWN[names[0]][0] if not own else ("en", "fr")
    with (
        kept(names) as train,
        kept(chosen["validation"]) as validation,
        kept(chosen["test"]) as test,
    ):
        with wrong_settings():
            settings = DataSettings(
                corpus=None if own else names[0],
                train=train if own else train[1:],
                validation=validation,
                test=test,
                source=chosen["source"] or source,
                target=chosen["target"] or target,
                on_problem="skip",
            )
        skipped = Skipped(keep=_SHOWN_PROBLEMS)
        with wrong_settings():
            parts = described(settings, skipped)
    languages = f"{visible(settings.source)} → {visible(settings.target)}"
    tell(f"{_files(settings.train if own else names)}  [{languages}]")
    for part in parts.values():
        tell("\n" + "\n".join(_part_told(part, parts["train"], settings)))
    if skipped.count:
        tell("\n" + "\n".join(_problems_told(skipped)))


def _files(paths: Sequence[str]) -> str:
    return " + ".join(visible(Path(path).name) for path in paths)


def _part_told(part: Part, train: Part, settings: DataSettings) -> Iterator[str]:
    """Tell what is in a part, whose files they are, and what it shares with the training."""
    files = _files(getattr(settings, part.split))
    yield (
        f"{spoken(_SPLITS[part.split])}  "
        + said(f"{part.num_pairs:,} 对句子", f"{part.num_pairs:,} pairs of sentences")
        + (f"  ({files})" if files and part is not train else "")
    )
    for name, side, known in (
        (Bilingual("原文", "source"), part.source, train.source),
        (Bilingual("译文", "target"), part.target, train.target),
    ):
        margin = " " * (columns(spoken(name)) + 4)
        first, *rest = _side_told(side, None if part is train else known)
        yield f"  {spoken(name)}  {first}"
        yield from (margin + line for line in rest)
    if part.twice:
        yield "  " + said(
            f"{part.twice:,} 句原文重复出现", f"{part.twice:,} sources stand there repeatedly"
        )
    if part is not train:
        shared = part.seen_in(train)
        yield "  " + said(
            f"{shared:,} 句原文在训练里也有" if shared else "没有一句原文在训练里出现过",
            f"{shared:,} sources stand in the training too"
            if shared
            else "none of its sources stands in the training",
        )


def _side_told(side: Side, known: Side | None) -> Iterator[str]:
    half, most, longest = (side.length_at(share) for share in (0.5, 0.95, 1.0))
    count, kinds = f"{side.num_tokens:,}", f"{len(side.words):,}"
    yield said(f"{count} 个词，{kinds} 种", f"{count} words, {kinds} different")
    yield said(
        f"句长中位数 {half}，95 % 不超过 {most}，最长 {longest}",
        f"length: median {half}, 95 % up to {most}, longest {longest}",
    )
    if known is not None:
        share = f"{side.share_unknown(known.words):.1%}"
        yield said(f"未登录词 {share}", f"unknown words {share}")


def _problems_told(skipped: Skipped) -> Iterator[str]:
    yield said(
        f"{skipped.count:,} 行不是一对句子：", f"{skipped.count:,} lines are no pairs of sentences:"
    )
    for reason in skipped.reasons[:_SHOWN_PROBLEMS]:
        yield f"  {visible(said(in_chinese(reason), reason))}"
    if skipped.count > _SHOWN_PROBLEMS:
        yield said("  ……", "  ...")
