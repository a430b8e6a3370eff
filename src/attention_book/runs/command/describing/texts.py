"""What is scored: sources with their references, and translations by a model or from a file."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from attention_book.foundations.bilingual import Bilingual
from attention_book.runs.codec.moses import Moses
from attention_book.runs.command.speech.failures import ExitCode, Failure, wrong_settings
from attention_book.runs.command.speech.progress import bar_over, with_estimate
from attention_book.runs.command.speech.reading import kept, lines_of
from attention_book.runs.command.speech.terminal import note, visible
from attention_book.runs.command.translators import Learned
from attention_book.runs.corpora import Split, read_lines
from attention_book.runs.scoring import separates_words
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
        language: Of the references.
        source_language: Of the sources; None where it is not known.
    """

    name: str
    sources: tuple[str, ...]
    references: tuple[str, ...]
    language: str
    source_language: str | None = None


def held_out(model: Learned, split: Split, limit: int | None) -> TestText:
    """Return sentences that the model was not trained on.

    Raises:
        CorpusError: if the corpus cannot be read.
        Failure: if there is none as the run's settings say.
    """
    data = model.settings.data
    with wrong_settings():
        return _text(split, read_lines(data, split), limit, data)


def of_files(files: Sequence[str], model: Learned, limit: int | None) -> TestText:
    """Return sentences of one file of pairs, or of two parallel files.

    Raises:
        CorpusError: if a file cannot be read, or a line is no pair.
    """
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
    """Return the lines of a file of translations, one for each source; ``longer``: it may go on.

    Raises:
        Failure: if the file cannot be read, or has another number of lines.
    """
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


__all__ = (
    "TestText", "by_model", "file_lines", "held_out", "length_in_words", "of_files",
    "scored_tokens",
)  # fmt: skip
