"""Whether numbers are weights, and how they are packed for the browser."""

from collections.abc import Sequence

import torch
from torch import Tensor

#: Weights in half precision may exceed 1 by a rounding, and rows of rounded ones by several.
ROUNDING, ROUNDED_ROW = 0.01, 0.03
TRAINING = "a model in train mode drops weights and scales the others up: call model.eval()"
SCORES = "scores become weights by softmax"

#: The weights in thousandths, one letter below 64, two from there on, a row ends with |. The
#: module ``widgets/heads/weights`` reads them.
LOW = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-"
HIGH = "!#$%()*,./:;=?@"
END = "|"
_LOW, _HIGH = (torch.tensor([*text.encode()], dtype=torch.uint8) for text in (LOW, HIGH))
#: Bytes of a page for each weight: most are small, and what is 0 to the end of a row is left out.
BYTES = 1.1


def packed(weights: Tensor) -> str:
    """Return the weights of a head, (query, key), as a text for the browser.

    >>> packed(torch.tensor([[0.001, 0.0], [0.25, 0.75]]))
    'B|$6:u|'
    """
    thousandths = (weights.double() * 1000).round().long()
    rows, columns = thousandths.shape
    letters = torch.empty(rows, columns + 1, 2, dtype=torch.uint8)
    is_there = torch.zeros(rows, columns + 1, 2, dtype=torch.bool)
    letters[:, :columns, 0] = _HIGH[(thousandths // 64 - 1).clamp(min=0)]
    letters[:, :columns, 1] = _LOW[thousandths % 64]
    is_there[:, :columns, 0] = thousandths >= 64
    is_there[:, :columns, 1] = thousandths.flip(-1).cumsum(-1).flip(-1) > 0
    letters[:, columns, 1] = ord(END)
    is_there[:, columns, 1] = True
    found = letters[is_there]
    text = bytearray(len(found))
    torch.frombuffer(text, dtype=torch.uint8).copy_(found)
    return text.decode("ascii")


def checked(name: str, weights: Tensor) -> Tensor:
    """Return weights unchanged if they can be weights: finite, from 0 to 1."""
    low, high = weights.min().item(), weights.max().item()
    if weights.isfinite().all() and low >= -ROUNDING and high <= 1 + ROUNDING:
        return weights.clamp(0, 1)
    wrong = ~(weights.isfinite() & (weights >= -ROUNDING) & (weights <= 1 + ROUNDING))
    layer, head, query = wrong.any(dim=-1).nonzero()[0].tolist()
    cause = f"{TRAINING}; or they are scores: {SCORES}" if low >= -ROUNDING else SCORES
    if weights.isnan().any():
        layer, head, query = weights.isnan().any(dim=-1).nonzero()[0].tolist()
        cause = (
            "a query that may see nothing becomes NaN by softmax: leave padding out with"
            " attention_mask="
        )
    raise ValueError(
        f"{name}: expected weights from 0 to 1, got numbers from {low:.3g} to {high:.3g};"
        f" {cause} (first in layer {layer + 1}, head {head + 1}, query {query + 1})"
    )


def check_rows(name: str, weights: Tensor, layers: Sequence[int], heads: Sequence[int]) -> None:
    """See that no query gives more than 1 to all keys together.

    Less is possible: a sink takes its share, and columns may have been cut away.

    Raises:
        ValueError: if one does.
    """
    sums = weights.sum(dim=-1)
    if (sums <= 1 + ROUNDED_ROW).all():
        return
    wrong = sums > 1 + ROUNDED_ROW
    layer, head, query = wrong.nonzero()[0].tolist()
    columns = weights[layer, head].sum(dim=0)
    cause = f"{TRAINING}; or they are scores: {SCORES} over the keys"
    if ((columns - 1).abs() <= ROUNDED_ROW).all():
        cause = "its columns do: queries and keys have changed places; give weights.mT"
    raise ValueError(
        f"{name}: expected rows that sum to 1, got {int(wrong.sum())} that do not, first that of"
        f" layer {layers[layer]}, head {heads[head]}, query {query + 1}:"
        f" {sums[layer, head, query].item():.3g}; {cause}"
    )


__all__ = ["BYTES", "check_rows", "checked", "packed"]
