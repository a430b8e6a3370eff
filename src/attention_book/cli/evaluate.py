"""``attention-book evaluate``: how good translations are, and whether others are better."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click

from attention_book.cli.errors import ExitCode, Failure, wrong_settings
from attention_book.cli.files import kept, lines_of, once_only, write_result
from attention_book.cli.progress import bar_over, with_estimate
from attention_book.cli.terminal import columns, note, said, spoken, tell, visible
from attention_book.cli.translators import (
    Learned,
    how_to_search,
    learned,
    note_share_unknown,
    where_to_compute,
    which_checkpoint,
    which_model,
)
from attention_book.cli.ui import COUNT, BilingualCommand, Whole, option
from attention_book.course.recipes import RECIPES
from attention_book.foundations.bilingual import Bilingual
from attention_book.foundations.languages import same_language
from attention_book.runs.codec import Moses
from attention_book.runs.corpus import Split, read_lines
from attention_book.runs.scoring import (
    Comparison,
    LengthScore,
    Scores,
    SystemScore,
    score,
    separates_words,
)
from attention_book.runs.scoring import compare as compare_texts
from attention_book.runs.settings import DataSettings
from attention_book.text import tokenize

_AT_ONCE = 64


@dataclass(frozen=True)
class TestText:
    """Sentences with their translations by people.

    Attributes:
        name: What it is called in a report.
        sources: What is to be translated; empty where it is not known.
        references: How people translate it.
        language: Language of the references.
        source_language: Language of the sources; None where it is not known.
    """

    name: str
    sources: tuple[str, ...]
    references: tuple[str, ...]
    language: str
    source_language: str | None = None


def held_out(model: Learned, split: Split, limit: int | None) -> TestText:
    """Return sentences that the model was not trained on."""
    data = model.settings.data
    with wrong_settings():
        return _text(split, read_lines(data, split), limit, data)


def of_files(files: Sequence[str], model: Learned, limit: int | None) -> TestText:
    """Return sentences of one file of pairs, or of two parallel files."""
    spoken = model.settings.data
    with wrong_settings():
        data = DataSettings(
            corpus=None, train=tuple(files), test=tuple(files), source=spoken.source,
            target=spoken.target,
        )  # fmt: skip
    name = " + ".join(map(visible, files))
    with kept(files) as paths:
        return _text(name, read_lines(replace(data, test=paths), "test"), limit, spoken)


def _text(
    name: str, lines: Iterator[tuple[str, str]], limit: int | None, data: DataSettings
) -> TestText:
    sources, references = zip(*itertools.islice(lines, limit), strict=True)
    return TestText(name, sources, references, data.target, data.source)


def file_lines(path: str, count: int | None = None, *, longer: bool = False) -> tuple[str, ...]:
    """Return the lines of a file of translations, one for each source; ``longer``: it may go on."""
    lines = tuple(itertools.islice(lines_of(path), count if longer else None))
    if not lines or (count is not None and len(lines) != count):
        name, wanted = visible(path), "≥ 1" if count is None else str(count)
        raise Failure(
            ExitCode.DATA,
            f"{name}：应有 {wanted} 行，实际有 {len(lines)} 行。",
            f"{name}: expected {wanted} lines, got {len(lines)}",
        )
    return lines


def by_model(
    model: Learned,
    sources: Sequence[str],
    *,
    beam: int,
    length_penalty: float,
    failed: list[int] | None = None,
) -> tuple[str, ...]:
    """Return a model's translations, with a bar for those who wait at a terminal.

    One that the model cannot read is named on standard error, and its translation is empty; its
    number is added to ``failed``.
    """
    found: list[str] = []
    starts = range(0, len(sources), _AT_ONCE)
    name = visible(Path(model.name).name)
    for start in with_estimate(bar_over(starts, len(starts), name), len(starts), name):
        chunk = sources[start : start + _AT_ONCE]
        made = model.translations(chunk, beam=beam, length_penalty=length_penalty)
        for number, line in enumerate(made, start=start + 1):
            if isinstance(line, Failure):
                if failed is not None:
                    failed.append(number)
                zh, en = visible(line.text.zh), visible(line.text.en)
                note(
                    Bilingual(
                        f"第 {number} 句没能翻译，按空译文计分：{zh}",
                        f"sentence {number}: not translated, and scored as empty: {en}",
                    )
                )
            found.append("" if isinstance(line, Failure) else line)
    return tuple(found)


def scored_tokens(model: Learned, texts: Sequence[str]) -> list[tuple[str, ...]] | None:
    """Return the tokens that the papers of such a run score; None where they score the text."""
    if model.settings.text.moses:
        if not separates_words(model.codec.languages[1], texts):
            return None  # whole sentences would be compared
        moses = Moses(model.codec.languages[1])
        return [tuple(moses.split(text.lower()).split()) for text in texts]
    if model.settings.text.unit == "words":
        return [model.codec.target_tokens(text) for text in texts]
    return None


def length_in_words(text: str) -> int:
    """Return how many words a text has; of Chinese, how many characters.

    >>> length_in_words("Go on."), length_in_words("继续。")
    (3, 3)
    """
    return len(tokenize(text, "zh"))


@dataclass(frozen=True)
class System:
    """Translations of a text, and who made them.

    Attributes:
        name: The model, or the file.
        text: What was translated.
        lines: The translations.
        model: None: a file.
    """

    name: str
    text: TestText
    lines: tuple[str, ...]
    model: Learned | None = None

    @property
    def lowercase(self) -> bool:
        """Whether its model writes no capitals, so that a score must leave them out of account."""
        text = self.model.settings.text if self.model else None
        return text is not None and (text.unit == "words" or text.lowercase)

    def tokens(self) -> tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]] | None:
        """Return the tokens of translations and references where papers compare those."""
        if self.model is None:
            return None
        ours = scored_tokens(self.model, self.lines)
        theirs = scored_tokens(self.model, self.text.references)
        return None if ours is None or theirs is None else (ours, theirs)


def system_of(chosen: Mapping[str, Any]) -> System:
    """Return the translations that a command line asks to score."""
    once_only(
        {
            "--test": chosen["test"],
            "--translations": chosen["translations"],
            "--references": chosen["references"],
            "--sources": chosen["sources"],
            "--compare": chosen["compare"],
        }
    )
    given = [name for name in ("translations", "references", "sources") if chosen[name] is not None]
    if not given:
        model = learned(chosen["run"], chosen["recipe"], chosen["checkpoint"], chosen["device"])
        if chosen["test"]:
            text = of_files(chosen["test"], model, chosen["limit"])
        else:
            text = held_out(model, chosen["split"], chosen["limit"])
        return System(model.name, text, _translated(model, text, chosen), model)
    if chosen["translations"] is None or chosen["references"] is None:
        raise Failure(
            ExitCode.WRONG_LINE,
            "--translations 和 --references 要一起给。",
            "--translations, --references: expected both, got one",
        )
    if chosen["run"] or chosen["recipe"] or chosen["test"]:
        raise Failure(
            ExitCode.WRONG_LINE,
            "给译文文件打分不用模型：去掉 --run、--recipe、--test。",
            "--translations: expected no --run, --recipe or --test beside it, got one",
        )
    return _of_files(chosen)


def _of_files(chosen: Mapping[str, Any]) -> System:
    references = file_lines(chosen["references"])
    lines = file_lines(chosen["translations"], len(references))
    sources = chosen["sources"]
    found = file_lines(sources, len(references)) if sources is not None else ()
    limit = chosen["limit"]
    text = TestText(
        Path(chosen["references"]).name, found[:limit], references[:limit], chosen["target"]
    )
    return System(chosen["translations"], text, lines[:limit])


def lines_of_other(name: str, text: TestText, chosen: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the translations of the same text by another run, a recipe, or from a file."""
    is_recipe, is_run = name in RECIPES, _is_folder(name)
    if not (is_recipe or is_run):
        # With a limit, the file may go on behind it.
        count = len(text.references)
        return file_lines(name, count, longer=chosen["limit"] is not None)
    if not text.sources:
        raise Failure(
            ExitCode.WRONG_LINE,
            "--compare：要翻译就得有原文，请用 --sources 给出。",
            "--compare: expected --sources to translate, got none",
        )
    device = chosen["device"]
    other = learned(None, name, None, device) if is_recipe else learned(name, None, None, device)
    _check_languages(other, text)
    return _translated(other, text, chosen)


def _check_languages(other: Learned, text: TestText) -> None:
    """Refuse a model of other languages: its number would mean nothing beside ours."""
    source, target = other.codec.languages
    wanted = text.source_language
    if same_language(target, text.language) and (wanted is None or same_language(source, wanted)):
        return
    name, ours = visible(other.name), visible(f"{wanted or '…'} → {text.language}")
    theirs = visible(f"{source} → {target}")
    hint = Bilingual("", "")
    if wanted is None:
        hint = Bilingual("（--target 说明译文的语言）", " (--target names the files' language)")
    raise Failure(
        ExitCode.WRONG_LINE,
        f"--compare：{name} 翻译的是 {theirs}，这里打分的是 {ours}，不能比{hint.zh}。",
        f"--compare: expected a model for {ours}, which is scored here, got {theirs} of "
        f"{name}{hint.en}",
    )


def _is_folder(name: str) -> bool:
    try:
        return Path(name).is_dir()
    except ValueError:  # a null byte
        return False


def _translated(model: Learned, text: TestText, chosen: Mapping[str, Any]) -> tuple[str, ...]:
    note_share_unknown(model, text.sources)
    search = {name: chosen[name] for name in ("beam", "length_penalty", "failed")}
    return by_model(model, text.sources, **search)


# Below it, a difference is called one that chance hardly makes.
_UNLIKELY = 0.05


def told(scores: Scores) -> str:
    """Return the scores of a text as lines for people."""
    rows = [
        ("BLEU", scores.bleu),
        ("chrF", scores.chrf),
        (said("BLEU（小写词元）", "BLEU of lower-case tokens"), scores.tokenized_bleu),
    ]
    width = max(columns(name) for name, found in rows if found is not None)
    lines = [line for name, found in rows if found for line in _score(name, found, width)]
    ratio = Bilingual(
        f"译文长度是参考译文的 {scores.length_ratio:.2f} 倍",
        f"the translations are {scores.length_ratio:.2f} times as long as the references",
    )
    lines.append(spoken(ratio))
    if scores.by_length:
        lines += ["", said("按原文长度（词数）：", "By the source's length in words:")]
        lines += [_bin(each) for each in scores.by_length]
    return "\n".join(lines)


def _score(name: str, score: SystemScore, width: int) -> list[str]:
    return [f"{name}{' ' * (width - columns(name))}  {score}", f"{' ' * width}  {score.signature}"]


def _bin(each: LengthScore) -> str:
    lengths = f"{each.low}–{each.high}" if each.high else f"{each.low}+"
    count = said(f"{each.count:>6} 句", f"{each.count:>6} sentences")
    return f"  {lengths:<7} {count}   BLEU {each.bleu:5.1f}"


def winner_of(found: Comparison, first: str, second: str) -> str | None:
    """Return which of two is better; None where chance alone may have made the difference.

    >>> one, other = SystemScore(30.0, "nrefs:1"), SystemScore(32.0, "nrefs:1")
    >>> winner_of(Comparison(one, other, 0.01), "a", "b"), winner_of(
    ...     Comparison(one, other, 0.2), "a", "b"
    ... )
    ('b', None)
    """
    if not found.p_value < _UNLIKELY or not found.difference:
        return None
    return second if found.difference > 0 else first


def comparison_told(found: Comparison, first: str, second: str) -> str:
    """Return what a comparison found as lines for people."""
    winner = winner_of(found, first, second)
    verdict = Bilingual(
        f"{winner} 更好，这样的差别不像是偶然的。"
        if winner
        else "分不出高下，说不出谁更好：这样的差别，偶然也会有。",
        f"{winner} is better: chance hardly makes such a difference"
        if winner
        else "the two cannot be told apart, there is no winner: chance makes such differences too",
    )
    number = f"{found.difference:+.1f} BLEU, p = {found.p_value:.3f}"
    return "\n".join(
        [
            f"{first}:  BLEU {found.first}",
            f"{second}:  BLEU {found.second}",
            f"{number}: {spoken(verdict)}",
            found.first.signature,
        ]
    )


_TEXT = Bilingual(
    """给译文打分：sacrebleu 的 BLEU 与 chrF，带签名和置信区间。

    默认翻译训练时留出的测试句再打分。--test 换成自己的测试文件；
    --translations 和 --references 直接给现成的译文打分，不用模型。
    以词为单位、或用 Moses 切分的模型，另报一个小写词元的 BLEU。
    原文里模型不认识的词，列在标准错误输出里。文件写 - 就是标准输入。
    """,
    """Score translations: sacrebleu's BLEU and chrF, with signatures and intervals.

    By default the test sentences that were held out of the training are translated and scored.
    Use --test for test files of your own; or score a file of translations, without any model,
    with --translations and --references. Where a model reads words, or text split by Moses, the
    BLEU of lower-case tokens is told as well. Words that the model does not know are named on
    standard error. A file named - is standard input.
    """,
)
_EXAMPLES = (
    ("attention-book evaluate", Bilingual("给最近一次训练的结果打分", "score the latest run")),
    (
        "attention-book evaluate --run runs/big --compare runs/small",
        Bilingual("两次训练，哪次更好？", "which of two runs is better?"),
    ),
    (
        "attention-book evaluate --translations mine.txt --references theirs.txt --json",
        Bilingual("给文件打分，结果用 JSON 输出", "score files, and write JSON"),
    ),
)
_FILE = Bilingual("文件", "FILE")


@click.command(cls=BilingualCommand, text=_TEXT, examples=_EXAMPLES, pairs=["--test"])
@which_model
@which_checkpoint
@option(
    "--split",
    type=click.Choice(["test", "validation"]),
    default="test",
    show_default=True,
    metavar="[test|validation]",
    help=Bilingual("哪一部分留出的句子。", "Which of the held-out parts."),
)
@option(
    "--test",
    multiple=True,
    metavar=Bilingual("文件 [文件]", "FILE [FILE]"),
    help=Bilingual(
        "自己的测试文件：一个（原文 TAB 译文），或两个平行文件。",
        "Test files of your own: one (source TAB target), or two parallel ones.",
    ),
)
@option(
    "--translations",
    metavar=_FILE,
    help=Bilingual("给这个文件里的译文打分。", "Score the translations in this file."),
)
@option(
    "--references",
    metavar=_FILE,
    help=Bilingual("参考译文，一行一句。", "The references for them, a line each."),
)
@option(
    "--sources",
    metavar=_FILE,
    help=Bilingual("原文，用来按长度分组。", "Their sources, for the scores by length."),
)
@option(
    "--target",
    default="en",
    show_default=True,
    metavar=Bilingual("语言", "LANGUAGE"),
    help=Bilingual(
        "--translations 的语言，决定怎样切分（zh 按字）。",
        "The language of --translations; it chooses the tokenization.",
    ),
)
@option(
    "--compare",
    metavar=Bilingual("文件夹|文件|名称", "RUN|FILE|NAME"),
    help=Bilingual(
        "再和另一次训练、另一个译文文件或书里的模型比较（成对自助法）。",
        "Compare with another run, a file of translations, or a model of the book (paired "
        "bootstrap).",
    ),
)
@how_to_search
@where_to_compute
@option("--limit", type=COUNT, metavar="N", help=Bilingual("只用前 N 句。", "Only N sentences."))
@option(
    "--resamples",
    type=Whole(min=0, max=100_000),
    default=1000,
    show_default=True,
    metavar="N",
    help=Bilingual(
        "置信区间重采样多少次；0：不算区间。", "How often to resample for the intervals; 0: never."
    ),
)
@option(
    "--save",
    metavar=_FILE,
    help=Bilingual("把译文写进文件。", "Write the translations to a file."),
)
@option("--json", "as_data", is_flag=True, help=Bilingual("输出 JSON。", "Write JSON."))
def evaluate(as_data: bool, save: str | None, compare: str | None, **chosen: Any) -> None:
    """Score, compare, and tell."""
    failed: list[int] = []
    chosen |= {"failed": failed}
    mine = system_of({**chosen, "compare": compare})
    found = score(
        mine.lines,
        mine.text.references,
        language=mine.text.language,
        lowercase=mine.lowercase,
        lengths=[length_in_words(each) for each in mine.text.sources] or None,
        tokens=mine.tokens(),
        resamples=chosen["resamples"],
    )
    result = {"name": mine.name, "text": mine.text.name, **asdict(found)}
    lines = [_title(mine, found.num_sentences), "", told(found)]
    if compare is not None:
        compared = _compared(mine, compare, chosen)
        result["compared"] = {"with": compare, "difference": compared.difference}
        result["compared"] |= asdict(compared)
        result["compared"]["winner"] = winner_of(compared, mine.name, compare)
        lines += ["", comparison_told(compared, visible(mine.name), visible(compare))]
    if save is not None:
        _save(mine.lines, save)
    tell(json.dumps(result) if as_data else "\n".join(lines))
    if failed:
        raise Failure(
            ExitCode.DATA,
            f"有 {len(failed)} 句没能翻译（见上），按空译文计了分。",
            f"{len(failed)} sentences could not be translated (see above), and were scored as "
            "empty",
        )


def _title(mine: System, count: int) -> str:
    sentences = said(f"{count} 句", f"{count} sentences")
    return " · ".join((visible(mine.name), mine.text.name, sentences))


def _compared(mine: System, other: str, chosen: Mapping[str, Any]) -> Comparison:
    lines = lines_of_other(other, mine.text, chosen)
    return compare_texts(
        mine.lines,
        lines,
        mine.text.references,
        language=mine.text.language,
        lowercase=mine.lowercase,
        resamples=chosen["resamples"],
    )


def _save(lines: Sequence[str], path: str) -> None:
    write_result(path, "".join(f"{visible(line)}\n" for line in lines))
