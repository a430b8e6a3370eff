"""The tokens on both sides of a viewer, in whatever form other libraries hand them over."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from attention_book.foundations import token_labels
from attention_book.foundations.labels import Spelling

ADVICE = "give tokenizer= too, or make strings of them: tokenizer.convert_ids_to_tokens(ids)"


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Makes labels of tokens.

    Attributes:
        tokenizer: From transformers or tokenizers; it names numbers, and knows its spelling.
        spelling: How the tokens are spelled, where they are strings.
        place: Which sentence of a batch.
    """

    tokenizer: Any = None
    spelling: Spelling | None = None
    place: int = 0

    def labels(self, name: str, given: Any) -> tuple[str, ...] | None:
        """Return the labels of some tokens: strings, bytes, numbers, or an encoding.

        Raises:
            ValueError: if they are none of these.
        """
        if given is None:
            return None
        if isinstance(given, str | bytes):
            raise ValueError(f"{name}: expected a list of tokens, got one string; try .split()")
        tokens = list(self._strings(name, self._plain(name, given)))
        return token_labels(tokens, spelling=self.spelling, tokenizer=self.tokenizer)

    def _plain(self, name: str, given: Any) -> list[Any]:
        """Return a list: of an encoding its tokens, of an array its numbers or strings."""
        if callable(found := getattr(given, "tokens", None)):  # a BatchEncoding
            try:
                return list(found(self.place))
            except ValueError:  # of a tokenizer that keeps no strings
                given = given["input_ids"]
        elif found is not None:  # an Encoding
            return list(found)
        if isinstance(given, Mapping) and "input_ids" in given:
            given = given["input_ids"]
        if isinstance(given, set | frozenset):
            raise ValueError(f"{name}: expected a list of tokens, in their order, got a set")
        if hasattr(given, "tolist"):  # a tensor, an array, a column of a table
            given = given.tolist()
        try:
            plain = list(given)
        except TypeError as error:
            raise ValueError(f"{name}: expected a list of tokens, got {given!r}") from error
        plain = [each.tolist() if hasattr(each, "tolist") else each for each in plain]
        if not plain or not all(isinstance(each, list | tuple) for each in plain):
            return plain
        if self.place >= len(plain) > 1:
            raise ValueError(f"{name}: expected batch below {len(plain)}, got {self.place}")
        return list(plain[self.place if len(plain) > 1 else 0])

    def _strings(self, name: str, plain: list[Any]) -> Iterator[str | bytes]:
        for token in plain:
            if isinstance(token, str | bytes):
                yield token
            elif isinstance(token, int) and self.tokenizer is not None:
                yield named(self.tokenizer, token)
            else:
                raise ValueError(f"{name}: expected strings, got {token!r}; {ADVICE}")


def named(tokenizer: Any, number: int) -> str:
    """Return how a tokenizer writes the token of a number."""
    if hasattr(tokenizer, "convert_ids_to_tokens"):
        found = tokenizer.convert_ids_to_tokens([number])[0]
    else:
        found = tokenizer.id_to_token(number)
    return f"<{number}>" if found is None else str(found)


__all__ = ["Reader"]
