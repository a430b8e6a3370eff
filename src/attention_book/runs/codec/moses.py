"""Text split by the rules of Moses, as the papers of translation do before they count BLEU."""

from typing import Any

from attention_book.foundations.environment import from_extra
from attention_book.foundations.languages import written_as


class Moses:
    """Splits text at blanks and punctuation by the rules of Moses, and joins it again.

    Nothing is escaped: an ampersand stays one. A language that has no rules of its own is split
    by those of English. Joining guesses where blanks stood, and guesses well in plain prose.

    Args:
        language: "en", or the code of another language.

    Raises:
        ImportError: if sacremoses is not installed.

    >>> moses = Moses("en")
    >>> moses.split("Tom's dog, isn't it?")
    "Tom 's dog , isn 't it ?"
    >>> moses.join("Tom 's dog , isn 't it ?")
    "Tom's dog, isn't it?"
    """

    def __init__(self, language: str) -> None:
        """Read the rules of the language."""
        library = _library()
        self.language = language
        rules = written_as(language)
        self._splitter = library.MosesTokenizer(rules)
        self._joiner = library.MosesDetokenizer(rules)

    def split(self, text: str) -> str:
        """Return the text with a blank between any two of its words and marks."""
        return " ".join(self._splitter.tokenize(text, escape=False))

    def join(self, text: str) -> str:
        """Return split text as one would write it."""
        joined: str = self._joiner.detokenize(text.split(), unescape=False)
        return joined


def _library() -> Any:
    with from_extra("text", "sacremoses"):
        import sacremoses
    return sacremoses
