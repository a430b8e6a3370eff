"""The words that a model does not know, named: a translation is no better than they allow."""

from collections import Counter
from collections.abc import Sequence

from attention_book.foundations.bilingual import Bilingual
from attention_book.runs.command.speech.terminal import note, visible
from attention_book.runs.command.translators.learned import Learned

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


__all__ = ("note_share_unknown", "note_unknown")
