"""Who translated: a model, or somebody who left a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_book.course.recipes import RECIPES
from attention_book.foundations.bilingual import Bilingual
from attention_book.foundations.languages import same_language
from attention_book.runs.command.describing.texts import (
    TestText,
    by_model,
    file_lines,
    held_out,
    of_files,
    scored_tokens,
)
from attention_book.runs.command.speech.failures import ExitCode, Failure
from attention_book.runs.command.speech.reading import once_only
from attention_book.runs.command.speech.terminal import visible
from attention_book.runs.command.translators import Learned, learned, note_share_unknown


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
    """Return the translations that a command line asks to score.

    Raises:
        Failure: if its options contradict each other, or a file cannot be read.
    """
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
    """Return the translations of the same text by another run, a recipe, or from a file.

    Raises:
        Failure: if there is no such run or file, the sources are not known, or the model
            translates from or into another language.
    """
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
    """Refuse a model of other languages: its number would mean nothing beside ours.

    Raises:
        Failure: if it is one.
    """
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


__all__ = ("System", "lines_of_other", "system_of")
