"""The prefixes that beam searches of one sentence come by, and what may follow each."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import torch

from attention_book.decoding import beam_trace
from attention_book.decoding.prediction import next_log_probs, special_ids
from attention_book.foundations.shapes import TokenIds, TokenMask
from attention_book.models.evaluating import evaluating
from attention_book.models.protocols import Translator

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


__all__ = ["PENALTIES", "WIDTHS", "Prefix", "Tree", "prefixes_of_all_searches", "tree_of"]
