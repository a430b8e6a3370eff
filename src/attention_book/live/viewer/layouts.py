"""The layouts in which attention weights come: each becomes (layer, head, query, key).

* numbers nested [layer][head][query][key], or a tensor of these axes;
* a tensor for each layer, (head, query, key), or with a batch before it, as Hugging Face returns
  them in ``output.attentions``;
* for each step of ``generate`` a tuple of layers, each with one query: rows that are put together;
* the dictionary of :func:`~attention_book.inspection.capture_attention`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

#: Weights in half precision may exceed 1 by a rounding.
ROUNDING = 0.01


def layers_of(name: str, given: Any, batch: int) -> Tensor:
    """Return weights as (layer, head, query, key), in double precision and on the CPU.

    Raises:
        ValueError: if they come in no layout of ours, or are no weights.
    """
    if isinstance(given, list | tuple) and any(each is None for each in given):
        raise ValueError(
            f"{name}: expected weights, got None; in transformers load the model with"
            ' attn_implementation="eager" and call it with output_attentions=True'
        )
    if isinstance(given, list | tuple) and given and all(map(is_tensor, given)):
        layers = [one_sentence(name, layer, batch) for layer in given]
    elif isinstance(given, list | tuple) and given and all(map(is_step, given)):
        counts = {len(step) for step in given}
        if len(counts) > 1:
            raise ValueError(f"{name}: expected as many layers in each step, got {sorted(counts)}")
        layers = [
            rows_together(name, [one_sentence(name, each, batch) for each in steps])
            for steps in zip(*given, strict=True)
        ]
    else:
        layers = list(four_axes(name, given))
    return checked(name, stacked(name, layers))


def captured(seen: Mapping[str, Any], batch: int) -> dict[str, Tensor]:
    """Return what was captured, by the names of the modules with {} for the number of the layer.

    A module that holds others which were captured too is left out, the model itself among them:
    what it reports is theirs.

    Raises:
        ValueError: if nothing was captured, or if a module was called several times with more than
            one query.
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
        whole = rows_together(name, [one_sentence(name, each, batch) for each in batches])
        groups.setdefault(template, {})[place] = whole
    return {
        template: checked(template, stacked(template, [layers[at] for at in sorted(layers)]))
        for template, layers in groups.items()
    }


def holds_others(name: str, names: Mapping[str, Any]) -> bool:
    """Whether a module holds others of these; a class's name is that of the model itself."""
    is_model = "." not in name and name[:1].isupper() and len(names) > 1
    return is_model or any(other.startswith(f"{name}.") for other in names)


def is_tensor(given: Any) -> bool:
    return hasattr(given, "shape") and hasattr(given, "ndim")


def is_step(given: Any) -> bool:
    return isinstance(given, list | tuple) and bool(given) and all(map(is_tensor, given))


def with_heads(call: Tensor) -> Tensor:
    """Return a captured call as (batch, head, query, key), also one without heads."""
    return call[:, None] if call.ndim == 3 else call


def one_sentence(name: str, given: Any, batch: int) -> Tensor:
    """Return a layer's weights of one sentence, (head, query, key)."""
    weights = torch.as_tensor(given).detach().cpu().double()
    if weights.ndim == 3:
        return weights
    if weights.ndim != 4:
        raise ValueError(
            f"{name}: expected (head, query, key) or (batch, head, query, key) for a layer,"
            f" got {tuple(weights.shape)}"
        )
    if not 0 <= batch < len(weights):
        raise ValueError(f"{name}: expected batch below {len(weights)}, got {batch}")
    return weights[batch]


def four_axes(name: str, given: Any) -> Tensor:
    try:
        weights = torch.as_tensor(given).detach().cpu().double()
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{name}: expected tensors or numbers [layer][head][query][key], got {error}"
        ) from error
    if weights.ndim != 4:
        raise ValueError(
            f"{name}: expected (layer, head, query, key) or one tensor for each layer,"
            f" got {tuple(weights.shape)}"
        )
    return weights


def rows_together(name: str, calls: Sequence[Tensor]) -> Tensor:
    """Return the calls of a module as one: the row of each step, with 0 for what came later."""
    if len(calls) == 1:
        return calls[0]
    if not all(call.shape[1] == 1 for call in calls):
        raise ValueError(
            f"{name}: expected one call, or one query in each, got {len(calls)} calls with"
            f" {[call.shape[1] for call in calls]} queries"
        )
    width = max(call.shape[2] for call in calls)
    padded = [torch.nn.functional.pad(call, (0, width - call.shape[2])) for call in calls]
    return torch.cat(padded, dim=1)


def stacked(name: str, layers: Sequence[Tensor]) -> Tensor:
    shapes = {tuple(layer.shape) for layer in layers}
    if len(shapes) != 1:
        listed = " and ".join(map(str, sorted(shapes))) or "no layer"
        raise ValueError(f"{name}: expected the same shape in each layer, got {listed}")
    weights = torch.stack(list(layers))
    if not weights.numel():
        raise ValueError(f"{name}: expected a head, a query and a key, got {tuple(weights.shape)}")
    return weights


def checked(name: str, weights: Tensor) -> Tensor:
    """Return weights unchanged if they can be weights: finite, from 0 to 1."""
    low, high = weights.min().item(), weights.max().item()
    if not (weights.isfinite().all() and low >= -ROUNDING and high <= 1 + ROUNDING):
        raise ValueError(
            f"{name}: expected weights from 0 to 1, got numbers from {low:.3g} to {high:.3g};"
            " scores become weights by softmax"
        )
    return weights.clamp(0, 1)


__all__ = ["captured", "layers_of"]
