"""The layouts in which attention weights come: each becomes a tensor for each layer.

* numbers nested [layer][head][query][key], or a tensor of these axes;
* a tensor for each layer, (head, query, key), or with a batch before it, as Hugging Face returns
  them in ``output.attentions``;
* for each step of ``generate`` a tuple of layers: the prompt first, then what was written, one
  query a step or several;
* the dictionary of :func:`~attention_book.inspection.capture_attention`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

EAGER = (
    'in transformers load the model with attn_implementation="eager" and call it with'
    " output_attentions=True"
)
#: Whether the keys of a kind are other tokens than its queries; None: nobody knows.
CROSSES = {"encoder": False, "decoder": False, "cross": True, "attention": None}


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """Which sentence is looked at, and where it stands in what a model returned.

    Attributes:
        batch: Which of the sentences, from 0; None: the first, if nothing else can be meant.
        beams: For each sentence the row in which each step of a beam search wrote it, and -1
            behind its end, (sentence, step).
        count: How many sentences came back, where that is known.
        sources: How many sentences the encoder read, where that is known.
    """

    batch: int | None = None
    beams: Tensor | None = None
    count: int | None = None
    sources: int | None = None

    @property
    def place(self) -> int:
        """Which one, from 0."""
        return self.batch or 0

    def among(self, name: str, rows: int) -> int:
        """Return the row of one call: its own, or that of the source that it is made of."""
        count = len(self.beams) if self.beams is not None else self.count
        if count is None or count < rows or count % rows:
            count = rows
        if not 0 <= self.place < count:
            raise ValueError(f"{name}: expected batch below {count}, got {self.place}")
        return self.place * rows // count

    def steps(self, name: str, rows: Sequence[int]) -> list[int]:
        """Return its row in each step of ``generate``, up to its end.

        Raises:
            ValueError: if rows are not known to be sentences.
        """
        if self.beams is not None:
            if not 0 <= self.place < len(self.beams):
                raise ValueError(
                    f"{name}: expected batch below {len(self.beams)}, got {self.place}"
                )
            found = [row for row in self.beams[self.place].tolist() if row >= 0]
            if len(found) > len(rows) or any(a >= b for a, b in zip(found, rows, strict=False)):
                raise ValueError(
                    f"{name}: expected beam_indices of these {len(rows)} steps of {rows[0]} rows,"
                    f" got {len(found)} with rows up to {max(found)}"
                )
            return found
        if len(set(rows)) > 1:
            raise ValueError(
                f"{name}: expected the same sentences in each step, got"
                f" {', '.join(map(str, rows))} of them: rows that leave a batch cannot be told"
                " apart; look at one sentence alone"
            )
        mixed = self.batch is None and self.count != rows[0]
        if self.count is None and self.sources not in (None, rows[0]):
            mixed = True  # one source has several rows
        if rows[0] > 1 and (mixed or self.count not in (None, rows[0])):
            raise ValueError(
                f"{name}: expected one sentence, got {rows[0]} rows in each step: of a beam"
                " search they change places, so give HeadViewer the whole output of generate, or"
                " beam_indices=output.beam_indices; if they are sentences, say which: batch=0"
            )
        return [self.among(name, rows[0])] * len(rows)


@dataclass(frozen=True, kw_only=True)
class Layers:
    """The weights of a sentence in all layers, in whatever type and place they came.

    Attributes:
        weights: For each layer (head, query, key).
        unread: How many tokens a caller may have that were written, but never read again.
    """

    weights: list[Tensor]
    unread: int = 0

    def only(self, layers: Sequence[int], heads: Sequence[int]) -> "Layers":
        """Return some layers and heads, counted from 1."""
        chosen = [self.weights[layer - 1] for layer in layers]
        if len(heads) != len(chosen[0]):
            chosen = [each[[head - 1 for head in heads]] for each in chosen]
        return Layers(weights=chosen, unread=self.unread)

    def cut(self, queries: Tensor | None, keys: Tensor | None) -> "Layers":
        """Return the rows and columns that are no padding."""
        found = self.weights
        if queries is not None:
            found = [each[:, queries] for each in found]
        if keys is not None:
            found = [each[:, :, keys] for each in found]
        return Layers(weights=found, unread=self.unread)


def layers_of(name: str, given: Any, sentence: Sentence, *, is_cross: bool | None = None) -> Layers:
    """Return the weights of one sentence.

    Args:
        name: What the caller calls them.
        given: In any layout but that of captured weights.
        sentence: Which of a batch.
        is_cross: Whether keys are other tokens than queries; None: nobody knows.

    Raises:
        ValueError: if they come in no layout of ours.
    """
    # Numbers are a tensor that is still to be made.
    tensors = list(leaves(given)) if isinstance(given, list | tuple) else [given]
    missing = [number for number, each in enumerate(tensors) if each is None]
    if not tensors or len(missing) == len(tensors):
        raise ValueError(f"{name}: expected weights, got {None if tensors else 'none'}; {EAGER}")
    if missing:
        raise ValueError(
            f"{name}: expected weights of each layer, got None at {missing}; leave those out:"
            " [each for each in attentions if each is not None]"
        )
    unread = 0
    if isinstance(given, list | tuple) and all(map(is_tensor, given)):
        layers = [one_sentence(name, layer, sentence) for layer in given]
        if is_cross is False:
            layers = [without_room(layer) for layer in layers]
    elif isinstance(given, list | tuple) and all(map(is_step, given)):
        counts = {len(step) for step in given}
        if len(counts) > 1:
            raise ValueError(f"{name}: expected as many layers in each step, got {sorted(counts)}")
        rows = sentence.steps(name, [len(step[0]) if step[0].ndim == 4 else 1 for step in given])
        layers = [
            rows_together(
                name,
                [row_of(name, each, row) for each, row in zip(calls, rows, strict=False)],
                is_cross=is_cross,
            )
            for calls in zip(*given, strict=True)
        ]
        unread = 1 + len(given) - len(rows)
        if is_cross is False:
            check_own_places(name, layers, given[0][0].shape[-2])
    elif isinstance(given, list | tuple) and any(map(is_tensor, tensors)):
        raise ValueError(
            f"{name}: expected a tensor for each layer, got a tuple of tensors and tuples, as a"
            " model of transformers returns with return_dict=False; give its attentions alone,"
            " or call it with return_dict=True"
        )
    else:
        layers = list(four_axes(name, given))
    check_shapes(name, layers)
    return Layers(weights=layers, unread=unread)


def captured(seen: Mapping[str, Any], sentence: Sentence) -> dict[str, Layers]:
    """Return what was captured, by the names of the modules with {} for the number of the layer.

    A module that holds others which were captured too is left out, the model itself among them:
    what it reports is theirs.

    Raises:
        ValueError: if nothing was captured, or if calls of a module cannot be put together.
    """
    called = {name: [calls] if is_tensor(calls) else list(calls) for name, calls in seen.items()}
    called = {name: calls for name, calls in called.items() if calls}
    if not called:
        raise ValueError("attention: expected captured weights, got none: has the model run?")
    groups: dict[str, dict[tuple[int, ...], Tensor]] = {}
    for name, calls in called.items():
        if holds_others(name, called):
            continue
        place = tuple(int(number) for number in re.findall(r"(?<=\.)\d+(?=\.|$)", f".{name}"))
        template = re.sub(r"(?<=\.)\d+(?=\.|$)", "{}", f".{name}")[1:]
        batches = [with_heads(call) for call in calls]
        if len(batches) == 1:
            whole = one_sentence(name, batches[0], sentence)
        else:
            rows = sentence.steps(name, [len(each) for each in batches])
            pieces = [row_of(name, *each) for each in zip(batches, rows, strict=False)]
            whole = rows_together(name, pieces, is_cross=CROSSES[key_of(template)])
        groups.setdefault(template, {})[place] = whole
    found = {name: [layers[at] for at in sorted(layers)] for name, layers in groups.items()}
    for name, layers in found.items():
        check_shapes(name, layers)
    return {name: Layers(weights=layers) for name, layers in found.items()}


def key_of(template: str) -> str:
    """Return the kind that the name of a module tells.

    >>> key_of("decoder.layers.{}.cross_attention"), key_of("h.{}.attn")
    ('cross', 'attention')
    """
    if "cross" in template or "encoder_attn" in template:
        return "cross"
    if "decoder" in template:
        return "decoder" if "self" in template else "cross"
    return "encoder" if "encoder" in template else "attention"


def holds_others(name: str, names: Mapping[str, Any]) -> bool:
    """Whether a module holds others of these; a class's name is that of the model itself."""
    is_model = "." not in name and name[:1].isupper() and len(names) > 1
    return is_model or any(other.startswith(f"{name}.") for other in names)


def is_tensor(given: Any) -> bool:
    return hasattr(given, "shape") and hasattr(given, "ndim")


def is_step(given: Any) -> bool:
    return isinstance(given, list | tuple) and bool(given) and all(map(is_tensor, given))


def leaves(given: Any) -> Iterator[Any]:
    """Yield what stands in nested lists of tensors; a list of numbers counts as one."""
    for each in given:
        nested = isinstance(each, list | tuple) and not any(
            isinstance(part, int | float) for part in each
        )
        yield from leaves(each) if nested else [each]


def has_weights(given: Any) -> bool:
    """Whether there is a tensor in it."""
    if isinstance(given, list | tuple):
        return any(each is not None for each in leaves(given))
    return given is not None


def rows_of(given: Any) -> int | None:
    """Return how many sentences the layers of a model were given; None: it cannot be told."""
    if isinstance(given, list | tuple) and given and is_tensor(given[0]) and given[0].ndim == 4:
        return len(given[0])
    return None


def with_heads(call: Tensor) -> Tensor:
    """Return a captured call as (batch, head, query, key), also one without heads."""
    return call[:, None] if call.ndim == 3 else call


def one_sentence(name: str, given: Any, sentence: Sentence) -> Tensor:
    """Return a layer's weights of one sentence, (head, query, key)."""
    row = sentence.among(name, len(given)) if given.ndim == 4 else 0
    return row_of(name, given, row)


def row_of(name: str, given: Any, row: int) -> Tensor:
    """Return a row of a batch, (head, query, key)."""
    weights = torch.as_tensor(given).detach()
    if weights.ndim not in (3, 4):
        raise ValueError(
            f"{name}: expected (head, query, key) or (batch, head, query, key) for a layer,"
            f" got {tuple(weights.shape)}"
        )
    return weights[row] if weights.ndim == 4 else weights


def as_numbers(weights: Tensor) -> Tensor:
    """Return weights on the CPU, in single precision at least."""
    wide = weights.dtype if weights.dtype == torch.float64 else torch.float32
    return weights.to(device="cpu", dtype=wide)


def four_axes(name: str, given: Any) -> Tensor:
    if isinstance(given, torch.nn.Module):
        raise ValueError(
            f"{name}: expected what a model returns, got the model; call it, with"
            " output_attentions=True"
        )
    try:
        weights = torch.as_tensor(given).detach()
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{name}: expected tensors or numbers [layer][head][query][key], got {error}"
        ) from error
    if weights.ndim == 2 and not weights.is_floating_point() and weights.max() > 1:
        raise ValueError(
            f"{name}: expected weights, got numbers of tokens, {tuple(weights.shape)}; call"
            " generate with return_dict_in_generate=True and output_attentions=True"
        )
    if weights.ndim != 4:
        raise ValueError(
            f"{name}: expected (layer, head, query, key) or one tensor for each layer,"
            f" got {tuple(weights.shape)}"
        )
    return weights


def rows_together(name: str, calls: Sequence[Tensor], *, is_cross: bool | None) -> Tensor:
    """Return the calls of a module as one: each row where its query stands, each column its key's.

    In self-attention the keys of a call are all that was read so far; or with a window the last of
    them; or in a static cache all that will ever have room, with 0 where nothing stands yet.

    Raises:
        ValueError: if keys are none of these.
    """
    if len(calls) == 1:
        return calls[0] if is_cross else without_room(calls[0])
    counts = [(call.shape[1], call.shape[2]) for call in calls]
    widths = {keys for _, keys in counts}
    grows = all(now < after for (now, _), (after, _) in pairwise(counts))
    if grows and (len(widths) == 1 or all(queries == keys for queries, keys in counts)):
        return calls[-1]  # without a cache, each step reads all anew
    if is_cross is None:
        is_cross = len(widths) == 1 and bool(calls[0].triu(1).any())
    if is_cross:
        if len(widths) > 1:
            raise ValueError(f"{name}: expected as many keys in each call, got {sorted(widths)}")
        return torch.cat(list(calls), dim=1)
    first = without_room(calls[0])
    before = first.shape[2] - first.shape[1]  # keys that were read before the first call
    total = before + sum(queries for queries, _ in counts)
    window, read, rows = max(keys for _, keys in counts[1:]), first.shape[2], [first]
    for call, (queries, keys) in zip(calls[1:], counts[1:], strict=True):
        read += queries
        is_static = keys > read and not looks_past(call, read)
        goes_on = keys == read or (keys < read and keys == window and queries == 1)
        if before < 0 or not (is_static or goes_on):
            raise ValueError(
                f"{name}: expected one call, or calls each of which goes on where the one before"
                f" it ended, got {len(calls)} calls with {[each for each, _ in counts]} queries"
                f" and {[each for _, each in counts]} keys"
            )
        rows.append(call[:, :, :read] if is_static else padded(call, read - keys, read))
    return torch.cat([padded(row, 0, total) for row in rows], dim=1)


def check_own_places(name: str, layers: Sequence[Tensor], first: int) -> None:
    """See that what was written looks at itself, in some head of some layer.

    Where a helper guesses in the very first call, transformers (5.23) takes rows of the prompt for
    those of the tokens that were guessed.

    Raises:
        ValueError: if a row is another token's.
    """
    rows, columns = layers[0].shape[1:]
    lost = [
        row + 1
        for row in range(first, rows)
        if not any(layer[:, row, columns - rows + row].any() for layer in layers)
    ]
    if lost:
        raise ValueError(
            f"{name}: expected the row of each token, got those of others at {lost}: with"
            " assistant_model or prompt_lookup_num_tokens, generate may return wrong rows; read"
            " the finished text at once, model(output.sequences, output_attentions=True)"
        )


def padded(call: Tensor, before: int, width: int) -> Tensor:
    """Return rows with 0 for keys before them and behind them."""
    return torch.nn.functional.pad(call, (before, width - before - call.shape[2]))


def without_room(call: Tensor) -> Tensor:
    """Return a call without the keys behind its last query, if it gives them nothing."""
    queries, keys = call.shape[1:]
    if keys <= queries or looks_past(call, queries) or not call[:, -1, :queries].any():
        return call
    return call[:, :, :queries]


def looks_past(call: Tensor, read: int) -> bool:
    """Whether a query looks at keys behind those that were read, in some head.

    One that may see nothing, as padding does, is given all keys alike by the softmax of
    transformers, those that are not there yet among them.
    """
    sees_all_alike = (call == call[..., :1]).all(dim=-1)
    sees_all_alike[:, -1] = False  # the last one is no padding
    return bool((call[..., read:].any(dim=-1) & ~sees_all_alike).any())


def check_shapes(name: str, layers: Sequence[Tensor]) -> None:
    """See that there are weights, as many in each layer."""
    shapes = {tuple(layer.shape) for layer in layers}
    if len(shapes) != 1:
        listed = " and ".join(map(str, sorted(shapes))) or "no layer"
        raise ValueError(f"{name}: expected the same shape in each layer, got {listed}")
    if not layers[0].numel():
        shape = (len(layers), *layers[0].shape)
        raise ValueError(f"{name}: expected a head, a query and a key, got {shape}")


__all__ = [
    "CROSSES",
    "EAGER",
    "Layers",
    "Sentence",
    "as_numbers",
    "captured",
    "key_of",
    "layers_of",
]
