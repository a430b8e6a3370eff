"""A viewer of beam search: every step of it, for any width and length penalty, on real scores."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import torch

from attention_book.decoding import beam_trace
from attention_book.decoding.prediction import next_log_probs, special_ids
from attention_book.foundations import token_labels
from attention_book.foundations.bilingual import chosen_language, of_the_two
from attention_book.foundations.labels import Spelling
from attention_book.foundations.shapes import TokenIds, TokenMask
from attention_book.live.viewer.page import Viewer
from attention_book.models.evaluating import evaluating, moved
from attention_book.models.protocols import Translator
from attention_book.text import Vocabulary, encode_source

# --- prefixes ----------------------------------------------------------------------------------


#: The searches that a reader can choose, as in ``live/modules/widgets/beams/search.mjs``.
WIDTHS = range(1, 6)
PENALTIES = tuple(tenths / 10 for tenths in range(21))
#: How many continuations of a prefix are kept: the widest beam, and the two best that it drops.
NUM_FOLLOWING = WIDTHS[-1] + 2

#: A prefix as numbers, without ``<bos>``.
Prefix = tuple[int, ...]
#: For each prefix the tokens that may follow, the most probable first, each with the
#: log-probability of the prefix that it makes.
Tree = Mapping[Prefix, list[tuple[int, float]]]


def prefixes_of_all_searches(
    model: Translator[Any, Any], source: TokenIds, mask: TokenMask, max_tokens: int
) -> tuple[set[Prefix], int]:
    """Return what searches of any width and penalty go on from, and the most steps of one."""
    found, longest = set[Prefix]([()]), 0
    for width in WIDTHS:
        for penalty in PENALTIES:
            trace = beam_trace(
                model, source, mask, width=width, length_penalty=penalty, max_tokens=max_tokens
            )
            kept = (each for step in trace[:-1] for each in step.kept)
            found |= {each.ids for each in kept if not each.finished}
            longest = max(longest, len(trace))
            if width == 1:
                break  # no two to compare
    return found, longest


def tree_of(
    model: Translator[Any, Any], source: TokenIds, mask: TokenMask, prefixes: Iterable[Prefix]
) -> Tree:
    """Return what may follow each prefix; with a prefix all that it begins with must be there."""
    special, tree, totals = special_ids(model), dict[Prefix, Any](), dict[Prefix, float]({(): 0.0})
    by_length = groupby(sorted(prefixes, key=lambda each: (len(each), each)), key=len)
    with evaluating(model):
        for _, group in by_length:
            begun = list(group)
            many = torch.zeros(len(begun), dtype=torch.long, device=source.device)
            memory = model.encode(source[many], mask[many])
            written = torch.tensor([[special.bos, *each] for each in begun], device=source.device)
            log_probs = next_log_probs(model.decode(written, memory)[:, -1], special)
            gains, tokens = log_probs.topk(min(NUM_FOLLOWING, log_probs.shape[-1]))
            for prefix, *both in zip(begun, tokens.tolist(), gains.tolist(), strict=True):
                tree[prefix] = [
                    (token, totals[prefix] + gain)
                    for token, gain in zip(*both, strict=True)
                    if gain > -torch.inf
                ]
                totals |= {(*prefix, token): total for token, total in tree[prefix]}
    return tree


# --- the viewer --------------------------------------------------------------------------------


class BeamViewer(Viewer):
    """A beam search as a tree that grows step by step: what is kept, and what is dropped.

    Width (1 to 5) and length penalty (0 to 2) can be changed, and every answer is what
    :func:`~attention_book.decoding.beam_search` finds: the model has been asked beforehand for
    all prefixes that any of these searches comes by. The last cell of a notebook shows the viewer.

    Args:
        model: A translator.
        sentence: The source as tokens, without ``<eos>``.
        source_vocabulary: Numbers the source's tokens.
        target_vocabulary: Names the model's words.
        max_tokens: The most tokens of a translation, ``<eos>`` included.
        target_language: Language of the words, as browsers name it: "fr".
        language: "zh" or "en"; by default the one of ``set_language``, or of the browser.

    >>> from attention_book.models import Seq2Seq, Seq2SeqConfig
    >>> english, french = Vocabulary.build([("go", ".")]), Vocabulary.build([("va", "!")])
    >>> model = Seq2Seq(Seq2SeqConfig(source_vocabulary=6, target_vocabulary=6))
    >>> viewer = BeamViewer(model, ["go", "."], english, french, max_tokens=3)
    >>> viewer
    BeamViewer('go .')
    >>> viewer.at(width=3, penalty=0.5, step=1).state["width"]
    3
    """

    script = "beams"
    title = "Beam search · 束搜索"

    def __init__(
        self,
        model: Translator[Any, Any],
        sentence: Sequence[str],
        source_vocabulary: Vocabulary,
        target_vocabulary: Vocabulary,
        *,
        max_tokens: int = 12,
        target_language: str = "",
        language: str | None = None,
    ) -> None:
        if isinstance(sentence, str) or not sentence:
            raise ValueError(f"sentence: expected one or more tokens, got {sentence!r}")
        source, mask = (moved(each, model) for each in encode_source([sentence], source_vocabulary))
        prefixes, longest = prefixes_of_all_searches(model, source, mask, max_tokens)
        words, numbers = named(
            tree_of(model, source, mask, prefixes), target_vocabulary, special_ids(model).eos
        )
        self.sentence = tuple(sentence)
        self.state = {
            "data": {
                "language": target_language,
                "words": words,
                "tree": numbers,
                "limit": max_tokens,
                "longest": longest,
            },
            "language": of_the_two(language) or chosen_language() or "",
            "width": 2,
            "penalty": 0.0,
            "step": 0,
        }

    def at(
        self, *, width: int | None = None, penalty: float | None = None, step: int | None = None
    ) -> "BeamViewer":
        """Return the same viewer, opened at another place.

        Args:
            width: How many prefixes are kept, 1 to 5.
            penalty: The exponent of the length penalty, 0 to 2 in tenths.
            step: Which step is shown, from 1; 0 is the last.
        """
        given = {"width": width, "penalty": penalty, "step": step}
        chosen = {key: value for key, value in given.items() if value is not None}
        known: dict[str, Sequence[float]] = {
            "width": WIDTHS,
            "penalty": PENALTIES,
            "step": range(self.state["data"]["longest"] + 1),
        }
        for key, value in chosen.items():
            if value not in known[key]:
                first, *_, last = known[key]
                raise ValueError(f"{key}: expected one from {first} to {last}, got {value}")
        other = copy.copy(self)
        other.state = {**self.state, **chosen}
        return other

    def __repr__(self) -> str:
        """Return the sentence that is translated."""
        return f"BeamViewer({' '.join(self.sentence)!r})"


def named(tree: Tree, vocabulary: Vocabulary, eos: int) -> tuple[list[str], list[int]]:
    """Return the words of a tree, ``<eos>`` first, and all its prefixes as plain numbers.

    Each prefix is three numbers: which one it continues, 0 for the empty one and then counted in
    their order; its last word; and its log-probability in millionths.
    """
    words, places, numbers = {eos: 0}, dict[Prefix, int]({(): 0}), list[int]()
    for prefix, following in tree.items():
        for token, total in following:
            places[(*prefix, token)] = len(places)
            word = words.setdefault(token, len(words))
            numbers += [places[prefix], word, round(total * 1e6)]
    # Pieces with a blank are a tokenizer's; a prefix is cut anywhere, so each is read alone.
    is_cut = any(token.startswith("▁") for token in vocabulary.tokens)
    spelling: Spelling = "sentencepiece" if is_cut else "text"
    named = [token_labels([word], spelling=spelling)[0] for word in vocabulary.decode(words)]
    return named, numbers
